package openmetrics

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// transfer gets the text of the source and parses it.
func (s *source) transfer(ctx context.Context) (out outcome, err error) {
	if err := s.refreshConfig(); err != nil {
		return out, err
	}
	timeout := s.a.timeout
	ctx, cancel := context.WithTimeout(ctx, 2*timeout)
	defer cancel()
	switch {
	case s.script:
		taken := int64(0)
		defer func() { s.a.budget.give(&s.held, taken) }()
		text, err := s.runScript(ctx, func(n int) error {
			err := s.a.budget.take(&s.held, int64(n))
			if err == nil {
				taken += int64(n)
			}
			return err
		})
		if err != nil {
			return out, err
		}
		return out, s.parse(bytes.NewReader(text), &out)
	case s.url.file != "":
		f, err := openRegular(s.url.file)
		if err != nil {
			return out, err
		}
		defer f.Close()
		return out, s.parse(f, &out)
	}
	return out, s.get(ctx, cancel, timeout, &out)
}

// get reads the URL. The reply must begin within the time limit, and no pause in it may be longer.
func (s *source) get(ctx context.Context, cancel context.CancelFunc, timeout time.Duration, out *outcome) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.url, nil)
	if err != nil {
		return err
	}
	req.Header = s.url.headers.Clone()
	req.Host = s.url.hostName
	setDefault := func(name, value string) {
		if req.Header.Get(name) == "" {
			req.Header.Set(name, value)
		}
	}
	setDefault("User-Agent", s.a.userAgent)
	setDefault("Accept", "*/*")
	if !local(req.URL.Hostname()) {
		setDefault("Accept-Encoding", "gzip, deflate")
	} else {
		setDefault("Accept-Encoding", "identity") // packing would cost more than it saves
	}
	late := false
	var mu sync.Mutex
	timer := time.AfterFunc(timeout, func() {
		mu.Lock()
		late = true
		mu.Unlock()
		cancel()
	})
	defer timer.Stop()
	judge := func(err error) error {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && (late || errors.Is(err, context.DeadlineExceeded)) {
			return fmt.Errorf("%s: no answer within %v: %w", s.url.shown, timeout, context.DeadlineExceeded)
		}
		return err
	}
	resp, err := s.a.client.Do(req)
	if err != nil {
		return judge(err)
	}
	defer resp.Body.Close()
	out.code = int32(resp.StatusCode)
	if resp.StatusCode >= 400 {
		io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
		return fmt.Errorf("%s: status %s", s.url.shown, resp.Status)
	}
	body, err := s.unpacked(resp.Header.Get("Content-Encoding"), &prodded{resp.Body, timer, timeout})
	if err != nil {
		return judge(err)
	}
	return judge(s.parse(body, out))
}

// prodded restarts a timer whenever bytes come.
type prodded struct {
	r       io.Reader
	timer   *time.Timer
	timeout time.Duration
}

func (p *prodded) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.timer.Reset(p.timeout)
	}
	return n, err
}

// local reports whether a host is this one.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// An inflater has the reusable state for unpacking replies.
type inflater struct {
	gzip *gzip.Reader
}

// unpacked returns a reader of what r has, in an encoding of HTTP. How much comes out of it is
// limited where it is parsed.
func (s *source) unpacked(encoding string, r io.Reader) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		if s.inflate == nil {
			z, err := gzip.NewReader(r)
			if err != nil {
				return nil, fmt.Errorf("%s: gzip: %w", s.url.shown, err)
			}
			s.inflate = &inflater{z}
			return z, nil
		}
		if err := s.inflate.gzip.Reset(r); err != nil {
			return nil, fmt.Errorf("%s: gzip: %w", s.url.shown, err)
		}
		return s.inflate.gzip, nil
	case "deflate":
		return deflated(r)
	}
	return nil, fmt.Errorf("%s: unknown encoding %.40q", s.url.shown, encoding)
}

// deflated reads what HTTP calls deflate: a zlib stream, or as some servers have it without its header.
func deflated(r io.Reader) (io.Reader, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	if head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return flate.NewReader(r), nil
	}
	return flate.NewReader(io.MultiReader(bytes.NewReader(head[:]), r)), nil
}

// maxRedirects is as many as the Python agent follows.
const maxRedirects = 30

// newClient returns the client of all sources.
func newClient(connections int) *http.Client {
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
		MaxIdleConns:           0, // as many as there are sources
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        2 * time.Minute,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true, // see source.unpacked
		ForceAttemptHTTP2:      true,
		WriteBufferSize:        2 << 10,
		ReadBufferSize:         16 << 10,
	}
	return &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if first := via[0]; req.URL.Host != first.URL.Host || first.URL.Scheme == "https" && req.URL.Scheme != "https" {
			// Headers meant for one server, for example with tokens, are not for another.
			for name := range req.Header {
				switch name {
				case "Accept", "Accept-Encoding", "User-Agent":
				default:
					req.Header.Del(name)
				}
			}
		}
		return nil
	}}
}
