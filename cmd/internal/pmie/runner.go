package pmie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
)

// A runner carries out actions.
type runner struct {
	out, err           io.Writer // of print actions and of commands
	shellOut, shellErr *os.File  // of commands, in place of out and err
	path               string    // the search path for commands
	logSocket          string    // of the system log
	alarm, stomp       func(ctx context.Context, a Action) error
	notify             func(level slog.Level, text string) // reports what failed
}

// run carries out an action.
func (r *runner) run(ctx context.Context, a Action) error {
	switch a.Kind {
	case ActionPrint:
		_, err := fmt.Fprintf(r.out, "%s: %s\n", strings.TrimSuffix(pcptime.Ctime(pcp.TimestampOf(a.Time), a.Time.Location()), "\n"), a.Text)
		return err
	case ActionShell:
		return r.shell(ctx, a.Text)
	case ActionExec:
		return r.execute(ctx, a.Args)
	case ActionAlarm:
		if r.alarm != nil {
			return r.alarm(ctx, a)
		}
	case ActionStomp:
		if r.stomp != nil {
			return r.stomp(ctx, a)
		}
	case ActionSyslog:
		// The action counts as done, as in C, also where no system log runs.
		if err := r.log(a); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.notify(slog.LevelError, fmt.Sprintf("syslog failed: %v\n", err))
		}
		return nil
	}
	r.notify(slog.LevelError, fmt.Sprintf("the action %v is not supported\n", a.Kind))
	return errors.ErrUnsupported
}

// status returns the exit status of a program that failed, or 0.
func status(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1)
	}
	return 0
}

// shellDelay is how long to wait for the output of commands left running in the
// background, if the output is not a file.
const shellDelay = time.Second

// shell runs a command in the shell and waits for it.
func (r *runner) shell(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	return r.wait(cmd, "shell", "IFS=\t\n")
}

// execute runs a program and waits for it.
func (r *runner) execute(ctx context.Context, args []string) error {
	program, err := r.look(args[0])
	if err != nil {
		r.notify(slog.LevelError, fmt.Sprintf("exec failed: %v\n", err))
		return err
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Args[0] = args[0]
	return r.wait(cmd, "exec")
}

// wait runs a command in its own session. The error describes why it failed.
func (r *runner) wait(cmd *exec.Cmd, what string, env ...string) error {
	cmd.Stdout, cmd.Stderr = r.out, r.err
	if r.shellOut != nil {
		cmd.Stdout = r.shellOut
	}
	if r.shellErr != nil {
		cmd.Stderr = r.shellErr
	}
	cmd.WaitDelay = shellDelay
	cmd.Env = append(append(cmd.Environ(), "PATH="+r.search()), env...)
	cmd.SysProcAttr = apart()
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			r.notify(slog.LevelError, fmt.Sprintf("%s failed: %v\n", what, err))
		}
	}
	return err
}

// look finds a program where the shell would.
func (r *runner) look(program string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, dir := range filepath.SplitList(r.search()) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// search is where the shell finds commands.
func (r *runner) search() string {
	if r.path != "" {
		return r.path
	}
	return "/usr/sbin:/sbin:/usr/bin:/bin"
}
