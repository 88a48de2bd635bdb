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
	Group:    cli.Administer,
	Summary:  "list the commands, or explain one",
	Synopsis: "[options] [command | task | word]...",
	Doc: `Lists the commands by task, or explains one with its options and examples. Give the full name of a
sub-command. A word that is not a command is a task of the list, such as "export", or the name of
another program, such as grafana or htop: help names the commands with the same purpose.`,
	Examples: []cli.Example{
		{Line: "pcp help", Text: "list the main commands by task"},
		{Line: "pcp help --all", Text: "list all commands"},
		{Line: "pcp help info", Text: "explain pcp info, with examples"},
		{Line: "pcp help archive ls", Text: "explain a command below another"},
		{Line: "pcp help see now", Text: "list the commands of a task"},
		{Line: "pcp help docker stats", Text: "find the command to use for another program"},
	},
	DieOnSignal: true,
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			{Short: 'a', Long: "all", Help: "list all commands"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

func run(_ context.Context, env *cli.Env) int {
	all := false
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		if opt.Long != "all" {
			return false
		}
		all = true
		return true
	}})
	if all && len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	l := &list{env.Stdout, env.Commands, env.Bold}
	switch name := strings.Join(o.Args, " "); {
	case all:
		l.all()
	case name == "":
		l.brief()
	default:
		return explain(env, l, name)
	}
	return 0
}

// explain writes the help of a command, the list of a task, or the advice for a name from elsewhere.
func explain(env *cli.Env, l *list, name string) int {
	if c := cli.Find(env.Commands, name); c != nil {
		env.Help(c)
		return 0
	}
	if group := task(name); group != "" {
		l.group(group, l.width(l.of(group)))
		return 0
	}
	use, ok := cli.Foreign(name)
	if !ok {
		fmt.Fprint(env.Stderr, cli.Unknown(env.Commands, name))
		return 1
	}
	named := mentioned(env.Commands, use)
	fmt.Fprintf(env.Stdout, "%s\n\n", strings.Join(cli.Fill("For "+name+" use "+use+".", 80), "\n"))
	for _, c := range named {
		line(env.Stdout, c, l.width(named))
	}
	return 0
}

// task returns the group of a name: its heading, or the only word of that heading with a meaning.
func task(name string) string {
	for _, g := range cli.Groups() {
		if g == cli.AgentPrograms {
			continue
		}
		words := strings.Fields(strings.ToLower(g))
		if strings.EqualFold(name, g) || !slices.Contains([]string{"see", "the", "and", "an"}, strings.ToLower(name)) && slices.Contains(words, strings.ToLower(name)) {
			return g
		}
	}
	return ""
}

// mentioned returns the commands that a text names, as in "pcp free or pcp vmstat".
func mentioned(commands []*cli.Command, text string) []*cli.Command {
	var list []*cli.Command
	words := strings.Fields(text)
	for i, w := range words[:len(words)-1] {
		if w != "pcp" {
			continue
		}
		c := cli.Find(commands, strings.Trim(words[i+1], ",.;:"))
		if c != nil && i+2 < len(words) {
			if sub := cli.Find(commands, c.Name+" "+strings.Trim(words[i+2], ",.;:")); sub != nil {
				c = sub
			}
		}
		if c != nil && !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// first are the commands to begin with.
var first = []string{"up", "top", "info", "val", "replay", "chart", "record", "alerts", "doctor", "help"}

// principal are the main commands of each group.
func principal() map[string][]string {
	return map[string][]string{
		cli.SeeNow:     {"top", "diagnose", "ps", "info", "val", "stat", "summary", "iostat", "mpstat", "pidstat", "netstat", "ss", "vmstat", "free", "dstat", "atop", "rep"},
		cli.SeePast:    {"replay", "archive", "query", "logsummary", "diff", "atopsar"},
		cli.Record:     {"record", "logger", "logextract", "logreduce", "logpush"},
		cli.Alert:      {"alerts", "ie", "ieconf"},
		cli.Export:     {"push", "otlp", "export-json", "export-influxdb", "2csv", "import"},
		cli.Serve:      {"chart", "proxy", "series", "search"},
		cli.WriteAgent: {"agent", "dbpmda", "mmvdump"},
		cli.Administer: {"up", "doctor", "pmcd", "service", "passwd", "find", "store", "links", "completion", "help"},
		cli.Scripts:    {"trace", "json", "date", "hostname", "config", "getopt", "signal"},
	}
}

// A list writes lists of commands.
type list struct {
	w        io.Writer
	commands []*cli.Command
	bold     func(string) string
}

func (l *list) usage() {
	fmt.Fprintf(l.w, "%s pcp [options] command [options] [arguments]\n"+
		"       pcp help command\n", l.bold("Usage:"))
}

func (l *list) heading(text string) { fmt.Fprintf(l.w, "\n%s\n", l.bold(text+":")) }

// brief writes the commands to begin with, and the names of the main ones by task.
func (l *list) brief() {
	l.usage()
	l.heading("To begin with")
	l.lines(first)
	l.heading("By task")
	indent := 2 + len("Export and import") + 2
	for _, g := range cli.Groups() {
		text := strings.Join(principal()[g], " ")
		if text == "" {
			continue
		}
		for i, row := range cli.Fill(text, 80-indent) {
			if i > 0 {
				g = ""
			}
			fmt.Fprintf(l.w, "  %-*s%s\n", indent-2, g, row)
		}
	}
	fmt.Fprint(l.w, "\n\"pcp help NAME\" explains a command. \"pcp help --all\" lists all commands, and\n"+
		"\"pcp help export\" those of a task. Names of other programs lead to ours:\n"+
		"\"pcp help grafana\".\n")
}

// all writes all commands by task.
func (l *list) all() {
	l.usage()
	var programs []string
	var typed []*cli.Command
	for _, c := range l.commands {
		if c.Group == cli.AgentPrograms {
			programs = append(programs, c.Name)
		} else {
			typed = append(typed, c)
		}
	}
	width := l.width(typed)
	for _, g := range cli.Groups() {
		if g != cli.AgentPrograms {
			fmt.Fprintln(l.w)
			l.group(g, width)
		}
	}
	if len(programs) > 0 {
		text := fmt.Sprintf("Agents as programs, which a collector starts, and their helpers: %s. \"pcp help NAME\" explains one.", strings.Join(programs, ", "))
		fmt.Fprintf(l.w, "\n%s\n", strings.Join(cli.Fill(text, 80), "\n"))
	}
	fmt.Fprint(l.w, "\nThe name in parentheses is the classic name: a link with that name takes the\n"+
		"options of the C tool and prints the same output. \"pcp links DIR\" creates the\n"+
		"links.\n\n"+
		"pcp NAME runs the first of these that exists: your own program\n"+
		"~/.pcp/bin/pcp-NAME, the command NAME of this program, the installed program\n"+
		"pcp-NAME, and a program in the file NAME. Options before the name, listed by\n"+
		"\"pcp --help\", apply to all of them. Without a name pcp summarizes the collector\n"+
		"or archive.\n")
}

// group writes the commands of a group: the main ones first, the others in the order of the table.
func (l *list) group(g string, width int) {
	fmt.Fprintln(l.w, l.bold(g+":"))
	for _, c := range l.of(g) {
		line(l.w, c, width)
	}
}

// of returns the commands of a group, in the order of its list.
func (l *list) of(g string) []*cli.Command {
	var cs []*cli.Command
	for _, name := range principal()[g] {
		if c := cli.Find(l.commands, name); c != nil {
			cs = append(cs, c)
		}
	}
	for _, c := range l.commands {
		if c.Group == g && !slices.Contains(cs, c) {
			cs = append(cs, c)
		}
	}
	return cs
}

// lines writes the commands of these names, as far as they exist.
func (l *list) lines(names []string) {
	var cs []*cli.Command
	for _, name := range names {
		if c := cli.Find(l.commands, name); c != nil {
			cs = append(cs, c)
		}
	}
	for _, c := range cs {
		line(l.w, c, l.width(cs))
	}
}

// width returns the width of the widest names.
func (l *list) width(cs []*cli.Command) int {
	width := 0
	for _, c := range cs {
		width = max(width, len(names(c)))
	}
	return width
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
