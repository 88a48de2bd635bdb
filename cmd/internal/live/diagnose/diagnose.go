package diagnose

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is pcp diagnose.
var Command = &cli.Command{
	Name:     "diagnose",
	Group:    cli.SeeNow,
	Summary:  "find which resource of a host is short, and what takes it",
	Synopsis: "[options]",
	Doc: `
Finds which resource of a host is short, now or in an archive: processors, memory, disks, file systems,
network, limits of control groups. For each finding it prints the value, the time since when, the
processes, control groups or devices that take the resource, and commands that show the values. Causes
come before their effects. It also prints which metrics changed most, compared with the same time of the
day before or with the hour before, if these are recorded.

Without -a it takes six samples of a collector, a second apart; -s and -t change that. With -a it reads the
archive from -S to -T.

The rules are data: docs/diagnose.md describes their format, and PCP_SYSCONF_DIR/diagnose has further ones.
Rules for pmie, such as those that pcp ieconf writes, take part with --pmie: when they were true is listed,
and their actions are not carried out.

The exit status is 0 if nothing is short, 1 if something is, and 2 if that could not be found out.`,
	Examples: []cli.Example{
		{Line: "pcp diagnose", Text: "diagnose this machine"},
		{Line: "pcp diagnose -h web1 -s 31", Text: "diagnose another host for 30 seconds"},
		{Line: "pcp diagnose -a 20261121 -S @14:00 -T @15:00", Text: "diagnose an hour of an archive"},
		{Line: "pcp replay -1h diagnose", Text: "diagnose the last hour of this machine"},
		{Line: "pcp diagnose -a 20261121 --pmie my.rules", Text: "evaluate also rules that pcp ieconf -f my.rules -F wrote"},
		{Line: "pcp diagnose --json", Text: "write JSON"},
	},
	SeeAlso: []string{"pcp help top", "pcp help replay", "pcp help doctor"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Sources and times"),
			cli.OptHost,
			cli.OptArchive,
			cli.OptLocalPMDA,
			cli.OptSpecLocal,
			cli.OptInterval,
			cli.OptSamples,
			cli.OptStart,
			cli.OptFinish,
			cli.OptAlign,
			cli.OptOrigin,
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptDebug,
			cli.Heading("Rules and output"),
			{Long: "rules", Arg: "DIR", Help: "read further rules from the files *.yaml of a directory", Extra: true},
			{Long: "pmie", Arg: "FILE", Help: "also evaluate the rules of a file for pmie, over an archive", Extra: true},
			{Long: "no-changes", Help: "do not compare with the time before", Extra: true},
			{Long: "unchecked", Help: "list the rules that could not be checked", Extra: true},
			cli.OptJSON,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// failed is the exit status if there is no diagnosis.
const failed = 2

func run(ctx context.Context, env *cli.Env) int {
	var rulesDir, pmieFile string
	var noChanges, unchecked bool
	o := source.Parse(env, cli.ParseConfig{Archives: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "rules":
			rulesDir = arg
		case "pmie":
			pmieFile = arg
		case "no-changes":
			noChanges = true
		case "unchecked":
			unchecked = true
		default:
			return false
		}
		return true
	}})
	past := o.Start != nil || o.Finish != nil || o.Origin != nil || o.Align != nil
	switch {
	case len(o.Args) > 0:
		o.Usagef("unexpected argument %q", o.Args[0])
	case past && !o.FromArchive():
		o.Usagef("times of the past require an archive; \"%s replay -1h diagnose\" reads those of this machine", env.Pcp())
	case pmieFile != "" && !o.FromArchive():
		o.Usagef("--pmie requires an archive; \"%s ie\" evaluates rules of pmie now", env.Pcp())
	case o.SamplesSet && o.FromArchive():
		o.Usagef("-s is for collectors; for archives use -t")
	case o.SamplesSet && o.Samples < 2:
		o.Usagef("-s requires at least 2 samples")
	}
	if status, exit := o.Done(); exit {
		if status != 0 {
			status = failed
		}
		return status
	}
	dirs := []string{filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "diagnose")}
	if rulesDir != "" {
		if _, err := os.Stat(rulesDir); err != nil {
			env.Fatalf("--rules: %v", err)
			return failed
		}
		dirs = append(dirs, rulesDir)
	}
	rules, err := diagnosis.Rules(dirs...)
	if err != nil {
		env.Fatalf("%v", err)
		return failed
	}
	c, err := o.Connect(ctx)
	if err != nil {
		return failed
	}
	defer c.Close()
	loc, err := o.SetZone(ctx, c, false)
	if err != nil {
		return failed
	}
	cfg := diagnosis.Config{Context: c, Rules: rules, Interval: o.Interval, Samples: o.Samples, NoCompare: noChanges}
	if o.FromArchive() {
		w, err := o.Window(ctx, c, loc)
		if err != nil {
			return failed
		}
		cfg.From = w.Origin
		if w.Finish != pcptime.Never {
			cfg.To = w.Finish
		}
	} else if o.Interval > 0 && o.Interval < 100*time.Millisecond {
		env.Fatalf("the interval must be 100 milliseconds at least")
		return failed
	}
	if !o.FromArchive() && !noChanges {
		if cfg.Before = recorded.Before(ctx, env, c, o.OpenArchive); cfg.Before != nil {
			defer cfg.Before.Close()
		}
	}
	d, err := diagnosis.Run(ctx, cfg)
	switch {
	case errors.Is(err, diagnosis.ErrShort):
		env.Fatalf("%v; choose an earlier start or a shorter interval", err)
		return failed
	case errors.Is(err, diagnosis.ErrNothing):
		env.Fatalf("%v at that time", err)
		return failed
	case !o.FromArchive() && errors.Is(err, pcp.ErrIPC):
		env.Fatalf("the collector is gone: the connection ended")
		return failed
	case err != nil:
		env.Fatalf("%s", cli.ErrText(err))
		return failed
	}
	p := &printer{env: env, d: d, text: diagnosis.Text{W: env.Stdout, Diagnosis: d, Commands: commandsFor(env, o, loc)}, unchecked: unchecked, pmieFile: pmieFile}
	if pmieFile != "" {
		if err := p.periods.evaluate(ctx, env, o, pmieFile, d.Start, d.End, loc); err != nil {
			env.Fatalf("%v", err)
			return failed
		}
	}
	if o.JSON {
		p.json()
	} else {
		p.print()
	}
	if len(d.Findings) > 0 || len(p.periods.list) > 0 {
		return 1
	}
	return 0
}
