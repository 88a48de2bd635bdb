package memcache

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (MEMCACHE).
const Domain = 89

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain  int
	Servers []string // nil means 127.0.0.1:11211
	Log     *slog.Logger
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	servers := slices.Clone(cfg.Servers)
	if len(servers) == 0 {
		servers = []string{"127.0.0.1:11211"}
	}
	indom := &service.InDom{
		Serial: 0, Members: servers, Help: "Servers of memcached",
		Long: "The servers of the configuration: HOST:PORT, or the path of a Unix socket.",
	}
	var list []service.Server
	for _, name := range servers {
		c := &service.Conn{Network: "tcp", Address: name}
		if strings.HasPrefix(name, "/") {
			c.Network = "unix"
		}
		list = append(list, service.Server{Name: name, Close: c.Close, Read: func(ctx context.Context, a *service.Answer) error {
			return c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error { return ask(conn, r, a.Row(indom, name)) })
		}})
	}
	return service.New(service.Config{
		Name: "memcache", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log,
		Metrics: metrics(indom), InDoms: []*service.InDom{indom}, Servers: list,
		Origin: "It is %s in the answer to stats or stats slabs.",
	})
}

// ask sends two requests, and reads two answers.
func ask(conn io.Writer, r *bufio.Reader, row service.Row) error {
	if _, err := io.WriteString(conn, "stats\r\nstats slabs\r\n"); err != nil {
		return err
	}
	for range 2 {
		if err := decode(r, row); err != nil {
			return err
		}
	}
	return nil
}

// maxLines is the number of lines of an answer.
const maxLines = 10_000

// decode reads an answer:
//
//	STAT pid 1
//	STAT uptime 10
//	END
func decode(r *bufio.Reader, row service.Row) error {
	for range maxLines {
		line, err := service.Line(r)
		if err != nil {
			return err
		}
		if line == "END" {
			return nil
		}
		rest, ok := strings.CutPrefix(line, "STAT ")
		key, value, two := strings.Cut(rest, " ")
		if !ok || !two {
			return fmt.Errorf("not an answer of memcached: %.80q", line)
		}
		row.Set(key, value)
	}
	return service.ErrTooBig
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "memcache", Domain: Domain, Programs: []string{"memcached"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that the settings host in memcache.conf configure.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "memcache", "host")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	for _, s := range settings {
		if !slices.Contains(cfg.Servers, s.Value) {
			cfg.Servers = append(cfg.Servers, s.Value)
		}
	}
	return New(cfg)
}
