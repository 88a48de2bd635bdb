package postfix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (POSTFIX).
const Domain = 103

// minAge is the age of the counts of queues up to which they are not read again.
const minAge = 5 * time.Second

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain int
	Queues string // the directory of the queues; "" means /var/spool/postfix
	Log    string // the mail log; "" means the last of logs that exists
	Root   string // of the default files; "" means /

	Logger *slog.Logger // nil discards
}

// logs are the usual mail logs.
func logs() []string { return []string{"var/log/mail.log", "var/log/maillog", "var/log/mail"} }

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	root := cmp.Or(cfg.Root, "/")
	cfg.Queues = cmp.Or(cfg.Queues, hostroot.Path(root, "var/spool/postfix"))
	if cfg.Log == "" {
		cfg.Log = hostroot.Path(root, logs()[0])
		for _, name := range logs() {
			path := hostroot.Path(root, name)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				cfg.Log = path
			}
		}
	}
	const queueHelp, logHelp = "Recipients of messages in the queue %s, by age.\nAs qshape counts them: one message can have several.", ".\nLines of the mail log since the start of the agent."
	ages := &service.InDom{Serial: 0, Help: "Ages of messages", Long: "The time since a message arrived, and the total.", Members: ageNames()}
	sent := &service.InDom{Serial: 1, Help: "Ways of delivery", Long: "smtp for other hosts, or the name of the transport, such as local.", Members: []string{"smtp", "local"}}
	received := &service.InDom{Serial: 2, Help: "Ways of arrival", Long: "local for programs of this host, or smtp.", Members: []string{"local", "smtp"}}
	count := pcp.Units{DimCount: 1}
	var metrics []service.Metric
	for i, name := range queueNames() {
		metrics = append(metrics, service.Metric{
			Name: "postfix.queues." + name, Item: i, Type: pcp.TypeU32, InDom: ages, Sem: pcp.SemInstant, Units: count,
			Help: "Recipients of messages in the queue " + name + ", by age", Long: fmt.Sprintf(queueHelp, name),
		})
	}
	for i, m := range [...]struct {
		name  string
		indom *service.InDom
	}{{"sent", sent}, {"received", received}} {
		help := "Messages " + m.name
		metrics = append(metrics, service.Metric{
			Name: "postfix." + m.name, Cluster: 1, Item: i, Type: pcp.TypeU32, InDom: m.indom, Sem: pcp.SemCounter, Units: count, Help: help, Long: help + logHelp,
		})
	}
	log := newMailLog(cfg.Log)
	q := &queues{dir: cfg.Queues, ages: ages, now: time.Now}
	return service.New(service.Config{
		Name: "postfix", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Logger, Metrics: metrics, InDoms: []*service.InDom{ages, sent, received},
		Servers: []service.Server{
			{Name: cfg.Queues, Read: q.read},
			{Name: cfg.Log, Close: log.close, Read: func(_ context.Context, a *service.Answer) error {
				if err := log.read(); err != nil {
					return err
				}
				for i, n := range log.sent {
					a.RowOf(sent, log.ways[i], int32(i)).Set("sent", strconv.FormatUint(n, 10))
				}
				a.Row(received, "local").Set("received", strconv.FormatUint(log.local, 10))
				a.Row(received, "smtp").Set("received", strconv.FormatUint(log.remote, 10))
				return nil
			}},
		},
	})
}

// Builtin describes the agent. Its program keeps the rights of root, which the queues require.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "postfix", Domain: Domain, Program: builtin.Program{KeepUser: true}, Programs: []string{"qmgr"}, Try: try,
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg, err := settings(e)
			if err != nil {
				return nil, err
			}
			return New(cfg)
		},
	}
}

// try checks that the queues can be read.
func try(_ context.Context, e builtin.Env) error {
	cfg, err := settings(e)
	if err != nil {
		return err
	}
	dir := cmp.Or(cfg.Queues, hostroot.Path(cmp.Or(cfg.Root, "/"), "var/spool/postfix"))
	for _, name := range queueNames() {
		d, err := os.Open(dir + "/" + name)
		if errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("%w; only root and the user postfix may read the queues", err)
		}
		if err != nil {
			return err
		}
		d.Close()
	}
	return nil
}

// settings reads postfix.conf.
func settings(e builtin.Env) (cfg Config, err error) {
	list, err := service.Settings(e.Config, "postfix", "queue_directory", "log")
	cfg = Config{Domain: e.Domain, Logger: e.Log, Root: e.HostRoot, Log: e.Config.Getenv("PMDA_POSTFIX_LOG")}
	for _, s := range list {
		switch s.Name {
		case "queue_directory":
			cfg.Queues = s.Value
		case "log":
			cfg.Log = s.Value
		}
	}
	return cfg, err
}
