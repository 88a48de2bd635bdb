// Package faults runs each daemon as users do, and breaks its surroundings by
// real means: a file system that is full or read-only, limits on descriptors and
// on address space, a network that is cut or slow, processes that are stopped, a
// clock that is stepped, files with flipped bits, a second process in the same
// directory.
//
//	go test ./cmd/internal/interop/faults                                      # each cell once, some bits
//	PCP_TEST_LONG=1 go test -v -run Matrix/full ./cmd/internal/interop/faults  # one column
//
// A row of the matrix is a daemon, a column is a fault, and a cell of TestMatrix
// is called row/column. In each of them the same must hold: the daemon
// either continues, and does its work again once the fault is over, or it ends
// with one clear sentence and a status that is not 0. It never panics, hangs, or
// leaves files that cannot be read.
//
// Docs that promise something for a fault name the test that shows it.
package faults
