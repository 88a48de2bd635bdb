//go:build !linux || (!amd64 && !arm64)

package bpf

// syscallClasses returns nil: the numbers are not known.
func syscallClasses() map[int][]int { return nil }
