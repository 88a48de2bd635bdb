package housekeeping

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// SavePrev keeps a file as path.prev and reports whether path is free then, as the
// script's _save_prev_file does. It writes the reason to w if not.
func SavePrev(path string, w io.Writer) bool {
	st, err := os.Lstat(path)
	what := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true
	case err != nil:
		fmt.Fprintf(w, "_save_prev_filename: %s\n", cli.FileErrText(err))
		return false
	case st.Mode()&fs.ModeSymlink != 0:
		what = "is a symlink"
	case !st.Mode().IsRegular():
		what = "is not a file"
	}
	if what != "" {
		fmt.Fprintf(w, "_save_prev_filename: %q exists and %s\n", path, what)
		return false
	}
	if err := os.Rename(path, path+".prev"); err != nil {
		os.Remove(path) // its contents are of no use
	}
	return true
}

// A Log takes the output of a command. While the command runs it has the process's
// number behind its name, so that two at once do not mix.
type Log struct {
	path string
	file *os.File
}

// OpenLog starts the log at path.
func OpenLog(env *cli.Env, path string) (*Log, error) {
	path, err := filepath.Abs(path) // the command may go to other directories
	if err != nil {
		return nil, err
	}
	own := path + "." + strconv.Itoa(os.Getpid())
	f, _, err := safefile.OpenAppend(own, 0, 0o644)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	GiveAway(env, own)
	return &Log{path, f}, nil
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) { return l.file.Write(b) }

// Path is where the log is while the command runs.
func (l *Log) Path() string { return l.file.Name() }

// Close gives the log its name, or removes it if it is empty.
func (l *Log) Close() error {
	st, err := l.file.Stat()
	err = errors.Join(err, l.file.Close())
	if err != nil {
		return err
	}
	if st.Size() == 0 {
		return os.Remove(l.file.Name())
	}
	return os.Rename(l.file.Name(), l.path)
}

// GiveAway gives a file to PCP's user and group, if this process may do so.
func GiveAway(env *cli.Env, path string) {
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup(env.Config().Get("PCP_USER"))
	if err != nil {
		return
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if g, err := user.LookupGroup(env.Config().Get("PCP_GROUP")); err == nil {
		gid, err2 = strconv.Atoi(g.Gid)
	}
	if errors.Join(err1, err2) == nil {
		os.Lchown(path, uid, gid) // a log of root's is better than none
	}
}

// MkdirAll makes a directory and those above it, for PCP's user.
func MkdirAll(env *cli.Env, dir string, mode fs.FileMode) error {
	return safefile.MkdirAll(dir, mode, func(made *os.File) error {
		GiveAway(env, made.Name())
		return nil
	})
}

// stampAge is how long a run counts as today's: a timer asks once an hour.
const stampAge = 23*time.Hour + 30*time.Minute

// A Stamp is a file with the time of the last run.
type Stamp struct {
	Path string
}

// Read returns the time of the last run. ok reports whether there is one.
func (s Stamp) Read() (last int64, ok bool) {
	b, err := os.ReadFile(s.Path)
	if err != nil || len(b) > 4096 {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		last, err = strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		return last, err == nil
	}
	return 0, false
}

// Due returns the time before which a run must have been for another one to be due.
func (s Stamp) Due(now time.Time) int64 { return now.Add(-stampAge).Unix() }

// Write records a run at now, and keeps earlier entries. It writes errors to w; they
// do not stop the run.
func (s Stamp) Write(env *cli.Env, now time.Time, w io.Writer) {
	if !SavePrev(s.Path, w) {
		fmt.Fprintln(w, "Warning: cannot save previous date-and-timestamp")
	}
	text := fmt.Sprintf("# %s\n%d\n", now.Format("2006-01-02 15:04:05"), now.Unix())
	if err := safefile.ReplaceBytes(s.Path, []byte(text), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}); err != nil {
		fmt.Fprintf(w, "cp: cannot create regular file '%s': %s\n", s.Path, cli.ErrText(err))
		fmt.Fprintln(w, "Warning: cannot install new date-and-timestamp")
		return
	}
	GiveAway(env, s.Path)
}
