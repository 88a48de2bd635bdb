package redis

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/agent/service"
)

// Domain is the domain of the agent (REDIS).
const Domain = 24

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain  int      // 0 means Domain
	Servers []string // nil means localhost:6379
	DB      string   // "" means db0
	// User and Password are sent to each server, unless Password is "". User may be "".
	User, Password string
	Log            *slog.Logger
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	servers := slices.Compact(slices.Sorted(slices.Values(cfg.Servers)))
	if len(servers) == 0 {
		servers = []string{"localhost:6379"}
	}
	indom := &service.InDom{
		Serial: 0, Members: servers, Help: "Servers of Redis or Valkey",
		Long: "The servers of the configuration: HOST:PORT, or the path of a Unix socket.",
	}
	var list []service.Server
	for _, name := range servers {
		list = append(list, newServer(indom, name, cfg))
	}
	return service.New(service.Config{
		Name: "redis", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log,
		Metrics: metrics(indom, cmp.Or(cfg.DB, "db0")), InDoms: []*service.InDom{indom}, Servers: list,
		Origin: "It is %s in the answer of the server to INFO.",
	})
}

// conn returns the connection to a server.
func (cfg *Config) conn(name string) *service.Conn {
	c := &service.Conn{Network: "tcp", Address: name}
	if strings.HasPrefix(name, "/") {
		c.Network = "unix"
	}
	if cfg.Password != "" {
		args := []string{"AUTH", cfg.Password}
		if cfg.User != "" {
			args = []string{"AUTH", cfg.User, cfg.Password}
		}
		c.Greet = func(conn net.Conn, r *bufio.Reader) (net.Conn, error) {
			_, err := ask(conn, r, args...)
			return conn, err
		}
	}
	return c
}

func newServer(indom *service.InDom, name string, cfg Config) service.Server {
	c := cfg.conn(name)
	return service.Server{
		Name:  name,
		Close: c.Close,
		Read: func(ctx context.Context, a *service.Answer) error {
			return c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error {
				text, err := ask(conn, r, "INFO")
				if err == nil {
					decode(text, a.Row(indom, name))
				}
				return err
			})
		},
	}
}

// ask sends a command and returns its answer.
func ask(conn net.Conn, r *bufio.Reader, args ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return "", err
	}
	return answer(r)
}

// answer reads an answer: a line, an error or a text of a given length.
func answer(r *bufio.Reader) (string, error) {
	line, err := service.Line(r)
	if err != nil {
		return "", err
	}
	switch {
	case strings.HasPrefix(line, "+"):
		return line[1:], nil
	case strings.HasPrefix(line, "-NOAUTH"), strings.HasPrefix(line, "-WRONGPASS"), strings.HasPrefix(line, "-NOPERM"):
		return "", fmt.Errorf("%.200q: %w", line[1:], service.ErrCredentials)
	case strings.HasPrefix(line, "-"):
		return "", fmt.Errorf("the server answers %.200q", line[1:])
	case strings.HasPrefix(line, "$"):
		n, err := strconv.ParseUint(line[1:], 10, 31)
		if err != nil {
			return "", fmt.Errorf("not an answer of Redis: %.80q", line)
		}
		if n > service.MaxAnswer {
			return "", service.ErrTooBig
		}
		var b strings.Builder // grows as the bytes come
		if _, err := io.CopyN(&b, r, int64(n)); err != nil {
			return "", fmt.Errorf("an answer of %d bytes: %w", n, err)
		}
		if end, err := service.Line(r); err != nil || end != "" {
			return "", fmt.Errorf("an answer of %d bytes is longer", n)
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("not an answer of Redis: %.80q", line)
}

// decode reads the answer to INFO:
//
//	# Server
//	redis_version:7.0.15
//	db0:keys=1,expires=0,avg_ttl=0
func decode(text string, row service.Row) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(value, "keys=") {
			for field := range strings.SplitSeq(value, ",") {
				if name, v, ok := strings.Cut(field, "="); ok {
					row.Set(key+"_"+name, v)
				}
			}
			continue
		}
		row.Set(key, value)
	}
}
