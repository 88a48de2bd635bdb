//go:build !linux

package linux

type utsname struct{}

func sysUname(*utsname) (uname, bool) { return uname{}, false }
