package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/klauspost/compress/s2"

	"github.com/go-pcp/pcp/internal/pacing"
)

// Defaults of a Config.
const (
	DefaultTimeout = time.Minute
	DefaultRetry   = 5 * time.Minute
)

const (
	maxReply  = 64 << 10 // bytes read of the reply to a request
	maxFound  = 8 << 20  // bytes of the answer to a query
	maxTracks = 64 << 20 // bytes of the answer to a query for samples
	maxGet    = 2 << 10  // bytes of a query in an address
	maxReason = 160      // bytes of a reason
	writePath = "/api/v1/write"
	queryPath = "/api/v1/query"

	// written is the header with the number of samples that a server of version 2.0 took.
	written = "X-Prometheus-Remote-Write-Samples-Written"
)

// A Config configures a Client.
type Config struct {
	// URL is that of the server, or of its receiver if it has a path: http://localhost:9090 is
	// http://localhost:9090/api/v1/write.
	URL string
	// Query is the URL below which the server has /api/v1/query; "" means the one of URL.
	Query string
	// Header has more headers of all requests.
	Header http.Header
	// Token, if not "", is a bearer token. User and Password are for basic authentication.
	Token, User, Password string
	// TLS is used for URLs that begin with https; nil means the zero Config.
	TLS *tls.Config
	// Connections, if not nil, are shared with other Clients. TLS is not used then.
	Connections *Connections
	// UserAgent is the name and version of the program.
	UserAgent string
	// Timeout limits the time for a reply, and Retry that from the first attempt to the last one; 0 means the default.
	Timeout, Retry time.Duration
	// Version is the version of the protocol; 0 means that it is negotiated.
	Version Version
	// Warn, if not nil, is called before the wait for another attempt.
	Warn func(err error, wait time.Duration)
}

// A Client sends requests to one server. It is for one goroutine.
type Client struct {
	cfg          Config
	write, query string
	http         *http.Client
	version      Version // 0: not known yet
	enc          Encoder
	wait         func(ctx context.Context, d time.Duration) bool // pacing.Sleep, but in tests
}

// delays are those between attempts. They are random, so that many senders do not come back together.
var delays = pacing.Backoff{First: 250 * time.Millisecond, Longest: 30 * time.Second}

// errSecret is the reason why a token or password is not sent.
var errSecret = errors.New("a token or password is sent only over https, or to this host")

// New returns a Client. Its errors name no secrets.
func New(cfg Config) (*Client, error) {
	u, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = writePath
	}
	q := *u
	if cfg.Query != "" {
		p, err := parse(cfg.Query)
		if err != nil {
			return nil, fmt.Errorf("for queries: %w", err)
		}
		q = *p
		q.Path = strings.TrimSuffix(q.Path, "/") + queryPath
	} else {
		i := strings.LastIndex(strings.TrimSuffix(u.Path, "/"), "/api/v1/")
		q.Path, q.RawQuery = u.Path[:max(i, 0)]+queryPath, ""
	}
	if cfg.Token != "" && cfg.User != "" {
		return nil, errors.New("either a token or a user with a password is possible")
	}
	if cfg.Token != "" || cfg.User != "" {
		for _, u := range []*url.URL{u, &q} {
			if u.Scheme != "https" && !local(u.Hostname()) {
				return nil, fmt.Errorf("%s: %w", u.Host, errSecret)
			}
		}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Retry <= 0 {
		cfg.Retry = DefaultRetry
	}
	if cfg.Warn == nil {
		cfg.Warn = func(error, time.Duration) {}
	}
	if cfg.Connections == nil {
		cfg.Connections = NewConnections(cfg.TLS)
	}
	return &Client{
		cfg: cfg, write: u.String(), query: q.String(), version: cfg.Version, wait: pacing.Sleep,
		http: &http.Client{Transport: cfg.Connections, Timeout: cfg.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}, nil
}

// parse parses a URL. Its errors do not contain it, as it may have a password.
func parse(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return nil, errors.New("the URL of a server is http://HOST:PORT or https://HOST:PORT, with a path if it has one")
	}
	if u.User != nil {
		return nil, errors.New("a URL with a user or password is not accepted; there are options for them")
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) || u.Hostname() == "" {
		return nil, fmt.Errorf("%q is not the host of a URL, with a port up to 65535", u.Host)
	}
	return u, nil
}

// local reports whether a host is this one.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Version returns the version of the protocol, 0 if it is not known yet.
func (c *Client) Version() Version { return c.version }

// An Outcome is the result of a request that reached the server.
type Outcome struct {
	Bytes    int    // of the compressed request
	Rejected int    // number of samples that the server did not take
	Reason   string // the status and the first line of the reply, if there are any
}

// A Failure is the error of an attempt that may succeed later.
type Failure struct {
	Err     error
	Unclear bool          // the server may have taken the request
	After   time.Duration // of Retry-After
}

func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Failure) Unwrap() error { return e.Err }

// A Refusal is the error of a request that the server refuses as it would refuse any other.
type Refusal struct {
	Status int // of HTTP
	Err    error
}

func (e *Refusal) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Refusal) Unwrap() error { return e.Err }

// Try is one attempt of Write.
func (c *Client) Try(ctx context.Context, list []Series) (Outcome, error) { return c.send(ctx, list) }

// Write sends series in one request, and repeats it as long as that may help. If it is not clear after a failed attempt whether the
// server has the samples, Write calls arrived, if that is not nil, before the next one. An error that is not a [Failure] ends
// Write.
func (c *Client) Write(ctx context.Context, list []Series, arrived func(context.Context) (bool, error)) (out Outcome, err error) {
	unclear := false
	err = c.repeat(ctx, func() error {
		if unclear && arrived != nil {
			there, err := arrived(ctx)
			if there || err != nil {
				return err
			}
		}
		var err error
		out, err = c.send(ctx, list)
		var f *Failure
		unclear = unclear || errors.As(err, &f) && f.Unclear
		return err
	})
	return out, err
}

// repeat calls f until it succeeds or returns an error that is not a Failure.
func (c *Client) repeat(ctx context.Context, f func() error) error {
	start := time.Now()
	for n := 1; ; n++ {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var failure *Failure
		if !errors.As(err, &failure) {
			return err
		}
		wait := max(delays.After(n), failure.After)
		if time.Since(start)+wait > c.cfg.Retry {
			return fmt.Errorf("given up after %v: %w", time.Since(start).Round(time.Second), err)
		}
		c.cfg.Warn(err, wait)
		if !c.wait(ctx, wait) {
			return context.Cause(ctx)
		}
	}
}

// send makes an attempt, of two requests if the server does not know version 2.0.
func (c *Client) send(ctx context.Context, list []Series) (Outcome, error) {
	samples := 0
	for i := range list {
		samples += len(list[i].Samples)
	}
	version := c.version
	if version == 0 {
		version = V2
	}
	taken := false
	defer func() {
		if !taken {
			c.enc.told = nil // so that the next request has the metadata
		}
	}()
	out, r, err := c.post(ctx, version, list)
	if err != nil {
		return out, err
	}
	if version == V2 && c.cfg.Version == 0 && c.old(r) {
		version = V1
		if out, r, err = c.post(ctx, version, list); err != nil {
			return out, err
		}
	}
	took, confirmed := r.written(samples)
	switch {
	case r.status/100 == 2:
		c.version, taken = version, true
		if version == V1 {
			return out, nil
		}
		if !confirmed {
			return out, fmt.Errorf("%s does not confirm that it took samples of version 2.0", c.write)
		}
		if out.Rejected = samples - took; out.Rejected > 0 {
			out.Reason = "not written"
		}
		return out, nil
	case busy(r.status):
		return out, &Failure{fmt.Errorf("%s: %s", c.write, r.reason), r.status/100 == 5, r.after}
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden, r.status == http.StatusNotFound,
		r.status == http.StatusMethodNotAllowed, r.status/100 != 4:
		return out, &Refusal{r.status, fmt.Errorf("%s: %s", c.write, r.reason)}
	}
	if version == V2 && confirmed {
		c.version = V2
	}
	out.Rejected, out.Reason = samples-took, r.reason
	return out, nil
}

// busy reports whether a status asks for another attempt.
func busy(status int) bool {
	return status/100 == 5 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// old reports whether a reply to a request of version 2.0 is that of a server that does not know it. Some take it for an empty request of
// version 1.0.
func (c *Client) old(r *reply) bool {
	_, confirmed := r.written(0)
	switch r.status {
	case http.StatusUnsupportedMediaType:
		return true
	case http.StatusBadRequest:
		return c.version == 0 && !confirmed
	}
	return r.status/100 == 2 && !confirmed
}

// A reply is the reply to a request.
type reply struct {
	status int
	header http.Header
	reason string
	after  time.Duration
}

// written returns the number of samples of a request that the server took, and whether it named a number.
func (r *reply) written(of int) (n int, ok bool) {
	text := r.header.Get(written)
	if text == "" {
		return 0, false
	}
	u, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, false
	}
	return min(int(u), of), true
}

func (c *Client) post(ctx context.Context, v Version, list []Series) (Outcome, *reply, error) {
	mem := rooms.Get().(*room)
	c.enc.room = *mem
	body := c.enc.Encode(v, list)
	*mem, c.enc.room = c.enc.room, room{}
	if n := s2.MaxEncodedLen(len(body)); n > len(mem.compressed) {
		mem.compressed = make([]byte, n)
	}
	body = s2.EncodeSnappy(mem.compressed, body)
	out := Outcome{Bytes: len(body)}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.write, bytes.NewReader(body))
	if err != nil {
		return out, nil, err
	}
	c.header(req)
	kind, number := "application/x-protobuf", "0.1.0"
	if v == V2 {
		kind, number = "application/x-protobuf;proto=io.prometheus.write.v2.Request", "2.0.0"
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("X-Prometheus-Remote-Write-Version", number)
	r, _, err := c.do(req, maxReply)
	if err == nil && r.status/100 == 2 { // otherwise the body may still be read
		rooms.Put(mem)
	}
	return out, r, err
}

// header sets the headers of all requests.
func (c *Client) header(req *http.Request) {
	for name, values := range c.cfg.Header {
		req.Header[name] = values
	}
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	switch {
	case c.cfg.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	case c.cfg.User != "":
		req.SetBasicAuth(c.cfg.User, c.cfg.Password)
	}
}

// do makes a request. It reads at most so many bytes of the reply.
func (c *Client) do(req *http.Request, most int64) (*reply, []byte, error) {
	w, err := c.http.Do(req)
	if err != nil {
		return nil, nil, failed(req, err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(io.LimitReader(w.Body, most))
	if err != nil {
		c.cfg.Connections.failed(req.Context())
	}
	if err != nil && w.StatusCode/100 == 2 && most != maxReply {
		return nil, nil, failed(req, err)
	}
	return &reply{w.StatusCode, w.Header, reason(w.Status, b), retryAfter(w.Header.Get("Retry-After"), time.Now())}, b, nil
}

// failed returns the error of a request without a reply.
func failed(req *http.Request, err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the URL, which for queries is long
	}
	at := *req.URL
	at.RawQuery = ""
	err = fmt.Errorf("%s: %w", at.String(), err)
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &verify) || errors.As(err, &unknown) || errors.Is(err, context.Canceled) {
		return err
	}
	return &Failure{Err: err, Unclear: true}
}

// reason returns the status of a reply and the first line of its contents.
func reason(status string, body []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	if len(line) > maxReason {
		line = append(line[:maxReason:maxReason], "..."...)
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(line), ""))
	if text == "" || strings.HasPrefix(text, "<") { // a page
		return status
	}
	return status + ": " + text
}

// retryAfter returns how long to wait by a value of the header, a number of seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	const most = 1 << 30
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return time.Duration(min(n, most)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(0, min(t.Sub(now), most*time.Second))
	}
	return 0
}

// A Point is a series of the answer to a query, and its value.
type Point struct {
	Labels map[string]string
	Value  float64
}

// Query asks for the value of an expression at a time in milliseconds, and repeats that as long as it may help.
func (c *Client) Query(ctx context.Context, expr string, at int64) (list []Point, err error) {
	err = c.repeat(ctx, func() error {
		list, err = c.Ask(ctx, expr, at)
		return err
	})
	return list, err
}

// Ask is one attempt of Query.
func (c *Client) Ask(ctx context.Context, expr string, at int64) ([]Point, error) {
	b, err := c.ask(ctx, expr, at, maxFound)
	if err != nil {
		return nil, err
	}
	list, err := points(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.query, err)
	}
	return list, nil
}

// A Track is a series of the server with the times of its samples in milliseconds.
type Track struct {
	Labels map[string]string
	Times  []int64
}

// Tracks returns the series of a selector, with their samples after a time and up to another one, in one attempt.
func (c *Client) Tracks(ctx context.Context, selector string, after, end int64) ([]Track, error) {
	b, err := c.ask(ctx, fmt.Sprintf("%s[%dms]", selector, max(end-after, 1)), end, maxTracks)
	if err != nil {
		return nil, err
	}
	list, err := tracks(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.query, err)
	}
	return list, nil
}

// ask returns the answer to a query, of at most so many bytes.
func (c *Client) ask(ctx context.Context, expr string, at, most int64) ([]byte, error) {
	// The last two are for VictoriaMetrics, which else hides the last half minute and answers from its cache.
	v := url.Values{"query": {expr}, "time": {strconv.FormatFloat(float64(at)/1000, 'f', 3, 64)}, "latency_offset": {"1ms"}, "nocache": {"1"}}
	target, body := c.query, v.Encode()
	method := http.MethodPost
	if len(body) < maxGet {
		method = http.MethodGet
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		target, body = target+sep+body, ""
	}
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	c.header(req)
	r, b, err := c.do(req, most)
	if err != nil {
		return nil, err
	}
	switch {
	case busy(r.status):
		return nil, &Failure{Err: fmt.Errorf("%s: %s", c.query, r.reason), After: r.after}
	case r.status/100 != 2:
		return nil, &Refusal{r.status, fmt.Errorf("%s: %s", c.query, r.reason)}
	}
	return b, nil
}

// tracks reads the answer to a query for samples.
func tracks(b []byte) ([]Track, error) {
	var a struct {
		Status string
		Data   struct {
			Type   string `json:"resultType"`
			Result []struct {
				Metric map[string]string
				Values [][]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("the answer is not one of /api/v1/query: %w", err)
	}
	if a.Status != "success" || a.Data.Type != "matrix" {
		return nil, errors.New("the answer is not one of /api/v1/query")
	}
	list := make([]Track, 0, len(a.Data.Result))
	for _, r := range a.Data.Result {
		t := Track{Labels: r.Metric, Times: make([]int64, 0, len(r.Values))}
		for _, v := range r.Values {
			if len(v) != 2 {
				return nil, errors.New("the answer has a value without a time")
			}
			sec, err := strconv.ParseFloat(string(v[0]), 64)
			if err != nil || !(math.Abs(sec) < 1<<43) {
				return nil, fmt.Errorf("the answer has %.40q for a time", v[0])
			}
			t.Times = append(t.Times, int64(math.Round(sec*1000)))
		}
		list = append(list, t)
	}
	return list, nil
}

// points reads the answer to a query.
func points(b []byte) ([]Point, error) {
	var a struct {
		Status string
		Data   struct {
			Type   string `json:"resultType"`
			Result []struct {
				Metric map[string]string
				Value  []any
			}
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("the answer is not one of /api/v1/query: %w", err)
	}
	if a.Status != "success" || a.Data.Type != "vector" {
		return nil, errors.New("the answer is not one of /api/v1/query")
	}
	var list []Point
	for _, r := range a.Data.Result {
		if len(r.Value) != 2 {
			return nil, errors.New("the answer has a value without a time")
		}
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("the answer has %.40q for a number", text)
		}
		list = append(list, Point{r.Metric, v})
	}
	return list, nil
}
