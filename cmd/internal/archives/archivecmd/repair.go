package archivecmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/repair"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcpjson"
)

var repairCommand = &cli.Command{
	Name:     "archive repair",
	Summary:  "save the readable parts of a damaged archive",
	Synopsis: "[options] archive newname",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'i', Long: "in-place", Help: "put the repaired archive where the damaged one is, which becomes NAME.damaged"},
			{Short: 'q', Long: "quiet", Help: "no output, only the exit status"},
			cli.OptJSON,
			cli.OptHelp,
		}
	},
	Doc: `Saves the readable parts of a damaged archive in a new one: every complete record whose time is
between those of its neighbours. After damage the next valid record is searched byte by byte. Values
whose descriptor or instance domain is lost, and values that contradict their descriptor, are
dropped from their records. A damaged label is replaced by that of another file, and the index is
created again. If bytes between two records are lost, a mark shows that counters may have been reset
there. Damaged compressed files are decompressed as far as possible.

All dropped parts are listed: file, offset (in the decompressed file), size and reason. Everything
else is in the new archive.

The damaged archive is not changed. The new one gets its name when it is complete and has passed the
checks of "pcp archive verify". With -i it replaces the damaged one, whose files get a second name
before the first of them is replaced: after an interruption, NAME.damaged is complete.

The exit status is 0 if nothing was dropped, 1 if something was, and 2 if there is no new archive:
nothing could be saved, or the command line is wrong.`,
	Examples: []cli.Example{
		{Line: "pcp archive repair 20260101 saved", Text: "save the readable parts of 20260101 in saved"},
		{Line: "pcp archive repair -i --json 20260101", Text: "repair in place, and list the losses as JSON"},
	},
	Run: repairArchive,
}

// Exit statuses of "archive repair".
const (
	repairWhole = iota // nothing had to be dropped
	repairLoss         // the new archive has less data than the old one
	repairNone         // there is no new archive
)

// A dropped is the JSON of an item that was dropped or rebuilt.
type dropped struct {
	File    string `json:"file"`
	Offset  *int64 `json:"offset,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Records int    `json:"records,omitempty"`
	Values  int64  `json:"values,omitempty"`
	Missing bool   `json:"missing,omitempty"`
	Lost    bool   `json:"lost"`
	Reason  string `json:"reason"`
}

// A repaired is the JSON at the end.
type repaired struct {
	Archive string `json:"archive"`
	Damaged string `json:"damaged,omitempty"`
	Records int    `json:"records"`
	Marks   int    `json:"marks_added"`
	Drops   int    `json:"drops"`
	Bytes   int64  `json:"bytes_dropped"`
	Lost    int    `json:"records_dropped"`
	Values  int64  `json:"values_dropped"`
}

func repairArchive(ctx context.Context, env *cli.Env) int {
	var inPlace, quiet bool
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Long {
		case "in-place":
			inPlace = true
		case "quiet":
			quiet = true
		default:
			return false
		}
		return true
	}})
	want := 2
	if inPlace {
		want = 1
	}
	switch n := len(o.Args); {
	case n == want || o.WantsVersion():
	case n == 1:
		o.Usagef("the name of the new archive is missing: \"%s archive repair %s NEW\"; -i repairs it in its place", env.Pcp(), o.Args[0])
	default:
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if status != 0 {
			status = repairNone
		}
		return status
	}
	none := func(err error) int {
		failed(env, err)
		return repairNone
	}
	files, err := archive.FindFiles(o.Args[0])
	if err != nil {
		return none(fmt.Errorf("%s: %w", o.Args[0], err))
	}
	damaged := strings.TrimPrefix(files.Base, "./")
	to := ""
	if !inPlace {
		to = o.Args[1]
	} else if repair.Whole(o.Args[0]) {
		switch {
		case quiet:
		case o.JSON:
			env.Stdout.Write(pcpjson.Line(repaired{Archive: damaged}))
		default:
			fmt.Fprintf(env.Stdout, "%s: whole, there is nothing to repair\n", damaged)
		}
		return repairWhole
	}
	m := cli.NewProgress(env, files.Base, 0)
	opts := repair.Options{Progress: m.Set, Dropped: func(d repair.Drop) {
		if d.File = strings.TrimPrefix(d.File, "./"); quiet {
			return
		}
		m.Clear()
		if !o.JSON {
			fmt.Fprintln(env.Stdout, d)
			return
		}
		j := dropped{d.File, nil, d.Bytes, d.Records, d.Values, d.Missing, !d.Lossless(), d.Why}
		if d.Offset >= 0 {
			j.Offset = &d.Offset
		}
		env.Stdout.Write(pcpjson.Line(j))
	}}
	var sum repair.Summary
	if inPlace {
		sum, err = repair.InPlace(ctx, files, opts)
	} else {
		sum, err = repair.To(ctx, files, to, opts)
	}
	m.Clear()
	if err != nil {
		return none(err)
	}
	result := repaired{
		Archive: to, Records: sum.Records, Marks: sum.Added, Drops: sum.Drops,
		Bytes: sum.Lost.Bytes, Lost: sum.Lost.Records, Values: sum.Lost.Values,
	}
	if inPlace {
		result.Archive, result.Damaged = damaged, damaged+repair.BackupSuffix
	}
	switch {
	case quiet:
	case o.JSON:
		env.Stdout.Write(pcpjson.Line(result))
	default:
		fmt.Fprintf(env.Stdout, "%s: %d records kept, %d marks added", result.Archive, sum.Records, sum.Added)
		if sum.Drops > 0 {
			fmt.Fprintf(env.Stdout, ", losses: %d", sum.Drops)
		}
		if inPlace {
			fmt.Fprintf(env.Stdout, "; the damaged archive is %s", result.Damaged)
		}
		fmt.Fprintln(env.Stdout)
	}
	if sum.Drops > 0 {
		return repairLoss
	}
	return repairWhole
}
