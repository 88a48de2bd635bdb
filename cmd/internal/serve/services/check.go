package services

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// CheckCommand is pmcheck.
var CheckCommand = &cli.Command{
	Name:     "check",
	Link:     "pmcheck",
	Group:    cli.Administer,
	Summary:  "report the state of optional components, and activate or deactivate them",
	Synopsis: "[options] [component ...]",
	Doc: `A component is a daemon, an agent or another part of an installation that can be active or not. Each
executable file in the directory lib/pmcheck of PCP_SHARE_DIR is the script of a component, and is
called with the options and the name of the component. The daemons pmcd, pmie, pmlogger and pmproxy
are components without a script too: they are enabled and started by systemctl. Names may be patterns
such as 'pm*'; without names it is all components.

A script ends with one of these states: 0 for an active component, 1 for one that could be activated,
2 for one that cannot be activated. "pcp agent" lists, enables and disables agents.`,
	Examples: []cli.Example{
		{Line: `pcp check`, Text: `print the state of each component`},
		{Line: `pcp check -l -v`, Text: `list the components, with descriptions`},
		{Line: `pcp check -a -n pmproxy`, Text: `print the commands that would activate the proxy`},
	},
	SeeAlso: []string{"pmcd(1)", "pmie(1)", "pmlogger(1)", "pmproxy(1)", "systemctl(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'a', Long: "activate", Help: "activate the components"},
			{Short: 'c', Long: "file", Arg: "SCRIPT", Help: "run this script in place of those of components"},
			{Short: 'd', Long: "deactivate", Help: "deactivate the components"},
			{Short: 'l', Long: "list", Help: "list the components"},
			{Short: 'n', Long: "show-me", Help: "print the commands of -a or -d, and run none"},
			{Short: 's', Long: "state", Help: "report the state of the components [default]"},
			{Short: 'v', Long: "verbose", Help: "print more"},
			{Short: 'x', Long: "trace", Help: "have sh trace the scripts"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         runCheck,
}

// checkFailed is the exit status of pmcheck for wrong arguments.
const checkFailed = 9

// A check is a call of pmcheck.
type check struct {
	env     *cli.Env
	dir     string // of the scripts
	file    string // of -c
	actions []byte // of -a, -d, -l and -s
	flags   []string
	dryRun  bool
	verbose bool
	trace   bool
	failed  bool
}

func runCheck(ctx context.Context, env *cli.Env) int {
	c := &check{env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: c.own})
	switch {
	case o.Errors():
	case c.file != "" && len(o.Args) > 0:
		o.Usagef("option -c and component arguments are mutually exclusive")
	case len(slices.Compact(slices.Sorted(slices.Values(c.actions)))) > 1:
		o.Usagef("at most one of -a, -d, -l or -s may be specified")
	}
	if status, exit := o.Done(); exit {
		if status != 0 {
			return checkFailed
		}
		return 0
	}
	if len(c.actions) == 0 {
		c.actions, c.flags = []byte{'s'}, append(c.flags, "-s")
	}
	if c.dryRun && c.does('l', 's') {
		fmt.Fprintf(env.Stderr, "%s: Warning: neither -a nor -d specified, so -n ignored\n", env.ProgName())
		c.dryRun = false
	}
	if c.file != "" {
		return c.runFile(ctx)
	}
	cfg := env.Config()
	if err := cfg.Err(); err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	c.dir = filepath.Join(cfg.Get("PCP_SHARE_DIR"), "lib", "pmcheck")
	names, err := c.components(o.Args)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	for _, name := range names {
		if ctx.Err() != nil {
			return env.Fatalf("%v", context.Cause(ctx))
		}
		c.component(ctx, name)
	}
	if c.failed && !env.Classic() {
		return 1
	}
	return 0
}

// own takes an option.
func (c *check) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		c.file = arg
		return true
	case 'a', 'd', 'l', 's':
		c.actions = append(c.actions, byte(opt.Short))
	case 'n':
		c.dryRun = true
	case 'v':
		c.verbose = true
	case 'x':
		c.trace = true
		return true
	default:
		return false
	}
	c.flags = append(c.flags, "-"+string(opt.Short))
	return true
}

// does reports whether the action is one of these.
func (c *check) does(actions ...byte) bool { return slices.Contains(actions, c.actions[0]) }

// runFile runs the script of -c.
func (c *check) runFile(ctx context.Context) int {
	info, err := os.Stat(c.file)
	switch {
	case err != nil || !info.Mode().IsRegular():
		fmt.Fprintf(c.env.Stderr, "%s: Error: \"%s\" does not exist\n", c.env.ProgName(), c.file)
		return checkFailed
	case info.Mode()&0o111 == 0:
		fmt.Fprintf(c.env.Stderr, "%s: Error: \"%s\" must be an executable script\n", c.env.ProgName(), c.file)
		return checkFailed
	}
	file := c.file
	if !strings.Contains(file, "/") {
		file = "./" + file
	}
	out, status := c.script(ctx, file, "")
	c.report(c.file, out, status)
	if c.failed && !c.env.Classic() {
		return 1
	}
	return 0
}

// components returns the names that match patterns, all without patterns. A pattern without a match is returned as it is.
func (c *check) components(patterns []string) ([]string, error) {
	all := []string{"pmcd", "pmie", "pmlogger", "pmproxy"}
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name()[0] != '.' {
			all = append(all, e.Name())
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(patterns) == 0 {
		return all, nil
	}
	var names []string
	for _, p := range patterns {
		found := false
		for _, name := range all {
			ok, err := path.Match(p, name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			if ok {
				names, found = append(names, name), true
			}
		}
		if !found {
			names = append(names, p)
		}
	}
	return names, nil
}

// component handles one component.
func (c *check) component(ctx context.Context, name string) {
	script := c.dir + "/" + name
	info, err := os.Stat(script)
	known := err == nil && !strings.Contains(name, "/") && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	daemon := isDaemon(name) && errors.Is(err, fs.ErrNotExist)
	if !known && !daemon {
		fmt.Fprintf(c.env.Stdout, "%s: Error: %s not found or not executable\n", c.env.ProgName(), script)
		c.failed = true
		return
	}
	var out []byte
	status := 0
	switch {
	case c.does('l') && !c.verbose:
	case daemon:
		out, status = c.daemon(ctx, name)
	default:
		out, status = c.script(ctx, script, name)
	}
	if c.does('l') {
		c.lines(fmt.Sprintf("%-15s", name), fmt.Sprintf("%-15s", ""), out)
		return
	}
	c.report(name, out, status)
}

// maxScript is the number of bytes that a script may print.
const maxScript = 1 << 16

// script runs the script of a component, and returns its output and its exit status.
func (c *check) script(ctx context.Context, script, name string) ([]byte, int) {
	args := slices.Clone(c.flags)
	if name != "" {
		args = append(args, name)
	}
	cmd := exec.CommandContext(ctx, script, args...)
	if c.trace {
		cmd = exec.CommandContext(ctx, "sh", append([]string{"-x", script}, args...)...)
	}
	var out limitedOutput
	c.env.FlushOut()
	cmd.Stdout, cmd.Stderr = &out, c.env.ChildStderr()
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return out.b, exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintf(c.env.Stderr, "%s: %s: %s\n", c.env.ProgName(), script, cli.ErrText(err))
		return out.b, noStatus
	}
	return out.b, 0
}

// noStatus is the status of a script that cannot be run or does not exit, as of a shell.
const noStatus = 126

// A limitedOutput takes maxScript bytes, and drops the others.
type limitedOutput struct{ b []byte }

func (l *limitedOutput) Write(b []byte) (int, error) {
	l.b = append(l.b, b[:min(len(b), maxScript-len(l.b))]...)
	return len(b), nil
}

// report prints the result of a script.
func (c *check) report(name string, out []byte, status int) {
	results := []string{"success", "failure"}
	if c.does('s') {
		results = []string{"active", "could be activated", "cannot be activated"}
	}
	result := fmt.Sprintf("botch, rc=%d", status)
	if status < len(results) {
		result = results[status]
	}
	c.failed = c.failed || status >= len(results) || status > 0 && !c.does('s')
	if c.dryRun {
		c.env.Stdout.Write(out)
		return
	}
	c.lines(fmt.Sprintf("%-15s %-20s", name, result), fmt.Sprintf("%-15s %-20s", "", ""), out)
}

// lines prints the lines of a script behind a column for the name.
func (c *check) lines(first, others string, out []byte) {
	text := strings.TrimRight(string(out), "\n")
	if text == "" {
		fmt.Fprintln(c.env.Stdout, first)
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(c.env.Stdout, "%s %s\n", first, strings.TrimSpace(line))
		first = others
	}
}
