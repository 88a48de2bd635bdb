package agentadmin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/daemon/hangup"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmcd/conf"
)

var optFiles = cli.Option{Long: "files", Arg: "DIR", Help: "where the agent's names are, NAME.pmns, and its views and templates, *.pmchart, *.pmlogconf and *.pmieconf"}

var optReload = cli.Option{Long: "reload", Help: "signal the running collector with SIGHUP"}

var enableCommand = &cli.Command{
	Name:     "agent enable",
	Summary:  "add an agent to the collector",
	Synopsis: "[options] name [command [argument]...]",
	Examples: []cli.Example{
		{Line: "pcp agent enable hello /opt/hello/pmdahello -d 400", Text: "add an agent to pmcd.conf"},
		{Line: "pcp agent enable --reload simple", Text: "add a built-in agent, and signal the collector"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			optConfig,
			{Long: "domain", Arg: "N", Help: "the agent's domain [default that of the command's -d, or the agent's own]"},
			{Long: "notready", Help: "the agent reports when it is ready for requests"},
			{Long: "socket", Arg: "inet:PORT|ipv6:PORT|unix:PATH", Help: "where the agent listens; also give it in the command's arguments"},
			optFiles,
			optReload,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         runEnable,
}

var disableCommand = &cli.Command{
	Name:     "agent disable",
	Summary:  "remove an agent from the collector",
	Synopsis: "[options] name",
	Examples: []cli.Example{
		{Line: "pcp agent disable --reload hello", Text: "remove an agent, and signal the collector"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			optConfig,
			optFiles,
			optReload,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         runDisable,
}

// edit holds the options of enable and disable.
type edit struct {
	path     string
	domain   int
	notReady bool
	network  string // and address, of an agent with a socket
	address  string
	files    string
	reload   bool
}

func (e *edit) parse(env *cli.Env) *cli.Options {
	e.path = confPath(env)
	return cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "config":
			e.path = arg
		case "domain":
			e.domain = parseDomain(o, arg)
		case "notready":
			e.notReady = true
		case "socket":
			e.parseSocket(o, arg)
		case "files":
			e.files = arg
		case "reload":
			e.reload = true
		default:
			return false
		}
		return true
	}})
}

// parseSocket reads the argument of --socket.
func (e *edit) parseSocket(o *cli.Options, arg string) {
	kind, address, _ := strings.Cut(arg, ":")
	network := map[string]string{"inet": "tcp4", "ipv6": "tcp6", "unix": "unix"}[kind]
	port, err := strconv.ParseUint(address, 10, 16)
	switch {
	case network == "" || address == "":
		o.Usagef("--socket needs inet:PORT, ipv6:PORT or unix:PATH, not %q", arg)
	case network != "unix" && (err != nil || port == 0):
		o.Usagef("--socket needs a port from 1 to 65535, not %q", address)
	case network == "unix" && !filepath.IsAbs(address):
		o.Usagef("--socket needs a path that begins with /, not %q", address)
	}
	e.network, e.address = network, address
}

func runEnable(ctx context.Context, env *cli.Env) int {
	var e edit
	o := e.parse(env)
	switch {
	case o.WantsVersion() || o.Errors():
	case len(o.Args) == 0:
		o.Usagef("which agent?")
	case e.notReady && len(o.Args) == 1:
		o.Usagef("--notready is for agents with a command")
	case e.network != "" && len(o.Args) == 1:
		o.Usagef("--socket is for agents with a command")
	case e.network != "" && e.notReady:
		o.Usagef("an agent with a socket cannot be --notready")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	c, err := readConf(e.path)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	before := c.text()
	spec, err := e.enable(env, c, o.Args[0], o.Args[1:])
	if err == nil {
		err = c.check(before, spec, true)
	}
	if err == nil && e.files != "" {
		err = e.bring(ctx, env, spec.Name, spec.Domain, true)
	}
	if err == nil {
		err = c.write()
	}
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	fmt.Fprintf(env.Stdout, "%s: agent %s is enabled, with domain %d\n", e.path, spec.Name, spec.Domain)
	if spec.Name == "mmv" {
		makeMMVDir(env)
	}
	return e.tell(env)
}

// enable edits c.
func (e *edit) enable(env *cli.Env, c *confFile, name string, command []string) (spec conf.Agent, err error) {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\n\\") {
		return spec, fmt.Errorf("%q cannot be the name of an agent", name)
	}
	was := c.find(name, true)
	if len(command) == 0 && was >= 0 {
		l := &c.lines[was]
		if d := l.spec.Domain; e.domain != 0 && e.domain != d {
			return spec, fmt.Errorf("%s: agent %s was disabled with domain %d; to give it another, name its command", c.path, name, d)
		}
		l.text, l.disabled = uncomment(l.text), false
		spec = *l.spec
		l.spec = nil // clash must not find it
		return spec, c.clash(spec)
	}
	if spec, err = e.spec(env, name, command); err != nil {
		return spec, err
	}
	if err := c.clash(spec); err != nil {
		return spec, err
	}
	if was >= 0 {
		c.lines[was] = line{text: spec.Line()}
	} else {
		c.insert(spec.Line())
	}
	return spec, nil
}

// spec creates the agent for enable.
func (e *edit) spec(env *cli.Env, name string, command []string) (spec conf.Agent, err error) {
	spec = conf.Agent{Name: name, Domain: e.domain}
	if len(command) == 0 {
		b, ok := agent.Named(name)
		if !ok {
			return spec, fmt.Errorf("%s is no agent of this program, and was not disabled in %s; name the command that runs it", name, e.path)
		}
		if b.Program.Args != "" {
			return spec, fmt.Errorf("agent %s needs arguments (%s): name the command pmda%s with them", name, b.Program.Args, name)
		}
		if spec.Domain == 0 {
			spec.Domain = b.Domain
		}
		cfg := env.Config()
		if err := cfg.Err(); err != nil {
			return spec, err
		}
		spec.Kind, spec.Entry = conf.DSO, name+"_init"
		spec.Path = filepath.Join(cfg.Get("PCP_PMDAS_DIR"), name, "pmda_"+name+".so")
		return spec, nil
	}
	if spec.Domain == 0 {
		spec.Domain = domainOf(command[1:])
	}
	if spec.Domain == 0 {
		return spec, errors.New("which domain? Give --domain, or the command's own option -d")
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return spec, fmt.Errorf("%s: %s", command[0], lookErr(err))
	}
	// The collector is elsewhere.
	if path, err = filepath.Abs(path); err != nil {
		return spec, err
	}
	spec.Kind, spec.NotReady = conf.Pipe, e.notReady
	if e.network != "" {
		spec.Kind, spec.Network, spec.Address = conf.Socket, e.network, e.address
	}
	spec.Args = append([]string{path}, command[1:]...)
	return spec, nil
}

func runDisable(ctx context.Context, env *cli.Env) int {
	var e edit
	o := e.parse(env)
	if !o.WantsVersion() && !o.Errors() && len(o.Args) != 1 {
		o.Usagef("the name of one agent is needed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	c, err := readConf(e.path)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	name := o.Args[0]
	i := c.find(name, false)
	switch {
	case i >= 0:
	case c.find(name, true) >= 0:
		return env.Fatalf("%s: agent %s is disabled already", e.path, name)
	default:
		return env.Fatalf("%s: there is no agent called %s", e.path, name)
	}
	before, spec := c.text(), *c.lines[i].spec
	c.lines[i].text = disabledMark + c.lines[i].text
	if err = c.check(before, spec, false); err == nil {
		err = c.write()
	}
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	fmt.Fprintf(env.Stdout, "%s: agent %s is disabled\n", e.path, name)
	if e.files != "" {
		if err := e.bring(ctx, env, name, spec.Domain, false); err != nil {
			return env.Fatalf("%s", cli.FileErrText(err))
		}
	}
	return e.tell(env)
}

// tell makes the collector reread its configuration, if requested.
func (e *edit) tell(env *cli.Env) int {
	if !e.reload {
		return 0
	}
	cfg := env.Config()
	err := cfg.Err()
	if err == nil {
		err = hangup.Collector(filepath.Join(cfg.Get("PCP_RUN_DIR"), "pmcd.pid"))
	}
	if err != nil {
		return env.Fatalf("the file is changed, but the collector was not signalled: %s", cli.FileErrText(err))
	}
	return 0
}
