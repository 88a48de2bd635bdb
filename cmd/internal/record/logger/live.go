package logger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/control"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/timezone"
)

// again is the environment variable set for a logger that replaces its predecessor after
// SIGUSR2.
const again = "PMLOGGER_REEXEC"

// daemon reports whether the logger is a permanent one: the primary logger, or one started by
// pmlogger_check or pmlogger_daily.
func (set *settings) daemon() bool {
	for _, by := range []string{"pmlogger_check", "pmlogger_daily", "reexec"} {
		if strings.HasPrefix(set.note, by) {
			return true
		}
	}
	return set.primary || set.user != ""
}

// listen opens the ports of the recorder.
func (set *settings) listen(env *cli.Env, r *recording) (*control.Endpoints, error) {
	cfg := env.Config()
	p := control.Ports{
		Tmp: cfg.Get("PCP_TMP_DIR"), Run: cfg.Get("PCP_RUN_DIR"), Home: env.Getenv("HOME"),
		Primary: set.primary, Again: set.again,
		Warn: func(message string) { fmt.Fprintln(r.w, message) },
	}
	if set.trace {
		p.Trace = func(message string) { fmt.Fprintf(r.w, "%s: %s\n", env.ProgName(), message) }
	}
	if v := env.Getenv("PMLOGGER_PORT"); v != "" {
		n, err := strconv.ParseInt(v, 0, 32)
		if err != nil || n < 0 || n > 65535 {
			fmt.Fprintf(r.w, "GetPorts: ignored bad PMLOGGER_PORT = '%s'\n", v)
		} else {
			p.First = int(n)
		}
	}
	if n, ok := cli.Atoi(env.Getenv("PMLOGGER_LOCAL")); ok {
		p.Local = n != 0
	}
	if n, ok := cli.Atoi(env.Getenv("PMLOGGER_MAXPENDING")); ok {
		p.Pending = n
	}
	return control.Listen(p)
}

// show creates the files by which others find a recorder, once its archive exists.
func (set *settings) show(env *cli.Env, r *recording, ends *control.Endpoints) error {
	if set.daemon() {
		separate()
		path := filepath.Join(env.Config().Get("PCP_RUN_DIR"), "pmlogger.pid")
		if err := writePID(path); err != nil {
			fmt.Fprintf(r.w, "Warning: %s: %s\n", path, cli.ErrText(err))
		}
	}
	err := ends.Publish(r.Host(), cmp.Or(set.cfg.URL, r.Archive()), cmp.Or(set.note, set.sessionNote))
	if errors.Is(err, fs.ErrPermission) && !set.daemon() {
		return nil // an unprivileged recorder that may not write there: C prints nothing either
	}
	if err != nil {
		return err
	}
	if set.daemon() && set.remote == nil {
		latest(env, r)
	}
	return nil
}

// writePID writes the file with this process's number.
func writePID(path string) error {
	f, err := safefile.Create(path, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	return errors.Join(err, f.Close())
}

// latest writes the folio Latest, which names the archive, into the current directory, if that
// is below PCP_ARCHIVE_DIR.
func latest(env *cli.Env, r *recording) {
	dir, err := os.Getwd()
	if err != nil || !strings.HasPrefix(dir, env.Config().Get("PCP_ARCHIVE_DIR")) {
		return
	}
	here, err := os.Hostname()
	if err != nil {
		here = "localhost"
	}
	text := "PCPFolio\nVersion: 1\n# use pmafm(1) to process this PCP archive folio\n#\n" +
		fmt.Sprintf("Created: on %s at %s\nCreator: pmlogger\n", here, time.Now().Format(time.ANSIC)) +
		fmt.Sprintf("%-15s %-23s %s\n%-15s %-23s %s\n", "#", "Host", "Basename", "Archive:", r.Host(), r.Archive())
	if err := safefile.ReplaceBytes("Latest", []byte(text), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}); err != nil {
		fmt.Fprintf(r.w, "Warning: failed to create \"Latest\" archive folio for host %s: %s\n", r.Host(), cli.ErrText(err))
	}
}

// lookup is the time limit for looking up the name of this host.
const lookup = 5 * time.Second

// fullName returns the full name of this host from the name service.
func fullName(ctx context.Context) string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	ctx, cancel := context.WithTimeout(ctx, lookup)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil || len(addrs) == 0 {
		return host
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, addrs[0])
	if err != nil || len(names) == 0 {
		return host
	}
	return strings.TrimSuffix(names[0], ".")
}

// live runs the recorder, its control port and the handling of signals until something ends
// it. It returns the reason.
func (set *settings) live(outer context.Context, env *cli.Env, r *recording, ends *control.Endpoints, caught chan os.Signal) error {
	s, err := control.New(control.Config{
		Recorder: r.Recorder, Listeners: ends.Listeners, Access: r.rules, Version: set.version,
		Source: r.via, TimeZone: timezone.Local(timezone.MaxLen), Log: r.w,
	})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(outer)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer end(nil)
	wg.Go(func() { s.Run(ctx) })
	wg.Go(func() { signals(ctx, caught, r.Recorder, end) })
	if r.pid > 0 {
		wg.Go(func() { watch(ctx, r.pid, end) })
	}
	if set.remote != nil {
		wg.Go(func() { set.remote.watch(ctx, end) })
	}
	over := func(error) {}
	if r.session != nil {
		over = r.session.start(outer, env, r, end)
	}
	err = r.Run(ctx)
	over(err)
	return err
}

// A caught is a signal that ends the recording.
type caught struct {
	number int
	why    error // in place of a signal: the archive is full
	status int   // of the process
	again  bool  // the logger must restart
}

// Error is the message of pmlogger.
func (c *caught) Error() string {
	if c.why != nil {
		return c.why.Error()
	}
	return fmt.Sprintf("Caught signal %d", c.number)
}

// renews reports whether the logger continues in a new archive after the end of the recording:
// the archive is full, and its name has a part of the date, so that the next one has another.
func (set *settings) renews(env *cli.Env, why error) bool {
	return errors.Is(why, pmlogger.ErrFull) && set.remote == nil && strings.Contains(env.Args[len(env.Args)-1], "%")
}

// hangUp starts a new volume on SIGHUP.
func hangUp(ctx context.Context, r *pmlogger.Recorder) {
	r.Call(ctx, func() {
		if _, err := r.NewVolume("SIGHUP"); err != nil && !errors.Is(err, pmlogger.ErrByteLimit) {
			r.Stop(fmt.Errorf("new volume: %w", err))
		}
	})
}

// anew returns the command line for a restart on SIGUSR2: the same, with the note "reexec".
func anew(env *cli.Env) []string {
	args := make([]string, 0, len(env.Args)+2)
	if !env.Classic() {
		args = append(args, strings.TrimPrefix(env.Name, "pcp "))
	}
	list := env.Args
	for i := 0; i < len(list)-1; i++ { // the last one is the archive
		switch a := list[i]; {
		case a == "-m" || a == "--note":
			i++
		case strings.HasPrefix(a, "-m"), strings.HasPrefix(a, "--note="):
		default:
			args = append(args, a)
		}
	}
	return append(args, "-mreexec", list[len(list)-1])
}

// beginAnew replaces this logger with a new one. It returns only if that fails.
func beginAnew(env *cli.Env, r *recording) error {
	if env.Exec == nil {
		return errors.ErrUnsupported
	}
	path, err := exec.LookPath(env.Program)
	if err != nil {
		return err
	}
	args := anew(env)
	fmt.Fprintf(r.w, "\n=== pmlogger: reexec cmdlne: %s %s\n", env.Program, strings.Join(args, " "))
	r.close()
	if f, ok := r.w.(*os.File); ok {
		if err := settle(f); err != nil { // the new logger continues this log
			return err
		}
	}
	return env.Exec(path, args, []string{again + "=1"})
}

// manager returns the service manager, if the logger must notify it.
func (set *settings) manager(env *cli.Env) service.Manager {
	if !set.notify || set.again {
		return service.Manager{}
	}
	return service.NewManager(env.Getenv)
}
