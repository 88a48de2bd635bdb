package find

import (
	"context"
	"crypto/sha1"
	"fmt"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/discover"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmfind.
var Command = &cli.Command{
	Name:     "find",
	Link:     "pmfind",
	Group:    cli.Administer,
	Summary:  "find collectors and proxies on the network",
	Synopsis: "[options]",
	Doc: `Searches collectors (pmcd) and proxies (pmproxy), and prints their URLs: those known to an Avahi
daemon, those listed by the scripts in PCP_BINADM_DIR/discover, or with -m probe=ADDRESS/BITS each
one in a subnet. ctrl-C ends the search and prints the results.

The options of a mechanism follow it after commas: maxThreads=N and timeout=SECONDS (0.02 for each connection) of probe and shell,
path=DIR and command=NAME of shell, timeout=SECONDS of avahi (0.5, or AVAHI_DISCOVERY_TIMEOUT).

The exit status is 0 if there are results, 1 if there are none, 2 after an error.`,
	Examples: []cli.Example{
		{Line: "pcp find -m probe=192.168.1.0/24", Text: "try all addresses of a subnet"},
		{Line: "pcp find -s pmcd -r -m probe=10.0.0.0/28,timeout=0.5", Text: "find collectors behind a slow connection, with their names"},
		{Line: "pcp find -S", Text: "list each collector once, with the hash that identifies it"},
	},
	SeeAlso: []string{"pmcd(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Discovery options"),
			cli.OptDebug,
			{Short: 'm', Long: "mechanism", Arg: "NAME", Help: "set the discovery method to use [avahi|shell|probe=<subnet>|all]"},
			{Short: 'r', Long: "resolve", Help: "resolve addresses"},
			{Short: 's', Long: "service", Arg: "NAME", Help: "discover services [pmcd|pmproxy|all]"},
			{Short: 't', Long: "timeout", Arg: "N.N", Help: "timeout in seconds"},
			cli.Heading("Reporting options"),
			{Short: 'q', Long: "quiet", Help: "quiet mode, do not write to stdout"},
			{Short: 'S', Long: "sources", Help: "report source identifiers (pmcd service only)"},
			{Short: 'C', Long: "containers", Help: "report containers (pmcd service only)"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

// A finder is a run of the command.
type finder struct {
	env        *cli.Env
	o          *source.Options
	search     discover.Options
	timeout    time.Duration // of each service; 0 means that there is no limit
	service    string        // "" is all
	quiet      bool
	sources    bool
	containers bool
}

func (f *finder) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'C':
		f.containers = true
	case 'm':
		if f.search.Mechanism = arg; arg == "all" {
			f.search.Mechanism = ""
		}
	case 'q':
		f.quiet = true
	case 'r':
		f.search.Resolve = true
	case 's':
		if f.service = arg; arg == "all" {
			f.service = ""
		}
	case 'S':
		f.sources = true
	case 't':
		var err error
		if f.timeout, err = discover.ParseTimeout(arg); err != nil {
			o.Usagef("-t: %v", err)
		}
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	f := &finder{env: env}
	f.search.Config = env.Config()
	f.search.Warn = func(msg string) { env.Notify("Error", msg) }
	f.o = source.Parse(env, cli.ParseConfig{Own: f.own})
	if len(f.o.Args) > 0 {
		f.o.WantUsage()
	}
	if f.sources || f.containers {
		if f.service == "" {
			f.service = discover.PMCD
		} else if f.service != discover.PMCD {
			f.o.WantUsage()
		}
	}
	if status, exit := f.o.Done(); exit {
		return status
	}
	search, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGXCPU, syscall.SIGXFSZ)
	defer stop()
	if f.service != "" {
		return f.discover(search, f.service)
	}
	status := 0
	found := false
	for _, service := range []string{discover.PMCD, discover.PMProxy} {
		if search.Err() != nil && service != discover.PMCD {
			break
		}
		s := f.discover(search, service)
		found = found || s == 0
		status |= s
	}
	if found {
		return 0
	}
	return status
}

// discover looks for a service, prints its addresses, and returns the exit status.
func (f *finder) discover(ctx context.Context, service string) int {
	search := ctx
	if f.timeout > 0 {
		var cancel context.CancelFunc
		search, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	urls, err := discover.Services(search, service, f.search)
	if err != nil {
		fmt.Fprintf(f.env.Stderr, "%s: service %s discovery failure: %s\n", f.env.ProgName(), service, cli.ErrText(err))
		return 2
	}
	switch {
	case len(urls) == 0:
		if !f.quiet {
			fmt.Fprintf(f.env.Stdout, "No %s servers discovered\n", service)
		}
		return 1
	case f.sources || f.containers:
		f.identify(ctx, urls)
	case !f.quiet:
		fmt.Fprintf(f.env.Stdout, "Discovered %s servers:\n", service)
		for _, url := range urls {
			fmt.Fprintf(f.env.Stdout, "  %s\n", url)
		}
	}
	return 0
}

// identify prints each collector once, even with -q, by the hash of the labels that
// identify it, and its containers. A collector that does not answer gets a message.
func (f *finder) identify(ctx context.Context, urls []string) {
	seen := map[string]bool{}
	for _, url := range urls {
		if ctx.Err() != nil {
			return
		}
		if err := f.source(ctx, url, seen); err != nil {
			fmt.Fprintf(f.env.Stderr, "%s: %s: %s\n", f.env.ProgName(), url, cli.ErrText(err))
		}
	}
}

func (f *finder) source(ctx context.Context, url string, seen map[string]bool) error {
	c, err := f.o.Dial(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	sets, err := c.Labels(ctx, pcp.LabelContext, 0)
	if err != nil {
		return err
	}
	labels, err := identity(sets)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%x", sha1.Sum([]byte(`{"series":"source","labels":`+labels+`}`)))
	if seen[id] {
		return nil
	}
	seen[id] = true
	host, err := c.HostName(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(f.env.Stdout, "%s %s\n", id, host)
	if !f.containers {
		return nil
	}
	names, err := running(ctx, c)
	for _, name := range names {
		fmt.Fprintf(f.env.Stdout, "%s %s?container=%s\n", id, host, name)
	}
	return err
}

// identity returns the labels of a context that identify it, as JSON.
func identity(sets []pcp.LabelSet) (string, error) {
	set, err := pcp.MergeLabels(sets, func(l pcp.Label) bool { return l.Flags&pcp.LabelOptional == 0 })
	return set.JSON, err
}

// running returns the names of the containers that run, none if the collector does not
// know containers.
func running(ctx context.Context, c *pmapi.Context) ([]string, error) {
	const metric = "containers.state.running"
	ids, err := c.LookupName(ctx, metric)
	if err != nil || ids[0] == pcp.PMIDNull {
		return nil, nil
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	insts, err := c.InstanceNames(ctx, desc.InDom)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, v := range res.Sets[0].Values {
		if on, err := v.Extract(desc.Type, pcp.Type64); err == nil && on.Int64() == 1 {
			names = append(names, insts[v.Inst])
		}
	}
	slices.Sort(names)
	return names, nil
}
