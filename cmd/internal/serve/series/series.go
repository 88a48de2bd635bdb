// Package series is pcp series: it finds time series and shows their values and
// metadata, as pmseries(1) does.
package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
	"github.com/go-pcp/pcp/internal/storage"
)

// Command is pcp series.
var Command = &cli.Command{
	Name:     "series",
	Link:     "pmseries",
	Group:    cli.Serve,
	Summary:  "query metrics of many archives, with functions",
	Synopsis: "[options] [query ... | labels ... | series ... | source ...]",
	Doc: `Finds metrics of many hosts in directories of archives, as time series with identifiers, and prints
their values and metadata. A query is the name of a metric, or a pattern, with conditions on labels,
instances and hosts in braces, and a time window in square brackets to print values. Functions and
arithmetic combine queries.

It reads the archives of this host's loggers, or those of --archives, and keeps an index to them.
With -h or -p it queries a pmproxy, this one or the C implementation's, or a key server (Redis or
Valkey) with series of either. A key server in the configuration is used if it answers. --load
copies an archive into the key server; without a key server, it adds the archive to those that are read.

The options, messages and the language are those of pmseries(1).`,
	Examples: []cli.Example{
		{Line: `pcp series 'disk.dev.read*{hostname == "www"}'`, Text: "find series"},
		{Line: `pcp series 'rate(disk.dev.read[samples: 10])'`, Text: "print rates of the newest ten samples"},
		{Line: `pcp series -a 605fc77742cd0317597291329561ac4e50c0dd12`, Text: "describe a series"},
		{Line: `pcp series -p 44322 -v hostname`, Text: "ask a server for the values of a label"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Connection Options"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "configuration file path"},
			{Short: 'h', Long: "host", Arg: "HOST", Help: "connect to Redis using given host name"},
			{Short: 'p', Long: "port", Arg: "PORT", Help: "connect to Redis using given TCP/IP port"},
			{Long: "archives", Arg: "PATH", Extra: true, Help: "read these directories or archives, between commas"},
			cli.Heading("General Options"),
			{Short: 'L', Long: "load", Help: "load time series values and metadata"},
			{Short: 'q', Long: "query", Help: "perform a time series query (default)"},
			{Short: 'v', Long: "values", Help: "extract values for given series or label(s)"},
			cli.OptDebug,
			cli.Heading("Reporting Options"),
			{Short: 'a', Long: "all", Help: "report all metadata (-dilms) for time series"},
			{Short: 'd', Long: "desc", Help: "metric descriptor for time series"},
			{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format"},
			{Short: 'i', Long: "instances", Help: "report names for time series instances"},
			{Short: 'F', Long: "fast", Help: "query or load series metadata, not values"},
			{Short: 'g', Long: "glob", Arg: "PATTERN", Help: "glob pattern to restrict matches"},
			{Short: 'l', Long: "labels", Help: "list all labels for time series"},
			{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format"},
			{Short: 'm', Long: "metrics", Help: "report names and expressions for time series"},
			{Short: 'n', Long: "names", Help: "print label names only, not values"},
			{Short: 'S', Long: "sources", Help: "report names for time series sources"},
			{Short: 's', Long: "series", Help: "print series ID for metrics, instances and sources"},
			{Short: 't', Long: "times", Help: "print numeric time stamps (in milliseconds)"},
			{Short: 'w', Long: "window", Arg: "TIMESPEC", Help: "restrict --values report to a time window"},
			cli.OptTimeZone, cli.OptVersion, cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// options are the options of the command line.
type options struct {
	archives, host, port, config             string
	load, query, values, window              bool
	all, desc, indom, insts, fast, labels    bool
	pmid, metrics, names, sources, ids, nums bool
	glob                                     string
	hasGlob                                  bool
	spec                                     string
	zone                                     string

	remote bool   // a server is asked
	loaded string // result of --load
}

// set takes an option, and reports whether it is one of ours.
func (p *options) set(opt *cli.Option, arg string) bool {
	flags := map[byte]*bool{
		'L': &p.load, 'q': &p.query, 'v': &p.values, 'a': &p.all, 'd': &p.desc, 'I': &p.indom, 'i': &p.insts, 'F': &p.fast,
		'l': &p.labels, 'M': &p.pmid, 'm': &p.metrics, 'S': &p.sources, 's': &p.ids, 't': &p.nums,
	}
	if f := flags[byte(opt.Short)]; f != nil {
		*f = true
		return true
	}
	switch {
	case opt.Long == "archives":
		p.archives = arg
	case opt.Short == 'c':
		p.config = arg
	case opt.Short == 'h':
		p.host = arg
	case opt.Short == 'p':
		p.port = arg
	case opt.Short == 'g':
		p.glob, p.hasGlob = arg, true
	case opt.Short == 'n':
		p.labels, p.names = true, true
	case opt.Short == 'w':
		p.spec, p.window = arg, true
	case opt.Short == 'Z':
		p.zone = arg
	default:
		return false
	}
	return true
}

// meta reports whether an option wants metadata.
func (p *options) meta() bool { return p.desc || p.insts || p.labels || p.metrics }

// check finds options that do not go together and sets the default request if
// no option names one.
func (p *options) check(o *cli.Options) {
	if p.all {
		p.desc, p.insts, p.labels, p.metrics, p.ids = true, true, true, true, true
	}
	switch {
	case p.load && (p.meta() || p.sources || p.values || p.window):
		o.Usagef("error - cannot use load and reporting options together")
	case p.load && p.query:
		o.Usagef("error - cannot use load and querying options together")
	case p.query && (p.meta() || p.sources || p.values):
		o.Usagef("error - cannot use query and metadata options together")
	case p.query && p.window:
		o.Usagef("error - cannot use query and time window options together")
	case p.archives != "" && (p.host != "" || p.port != ""):
		o.Usagef("error - cannot read archives and ask a server together")
	}
	if !p.meta() && !p.load && !p.sources && !p.values && !p.pmid && !p.indom && !p.ids {
		if ids := len(o.Args) > 0; ids {
			for _, arg := range o.Args {
				ids = ids && isSID(arg)
			}
			if p.query = !ids; ids {
				p.all, p.desc, p.insts, p.labels, p.metrics, p.ids = true, true, true, true, true, true
			}
		} else {
			p.query = true
		}
	}
	if len(o.Args) == 0 && !o.Errors() {
		switch {
		case p.query:
			o.Usagef("error - no query string provided")
		case p.values:
			o.Usagef("error - no label name(s) provided")
		case p.all || !p.meta() && !p.sources && !(p.load && p.host == "" && p.port == ""):
			o.Usagef("error - no series string(s) provided")
		}
	}
}

// isSID reports whether an argument is an identifier, in lower case.
func isSID(s string) bool {
	if len(s) != 40 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

func run(ctx context.Context, env *cli.Env) int {
	var p options
	o := cli.ParseOptions(env, cli.ParseConfig{NonEmpty: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool { return p.set(opt, arg) }})
	p.check(o)
	if p.port != "" {
		if n, err := strconv.ParseUint(p.port, 10, 16); err != nil || n == 0 {
			o.Usagef("error - %q is not a port", p.port)
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if p.zone != "" {
		getenv := env.Getenv
		zone := p.zone
		env = env.WithGetenv(func(name string) string {
			if name == "TZ" {
				return zone
			}
			return getenv(name)
		})
	}
	r := &report{env: env, options: &p, loc: env.Local()}
	asker, err := connect(ctx, env, &p, o.Args)
	if err != nil {
		r.fail(err)
		return r.status
	}
	defer asker.close()
	r.ask = asker
	r.run(ctx, o.Args)
	return r.status
}

// server returns the options that name the server.
func (p *options) server() string {
	var list []string
	if p.host != "" {
		list = append(list, "-h "+p.host)
	}
	if p.port != "" {
		list = append(list, "-p "+p.port)
	}
	return strings.Join(list, " ")
}

// connect opens the source of series: a server, a key server, or the archives of this host.
func connect(ctx context.Context, env *cli.Env, p *options, args []string) (*client, error) {
	if p.archives != "" {
		dirs := strings.Split(p.archives, ",")
		for _, path := range dirs {
			if err := exists(path); err != nil {
				return nil, fmt.Errorf("--archives: %q: %s", path, cli.ErrText(err))
			}
		}
		return newLocal(ctx, env, archives.Config{Dirs: dirs})
	}
	file, err := p.readConf(env)
	if err != nil {
		return nil, err
	}
	cfg, named := recorded.KeyConfig(file, p.host, p.port)
	switch {
	case named && recorded.Answering(ctx, cfg.Servers...):
		return p.openKeys(ctx, env, cfg, file, strings.Join(args, " "))
	case p.host != "" || p.port != "":
		p.remote = true
		client := newRemote(cmp.Or(p.host, "localhost"), cmp.Or(p.port, "44322"))
		client.name = p.server()
		return client, nil
	}
	list := recorded.ListOf(env, listName(file))
	if p.load && len(args) > 0 {
		if err := p.remember(list, strings.Join(args, " ")); err != nil {
			return nil, err
		}
	}
	return newLocal(ctx, env, archives.Config{Dirs: append(recorded.Dirs(env, true), list.Paths()...), Index: list.Index()})
}

// exists returns an error if a path is neither a directory nor an archive.
func exists(path string) error {
	if path == "" {
		return errors.New("a path is missing")
	}
	st, err := storage.Stat(path)
	if err == nil && st.IsDir() {
		return nil
	}
	_, err = archive.FindFiles(path)
	return err
}

// readConf reads the configuration. The file of -c must exist, the default one need not.
func (p *options) readConf(env *cli.Env) (*conf.File, error) {
	path := p.config
	if path == "" {
		path = filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "pmseries", "pmseries.conf")
	}
	file, err := conf.ReadFile(path)
	if err != nil && p.config == "" {
		return new(conf.File), nil
	}
	return file, err
}

// listName returns the name of the list of archives of a key server that does not answer.
func listName(file *conf.File) string {
	if len(file.KeyServers) == 0 {
		return recorded.DefaultServer
	}
	host, port, _ := strings.Cut(file.KeyServers[0], ":")
	return recorded.Server(host, port)
}

// openKeys opens a key server. With --load it first writes an archive to it.
func (p *options) openKeys(ctx context.Context, env *cli.Env, cfg keys.Config, file *conf.File, arg string) (*client, error) {
	var name, path string
	if p.load {
		if arg == "" {
			return nil, mistake("found no context to load")
		}
		var err error
		if name, err = loadName(arg); err != nil {
			return nil, err
		}
		if path, err = loadPath(name); err != nil {
			return nil, err
		}
	}
	store, err := keys.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if p.load {
		opt := keys.LoadOptions{Exclude: file.ExcludeMetrics, NoValues: p.fast}
		n, err := store.Load(ctx, cmp.Or(remotePath(path), name), opt)
		if err != nil {
			store.Close()
			if opened(err) {
				return nil, mistake(fmt.Sprintf("cannot open archive %q: %s", name, cli.ErrText(err)))
			}
			return nil, err
		}
		p.loaded = fmt.Sprintf("processed %d archive records from %s", n, keys.ContextName(cmp.Or(remotePath(path), name)))
	}
	return newHandled(env, store)
}

// remotePath returns the path of an archive in a store of objects, or "" for others, whose name is kept as it was given.
func remotePath(path string) string {
	if storage.Remote(path) {
		return path
	}
	return ""
}

// opened reports whether an error is of opening an archive.
func opened(err error) bool { return errors.As(err, new(*keys.OpenError)) }
