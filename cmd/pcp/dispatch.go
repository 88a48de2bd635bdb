package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/reports/summary"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
)

// callOptions are the options before the name of a command. Each except the last
// ones is passed on in a variable of the environment.
func callOptions() []cli.Option {
	return []cli.Option{
		cli.Heading("Summary Options"),
		cli.OptArchive,
		cli.OptHost,
		cli.OptOrigin,
		cli.OptNameSpace,
		{Short: 'P', Long: "pmie", Help: "display pmie evaluation statistics"},
		cli.OptHelp,
		cli.Heading("Command Options"),
		cli.OptAlign,
		cli.OptArchive,
		{Long: "compat", Arg: "6|7", Help: "print what this version of PCP prints", Extra: true},
		cli.OptDebug,
		cli.OptGuiMode,
		cli.OptHost,
		cli.OptLocalPMDA,
		cli.OptNameSpace,
		cli.OptOrigin,
		cli.OptGuiPort,
		cli.OptStart,
		cli.OptSamples,
		cli.OptFinish,
		cli.OptInterval,
		cli.OptTimeZone,
		cli.OptHostZone,
		cli.OptVersion,
	}
}

// callVariables are the variables that represent options (pmGetOptions(3)).
func callVariables() map[string]string {
	return map[string]string{
		"align": "PCP_ALIGN_TIME", "archive": "PCP_ARCHIVE", "debug": "PCP_DEBUG", "guimode": "PCP_GUIMODE", "host": "PCP_HOST",
		"local-PMDA": "PCP_LOCALMODE", "namespace": "PCP_NAMESPACE", "origin": "PCP_ORIGIN_TIME", "guiport": "PCP_GUIPORT",
		"start": "PCP_START_TIME", "samples": "PCP_SAMPLES", "finish": "PCP_FINISH_TIME", "interval": "PCP_INTERVAL",
		"compat": "PCP_COMPAT", "timezone": "PCP_TIMEZONE", "hostzone": "PCP_HOSTZONE",
	}
}

// A call is the parsed arguments of pcp: options, a command and its arguments.
type call struct {
	env     *cli.Env
	setenv  func(name, value string)
	options []string // for the command: -P

	optioned bool // there were options at all
}

// dispatch sets env for the command that the arguments of pcp name. If they name no
// command of this program, dispatch handles them itself, and returns true and the
// exit status.
func dispatch(env *cli.Env, setenv func(name, value string)) (status int, done bool) {
	env.Name = "pcp"
	c := &call{env: env, setenv: setenv}
	rest, status, done := c.parse()
	if done {
		return status, true
	}
	if len(rest) == 0 {
		status, done = c.begin(summary.Command, nil)
		env.ByName = len(env.Args) == 0 && !c.optioned // a newcomer's first word
		return status, done
	}
	name, args := rest[0], rest[1:]
	// The order is documented in docs/install.md and by pcp help.
	own := c.personal(name)
	switch command := cli.Find(env.Commands, name); {
	case own != "":
		return c.replace(own, args)
	case command != nil:
		return c.begin(command, args)
	case cli.Executable(c.installed(name)):
		return c.replace(c.installed(name), args)
	case cli.Executable(name):
		path, err := filepath.Abs(name)
		if err != nil {
			return env.Fatalf("%v", err), true
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		return c.replace(path, args)
	}
	fmt.Fprint(env.Stderr, cli.Unknown(env.Commands, name))
	return 1, true
}

// parse reads the options, and returns the arguments after them.
func (c *call) parse() (rest []string, status int, done bool) {
	p := getopt.New(callOptions(), c.env.Args)
	p.POSIX = true
	variables := map[string]string{}
	for opt, arg := range p.All() {
		switch {
		case opt == nil:
			c.env.Printf("pcp: %s\n", p.Problem())
			return nil, c.usage(), true
		case opt.Long == "help":
			return nil, c.usage(), true
		case opt.Long == "version":
			fmt.Fprintln(c.env.Stdout, "pcp version", c.env.Version)
			return nil, 0, true
		case opt.Long == "pmie":
			c.options = append(c.options, "-P")
		case opt.Long == "compat" && !cli.IsCompat(arg):
			return nil, c.env.Fatalf("--compat=%s: neither 6 nor 7", arg), true
		case opt.Arg == "":
			variables[callVariables()[opt.Long]] = "true"
		default:
			variables[callVariables()[opt.Long]] = arg
		}
	}
	c.optioned = len(variables) > 0
	for name, value := range variables {
		c.setenv(name, value)
	}
	return p.Args(), 0, false
}

// usage prints the usage message, with the commands that are programs of their own,
// and returns the exit status.
func (c *call) usage() int {
	c.env.Printf("%s\n", getopt.Usage("pcp", "[options] [[...] command [...]]", callOptions()))
	names := []string{summary.Command.Name}
	for _, dir := range c.dirs() {
		files, err := filepath.Glob(filepath.Join(dir, "pcp-*"))
		if err != nil {
			continue
		}
		for _, path := range files {
			if cli.Executable(path) {
				names = append(names, strings.TrimPrefix(filepath.Base(path), "pcp-"))
			}
		}
	}
	slices.Sort(names)
	list := "Available Commands:     " + strings.Join(slices.Compact(names), "\n") + "\n"
	c.env.Printf("%s\n\n\"%s help\" lists the commands of this program itself.\n",
		strings.Join(cli.Fill(list, summary.Width), "\n           "), c.env.Pcp())
	c.env.Flush()
	return 1
}

// dirs returns where programs named pcp-NAME are: the user's own directory, if there
// is one, and that of the installation.
func (c *call) dirs() []string {
	dirs := []string{c.env.Config().Get("PCP_BINADM_DIR")}
	if home := c.env.Getenv("HOME"); home != "" {
		dirs = append([]string{filepath.Join(home, ".pcp", "bin")}, dirs...)
	}
	return dirs
}

// personal returns the user's own program for a command, or "".
func (c *call) personal(name string) string {
	dirs := c.dirs()
	if len(dirs) < 2 {
		return ""
	}
	if path := filepath.Join(dirs[0], "pcp-"+name); cli.Executable(path) {
		return path
	}
	return ""
}

// installed returns the path of the installed program for a command, or "".
func (c *call) installed(name string) string {
	return filepath.Join(c.env.Config().Get("PCP_BINADM_DIR"), "pcp-"+name)
}

// begin sets the environment for a command of this program.
func (c *call) begin(command *cli.Command, args []string) (status int, done bool) {
	c.env.Command = command
	c.env.Args = slices.Concat(c.options, args)
	c.env.Name = "pcp " + command.Name
	if command.Through() { // its output is that of the C program
		c.env.Name, c.env.ByName = command.Link, true
	}
	return 0, false
}

// replace continues as another program, which gets the environment that
// pcp.env(5) makes.
func (c *call) replace(path string, args []string) (status int, done bool) {
	err := c.env.Replace(path, slices.Concat(c.options, args), c.env.Config().Environ())
	return c.env.Fatalf("cannot run %s: %s", path, cli.ErrText(err)), true
}
