package redis

import (
	"bufio"
	"cmp"
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// ValkeyDomain is the domain of the agent valkey (VALKEY).
const ValkeyDomain = 36

// valkeyIndoms are the instance domains of the agent valkey.
type valkeyIndoms struct{ databases, errors, modules *service.InDom }

func newValkeyIndoms() (d *valkeyIndoms, list []*service.InDom) {
	d = &valkeyIndoms{
		databases: &service.InDom{Serial: 0, Help: "Databases", Long: "The databases that have keys: db and their number."},
		errors:    &service.InDom{Serial: 1, Help: "Kinds of errors", Long: "The first words of errors that the server answered, such as ERR."},
		modules:   &service.InDom{Serial: 2, Help: "Modules", Long: "The modules that the server has loaded, by name."},
	}
	return d, []*service.InDom{d.databases, d.errors, d.modules}
}

// NewValkey returns the agent valkey, which has one server.
func NewValkey(cfg Config) (*service.Agent, error) {
	d, list := newValkeyIndoms()
	address := "127.0.0.1:6379"
	if len(cfg.Servers) > 0 {
		address = cfg.Servers[0]
	}
	c := cfg.conn(address)
	return service.New(service.Config{
		Name: "valkey", Domain: cmp.Or(cfg.Domain, ValkeyDomain), Log: cfg.Log, Metrics: valkeyMetrics(d), InDoms: list,
		Origin: "It is %s in the answer to INFO.",
		Servers: []service.Server{{Name: address, Close: c.Close, Read: func(ctx context.Context, a *service.Answer) error {
			return c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error {
				text, err := ask(conn, r, "INFO")
				if err == nil {
					decodeValkey(text, d, a)
				}
				return err
			})
		}}},
	})
}

// decodeValkey reads the answer to INFO, as decode does, with lines of several fields besides:
//
//	db0:keys=1,expires=0,avg_ttl=0
//	errorstat_ERR:count=2
//	module:name=json,ver=10002,api=1
func decodeValkey(text string, d *valkeyIndoms, a *service.Answer) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		key, value, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		fields := make(map[string]string)
		for f := range strings.SplitSeq(value, ",") {
			if name, v, ok := strings.Cut(f, "="); ok {
				fields[name] = v
			}
		}
		db, isDB := strings.CutPrefix(key, "db")
		n, err := strconv.ParseUint(db, 10, 31)
		kind, isError := strings.CutPrefix(key, "errorstat_")
		switch {
		case isDB && err == nil && fields["keys"] != "":
			row := a.RowOf(d.databases, key, int32(n))
			row.Set("keys", fields["keys"])
			row.Set("expires", fields["expires"])
			row.Set("avg_ttl", fields["avg_ttl"])
		case isError:
			a.Row(d.errors, kind).Set("count", fields["count"])
		case key == "module":
			row := a.Row(d.modules, fields["name"])
			row.Set("name", fields["name"])
			row.Set("version", fields["ver"])
		case key == "rdb_last_bgsave_status":
			a.Set(key, map[bool]string{true: "1", false: "0"}[value == "ok"])
		default:
			a.Set(key, strings.TrimSuffix(value, "%"))
		}
	}
}

// BuiltinValkey describes the agent valkey.
func BuiltinValkey() builtin.Spec {
	return builtin.Spec{
		Name: "valkey", Domain: ValkeyDomain, Programs: []string{"valkey-server"}, Try: service.Try(openValkey),
		New: func(e builtin.Env) (pmda.Agent, error) { return openValkey(e) },
	}
}

// openValkey makes the agent that valkey.conf configures: host, which may also be the path of a socket, and port, as the C agent reads them, and
// user and password.
func openValkey(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "valkey", "host", "port", "user", "password")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	host, port := "127.0.0.1", "6379"
	for _, s := range settings {
		switch s.Name {
		case "host":
			host = s.Value
		case "port":
			port = s.Value
		case "user":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		}
	}
	cfg.Servers = []string{net.JoinHostPort(host, port)}
	if strings.HasPrefix(host, "/") {
		cfg.Servers = []string{host}
	}
	return NewValkey(cfg)
}
