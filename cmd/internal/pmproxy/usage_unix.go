//go:build unix

package pmproxy

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// usage calls getrusage(2).
func usage() (resources, bool) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return resources{}, false
	}
	ms := func(t unix.Timeval) uint64 { return uint64(t.Nano() / 1e6) }
	rss := uint64(ru.Maxrss)
	if runtime.GOOS == "darwin" { // there it is in bytes
		rss /= 1024
	}
	return resources{ms(ru.Utime), ms(ru.Stime), rss}, true
}
