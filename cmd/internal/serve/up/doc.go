// Package up is "pcp up": a collector in the foreground that needs no files
// and no root, for a first look and for working on agents.
package up
