package dumptext

import (
	"cmp"
	"context"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pmapi"
)

// maxHost is the number of bytes of the names of hosts that are compared
// (PM_LOG_MAXHOSTLEN).
const maxHost = 64

// A group is the sources of the metrics. The first one determines whether all are live, or all
// archives.
type group struct {
	env     *cli.Env
	o       *source.Options
	sources []*from
	ended   bool // all are archives, and there is nothing more in them
}

// A from is a source.
type from struct {
	kind   pmapi.SourceKind
	source string // as it was named
	host   string
	c      *pmapi.Context // nil: it cannot be reached, for the reason err
	err    error

	metrics []*metric
	ids     []pcp.PMID
	res     pcp.Result
	now     pcp.Timestamp
	delta   float64 // seconds between the two last samples
	again   bool    // the connection is lost
}

func (g *group) errorf(format string, args ...any) {
	g.env.Printf("%s: Error: "+format+"\n", append([]any{g.env.ProgName()}, args...)...)
}

func (g *group) close() {
	for _, f := range g.sources {
		if f.c != nil {
			f.c.Close()
		}
	}
}

// localHost is the C program's name for the collector of this host: the proxy's host if there is
// one.
func (g *group) localHost() string { return cmp.Or(g.env.Getenv("PMPROXY_HOST"), "local:") }

// use returns a source, which it opens if it is a new one. If that fails, it prints the reason and
// returns nil.
func (g *group) use(ctx context.Context, kind pmapi.SourceKind, name string) *from {
	switch {
	case kind == pmapi.SourceLocal:
		for _, f := range g.sources {
			if f.kind == kind {
				return f.usable()
			}
		}
	case kind == pmapi.SourceArchive && name == "":
		g.errorf("Archive context requires archive path")
		return nil
	case name == "" && len(g.sources) == 0:
		f := g.open(ctx, pmapi.SourceHost, g.localHost())
		if f.err != nil && !g.advised() {
			g.errorf("%s: %s", f.source, cli.ErrText(f.err))
		}
		g.sources = append(g.sources, f)
		return f.usable()
	case name == "":
		return g.sources[0].usable()
	}
	for _, f := range g.sources {
		if kind != pmapi.SourceLocal && f.source == name {
			return f.usable()
		}
	}
	mode := kind
	if len(g.sources) > 0 {
		mode = g.sources[0].kind
	}
	switch {
	case mode == pmapi.SourceHost && kind == pmapi.SourceArchive:
		g.errorf(`Archive "%s" requested after live mode was assumed.`, name)
		return nil
	case mode == pmapi.SourceArchive && kind == pmapi.SourceHost:
		name = chop(name)
		for _, f := range g.sources {
			if chop(f.host) == name {
				return f.usable()
			}
		}
		g.errorf(`No archives were specified for host "%s"`, name)
		return nil
	}
	f := g.open(ctx, kind, name)
	if f.err != nil {
		if !g.advised() {
			g.errorf("%s: %s", name, cli.ErrText(f.err))
		}
		return nil
	}
	for _, other := range g.sources {
		if kind == pmapi.SourceArchive && other.host == f.host {
			g.errorf(`Archives "%s" and "%s" are from the same host "%s"`, other.source, f.source, other.host)
			g.env.Printf("%s: Consider combining them using pmlogextract(1)\n", g.env.ProgName())
			f.c.Close()
			return nil
		}
	}
	g.sources = append(g.sources, f)
	return f
}

func chop(host string) string { return host[:min(len(host), maxHost-1)] }

func (f *from) usable() *from {
	if f.c == nil {
		return nil
	}
	return f
}

// advised reports whether the program prints in full, under "pcp", why a source cannot be
// opened.
func (g *group) advised() bool { return !g.env.Classic() && g.env.Advised() }

// open opens a source. If that fails, the result has the error.
func (g *group) open(ctx context.Context, kind pmapi.SourceKind, name string) *from {
	f := &from{kind: kind, source: name, host: name}
	switch kind {
	case pmapi.SourceLocal:
		f.source, f.host = g.localHost(), g.localHost()
		f.c, f.err = g.o.OpenLocal(ctx)
	case pmapi.SourceHost:
		f.host, _, _ = strings.Cut(name, "?")
		f.source = f.host
		if f.c, f.err = g.o.Dial(ctx, name); f.err == nil {
			_, _ = f.c.HostName(ctx) // like the C library, as -D context shows
		}
	case pmapi.SourceArchive:
		a, err := g.o.OpenArchive(name)
		if err != nil {
			f.err = err
			break
		}
		f.c = a.Context
		label, err := a.Label(ctx)
		if err != nil {
			f.c.Close()
			f.c, f.err = nil, err
			break
		}
		f.host = label.Host
	}
	return f
}

// first is the source that counts where only one does, as for time zones.
func (g *group) first(ctx context.Context) *from {
	if len(g.sources) == 0 {
		return g.use(ctx, pmapi.SourceHost, "")
	}
	return g.sources[0].usable()
}

// spec is how a source and a metric of it are called together.
func (f *from) spec(metric string) string {
	if f.kind == pmapi.SourceArchive {
		return f.source + "/" + metric
	}
	return f.source + ":" + metric
}

// errSpec is spec for messages, in which agents in the process itself are called @.
func (f *from) errSpec(metric string) string {
	if f.kind == pmapi.SourceLocal {
		return "@:" + metric
	}
	return f.spec(metric)
}

// fetch gets a sample of all sources. Metrics that cannot be had have an error from then on.
func (g *group) fetch(ctx context.Context) {
	g.ended = true
	for _, f := range g.sources {
		for _, m := range f.metrics {
			m.shift()
		}
		if len(f.ids) == 0 {
			continue
		}
		err := f.fetch(ctx)
		g.ended = g.ended && f.kind == pmapi.SourceArchive && pcp.Code(err) == pcp.ErrEOL
		for _, m := range f.metrics {
			if err != nil {
				m.fail(pcp.Code(err))
			} else {
				m.extract(ctx, &f.res.Sets[m.place])
			}
			m.update(f.delta, g.env.IsSet("PCP_COUNTER_WRAP"))
		}
	}
}

func (f *from) fetch(ctx context.Context) error {
	if f.again {
		if err := f.c.Reconnect(ctx); err != nil {
			return err
		}
		f.again = false
	}
	if _, err := f.c.FetchInto(ctx, f.ids, &f.res); err != nil {
		code := pcp.Code(err)
		f.again = code == pcp.ErrIPC || code == pcp.ErrTimeout
		return err
	}
	if len(f.res.Sets) != len(f.ids) {
		return pcp.ErrIPC
	}
	before := f.now
	f.now = f.res.Time
	f.delta = float64(f.now.Sec-before.Sec) + float64(f.now.Nsec/1000-before.Nsec/1000)/1e6
	return nil
}
