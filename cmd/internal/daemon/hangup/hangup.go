// Package hangup makes a collector reload its configuration and name space.
package hangup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
)

// Collector sends a SIGHUP to the collector whose process number is in the file at
// path. It returns an error if no collector is running.
func Collector(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("none is running: there is no %s", path)
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return fmt.Errorf("%s holds no number of a process", path)
	}
	// A killed collector leaves its file, and its number may by now belong to
	// another process, which the signal would kill.
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil && !bytes.Contains(command, []byte("pmcd")) {
		return fmt.Errorf("process %d, which %s names, is no collector", pid, path)
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("process %d: %s", pid, pcp.Code(err))
	}
	return nil
}
