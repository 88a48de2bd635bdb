// Package rest has what the web interfaces of pmproxy have in common:
// parameters as pmproxy(1) reads them, JSON as it writes it, the replies of
// errors, and who asks.
package rest
