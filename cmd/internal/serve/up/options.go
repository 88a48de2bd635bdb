package up

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	promrules "github.com/go-pcp/pcp/cmd/internal/prom/rules"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/rules/alerts"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/shipping"
	"github.com/go-pcp/pcp/internal/safefile"
)

type settings struct {
	port         int
	socket, dir  string
	hostRoot     string
	alerts       func() ([]alert.State, []error) // alerts that fire on this host
	quiet        *alert.Quiet                    // silences of alerts, nil without rules
	archiveDir   string                          // of this host's loggers
	diagnoseDir  string                          // of further rules for diagnoses
	series       *archives.Store                 // of the archives, nil if nothing reads them
	promRules    *promrules.Engine               // nil if there are no rules of Prometheus
	zone         *time.Location
	tls          string
	all, sample  bool
	agents       []string // that run though they are off by default
	noRecord     bool
	noProcesses  bool // in the recording
	noWeb        bool
	noColumns    bool
	webPort      int
	webPortGiven bool
	otlp         bool
	otlpAddress  string // "" for the default
	otlpToken    string // file
	rules        bool
	rulesFiles   []string // none for the built-in ones
	receivers    string   // file of --receivers
	statsd       string   // addresses of the agent statsd, "" if it does not run
	keep         janitor.Policy
	remote       sending.Options
	ship         shipping.Options
	engine       sending.Engine
	version      string         // of the program
	targets      []*send.Target // of it
	push         []string       // URLs of receivers
	pushToken    string         // file
	pushTo       []push.Config  // of these
	register     string         // directory of a fleet
	registerAs   string         // address for its recorders
	fleet        string         // directory of a fleet that the page shows
	fleetStore   share.Store    // of it, or nil
	registers    *share.Registration
	stays        bool // when the terminal is closed
	services     *services

	builtins []builtin.Spec
	retry    time.Duration // until an agent that could not be made is tried again
	look     time.Duration // between looks for services
}

// own takes an option of this command.
func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "port", "web-port":
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 || n > 65535 {
			o.Usagef("--%s needs a number up to 65535, not %q", opt.Long, arg)
		}
		if opt.Long == "port" {
			set.port = n
		} else {
			set.webPort, set.webPortGiven = n, true
		}
	case "no-web":
		set.noWeb = true
	case "no-columns":
		set.noColumns = true
	case "socket":
		set.socket = arg
	case "dir":
		set.dir = arg
	case "tls":
		set.tls = arg
	case "all":
		set.all = true
	case cli.OptHostRoot.Long:
		set.hostRoot = arg
	case "sample":
		set.sample = true
	case "agent":
		if !slices.ContainsFunc(set.builtins, func(b builtin.Spec) bool { return b.Name == arg }) {
			o.Usagef("--agent: there is no built-in agent %q; those that are off by default are %s", arg, strings.Join(off(set.builtins), ", "))
		}
		set.agents = append(set.agents, arg)
	case "otlp":
		set.otlp, set.otlpAddress = true, arg
	case "otlp-token":
		set.otlpToken = arg
	case "rules":
		if set.rules = true; arg != "" {
			set.rulesFiles = append(set.rulesFiles, arg)
		}
	case "statsd":
		set.statsd = cmp.Or(arg, defaultStatsD)
	case "receivers":
		set.receivers = arg
	case "no-record":
		set.noRecord = true
	case "push":
		set.push = append(set.push, strings.Split(arg, ",")...)
	case "push-token-file":
		set.pushToken = arg
	case "register":
		set.register = arg
	case "register-as":
		if err := share.CheckAddress(arg); err != nil {
			o.Usagef("--register-as: %v", err)
		}
		set.registerAs = arg
	case "fleet":
		set.fleet = arg
	case "no-processes":
		set.noProcesses = true
	default:
		return set.remote.Own(opt, arg) || set.ship.Own(o, opt, arg) || set.engine.Own(o, opt, arg) || housekeeping.Keep(o, opt, arg, &set.keep)
	}
	return true
}

// check reports options that do not go together.
func (set *settings) check(o *cli.Options) {
	if set.receivers != "" && !set.rules {
		o.Usagef("--receivers is for the alerts of rules; add --rules or --rules=FILE")
	}
	if set.noWeb && set.engine.Any() {
		o.Usagef("--engine is for the page and its interfaces; it cannot be combined with --no-web")
	}
	if set.noWeb && set.fleet != "" {
		o.Usagef("--fleet is for the page; it cannot be combined with --no-web")
	}
	if set.noRecord && set.remote.Any() {
		o.Usagef("--remote-write sends the recording; it cannot be combined with --no-record")
	}
	if set.noRecord && set.ship.Any() {
		o.Usagef("--ship stores the recording; it cannot be combined with --no-record")
	}
	set.ship.Check(o)
	if err := set.engine.Check(); err != nil {
		o.Usagef("%v", err)
	}
	if set.noRecord && len(set.push) > 0 {
		o.Usagef("--push sends the recording; it cannot be combined with --no-record")
	}
	if set.pushToken != "" && len(set.push) == 0 {
		o.Usagef("--push-token-file is for --push; add --push=URL")
	}
	if set.register != "" && !set.all {
		o.Usagef("--register is for recorders on other hosts; add --all, which accepts connections from them")
	}
	if set.registerAs != "" && set.register == "" {
		o.Usagef("--register-as is for --register; add --register=DIR")
	}
	if set.otlpToken != "" && !set.otlp {
		o.Usagef("--otlp-token is for programs that push metrics; add --otlp or --otlp=ADDR")
	}
}

// complete finds the state directory and makes it.
func (set *settings) complete(env *cli.Env) error {
	var err error
	if set.targets, err = set.remote.Targets(); err != nil {
		return err
	}
	if _, err := set.ship.Open(env, new(janitor.Policy), nil); err != nil {
		return err
	}
	if set.pushTo, err = set.pushConfigs(env); err != nil {
		return err
	}
	if set.registers, err = set.registration(env); err != nil {
		return err
	}
	if set.fleet != "" {
		if set.fleetStore, err = share.OpenStore(set.fleet, env.Getenv); err != nil {
			return fmt.Errorf("--fleet: %w", err)
		}
	}
	if set.dir == "" {
		if set.dir, err = env.StateDir(); err != nil {
			return err
		}
	}
	set.archiveDir, set.zone = env.Config().Get("PCP_ARCHIVE_DIR"), env.Local()
	set.diagnoseDir = filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "diagnose")
	set.alerts = func() ([]alert.State, []error) { return alerts.States(env) }
	// Clients in other directories use it.
	if set.dir, err = filepath.Abs(set.dir); err != nil {
		return err
	}
	if err := safefile.MkdirAll(set.dir, 0o700, nil); err != nil {
		return fmt.Errorf("%s: %s; choose another state directory with --dir", set.dir, cli.ErrText(err))
	}
	if set.socket == "" {
		set.socket = filepath.Join(set.dir, "pmcd.socket")
	}
	return nil
}

// absSocket is the absolute path of the socket, for processes in other
// directories.
func (set *settings) absSocket() string {
	if path, err := filepath.Abs(set.socket); err == nil {
		return path
	}
	return set.socket
}

// defaultStatsD is where StatsD is received without an address: from this host only.
const defaultStatsD = "127.0.0.1:8125"

// off returns the names of the agents that are off by default.
func off(specs []builtin.Spec) []string {
	var names []string
	for _, b := range specs {
		if b.Asked || b.Sample {
			names = append(names, b.Name)
		}
	}
	slices.Sort(names)
	return names
}
