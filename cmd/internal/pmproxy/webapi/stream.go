package webapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// Stream returns the handler of /stream, which sends samples of metrics as server-sent events until the client
// disconnects. All clients of a collector share its fetches.
func (h *Handler) Stream() http.Handler { return http.HandlerFunc(h.serveStream) }

// streamParams are the parameters of /stream.
var streamParams = []param{
	{name: "names", text: "metrics, separated by commas; they or largest are required"},
	{name: "largest", text: "metrics, of whose instances only those with the largest values are sent, of counters those with the largest rates"},
	{name: "top", text: "how many of them, up to 1000; 100 by default"},
	{name: "keep", text: "seconds for which an instance is sent after it was among the largest, up to 3600; 60 by default"},
	{name: "instance", text: "the number of an instance, of which alone values are sent"},
	{name: "rare", text: "metrics that rarely change: each is sent every ten seconds, and when there are new instances"},
	{name: "interval", text: "seconds between samples, a multiple of 0.25; 1 by default"},
	{name: "changes", text: "true makes events short: after the first one, an event has the changes since the one before"},
	{name: "share", text: "the pause after a fetch is at least this many times as long as the fetch took, up to ten seconds"},
}

// parseStream reads the parameters of /stream.
func parseStream(p rest.Params) (l *listener, share int, err error) {
	l = &listener{
		names: split(p.Value("names")), rare: split(p.Value("rare")), largest: split(p.Value("largest")), interval: time.Second,
		top: defaultTop, keep: defaultKeep,
		out: make(chan []byte, streamQueue), gone: make(chan struct{}), seen: map[pcp.InDom]int{}, sent: map[pcp.InDom]sent{},
	}
	for _, list := range []*[]string{&l.names, &l.rare, &l.largest} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	l.rare = slices.DeleteFunc(l.rare, func(name string) bool { return slices.Contains(l.names, name) })
	l.largest = slices.DeleteFunc(l.largest, func(name string) bool { return slices.Contains(l.names, name) || slices.Contains(l.rare, name) })
	switch n := len(l.names) + len(l.rare) + len(l.largest); {
	case n == 0:
		return nil, 0, fail("names are missing")
	case n > MaxStreamNames:
		return nil, 0, fail("more than " + strconv.Itoa(MaxStreamNames) + " metrics")
	}
	if text, ok := p.Get("interval"); ok {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0 && v <= 86400) {
			return nil, 0, fail("interval: want seconds, up to 86400")
		}
		steps := max(1, int64(v/streamGrid.Seconds()+0.999))
		l.interval = time.Duration(steps) * streamGrid
	}
	if text, ok := p.Get("share"); ok {
		if share, err = strconv.Atoi(text); err != nil || share < 0 || share > maxShare {
			return nil, 0, fail("share: want a number up to " + strconv.Itoa(maxShare))
		}
	}
	if text, ok := p.Get("changes"); ok {
		if l.changes, err = strconv.ParseBool(text); err != nil {
			return nil, 0, fail("changes: want true or false")
		}
	}
	if err := l.parseTop(p); err != nil {
		return nil, 0, err
	}
	l.key = strings.Join(l.names, ",") + ";" + strings.Join(l.rare, ",")
	if len(l.largest) > 0 {
		l.key += fmt.Sprintf(";%s;%d;%v;%v", strings.Join(l.largest, ","), l.top, l.keep, l.interval)
		l.named = map[pcp.InDom]map[int32]string{}
	}
	return l, share, nil
}

// parseTop reads the parameters that choose instances.
func (l *listener) parseTop(p rest.Params) error {
	if text, ok := p.Get("top"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxTop {
			return fail("top: want a number from 1 to " + strconv.Itoa(MaxTop))
		}
		if len(l.largest) == 0 {
			return fail("top: want metrics in largest")
		}
		l.top = n
	}
	if text, ok := p.Get("keep"); ok {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= longestKeep.Seconds()) {
			return fail("keep: want seconds, up to 3600")
		}
		l.keep = time.Duration(v * float64(time.Second))
	}
	if text, ok := p.Get("instance"); ok {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return fail("instance: want the number of an instance")
		}
		l.only = instance{true, int32(n)}
	}
	return nil
}

const typeEvents = "text/event-stream"

func (h *Handler) serveStream(w http.ResponseWriter, req *http.Request) {
	switch req.Method {
	case http.MethodGet:
	case http.MethodHead, http.MethodOptions, http.MethodTrace:
		w.Header().Set("Content-Type", typeEvents)
		w.WriteHeader(http.StatusOK)
		return
	default:
		w.Header().Set("Allow", "GET, HEAD")
		rest.Fail(w, http.StatusMethodNotAllowed, "want GET or HEAD")
		return
	}
	params, err := rest.ParseParams(req.URL.RawQuery)
	if req.URL.Path != "/stream" || err != nil {
		rest.Refuse(w, "webapi", "there is nothing at this address")
		return
	}
	if err := h.stream(w, req, params); err != nil {
		code, msg := status(err)
		rest.Fail(w, code, msg)
	}
}

// stream sends samples. Errors are those before the first byte.
func (h *Handler) stream(w http.ResponseWriter, req *http.Request, params rest.Params) error {
	l, share, err := parseStream(params)
	if err != nil {
		return err
	}
	peer := rest.PeerOf(req.Context())
	src, err := h.sourceOf(&request{http: req, peer: peer, params: params})
	if err != nil {
		return err
	}
	defer src.unuse()
	if err := src.admit(&request{http: req, peer: peer, params: params}); err != nil {
		return err
	}
	if err := checkNames(req.Context(), src, slices.Concat(l.names, l.rare, l.largest)); err != nil {
		return err
	}
	b, err := h.streams.join(src, share, peer.Address, l)
	if err != nil {
		return err
	}
	defer h.streams.leave(b, peer.Address, l)
	head := w.Header()
	head.Set("Content-Type", typeEvents)
	head.Set("Cache-Control", "no-store")
	head.Set("X-Accel-Buffering", "no") // proxies must not collect events
	w.WriteHeader(http.StatusOK)
	send := func(b []byte) bool {
		if _, err := w.Write(b); err != nil {
			return false
		}
		return http.NewResponseController(w).Flush() == nil
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for ok := send([]byte(":\n\n")); ok; {
		select {
		case m := <-l.out:
			ok = send(m)
		case <-beat.C:
			ok = send([]byte(":\n\n"))
		case <-l.gone:
			m := rest.AppendString([]byte("event: end\ndata: "), l.why)
			send(append(m, "\n\n"...))
			return nil
		case <-req.Context().Done():
			return nil
		case <-rest.Closing(req.Context()):
			return nil
		}
	}
	return nil
}

// checkNames returns an error unless the collector answers and has one of the metrics at least.
func checkNames(ctx context.Context, src *source, names []string) error {
	var found []*metric
	err := src.shared.with(ctx, func(l *link, k *known) (err error) {
		found, err = k.byNames(ctx, l, names)
		return err
	})
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case err != nil:
		return fail("cannot connect to PMCD: " + errText(err))
	case !slices.ContainsFunc(found, func(m *metric) bool { return m != nil && !m.event() }):
		return fail(pcp.ErrName.Error())
	}
	return nil
}
