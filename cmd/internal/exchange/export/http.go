package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// maxReply is how much of a server's reply is read.
const maxReply = 64 << 10

// A poster sends documents by HTTP.
type poster struct {
	client         http.Client
	user, password string
}

func newPoster(timeout time.Duration) *poster {
	return &poster{client: http.Client{Timeout: timeout, Transport: forgiving(), CheckRedirect: checkRedirect}}
}

// maxRedirects is how many a server may answer with.
const maxRedirects = 10

// checkRedirect keeps a server from redirecting messages elsewhere: to another host or port, a
// service of this host for example, or without TLS.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", errRejected, maxRedirects)
	case req.URL.Hostname() != first.Hostname() || port(req.URL) != port(first) && !upgrades(first, req.URL):
		return fmt.Errorf("%w: the server leads to %s; name that one if it is right", errRejected, req.URL.Host)
	case first.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("%w: the server leads from https to %s", errRejected, req.URL.Scheme)
	}
	return nil
}

// upgrades reports whether a redirect leads from HTTP to HTTPS on their usual ports.
func upgrades(from, to *url.URL) bool {
	return from.Scheme == "http" && to.Scheme == "https" && port(from) == "80" && port(to) == "443"
}

func port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// A statusError is a reply with the status of a failed request.
type statusError struct{ code int }

func (e statusError) Error() string { return fmt.Sprintf("HTTP code %d", e.code) }

// Is reports whether there is no use in sending the request again.
func (e statusError) Is(target error) bool {
	return target == errRejected && e.code < 500 && e.code != http.StatusTooManyRequests && e.code != http.StatusRequestTimeout
}

// do sends a request. Any status but those that ok accepts is a statusError.
func (p *poster) do(ctx context.Context, method, address, kind string, body []byte, ok func(int) bool) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return errors.Join(errRejected, err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if p.user != "" && p.password != "" {
		req.SetBasicAuth(p.user, p.password)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply))
	if !ok(resp.StatusCode) {
		return statusError{resp.StatusCode}
	}
	return nil
}

func success(code int) bool { return code >= 200 && code < 300 }
