// Package services starts and stops the daemons of PCP on a machine without a service
// manager, or from a start script.
//
//	pcp service restart pmcd
package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Command is pcp service.
var Command = &cli.Command{
	Name:     "service",
	Group:    cli.Administer,
	Summary:  "start and stop the daemons without a service manager",
	Synopsis: "start|stop|restart|status [pmcd|pmie|pmlogger|pmproxy]...",
	Doc: `Starts and stops the named daemons, like the system's start scripts: the collector pmcd, the
loggers in pmlogger's control files, the rule engines in pmie's, and the proxy pmproxy. Without names
it is the collector and the loggers. Starting a running daemon restarts it. The command returns when
the daemons serve clients or have ended.

The collector gets the options in pmcd.options and the proxy those in pmproxy.options; their process
IDs are in pmcd.pid and pmproxy.pid in PCP_RUN_DIR. Loggers and rule engines are started and stopped by
pmlogger_check and pmie_check. For daemons started by a service manager use systemctl instead.

The exit status of "status" is 0 if all requested daemons run, 1 if one died and left its process ID
file, and 3 if one does not run.`,
	Examples: []cli.Example{
		{Line: `pcp service start`, Text: `start the collector, and then the loggers`},
		{Line: `pcp service restart pmie pmproxy`, Text: `start the rule engines and the proxy, or restart them`},
		{Line: `pcp service status pmcd`, Text: `report whether the collector runs`},
	},
	SeeAlso: []string{"pmcd(1)", "pmie(1)", "pmlogger(1)", "pmproxy(1)"},
	Options: func() []cli.Option { return []cli.Option{cli.Heading("Options"), cli.OptHelp} },
	Run:     run,
}

// Patience with daemons.
const (
	startTime = time.Minute
	stopTime  = 30 * time.Second // until it is killed
	killTime  = 10 * time.Second
)

// Exit statuses of status, as defined for scripts by the Linux Standard Base.
const (
	running    = 0
	dead       = 1 // and its file exists
	notRunning = 3
)

// A daemon can be started and stopped. Each function prints its result, and returns
// an error if it fails.
type daemon interface {
	start(context.Context) error
	stop(context.Context) error
	status() (text string, status int, err error)
}

func run(ctx context.Context, env *cli.Env) int {
	o := cli.ParseArgs(env, cli.ParseConfig{})
	verbs := []string{"start", "stop", "restart", "status"}
	all := []string{"pmcd", "pmie", "pmlogger", "pmproxy"}
	names := []string{"pmcd", "pmlogger"}
	switch {
	case o.Errors():
	case len(o.Args) == 0:
		o.Usagef("give an action: start, stop, restart or status")
	case !slices.Contains(verbs, o.Args[0]):
		o.Usagef("%q is not start, stop, restart or status", o.Args[0])
	case len(o.Args) > 1:
		names = o.Args[1:]
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			o.Usagef("%q is not one of the services pmcd, pmie, pmlogger and pmproxy", name)
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if err := env.Config().Err(); err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	verb, result := o.Args[0], 0
	// The others need the collector, which the alphabet has first: it starts first and stops last.
	slices.Sort(names)
	names = slices.Compact(names)
	if verb == "stop" {
		slices.Reverse(names)
	}
	if verb == "start" || verb == "restart" {
		for _, name := range slices.Backward(names) {
			if err := of(env, name).stop(ctx); err != nil {
				return env.Fatalf("%s: %v", name, err)
			}
		}
	}
	for _, name := range names {
		d := of(env, name)
		var err error
		switch verb {
		case "start", "restart":
			err = d.start(ctx)
		case "stop":
			err = d.stop(ctx)
		case "status":
			text, status, serr := d.status()
			if err = serr; err == nil {
				fmt.Fprintf(env.Stdout, "%s: %s\n", name, text)
				result = max(result, status)
			}
		}
		if err != nil {
			result = env.Fatalf("%s: %v", name, err)
		}
	}
	return result
}

func of(env *cli.Env, name string) daemon {
	cfg := env.Config()
	switch name {
	case "pmcd":
		return server{env, name, cfg.Get("PCP_PMCDOPTIONS_PATH")}
	case "pmproxy":
		options := cfg.Get("PCP_PMPROXYOPTIONS_PATH")
		if options == "" {
			options = filepath.Join(cfg.Get("PCP_SYSCONF_DIR"), "pmproxy", "pmproxy.options")
		}
		return server{env, name, options}
	case "pmie":
		return listed{env, name, "ie"}
	}
	return listed{env, name, "logger"}
}

// self returns the command that runs this program by another name.
func self(env *cli.Env, name string, args ...string) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env.FlushOut()
	cmd := exec.Command(path)
	cmd.Args = append([]string{name}, args...)
	cmd.Stdout, cmd.Stderr = env.Stdout, env.ChildStderr()
	return cmd, nil
}

// isOne reports whether a process exists and is the program of a name: it is called by
// that name, or has it as its first argument. Without /proc any process counts.
func isOne(pid int, name string) bool {
	if pid == 1 || !processes.Exists(pid) {
		return false
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		_, err := os.Stat("/proc/self/cmdline")
		return err != nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 8192))
	if err != nil {
		return false
	}
	words := strings.SplitN(string(b), "\x00", 3)
	return filepath.Base(words[0]) == name || len(words) > 2 && words[1] == name
}

// end has a process end, and waits until it has.
func end(ctx context.Context, pid int, name string) error {
	for _, step := range []struct {
		sig  syscall.Signal
		time time.Duration
	}{{syscall.SIGTERM, stopTime}, {syscall.SIGKILL, killTime}} {
		if err := syscall.Kill(pid, step.sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		for until := time.Now().Add(step.time); time.Now().Before(until); {
			if !isOne(pid, name) {
				return nil
			}
			if !pacing.Sleep(ctx, 20*time.Millisecond) {
				return context.Cause(ctx)
			}
		}
	}
	return fmt.Errorf("process %d does not end", pid)
}

// A server is pmcd or pmproxy.
type server struct {
	env     *cli.Env
	name    string
	options string // the file of its options
}

// pidFile returns the file with the number of its process.
func (c server) pidFile() string {
	return filepath.Join(c.env.Config().Get("PCP_RUN_DIR"), c.name+".pid")
}

// pid returns the process number in the file, or 0 without a file. live is true if that process
// is the server.
func (c server) pid() (pid int, live bool, err error) {
	f, err := safefile.Open(c.pidFile())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return 0, false, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 {
		return 0, false, fmt.Errorf("%s: %.20q is not a process", c.pidFile(), b)
	}
	return pid, isOne(pid, c.name), nil
}

func (c server) status() (string, int, error) {
	pid, live, err := c.pid()
	switch {
	case err != nil:
		return "", 0, err
	case live:
		return fmt.Sprintf("running, process %d", pid), running, nil
	case pid > 0:
		return fmt.Sprintf("dead; %s names process %d", c.pidFile(), pid), dead, nil
	}
	return "not running", notRunning, nil
}

func (c server) stop(ctx context.Context) error {
	pid, live, err := c.pid()
	if err != nil || pid == 0 {
		return err
	}
	if live {
		if err := end(ctx, pid, c.name); err != nil {
			return err
		}
		fmt.Fprintf(c.env.Stdout, "%s: stopped, it was process %d\n", c.name, pid)
	}
	// A killed process leaves its file.
	if err := safefile.Remove(c.pidFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// start starts the server and waits until it reports that it serves, with the
// notification for a service manager.
func (c server) start(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "pcp") // a socket's path is short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The server sends the notification as another user.
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unixgram"})
	if err != nil {
		return err
	}
	defer notify.Close()
	if err := os.Chmod(filepath.Join(dir, "s"), 0o777); err != nil {
		return err
	}
	var args []string
	if c.options != "" {
		if _, err := os.Stat(c.options); err == nil {
			args = append(args, "--options-file="+c.options)
		}
	}
	cmd, err := self(c.env, c.name, args...)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Environ(), detach.Variable+"=1", "NOTIFY_SOCKET="+filepath.Join(dir, "s"))
	// The log is a file in the directory in which the server starts.
	log := filepath.Join(c.env.Config().Get("PCP_LOG_DIR"), c.name)
	if st, err := os.Stat(log); err == nil && st.IsDir() {
		cmd.Dir = log
	}
	cmd.SysProcAttr = processes.Apart()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		notify.Close() // ends what follows
	}()
	if err := notify.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { notify.Close() })
	defer stop()
	for b := make([]byte, 4096); ; {
		n, err := notify.Read(b)
		switch {
		case err == nil && slices.Contains(strings.Split(string(b[:n]), "\n"), "READY=1"):
			fmt.Fprintf(c.env.Stdout, "%s: started, process %d\n", c.name, cmd.Process.Pid)
			return nil
		case err == nil:
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("process %d does not serve after %v; see %s", cmd.Process.Pid, startTime, filepath.Join(log, c.name+".log"))
		}
		select {
		case err := <-ended:
			if err == nil {
				err = errors.New("exit status 0")
			}
			return fmt.Errorf("it ended (%v); see %s", err, filepath.Join(log, c.name+".log"))
		default:
			return err
		}
	}
}

// listed are the processes of control files: the loggers, or the rule engines.
type listed struct {
	env   *cli.Env
	name  string // of their program
	short string // its name as a command of pcp
}

// check runs the command that starts and stops them.
func (l listed) check(ctx context.Context, args ...string) error {
	check := l.name + "_check"
	if cli.Find(l.env.Commands, check) == nil {
		return fmt.Errorf("this program has no %s", check)
	}
	cmd, err := self(l.env, check, args...)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", check, err)
	}
	return nil
}

func (l listed) start(ctx context.Context) error { return l.check(ctx) }

func (l listed) stop(ctx context.Context) error {
	if len(l.pids()) == 0 {
		return nil
	}
	return l.check(ctx, "-s")
}

// pids returns those that run: each has a file with the name of its process.
func (l listed) pids() []string {
	entries, err := os.ReadDir(filepath.Join(l.env.Config().Get("PCP_TMP_DIR"), l.name))
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && (isOne(pid, l.name) || isOne(pid, l.short)) {
			list = append(list, e.Name())
		}
	}
	return list
}

func (l listed) status() (string, int, error) {
	list := l.pids()
	switch len(list) {
	case 0:
		return "not running", notRunning, nil
	case 1:
		return "running, process " + list[0], running, nil
	}
	return "running, processes " + strings.Join(list, ", "), running, nil
}
