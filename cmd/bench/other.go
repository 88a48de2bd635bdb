//go:build !linux

// Command bench measures our collector and tools against the C implementation.
// It needs Linux: its clients wait with epoll.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: it measures on Linux only")
	os.Exit(1)
}
