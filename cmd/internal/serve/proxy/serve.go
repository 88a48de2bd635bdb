package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/diagnose"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/search"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/engine"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	promapi "github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/forward"
	promstore "github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
	"github.com/go-pcp/pcp/cmd/internal/web"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/access"
)

// handlers answer HTTP requests.
type handlers struct {
	byPrefix map[string]http.Handler
	server   *pmproxy.Server // decides which hosts clients may reach; set before it serves
	push     *logger.Handler // nil without /logger
	closers  []io.Closer
}

func (h *handlers) close() {
	for i := len(h.closers) - 1; i >= 0; i-- {
		h.closers[i].Close()
	}
}

// serve serves until ctx is done.
func (set *settings) serve(ctx context.Context, env *cli.Env, file *conf.File, out io.Writer, log *slog.Logger) (err error) {
	cfg, err := set.server(env, file, log)
	if err != nil {
		return err
	}
	lns, err := service.Listeners(env.Getenv)
	if err != nil {
		return err
	}
	manager := service.NewManager(env.Getenv)
	service.Forget()
	if len(lns) == 0 {
		if lns, err = pmcd.Listen(ctx, set.listen); err != nil {
			log.Error("not all addresses can be served", "err", err)
		}
		if n := cmp.Or(file.MaxPending, set.pending); n > 0 {
			if err := service.SetBacklog(lns, n); err != nil {
				log.Error("the number of waiting connections is not limited", "err", err)
			}
		}
	}
	defer func() { // Run does so too
		for _, ln := range lns {
			ln.Close()
		}
	}()
	if len(lns) == 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errors.New("can't open any request ports, exiting")
	}
	if set.mode != foreground {
		set.makeIndexDir(env, log)
		remove, err := set.becomeDaemon(env)
		if err != nil {
			return err
		}
		defer remove()
	}
	set.warnOfRights(log, file)
	h := &handlers{byPrefix: map[string]http.Handler{}}
	defer h.close()
	if !set.deprecated {
		if err := set.openHandlers(ctx, env, file, log, h); err != nil {
			return err
		}
	}
	cfg.Listeners, cfg.Handlers = lns, h.byPrefix
	s, err := pmproxy.New(cfg)
	if err != nil {
		return err
	}
	h.server = s
	if set.classic {
		report(out, lns)
	} else {
		for _, ln := range lns {
			log.Info("serving", "on", ln.Addr().String())
		}
	}
	if a := address(lns); a != "" && !cfg.NoHTTP && !set.classic {
		fmt.Fprintf(env.Stdout, "http://%s\n", a)
		if err := env.FlushOut(); err != nil {
			log.Error("cannot write to the terminal", "err", err)
		}
	}
	told := func(err error) {
		if err != nil {
			log.Warn("service manager not told", "err", err)
		}
	}
	var signals sync.WaitGroup
	done := make(chan struct{})
	if set.classic || env.ErrTerminal == nil || !env.ErrTerminal() { // a terminal that is closed ends it
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		signals.Go(func() {
			for {
				select {
				case <-hup:
					told(manager.Reloading())
					set.reload(env, file, s, log)
					if h.push != nil {
						h.push.Reset() // as the C implementation does; clients begin new archives
					}
					told(manager.Ready("serving"))
				case <-done:
					return
				}
			}
		})
	}
	told(manager.Ready("serving"))
	detach.Ready(env.Getenv)
	stop := context.AfterFunc(ctx, func() { told(manager.Stopping()) })
	defer stop()
	err = s.Run(ctx)
	close(done)
	signals.Wait()
	log.Info("pmproxy Shutdown")
	return err
}

// warnOfRights logs which clients a collector takes for this process's user.
func (set *settings) warnOfRights(log *slog.Logger, file *conf.File) {
	if file.NoHTTP || set.deprecated {
		return
	}
	if os.Geteuid() == 0 {
		who := "with a password or token"
		if file.LendRights {
			who = "of any kind (http.sockets = anybody)"
		}
		log.Warn("pmproxy runs as root: over its Unix socket a collector takes clients " + who + " for root; run it as another user (-U)")
	}
	if spec, err := pmapi.ParseHostSpec(set.host); err == nil && (spec.Protocol == "unix" || spec.Protocol == "local") {
		log.Warn("the collector of --host is asked over its Unix socket, where it takes all clients for pmproxy's user", "host", set.host)
	}
}

// reload reads all files again. If some are wrong it logs the errors and changes nothing.
func (set *settings) reload(env *cli.Env, old *conf.File, s *pmproxy.Server, log *slog.Logger) {
	file, err := set.readConf(env)
	var cfg pmproxy.Config
	if err == nil {
		cfg, err = set.server(env, file, log)
	}
	if err == nil {
		err = s.Reload(cfg)
	}
	if err != nil {
		log.Error("configuration left unchanged", "err", err)
		return
	}
	for _, text := range file.Notes {
		log.Warn(text)
	}
	if file.PushAnybody != old.PushAnybody || file.PushTimeout != old.PushTimeout || file.PushQuota != old.PushQuota || file.PushKeep != old.PushKeep || !slices.Equal(file.PushHosts, old.PushHosts) ||
		file.NoSeries != old.NoSeries || !maps.Equal(file.Engine, old.Engine) || file.NoColumns != old.NoColumns || file.NoSearch != old.NoSearch || file.NoDiscover != old.NoDiscover || file.NoPush != old.NoPush || file.SearchCount != old.SearchCount ||
		!slices.Equal(file.ExcludeMetrics, old.ExcludeMetrics) || !slices.Equal(file.ExcludeInDoms, old.ExcludeInDoms) {
		log.Warn("what changed of [pmseries], [pmsearch], [pmlogger] and [discover] takes effect when pmproxy is started again")
	}
	log.Info("configuration and certificates read again")
}

// server makes the configuration of the server.
func (set *settings) server(env *cli.Env, file *conf.File, log *slog.Logger) (pmproxy.Config, error) {
	sys := env.Config()
	cfg := pmproxy.Config{
		NoPCP: file.NoPCP, NoHTTP: file.NoHTTP || set.deprecated,
		Collectors: file.Collectors, Hosts: file.Hosts, AllowHeaders: file.Headers,
		TokenFile: file.Tokens, RequireAuth: file.RequireAuth, TrustLocal: !file.DistrustLocal, LendRights: file.LendRights,
		MaxClients: file.MaxClients, MaxBody: file.MaxBody, KeepAlive: file.KeepAlive, MaxPDU: set.maxPDU,
		Log: log,
	}
	if file.ForwardKeys && !set.deprecated {
		cfg.KeyServer = set.keyServer(file)
	}
	// Without accounts of this host, names and passwords are the collector's to check.
	if users := env.UsersPath(); isFile(users) {
		cfg.Auth = access.NewAccounts(access.AccountsConfig{Users: users, Log: log})
	}
	if dir := filepath.Join(sys.Get("PCP_TMP_DIR"), "pmproxy"); isDir(dir) {
		cfg.MetricsDir = dir
	}
	if file.NoSecure {
		return cfg, nil
	}
	path := tlsconf.Path(sys)
	if file.Certificates != "" {
		f, err := tlsconf.ReadFile(path)
		if err != nil {
			return cfg, err
		}
		f.CertFile, f.KeyFile = file.Certificates, file.PrivateKey
		for _, o := range []struct{ to, from *string }{{&f.CAFile, &file.Authority}, {&f.Ciphers, &file.CipherList}, {&f.CipherSuites, &file.CipherSuites}} {
			if *o.from != "" {
				*o.to = *o.from
			}
		}
		if cfg.TLS, err = f.Server(); err != nil {
			return cfg, fmt.Errorf("TLS of pmproxy.conf: %w", err)
		}
		return cfg, nil
	}
	keeper, _, err := tlsconf.Keep(path)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", path, err)
	}
	if keeper != nil {
		cfg.TLS = keeper.Config()
	}
	return cfg, nil
}

// openHandlers opens the HTTP handlers of pmproxy. Those of pcp up are in its own package, up.
func (set *settings) openHandlers(ctx context.Context, env *cli.Env, file *conf.File, log *slog.Logger, h *handlers) error {
	api, err := webapi.New(webapi.Config{Host: set.host, Log: log, AllowHost: h.mayReach, OptionalLabels: env.Seven()})
	if err != nil {
		return err
	}
	h.closers = append(h.closers, api)
	var recordings *archives.Store // nil without archives
	found := set.diagnoses(env, file, log, h, func(host string, start, end pcp.Timestamp) []string {
		if recordings == nil {
			return nil
		}
		return recordings.Recorded(host, start, end)
	})
	h.closers = append(h.closers, found)
	h.byPrefix["/diagnose"] = found
	page, err := web.New(web.Config{})
	if err != nil {
		return err
	}
	h.byPrefix["/pmapi"], h.byPrefix["/metrics"], h.byPrefix["/stream"], h.byPrefix["/"] = api, api, api.Stream(), page
	if !file.NoSearch {
		find, err := search.New(search.Config{Sources: []search.Source{&search.Collector{Spec: set.host}}, Limit: file.SearchCount, Log: log})
		if err != nil {
			return err
		}
		h.closers = append(h.closers, find)
		h.byPrefix["/search/"] = find
	}
	if !file.NoPush {
		cfg := logger.Config{
			Dir: recorded.Pushed(env), Zone: env.Local(), Log: log,
			Anybody: file.PushAnybody, Hosts: file.PushHosts, Timeout: file.PushTimeout, MaxHost: file.PushQuota,
		}
		push, err := logger.New(cfg)
		if err != nil {
			return err
		}
		h.closers = append(h.closers, push)
		h.byPrefix["/logger/"], h.push = push, push
		if file.PushKeep > 0 {
			k := &keeper{dir: cfg.Dir, keep: file.PushKeep, rest: restTime, log: log, hosts: map[string]*janitor.Janitor{}}
			h.closers = append(h.closers, k.start())
		}
	}
	if file.NoSeries {
		return nil
	}
	var store series.Store
	refreshed := func(h http.Handler) http.Handler { return h }
	cfgKeys, named := recorded.KeyConfig(file, set.keyHost, set.keyPort)
	named = named && len(set.archives) == 0
	var away error
	if named {
		var k *keyStore
		if k, away = set.openKeys(ctx, env, cfgKeys, file, log); away == nil {
			store = k
			h.closers = append(h.closers, k)
		}
	}
	var waiting *series.Switch // for the key server
	if away != nil {
		waiting = series.NewSwitch(series.ErrAway) // clients need not know where it is
	}
	switch {
	case store != nil:
	case away != nil && (set.keyHost != "" || set.keyPort != ""):
		log.Warn("there are no series until the key server answers", "err", away)
		store = waiting
	default: // the configuration of the distribution names a key server, which few hosts have
		if away != nil {
			log.Warn("series are read from archives until the key server answers", "err", away)
		}
		list := recorded.ListOf(env, set.keyServer(file))
		ours, err := set.openStore(ctx, env, file, list, log)
		if err != nil {
			return err
		}
		store, recordings = ours, ours
		h.closers = append(h.closers, ours)
		newest := &newest{store: ours, list: list, stamp: list.Stamp()}
		refreshed = func(h http.Handler) http.Handler { return loaded{h, newest} }
		if waiting != nil {
			waiting.Set(ours)
			store = waiting
		}
	}
	if waiting != nil {
		h.closers = append(h.closers, set.awaitKeys(ctx, env, cfgKeys, file, log, waiting))
	}
	all, client, err := set.withEngine(env, file, store, log)
	if err != nil {
		return err
	}
	if client != nil {
		h.closers = append(h.closers, closer(func() error { client.Close(); return nil }))
	}
	seen := series.Hide(all, excluded(file))
	ser, err := seriesapi.New(seriesapi.Config{Store: seen, Zone: env.Local(), Log: log})
	if err != nil {
		return err
	}
	h.closers = append(h.closers, ser)
	h.byPrefix["/series/"] = refreshed(ser)
	live := promstore.NewLive(promstore.LiveConfig{Open: func(ctx context.Context) (*pmapi.Context, error) {
		return new(pmapi.Dialer).Dial(ctx, cmp.Or(set.host, webapi.DefaultHost))
	}})
	h.closers = append(h.closers, live)
	data := promstore.New(seen, promstore.Config{})
	var prom http.Handler = promapi.New(promapi.Config{Store: data, Live: live, Log: log})
	queries := promstore.NewEngine(promstore.EngineConfig{Concurrent: fleetQueries})
	source := fleet.Queries(queries, promstore.Both(data, live))
	if client != nil {
		all := forward.New(forwarding(client, prom, file, log))
		prom, source = all, all
	}
	h.byPrefix["/api/v1/"] = refreshed(prom)
	cfg := fleet.Config{Source: source, Hosts: fleet.HostsOf(seen), Log: log}
	if set.fleet != "" {
		shared, err := share.OpenStore(set.fleet, env.Getenv)
		if err != nil {
			return fmt.Errorf("--fleet: %w", err)
		}
		cfg.Recording = fleet.NewRecorders(shared, log).Recordings
	}
	hosts := fleet.New(cfg)
	h.closers = append(h.closers, hosts)
	h.byPrefix["/fleet/"] = refreshed(hosts.Handler(fleet.View{Recording: true}))
	return nil
}

// diagnoses makes the handler of diagnoses, which does not show metrics that are excluded.
func (set *settings) diagnoses(env *cli.Env, file *conf.File, log *slog.Logger, h *handlers, recorded func(string, pcp.Timestamp, pcp.Timestamp) []string) *diagnose.Handler {
	hidden := excluded(file)
	return diagnose.New(diagnose.Config{
		Host: cmp.Or(set.host, webapi.DefaultHost), Open: new(pmapi.Dialer).Dial, AllowHost: h.mayReach, Archives: recorded, Zone: env.Local(), Log: log,
		Hidden: func(name string, desc pcp.Desc) bool { return hidden(series.Metric{Name: name, Desc: desc}) },
		Rules: func() ([]*diagnosis.Rule, error) {
			return diagnosis.Rules(filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "diagnose"))
		},
	})
}

// withEngine returns the series of a store together with those of an engine, if there is one, and its client.
func (set *settings) withEngine(env *cli.Env, file *conf.File, store series.Store, log *slog.Logger) (series.Store, *engine.Client, error) {
	if err := set.engine.Settings(file.Engine); err != nil {
		return nil, nil, err
	}
	if !set.engine.Any() {
		return store, nil, nil
	}
	client, err := set.engine.Dial("pmproxy/"+env.Version, log)
	if err != nil {
		return nil, nil, err
	}
	return engine.Join(engine.New(client), store), client, nil
}

// forwarding returns the configuration of a handler that has queries answered by an engine, without the metrics that are excluded.
func forwarding(client *engine.Client, local http.Handler, file *conf.File, log *slog.Logger) forward.Config {
	names, indoms := exclusions(file)
	cfg := forward.Config{Engine: client, Local: local, Patterns: names, Log: log}
	if len(indoms) > 0 {
		list := engine.New(client)
		cfg.More = func(ctx context.Context) ([]string, error) { return list.Names(ctx, nil, indoms) }
	}
	return cfg
}

// fleetQueries is the number of queries over all hosts that are evaluated at once.
const fleetQueries = 2

// A keyStore is the series in a key server, with the archives of this host as they grow.
type keyStore struct {
	*keys.Store
	stop func()
}

// Close stops loading archives and closes the store.
func (k keyStore) Close() error {
	k.stop()
	return k.Store.Close()
}

// keyDelays are the delays between attempts to reach a key server that did not answer at the start.
var keyDelays = pacing.Backoff{First: time.Second, Longest: time.Minute}

// awaitKeys opens the key server when it answers, and has the store use it from then on, until the result is closed.
func (set *settings) awaitKeys(ctx context.Context, env *cli.Env, cfg keys.Config, file *conf.File, log *slog.Logger, store *series.Switch) io.Closer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var k *keyStore
	var done sync.WaitGroup
	done.Go(func() {
		for n := 1; pacing.Sleep(ctx, keyDelays.After(n)); n++ {
			found, err := set.openKeys(ctx, env, cfg, file, log)
			if err == nil {
				k = found
				store.Set(k)
				return
			}
		}
	})
	return closer(func() error {
		cancel()
		done.Wait()
		if k == nil {
			return nil
		}
		return k.Close()
	})
}

// openKeys opens a key server, and has the archives of this host copied into it.
func (set *settings) openKeys(ctx context.Context, env *cli.Env, cfg keys.Config, file *conf.File, log *slog.Logger) (*keyStore, error) {
	servers := strings.Join(cfg.Servers, ",")
	if !recorded.Answering(ctx, cfg.Servers...) {
		return nil, fmt.Errorf("%s: %w", servers, series.ErrAway)
	}
	cfg.Log = log
	store, err := keys.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("the key server %s cannot be used, it is tried again at least every minute: %w", servers, err)
	}
	log.Info("series are kept in the key server", "servers", servers)
	if file.NoDiscover {
		return &keyStore{store, func() {}}, nil
	}
	names, indoms := exclusions(file)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		store.Follow(ctx, keys.FollowOptions{
			LoadOptions: keys.LoadOptions{Exclude: names, ExcludeInDoms: indoms},
			Dirs:        func() []string { return recorded.Dirs(env, set.mode == foreground) },
		})
	})
	return &keyStore{store, func() { cancel(); done.Wait() }}, nil
}

// exclusions returns the patterns of metrics and the instance domains that are left out.
func exclusions(file *conf.File) (names []string, indoms []pcp.InDom) {
	names, indoms = file.ExcludeMetrics, file.ExcludeInDoms
	if names == nil {
		names = conf.DefaultExclude()
	}
	if indoms == nil {
		indoms = conf.DefaultExcludeInDoms()
	}
	return names, indoms
}

// excluded returns a function that reports whether a metric is left out.
func excluded(file *conf.File) func(series.Metric) bool {
	names, indoms := exclusions(file)
	return func(m series.Metric) bool {
		return slices.Contains(indoms, m.Desc.InDom) ||
			slices.ContainsFunc(names, func(pattern string) bool { return query.Glob(pattern, m.Name) })
	}
}

// loaded answers requests for series. It first checks for newly loaded archives: a client that
// loads one requests it at once.
type loaded struct {
	http.Handler
	newest *newest
}

// ServeHTTP implements http.Handler.
func (l loaded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.newest.find(r.Context())
	l.Handler.ServeHTTP(w, r)
}

// newest finds archives that were loaded since its last call.
type newest struct {
	store *archives.Store
	list  recorded.List

	mu    sync.Mutex
	stamp recorded.Stamp
}

func (n *newest) find(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.list.Stamp()
	changed := now != n.stamp
	n.stamp = now
	if changed {
		n.store.GC(ctx) // the store itself retries failures
	}
}

// mayReach reports whether a request may name a collector. With a list of allowed collectors, none
// is reached through other proxies.
func (h *handlers) mayReach(spec *pmapi.HostSpec) bool {
	if len(spec.Hosts) != 1 || spec.Protocol == "unix" || spec.Protocol == "local" {
		return h.server.MayReach("", 0)
	}
	host := spec.Hosts[0]
	ports := host.Ports
	if len(ports) == 0 {
		ports = []int{pmcd.DefaultPort}
	}
	for _, port := range ports {
		if !h.server.MayReach(host.Name, port) {
			return false
		}
	}
	return true
}

// openStore opens the series of the archives of this host. If the index cannot be kept, or another process
// has it, a temporary one is used.
func (set *settings) openStore(ctx context.Context, env *cli.Env, file *conf.File, list recorded.List, log *slog.Logger) (*archives.Store, error) {
	cfg := archives.Config{Dirs: set.archives, Background: true, Log: log}
	if len(set.archives) == 0 {
		if !file.NoDiscover {
			cfg.Dirs = recorded.Dirs(env, set.mode == foreground)
		}
		cfg.More = list.Paths
		cfg.Index = filepath.Join(set.indexDir(env), "series.db")
		cfg.Columns, cfg.ColumnsDir = archives.MakeColumns, filepath.Join(set.indexDir(env), "columns")
	}
	if file.NoColumns {
		cfg.Columns = archives.NoColumns
	}
	store, err := archives.Open(ctx, cfg)
	if err != nil && cfg.Index != "" {
		log.Warn("the index of series is kept for as long as this program runs", "err", err)
		cfg.Index = ""
		store, err = archives.Open(ctx, cfg)
	}
	return store, err
}

// indexDir returns the directory of the index: below PCP_VAR_DIR if it is there, else in this user's state directory.
func (set *settings) indexDir(env *cli.Env) string {
	dir := filepath.Join(env.Config().Get("PCP_VAR_DIR"), "pmproxy")
	state := env.Config().StateDir()
	if set.mode != foreground || state == "" {
		return dir
	}
	return filepath.Join(state, "pmproxy")
}

// makeIndexDir makes the directory of the index while this process may, for the user that a daemon becomes.
func (set *settings) makeIndexDir(env *cli.Env, log *slog.Logger) {
	dir := set.indexDir(env)
	if os.Getuid() != 0 || isDir(dir) {
		return
	}
	name := cmp.Or(set.user, env.Config().Get("PCP_USER"), "pcp")
	err := safefile.MkdirAll(dir, 0o755, func(f *os.File) error {
		u, err := user.Lookup(name)
		if err != nil {
			return err
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return err
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			return err
		}
		return f.Chown(uid, gid)
	})
	if err != nil {
		log.Warn("there is no directory for the index of series", "err", err)
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// address returns an address that a browser of this host can open, or "".
func address(lns []net.Listener) string {
	for _, ln := range lns {
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
			host := tcp.IP.String()
			if tcp.IP.IsUnspecified() {
				host = "localhost"
			}
			return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
		}
	}
	return ""
}
