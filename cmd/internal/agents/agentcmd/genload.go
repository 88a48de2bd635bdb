package agentcmd

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/agent/txmon"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/pacing"
)

// loadCommand is genload, which is part of the agent txmon.
var loadCommand = &cli.Command{
	Name: "genload", Link: "genload",
	Group:    cli.AgentPrograms,
	Summary:  "record made-up transactions for the agent txmon",
	Synopsis: "[-n numtx] [tps [avg_serv]]",
	Doc:      `Records transactions of random types and times, at a given rate, for the agent txmon.`,
	Examples: []cli.Example{
		{Line: `pcp genload 10`, Text: `record ten transactions a second`},
	},
	SeeAlso:     []string{"txrecord(1)", "pmdatxmon(1)"},
	Options:     func() []cli.Option { return []cli.Option{{Short: 'n', Arg: "numtx"}} },
	DieOnSignal: true,
	Run: func(ctx context.Context, env *cli.Env) int {
		return genload(ctx, env, func(ctx context.Context) ([]string, error) { return txTypes(ctx, env) }, pacing.Sleep)
	},
}

// A load is the load that genload generates.
type load struct {
	count int     // total number of transactions, negative for no limit
	tps   float64 // transactions a second
	mean  float64 // of the mean times of the types, in seconds
}

// Limits of the arguments.
const (
	maxTPS  = 1e6
	maxMean = 1e9
)

func (l *load) parse(env *cli.Env) bool {
	*l = load{count: -1, tps: 10, mean: 10}
	args := env.Args
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		opt, arg := args[0], ""
		args = args[1:]
		switch {
		case opt == "--":
		case opt == "-n" && len(args) > 0:
			arg, args = args[0], args[1:]
		case len(opt) > 2 && opt[:2] == "-n":
			arg = opt[2:]
		default:
			return false
		}
		if opt == "--" {
			break
		}
		n, err := strconv.Atoi(arg)
		if err != nil {
			return false
		}
		l.count = n
	}
	if len(args) > 2 {
		return false
	}
	for i, a := range args {
		x, end, err := ctext.Strtod(a)
		switch {
		case err != nil || end < len(a) || math.IsNaN(x) || x <= 0:
			return false
		case i == 0 && x <= maxTPS:
			l.tps = x
		case i == 1 && x <= maxMean:
			l.mean = x
		default:
			return false
		}
	}
	return true
}

// genload gets the types of transactions from types, makes up a mean time for each, and
// then records transactions of all of them every second.
func genload(ctx context.Context, env *cli.Env, types func(context.Context) ([]string, error), sleep func(context.Context, time.Duration) bool) int {
	var l load
	if !l.parse(env) {
		fmt.Fprintf(env.Stdout, "Usage: genload [-n numtx] [tps [avg_serv]]\n")
		return 1
	}
	names, err := types(ctx)
	if err != nil || len(names) == 0 {
		if err != nil {
			fmt.Fprintf(env.Stderr, "genload: %v\n", err)
		}
		fmt.Fprintf(env.Stdout, "Error: Cannot determine transaction type names ... is the txmon PMDA running locally?\n")
		return 1
	}
	key, err := txmon.KeyFrom(env.Getenv)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	rec, err := txmon.Attach(key)
	if err != nil {
		env.FlushOut()
		fmt.Fprintf(env.Stderr, "Cannot attach to shm segment, %v\nIs the txmon PMDA configured and running?\n", err)
		return 1
	}
	defer rec.Close()

	means := make([]float64, len(names))
	for i, name := range names {
		for means[i] = -1; means[i] < 0; {
			means[i] = l.mean + l.mean*rand.NormFloat64()
		}
		fmt.Fprintf(env.Stdout, "Mean service time for %s tx: %s\n", name, strconv.FormatFloat(means[i], 'g', 6, 64))
	}
	env.FlushOut()
	for left := l.count; left != 0; {
		n := int(math.Ceil(l.tps))
		if left > 0 {
			n = min(n, left)
			left -= n
		}
		switch rec.Level() {
		case 0:
			fmt.Fprintf(env.Stderr, "Stats collection disabled\n")
			n = 0
		case 1:
			fmt.Fprintf(env.Stderr, "Warning: stats time collection disabled\n")
		}
		for range n {
			i := pick(len(names))
			if err := rec.Record(names[i], rand.Float64()*means[i]); err != nil {
				return env.Fatalf("%v", err)
			}
		}
		if left != 0 && !sleep(ctx, time.Second) {
			return 1
		}
	}
	return 0
}

// pick chooses one of n types: the first half the time, and each other half as often as
// the one before; the last gets the rest.
func pick(n int) int {
	i := 0
	for i < n-1 && rand.IntN(2) == 1 {
		i++
	}
	return i
}

// txTypes asks the collector of this host for the types of transactions.
func txTypes(ctx context.Context, env *cli.Env) ([]string, error) {
	bare := *env
	bare.Args, bare.Command = nil, &cli.Command{Name: env.Command.Name, Link: env.Command.Link}
	o := source.New(env, cli.ParseArgs(&bare, cli.ParseConfig{}))
	c, err := o.Dial(ctx, "local:")
	if err != nil {
		//lint:ignore ST1005 the words of pminfo
		return nil, fmt.Errorf("Cannot connect to PMCD on host \"local:\": %s", cli.ErrText(err))
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "txmon.count")
	if err != nil {
		return nil, fmt.Errorf("txmon.count: %s", cli.ErrText(err))
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		return nil, fmt.Errorf("txmon.count: %s", cli.ErrText(err))
	}
	insts, err := c.GetInDom(ctx, desc.InDom)
	if err != nil {
		return nil, fmt.Errorf("txmon.count: %s", cli.ErrText(err))
	}
	names := make([]string, len(insts))
	for i, inst := range insts {
		names[i] = inst.Name
	}
	return names, nil
}
