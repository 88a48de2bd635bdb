package httpmmv

import (
	"cmp"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/mmv/bridge"
)

// Options configures how the metrics appear.
type Options struct {
	// Prefix is put before all names, with a dot between; "" means http.
	Prefix string
	// MaxInstances is the maximum number of routes with a code that get their own
	// instance; later ones count in the instance other. 0 means 1000.
	MaxInstances int
}

// Handler returns a handler that counts the requests of next. Each handler of a
// registry needs its own prefix.
func Handler(reg *mmv.Registry, next http.Handler, opt Options) http.Handler {
	return newServer(reg, next, opt)
}

// other is the route of requests that no pattern matched.
const other = "other"

// A server has the metrics of a handler.
type server struct {
	next     http.Handler
	max      int
	inFlight *mmv.IntGauge
	requests *mmv.CounterVec
	in, out  *mmv.CounterVec
	latency  *mmv.HistogramVec

	series atomic.Pointer[map[key]*series] // replaced whole
	mu     sync.Mutex                      // to add to it
}

type key struct {
	pattern string
	code    int
}

// A series is an instance of all metrics.
type series struct {
	requests, in, out *mmv.Counter
	latency           *mmv.Histogram
}

func newServer(reg *mmv.Registry, next http.Handler, opt Options) *server {
	prefix := bridge.Name(cmp.Or(opt.Prefix, "http")) + "."
	routes := reg.InDom(mmv.InDomDef{
		OneLine: "Routes and status codes",
		Help:    "METHOD:PATTERN:CODE, by the pattern that the request was routed by; other if by none",
	})
	size := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	s := &server{
		next: next, max: cmp.Or(opt.MaxInstances, 1000),
		inFlight: reg.IntGauge(mmv.Metric{
			Name: prefix + "in_flight", OneLine: "Requests being served", Units: bridge.Count(),
		}),
		requests: reg.CounterVec(mmv.Metric{
			Name: prefix + "requests", OneLine: "Requests served", InDom: routes,
		}),
		in: reg.CounterVec(mmv.Metric{
			Name: prefix + "request.bytes", OneLine: "Bytes read from the bodies of requests", InDom: routes, Units: size,
		}),
		out: reg.CounterVec(mmv.Metric{
			Name: prefix + "response.bytes", OneLine: "Bytes written to the bodies of responses", InDom: routes, Units: size,
		}),
		latency: reg.HistogramVec(mmv.Metric{
			Name: prefix + "latency", OneLine: "Time from the arrival of a request to the end of its handler",
			InDom: routes, Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeNsec},
		}),
	}
	s.series.Store(&map[key]*series{})
	return s
}

// find returns the series of a route and code.
func (s *server) find(pattern string, code int) *series {
	k := key{pattern, code}
	if found := (*s.series.Load())[k]; found != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := *s.series.Load()
	if found := old[k]; found != nil {
		return found
	}
	name := cmp.Or(strings.ReplaceAll(pattern, " ", ":"), other) + ":" + strconv.Itoa(code)
	if len(old) >= s.max {
		// A handler may invent codes: this key is not kept either.
		if found := old[key{}]; found != nil {
			return found
		}
		k, name = key{}, other
	}
	const longest = 200 // the instances of the statistics have more in their names
	if len(name) > longest {
		name = strings.ToValidUTF8(name[len(name)-longest:], "")
	}
	fresh := &series{
		requests: s.requests.With(name), in: s.in.With(name), out: s.out.With(name), latency: s.latency.With(name),
	}
	all := maps.Clone(old)
	all[k] = fresh
	s.series.Store(&all)
	return fresh
}

// ServeHTTP counts a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	s.inFlight.Inc()
	var outer http.ResponseWriter
	var c *call
	_, flushes := w.(http.Flusher)
	_, hijacks := w.(http.Hijacker)
	_, reads := w.(io.ReaderFrom)
	switch {
	case flushes && hijacks && reads: // HTTP/1
		f := &fullWriter{}
		c, outer = &f.call, f
	case flushes: // HTTP/2
		f := &flushWriter{}
		c, outer = &f.call, f
	default:
		c = &call{}
		outer = c
	}
	c.w = w
	if r.Body != nil && r.Body != http.NoBody {
		c.body.r = r.Body
		r.Body = &c.body
	}
	panicked := true
	defer func() {
		code := c.code
		switch {
		case panicked && code == 0:
			code = http.StatusInternalServerError
		case code == 0:
			code = http.StatusOK
		}
		v := s.find(r.Pattern, code)
		v.requests.Inc()
		v.in.Add(uint64(c.body.n.Load()))
		v.out.Add(uint64(c.written))
		v.latency.ObserveDuration(time.Since(start))
		s.inFlight.Dec()
	}()
	s.next.ServeHTTP(outer, r)
	panicked = false
}
