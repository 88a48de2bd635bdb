// Package series is pcp series: it finds time series and shows their values and
// metadata, as pmseries(1) does.
package series

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pmproxy/series/query"
	"github.com/go-pcp/pcp/tool/cli"
)

// Command is pcp series.
var Command = &cli.Command{
	Name:     "series",
	Group:    "Archives",
	Summary:  "find metrics in many archives, and calculate with them",
	Synopsis: "[options] [query ... | labels ... | series ... | source ...]",
	Doc: `Finds metrics of many hosts in directories of archives, as time series with identifiers of their own, and prints their
values and metadata. A query is the name of a metric, or a pattern; conditions on labels, instances and hosts in braces; a time
window in square brackets, with which values are printed; and functions and arithmetic of these.

It reads the archives of this host's loggers itself, or those that --archives names, and keeps an index to them. With -h or -p it
asks a pmproxy, this one or the C implementation's. No key server is needed.

The options, messages and the language are those of pmseries(1).`,
	Examples: []cli.Example{
		{Line: `pcp series 'disk.dev.read*{hostname == "www"}'`, Text: "find series"},
		{Line: `pcp series 'rate(disk.dev.read[samples: 10])'`, Text: "print rates of the newest ten samples"},
		{Line: `pcp series -a 605fc77742cd0317597291329561ac4e50c0dd12`, Text: "describe a series"},
		{Line: `pcp series -p 44322 -v hostname`, Text: "ask a server for the values of a label"},
	},
	Options: []cli.Option{
		cli.Heading("Connection Options"),
		{Long: "archives", Arg: "PATH", Help: "read these directories or archives, between commas"},
		{Short: 'h', Long: "host", Arg: "HOST", Help: "ask pmproxy on this host"},
		{Short: 'p', Long: "port", Arg: "PORT", Help: "ask pmproxy at this port"},
		cli.Heading("General Options"),
		{Short: 'L', Long: "load", Help: "look for new archives, or read one more from now on"},
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
	},
	DieOnSignal: true,
	Run:         run,
}

// options are the options that were given.
type options struct {
	archives, host, port                     string
	load, query, values, window              bool
	all, desc, indom, insts, fast, labels    bool
	pmid, metrics, names, sources, ids, nums bool
	glob                                     string
	hasGlob                                  bool
	spec                                     string
	zone                                     string
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

// check finds options that do not go together and says what is asked for if no
// option does.
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
	o := cli.ParseOptions(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool { return p.set(opt, arg) }})
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
		fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), err)
		return 1
	}
	defer asker.close()
	r.ask = asker
	r.run(ctx, o.Args)
	return r.status
}

// connect finds the one to ask: a server, or the archives of this host.
func connect(ctx context.Context, env *cli.Env, p *options, args []string) (*client, error) {
	if p.host != "" || p.port != "" {
		host, port := p.host, p.port
		if host == "" {
			host = "localhost"
		}
		if port == "" {
			port = "44322"
		}
		return newRemote(host, port), nil
	}
	dirs, index := defaultStore(env)
	if p.archives != "" {
		dirs, index = strings.Split(p.archives, ","), ""
	} else if p.load && len(args) > 0 {
		if err := remember(index, args); err != nil {
			return nil, err
		}
		dirs, index = defaultStore(env)
	}
	return newLocal(ctx, env, dirs, index)
}

// listName is the file beside the index that lists what --load was given.
const listName = "series.paths"

// defaultStore returns the directories of archives that are read, and the index
// to them: those of loggers, and what --load was given.
func defaultStore(env *cli.Env) (dirs []string, index string) {
	log := env.Config().Get("PCP_LOG_DIR")
	dirs = []string{filepath.Join(log, "pmlogger"), filepath.Join(log, "pmproxy")}
	cache := env.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home := env.Getenv("HOME")
		if home == "" {
			return dirs, ""
		}
		cache = filepath.Join(home, ".cache")
	}
	index = filepath.Join(cache, "pcp", "series.db")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(index), listName))
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSuffix(line, "\n"); line != "" {
				dirs = append(dirs, line)
			}
		}
	}
	return dirs, index
}

// remember adds the archive or directory that --load was given to the list.
func remember(index string, args []string) error {
	path, err := loadPath(strings.Join(args, " "))
	if err != nil {
		return err
	}
	if index == "" {
		return fmt.Errorf("there is no place to remember %s: HOME is not set", path)
	}
	list := filepath.Join(filepath.Dir(index), listName)
	if err := os.MkdirAll(filepath.Dir(index), 0o700); err != nil {
		return err
	}
	old, err := os.ReadFile(list)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for line := range strings.Lines(string(old)) {
		if strings.TrimSuffix(line, "\n") == path {
			return nil
		}
	}
	f, err := os.OpenFile(list, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(path + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// loadPath returns the path that the argument of --load names: itself, or that of
// {source.path: "PATH"}.
func loadPath(arg string) (string, error) {
	if strings.HasPrefix(arg, "{") {
		q, err := query.Parse(arg, time.Now(), nil)
		if err != nil {
			return "", err
		}
		m := q.Expr.Match
		if m == nil || m.Op == query.OpAnd || m.Op == query.OpOr || m.Name != "source.path" {
			return "", fmt.Errorf("%s: only {source.path: \"PATH\"} names an archive", arg)
		}
		arg = m.Text
	}
	path, err := filepath.Abs(arg)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(path, "\n") {
		return "", fmt.Errorf("%q: a path with a new line", path)
	}
	if _, err := os.Stat(path); err != nil {
		// The base name of an archive does not name a file.
		if found, _ := filepath.Glob(globQuote(path) + ".meta*"); len(found) == 0 {
			return "", err
		}
	}
	return path, nil
}

// globQuote keeps filepath.Glob from reading patterns in a path.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
