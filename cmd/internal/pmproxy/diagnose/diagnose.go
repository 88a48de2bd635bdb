package diagnose

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pmapi"
)

// Limits of requests.
const (
	// Timeout is the longest time of a request, with the time that it waits for others.
	Timeout = 90 * time.Second
	// MaxWindow is the longest time of an archive that is diagnosed.
	MaxWindow = 31 * 24 * time.Hour

	samples     = 6 // of a collector, a second apart
	running     = 2 // requests that are carried out at once
	waiting     = 32
	maxArchives = 100 // that one request reads
	maxHost     = 1000
	dayBefore   = 25 * time.Hour // before the window, with which it is compared
)

// A Config configures a Handler.
type Config struct {
	// Host is the collector for requests without a host.
	Host string
	// Open connects to a collector; nil means that there are archives only.
	Open func(ctx context.Context, host string) (*pmapi.Context, error)
	// AllowHost, if not nil, decides which other collectors clients may name.
	AllowHost func(spec *pmapi.HostSpec) bool

	// Archives returns the paths of the archives of a host between two times; nil means that there are none.
	Archives func(host string, start, end pcp.Timestamp) []string

	// Rules returns the rules, which are read for each request.
	Rules func() ([]*diagnosis.Rule, error)
	// Hidden, if not nil, reports whether clients must not see a metric.
	Hidden func(name string, desc pcp.Desc) bool

	Zone *time.Location // of times in commands; nil means UTC
	Log  *slog.Logger   // nil discards messages
}

// A Handler answers requests. It is safe for concurrent use.
type Handler struct {
	cfg  Config
	room chan struct{} // for requests that are carried out
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	waiting int
	sources map[string]*turn
}

// A turn is the right to diagnose a source.
type turn struct {
	free  chan struct{} // has an element while it is taken
	users int
}

// New returns a Handler.
func New(cfg Config) *Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	h := &Handler{cfg: cfg, room: make(chan struct{}, running), sources: map[string]*turn{}}
	h.ctx, h.stop = context.WithCancel(context.Background())
	return h
}

// Close ends the requests that are carried out.
func (h *Handler) Close() error {
	h.stop()
	return nil
}

// A badRequest is a mistake of the client.
type badRequest string

func (e badRequest) Error() string { return string(e) }

// A lacking is the reason why there is nothing to diagnose.
type lacking string

func (e lacking) Error() string { return string(e) }

// A badRules is a mistake in a file of rules.
type badRules struct{ error }

var (
	errBusy   = errors.New("too many diagnoses are requested; try again")
	errNoHost = errors.New("cannot connect to the collector")
)

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/diagnose/openapi.json" {
		rest.Send(w, http.StatusOK, rest.TypeJSON, openAPI())
		return
	}
	if r.URL.Path != "/diagnose" {
		rest.Refuse(w, "diagnose", "no handler for URL")
		return
	}
	params, ok := rest.Query(w, r, "diagnose")
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), Timeout)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	body, err := h.answer(ctx, params)
	if err != nil {
		h.fail(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	rest.Send(w, http.StatusOK, rest.TypeJSON, body)
}

// fail sends an error.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	var bad badRequest
	var none lacking
	var rules badRules
	switch {
	case errors.As(err, &bad):
		rest.Fail(w, http.StatusBadRequest, err.Error())
	case errors.As(err, &none):
		rest.Fail(w, http.StatusNotFound, err.Error())
	case errors.Is(err, diagnosis.ErrShort), errors.Is(err, diagnosis.ErrNothing):
		rest.Fail(w, http.StatusNotFound, err.Error()+" at that time")
	case errors.Is(err, errBusy), errors.Is(err, errNoHost):
		w.Header().Set("Retry-After", "5")
		rest.Fail(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		rest.Fail(w, http.StatusServiceUnavailable, fmt.Sprintf("the diagnosis took longer than %v; choose a shorter time", Timeout))
	case errors.Is(err, context.Canceled): // the client is gone, or the server ends
		rest.Fail(w, http.StatusServiceUnavailable, "the request was cancelled")
	case errors.As(err, &rules):
		h.cfg.Log.Error("request of /diagnose", "err", err)
		rest.Fail(w, http.StatusInternalServerError, "the rules cannot be read: "+err.Error())
	default:
		h.cfg.Log.Error("request of /diagnose", "err", err)
		rest.Fail(w, http.StatusInternalServerError, "the values cannot be read: "+err.Error())
	}
}

// A request has the host and the time of a diagnosis.
type request struct {
	host       string
	start, end pcp.Timestamp // zero for now
	whole      bool
	noChanges  bool
}

// parse reads the parameters of a request.
func (h *Handler) parse(q url.Values) (request, error) {
	r := request{host: q.Get("host")}
	for name, list := range q {
		if !slices.ContainsFunc(params(), func(p param) bool { return p.name == name }) {
			return r, badRequest(fmt.Sprintf("%q: no such parameter", name))
		}
		if len(list) > 1 {
			return r, badRequest(name + " is given twice")
		}
	}
	if len(r.host) > maxHost {
		return r, badRequest("the name of the host is too long")
	}
	var err error
	if r.start, err = moment(q, "start"); err != nil {
		return r, err
	}
	if r.end, err = moment(q, "end"); err != nil {
		return r, err
	}
	if r.whole, err = choice(q, "whole", false); err != nil {
		return r, err
	}
	changes, err := choice(q, "changes", true)
	if err != nil {
		return r, err
	}
	r.noChanges = !changes
	switch {
	case r.start.IsZero() != r.end.IsZero():
		return r, badRequest("want start and end, or neither")
	case !r.start.IsZero() && r.end.Compare(r.start) <= 0:
		return r, badRequest("end must be later than start")
	case r.end.Sub(r.start) > MaxWindow.Seconds():
		return r, badRequest(fmt.Sprintf("more than %d days", int(MaxWindow.Hours()/24)))
	case r.whole && r.start.IsZero():
		return r, badRequest("whole requires start and end")
	}
	return r, nil
}

// moment reads a time in seconds since 1970; zero if there is none.
func moment(q url.Values, name string) (pcp.Timestamp, error) {
	text := q.Get(name)
	if text == "" {
		return pcp.Timestamp{}, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1e11) {
		return pcp.Timestamp{}, badRequest(name + ": want seconds since 1970")
	}
	sec := int64(v)
	return pcp.Timestamp{Sec: sec, Nsec: int32((v - float64(sec)) * 1e9)}, nil
}

func choice(q url.Values, name string, otherwise bool) (bool, error) {
	switch q.Get(name) {
	case "":
		return otherwise, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, badRequest(name + ": want true or false")
}

// enter waits until a source may be diagnosed. The caller calls leave when that is done.
func (h *Handler) enter(ctx context.Context, source string) (leave func(), err error) {
	h.mu.Lock()
	if h.waiting == waiting {
		h.mu.Unlock()
		return nil, errBusy
	}
	h.waiting++
	t := h.sources[source]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		h.sources[source] = t
	}
	t.users++
	h.mu.Unlock()
	done := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waiting--
		if t.users--; t.users == 0 {
			delete(h.sources, source)
		}
	}
	select {
	case t.free <- struct{}{}:
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
	select {
	case h.room <- struct{}{}:
	case <-ctx.Done():
		<-t.free
		done()
		return nil, ctx.Err()
	}
	return func() {
		<-h.room
		<-t.free
		done()
	}, nil
}

// A finding has the metrics of its expression, for a chart.
type finding struct {
	*diagnosis.Object
	Metrics []string `json:"metrics"`
}

// A comparison is the times that were compared.
type comparison struct {
	Start       string `json:"start"`
	End         string `json:"end"`
	BeforeStart string `json:"before_start"`
	BeforeEnd   string `json:"before_end"`
	Values      int    `json:"values"`
}

type answer struct {
	Findings  []finding           `json:"findings"`
	Changes   []*diagnosis.Object `json:"changes"`
	Compared  *comparison         `json:"compared,omitempty"`
	Unchecked []diagnosis.Object  `json:"unchecked"`
	Verdict   diagnosis.Verdict   `json:"verdict"`
	Success   bool                `json:"success"`
}

// answer returns the JSON for a request.
func (h *Handler) answer(ctx context.Context, q url.Values) ([]byte, error) {
	r, err := h.parse(q)
	if err != nil {
		return nil, err
	}
	rules, err := h.cfg.Rules()
	if err != nil {
		return nil, badRules{err}
	}
	cfg := diagnosis.Config{Rules: rules, NoCompare: r.noChanges, Whole: r.whole, Hidden: h.cfg.Hidden}
	commands := diagnosis.Commands{Program: "pcp", Zone: h.cfg.Zone}
	var d *diagnosis.Diagnosis
	if r.start.IsZero() {
		d, err = h.now(ctx, r, cfg, &commands)
	} else {
		d, err = h.past(ctx, r, cfg, &commands)
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	a := answer{Findings: []finding{}, Changes: []*diagnosis.Object{}, Unchecked: []diagnosis.Object{}, Verdict: d.Verdict(), Success: true}
	for i := range d.Findings {
		f := &d.Findings[i]
		a.Findings = append(a.Findings, finding{commands.Finding(d, f), f.Metrics})
	}
	for i := range d.Changes {
		a.Changes = append(a.Changes, d.Change(i))
	}
	for _, u := range d.Unchecked {
		a.Unchecked = append(a.Unchecked, diagnosis.Object{ID: u.ID, Reason: u.Reason})
	}
	if c := d.Compared; c != nil {
		a.Compared = &comparison{pcpjson.Time(c.Start), pcpjson.Time(c.End), pcpjson.Time(c.BeforeStart), pcpjson.Time(c.BeforeEnd), c.Compared}
	}
	return json.Marshal(&a)
}

// now diagnoses a collector.
func (h *Handler) now(ctx context.Context, r request, cfg diagnosis.Config, commands *diagnosis.Commands) (*diagnosis.Diagnosis, error) {
	if h.cfg.Open == nil {
		return nil, badRequest("there is no collector: want start and end")
	}
	host := h.cfg.Host
	if r.host != "" {
		hs, err := pmapi.ParseHostSpec(r.host)
		if err != nil {
			return nil, badRequest("host: not a specification of a collector")
		}
		// A socket of this host would take the client for the user of this process.
		if h.cfg.AllowHost == nil || hs.Protocol == "unix" || hs.Protocol == "local" || !h.cfg.AllowHost(&hs) {
			return nil, errNoHost
		}
		host = hs.String()
		commands.Source = "-h " + diagnosis.Quote(host)
	}
	leave, err := h.enter(ctx, "now "+host)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := h.cfg.Open(ctx, host)
	if err != nil {
		h.cfg.Log.Debug("request of /diagnose", "host", host, "err", err)
		return nil, cmp.Or(ctx.Err(), errNoHost)
	}
	defer c.Close()
	cfg.Context, cfg.Samples = c, samples
	if h.cfg.Archives != nil && !cfg.NoCompare {
		if name, err := c.HostName(ctx); err == nil {
			end := time.Now()
			if a, err := h.open(name, pcp.TimestampOf(end.Add(-dayBefore)), pcp.TimestampOf(end)); err == nil {
				defer a.Close()
				cfg.Before = a
			}
		}
	}
	return diagnosis.Run(ctx, cfg)
}

// past diagnoses the archives of a host.
func (h *Handler) past(ctx context.Context, r request, cfg diagnosis.Config, commands *diagnosis.Commands) (*diagnosis.Diagnosis, error) {
	if h.cfg.Archives == nil {
		return nil, lacking("there are no archives")
	}
	if r.host == "" {
		return nil, badRequest("start and end require a host: the name that its archives have")
	}
	leave, err := h.enter(ctx, "past "+r.host)
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(h.cfg.Archives(r.host, r.start, r.end)) == 0 {
		return nil, lacking(fmt.Sprintf("nothing is recorded of %s at that time", r.host))
	}
	from := r.start
	if !cfg.NoCompare {
		from = from.Add(-dayBefore)
	}
	a, err := h.open(r.host, from, r.end)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	cfg.Context, cfg.From, cfg.To = a.Context, r.start, r.end
	commands.Past, commands.Source = true, "-a "+diagnosis.Quote(named(h.cfg.Archives(r.host, r.start, r.end)))
	return diagnosis.Run(ctx, cfg)
}

// open opens the archives of a host.
func (h *Handler) open(host string, from, to pcp.Timestamp) (*pmapi.ArchiveContext, error) {
	paths := h.cfg.Archives(host, from, to)
	switch {
	case len(paths) == 0:
		return nil, lacking(fmt.Sprintf("nothing is recorded of %s at that time", host))
	case len(paths) > maxArchives:
		return nil, badRequest(fmt.Sprintf("%s has %d archives at that time, and a diagnosis reads %d at most; choose a shorter time", host, len(paths), maxArchives))
	}
	for _, path := range paths {
		if strings.Contains(path, ",") {
			return nil, lacking("archives whose names have a comma cannot be diagnosed")
		}
	}
	return pmapi.OpenArchive(strings.Join(paths, ","))
}

// named returns the argument of -a for archives of one directory.
func named(paths []string) string {
	if len(paths) == 1 {
		return paths[0]
	}
	return storage.Dir(paths[0])
}
