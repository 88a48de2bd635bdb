package pmcd

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
)

// machine is the machine's name as uname -m prints it.
func machine() string {
	var u syscall.Utsname
	if err := syscall.Uname(&u); err != nil {
		return ""
	}
	b := make([]byte, 0, len(u.Machine))
	for _, c := range u.Machine {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

func highestDescriptor() (pcp.Value, error) {
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		return pcp.Value{}, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return pcp.Value{}, err
	}
	top := 0
	for _, n := range names {
		if fd, err := strconv.Atoi(n); err == nil && fd != int(d.Fd()) {
			top = max(top, fd)
		}
	}
	return pcp.Uint32Value(uint32(top)), nil
}

func cpuTime() (time.Duration, error) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0, err
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), nil
}
