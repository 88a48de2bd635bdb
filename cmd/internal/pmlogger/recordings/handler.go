package recordings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
)

// Prefix is the path of the Handler.
const Prefix = "/recordings"

// statusOf returns the status of an answer with an error.
func statusOf(err error) int {
	var bad badRequest
	var away unavailable
	switch {
	case errors.As(err, &bad):
		return http.StatusBadRequest
	case errors.As(err, &away), errors.Is(err, errBusy):
		return http.StatusServiceUnavailable
	case errors.Is(err, errMissing):
		return http.StatusNotFound
	case errors.Is(err, errRunning), errors.Is(err, errOther):
		return http.StatusConflict
	case errors.Is(err, errFull), errors.Is(err, syscall.ENOSPC):
		return http.StatusInsufficientStorage
	case errors.Is(err, fs.ErrPermission):
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // an error is an error of the connection
}

func fail(w http.ResponseWriter, err error) {
	answer(w, statusOf(err), map[string]any{"success": false, "message": err.Error()})
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, Prefix)
	id, what, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case !ok || rest != "" && rest[0] != '/' || id != "" && !goodID(id):
		fail(w, errMissing)
	case id == "" && read:
		h.serveList(w)
	case id == "" && r.Method == http.MethodPost:
		h.serveBegin(w, r)
	case id != "" && what == "stop" && r.Method == http.MethodPost:
		rec, err := h.stop(r.Context(), id)
		send(w, rec, err)
	case id != "" && what == "" && r.Method == http.MethodDelete:
		send(w, Recording{ID: id}, h.remove(id))
	default:
		w.Header().Set("Allow", "GET, HEAD, POST, DELETE")
		answer(w, http.StatusMethodNotAllowed, map[string]any{"success": false, "message": "want GET or POST of " + Prefix + ", POST of a recording's stop, or DELETE of a recording"})
	}
}

func (h *Handler) serveList(w http.ResponseWriter) {
	h.mu.Lock()
	list, _, err := h.list()
	h.mu.Unlock()
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, struct {
		Recordings []Recording `json:"recordings"`
		MaxSeconds int         `json:"max_seconds"`
		MaxBytes   int         `json:"max_bytes"`
		Success    bool        `json:"success"`
	}{list, MaxSeconds, MaxBytes, true})
}

func (h *Handler) serveBegin(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	var q request
	switch {
	case err != nil:
	case len(b) > maxBody:
		err = badRequest(fmt.Sprintf("more than %d bytes", maxBody))
	default:
		if e := json.Unmarshal(b, &q); e != nil {
			err = badRequest("not a recording: " + e.Error())
		}
	}
	var rec Recording
	if err == nil {
		rec, err = h.begin(r.Context(), q)
	}
	send(w, rec, err)
}

func send(w http.ResponseWriter, rec Recording, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, struct {
		Recording
		Success bool `json:"success"`
	}{rec, true})
}
