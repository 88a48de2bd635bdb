package deliver

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

// A Runner carries out actions.
type Runner struct {
	Out, Err           io.Writer // of print actions and of commands
	ShellOut, ShellErr *os.File  // of commands, in place of Out and Err
	Path               string    // the search path for commands
	LogSocket          string    // of the system log
	Alarm, Stomp       func(ctx context.Context, a Action) error
	Notify             func(level slog.Level, text string) // reports what failed
}

// Do carries out an action.
func (r *Runner) Do(ctx context.Context, a Action) error {
	switch a.Kind {
	case Print:
		_, err := fmt.Fprintf(r.Out, "%s: %s\n", strings.TrimSuffix(pcptime.Ctime(pcp.TimestampOf(a.Time), a.Time.Location()), "\n"), a.Text)
		return err
	case Shell:
		return r.shell(ctx, a.Text)
	case Exec:
		return r.execute(ctx, a.Args)
	case Alarm:
		if r.Alarm != nil {
			return r.Alarm(ctx, a)
		}
	case Stomp:
		if r.Stomp != nil {
			return r.Stomp(ctx, a)
		}
	case Syslog:
		// The action counts as done, as in C, also where no system log runs.
		if err := r.log(a); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Notify(slog.LevelError, fmt.Sprintf("syslog failed: %v\n", err))
		}
		return nil
	}
	r.Notify(slog.LevelError, fmt.Sprintf("the action %v is not supported\n", a.Kind))
	return errors.ErrUnsupported
}

// Status returns the exit status of a program that failed, or 0.
func Status(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1)
	}
	return 0
}

// shellDelay is how long to wait for the output of commands left running in the
// background, if the output is not a file.
const shellDelay = time.Second

// shell runs a command in the shell and waits for it.
func (r *Runner) shell(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	return r.wait(cmd, "shell", "IFS=\t\n")
}

// execute runs a program and waits for it.
func (r *Runner) execute(ctx context.Context, args []string) error {
	program, err := r.look(args[0])
	if err != nil {
		r.Notify(slog.LevelError, fmt.Sprintf("exec failed: %v\n", err))
		return err
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Args[0] = args[0]
	return r.wait(cmd, "exec")
}

// wait runs a command in its own session. The error describes why it failed.
func (r *Runner) wait(cmd *exec.Cmd, what string, env ...string) error {
	cmd.Stdout, cmd.Stderr = r.Out, r.Err
	if r.ShellOut != nil {
		cmd.Stdout = r.ShellOut
	}
	if r.ShellErr != nil {
		cmd.Stderr = r.ShellErr
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
			r.Notify(slog.LevelError, fmt.Sprintf("%s failed: %v\n", what, err))
		}
	}
	return err
}

// look finds a program where the shell would.
func (r *Runner) look(program string) (string, error) {
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
func (r *Runner) search() string {
	if r.Path != "" {
		return r.Path
	}
	return "/usr/sbin:/sbin:/usr/bin:/bin"
}
