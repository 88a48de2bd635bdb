package chart

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/recordings"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/diagnose"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/cmd/internal/tool/browser"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/web"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/pmapi"
)

// A pageSource answers the requests of the page.
type pageSource interface {
	// handlers returns a handler for each path, and a closer that ends them.
	handlers(ctx context.Context, x *chart, log *slog.Logger) (map[string]http.Handler, io.Closer, error)
	past() bool
	String() string
}

// serve serves the page until ctx is done, to the user of this process alone.
func (x *chart) serve(ctx context.Context, src pageSource) int {
	env := x.env
	log := slog.New(daemonlog.NewHandler(env.Stderr, env.ProgName(), slog.LevelError))
	private, end, err := src.handlers(ctx, x, log)
	if err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	defer end.Close()
	page, err := web.New(web.Config{Past: src.past()})
	if err != nil {
		return env.Fatalf("%v", err)
	}
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(x.port)))
	if err != nil {
		return env.Fatalf("port %d: %s", x.port, cli.ErrText(err))
	}
	token := rand.Text()
	public := map[string]http.Handler{"/": page}
	for prefix := range private {
		public[prefix] = http.HandlerFunc(deny)
	}
	s, err := pmproxy.New(pmproxy.Config{Listeners: []net.Listener{ln}, Handlers: public, Private: private, PageToken: token, NoPCP: true, SameOrigin: true, Log: log})
	if err != nil {
		ln.Close()
		return env.Fatalf("%v", err)
	}
	done := make(chan error, 1)
	serving, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { done <- s.Run(serving) }()
	status := x.open(serving, "http://"+ln.Addr().String()+"/?token="+token+x.hash())
	if x.output != "" {
		cancel()
	} else {
		fmt.Fprintf(env.Stdout, "Serving %s until ctrl-C.\n", src)
	}
	if env.FlushOut() != nil || status != 0 {
		cancel()
	}
	if err := <-done; err != nil {
		return env.Fatalf("%v", err)
	}
	return status
}

// open prints an address and opens the browser there, if there is one, or makes a picture.
func (x *chart) open(ctx context.Context, address string) int {
	env := x.env
	if x.output != "" {
		return x.picture(ctx, address)
	}
	fmt.Fprintln(env.Stdout, address)
	if err := env.FlushOut(); err != nil {
		return 1
	}
	if x.noOpen {
		return 0
	}
	if _, err := browser.Open(env, address); err != nil {
		fmt.Fprintf(env.Stderr, "%s: the browser cannot be opened: %s\n", env.ProgName(), cli.ErrText(err))
	}
	return 0
}

// deny answers requests without the token.
func deny(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	io.WriteString(w, `{"message":"open the address, with its token, that pcp chart printed","success":false}`+"\r\n")
}

// rules returns the rules of diagnoses.
func (x *chart) rules() ([]*diagnosis.Rule, error) {
	return diagnosis.Rules(filepath.Join(x.env.Config().Get("PCP_SYSCONF_DIR"), "diagnose"))
}

// A hostSource is a collector.
type hostSource struct {
	host  string
	dial  func(ctx context.Context, host string) (*pmapi.Context, error)
	local bool // agents in this process
}

func (hostSource) past() bool { return false }

func (s hostSource) String() string {
	if s.local {
		return "the agents of this process"
	}
	if s.host == "local:" {
		return "the collector of this host"
	}
	return s.host
}

func (s hostSource) handlers(_ context.Context, x *chart, log *slog.Logger) (map[string]http.Handler, io.Closer, error) {
	cfg := webapi.Config{
		Host: s.host, Open: s.dial, Log: log,
		AllowHost: func(spec *pmapi.HostSpec) bool { return x.reach[spec.String()] }, // else it is a page of this collector alone
	}
	if s.local {
		cfg.Connections = 1 // each has agents of its own
	}
	api, err := webapi.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	found := diagnose.New(diagnose.Config{Host: s.host, Open: s.dial, Rules: x.rules, Zone: x.env.Local(), Log: log})
	all, end := map[string]http.Handler{"/pmapi": api, "/stream": api.Stream(), "/diagnose": found}, closers{api, found}
	if dir, err := x.env.StateDir(); err == nil { // without it the page reports that this server does not record
		r := recordings.New(recordings.Config{Dir: filepath.Join(dir, "recordings"), Log: log, Open: func(ctx context.Context) (*pmapi.Context, error) {
			return s.dial(ctx, s.host)
		}})
		all[recordings.Prefix], end = r, append(end, r)
	}
	return all, end, nil
}

// An archiveSource is archives, and directories of them.
type archiveSource struct{ dirs []string }

func (archiveSource) past() bool { return true }

func (s archiveSource) String() string {
	if len(s.dirs) == 1 {
		return filepath.Base(s.dirs[0])
	}
	return fmt.Sprintf("%d archives", len(s.dirs))
}

// closers closes all that it has, the last one first.
type closers []io.Closer

func (c closers) Close() (err error) {
	for i := len(c) - 1; i >= 0; i-- {
		if e := c[i].Close(); err == nil {
			err = e
		}
	}
	return err
}

func (s archiveSource) handlers(ctx context.Context, x *chart, log *slog.Logger) (map[string]http.Handler, io.Closer, error) {
	store, err := archives.Open(ctx, archives.Config{Dirs: s.dirs, Log: log})
	if err != nil {
		return nil, nil, err
	}
	if err := store.GC(ctx); err != nil {
		store.Close()
		return nil, nil, err
	}
	h, err := seriesapi.New(seriesapi.Config{Store: store, Zone: x.env.Local(), Log: log})
	if err != nil {
		store.Close()
		return nil, nil, err
	}
	found := diagnose.New(diagnose.Config{Archives: store.Recorded, Rules: x.rules, Zone: x.env.Local(), Log: log})
	return map[string]http.Handler{"/series": h, "/diagnose": found}, closers{store, h, found}, nil
}
