package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
)

// Command is pcp doctor.
var Command = &cli.Command{
	Name:     "doctor",
	Group:    cli.Administer,
	Summary:  "find what is wrong with this installation",
	Synopsis: "[options]",
	Doc: `
Checks this machine's collector, agents, recordings, rules, receivers, certificates, directories and
settings, whether they are of "pcp up" or of daemons that units or start scripts run. For each fault it
prints a description, its effect, and the command that mends it. With -h it checks the collector of
another host as far as a client can.

With --fix it also mends the faults whose remedy is harmless, and prints each action: it corrects
permissions, creates missing directories, removes files that ended processes left behind, and saves the
readable parts of damaged archives in new ones. It changes no archive, and stops no process.

An identifier, such as collector.unreachable, names each kind of fault. docs/doctor.md describes them.

The exit status is 0 if there is no fault, although there may be warnings, and 1 if there is one or if
the checks could not be made. With --quiet nothing is printed unless there is a fault, for health checks
of containers.`,
	Examples: []cli.Example{
		{Line: "pcp doctor", Text: "check this machine"},
		{Line: "pcp doctor --fix", Text: "and mend what can be mended safely"},
		{Line: "pcp doctor -h HOST", Text: "check the collector of another host"},
		{Line: "pcp doctor --quiet", Text: "only the exit status, as a health check"},
	},
	SeeAlso: []string{"pcp help up", "pcp help verify", "pcp help service"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptHost,
			{Long: "fix", Help: "mend faults whose remedy is harmless"},
			{Long: "quiet", Help: "print nothing unless there is a fault"},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

// limit is how long all checks together may take.
const limit = 20 * time.Second

func run(ctx context.Context, env *cli.Env) int {
	var fix, quiet bool
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Long {
		case "fix":
			fix = true
		case "quiet":
			quiet = true
		default:
			return false
		}
		return true
	}})
	if len(o.Args) > 0 {
		o.Usagef("unexpected argument %q", o.Args[0])
	}
	if fix && len(o.Hosts) > 0 {
		o.Usagef("--fix mends this machine; it cannot be combined with -h")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	host := ""
	if len(o.Hosts) > 0 {
		host = o.Hosts[0]
	}
	s := newSite(env, host)
	defer s.close()
	checking, cancel := context.WithTimeout(ctx, limit)
	list := s.examine(checking, quiet)
	cancel()
	if ctx.Err() != nil {
		return env.Fatalf("interrupted")
	}
	r := report{env: env, json: o.JSON, quiet: quiet, version: env.Version}
	for i := range list {
		f := &list[i]
		if fix && f.fix != nil {
			done, err := f.fix(ctx, s)
			switch {
			case ctx.Err() != nil:
				return env.Fatalf("interrupted")
			case err != nil:
				f.failed = cli.ErrText(err)
			default:
				f.done = done
			}
		}
		r.count(f)
	}
	if quiet && r.errors == 0 {
		return 0
	}
	for i := range list {
		r.print(&list[i])
	}
	r.end(list)
	if r.errors > 0 {
		return 1
	}
	return 0
}

// A report prints findings.
type report struct {
	env      *cli.Env
	json     bool
	quiet    bool
	version  string
	errors   int
	warnings int
	fixed    int
	printed  bool
}

func (r *report) count(f *finding) {
	switch {
	case f.done != "":
		r.fixed++
	case f.severity() == fault:
		r.errors++
	case f.severity() == warning:
		r.warnings++
	}
}

// An object is the JSON of a finding.
type object struct {
	ID       string   `json:"id"`
	Severity severity `json:"severity"`
	Subject  string   `json:"subject,omitempty"`
	Text     string   `json:"text"`
	Effect   string   `json:"effect,omitempty"`
	Command  string   `json:"command,omitempty"`
	Fixed    string   `json:"fixed,omitempty"`
	Error    string   `json:"error,omitempty"` // why --fix could not mend it
}

func (r *report) print(f *finding) {
	if r.quiet && f.severity() != fault {
		return
	}
	if r.json {
		r.env.Stdout.Write(pcpjson.Line(object{f.id, f.severity(), f.subject, f.text, f.effect(), f.command, f.done, f.failed}))
		return
	}
	if f.severity() == note {
		return // at the end
	}
	if r.printed {
		fmt.Fprintln(r.env.Stdout)
	}
	r.printed = true
	fmt.Fprintf(r.env.Stdout, "%s %s: %s\n", f.severity().word(), f.id, plain(f.text))
	fmt.Fprintf(r.env.Stdout, "  Effect: %s\n", f.effect())
	switch {
	case f.done != "":
		fmt.Fprintf(r.env.Stdout, "  Fixed:  %s\n", plain(f.done))
	case f.command != "":
		fmt.Fprintf(r.env.Stdout, "  Remedy: %s\n", plain(f.command))
	}
	if f.failed != "" {
		fmt.Fprintf(r.env.Stdout, "  --fix could not mend it: %s\n", plain(f.failed))
	}
}

// plain returns a text without characters that control a terminal.
func plain(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return '?'
		}
		return c
	}, s)
}

func (r *report) end(list []finding) {
	if r.json {
		r.env.Stdout.Write(pcpjson.Line(struct {
			OK       bool `json:"ok"`
			Errors   int  `json:"errors"`
			Warnings int  `json:"warnings"`
			Fixed    int  `json:"repairs,omitempty"`
		}{r.errors == 0 && r.warnings == 0, r.errors, r.warnings, r.fixed}))
		return
	}
	if r.quiet {
		return
	}
	if r.printed {
		fmt.Fprintln(r.env.Stdout)
	}
	for i := range list {
		if f := &list[i]; f.severity() == note {
			fmt.Fprintf(r.env.Stdout, "%-10s %s\n", f.subject, plain(f.text))
		}
	}
	if r.errors+r.warnings+r.fixed == 0 {
		fmt.Fprintln(r.env.Stdout, "Everything is in order.")
		return
	}
	text := fmt.Sprintf("%s, %s", number(r.errors, "fault"), number(r.warnings, "warning"))
	if r.fixed > 0 {
		text += fmt.Sprintf(", %d mended", r.fixed)
	}
	if slices.ContainsFunc(list, func(f finding) bool { return f.fix != nil && f.done == "" && f.failed == "" }) {
		text += fmt.Sprintf(`; "%s doctor --fix" mends those with a harmless remedy`, r.env.Pcp())
	}
	fmt.Fprintln(r.env.Stdout, text+".")
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
