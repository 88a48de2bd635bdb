//go:build !linux

package linux

func inetAddrs() []inetAddr { return nil }
