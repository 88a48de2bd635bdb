package haproxy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/go-pcp/pcp/internal/agent/service"
)

// Domain is the domain of the agent (HAPROXY).
const Domain = 145

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain int
	// Socket is the path of the socket of statistics; "" means the first of /var/lib/haproxy/stats and /run/haproxy/admin.sock that
	// exists.
	Socket string
	// URL is the address of the page of statistics in place of the socket, such as http://127.0.0.1:9000/?stats;csv.
	URL, User, Password string
	Log                 *slog.Logger
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	proxies := &service.InDom{
		Serial: 0, Help: "Proxies and servers of HAProxy",
		Long: "The frontends, backends, servers and listeners, called PROXY::SERVER. SERVER is\nFRONTEND or BACKEND for those themselves.",
	}
	return service.New(service.Config{
		Name: "haproxy", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log,
		Metrics: metrics(proxies), InDoms: []*service.InDom{proxies}, Servers: []service.Server{newServer(proxies, cfg)},
		Origin: "It is %s of \"show info\" or \"show stat\".",
	})
}

func newServer(proxies *service.InDom, cfg Config) service.Server {
	if cfg.URL != "" {
		p := &service.Page{URL: cfg.URL, User: cfg.User, Password: cfg.Password}
		return service.Server{Name: cfg.URL, Close: p.Close, Read: func(ctx context.Context, a *service.Answer) error {
			b, err := p.Get(ctx)
			if err != nil {
				return err
			}
			return decodeStat(b, proxies, a)
		}}
	}
	c := &service.Conn{Network: "unix", Address: cmp.Or(cfg.Socket, defaultSocket()), Once: true}
	return service.Server{Name: c.Address, Close: c.Close, Read: func(ctx context.Context, a *service.Answer) error {
		return c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error {
			if _, err := io.WriteString(conn, "show info;show stat\n"); err != nil {
				return err
			}
			b, err := service.All(r)
			if err != nil {
				return err
			}
			return decode(b, proxies, a)
		})
	}}
}

func defaultSocket() string {
	const usual, debian = "/var/lib/haproxy/stats", "/run/haproxy/admin.sock"
	if _, err := os.Stat(usual); err != nil {
		if _, err := os.Stat(debian); err == nil {
			return debian
		}
	}
	return usual
}

// statHead begins the answer to show stat.
const statHead = "# pxname,svname,"

var errFormat = errors.New("not statistics of HAProxy")

// decode reads the answers to show info, lines of names and values, and to show stat.
func decode(b []byte, proxies *service.InDom, a *service.Answer) error {
	info, stat, ok := bytes.Cut(b, []byte(statHead))
	if !ok {
		return fmt.Errorf("%w: %.80q", errFormat, b)
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": "); ok {
			a.Set(key, value)
		}
	}
	return decodeStat(append([]byte(statHead), stat...), proxies, a)
}

// decodeStat reads a table whose first line has the names of the columns.
func decodeStat(b []byte, proxies *service.InDom, a *service.Answer) error {
	if !bytes.HasPrefix(b, []byte(statHead)) {
		return fmt.Errorf("%w: %.80q", errFormat, b)
	}
	r := csv.NewReader(bytes.NewReader(b))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, false
	names, err := r.Read()
	if err != nil {
		return fmt.Errorf("%w: %w", errFormat, err)
	}
	names[0] = strings.TrimPrefix(names[0], "# ")
	for {
		line, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: %w", errFormat, err)
		case len(line) < 2 || line[0] == "":
			continue
		}
		row := a.Row(proxies, line[0]+"::"+line[1])
		for i := range min(len(line), len(names)) {
			row.Set(names[i], line[i])
		}
	}
}
