package agentcmd

import (
	"context"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/agent/txmon"
	"github.com/go-pcp/pcp/internal/ctext"
)

// recordCommand is txrecord, which is part of the agent txmon.
var recordCommand = &cli.Command{
	Name: "txrecord", Link: "txrecord",
	Group:    cli.AgentPrograms,
	Summary:  "record transactions for the agent txmon",
	Synopsis: "tx_type servtime [tx_type servtime ...] | -l",
	Doc: `Records transactions of given types and service times in the shared memory of the agent txmon, or
lists its contents with -l.`,
	Examples: []cli.Example{
		{Line: `pcp txrecord foo 0.5`, Text: `record a transaction of half a second`},
	},
	SeeAlso:     []string{"genload(1)", "pmdatxmon(1)"},
	DieOnSignal: true,
	Run:         record,
}

func record(_ context.Context, env *cli.Env) int {
	fail := func(format string, args ...any) int {
		env.FlushOut()
		fmt.Fprintf(env.Stderr, format, args...)
		return 1
	}
	args := env.Args
	if len(args) == 0 || len(args) == 1 && args[0] == "-?" {
		return fail("Usage: txrecord tx_type servtime [tx_type servtime ...]\n       txrecord -l\n")
	}
	key, err := txmon.KeyFrom(env.Getenv)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	rec, err := txmon.Attach(key)
	if err != nil {
		return fail("Cannot attach to shm segment, %v\nIs the txmon PMDA configured and running?\n", err)
	}
	defer rec.Close()
	switch rec.Level() {
	case 0:
		return fail("Stats collection disabled\n")
	case 1:
		fmt.Fprintf(env.Stderr, "Warning: stats time collection disabled\n")
	}
	if len(args) == 1 && args[0] == "-l" {
		fmt.Fprintf(env.Stdout, "txmon shared memory segment summary\n"+
			"                 tx  reset     total maximum\n"+
			"index offset  count  count      time    time name\n")
		for i, t := range rec.Types() {
			fmt.Fprintf(env.Stdout, "%5d %6d %6d %6d %9s %7s %s\n",
				i, t.Offset, int32(t.Count), int32(t.Resets), seconds(float32(t.Sum)), seconds(t.Max), t.Name)
		}
		return 0
	}
	known := map[string]bool{}
	for _, t := range rec.Types() {
		known[t.Name] = true
	}
	for ; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return fail("Missing time for tx type \"%s\"?\n", args[0])
		}
		if !known[args[0]] {
			fmt.Fprintf(env.Stderr, "Unknown tx type \"%s\" ... skipped\n", args[0])
			continue
		}
		seconds, end, _ := ctext.Strtod(args[1])
		if end < len(args[1]) { // a value that is too large counts as infinite
			fmt.Fprintf(env.Stderr, "Time value (%s) for tx type \"%s\" is bogus ... skipped\n", args[1], args[0])
			continue
		}
		if err := rec.Record(args[0], seconds); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	return 0
}

// seconds formats f as C's %.3f does.
func seconds(f float32) string { return string(ctext.AppendFloat(nil, float64(f), 'f', 3)) }
