// Package web compares the web interfaces of pmproxy with those of the real one, over the same collector.
package web
