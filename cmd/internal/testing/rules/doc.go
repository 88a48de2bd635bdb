// Package rules tests the repository: what may import what, which names are public, the words of
// comments and pages, and the tables that documents have.
package rules
