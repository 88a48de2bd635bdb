package apache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (APACHE).
const Domain = 68

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain         int
	URL            string // without ?auto; "" means http://localhost:80/server-status
	User, Password string // for the page; "" for none
	Log            *slog.Logger
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	p := &service.Page{URL: cmp.Or(cfg.URL, defaultURL("", "", "")), User: cfg.User, Password: cfg.Password}
	return service.New(service.Config{
		Name: "apache", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log, Metrics: metrics(),
		Origin: "It is %s on the page of mod_status.",
		Servers: []service.Server{{Name: p.URL, Close: p.Close, Read: func(ctx context.Context, a *service.Answer) error {
			b, err := p.GetAt(ctx, "?auto")
			if err == nil {
				err = decode(string(b), a)
			}
			if err != nil {
				err = fmt.Errorf("%w; Apache needs mod_status and a location for it, such as \"<Location /server-status> SetHandler server-status; Require local </Location>\"", err)
			}
			return err
		}}},
	})
}

func defaultURL(host, port, location string) string {
	return "http://" + net.JoinHostPort(cmp.Or(host, "localhost"), cmp.Or(port, "80")) + "/" + strings.TrimPrefix(cmp.Or(location, "server-status"), "/")
}

var errFormat = errors.New("not a page of mod_status")

// states are the letters of the scoreboard.
const states = "_SRWKDLG.CI"

// decode reads the page, which has lines of names and values. A name may have blanks.
//
//	Total Accesses: 1
//	BusyWorkers: 1
//	Scoreboard: _W__.....
func decode(text string, a *service.Answer) error {
	found := false
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if !ok {
			continue
		}
		switch key {
		case "BusyWorkers", "BusyServers":
			a.Set("BusyServers", value)
		case "IdleWorkers", "IdleServers":
			a.Set("IdleServers", value)
		case "Scoreboard":
			found = true
			for i := range len(states) {
				a.Set(states[i:i+1], strconv.Itoa(strings.Count(value, states[i:i+1])))
			}
		case "Uptime":
			a.Set(key, value)
			if n, err := strconv.ParseUint(value, 10, 32); err == nil {
				a.Set("uptime_s", uptime(n))
			}
		default:
			if len(key) > 1 && key != "uptime_s" {
				a.Set(key, value)
			}
		}
	}
	if !found {
		return fmt.Errorf("%w: %.80q", errFormat, text)
	}
	return nil
}

// uptime is the text of a number of seconds, as the C agent has it.
func uptime(n uint64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	clock := fmt.Sprintf("%02d:%02d:%02d", n%day/hour, n%hour/minute, n%minute)
	switch days := n / day; days {
	case 0:
		return clock
	case 1:
		return "1day " + clock
	default:
		return fmt.Sprintf("%ddays %s", days, clock)
	}
}

// Options of the program, as the C agent has them.
const (
	optServer   = "server"
	optPort     = "port"
	optLocation = "location"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "apache", Domain: Domain, Programs: []string{"apache2", "httpd"}, Try: service.Try(open),
		Program: builtin.Program{Options: []pmda.Option{
			{Short: 'S', Long: optServer, Arg: "HOST", Help: "host of the server [localhost]"},
			{Short: 'P', Long: optPort, Arg: "PORT", Help: "port of the server [80]"},
			{Short: 'L', Long: optLocation, Arg: "LOC", Help: "location of the page of mod_status [server-status]"},
		}},
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that the options, or apache.conf, configure.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "apache", "url", "user", "password")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	for _, s := range settings {
		switch s.Name {
		case "url":
			cfg.URL = strings.TrimSuffix(s.Value, "?auto")
		case "user":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		}
	}
	given := make(map[string]string)
	for _, s := range e.Settings {
		given[s.Option.Long] = s.Arg
	}
	if len(given) > 0 {
		cfg.URL = defaultURL(given[optServer], given[optPort], given[optLocation])
	}
	return New(cfg)
}
