// Package mapfile reads the map files of running loggers: each pmlogger has a file in $PCP_TMP_DIR/pmlogger whose
// name is its process number, and whose lines are its port, the collector's host, the base name of its archive and a
// note.
//
//	for _, l := range mapfile.List(dir) {
//		fmt.Println(l.PID, l.Host, l.Archive)
//	}
package mapfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/processes"
)

// A Logger is the contents of a file. Missing text is "".
type Logger struct {
	PID     int
	Port    int
	Host    string
	Archive string // its full path without a suffix
	Note    string
}

// Dir returns the directory of the archive, "" if it is not known.
func (l Logger) Dir() string {
	if l.Archive == "" {
		return ""
	}
	return filepath.Dir(l.Archive)
}

// maxFile is the maximum size of a file.
const maxFile = 64 << 10

// Read reads a file.
func Read(path string) (Logger, error) {
	f, err := os.Open(path)
	if err != nil {
		return Logger{}, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && !st.Mode().IsRegular() {
		return Logger{}, fmt.Errorf("%s is not a file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: more than %d bytes", path, maxFile)
	}
	if err != nil {
		return Logger{}, err
	}
	var l Logger
	l.PID, _ = strconv.Atoi(filepath.Base(path))
	lines := append(strings.Split(string(b), "\n"), "", "", "", "")
	l.Port, _ = strconv.Atoi(lines[0])
	l.Host, l.Archive, l.Note = lines[1], lines[2], lines[3]
	if !filepath.IsAbs(l.Archive) && l.Archive != "" {
		return l, fmt.Errorf("%s: archive %q is not a full path", path, l.Archive)
	}
	return l, nil
}

// List reads all files of a directory, sorted by process number. It skips a file that cannot be read, or has
// vanished. A killed logger leaves its file: the caller must check that the process is running.
func List(dir string) []Logger { return processes.ReadFiles(dir, Read) }

// ErrNoPrimary is the error if no primary logger is known.
var ErrNoPrimary = errors.New("no primary pmlogger is known")

// Primary returns the process named in the primary logger's file (pmlogger.pid in runDir), or else by the
// link "primary" in dir.
func Primary(runDir, dir string) (int, error) {
	f, err := os.Open(filepath.Join(runDir, "pmlogger.pid"))
	if err == nil {
		defer f.Close()
		b := make([]byte, 32)
		n, _ := f.Read(b)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil && pid > 0 {
			return pid, nil
		}
	}
	target, err := os.Readlink(filepath.Join(dir, "primary"))
	if err != nil {
		return 0, ErrNoPrimary
	}
	pid, err := strconv.Atoi(filepath.Base(target))
	if err != nil || pid <= 0 {
		return 0, ErrNoPrimary
	}
	return pid, nil
}
