package recordings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/internal/folio"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pmapi"
)

// Limits.
const (
	MaxSeconds = 24 * 3600 // of a recording
	MaxBytes   = 256 << 20 // of a recording
	MaxAll     = 2 << 30   // of all, for a new one to begin
	MaxKept    = 100
	MaxRunning = 4
	MaxMetrics = 1000

	maxBody     = 1 << 20
	minInterval = 100 * time.Millisecond
	opening     = 10 * time.Second // for the collector to answer
)

// A Config configures a Handler.
type Config struct {
	// Dir is the directory of the recordings. It is made when the first one begins.
	Dir string
	// Open connects to the collector.
	Open func(ctx context.Context) (*pmapi.Context, error)
	// Log gets errors; nil discards.
	Log *slog.Logger
}

// A Handler records. It is safe for concurrent use.
type Handler struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu      sync.Mutex
	running map[string]*session
}

// A session is a recording that has not ended.
type session struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a Handler for a directory.
func New(cfg Config) *Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{cfg: cfg, running: map[string]*session{}}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close ends the recordings, and waits until their archives are complete.
func (h *Handler) Close() error {
	h.mu.Lock() // none begins afterwards
	h.cancel()
	h.mu.Unlock()
	h.all.Wait()
	return nil
}

// Errors of requests.
var (
	errMissing = errors.New("there is no such recording")
	errRunning = errors.New("the recording has not ended; stop it first")
	errOther   = errors.New("another program may be recording it; it can be removed after its end")
	errBusy    = fmt.Errorf("%d recordings are running; stop one first", MaxRunning)
	errFull    = fmt.Errorf("there are %d recordings, or they have %d GiB; remove some first", MaxKept, MaxAll>>30)
)

// A badRequest is a mistake of the client.
type badRequest string

func (e badRequest) Error() string { return string(e) }

// An unavailable is the reason why the collector cannot be recorded now.
type unavailable struct{ error }

// A request describes a new recording.
type request struct {
	Metrics  []string `json:"metrics"`
	Charts   []chart  `json:"charts"` // of the view
	Interval float64  `json:"interval"`
	Seconds  float64  `json:"seconds"`
}

// check returns an error if there is a mistake.
func (r *request) check() error {
	if r.Interval == 0 {
		r.Interval = 1
	}
	switch {
	case len(r.Metrics) == 0:
		return badRequest("no metrics to record")
	case len(r.Metrics) > MaxMetrics:
		return badRequest(fmt.Sprintf("more than %d metrics", MaxMetrics))
	case !(r.Interval >= minInterval.Seconds() && r.Interval <= MaxSeconds):
		return badRequest(fmt.Sprintf("the interval is not from %g to %d seconds", minInterval.Seconds(), MaxSeconds))
	case !(r.Seconds > 0 && r.Seconds <= MaxSeconds):
		return badRequest(fmt.Sprintf("a recording has from 1 to %d seconds", MaxSeconds))
	}
	for _, name := range r.Metrics {
		if !goodName(name) {
			return badRequest(fmt.Sprintf("%.80q is not the name of a metric", name))
		}
	}
	return checkCharts(r.Charts, r.Metrics)
}

// goodName reports whether a name is that of a metric, which neither a configuration of pmlogger nor a view can misread.
func goodName(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || part[0] >= '0' && part[0] <= '9' {
			return false
		}
		for _, c := range []byte(part) {
			if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_') {
				return false
			}
		}
	}
	return len(name) <= 1000
}

// config returns the configuration of pmlogger.
func (r *request) config() string {
	return fmt.Sprintf("log mandatory on every %d msec {\n\t%s\n}\n", int64(r.Interval*1000), strings.Join(r.Metrics, "\n\t"))
}

// A Recording describes a recording.
type Recording struct {
	ID      string `json:"id"`
	Host    string `json:"host"`
	Began   string `json:"began"`
	Until   string `json:"until"`           // when it ends, unless it is stopped before
	Ended   string `json:"ended,omitempty"` // when it did
	Metrics int    `json:"metrics"`
	Folio   string `json:"folio"` // its path
	Running bool   `json:"running"`
	Bytes   int64  `json:"bytes"`
	Message string `json:"message,omitempty"` // why it ended before its time
}

// Names of files below the directory of a recording.
const (
	aboutFile = "recording.json"
	viewFile  = "view"
	folioFile = "folio"
	baseName  = "archive"
)

const idForm = "20060102-150405"

// goodID reports whether an identifier has the form of those that newID makes; it is the name of a directory.
func goodID(id string) bool {
	return len(id) >= len(idForm) && len(id) <= len(idForm)+4 && strings.Trim(id, "0123456789-") == ""
}

func (h *Handler) path(id string, name ...string) string {
	return filepath.Join(append([]string{h.cfg.Dir, id}, name...)...)
}

// list returns the recordings, the newest first, with mu held.
func (h *Handler) list() (list []Recording, bytes int64, err error) {
	entries, err := os.ReadDir(h.cfg.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return []Recording{}, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	list = []Recording{}
	for _, e := range entries {
		if !e.IsDir() || !goodID(e.Name()) {
			continue
		}
		r := h.read(e.Name())
		bytes += r.Bytes
		list = append(list, r)
	}
	slices.Reverse(list)
	return list, bytes, nil
}

// read describes a recording, as far as its files can be read.
func (h *Handler) read(id string) Recording {
	r := Recording{}
	if b, err := os.ReadFile(h.path(id, aboutFile)); err == nil && len(b) <= maxBody {
		if err := json.Unmarshal(b, &r); err != nil {
			h.cfg.Log.Warn("recording", "id", id, "err", err)
		}
	}
	r.ID, r.Folio, r.Bytes = id, h.path(id, folioFile), 0
	_, r.Running = h.running[id]
	if !r.Running && r.Ended == "" {
		r.Message = "another program records it, or ended before it"
	}
	files, err := os.ReadDir(h.path(id))
	if err != nil {
		h.cfg.Log.Warn("recording", "id", id, "err", err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			r.Bytes += info.Size()
		}
	}
	return r
}

// write writes the description of a recording.
func (h *Handler) write(r Recording) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return h.file(r.ID, aboutFile, append(b, '\n'))
}

func (h *Handler) file(id, name string, b []byte) error {
	return safefile.ReplaceBytes(h.path(id, name), b, safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
}

// newID makes the directory of a recording that begins now.
func (h *Handler) newID(now time.Time) (string, error) {
	if err := safefile.MkdirAll(h.cfg.Dir, 0o700, nil); err != nil {
		return "", err
	}
	base := now.Format(idForm)
	for n := range MaxRunning + 1 {
		id := base
		if n > 0 {
			id = fmt.Sprintf("%s-%d", base, n)
		}
		err := safefile.Mkdir(h.path(id), 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return id, err
		}
	}
	return "", errBusy
}

// begin begins a recording.
func (h *Handler) begin(ctx context.Context, q request) (Recording, error) {
	if err := q.check(); err != nil {
		return Recording{}, err
	}
	c, host, err := h.open(ctx, &q)
	if err != nil {
		return Recording{}, err
	}
	rec, err := h.start(ctx, q, c, host)
	if err != nil {
		c.Close()
	}
	return rec, err
}

// open connects to the collector, and removes the metrics that it lacks from a request. Without any metric left it returns an error.
func (h *Handler) open(ctx context.Context, q *request) (c *pmapi.Context, host string, err error) {
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	c, err = h.cfg.Open(ctx)
	if err != nil {
		return nil, "", unavailable{fmt.Errorf("the collector cannot be reached: %w", err)}
	}
	host, err = c.HostName(ctx)
	var ids []pcp.PMID
	if err == nil {
		ids, err = c.LookupName(ctx, q.Metrics...)
	}
	lacks := map[string]bool{}
	for i, id := range ids {
		lacks[q.Metrics[i]] = id == pcp.PMIDNull
	}
	lacking := func(name string) bool { return lacks[name] }
	q.Metrics = slices.DeleteFunc(q.Metrics, lacking)
	q.Charts = keep(q.Charts, func(name string) bool { return !lacks[name] })
	if len(ids) == 0 || len(q.Metrics) == 0 {
		if err == nil {
			err = pcp.ErrName
		}
		c.Close()
		return nil, "", unavailable{fmt.Errorf("none of the metrics can be recorded: %w", err)}
	}
	return c, host, nil
}

// start starts a session.
func (h *Handler) start(ctx context.Context, q request, c *pmapi.Context, host string) (Recording, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list, bytes, err := h.list()
	switch {
	case err != nil:
		return Recording{}, err
	case h.ctx.Err() != nil:
		return Recording{}, unavailable{errors.New("the server is going down")}
	case len(h.running) >= MaxRunning:
		return Recording{}, errBusy
	case len(list) >= MaxKept || bytes >= MaxAll:
		return Recording{}, errFull
	}
	now := time.Now()
	end := now.Add(time.Duration(q.Seconds * float64(time.Second)))
	id, err := h.newID(now)
	if err != nil {
		return Recording{}, err
	}
	remove := func(err error) (Recording, error) {
		os.RemoveAll(h.path(id)) // it has only what this function wrote
		return Recording{}, err
	}
	rec, err := pmlogger.New(ctx, c, pmlogger.Config{Archive: h.path(id, baseName), Size: pmlogger.Size{Bytes: MaxBytes}, End: end})
	if err != nil {
		return remove(unavailable{err})
	}
	if _, err := rec.Configure(ctx, strings.NewReader(q.config()), "page"); err != nil {
		return remove(err)
	}
	if rec.Empty() {
		return remove(unavailable{errors.New("none of the metrics can be recorded")})
	}
	r := Recording{ID: id, Host: host, Began: pcpjson.Time(pcp.TimestampOf(now)), Until: pcpjson.Time(pcp.TimestampOf(end)), Metrics: len(q.Metrics)}
	f := folio.Folio{Created: "on " + host + " at " + now.Format(time.ANSIC), Creator: "pmchart " + viewFile, Archives: []folio.Archive{{Host: host, Base: baseName}}}
	var text strings.Builder
	if _, err := f.WriteTo(&text); err != nil {
		return remove(err)
	}
	if err := errors.Join(h.file(id, viewFile, []byte(writeView(q.Charts, q.Metrics))), h.file(id, folioFile, []byte(text.String())), h.write(r)); err != nil {
		return remove(err)
	}
	running, cancel := context.WithCancel(h.ctx)
	s := &session{cancel, make(chan struct{})}
	h.running[id] = s
	h.all.Go(func() {
		err := rec.Run(running)
		h.end(id, s, err)
		c.Close()
		cancel()
	})
	return h.read(id), nil
}

// end records that a session has ended.
func (h *Handler) end(id string, s *session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.running, id)
	r := h.read(id)
	r.Ended = pcpjson.Time(pcp.TimestampOf(time.Now()))
	r.Message = ""
	switch {
	case errors.Is(err, pmlogger.ErrByteLimit):
		r.Message = fmt.Sprintf("it has the maximum size, %d MiB", MaxBytes>>20)
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, pmlogger.ErrRunTime):
	default:
		r.Message = err.Error()
		h.cfg.Log.Error("recording", "id", id, "err", err)
	}
	if err := h.write(r); err != nil {
		h.cfg.Log.Error("recording", "id", id, "err", err)
	}
	close(s.done)
}

// stop ends a recording, and waits until its archive is complete.
func (h *Handler) stop(ctx context.Context, id string) (Recording, error) {
	h.mu.Lock()
	s := h.running[id]
	h.mu.Unlock()
	if s != nil {
		s.cancel()
		select {
		case <-s.done:
		case <-ctx.Done():
			return Recording{}, ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := os.Stat(h.path(id)); err != nil {
		return Recording{}, errMissing
	}
	return h.read(id), nil
}

// remove removes a recording that has ended.
func (h *Handler) remove(id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[id] != nil {
		return errRunning
	}
	if _, err := os.Stat(h.path(id)); err != nil {
		return errMissing
	}
	r := h.read(id)
	if until, err := time.Parse(time.RFC3339, r.Until); r.Ended == "" && err == nil && until.After(time.Now()) {
		return errOther
	}
	return os.RemoveAll(h.path(id))
}
