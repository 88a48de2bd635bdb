// Package rest has the common parts of pmproxy's web interfaces: parameters as
// pmproxy(1) parses them, JSON as it writes it, error replies, and the identity
// of clients.
package rest
