package postgresql

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (POSTGRESQL).
const Domain = 110

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain int
	// Host is the host of the server, or the directory of its socket; "" means /var/run/postgresql, or /tmp if that does not exist.
	Host           string
	Port           string // "" means 5432
	Database       string // "" means postgres
	User, Password string // "" as user means that of this process
	Security       service.Security
	Log            *slog.Logger
}

// minAge is the age of values until which the server is not asked again: its answer takes it some milliseconds.
const minAge = time.Second

// indoms are the instance domains, in the order of their numbers.
type indoms struct {
	tables, systemTables, userTables, sessions, functions, databases, indexes, systemIndexes, userIndexes, sequences, systemSequences, userSequences, replicas *service.InDom
}

func newIndoms() (d *indoms, list []*service.InDom) {
	serial := 0
	add := func(help, long string) *service.InDom {
		in := &service.InDom{Serial: serial, Help: help, Long: long}
		serial++
		list = append(list, in)
		return in
	}
	d = &indoms{
		tables:          add("All tables", "The tables of the database, by name."),
		systemTables:    add("Tables of the system", "The tables in the schemas of the system, by name."),
		userTables:      add("Tables of users", "The tables in other schemas than those of the system, by name."),
		sessions:        add("Sessions", "The sessions by the names that clients gave themselves, or pid and the number\nof the process."),
		functions:       add("Functions", "The functions whose calls the server counts (track_functions), by name."),
		databases:       add("Databases", "The databases of the server, by name."),
		indexes:         add("All indexes", "The indexes of the database, by name."),
		systemIndexes:   add("Indexes of the system", "The indexes in the schemas of the system, by name."),
		userIndexes:     add("Indexes of users", "The indexes in other schemas than those of the system, by name."),
		sequences:       add("All sequences", "The sequences of the database, by name."),
		systemSequences: add("Sequences of the system", "The sequences in the schemas of the system, by name."),
		userSequences:   add("Sequences of users", "The sequences in other schemas than those of the system, by name."),
		replicas:        add("Replicas", "The connections of replicas by the names that they gave themselves, or pid and\nthe number of the process."),
	}
	return d, list
}

// A view is a view of statistics.
type view struct {
	name        string
	id, inst    string         // columns: the number of a row, and the name of its instance
	of          *service.InDom // nil for one row
	system, own *service.InDom // the rows of the system and of users, nil for views without those
}

func (d *indoms) views() []view {
	return []view{
		{name: "pg_stat_activity", id: "pid", inst: "application_name", of: d.sessions},
		{name: "pg_stat_bgwriter"},
		{name: "pg_stat_database", id: "datid", inst: "datname", of: d.databases},
		{name: "pg_stat_user_functions", id: "funcid", inst: "funcname", of: d.functions},
		{name: "pg_stat_xact_user_functions", id: "funcid", inst: "funcname", of: d.functions},
		{name: "pg_stat_database_conflicts", id: "datid", inst: "datname", of: d.databases},
		{name: "pg_stat_replication", id: "pid", inst: "application_name", of: d.replicas},
		{name: "pg_stat_all_tables", id: "relid", inst: "relname", of: d.tables, system: d.systemTables, own: d.userTables},
		{name: "pg_stat_xact_all_tables", id: "relid", inst: "relname", of: d.tables, system: d.systemTables, own: d.userTables},
		{name: "pg_statio_all_tables", id: "relid", inst: "relname", of: d.tables, system: d.systemTables, own: d.userTables},
		{name: "pg_stat_all_indexes", id: "indexrelid", inst: "indexrelname", of: d.indexes, system: d.systemIndexes, own: d.userIndexes},
		{name: "pg_statio_all_indexes", id: "indexrelid", inst: "indexrelname", of: d.indexes, system: d.systemIndexes, own: d.userIndexes},
		{name: "pg_statio_all_sequences", id: "relid", inst: "relname", of: d.sequences, system: d.systemSequences, own: d.userSequences},
	}
}

// sql returns the queries for views, and the one for the state of recovery.
func sql(views []view) string {
	var b strings.Builder
	for _, v := range views {
		fmt.Fprintf(&b, "SELECT * FROM %s", v.name)
		if v.of != nil {
			fmt.Fprintf(&b, " ORDER BY %s", v.id)
		}
		b.WriteString(";")
	}
	b.WriteString("SELECT pg_is_in_recovery()::int AS is_in_recovery")
	return b.String()
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	d, list := newIndoms()
	cfg.Port, cfg.Database = cmp.Or(cfg.Port, "5432"), cmp.Or(cfg.Database, "postgres")
	if cfg.User == "" {
		if u, err := user.Current(); err == nil {
			cfg.User = u.Username
		}
	}
	if cfg.Host == "" {
		cfg.Host = "/var/run/postgresql"
		if _, err := os.Stat(cfg.Host); err != nil {
			cfg.Host = "/tmp"
		}
	}
	c := &service.Conn{Network: "tcp", Address: net.JoinHostPort(cfg.Host, cfg.Port)}
	if filepath.IsAbs(cfg.Host) {
		c.Network, c.Address = "unix", filepath.Join(cfg.Host, ".s.PGSQL."+cfg.Port)
	}
	c.Greet = func(conn net.Conn, r *bufio.Reader) (net.Conn, error) {
		conn, err := encrypt(conn, r, cfg)
		if err != nil {
			return nil, err
		}
		return conn, logIn(conn, r, cfg)
	}
	views := d.views()
	text := sql(views)
	return service.New(service.Config{
		Name: "postgresql", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log, MinAge: minAge,
		Metrics: metrics(d), InDoms: list, Origin: "The column %s.",
		Servers: []service.Server{{Name: c.Address, Close: c.Close, Read: func(ctx context.Context, a *service.Answer) error {
			return c.Do(ctx, func(conn net.Conn, r *bufio.Reader) error {
				return query(conn, r, text, func(n int, columns []string, values [][]byte) { put(a, views, n, columns, values) })
			})
		}}},
	})
}

// put puts a row of the answer to the nth query into a.
func put(a *service.Answer, views []view, n int, columns []string, values [][]byte) {
	if n >= len(views) {
		for i, name := range columns {
			a.Set("pg_active."+name, string(values[i]))
			a.Set("pg_recovery."+name, string(values[i]))
		}
		return
	}
	v := &views[n]
	if v.of == nil {
		for i, name := range columns {
			if values[i] != nil {
				a.Set(v.name+"."+name, string(values[i]))
			}
		}
		return
	}
	name, schema := "", ""
	for i, c := range columns {
		switch {
		case c == v.inst && len(values[i]) > 0:
			name = string(values[i])
		case c == v.id && name == "":
			name = v.id + string(values[i])
		case c == "schemaname":
			schema = string(values[i])
		}
	}
	set := func(d *service.InDom, view string) {
		if d == nil {
			return
		}
		row := a.Row(d, name)
		for i, c := range columns {
			if values[i] != nil {
				row.Set(view+"."+column(c), string(values[i]))
			}
		}
	}
	set(v.of, v.name)
	if schema == "pg_catalog" || schema == "information_schema" || strings.HasPrefix(schema, "pg_toast") {
		set(v.system, strings.Replace(v.name, "_all_", "_sys_", 1))
	} else {
		set(v.own, strings.Replace(v.name, "_all_", "_user_", 1))
	}
}

// column returns the name that a column had before PostgreSQL 10.
func column(name string) string {
	switch name {
	case "sent_lsn", "write_lsn", "flush_lsn", "replay_lsn":
		return strings.TrimSuffix(name, "lsn") + "location"
	}
	return name
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "postgresql", Domain: Domain, Programs: []string{"postgres"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// open makes the agent that postgresql.conf configures, with the settings of the C agent's pmdapostgresql.conf.
func open(e builtin.Env) (*service.Agent, error) {
	settings, err := service.Settings(e.Config, "postgresql", "host", "port", "dbname", "user", "password", "tls", "ca")
	if err != nil {
		return nil, err
	}
	cfg := Config{Domain: e.Domain, Log: e.Log}
	var mode, ca string
	for _, s := range settings {
		switch s.Name {
		case "host":
			if cfg.Host = s.Value; s.Value == "local" {
				cfg.Host = ""
			}
		case "port":
			cfg.Port = s.Value
		case "dbname":
			cfg.Database = s.Value
		case "user":
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
		return nil, fmt.Errorf("postgresql: %w", err)
	}
	return New(cfg)
}
