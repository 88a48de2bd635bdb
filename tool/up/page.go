package up

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmproxy"
	"github.com/go-pcp/pcp/pmproxy/webapi"
	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/web"
)

// defaultWebPort is where the page is, unless something else is there.
const defaultWebPort = 44323

// A page shows the collector in browsers of this machine, with the REST interface that the page asks.
// It is a client of the collector without a name, so that other users of the machine see no more
// by it than they could without.
type page struct {
	link   string
	server *pmproxy.Server
	api    *webapi.Handler
	lns    []net.Listener
	log    *slog.Logger

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
	if err != nil && (len(lns) == 0 || errors.Is(err, syscall.EADDRINUSE)) { // a host without an IPv6 loopback has one
		closeAll(lns)
		return nil, fmt.Errorf("the page: port %d: %s; choose another with --web-port, or --no-web", set.webPort, cli.ErrText(err))
	}
	p := &page{lns: lns, log: log}
	if tcp, ok := lns[0].Addr().(*net.TCPAddr); ok {
		p.link = "http://localhost:" + strconv.Itoa(tcp.Port) + "/"
	}
	none := config.NewLookup(func(string) (string, bool) { return "", false }) // proxies are for others
	p.api, err = webapi.New(webapi.Config{
		Host:      hostOf(set, collector),
		AllowHost: func(*pmapi.HostSpec) bool { return false }, // it is a page of this collector, not a way to others
		Dialer:    &pmapi.Dialer{Config: none},
		Log:       log,
	})
	if err != nil {
		closeAll(lns)
		return nil, err
	}
	handler, err := web.New(web.Config{})
	if err == nil {
		p.server, err = pmproxy.New(pmproxy.Config{
			Listeners: lns,
			Handlers:  map[string]http.Handler{"/pmapi": p.api, "/metrics": p.api, "/": handler},
			NoPCP:     true,
			Log:       log,
		})
	}
	if err != nil {
		p.api.Close()
		closeAll(lns)
		return nil, err
	}
	return p, nil
}

// hostOf is the specification by which the page's server reaches the collector: by TCP, where clients have no names.
func hostOf(set *settings, collector []net.Listener) string {
	for _, ln := range collector {
		if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
			if tcp.IP.IsUnspecified() {
				return "localhost:" + strconv.Itoa(tcp.Port)
			}
			return tcp.String()
		}
	}
	return "unix:" + set.socket
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
	if err := p.api.Close(); err != nil {
		p.log.Error("the page", "err", err)
	}
}
