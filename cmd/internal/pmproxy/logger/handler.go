package logger

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
)

// Fixed limits.
const (
	// MaxBody is the maximum size of a request body, in bytes (loggroup.c: MAX_BUFFER_SIZE).
	MaxBody = 10 << 20
	// MaxRecord is the maximum length of a record, in bytes, its length words included.
	MaxRecord = 16 << 20
	// MaxVolumes is the maximum number of volumes of an archive (loggroup.c: MAX_VOLUME_COUNT).
	MaxVolumes = 5000
	// MaxWaiting is the maximum number of buffered bytes of incomplete records.
	MaxWaiting = 128 << 20
	// MaxTimeout is the longest idle time that a client may request.
	MaxTimeout = 24 * time.Hour
)

// Defaults of a Config.
const (
	DefaultTimeout  = 10 * time.Minute // DEFAULT_POLL_TIMEOUT
	DefaultMaxOpen  = 10_000
	DefaultMaxFile  = 2 << 30
	DefaultMaxTotal = 100 << 30
)

// A Config configures a Handler. Zero fields mean the defaults.
type Config struct {
	// Dir is the directory of the archives (PCP_LOG_DIR/pmproxy). It is created with the
	// first archive.
	Dir string // required

	// Anybody lets untrusted clients push archives, as the C implementation does.
	Anybody bool

	// Hosts are patterns, as of path.Match, for the names of hosts whose archives are
	// accepted; an empty list accepts all.
	Hosts []string

	// Timeout is the idle time after which an archive ends, if its client does not
	// request another; 0 means DefaultTimeout.
	Timeout time.Duration

	// MaxOpen limits the archives pushed at the same time, MaxFile the bytes of a file, and
	// MaxTotal the bytes of all files below Dir; 0 means the defaults.
	MaxOpen           int
	MaxFile, MaxTotal int64

	// MaxHost limits the bytes of the files of each host, unless the token of its client has a limit; 0 means none.
	MaxHost int64

	// Zone is the time zone for the names of archives; nil means time.Local.
	Zone *time.Location

	// Log receives messages for the operator; nil discards them.
	Log *slog.Logger
}

// A Handler answers requests below /logger/. It is safe for concurrent use.
type Handler struct {
	cfg     Config
	quota   quota
	waiting atomic.Int64 // bytes of all incomplete records

	begins [64]sync.Mutex // archives of a host begin one at a time; the hash of the host selects the lock
	seed   maphash.Seed

	mu     sync.Mutex
	root   *os.Root // nil until first used
	pushes map[uint32]*push
	hosts  map[string]*quota // of hosts with a limit
	closed bool
}

// New returns a Handler. It does not access the file system.
func New(cfg Config) (*Handler, error) {
	if cfg.Dir == "" {
		return nil, errors.New("logger: no directory")
	}
	for _, p := range cfg.Hosts {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.MaxOpen <= 0 {
		cfg.MaxOpen = DefaultMaxOpen
	}
	if cfg.MaxFile <= 0 {
		cfg.MaxFile = DefaultMaxFile
	}
	if cfg.MaxTotal <= 0 {
		cfg.MaxTotal = DefaultMaxTotal
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Handler{cfg: cfg, quota: quota{dir: ".", limit: cfg.MaxTotal}, pushes: map[uint32]*push{}, hosts: map[string]*quota{}, seed: maphash.MakeSeed()}, nil
}

// Reset ends all archives, as pmproxy does at SIGHUP. Their clients get an error for the
// next request, and begin new archives.
func (h *Handler) Reset() {
	h.mu.Lock()
	list := h.pushes
	h.pushes = map[uint32]*push{}
	h.mu.Unlock()
	for _, p := range list {
		p.end("all archives end")
	}
}

// Close ends all archives. Requests are then refused.
func (h *Handler) Close() error {
	h.mu.Lock()
	h.closed = true
	root := h.root
	h.mu.Unlock()
	h.Reset()
	if root != nil {
		return root.Close()
	}
	return nil
}

// end waits for the request in progress and discards pending bytes.
func (p *push) end(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish(why)
}

// finish does the same for a caller that has the lock.
func (p *push) finish(why string) {
	if p.ended {
		return
	}
	p.timer.Stop()
	p.ended = true
	pending := 0
	for i := range p.streams {
		pending += len(p.streams[i].pending)
		p.streams[i].pending = nil
	}
	p.h.waiting.Add(-int64(pending))
	p.h.cfg.Log.Info("archive ends", "archive", p.base, "why", why, "cut", pending)
}

// Errors of requests.
var (
	errRequest = errors.New("bad request")
	errDenied  = errors.New("No permission to perform requested operation") //lint:ignore ST1005 the text of /pmapi
	errGone    = errors.New("no such archive is being pushed")
	errFull    = errors.New("there is no room")
	errBusy    = errors.New("too much is being pushed")
	errLong    = errors.New("body is too long")
)

// A gapError is the error of an offset beyond the end of a file.
type gapError struct{ offset, end int64 }

func (e *gapError) Error() string {
	return fmt.Sprintf("offset %d is behind the end of the file, %d", e.offset, e.end)
}

// status returns the status of the response for an error (logger.c: on_pmlogger_done).
func status(err error) int {
	var gap *gapError
	switch {
	case errors.Is(err, errDenied):
		return http.StatusForbidden
	case errors.Is(err, errGone):
		return http.StatusGone
	case errors.As(err, &gap), errors.Is(err, os.ErrExist):
		return http.StatusConflict
	case errors.Is(err, errFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return http.StatusInsufficientStorage
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, errLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errRequest):
		return http.StatusBadRequest
	case errors.Is(err, pcp.ErrLabel):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

const servlet = "logger"

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/logger/openapi.json" && r.Method == http.MethodGet {
		rest.Send(w, http.StatusOK, rest.TypeJSON, openAPI())
		return
	}
	command, ok := strings.CutPrefix(r.URL.Path, "/logger/")
	params, err := rest.ParseParams(r.URL.RawQuery)
	if !ok || err != nil || len(r.URL.RawQuery) > rest.MaxQuery {
		rest.Refuse(w, servlet, "failed to process URL")
		return
	}
	answer, known, err := h.run(w, r, command, params)
	if !known {
		rest.Refuse(w, "unknown", "no handler for URL")
		return
	}
	code, end := http.StatusOK, `"success":true}`
	if err != nil {
		if code, end = status(err), `"success":false}`; code >= 500 {
			h.cfg.Log.Error("a pushed archive cannot be written", "path", r.URL.Path, "err", err)
		}
		answer = append(rest.AppendString([]byte(`"message":`), err.Error()), ',')
	}
	b := append([]byte{'{'}, answer...)
	if client, ok := params.Get("client"); ok {
		b = append(rest.AppendString(append(b, `"client":`...), client), ',')
	}
	b = append(append(b, end...), "\r\n"...)
	rest.Send(w, code, rest.TypeJSON, b)
}

// run executes a command. It returns members of the response.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, command string, params rest.Params) (answer []byte, known bool, err error) {
	name, rest, _ := strings.Cut(command, "/")
	if strings.HasPrefix(command, "ping") {
		if r.Method != http.MethodGet {
			return nil, true, fmt.Errorf("%w: want GET", errRequest)
		}
		return nil, true, nil
	}
	if strings.HasPrefix(command, "label") {
		name = "label"
	}
	kind := slices.Index([]string{"meta", "index", "volume", "label", "end"}, name)
	if kind < 0 {
		return nil, false, nil
	}
	c, err := h.admit(r)
	if err != nil {
		return nil, true, err
	}
	if name == "label" {
		body, err := readBody(w, r)
		if err == nil {
			answer, err = h.begin(c, body, params)
		}
		return answer, true, err
	}
	volume := 0
	if file(kind) == volumeFile {
		number, id, _ := strings.Cut(rest, "/")
		if volume, err = strconv.Atoi(number); err != nil || volume < 0 {
			return nil, true, fmt.Errorf("%w: %q is not the number of a volume", errRequest, number)
		}
		if volume >= MaxVolumes {
			return nil, true, fmt.Errorf("volume %d, at most %d: %w", volume, MaxVolumes-1, errLong)
		}
		rest = id
	}
	id, err := strconv.ParseUint(rest, 10, 31)
	if err != nil || id == 0 {
		return nil, true, fmt.Errorf("%w: %q is not the number of an archive", errRequest, rest)
	}
	offset := int64(-1)
	if text, ok := params.Get("offset"); ok {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			return nil, true, fmt.Errorf("%w: offset %q", errRequest, text)
		}
	}
	p, root, err := h.find(uint32(id), c.name)
	if err != nil {
		return nil, true, err
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, true, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, true, errGone
	}
	p.timer.Reset(p.pause)
	if name == "end" {
		if err := p.sync(root); err != nil {
			return nil, true, err
		}
		h.forget(p)
		p.finish("its client has ended it")
		return p.sizes(), true, nil
	}
	if err = p.write(root, file(kind), volume, offset, body); errors.Is(err, errGone) {
		h.forget(p)
		p.finish("its files have changed") // the client may resume the archive as it is now
	}
	return nil, true, err
}

// A client is the client of a request, with its rights.
type client struct {
	name  string
	right *rest.PushRight // nil for archives of all hosts
}

// admit returns the client of a request if it may push archives.
func (h *Handler) admit(r *http.Request) (client, error) {
	if r.Method != http.MethodPost {
		return client{}, fmt.Errorf("%w: want POST", errRequest)
	}
	peer := rest.PeerOf(r.Context())
	switch {
	case !peer.Trusted && peer.Push == nil && !h.cfg.Anybody:
		return client{}, errDenied
	case peer.User != "":
		return client{"user " + peer.User, peer.Push}, nil
	case peer.Local:
		return client{"local", nil}, nil
	}
	return client{"address " + peer.Address, nil}, nil
}

// allows returns an error unless a client may push archives of a host.
func (h *Handler) allows(c client, host string) error {
	match := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, _ := path.Match(pattern, host)
			return ok
		})
	}
	if len(h.cfg.Hosts) > 0 && !match(h.cfg.Hosts) {
		return fmt.Errorf("archives of host %q are not taken: %w", host, errDenied)
	}
	if c.right != nil && !match(c.right.Hosts) {
		return fmt.Errorf("the token is not for archives of host %q: %w", host, errDenied)
	}
	return nil
}

// forget removes an archive from the list.
func (h *Handler) forget(p *push) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pushes[p.id] == p {
		delete(h.pushes, p.id)
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return nil, fmt.Errorf("%w: more than %d bytes", errLong, long.Limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRequest, err)
	}
	return b, nil
}

// find returns an archive of a client. Archives of other clients are not found.
func (h *Handler) find(id uint32, owner string) (*push, *os.Root, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pushes[id]
	if p == nil || p.owner != owner || h.closed {
		return nil, nil, errGone
	}
	return p, h.root, nil
}

// wait counts bytes of incomplete records.
func (h *Handler) wait(n int) error {
	if h.waiting.Add(int64(n)) > MaxWaiting && n > 0 {
		h.waiting.Add(-int64(n))
		return fmt.Errorf("%w: %d bytes of records wait for their end", errBusy, h.waiting.Load())
	}
	return nil
}

// begin handles the label of an archive.
func (h *Handler) begin(c client, body []byte, params rest.Params) ([]byte, error) {
	label, err := checkLabel(body)
	if err != nil {
		return nil, err
	}
	if err := h.allows(c, label.Host); err != nil {
		return nil, err
	}
	p := &push{h: h, owner: c.name, label: label, volume: -1, pause: h.cfg.Timeout}
	if text, ok := params.Get("polltimeout"); ok {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0) {
			return nil, fmt.Errorf("%w: polltimeout %q", errRequest, text)
		}
		p.pause = min(time.Duration(min(seconds, MaxTimeout.Seconds())*float64(time.Second)), MaxTimeout)
	}
	again := false
	if text, ok := params.Get("resume"); ok {
		if again, err = strconv.ParseBool(text); err != nil {
			return nil, fmt.Errorf("%w: resume %q", errRequest, text)
		}
	}
	root, err := h.prepare(c, p)
	if err != nil {
		return nil, err
	}
	lock := &h.begins[maphash.String(h.seed, label.Host)%uint64(len(h.begins))]
	lock.Lock()
	defer lock.Unlock()
	if again {
		if b, err := h.goOn(root, p); b != nil || err != nil {
			return b, err
		}
	}
	if err := h.room(); err != nil {
		return nil, err
	}
	if err := p.create(root, h.cfg.Zone); err != nil {
		return nil, err
	}
	if err := h.add(p); err != nil {
		return nil, err
	}
	h.cfg.Log.Info("archive begins", "archive", p.base, "client", p.owner)
	if again {
		return p.sizes(), nil
	}
	return fmt.Appendf(nil, `"archive":%d,`, p.id), nil
}

// prepare opens the directory, and finds the limits of the host.
func (h *Handler) prepare(c client, p *push) (*os.Root, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errGone
	}
	if h.root == nil {
		if err := os.MkdirAll(h.cfg.Dir, 0o775); err != nil {
			return nil, err
		}
		var err error
		if h.root, err = os.OpenRoot(h.cfg.Dir); err != nil {
			return nil, err
		}
	}
	p.quotas = []*quota{&h.quota}
	limit := h.cfg.MaxHost
	if c.right != nil && c.right.Quota > 0 {
		limit = c.right.Quota
	}
	if limit > 0 {
		q := h.hosts[p.label.Host]
		if q == nil {
			q = &quota{dir: p.label.Host}
			h.hosts[p.label.Host] = q
		}
		q.setLimit(limit)
		p.quotas = append(p.quotas, q)
	}
	return h.root, nil
}

// room returns an error if too many archives are being pushed.
func (h *Handler) room() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.pushes) >= h.cfg.MaxOpen {
		return fmt.Errorf("%w: %d archives", errBusy, len(h.pushes))
	}
	return nil
}

// add assigns a number to an archive.
func (h *Handler) add(p *push) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errGone
	}
	for p.id == 0 || h.pushes[p.id] != nil {
		var b [4]byte
		rand.Read(b[:])
		p.id = binary.BigEndian.Uint32(b[:]) >> 1 // clients parse numbers of 31 bits
	}
	h.pushes[p.id] = p
	p.timer = time.AfterFunc(p.pause, func() {
		h.forget(p)
		p.end("no requests")
	})
	return nil
}

// goOn answers the label of an existing archive; it returns nil for a new one.
func (h *Handler) goOn(root *os.Root, p *push) ([]byte, error) {
	if other := h.pushed(p.label); other != nil {
		if other.owner != p.owner {
			return nil, fmt.Errorf("%w: another client pushes it", errDenied)
		}
		other.mu.Lock()
		defer other.mu.Unlock()
		if !other.ended {
			other.timer.Reset(other.pause)
			return other.sizes(), nil
		}
	}
	if err := h.room(); err != nil {
		return nil, err
	}
	found, err := p.resume(root, h.cfg.Zone)
	if !found || err != nil {
		p.base, p.volume, p.streams = "", -1, [files]stream{}
		return nil, err
	}
	if err := h.add(p); err != nil {
		return nil, err
	}
	h.cfg.Log.Info("archive goes on", "archive", p.base, "client", p.owner)
	return p.sizes(), nil
}

// pushed returns the archive with a label that is being pushed, nil if there is none.
func (h *Handler) pushed(label archive.Label) *push {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pushes {
		if p.label == label {
			return p
		}
	}
	return nil
}

// writes reports whether an archive is being pushed.
func (h *Handler) writes(base string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pushes {
		if p.base == base {
			return true
		}
	}
	return false
}

// sizes returns the sizes of an archive's files, of volumes only the last.
func (p *push) sizes() []byte {
	b := fmt.Appendf(nil, `"archive":%d,"meta":%d,"index":%d,`, p.id, p.streams[metaFile].end(), p.streams[indexFile].end())
	if p.volume >= 0 {
		b = fmt.Appendf(b, `"volume":%d,"bytes":%d,`, p.volume, p.streams[volumeFile].end())
	}
	return b
}
