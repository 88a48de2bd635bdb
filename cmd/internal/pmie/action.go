package pmie

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An Action is an action of a rule that is true.
type Action struct {
	Kind ActionKind
	Text string   // the arguments, with hosts, instances and values in them
	Args []string // of an ActionExec: a program and its arguments, each with its values filled in
	// Priority and Tag are of an ActionSyslog.
	Priority int
	Tag      string

	Rule    string    // the name of the rule
	Expr    string    // its condition, as it was parsed
	Time    time.Time // of the evaluation
	Matches []Match   // the matches of the condition

	// Receiver is the receiver of an action for [Config.Alert].
	Receiver string
	// Holdoff is the action's pause between repetitions. The engine does not enforce it: a
	// match may be new.
	Holdoff time.Duration
	// Resolved is set if the rule is false: there are no matches.
	Resolved bool
}

// An ActionKind selects how an Action is carried out.
type ActionKind int

const (
	ActionShell  ActionKind = iota // a command of the shell
	ActionAlarm                    // a notification on a screen
	ActionSyslog                   // a line in the system's log
	ActionPrint                    // a line of the output
	ActionStomp                    // a message to a broker
	ActionExec                     // a program and its arguments, without a shell

	// Those which name a receiver.
	ActionWebhook
	ActionAlertmanager
	ActionMail
)

func (k ActionKind) String() string { return op(actShell + op(k)).String() }

// syslog describes a message for the system log.
type syslog struct {
	priority int
	tag      string
}

// evalSeq does both actions, also the second if the first failed.
func evalSeq(e *Engine, x *expr) {
	e.run(x.arg1)
	e.run(x.arg2)
	x.truths[0] = truthOf(x.arg1.truths[0] == isTrue && x.arg2.truths[0] == isTrue)
}

// evalAlt does the second action if the first failed.
func evalAlt(e *Engine, x *expr) {
	e.run(x.arg1)
	x.truths[0] = isTrue
	if x.arg1.truths[0] == isFalse {
		e.run(x.arg2)
		x.truths[0] = x.arg2.truths[0]
	}
}

// evalArgument puts values into the arguments of an action.
func evalArgument(e *Engine, x *expr) {
	put := func(b []byte, value string) []byte { return append(b, value...) }
	if x.parent != nil && x.parent.op == actShell && e.archives == nil {
		put = appendQuoted
	}
	apart := x.parent != nil && x.parent.op == actExec
	var b []byte
	x.args = x.args[:0]
	for y := x.arg1; y != nil; y = y.arg1 {
		start := len(b)
		b = e.expand(b, y.text, put)
		if apart {
			x.args = append(x.args, string(b[start:]))
		}
	}
	if x.text = string(b); apart {
		x.text = appendArguments(x.args)
	}
}

// held reports whether the last run of an action is too recent to repeat it.
func (e *Engine) held(x *expr) bool {
	return x.arg2 != nil && x.last != 0 && e.now < x.arg2.nums[0]+x.last
}

// evalPretend prints the action instead of carrying it out, for archives.
func evalPretend(e *Engine, x *expr) {
	if e.held(x) {
		return
	}
	e.run(x.arg1)
	x.truths[0] = isTrue
	x.last = e.now
	text := x.arg1.text
	if x.op.delivers() {
		text = x.text + ": " + text
	}
	e.out = fmt.Appendf(e.out, "%v %s: %s\n", x.op, e.date(e.now), text)
}

func evalAction(e *Engine, x *expr) {
	if e.held(x) {
		return
	}
	e.run(x.arg1)
	a := e.actionOf(x)
	a.Text = x.arg1.text
	if x.op == actExec {
		a.Args = x.arg1.args
	}
	if e.cfg.Act != nil {
		a.Matches = e.matches(e.current, x.arg1, false)
	}
	if s := x.arg1.syslog; s != nil {
		a.Priority, a.Tag = s.priority, s.tag
	}
	err := e.act(x, a)
	x.truths[0] = truthOf(err == nil)
	x.last = e.now
	e.stats.Actions++
	e.tally()
}

// act does an action.
func (e *Engine) act(x *expr, a Action) error {
	if e.cfg.Act != nil {
		return e.cfg.Act(e.ctx, a)
	}
	switch a.Kind {
	case ActionPrint:
		_, err := fmt.Fprintf(e.cfg.Out, "%s: %s\n", e.date(e.now), a.Text)
		return err
	case ActionShell:
		err := e.shell(e.ctx, a.Text)
		x.valid = status(err)
		return err
	case ActionExec:
		err := e.execute(e.ctx, a.Args)
		x.valid = status(err)
		return err
	case ActionAlarm:
		if e.cfg.Alarm != nil {
			return e.cfg.Alarm(e.ctx, a)
		}
	case ActionStomp:
		if e.cfg.Stomp != nil {
			return e.cfg.Stomp(e.ctx, a)
		}
	case ActionSyslog:
		// The action counts as done, as in C, also where no system log runs.
		if err := e.log(a); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.notify(slog.LevelError, fmt.Sprintf("syslog failed: %v\n", err))
		}
		return nil
	}
	e.notify(slog.LevelError, fmt.Sprintf("the action %v is not supported\n", a.Kind))
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
func (e *Engine) shell(ctx context.Context, command string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	return e.wait(cmd, "shell", "IFS=\t\n")
}

// execute runs a program and waits for it.
func (e *Engine) execute(ctx context.Context, args []string) error {
	program, err := e.cfg.look(args[0])
	if err != nil {
		e.notify(slog.LevelError, fmt.Sprintf("exec failed: %v\n", err))
		return err
	}
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Args[0] = args[0]
	return e.wait(cmd, "exec")
}

// wait runs a command in its own session. The error describes why it failed.
func (e *Engine) wait(cmd *exec.Cmd, what string, env ...string) error {
	cmd.Stdout, cmd.Stderr = e.cfg.Out, e.cfg.Err
	if e.cfg.ShellOut != nil {
		cmd.Stdout = e.cfg.ShellOut
	}
	if e.cfg.ShellErr != nil {
		cmd.Stderr = e.cfg.ShellErr
	}
	cmd.WaitDelay = shellDelay
	cmd.Env = append(append(cmd.Environ(), "PATH="+e.cfg.path()), env...)
	cmd.SysProcAttr = apart()
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			e.notify(slog.LevelError, fmt.Sprintf("%s failed: %v\n", what, err))
		}
	}
	return err
}

// look finds a program where the shell would.
func (c *Config) look(program string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	for _, dir := range filepath.SplitList(c.path()) {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", &exec.Error{Name: program, Err: exec.ErrNotFound}
}

// appendArguments returns arguments quoted, so that spaces in them are visible.
func appendArguments(args []string) string {
	var b []byte
	for i, arg := range args {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendQuote(b, arg)
	}
	return string(b)
}

// path is where the shell finds commands.
func (c *Config) path() string {
	if c.Path != "" {
		return c.Path
	}
	return "/usr/sbin:/sbin:/usr/bin:/bin"
}
