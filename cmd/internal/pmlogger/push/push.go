package push

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

const (
	// maxPiece is the maximum size of one request, below pmproxy's limit. After requests that take too long
	// they are smaller, down to minPiece.
	maxPiece = 1 << 20
	minPiece = 16 << 10
	// maxAnswer limits the bytes read of an answer.
	maxAnswer = 64 << 10
	// connectTime limits the time to connect to a server.
	connectTime = 15 * time.Second
	// DefaultTimeout limits the time for an answer.
	DefaultTimeout = time.Minute
	// DefaultInterval is the time between checks of a growing archive.
	DefaultInterval = time.Second
	// maxPause is the longest time between attempts to reach a server.
	maxPause = time.Minute
	// lastPause is the same after the archive is complete.
	lastPause = time.Second
)

// A Config configures a Pusher.
type Config struct {
	// URL is the server's URL: scheme, host and port.
	URL string
	// Socket, if not "", is the path of the Unix socket to connect to.
	Socket string
	// TLS is used for URLs that begin with https; nil means the zero Config.
	TLS *tls.Config
	// Token, if not "", is the bearer token to send. It is sent over TLS or a socket, or to this host.
	Token string
	// Interval is the time between checks of a growing archive; 0 means DefaultInterval.
	Interval time.Duration
	// Timeout limits the time for an answer; 0 means a minute.
	Timeout time.Duration
	// Progress, if not nil, is called with the number of bytes sent, and the total of Push.
	Progress func(done, total int64)
	// Say, if not nil, is called with a line for each request.
	Say func(line string)
	// Warn, if not nil, is called with the error after each attempt that did not reach a server; Back, when
	// the server accepts requests again.
	Warn func(err error)
	Back func()
}

// A Pusher pushes archives, one at a time.
type Pusher struct {
	cfg    Config
	base   string // of the URL
	client *http.Client

	id    uint32
	label archive.Label
	meta  int64
	index int64
	vol   int   // the current volume
	data  int64 // bytes of it on the server
	piece int   // size of requests

	sent, total int64 // counts of Push
	pushed      int64 // bytes since New
}

// New returns a Pusher.
func New(cfg Config) (*Pusher, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q is not of the form http://HOST:PORT", cfg.URL)
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not of the form http://HOST:PORT, with a port up to 65535", cfg.URL)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "44322")
	}
	if cfg.Token != "" && cfg.Socket == "" && u.Scheme != "https" && !local(u.Hostname()) {
		return nil, fmt.Errorf("%s is not encrypted: the token would be readable; use https", cfg.URL)
	}
	if cfg.Interval <= 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Say == nil {
		cfg.Say = func(string) {}
	}
	if cfg.Warn == nil {
		cfg.Warn = func(error) {}
	}
	if cfg.Back == nil {
		cfg.Back = func() {}
	}
	tr := &http.Transport{ // no proxy from the environment
		TLSClientConfig: cfg.TLS, TLSHandshakeTimeout: connectTime,
		DialContext: (&net.Dialer{Timeout: connectTime}).DialContext,
	}
	if cfg.Socket != "" {
		tr.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", cfg.Socket)
		}
	}
	return &Pusher{cfg: cfg, base: u.Scheme + "://" + u.Host, vol: -1, piece: maxPiece, client: &http.Client{
		Transport: tr, Timeout: cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// local reports whether a host is this one.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close closes idle connections.
func (p *Pusher) Close() { p.client.CloseIdleConnections() }

// Ping returns nil if archives can be pushed, otherwise the reason.
func (p *Pusher) Ping(ctx context.Context) error {
	_, err := p.do(ctx, http.MethodGet, "/logger/ping", nil)
	return err
}

// A StatusError is a server's refusal.
type StatusError struct {
	Path, Message string
	Status        int
}

// Error returns the message of pmlogpush, with the server's message.
func (e *StatusError) Error() string {
	text := "server error"
	switch e.Status {
	case http.StatusBadRequest:
		text = "bad request"
	case http.StatusUnauthorized, http.StatusForbidden:
		text = "forbidden"
	case http.StatusConflict:
		text = "conflict"
	case http.StatusGone:
		text = "resource gone"
	case http.StatusUnprocessableEntity:
		text = "unprocessable"
	}
	text = fmt.Sprintf("%s HTTP error: %s (%d)", e.Path, text, e.Status)
	if e.Message != "" {
		text += " - " + e.Message
	}
	return text
}

// A lostError is the error of a missing answer. Another attempt may get one.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// An answerError is the error of an answer that is not one of pmproxy.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// Passing reports whether an error of [Pusher.Ping] or [Pusher.Push] may be temporary: a server that cannot be
// reached, does not answer, or has no room.
func Passing(err error) bool {
	var lost *lostError
	var status *StatusError
	return errors.As(err, &lost) || errors.As(err, &status) && (status.Status == http.StatusGone || status.Status >= 500)
}

// An answer is a response of the server.
type answer struct {
	Archive     uint32
	Meta, Index int64
	Volume      *int
	Bytes       int64
	Message     string
	Success     bool
}

func (p *Pusher) do(ctx context.Context, method, path string, body []byte) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/octet-stream")
	}
	if p.cfg.Token != "" {
		r.Header.Set("Authorization", "Bearer "+p.cfg.Token)
	}
	w, err := p.client.Do(r)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		name, _, _ := strings.Cut(path, "?")
		return a, &lostError{fmt.Errorf("%s %s %s failed: %w", p.base, name, method, err)}
	}
	defer w.Body.Close()
	name, _, _ := strings.Cut(path, "?")
	b, err := io.ReadAll(io.LimitReader(w.Body, maxAnswer))
	if err != nil {
		return a, &lostError{fmt.Errorf("%s %s: %w", p.base, name, err)}
	}
	p.cfg.Say(fmt.Sprintf("%s %s result: %s", method, name, bytes.TrimSpace(b)))
	bad := json.Unmarshal(b, &a)
	switch {
	case w.StatusCode/100 != 2:
		return a, &StatusError{name, a.Message, w.StatusCode}
	case bad != nil || !a.Success:
		return a, &answerError{fmt.Sprintf("%s%s: unexpected answer %.100q", p.base, name, b)}
	}
	return a, nil
}

// begin posts the label.
func (p *Pusher) begin(ctx context.Context, label archive.Label) error {
	label.Vol = 0
	b := label.Append(nil)
	p.cfg.Say(fmt.Sprintf("HTTP POST v%d label log from host %s [%d bytes]", label.Version, label.Host, len(b)))
	a, err := p.do(ctx, http.MethodPost, "/logger/label?resume=true", b)
	if err != nil {
		return err
	}
	if a.Archive == 0 {
		return &answerError{p.base + "/logger/label: the answer has no number of an archive"}
	}
	size := int64(len(b))
	if a.Meta != 0 && (a.Meta < size || a.Index < size) || a.Volume != nil && (*a.Volume < 0 || a.Bytes < size) {
		return &answerError{fmt.Sprintf("%s/logger/label: the answer has sizes that no file has", p.base)}
	}
	p.id, p.label, p.meta, p.index, p.vol, p.data = a.Archive, label, size, size, -1, size
	if a.Volume != nil {
		p.vol, p.data = *a.Volume, a.Bytes
	}
	if a.Meta > 0 {
		p.meta, p.index = a.Meta, a.Index
	}
	return nil
}

// send pushes a file from an offset up to its size.
func (p *Pusher) send(ctx context.Context, kind string, f io.ReaderAt, off *int64, size int64) error {
	buf := make([]byte, min(max(size-*off, 0), maxPiece))
	for *off < size {
		buf := buf[:min(len(buf), p.piece)]
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-*off)], *off)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				return fmt.Errorf("%s ends at %d of %d bytes", kind, *off, size)
			}
			return err
		}
		p.cfg.Say(fmt.Sprintf("HTTP %s POST (archive=%d, %d bytes)", kind, p.id, n))
		if _, err := p.do(ctx, http.MethodPost, fmt.Sprintf("/logger/%s/%d?offset=%d", kind, p.id, *off), buf[:n]); err != nil {
			if lost, ok := errors.AsType[*lostError](err); ok && isTimeout(lost.err) {
				p.piece = max(p.piece/4, minPiece)
			}
			return err
		}
		p.piece = min(2*p.piece, maxPiece)
		*off += int64(n)
		p.sent += int64(n)
		p.pushed += int64(n)
		if p.cfg.Progress != nil {
			p.cfg.Progress(p.sent, p.total)
		}
	}
	return nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// end ends the archive on the server, which then has it on disk. Other servers than ours do not know this request, and
// end archives after a time.
func (p *Pusher) end(ctx context.Context) error {
	if p.id == 0 {
		return nil
	}
	p.cfg.Say(fmt.Sprintf("HTTP end POST (archive=%d)", p.id))
	_, err := p.do(ctx, http.MethodPost, fmt.Sprintf("/logger/end/%d", p.id), nil)
	if status, ok := errors.AsType[*StatusError](err); ok {
		switch status.Status {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
			err = nil
		}
	}
	if err == nil {
		p.id = 0
	}
	return err
}

// errNotBegun is the error of an archive without a label.
var errNotBegun = fmt.Errorf("the file is empty: %w", pcp.ErrLabel)

// readLabel reads the label of an archive's metadata.
func readLabel(meta *archive.File) (archive.Label, error) {
	var head [1024]byte
	n, err := meta.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return archive.Label{}, err
	}
	if n == 0 {
		return archive.Label{}, fmt.Errorf("%s: %w", meta.Name(), errNotBegun)
	}
	label, err := archive.DecodeLabel(head[:n])
	if err != nil {
		return archive.Label{}, fmt.Errorf("%s: %w", meta.Name(), err)
	}
	return label, nil
}

// Push pushes the current contents of an archive.
func (p *Pusher) Push(ctx context.Context, base string) error {
	files, err := archive.FindFiles(base)
	if err != nil {
		return err
	}
	meta, err := archive.OpenFile(files.Meta)
	if err != nil {
		return err
	}
	defer meta.Close()
	label, err := readLabel(meta)
	if err != nil {
		return err
	}
	if label.Vol = 0; p.id == 0 || label != p.label {
		if err := p.begin(ctx, label); err != nil {
			return err
		}
	}
	// A writer writes metadata before the records that need them, and the index
	// last: contents up to a size found here depend only on other files up to
	// their sizes found later.
	var index *archive.File
	var indexSize int64
	if files.Index != "" {
		if index, err = archive.OpenFile(files.Index); err != nil {
			return err
		}
		defer index.Close()
		if indexSize, err = index.Size(); err != nil {
			return err
		}
	}
	sizes := make([]int64, len(files.Volumes))
	volumes := make([]*archive.File, len(files.Volumes))
	for i, path := range files.Volumes {
		if files.Numbers[i] < p.vol {
			continue
		}
		f, err := archive.OpenFile(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if sizes[i], err = f.Size(); err != nil {
			return err
		}
		volumes[i] = f
	}
	metaSize, err := meta.Size()
	if err != nil {
		return err
	}
	p.sent, p.total = p.meta+p.data+p.index, metaSize+indexSize
	for _, size := range sizes {
		p.total += size
	}
	if err := p.send(ctx, "meta", meta, &p.meta, metaSize); err != nil {
		return err
	}
	for i, f := range volumes {
		if f == nil {
			continue
		}
		if files.Numbers[i] > p.vol {
			p.vol, p.data = files.Numbers[i], int64(archive.LabelSize(label.Version))
		}
		if err := p.send(ctx, fmt.Sprintf("volume/%d", p.vol), f, &p.data, sizes[i]); err != nil {
			return err
		}
	}
	if index == nil {
		return nil
	}
	return p.send(ctx, "index", index, &p.index, indexSize)
}

// Follow pushes an archive while it grows, until done reports that it is complete or ctx is
// done. It continues when a server can be reached again, with a new archive if necessary.
// It ends with errors of the archive, and with permanent refusals.
func (p *Pusher) Follow(ctx context.Context, base string, done func() bool) error {
	return p.follow(ctx, base, done, nil, nil)
}

// follow implements Follow. Once wake is closed it stops waiting, and it calls each after each attempt.
func (p *Pusher) follow(ctx context.Context, base string, done func() bool, wake <-chan struct{}, each func()) error {
	pause, away := p.cfg.Interval, false
	for {
		last := done()
		err := p.Push(ctx, base)
		if err == nil && away {
			away = false
			p.cfg.Back()
		}
		if each != nil {
			each()
		}
		var status *StatusError
		switch {
		case err == nil && last:
			return nil
		case ctx.Err() != nil:
			return nil
		case err == nil, errors.Is(err, errNotBegun) && !last:
			pause = p.cfg.Interval
		case Passing(err):
			if errors.As(err, &status) {
				p.id = 0
			}
			away = true
			p.cfg.Warn(err)
			pause = min(2*pause, maxPause)
		default:
			return err
		}
		if last { // the reason for waking was handled
			wake = nil
			pause = min(pause, lastPause)
		}
		select {
		case <-time.After(pause):
		case <-wake:
		case <-ctx.Done():
			return nil
		}
	}
}
