// Package interop holds the tests of the interoperation matrix: our tools, the
// real PCP's tools and programs on its Python module, each against our
// collector and the real one, which run the same agents. It has no code of its
// own.
package interop
