package sending

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/engine"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// An Engine has the options of commands that answer requests for series from a database of the Prometheus family.
type Engine struct {
	urls  []string
	conn  Connection
	given []string // options of the connection
	file  bool     // the settings of a file count
	bad   error    // in urls
}

// enginePrefix begins the names of the connection options of an engine.
const enginePrefix = "engine-"

// EngineRows returns the rows of the options.
func EngineRows(extra bool) []cli.Option {
	rows := []cli.Option{{Long: "engine", Arg: "URL", Extra: extra, Help: "answer for series also from Prometheus, VictoriaMetrics, Thanos or Mimir; replicas with commas between"}}
	help := map[string]string{
		"header":   "add a header to each request to the engine",
		"token":    "authenticate to the engine with the bearer token in FILE",
		"user":     "authenticate to the engine as a user",
		"password": "the password for --engine-user is in FILE",
		"ca":       "trust the authorities in FILE for the engine",
		"cert":     "show the certificate in FILE to the engine",
		"key":      "the key of that certificate is in FILE",
	}
	for _, row := range ConnectionRows() {
		if row.Long != "" {
			rows = append(rows, cli.Option{Long: enginePrefix + row.Long, Arg: row.Arg, Extra: extra, Help: help[row.Long]})
		}
	}
	return rows
}

// Own takes an option, and reports whether it is one of these. A mistake is a usage error of o.
func (e *Engine) Own(o *cli.Options, opt *cli.Option, arg string) bool {
	if opt.Long == "engine" {
		e.add(arg)
		return true
	}
	name, ok := strings.CutPrefix(opt.Long, enginePrefix)
	e.conn.prefix = "--" + enginePrefix
	if !ok || name == OptRetry.Long || !e.conn.Own(o, &cli.Option{Long: name}, arg) {
		return false
	}
	e.given = append(e.given, "--"+opt.Long)
	return true
}

func (e *Engine) add(list string) {
	for u := range strings.SplitSeq(list, ",") {
		if u = strings.TrimSpace(u); u == "" && e.bad == nil {
			e.bad = fmt.Errorf("an address is missing in %q", list)
		}
		e.urls = append(e.urls, u)
	}
}

// Check returns an error if there are options for the connection to an engine, and there is no engine. In a configuration file, there
// may be one: then it is called after Settings.
func (e *Engine) Check() error {
	if !e.Any() && len(e.given) > 0 {
		return fmt.Errorf("%s is for --engine; add --engine=URL", e.given[0])
	}
	return nil
}

// Settings takes the settings of a configuration file, engine and those that begin with "engine.", unless there are options.
func (e *Engine) Settings(set map[string]string) error {
	if e.Any() {
		return nil
	}
	if list := set["engine"]; list != "" {
		e.file, e.conn.prefix = true, "engine."
		e.add(list)
	}
	for name, value := range maps.All(set) {
		conn, ok := strings.CutPrefix(name, "engine.")
		switch {
		case name == "engine":
		case !ok:
			return fmt.Errorf("%s is not a setting of engines", name)
		default:
			if err := e.setting(conn, value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func (e *Engine) setting(name, value string) error {
	switch name {
	case "token":
		e.conn.Secrets.Token = value
	case "user":
		e.conn.Config.User = value
	case "password":
		e.conn.Secrets.Password = value
	case "ca":
		e.conn.Secrets.CA = value
	case "cert":
		e.conn.Secrets.Cert = value
	case "key":
		e.conn.Secrets.Key = value
	default:
		return fmt.Errorf("no such setting is known")
	}
	return nil
}

// Any reports whether there is an engine.
func (e *Engine) Any() bool { return len(e.urls) > 0 }

// Dial returns a client of the engine. Agent is the name and version of the program.
func (e *Engine) Dial(agent string, log *slog.Logger) (*engine.Client, error) {
	name := "--engine"
	if e.file {
		name = "engine"
	}
	if e.bad != nil {
		return nil, fmt.Errorf("%s: %w", name, e.bad)
	}
	if err := e.conn.Read(); err != nil {
		return nil, err
	}
	cfg := e.conn.Config
	cfg.UserAgent = agent
	c, err := engine.Dial(engine.Config{URLs: e.urls, Connection: cfg, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}
