package nginx

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (NGINX).
const Domain = 117

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain         int
	URL            string // "" means http://localhost/nginx_status
	User, Password string // for the page; "" for none
	Log            *slog.Logger
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	p := &service.Page{URL: cmp.Or(cfg.URL, "http://localhost/nginx_status"), User: cfg.User, Password: cfg.Password}
	return service.New(service.Config{
		Name: "nginx", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log, Metrics: metrics(),
		Origin: "It is %s on the page of the module stub_status.",
		Servers: []service.Server{{Name: p.URL, Close: p.Close, Read: func(ctx context.Context, a *service.Answer) error {
			b, err := p.Get(ctx)
			if err == nil {
				err = decode(string(b), a)
			}
			if err != nil {
				err = fmt.Errorf("%w; nginx needs a location for it with stub_status, such as \"location = /nginx_status { stub_status; allow 127.0.0.1; allow ::1; deny all; }\"", err)
			}
			return err
		}}},
	})
}

func metrics() []service.Metric {
	const instant, counter = pcp.SemInstant, pcp.SemCounter
	count := pcp.Units{DimCount: 1}
	return []service.Metric{
		{Name: "nginx.active", Item: 0, Type: pcp.TypeU32, Sem: instant, Help: "Connections of clients now, with those that are idle"},
		{Name: "nginx.accepts_count", Item: 1, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "accepts", Help: "Connections that were accepted"},
		{Name: "nginx.handled_count", Item: 2, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "handled", Help: "Connections that were not closed for lack of resources"},
		{Name: "nginx.requests_count", Item: 3, Type: pcp.TypeU64, Sem: counter, Units: count, Key: "requests", Help: "Requests of clients"},
		{Name: "nginx.reading", Item: 4, Type: pcp.TypeU32, Sem: instant, Help: "Connections whose request is being read"},
		{Name: "nginx.writing", Item: 5, Type: pcp.TypeU32, Sem: instant, Help: "Connections whose request is being answered"},
		{Name: "nginx.waiting", Item: 6, Type: pcp.TypeU32, Sem: instant, Help: "Idle connections that wait for a request"},
	}
}

// decode reads the page:
//
//	Active connections: 1
//	server accepts handled requests
//	 1 1 1
//	Reading: 0 Writing: 1 Waiting: 0
func decode(text string, a *service.Answer) error {
	words := strings.Fields(text)
	numbers := []int{2, 7, 8, 9, 11, 13, 15}
	if len(words) != 16 || words[0] != "Active" || words[3] != "server" || words[10] != "Reading:" {
		return fmt.Errorf("not a page of stub_status: %.80q", text)
	}
	for i, key := range []string{"active", "accepts", "handled", "requests", "reading", "writing", "waiting"} {
		a.Set(key, words[numbers[i]])
	}
	return nil
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "nginx", Domain: Domain, Programs: []string{"nginx"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that nginx.conf configures: nginx_status_url is the name that the C agent has for url.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "nginx", "nginx_status_url", "url", "user", "password")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	for _, s := range settings {
		switch s.Name {
		case "url", "nginx_status_url":
			cfg.URL = s.Value
		case "user":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		}
	}
	return New(cfg)
}
