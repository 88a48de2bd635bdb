package help

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is "pcp help".
var Command = &cli.Command{
	Name:     "help",
	Group:    "This program",
	Summary:  "list the commands, or explain one",
	Synopsis: "[options] [command]...",
	Doc: `Lists the commands, or explains one with its options and examples. Give the full name of a
sub-command.`,
	Examples: []cli.Example{
		{Line: "pcp help", Text: "list the commands"},
		{Line: "pcp help info", Text: "explain pcp info, with examples"},
		{Line: "pcp help archive ls", Text: "explain a command below another"},
	},
	DieOnSignal: true,
	Options:     func() []cli.Option { return []cli.Option{cli.Heading("General options"), cli.OptVersion, cli.OptHelp} },
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	o := cli.ParseArgs(env, cli.ParseConfig{})
	if status, exit := o.Done(); exit {
		return status
	}
	if len(o.Args) == 0 {
		List(env)
		return 0
	}
	name := strings.Join(o.Args, " ")
	c := cli.Find(env.Commands, name)
	if c == nil {
		fmt.Fprint(env.Stderr, cli.Unknown(env.Commands, name))
		return 1
	}
	env.Help(c)
	return 0
}

// first are the commands that a newcomer needs.
var first = []string{"up", "top", "ps", "info", "val", "stat", "chart", "record", "replay", "alerts", "archive", "agent", "store", "help"}

// List writes the commands: those to begin with, then the others by group, in the
// order of the table.
func List(env *cli.Env) {
	w := env.Stdout
	fmt.Fprintf(w, "%s pcp [options] command [options] [arguments]\n"+
		"       pcp help command\n", env.Bold("Usage:"))
	heading := func(text string) { fmt.Fprintf(w, "\n%s\n", env.Bold(text+":")) }
	var groups, programs []string
	width := 0
	for _, c := range env.Commands {
		if c.Group == cli.AgentPrograms { // not typed by users
			programs = append(programs, c.Name)
			continue
		}
		if !slices.Contains(first, c.Name) && !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
		width = max(width, len(names(c)))
	}
	heading("To begin with")
	for _, name := range first {
		if c := cli.Find(env.Commands, name); c != nil {
			line(w, c, width)
		}
	}
	for _, g := range groups {
		heading(g)
		for _, c := range env.Commands {
			if c.Group == g && !slices.Contains(first, c.Name) {
				line(w, c, width)
			}
		}
	}
	if len(programs) > 0 {
		text := fmt.Sprintf("Agents as programs, which a collector starts, and their helpers: %s. \"pcp help NAME\" explains one.", strings.Join(programs, ", "))
		fmt.Fprintf(w, "\n%s\n", strings.Join(cli.Fill(text, 80), "\n"))
	}
	fmt.Fprint(w, "\nThe name in parentheses is the classic name: a link with that name takes the\n"+
		"options of the C tool and prints the same output. \"pcp links DIR\" creates the\n"+
		"links.\n\n"+
		"pcp NAME runs the first of these that exists: your own program\n"+
		"~/.pcp/bin/pcp-NAME, the command NAME of this program, the installed program\n"+
		"pcp-NAME, and a program in the file NAME. Options before the name, listed by\n"+
		"\"pcp --help\", apply to all of them. Without a name pcp summarizes the collector\n"+
		"or archive.\n")
}

func line(w io.Writer, c *cli.Command, width int) {
	fmt.Fprintf(w, "  %-*s  %s\n", width, names(c), c.Summary)
}

func names(c *cli.Command) string {
	if c.Link == "" || c.Link == c.Name {
		return c.Name
	}
	return c.Name + " (" + c.Link + ")"
}
