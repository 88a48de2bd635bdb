package service

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

const (
	firstFile = 3 // SD_LISTEN_FDS_START
	maxFiles  = 1024
)

// Listeners returns the sockets that the service manager opened for this
// process, in its order; the list is empty if there are none. If one of them
// cannot accept connections, it closes all and returns an error. It can be
// called once.
func Listeners(getenv func(string) string) ([]net.Listener, error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil // meant for the parent process
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > maxFiles {
		return nil, fmt.Errorf("LISTEN_FDS=%s: not a number of files", getenv("LISTEN_FDS"))
	}
	names := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	var lns []net.Listener
	var errs []error
	for i := range n {
		name := fmt.Sprintf("file %d of the service manager", firstFile+i)
		if i < len(names) && names[i] != "" {
			name += " (" + names[i] + ")"
		}
		f := os.NewFile(uintptr(firstFile+i), name)
		closeOnExec(f)
		ln, err := net.FileListener(f)
		f.Close() // FileListener duplicates it
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		lns = append(lns, ln)
	}
	if len(errs) > 0 {
		for _, ln := range lns {
			ln.Close()
		}
		return nil, errors.Join(errs...)
	}
	return lns, nil
}

// Forget removes the service manager's variables from the environment, so that
// child processes do not use them.
func Forget() {
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
}
