package ie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmda"
)

// A journal is where messages go: standard error, or the file of -l.
type journal struct {
	name string // of the program
	path string // of the file, "" for standard error
	out  bool   // standard output goes there too

	mu   sync.Mutex
	w    io.Writer
	own  bool // w is standard error of this process
	file *os.File
	log  bool // it has a header, and will have a footer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.w.Write(b)
}

// open begins the log of -l, which may be "-".
func (j *journal) open(path string) error {
	j.log = true
	if path == "-" {
		return daemonlog.Header(j.w, j.name)
	}
	failed := j.create(path)
	if failed != nil {
		fmt.Fprintf(j.w, "%s: cannot open log \"%s\" for writing : %s\n", j.name, path, cli.ErrText(failed))
		daemonlog.Header(j.w, j.name)
	}
	full, err := realPath(path)
	if err != nil {
		return fmt.Errorf("%s: cannot find realpath for log %s: %s", j.name, path, cli.ErrText(err))
	}
	if failed == nil {
		j.path = full
	}
	return nil
}

// create puts a new file in the place of the log so far.
func (j *journal) create(path string) error {
	f, err := daemonlog.Open(path, j.name)
	if err != nil {
		return err
	}
	j.turn(f)
	return nil
}

// turn sends all output to f from now on. If the journal is that of the process, this includes
// its child processes, and it does not wait for the end of the pipes that it was given.
func (j *journal) turn(f *os.File) {
	if j.file == nil && j.own || j.file == os.Stderr {
		if settle(f, j.out) == nil {
			f.Close()
			j.file = os.Stderr
			return
		}
	}
	if j.file != nil {
		j.file.Close()
	}
	j.w, j.file = f, f
}

// rotate begins a new log: the file was given another name.
func (j *journal) rotate(first string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.path == "" {
		fmt.Fprintln(j.w, daemonlog.Line(j.name, slog.LevelError, "pmie: log rotation failed"))
		return
	}
	daemonlog.Mark(j.w, "rotated")
	f, err := safefile.CreateLog(j.path, 0o644)
	if err != nil {
		fmt.Fprintf(j.w, "%s: cannot open log \"%s\" for writing : %s\n", j.name, j.path, cli.ErrText(err))
		fmt.Fprintln(j.w, daemonlog.Line(j.name, slog.LevelError, "pmie: log rotation failed"))
		return
	}
	j.turn(f)
	daemonlog.Begin(j.w, j.name, "rotated")
	io.WriteString(j.w, first)
}

// close writes the end of the log.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.log {
		daemonlog.Footer(j.w)
		j.log = false
	}
}

// flushing is standard output, of which nothing is kept back.
type flushing struct{ env *cli.Env }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.env.Stdout.Write(b)
	if err == nil {
		err = f.env.FlushOut()
	}
	return n, err
}

// streams sets where output and messages go, and becomes a daemon if that is wanted.
func (set *settings) streams(env *cli.Env) error {
	cfg := &set.cfg
	toLog := (set.onStderr || set.daemon) && !set.agent
	set.journal.out = toLog
	if set.daemon {
		if err := pmda.SetProcessIdentity(set.user, env.Getenv); err != nil {
			return fmt.Errorf("%s: %w", env.ProgName(), err)
		}
	}
	if set.log != "" {
		if err := set.journal.open(set.log); err != nil {
			return err
		}
	}
	cfg.Out, cfg.Err = flushing{env}, set.journal
	_, own := env.ProcessStderr()
	if own {
		cfg.ShellOut, cfg.ShellErr = os.Stdout, os.Stderr
	}
	if set.agent {
		cfg.Out = set.journal // standard output has PDUs
	}
	if toLog {
		cfg.Out = set.journal
		if own {
			cfg.ShellOut = os.Stderr
		}
	}
	if set.daemon && !set.systemd {
		separate()
	}
	if set.daemon && set.primary {
		set.begin(env)
	}
	if set.archives == nil && !set.interactive {
		if set.log != "" {
			io.WriteString(set.journal, set.first())
		}
		set.monitor(env)
	}
	return nil
}

// first is the first line of the log.
func (set *settings) first() string {
	primary := ""
	if set.primary {
		primary = " [primary]"
	}
	return fmt.Sprintf("pmie: PID = %d, via %s%s\n\n", os.Getpid(), set.source(), primary)
}

func (set *settings) source() string {
	if set.host == "" {
		return "local:"
	}
	return set.host
}

// begin does what the primary pmie does: it notifies the service manager, and writes its
// process's number to a file.
func (set *settings) begin(env *cli.Env) {
	if set.systemd {
		set.tell(service.NewManager(env.Getenv).Ready("evaluating rules"))
	}
	path := filepath.Join(env.Config().Get("PCP_RUN_DIR"), "pmie.pid")
	f, err := safefile.Create(path, 0o444)
	if err != nil {
		return // as in C: the file of another user, if started by hand
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	if err = errors.Join(err, f.Close()); err == nil {
		set.pidFile = path
	}
}

func (set *settings) tell(err error) {
	if err != nil {
		fmt.Fprintln(set.journal, daemonlog.Line(set.cfg.Name, slog.LevelWarn, cli.ErrText(err)))
	}
}

// monitor makes the file of statistics, which may not be possible.
func (set *settings) monitor(env *cli.Env) {
	dir := filepath.Join(env.Config().Get("PCP_TMP_DIR"), "pmie")
	ordinary := !env.Classic() && os.Geteuid() != 0 // cannot have the file, and does not need it
	if err := safefile.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) && !ordinary {
		fmt.Fprintf(set.journal, "%s: warning cannot create stats file dir %s: %s\n", env.ProgName(), dir, cli.ErrText(err))
	}
	f, err := pmiestats.Create(dir, os.Getpid())
	if err != nil {
		return
	}
	set.statsFile = f
	set.stats = pmiestats.Stats{Log: "<none>", Host: "(uninitialized)", Version: pmiestats.Version}
	if set.journal.path != "" {
		set.stats.Log = set.journal.path
	}
	set.watch(pmie.Stats{})
	set.cfg.Watch = set.watch
}

// watch writes the statistics.
func (set *settings) watch(s pmie.Stats) {
	f := &set.stats
	f.Expected, f.Rules, f.Actions = float32(s.Expected), s.Rules, s.Actions
	f.True, f.False, f.Unknown, f.Actual = s.True, s.False, s.Unknown, s.Actual
	if s.Host != "" {
		f.Host = s.Host
	}
	if err := set.statsFile.Write(*f); err != nil && !set.statsLost {
		set.statsLost = true
		fmt.Fprintf(set.journal, "%s: Warning: write failed for stats file: %s\n", set.cfg.Name, cli.ErrText(err))
	}
}

// end removes what the process left for others to find.
func (set *settings) end() {
	if set.statsFile != nil {
		set.statsFile.Remove()
	}
	if set.pidFile != "" {
		safefile.Remove(set.pidFile)
	}
	set.journal.close()
}

// A caught is a signal that ends the program.
type caught struct {
	number  int
	running bool // rules were evaluated
	fatal   bool // a signal that kills a process that does not catch it
}

func (c *caught) Error() string { return fmt.Sprintf("Interrupted! signal=%d", c.number) }

// status returns the exit status: that SIGTERM ends a run is not an error.
func (c *caught) status(w io.Writer) int {
	switch {
	case c.fatal:
		return 128 + c.number // as a shell has it for a process that died of a signal
	case !c.running:
		fmt.Fprintf(w, "\n%v\n", c)
		return 1
	case c.number == sigTerm:
		return 0
	}
	return c.number
}

// ended returns the exit status of a run that ended with err.
func (set *settings) ended(ctx context.Context, err error) int {
	c, ok := errors.AsType[*caught](context.Cause(ctx))
	if !ok {
		c, ok = errors.AsType[*caught](err) // typed at a terminal
	}
	switch {
	case ok:
		return c.status(set.journal)
	case isUnpublished(err):
		return 0
	case err != nil:
		return 1
	}
	return 0
}
