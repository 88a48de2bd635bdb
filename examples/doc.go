// Package examples has programs to learn from, one to a directory; README.md tells which shows what.
package examples
