package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	return &poster{client: http.Client{Timeout: timeout, Transport: forgiving()}}
}

// A statusError is a reply that says that a request was not carried out.
type statusError struct{ code int }

func (e statusError) Error() string { return fmt.Sprintf("HTTP code %d", e.code) }

// Is reports whether there is no use in sending the request again.
func (e statusError) Is(target error) bool {
	return target == errRejected && e.code < 500 && e.code != http.StatusTooManyRequests && e.code != http.StatusRequestTimeout
}

// do sends a request. Any status but those that ok accepts is a statusError.
func (p *poster) do(ctx context.Context, method, url, kind string, body []byte, ok func(int) bool) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
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
