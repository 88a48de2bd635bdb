package logcheck

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pmlogcheck.
var Command = &cli.Command{
	Name:     "logcheck",
	Link:     "pmlogcheck",
	Group:    cli.Record,
	Summary:  "check an archive for damage",
	Synopsis: "[options] archive",
	Doc: `Reads an archive from its beginning to its end and reports damage: records that cannot be decoded,
times that go back, values without a descriptor, counters that went back.

With -R damaged archives are repaired in place, as by "pcp archive repair -i": each readable record is
kept, and the damaged archive gets the name NAME.damaged. With -r pmlogcheck asks first.

For a report with files and offsets use "pcp archive verify", and "pcp archive repair" to save the
readable parts in another archive.`,
	Examples: []cli.Example{
		{Line: `pcp logcheck 20261121`, Text: `check an archive`},
		{Line: `pcp logcheck -l 20261121`, Text: `print its label too`},
	},
	SeeAlso: []string{"pcp-archive-verify(1)", "pcp-archive-repair(1)", "pcp-archive(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'f', Long: "full", Help: "continue after a damaged file", Extra: true},
			{Short: 'l', Long: "label", Help: "print the archive label"},
			{Short: 'm', Long: "metadataonly", Help: "skip checking log data volumes"},
			cli.OptNameSpace,
			{Short: 'R', Long: "auto-repair", Help: "repair damaged archives, which are kept as NAME.damaged", Extra: true},
			{Short: 'r', Long: "repair", Help: "the same, after a question for each archive", Extra: true},
			cli.OptStart,
			cli.OptFinish,
			{Short: 'v', Long: "verbose", Help: "verbose output"},
			{Short: 'w', Long: "nowrap", Help: "suppress counter wrap warnings"},
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// flags are the options of this tool.
type flags struct {
	label, metaOnly, noWrap, full bool
	repair, ask                   bool // -R and -r, -r
	verbose                       int
}

func (f *flags) own(_ *cli.Options, opt *cli.Option, _ string) bool {
	switch opt.Short {
	case 'f':
		f.full = true
	case 'l':
		f.label = true
	case 'm':
		f.metaOnly = true
	case 'R':
		f.repair = true
	case 'r':
		f.repair, f.ask = true, true
	case 'v':
		f.verbose++
	case 'w':
		f.noWrap = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	var f flags
	o := source.Parse(env, cli.ParseConfig{Own: f.own, Later: true, Archives: true, Multi: true})
	if len(o.Args) == 0 && !o.Errors() {
		env.Printf("Error: no archive specified\n\n")
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	ask := f.question(env)
	if ask == nil {
		fmt.Fprintf(env.Stderr, "Error: not interactive so repair not allowed\n       ... consider -R for non-interactive repair\n")
		return 1
	}
	o.AddArchive(o.Args[0])
	o.End()
	if status, exit := o.Done(); exit {
		return status
	}
	status := 0
	seen := make(map[string]bool)
	for _, name := range o.Args {
		c := &check.Checker{Path: name, Prog: env.ProgName(), Verbose: f.verbose, MetaOnly: f.metaOnly, NoWrap: f.noWrap, Seven: env.Seven(), Full: f.full}
		if base := c.Base(); seen[base] {
			if f.verbose > 0 {
				fmt.Fprintf(env.Stderr, "%s: skip, already checked this archive\n", name)
			}
			continue
		} else {
			seen[base] = true
		}
		if f.repair {
			f.one(env, o, c)
			if !mend(ctx, env, name, ask) {
				status = 1
			}
			continue
		}
		// An unreadable record is reported, but pmlogcheck of PCP 6 still exits with 0. It has no -f.
		if !f.one(env, o, c) && (c.ReadError == nil || f.full || env.Seven() || !env.Classic()) {
			status = 1
		}
	}
	return status
}

// one checks one archive.
func (f *flags) one(env *cli.Env, o *source.Options, c *check.Checker) bool {
	c.Trace = env.Stderr
	c.Debug = o.DebugLog()
	var progress *cli.Progress
	if f.verbose == 0 {
		progress = cli.NewProgress(env, env.ProgName(), 0)
		defer progress.Clear()
	}
	c.Progress = progress.Set
	c.Found = func(fi check.Finding) {
		progress.Clear()
		io.WriteString(env.Stderr, fi.Message)
	}
	if tree := o.NameSpace; tree != nil {
		c.Names = func(id pcp.PMID) []string {
			names, err := tree.Names(id)
			if err != nil {
				return nil
			}
			return names
		}
	}
	c.Opened = func(a *archive.Archive) (w check.Window, loc *time.Location, ok bool) {
		loc = o.ArchiveZone(a)
		tw, err := o.ArchiveWindow(a, loc)
		if err != nil {
			return w, nil, false
		}
		// A note about the time zone is on stdout, and not before the label
		// unless that is a terminal: as in C it is not flushed here.
		if f.label {
			printLabel(env, a.Label(), tw.Finish, loc)
		}
		return check.Window{Start: tw.Start, Finish: tw.Finish, FromStart: o.Start == nil}, loc, true
	}
	return c.Run()
}

// printLabel prints the label of the archive.
func printLabel(env *cli.Env, l archive.Label, end pcp.Timestamp, loc *time.Location) {
	w := env.Stderr
	day := func(t pcp.Timestamp) string { return day(t, loc, env.Seven()) }
	fmt.Fprintf(w, "Log Label (Log Format Version %d)\nPerformance metrics from host %s\n", l.Version, l.Host)
	fmt.Fprintf(w, "  commencing %s\n", day(l.Start))
	if end.Sec == pcp.MaxSec {
		fmt.Fprintf(w, "  ending     UNKNOWN\n")
		return
	}
	fmt.Fprintf(w, "  ending     %s\n", day(end))
}

// day returns a date with milliseconds, or with nanoseconds as PCP 7 prints them.
func day(t pcp.Timestamp, loc *time.Location, nanoseconds bool) string {
	at := time.Unix(t.Sec, 0).In(loc)
	if nanoseconds {
		return fmt.Sprintf("%s.%09d %4.4s", at.Format("Mon Jan _2 15:04:05"), t.Nsec, at.Format("2006"))
	}
	return fmt.Sprintf("%s.%03d %4.4s", at.Format("Mon Jan _2 15:04:05"), t.Nsec/1000000, at.Format("2006"))
}
