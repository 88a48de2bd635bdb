package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pcp-verify.
var Command = &cli.Command{
	Name:    "verify",
	Link:    "pcp-verify",
	Group:   cli.Administer,
	Summary: "check the installation of a collector",
	Doc: `Checks whether all agents of a collector run, or with -s whether it offers encryption and
authentication, or with -c whether it supports containers, and prints problems. The exit status is 2
for an error and 1 for a warning. To check an archive for damage, use pcp archive verify.`,
	Examples: []cli.Example{
		{Line: "pcp verify -v", Text: "list the agents with their status"},
		{Line: "pcp verify -c -h HOST", Text: "find out why a host shows no containers"},
	},
	SeeAlso: []string{"pmcd(1)", "pmdaroot(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General Options"),
			cli.OptDebug,
			cli.OptHost,
			cli.OptArchive,
			cli.OptVersion,
			{Short: 'v', Long: "verbose", Help: "increase check verbosity"},
			cli.OptJSON,
			cli.OptHelp,
			cli.Heading("Verification Modes"),
			{Short: 'c', Long: "containers", Help: "check containers setup"},
			{Short: 's', Long: "secure", Help: "check secure connections setup"},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// Severities of findings, which are the exit status.
const (
	warning = 1
	failure = 2
)

// A check holds the options and the findings.
type check struct {
	env     *cli.Env
	m       *pmcc.Manager
	verbose bool
	host    string
	counts  [failure + 1]int // of findings by severity
	metrics []string
	report  func(*check) error
	status  int
}

func run(ctx context.Context, env *cli.Env) int {
	c := &check{env: env, metrics: []string{"pmcd.agent.status"}, report: (*check).agents}
	return pmcc.Report{
		Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Bare: true, Blank: true},
		Own:  c.own,
		Check: func(o *source.Options) bool {
			if !o.SamplesSet {
				o.Samples, o.SamplesSet = 1, true
			}
			return false
		},
	}.Run(ctx, env, func(m *pmcc.Manager) int {
		c.m = m
		return c.run(ctx)
	})
}

func (c *check) own(_ *cli.Options, opt *cli.Option, _ string) bool {
	switch opt.Short {
	case 'v':
		c.verbose = true
	case 'c':
		c.metrics, c.report = []string{"pmcd.agent.status", "pmcd.agent.type", "pmcd.feature.containers"}, (*check).containers
	case 's':
		c.metrics, c.report = []string{"pmcd.feature.secure", "pmcd.feature.authentication"}, (*check).secure
	default:
		return false
	}
	return true
}

func (c *check) run(ctx context.Context) int {
	if err := c.m.Uninterpolated(ctx); err != nil {
		return c.env.Fatalf("%s", cli.ErrText(err))
	}
	if status, ok := c.m.Use(ctx, c.metrics, 0); !ok {
		return status
	}
	if c.m.JSON {
		c.host = c.m.Host(ctx)
	}
	var failed error
	status := c.m.Each(ctx, func() error {
		failed = c.report(c)
		return failed
	})
	if failed != nil {
		return status
	}
	if c.m.JSON && (status == 0 || c.m.Ended()) {
		c.verdict()
	}
	if status != 0 || c.env.Classic() && c.m.Ended() { // as in C, where the end of an archive hides the findings
		return status
	}
	return c.status
}

// found prints a finding and its remedy.
func (c *check) found(severity int, label, what string, hints ...string) {
	if severity > 0 {
		c.status = severity // the last decides, as in C
	}
	c.counts[severity]++
	if c.m.JSON {
		c.object(severity, what, hints)
		return
	}
	fmt.Fprintf(c.env.Stdout, "%s: %s\n", label, what)
	for _, hint := range hints {
		fmt.Fprintf(c.env.Stdout, "\t%s\n", hint)
	}
}

// debugf prints a passed check, with -v.
func (c *check) debugf(format string, args ...any) {
	if c.verbose {
		c.found(0, "** DEBUG", fmt.Sprintf(format, args...))
	}
}

// failf prints a failed check and its remedy.
func (c *check) failf(what string, hints ...string) { c.found(failure, "== FAIL", what, hints...) }

// values returns the values of a metric by the names of its instances.
func (c *check) values(metric string) map[string]pmcc.Value { return pmcc.ByName(c.m.Named(metric)) }

// one returns the value of an instance of a metric, "" for its only value.
func (c *check) one(metric, instance string) (int64, error) {
	v := c.values(metric)[instance]
	switch {
	case v.OK():
		return v.Int(), nil
	case instance != "":
		return 0, fmt.Errorf("%s: no value for %q", metric, instance)
	}
	return 0, fmt.Errorf("%s: no value", metric)
}

// agents checks whether all run.
func (c *check) agents() error {
	status := c.values("pmcd.agent.status")
	for _, name := range slices.Sorted(maps.Keys(status)) {
		code := status[name].Int()
		c.debugf("pmda%s(1), status=%x", name, code)
		switch code & 0xff {
		case 1:
			c.found(0, "== INFO", "the pmda"+name+"(1) agent is not yet ready.")
		case 2:
			c.found(warning, "== WARN", "the pmda"+name+"(1) agent exited cleanly.")
		case 4:
			c.failf(fmt.Sprintf("the pmda%s(1) failed to start up.", name))
		case 8:
			c.failf(fmt.Sprintf("the pmda%s(1) was timed out by pmcd.", name))
		}
	}
	c.debugf("completed basic installation checks")
	return nil
}

// secure checks whether the collector offers TLS and knows users.
func (c *check) secure() error {
	tls, err := c.one("pmcd.feature.secure", "")
	if err != nil {
		return err
	}
	if tls != 1 {
		c.failf("pmcd(1) doesn't support secure sockets", "Check tutorials, verify NSS certificate database.")
	}
	auth, err := c.one("pmcd.feature.authentication", "")
	if err != nil {
		return err
	}
	if auth == 0 {
		c.failf("pmcd doesn't support user authentication", "Check tutorials, verify SASL configuration.")
	}
	c.debugf("completed secure install verification")
	return nil
}

// containers checks whether the collector can read containers.
func (c *check) containers() error {
	dir := func(name string) string { return c.env.Config().Get(name) }
	status := c.values("pmcd.agent.status")
	for _, name := range []string{"linux", "root"} {
		if status[name].OK() {
			c.debugf("verified pmda%s installed", name)
			continue
		}
		c.failf("the pmda"+name+"(1) agent is not installed.", "Check man page, Install PMDA from "+dir("PCP_PMDAS_DIR")+"/pmdas/"+name+".")
	}
	root, err := c.one("pmcd.agent.status", "root")
	if err != nil {
		return err
	}
	if root == 4 {
		c.failf("the pmdaroot(1) agent exited immediately.", "Possible permissions issues on pmdaroot socket file?",
			"Check "+dir("PCP_LOG_DIR")+"/pmcd/root.log for details, check selinux AVCs.")
	} else {
		c.debugf("verified pmdaroot running")
	}
	how, err := c.one("pmcd.agent.type", "linux")
	if err != nil {
		return err
	}
	if how == 0 {
		c.failf("the pmdalinux(1) is running as a DSO.", "Containers namespace operations cannot function.",
			"Check man page, Install daemon PMDA "+dir("PCP_PMDAS_DIR")+"/pmdas/linux.")
	} else {
		c.debugf("verified pmdalinux non-DSO mode")
	}
	able, err := c.one("pmcd.feature.containers", "")
	if err != nil {
		return err
	}
	if able != 1 {
		c.failf("libpcp or pmcd does not support containers.", "The running kernel or libc may not support setns(2).", fmt.Sprintf("value=%d", able))
	}
	c.debugf("completed containers verification")
	return nil
}
