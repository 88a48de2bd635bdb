// Package pytext is text as Python reads and writes it, for the tools whose C counterparts are programs in that language.
package pytext
