package up

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/recordings"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/diagnose"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/engine"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	promapi "github.com/go-pcp/pcp/cmd/internal/prom/api"
	"github.com/go-pcp/pcp/cmd/internal/prom/forward"
	promstore "github.com/go-pcp/pcp/cmd/internal/prom/store"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/web"
	"github.com/go-pcp/pcp/cmd/internal/web/dashboards"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
)

// defaultWebPort is the port of the page, unless it is taken.
const defaultWebPort = 44323

// tokenFile is the name of the file with the page's token in the state directory.
const tokenFile = "page-token"

// A page shows the collector in browsers of this machine, with the REST interface that the page
// uses. A browser opened with the token has the rights of the user who started the collector. For
// other browsers the page is an anonymous client of the collector, so they see no more through it
// than without it.
type page struct {
	link    string // without the token
	token   string
	server  *pmproxy.Server
	closers []io.Closer // of handlers
	lns     []net.Listener
	log     *slog.Logger

	mu      sync.Mutex
	cancel  context.CancelFunc
	stopped bool
	done    sync.WaitGroup
}

// openPage listens for browsers. It returns nil if no page is wanted.
func openPage(ctx context.Context, set *settings, collector []net.Listener, log *slog.Logger) (*page, error) {
	if set.noWeb {
		return nil, nil
	}
	lc := pmcd.ListenConfig{Ports: []int{set.webPort}, Addresses: []string{"127.0.0.1", "::1"}}
	lns, err := pmcd.Listen(ctx, lc)
	if errors.Is(err, syscall.EADDRINUSE) && !set.webPortGiven {
		closeAll(lns)
		lc.Ports[0] = 0
		lns, err = pmcd.Listen(ctx, lc)
	}
	if err != nil && (len(lns) == 0 || errors.Is(err, syscall.EADDRINUSE)) { // a host may lack an IPv6 loopback
		closeAll(lns)
		return nil, fmt.Errorf("the page: port %d: %s; choose another with --web-port, or --no-web", set.webPort, cli.ErrText(err))
	}
	p := &page{lns: lns, log: log}
	if tcp, ok := lns[0].Addr().(*net.TCPAddr); ok {
		p.link = "http://localhost:" + strconv.Itoa(tcp.Port) + "/"
	}
	if err = p.open(set, collector); err != nil {
		p.close()
		closeAll(lns)
		return nil, err
	}
	return p, nil
}

// open makes the handlers and the server. The handlers of pmproxy are in package proxy.
func (p *page) open(set *settings, collector []net.Listener) (err error) {
	if p.token, err = readToken(filepath.Join(set.dir, tokenFile)); err != nil {
		return err
	}
	none := noProxies()
	api := func(host string) (*webapi.Handler, error) {
		h, err := webapi.New(webapi.Config{
			Host:      host,
			AllowHost: func(*pmapi.HostSpec) bool { return false }, // it is a page of this collector, not a proxy to others
			Dialer:    &pmapi.Dialer{Config: none},
			Log:       p.log,
		})
		if err == nil {
			p.closers = append(p.closers, h)
		}
		return h, err
	}
	anybody, err := api(hostOf(set, collector))
	if err != nil {
		return err
	}
	public, events := http.Handler(anybody), anybody.Stream()
	_, byTCP := tcpOf(collector)
	if !byTCP {
		// Over its socket the collector would take any client for this user.
		public, events = http.HandlerFunc(needToken), http.HandlerFunc(needToken)
	}
	// Over its socket, the collector knows the user of this process.
	own, err := api("unix:" + set.socket)
	if err != nil {
		return err
	}
	handler, err := web.New(web.Config{})
	if err != nil {
		return err
	}
	// As with the collector itself, other clients see no processes and control
	// groups.
	store, client, err := set.withEngine(p)
	if err != nil {
		return err
	}
	some, err := seriesapi.New(seriesapi.Config{Store: series.Hide(store, ofProcesses), Zone: set.zone, Log: p.log})
	if err != nil {
		return err
	}
	all, err := seriesapi.New(seriesapi.Config{Store: store, Zone: set.zone, Log: p.log})
	if err != nil {
		return err
	}
	// PromQL sees what /series and /metrics show to the same clients.
	live := func(host string) *promstore.Live {
		l := newLive(host)
		p.closers = append(p.closers, l)
		return l
	}
	prom := promapi.Config{Store: promstore.New(series.Hide(store, ofProcesses), promstore.Config{}), Log: p.log}
	if byTCP {
		prom.Live = live(hostOf(set, collector))
	}
	ownProm := promapi.Config{Store: promstore.New(store, promstore.Config{}), Live: live("unix:" + set.socket), Rules: set.promRules, Alerts: set.promAlerts, Log: p.log}
	var query, ownQuery http.Handler = promapi.New(prom), promapi.New(ownProm)
	source, ownSource := fleetSource(prom), fleetSource(ownProm)
	if client != nil {
		list := engine.New(client)
		anybody := forward.New(forward.Config{
			Engine: client, Local: query, Patterns: []string{"proc.*", "hotproc.*", "cgroup.*", "acct.*"}, Log: p.log,
			More: func(ctx context.Context) ([]string, error) { return list.Names(ctx, []int{procDomain}, nil) },
		})
		own := forward.New(forward.Config{Engine: client, Local: ownQuery, Log: p.log})
		query, source, ownQuery, ownSource = anybody, anybody, own, own
	}
	diagnoses, ownDiagnoses := http.Handler(p.openDiagnose(set, hostOf(set, collector), ofProcesses)), p.openDiagnose(set, "unix:"+set.socket, nil)
	if !byTCP {
		diagnoses = http.HandlerFunc(needToken)
	}
	recorder := recordings.New(recordings.Config{Dir: filepath.Join(set.dir, "recordings"), Open: func(ctx context.Context) (*pmapi.Context, error) {
		return (&pmapi.Dialer{Config: none}).Dial(ctx, "unix:"+set.socket)
	}, Log: p.log})
	p.closers = append(p.closers, recorder)
	hosts, ownHosts := p.openFleet(store, source, ownSource, set.fleetStore)
	p.server, err = pmproxy.New(pmproxy.Config{
		Listeners: p.lns,
		Handlers: map[string]http.Handler{
			"/pmapi": public, "/metrics": public, "/stream": events, "/series/": some, "/api/v1/": query, "/fleet/": hosts, "/diagnose": diagnoses, alertsPath: handler, dashboards.Prefix: handler, recordings.Prefix: handler, "/": handler,
		},
		PageToken: p.token,
		Private: map[string]http.Handler{
			"/pmapi": own, "/metrics": own, "/stream": own.Stream(), "/series/": all, "/api/v1/": ownQuery, "/fleet/": ownHosts, "/diagnose": ownDiagnoses, alertsPath: http.HandlerFunc(set.serveAlerts),
			recordings.Prefix: recorder,
			dashboards.Prefix: dashboards.New(dashboards.Config{Dir: filepath.Join(set.dir, "dashboards"), Log: p.log}),
		},
		NoPCP: true, SameOrigin: true,
		Log: p.log,
	})
	return err
}

// openFleet makes the handlers for all hosts: for anybody, and for the user with the token. They have one table, which has only values
// that anybody may see. Only the user sees the state of recordings, if there are recorders.
func (p *page) openFleet(store series.Store, source, ownSource fleet.Source, recorders share.Store) (anybody, own http.Handler) {
	cfg := fleet.Config{Source: source, Hosts: fleet.HostsOf(store), Log: p.log}
	if recorders != nil {
		cfg.Recording = fleet.NewRecorders(recorders, p.log).Recordings
	}
	f := fleet.New(cfg)
	p.closers = append([]io.Closer{f}, p.closers...) // before the connections that it uses
	return f.Handler(fleet.View{}), f.Handler(fleet.View{Source: ownSource, Recording: true})
}

// openDiagnose makes the handler of diagnoses, which does not show the metrics that are hidden.
func (p *page) openDiagnose(set *settings, host string, hidden func(series.Metric) bool) *diagnose.Handler {
	cfg := diagnose.Config{
		Host: host, Open: (&pmapi.Dialer{Config: noProxies()}).Dial, Archives: set.series.Recorded, Zone: set.zone, Log: p.log,
		Rules: func() ([]*diagnosis.Rule, error) { return diagnosis.Rules(set.diagnoseDir) },
	}
	if hidden != nil {
		cfg.Hidden = func(name string, desc pcp.Desc) bool { return hidden(series.Metric{Name: name, Desc: desc}) }
	}
	h := diagnose.New(cfg)
	p.closers = append(p.closers, h)
	return h
}

// fleetSource returns a source of values for all hosts, as PromQL has them.
func fleetSource(cfg promapi.Config) fleet.Source {
	engine := promstore.NewEngine(promstore.EngineConfig{Concurrent: 2})
	if cfg.Live == nil {
		return fleet.Queries(engine, cfg.Store)
	}
	return fleet.Queries(engine, promstore.Both(cfg.Store, cfg.Live))
}

// noProxies returns settings without the environment: proxies are for other clients.
func noProxies() *config.Config {
	return config.NewLookup(func(string) (string, bool) { return "", false })
}

// newLive returns the current values of the collector for PromQL.
func newLive(host string) *promstore.Live {
	return promstore.NewLive(promstore.LiveConfig{Open: func(ctx context.Context) (*pmapi.Context, error) {
		return (&pmapi.Dialer{Config: noProxies()}).Dial(ctx, host)
	}})
}

// promAlerts returns the same alerts in the form of Prometheus, without those of its rules, which the interface knows itself.
func (set *settings) promAlerts() []promapi.Alert {
	states, _ := set.alerts()
	var list []promapi.Alert
	for _, s := range states {
		for i := range s.Alerts {
			a := &s.Alerts[i]
			if a.Series != "" {
				continue
			}
			notes := map[string]string{"expression": a.Expr}
			if a.Text != "" {
				notes["summary"] = a.Text
			}
			list = append(list, promapi.Alert{
				Labels: a.Prometheus(a.Labels), Annotations: notes, State: "firing", ActiveAt: a.Since.UTC(), Value: a.Value,
			})
		}
	}
	return list
}

// withEngine returns the series of the archives, with --engine together with those of the engine, and its client.
func (set *settings) withEngine(p *page) (series.Store, *engine.Client, error) {
	if !set.engine.Any() {
		return set.series, nil, nil
	}
	client, err := set.engine.Dial("pcp-up/"+set.version, p.log)
	if err != nil {
		return nil, nil, err
	}
	store := engine.New(client)
	p.closers = append(p.closers, store) // the caller closes the archives
	return engine.Join(store, set.series), client, nil
}

// procDomain is the domain of the agent proc (PROC in stdpmid).
const procDomain = 3

// ofProcesses reports whether a metric is one of the agent proc.
func ofProcesses(m series.Metric) bool { return m.Desc.PMID.Domain() == procDomain }

// openSeries opens the archives of the recording and of this host's loggers. The index is in
// the state directory; if it cannot be used there, it is temporary.
func (set *settings) openSeries(log *slog.Logger) (*archives.Store, error) {
	cfg := archives.Config{
		Dirs:  []string{filepath.Join(set.dir, "pmlogger"), set.archiveDir},
		Index: filepath.Join(set.dir, "series.db"), Background: true, MaxOpen: seriesOpen, Log: log,
		Columns: archives.MakeColumns, ColumnsDir: filepath.Join(set.dir, "columns"),
	}
	if set.noColumns {
		cfg.Columns = archives.NoColumns
	}
	store, err := archives.Open(context.Background(), cfg)
	if err != nil {
		log.Warn("the index of series is kept for as long as this program runs", "err", err)
		cfg.Index = ""
		store, err = archives.Open(context.Background(), cfg)
	}
	return store, err
}

// seriesOpen is the number of archives that stay open, to save memory.
const seriesOpen = 8

// close ends the handlers.
func (p *page) close() {
	for _, c := range p.closers {
		if err := c.Close(); err != nil {
			p.log.Error("the page", "err", err)
		}
	}
}

// address is the address to open in a browser.
func (p *page) address() string { return p.link + "?token=" + p.token }

// maxToken is the maximum length of a token in bytes.
const maxToken = 256

// readToken reads the token of the page, so that its address stays the same, or makes one. A token
// that others could have read is not used again.
func readToken(path string) (string, error) {
	f, _, err := safefile.OpenAppend(path, os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 && info.Size() <= maxToken {
		b := make([]byte, maxToken)
		n, err := f.ReadAt(b, 0)
		if token := strings.TrimSpace(string(b[:n])); err == io.EOF && len(token) >= 16 && strings.Trim(token, base32) == "" {
			return token, nil
		}
	}
	token := rand.Text()
	err = safefile.ReplaceBytes(path, []byte(token+"\n"), safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
	return token, err
}

// base32 is the alphabet of rand.Text.
const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// hostOf is the specification by which the page's server reaches the collector: by TCP, where clients have no names.
func hostOf(set *settings, collector []net.Listener) string {
	if tcp, ok := tcpOf(collector); ok {
		if tcp.IP.IsUnspecified() {
			return "localhost:" + strconv.Itoa(tcp.Port)
		}
		return tcp.String()
	}
	return "unix:" + set.socket
}

// tcpOf returns an address of the collector, if it has one.
func tcpOf(collector []net.Listener) (*net.TCPAddr, bool) {
	for _, ln := range collector {
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
			return tcp, true
		}
	}
	return nil, false
}

// needToken answers requests without the token if the collector has no port.
func needToken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	io.WriteString(w, `{"message":"open the address, with its token, that pcp up printed","success":false}`+"\r\n")
}

// start serves until stop is called.
func (p *page) start() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped || p.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.done.Go(func() {
		if err := p.server.Run(ctx); err != nil {
			p.log.Error("the page is no longer served", "err", err)
		}
	})
}

// stop ends it, also if it never started, and waits until it has ended.
func (p *page) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	first, cancel := !p.stopped, p.cancel
	p.stopped = true
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	p.done.Wait()
	if !first {
		return
	}
	closeAll(p.lns)
	p.close()
}
