// Package rules tests the repository: the imports that are allowed, the public names, the words
// of comments and pages, and the tables that documents have.
package rules
