package daemonlog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/internal/safefile"
)

// Open opens the log at path for the daemon name and writes the header. An existing
// log becomes path.prev, or is removed if that fails (pmOpenLog(3)). Files that
// others may have planted in its place are not written to, see safefile.CreateLog.
// A device stays, unlike in C, where root's -l /dev/null removes it.
func Open(path, name string) (*os.File, error) {
	f, err := safefile.CreateLog(path, 0o644)
	if err != nil {
		return nil, err
	}
	return f, Header(f, name)
}

// Header writes what a log begins with.
func Header(w io.Writer, name string) error { return Begin(w, name, "started") }

// Begin writes what a log begins with: that it is one, and was started or rotated.
func Begin(w io.Writer, name, how string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	_, err = fmt.Fprintf(w, "Log for %s on %s %s %s\n\n", name, host, how, time.Now().Format(time.ANSIC))
	return err
}

// Footer writes what a log ends with.
func Footer(w io.Writer) error { return Mark(w, "finished") }

// Mark writes what a log ends with: that it was finished or rotated.
func Mark(w io.Writer, how string) error {
	_, err := fmt.Fprintf(w, "\nLog %s %s\n", how, time.Now().Format(time.ANSIC))
	return err
}

// Line returns a line of a log without its newline, for text that is written
// by itself (pmNotifyErr(3)).
func Line(name string, level slog.Level, text string) string {
	return prefix(time.Now(), name, level) + text
}

func prefix(now time.Time, name string, level slog.Level) string {
	return fmt.Sprintf("[%s] %s(%d) %s: ", now.Format("Mon Jan _2 15:04:05"), name, os.Getpid(), levelName(level))
}

// A Handler is a slog.Handler that writes such lines.
type Handler struct {
	name  string
	level slog.Leveler
	attrs string // of WithAttrs, as they will be written
	group string

	mu *sync.Mutex
	w  io.Writer
}

// NewHandler returns a Handler for the daemon name. It writes one line at a time.
func NewHandler(w io.Writer, name string, level slog.Leveler) *Handler {
	return &Handler{name: name, level: level, mu: new(sync.Mutex), w: w}
}

// Enabled implements slog.Handler.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements slog.Handler.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	var b bytes.Buffer
	b.WriteString(prefix(r.Time, h.name, r.Level) + r.Message + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		appendAttr(&b, h.group, a)
		return true
	})
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(b.Bytes())
	return err
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b bytes.Buffer
	for _, a := range attrs {
		appendAttr(&b, h.group, a)
	}
	other := *h
	other.attrs += b.String()
	return &other
}

// WithGroup implements slog.Handler.
func (h *Handler) WithGroup(name string) slog.Handler {
	other := *h
	other.group += name + "."
	return &other
}

func appendAttr(b *bytes.Buffer, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		for _, g := range v.Group() {
			appendAttr(b, group+a.Key+".", g)
		}
		return
	}
	text := v.String()
	// Text from a peer must not begin a new line, nor move a cursor.
	odd := func(r rune) bool { return r == '"' || r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }
	if text == "" || strings.ContainsFunc(text, odd) {
		text = strconv.Quote(text)
	}
	b.WriteString(" " + group + a.Key + "=" + text)
}

func levelName(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return "Debug"
	case l < slog.LevelWarn:
		return "Info"
	case l < slog.LevelError:
		return "Warning"
	}
	return "Error"
}
