// Package soak has our collector serve 500 clients for a long time while some
// of its agents misbehave: of 8, one hangs, one crashes again and again, and one
// writes to its standard output and error without end. No metric of another
// agent may fail meanwhile, memory must be stable, and at the end there must be
// as many descriptors and goroutines as at the beginning.
//
//	make soak              # ten minutes
//	go test ./cmd/internal/interop/soak # some seconds
//
// PCP_SOAK sets the duration, as 90s or 10m; with PCP_TEST_LONG it is ten minutes.
package soak
