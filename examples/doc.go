// Package examples has programs to learn from, one to a directory; README.md lists their subjects.
package examples
