package top

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
)

// errOther means that a process has the PID of the process that was shown.
var errOther = errors.New("another process has that PID by now, or the collector is of another machine")

// do sends a signal to a process, or changes its nice value, if it is still the process that the user
// saw.
func do(act ui.Action) error {
	if act.PID <= 0 {
		return unix.EINVAL
	}
	fd, err := unix.PidfdOpen(int(act.PID), 0)
	if err == nil {
		defer unix.Close(fd)
	} else if !errors.Is(err, unix.ENOSYS) {
		return err
	}
	dir := filepath.Join("/proc", strconv.Itoa(int(act.PID)))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return unix.ESRCH
	}
	if !same(string(stat), act) {
		return errOther
	}
	if act.Signal == "" {
		return renice(filepath.Join(dir, "task"), act.Nice)
	}
	sig := unix.SignalNum("SIG" + act.Signal)
	if sig == 0 {
		return fmt.Errorf("there is no SIG%s", act.Signal)
	}
	if fd < 0 { // an old kernel
		return unix.Kill(int(act.PID), sig)
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// ticks are the ticks of the kernel's clock in a second, as used in /proc.
const ticks = 100

// same reports whether the text of /proc/PID/stat is of the intended process.
func same(stat string, act ui.Action) bool {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open || stat[open+1:end] != act.Name {
		return false
	}
	fields := strings.Fields(stat[end+1:])
	if math.IsNaN(act.Start) || len(fields) < 20 {
		return len(fields) >= 20
	}
	start, err := strconv.ParseFloat(fields[19], 64)
	return err == nil && math.Abs(start/ticks-act.Start) < 1
}

// renice changes the nice value of all threads of a process.
func renice(tasks string, nice int) error {
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return unix.ESRCH
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, id, nice); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return nil
}
