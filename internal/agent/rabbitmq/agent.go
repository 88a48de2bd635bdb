package rabbitmq

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (RABBITMQ).
const Domain = 143

// usualPort is that of the management plugin.
const usualPort = "15672"

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain         int
	Port           string // of the management plugin; "" means 15672
	URL            string // of the server, in place of localhost and Port
	User, Password string // "" means guest
	Log            *slog.Logger
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	const guest = "guest"
	if cfg.User == "" && cfg.Password == "" {
		cfg.Password = guest
	}
	queues := &service.InDom{
		Serial: 0, Help: "Queues of RabbitMQ", Long: "The queues of all virtual hosts, by name.",
		Labels: `{"indom_name":"queue"}`, InstanceLabel: "queue",
	}
	p := &service.Page{
		URL:  cmp.Or(cfg.URL, "http://"+net.JoinHostPort("localhost", cmp.Or(cfg.Port, usualPort))),
		User: cmp.Or(cfg.User, guest), Password: cfg.Password,
	}
	return service.New(service.Config{
		Name: "rabbitmq", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log,
		Metrics: metrics(queues), InDoms: []*service.InDom{queues}, Origin: "It is %s.",
		Servers: []service.Server{{Name: p.URL, Close: p.Close, Read: func(ctx context.Context, a *service.Answer) error {
			b, err := p.GetAt(ctx, "/api/queues")
			if err == nil {
				err = decode(b, queues, a)
			}
			if err != nil && !errors.Is(err, service.ErrCredentials) {
				err = fmt.Errorf("%w; RabbitMQ needs its management plugin: rabbitmq-plugins enable rabbitmq_management", err)
			}
			return err
		}}},
	})
}

// maxDepth is the depth of objects in that of a queue.
const maxDepth = 4

// decode reads a list of objects.
func decode(b []byte, queues *service.InDom, a *service.Answer) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("not a list of queues: %w", err)
	}
	for _, q := range list {
		var name string
		if json.Unmarshal(q["name"], &name) != nil || name == "" {
			continue
		}
		put(a.Row(queues, name), "", q, maxDepth)
	}
	return nil
}

// put sets the members of an object, and with their path those of objects in it.
func put(row service.Row, prefix string, object map[string]json.RawMessage, depth int) {
	for key, raw := range object {
		key = prefix + key
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 {
			continue
		}
		switch raw[0] {
		case '"':
			var s string
			if json.Unmarshal(raw, &s) == nil {
				row.Set(key, s)
			}
		case 't': // texts of true, false and null are those that Python has
			row.Set(key, "True")
		case 'f':
			row.Set(key, "False")
		case 'n':
			row.Set(key, "None")
		case '{':
			row.Set(key, string(raw))
			var inner map[string]json.RawMessage
			if depth > 0 && json.Unmarshal(raw, &inner) == nil {
				put(row, key+".", inner, depth-1)
			}
		default:
			row.Set(key, string(raw))
		}
	}
}

// Builtin describes the agent. The process of RabbitMQ is that of Erlang's machine, which other programs have too.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "rabbitmq", Domain: Domain, Programs: []string{"beam.smp"},
		Try: func(ctx context.Context, e builtin.Env) error { return try(ctx, e, amqp) },
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg, err := settings(e)
			if err != nil {
				return nil, err
			}
			return New(cfg)
		},
	}
}

// amqp is where a RabbitMQ listens for its clients, with the management plugin or without.
const amqp = "localhost:5672"

// try asks the server. Without the plugin at its usual port and a server for clients Erlang's machine has another program.
func try(ctx context.Context, e builtin.Env, clients string) error {
	cfg, err := settings(e)
	if err != nil {
		return err
	}
	a, err := New(cfg)
	if err != nil {
		return err
	}
	defer a.Close()
	err = a.Try(ctx)
	if cfg.URL == "" && cmp.Or(cfg.Port, usualPort) == usualPort && errors.Is(err, syscall.ECONNREFUSED) {
		c, dialErr := new(net.Dialer).DialContext(ctx, "tcp", clients)
		if dialErr != nil {
			return service.ErrAbsent
		}
		c.Close()
	}
	return err
}

// settings reads rabbitmq.conf, as the C agent documents it.
func settings(e builtin.Env) (cfg Config, err error) {
	list, err := service.Settings(e.Config, "rabbitmq", "username", "user", "password", "port", "url")
	cfg = Config{Domain: e.Domain, Log: e.Log}
	for _, s := range list {
		switch s.Name {
		case "username", "user":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		case "port":
			cfg.Port = s.Value
		case "url":
			cfg.URL = s.Value
		}
	}
	return cfg, err
}
