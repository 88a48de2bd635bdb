// Package pytext reads and writes text as Python does, for tools whose C counterparts are Python programs.
package pytext
