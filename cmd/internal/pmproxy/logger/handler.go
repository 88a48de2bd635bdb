package logger

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
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
	DefaultMaxOpen  = 1000
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

	mu     sync.Mutex
	root   *os.Root // nil until first used
	pushes map[uint32]*push
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
	return &Handler{cfg: cfg, quota: quota{limit: cfg.MaxTotal}, pushes: map[uint32]*push{}}, nil
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
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
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
	kind := slices.Index([]string{"meta", "index", "volume", "label"}, name)
	if kind < 0 {
		return nil, false, nil
	}
	peer, err := h.admit(r)
	if err != nil {
		return nil, true, err
	}
	if name == "label" {
		body, err := readBody(w, r)
		if err == nil {
			answer, err = h.begin(peer, body, params)
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
	p, root, err := h.find(uint32(id), peer)
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
	return nil, true, p.write(root, file(kind), volume, offset, body)
}

// admit returns the identity of a client that may push archives.
func (h *Handler) admit(r *http.Request) (string, error) {
	if r.Method != http.MethodPost {
		return "", fmt.Errorf("%w: want POST", errRequest)
	}
	peer := rest.PeerOf(r.Context())
	switch {
	case !peer.Trusted && !h.cfg.Anybody:
		return "", errDenied
	case peer.User != "":
		return "user " + peer.User, nil
	case peer.Local:
		return "local", nil
	}
	return "address " + peer.Address, nil
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
func (h *Handler) begin(owner string, body []byte, params rest.Params) ([]byte, error) {
	label, err := checkLabel(body)
	if err != nil {
		return nil, err
	}
	if len(h.cfg.Hosts) > 0 && !slices.ContainsFunc(h.cfg.Hosts, func(pattern string) bool {
		ok, _ := path.Match(pattern, label.Host)
		return ok
	}) {
		return nil, fmt.Errorf("archives of host %q are not taken: %w", label.Host, errDenied)
	}
	p := &push{h: h, owner: owner, label: label, volume: -1, pause: h.cfg.Timeout}
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
	h.mu.Lock()
	defer h.mu.Unlock() // archives begin one at a time
	if h.closed {
		return nil, errGone
	}
	if h.root == nil {
		if err := os.MkdirAll(h.cfg.Dir, 0o775); err != nil {
			return nil, err
		}
		if h.root, err = os.OpenRoot(h.cfg.Dir); err != nil {
			return nil, err
		}
	}
	if again {
		if b, err := h.goOn(p); b != nil || err != nil {
			return b, err
		}
	}
	if len(h.pushes) >= h.cfg.MaxOpen {
		return nil, fmt.Errorf("%w: %d archives", errBusy, len(h.pushes))
	}
	if err := p.create(h.root, h.cfg.Zone); err != nil {
		return nil, err
	}
	h.add(p)
	h.cfg.Log.Info("archive begins", "archive", p.base, "client", owner)
	return fmt.Appendf(nil, `"archive":%d,`, p.id), nil
}

// add assigns a number to an archive.
func (h *Handler) add(p *push) {
	for p.id == 0 || h.pushes[p.id] != nil {
		var b [4]byte
		rand.Read(b[:])
		p.id = binary.BigEndian.Uint32(b[:]) >> 1 // clients parse numbers of 31 bits
	}
	h.pushes[p.id] = p
	p.timer = time.AfterFunc(p.pause, func() {
		h.mu.Lock()
		if h.pushes[p.id] == p {
			delete(h.pushes, p.id)
		}
		h.mu.Unlock()
		p.end("no requests")
	})
}

// goOn answers the label of an existing archive; it returns nil for a new one.
func (h *Handler) goOn(p *push) ([]byte, error) {
	for _, other := range h.pushes {
		if other.label != p.label {
			continue
		}
		if other.owner != p.owner {
			return nil, fmt.Errorf("%w: another client pushes it", errDenied)
		}
		other.mu.Lock()
		defer other.mu.Unlock()
		other.timer.Reset(other.pause)
		return other.sizes(), nil
	}
	if len(h.pushes) >= h.cfg.MaxOpen {
		return nil, fmt.Errorf("%w: %d archives", errBusy, len(h.pushes))
	}
	found, err := p.resume(h.root, h.cfg.Zone)
	if !found || err != nil {
		*p = push{h: h, owner: p.owner, label: p.label, volume: -1, pause: p.pause}
		return nil, err
	}
	h.add(p)
	h.cfg.Log.Info("archive goes on", "archive", p.base, "client", p.owner)
	return p.sizes(), nil
}

// sizes returns the sizes of an archive's files, of volumes only the last.
func (p *push) sizes() []byte {
	b := fmt.Appendf(nil, `"archive":%d,"meta":%d,"index":%d,`, p.id, p.streams[metaFile].end(), p.streams[indexFile].end())
	if p.volume >= 0 {
		b = fmt.Appendf(b, `"volume":%d,"bytes":%d,`, p.volume, p.streams[volumeFile].end())
	}
	return b
}
