//go:build !linux

package proc

// kernelDelays returns nil: only Linux has taskstats.
func kernelDelays(string) delaySource { return nil }
