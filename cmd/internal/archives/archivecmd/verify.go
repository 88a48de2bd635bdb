package archivecmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
)

var verifyCommand = &cli.Command{
	Name:     "archive verify",
	Summary:  "check archives for damage",
	Synopsis: "[options] archive | directory...",
	Doc: `
Reads complete archives and reports damage, with file and offset. The exit status is 0 if all are
undamaged, 1 if one is damaged, and 2 if one cannot be read.`,
	Examples: []cli.Example{
		{Line: "pcp archive verify 20261121", Text: "check an archive"},
		{Line: "pcp archive verify -q /var/log/pcp/pmlogger/vm", Text: "check a directory, only for the exit status"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptJSON,
			{Short: 'q', Long: "quiet", Help: "no output, only the exit status"},
			{Short: 'w', Long: "nowrap", Help: "no notes about counters that may have wrapped"},
			{Short: 'm', Long: "metadataonly", Help: "skip checking the values"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         verify,
}

// A finding is the JSON of a finding.
type finding struct {
	Archive  string `json:"archive"`
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"`
	Offset   *int64 `json:"offset,omitempty"`
	Text     string `json:"text"`
}

// verify exits with 0 if all archives are undamaged, 1 if one is damaged, and 2 if one
// does not exist or the command line is wrong.
func verify(_ context.Context, env *cli.Env) int {
	var quiet, noWrap, metaOnly bool
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Long {
		case "quiet":
			quiet = true
		case "nowrap":
			noWrap = true
		case "metadataonly":
			metaOnly = true
		default:
			return false
		}
		return true
	}})
	if len(o.Args) == 0 && !o.WantsVersion() {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if status != 0 {
			status = 2
		}
		return status
	}
	list, err := archives(o.Args)
	if err != nil {
		failed(env, err)
		return 2
	}
	if len(list) == 0 {
		noneIn(env, o.Args)
	}
	status := 0
	for _, path := range list {
		if err := unreadable(path); err != nil {
			failed(env, err)
			status = 2
			continue
		}
		if _, err := archive.FindFiles(path); err != nil && len(check.Files(path)) == 0 {
			failed(env, err)
			status = 2
			continue
		}
		v := verdict{}
		m := cli.NewProgress(env, path, 0)
		c := check.Checker{Path: path, NoWrap: noWrap, MetaOnly: metaOnly, Strict: true, Progress: m.Set}
		c.Opened = func(a *archive.Archive) (check.Window, *time.Location, bool) {
			w := c.Whole(a)
			return w, env.Local(), true
		}
		c.Found = func(f check.Finding) {
			v.add(f)
			if quiet {
				return
			}
			m.Clear()
			show(env, path, f, o.JSON)
		}
		ok := c.Run()
		m.Clear()
		if !quiet {
			v.print(env, path, ok, o.JSON, &c)
		}
		if (!ok || v.errors > 0) && status == 0 {
			status = 1
		}
	}
	return status
}

// A verdict counts findings.
type verdict struct{ errors, warnings int }

func (v *verdict) add(f check.Finding) {
	switch f.Severity {
	case check.Error:
		v.errors++
	case check.Warning:
		v.warnings++
	}
}

// show writes a finding.
func show(env *cli.Env, path string, f check.Finding, asJSON bool) {
	text := strings.TrimSpace(f.Text)
	if asJSON {
		j := finding{Archive: path, Severity: f.Severity.String(), File: f.File, Text: text}
		if f.Offset >= 0 {
			j.Offset = &f.Offset
		}
		env.Stdout.Write(pcpjson.Line(j))
		return
	}
	where := f.File
	if where == "" {
		where = path
	}
	if f.Offset >= 0 {
		where += fmt.Sprintf(": offset %d", f.Offset)
	}
	fmt.Fprintf(env.Stdout, "%s: %s: %s\n", where, f.Severity, strings.ReplaceAll(text, "\n\t", ", "))
}

// print writes the result.
func (v *verdict) print(env *cli.Env, path string, ok bool, asJSON bool, c *check.Checker) {
	if asJSON {
		env.Stdout.Write(pcpjson.Line(struct {
			Archive  string `json:"archive"`
			OK       bool   `json:"ok"`
			Errors   int    `json:"errors"`
			Warnings int    `json:"warnings"`
			Records  int    `json:"records"`
			Marks    int    `json:"marks"`
		}{path, ok && v.errors == 0, v.errors, v.warnings, c.Records, c.Marks}))
		return
	}
	word := "whole"
	switch {
	case !ok || v.errors > 0:
		word = env.Red("DAMAGED") + "; \"" + env.Pcp() + " archive repair\" may help"
	case v.warnings > 0:
		word = "whole, but odd"
	}
	fmt.Fprintf(env.Stdout, "%s: %s", path, word)
	if c.Records > 0 {
		fmt.Fprintf(env.Stdout, ", %d records", c.Records)
	}
	fmt.Fprintln(env.Stdout)
}
