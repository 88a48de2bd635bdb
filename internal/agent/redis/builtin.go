package redis

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "redis", Domain: Domain,
		Programs: []string{"redis-server", "keydb-server"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that redis.conf configures, as the C agent reads it, with the settings user and password besides.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "redis", "host", "db_name", "user", "password")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	for _, s := range settings {
		switch s.Name {
		case "host":
			cfg.Servers = append(cfg.Servers, s.Value)
		case "db_name":
			if cfg.DB == "" { // all databases would have the same numbers
				cfg.DB = s.Value
			}
		case "user":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		}
	}
	return New(cfg)
}
