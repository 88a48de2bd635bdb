package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
)

// A Reply is the reply of a server to Post.
type Reply struct {
	Status int
	Text   string // the status with its name
	Body   []byte // at most 64 KiB
}

// Post sends a request of another protocol to the URL of the receiver, and repeats it as Write does: after a lost connection, and for
// each status that again reports as temporary. Other replies, good or bad, are for the caller to judge.
func (c *Client) Post(ctx context.Context, header http.Header, body []byte, again func(status int) bool) (out Reply, err error) {
	err = c.repeat(ctx, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.write, bytes.NewReader(body))
		if err != nil {
			return err
		}
		c.header(req)
		for name, values := range header {
			req.Header[name] = values
		}
		r, b, err := c.do(req, maxReply)
		if err != nil {
			return err
		}
		if again(r.status) {
			text := fmt.Sprintf("%d %s", r.status, http.StatusText(r.status))
			return &Failure{Err: errors.New(c.write + ": " + text), After: r.after}
		}
		out = Reply{r.status, fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)), b}
		return nil
	})
	return out, err
}
