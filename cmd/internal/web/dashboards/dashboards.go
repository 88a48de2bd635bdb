package dashboards

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/internal/safefile"
)

// Prefix is the path of the Handler.
const Prefix = "/dashboards"

// Limits.
const (
	MaxFile  = 1 << 20  // bytes of a dashboard
	MaxFiles = 200      // dashboards
	MaxAll   = 16 << 20 // bytes of all
	maxTitle = 4096     // bytes of a title
	maxID    = 40       // bytes of an identifier
)

// format is the first line of the page's files (dashboard.ts).
const format = "go-pcp dashboard 1"

// A Config configures a Handler.
type Config struct {
	// Dir is the directory of the dashboards. It is made when the first one is written.
	Dir string
	// Log gets files that cannot be read; nil discards.
	Log *slog.Logger
}

// A Handler serves the dashboards of a directory. It is safe for concurrent use.
type Handler struct {
	dir string
	log *slog.Logger
	mu  sync.Mutex // held while files are read or written, never while a client is waited for
}

// New returns a Handler for a directory.
func New(cfg Config) *Handler {
	h := &Handler{dir: cfg.Dir, log: cfg.Log}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	return h
}

// A kept dashboard is one as it is in its file.
type kept struct {
	ID        string          `json:"id"`
	Version   string          `json:"version"`
	Dashboard json.RawMessage `json:"dashboard"`
}

const suffix = ".json"

// Errors of requests, with their status.
var (
	errID       = errors.New("the identifier of a dashboard has 1 to 40 letters (a to z) and digits")
	errChanged  = errors.New("the dashboard was changed elsewhere")
	errMissing  = errors.New("there is no such dashboard")
	errFull     = fmt.Errorf("there are %d dashboards already, or they have %d MiB: remove some", MaxFiles, MaxAll>>20)
	errTooLarge = fmt.Errorf("the dashboard is longer than %d bytes", MaxFile)
)

func goodID(id string) bool {
	return id != "" && len(id) <= maxID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// check returns a dashboard without spaces, or an error if the bytes are not a dashboard.
func check(b []byte) ([]byte, error) {
	if len(b) > MaxFile {
		return nil, errTooLarge
	}
	var head struct {
		Format string            `json:"format"`
		Title  *string           `json:"title"`
		Panels []json.RawMessage `json:"panels"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("not a dashboard: %w", err)
	}
	switch {
	case head.Format != format:
		return nil, fmt.Errorf("not a dashboard: the format is %.40q, not %q", head.Format, format)
	case head.Title == nil || len(*head.Title) > maxTitle:
		return nil, fmt.Errorf("not a dashboard: it has no title, or one longer than %d bytes", maxTitle)
	case head.Panels == nil:
		return nil, errors.New("not a dashboard: it has no panels")
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func versionOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

func (h *Handler) path(id string) string { return filepath.Join(h.dir, id+suffix) }

// read reads a dashboard.
func (h *Handler) read(id string) (kept, error) {
	f, err := safefile.Open(h.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, errMissing
	} else if err != nil {
		return kept{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return kept{}, err
	}
	if b, err = check(b); err != nil {
		return kept{}, fmt.Errorf("%s: %w", h.path(id), err)
	}
	return kept{ID: id, Version: versionOf(b), Dashboard: b}, nil
}

// list reads all dashboards, as all does.
func (h *Handler) list() ([]kept, []string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all()
}

// all reads all dashboards, in the order of their identifiers, with mu held. Files that cannot be read are logged, and their errors returned as text.
func (h *Handler) all() (list []kept, problems []string, err error) {
	files, err := os.ReadDir(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	size := 0
	for _, file := range files {
		id, ours := strings.CutSuffix(file.Name(), suffix)
		if !ours || !goodID(id) {
			continue
		}
		k, err := h.read(id)
		if err == nil {
			if size += len(k.Dashboard); len(list) == MaxFiles || size > MaxAll {
				err = fmt.Errorf("%s: %w", h.path(id), errFull)
			}
		}
		if err != nil {
			h.log.Warn("a dashboard cannot be read", "err", err)
			problems = append(problems, err.Error())
			continue
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b kept) int { return strings.Compare(a.ID, b.ID) })
	return list, problems, nil
}

// expects returns an error unless a dashboard has the version that a request names: * for none.
func expects(r *http.Request, now kept, exists bool) error {
	if want := r.Header.Get("If-None-Match"); want == "*" && exists {
		return errChanged
	}
	want := strings.Trim(r.Header.Get("If-Match"), `"`)
	switch {
	case want == "":
		return nil
	case !exists:
		return errMissing
	case want != now.Version && want != "*":
		return errChanged
	}
	return nil
}

// put writes a dashboard and returns its version.
func (h *Handler) put(r *http.Request, id string) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, MaxFile+1))
	if err != nil {
		return "", err
	}
	if b, err = check(b); err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	list, _, err := h.all()
	if err != nil {
		return "", err
	}
	size := len(b)
	now, exists := kept{}, false
	for _, k := range list {
		if k.ID == id {
			now, exists = k, true
			continue
		}
		size += len(k.Dashboard)
	}
	if err := expects(r, now, exists); err != nil {
		return "", err
	}
	if !exists && len(list) >= MaxFiles || size > MaxAll {
		return "", errFull
	}
	if err := safefile.MkdirAll(h.dir, 0o700, nil); err != nil {
		return "", err
	}
	err = safefile.ReplaceBytes(h.path(id), append(slices.Clip(b), '\n'), safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
	return versionOf(b), err
}

// remove removes a dashboard. A file that cannot be read can be removed without its version.
func (h *Handler) remove(r *http.Request, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, err := h.read(id)
	if errors.Is(err, errMissing) {
		return err
	}
	if err := expects(r, now, true); err != nil {
		return err
	}
	return safefile.Remove(h.path(id))
}

// statusOf returns the status of an answer with an error.
func statusOf(err error) int {
	var path *fs.PathError
	switch {
	case errors.Is(err, errMissing):
		return http.StatusNotFound
	case errors.Is(err, errChanged):
		return http.StatusPreconditionFailed
	case errors.Is(err, errTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errFull):
		return http.StatusInsufficientStorage
	case errors.As(err, &path):
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error is an error of the connection
}

func fail(w http.ResponseWriter, status int, err error) {
	answer(w, status, map[string]any{"success": false, "message": err.Error()})
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, Prefix)
	id, below := strings.CutPrefix(rest, "/")
	switch {
	case !ok || rest != "" && !below:
		fail(w, http.StatusNotFound, errMissing)
	case id == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		list, problems, err := h.list()
		if err != nil {
			fail(w, statusOf(err), err)
			return
		}
		if list == nil {
			list = []kept{}
		}
		answer(w, http.StatusOK, struct {
			Dashboards []kept   `json:"dashboards"`
			Problems   []string `json:"problems,omitempty"`
			Success    bool     `json:"success"`
		}{list, problems, true})
	case id == "":
		w.Header().Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, errors.New("want GET"))
	case !goodID(id):
		fail(w, http.StatusBadRequest, errID)
	case r.Method == http.MethodPut:
		version, err := h.put(r, id)
		if err != nil {
			fail(w, statusOf(err), err)
			return
		}
		answer(w, http.StatusOK, map[string]any{"success": true, "version": version})
	case r.Method == http.MethodDelete:
		if err := h.remove(r, id); err != nil {
			fail(w, statusOf(err), err)
			return
		}
		answer(w, http.StatusOK, map[string]any{"success": true})
	default:
		w.Header().Set("Allow", "PUT, DELETE")
		fail(w, http.StatusMethodNotAllowed, errors.New("want PUT or DELETE"))
	}
}
