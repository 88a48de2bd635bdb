// Package proxy is the proxy as a command: it forwards clients to collectors and
// serves the web interfaces and the page.
package proxy
