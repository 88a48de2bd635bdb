// Package otlptest decodes what pcp otlp sends with the library of the protocol.
//
// It is a module of its own, since the program does without that library.
package otlptest
