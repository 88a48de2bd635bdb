package haproxy

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "haproxy", Domain: Domain, Programs: []string{"haproxy"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that haproxy.conf configures, as the C agent reads it. Its setting user is of the process of the C agent.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "haproxy", "user", "socket", "url", "auth", "pass")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	for _, s := range settings {
		switch s.Name {
		case "socket":
			cfg.Socket = s.Value
		case "url":
			cfg.URL = s.Value
		case "auth":
			cfg.User = s.Value
		case "pass":
			cfg.Password = s.Value
		}
	}
	return New(cfg)
}
