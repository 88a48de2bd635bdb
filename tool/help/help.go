package help

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/tool/cli"
)

// Command is "pcp help".
var Command = &cli.Command{
	Name:        "help",
	Group:       "This program",
	Summary:     "list the commands, or explain one of them",
	Synopsis:    "[options] [command]",
	DieOnSignal: true,
	Options:     []cli.Option{cli.Heading("General options"), cli.OptVersion, cli.OptHelp},
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	o := cli.ParseOptions(env, cli.ParseConfig{})
	if status, exit := o.Done(); exit {
		return status
	}
	switch len(o.Args) {
	case 0:
		List(env.Stdout, env.Commands)
		return 0
	case 1:
	default:
		o.WantUsage()
		status, _ := o.Done()
		return status
	}
	c := cli.Find(env.Commands, o.Args[0])
	if c == nil {
		fmt.Fprint(env.Stderr, cli.Unknown(env.Commands, o.Args[0]))
		return 1
	}
	Explain(env.Stdout, c)
	return 0
}

// List writes the commands by group, in the order of the table.
func List(w io.Writer, commands []*cli.Command) {
	fmt.Fprint(w, "Usage: pcp command [options] [arguments]\n"+
		"       pcp help command\n")
	var groups []string
	width := 0
	for _, c := range commands {
		if !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
		width = max(width, len(names(c)))
	}
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s:\n", g)
		for _, c := range commands {
			if c.Group == g {
				fmt.Fprintf(w, "  %-*s  %s\n", width, names(c), c.Summary)
			}
		}
	}
	fmt.Fprint(w, "\nA command in parentheses is the classic name: through a link of that name\n"+
		"this program is that command. \"pcp links DIR\" makes the links.\n")
}

func names(c *cli.Command) string {
	if c.Link == "" || c.Link == c.Name {
		return c.Name
	}
	return c.Name + " (" + c.Link + ")"
}

// Explain writes what c is for and its usage message.
func Explain(w io.Writer, c *cli.Command) {
	name := "pcp " + c.Name
	fmt.Fprintf(w, "%s: %s\n", name, c.Summary)
	if c.Link != "" {
		fmt.Fprintf(w, "Also called %s.\n", c.Link)
	}
	fmt.Fprintf(w, "\n%s", c.Usage(name))
	if extras := c.Extras(); extras != "" {
		fmt.Fprintf(w, "\nNot in the C tool:\n%s", extras)
	}
	if c.TakesDebug() {
		fmt.Fprintf(w, "\nDebug options, by -D or $PCP_DEBUG, may be any that \"pcp dbg -l\" lists.\n%s\n", shows(c.Debug))
	}
}

// shows says for which debug options a command prints something.
func shows(names []string) string {
	switch n := len(names); n {
	case 0:
		return "The command does not print anything for them yet."
	case 1:
		return "The command prints something for " + names[0] + " only."
	default:
		return "The command prints something for " + strings.Join(names[:n-1], ", ") + " and " + names[n-1] + " only."
	}
}
