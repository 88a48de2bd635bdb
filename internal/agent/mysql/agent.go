package mysql

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (MYSQL).
const Domain = 66

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain int
	// Address is the path of the socket of the server, or HOST:PORT; "" means /run/mysqld/mysqld.sock or the socket in another usual place.
	Address        string
	User, Password string // "" means dbmonitor for both, as for the C agent
	Security       service.Security
	Log            *slog.Logger
}

// minAge is the age of values until which the server is not asked again.
const minAge = time.Second

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	const usual = "dbmonitor"
	if cfg.User == "" && cfg.Password == "" {
		cfg.Password = usual
	}
	cfg.User = cmp.Or(cfg.User, usual)
	indom := &service.InDom{Serial: 0, Help: "Connections", Long: "The connections of the server, by number."}
	c := &service.Conn{Network: "tcp", Address: cmp.Or(cfg.Address, defaultSocket())}
	if strings.HasPrefix(c.Address, "/") {
		c.Network = "unix"
	}
	c.Greet = func(conn net.Conn, r *bufio.Reader) (net.Conn, error) { return logIn(conn, r, cfg) }
	return service.New(service.Config{
		Name: "mysql", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log, MinAge: minAge,
		Metrics: metrics(indom), InDoms: []*service.InDom{indom}, Origin: "It is %s.",
		Servers: []service.Server{{Name: c.Address, Close: c.Close, Read: func(ctx context.Context, a *service.Answer) error {
			return c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error { return ask(conn, r, indom, a) })
		}}},
	})
}

func defaultSocket() string {
	list := []string{"/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"}
	for _, path := range list {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return list[0]
}

// ask sends four queries. A user without the right to see replication or other connections gets the rest.
func ask(conn net.Conn, r *bufio.Reader, indom *service.InDom, a *service.Answer) error {
	for _, list := range []string{"status", "variables"} {
		sql := map[string]string{"status": "SHOW GLOBAL STATUS", "variables": "SHOW VARIABLES"}[list]
		if err := query(conn, r, sql, func(_ []string, values [][]byte) { pair(a, list, values) }); err != nil {
			return err
		}
	}
	err := query(conn, r, "SHOW PROCESSLIST", func(columns []string, values [][]byte) {
		if values[0] == nil {
			return
		}
		row := a.Row(indom, string(values[0]))
		for i, name := range columns {
			text := string(values[i])
			if strings.EqualFold(name, "state") && values[i] == nil {
				text = "?" // as the C agent
			}
			if values[i] != nil || text != "" {
				row.Set("processlist."+strings.ToLower(name), text)
			}
		}
	})
	if err == nil {
		err = query(conn, r, "SHOW SLAVE STATUS", func(columns []string, values [][]byte) {
			for i, name := range columns {
				if values[i] != nil {
					set(a, "slave_status."+strings.ToLower(name), string(values[i]))
				}
			}
		})
	}
	if _, refused := errors.AsType[*refusal](err); refused {
		return nil
	}
	return err
}

// pair sets a name and its value.
func pair(a *service.Answer, list string, values [][]byte) {
	if len(values) >= 2 && values[0] != nil && values[1] != nil {
		set(a, list+"."+strings.ToLower(string(values[0])), string(values[1]))
	}
}

// set sets a value, and its number if it is a word for true or false.
func set(a *service.Answer, key, value string) {
	a.Set(key, value)
	switch strings.ToLower(value) {
	case "yes", "true", "on":
		a.Set(key+"_num", strconv.Itoa(1))
	case "no", "false", "off":
		a.Set(key+"_num", strconv.Itoa(0))
	}
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "mysql", Domain: Domain, Programs: []string{"mysqld", "mariadbd"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that mysql.conf configures: username and password, as the C agent names them, and host.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "mysql", "host", "username", "user", "password", "tls", "ca")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	var mode, ca string
	for _, s := range settings {
		switch s.Name {
		case "host":
			cfg.Address = s.Value
		case "username", "user":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		case "tls":
			mode = s.Value
		case "ca":
			ca = s.Value
		}
	}
	if cfg.Security, err = service.NewSecurity(mode, ca); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	return New(cfg)
}
