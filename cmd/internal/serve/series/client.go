package series

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// maxError is the maximum number of bytes read of an error answer.
const maxError = 1 << 20

// A client makes /series requests, of a server or of a handler in this process.
type client struct {
	base string
	name string // options that name the server, "" in this process
	http *http.Client
	end  func()
}

func newRemote(host, port string) *client {
	return &client{base: "http://" + net.JoinHostPort(host, port), http: &http.Client{}, end: func() {}}
}

// newLocal opens archives.
func newLocal(ctx context.Context, env *cli.Env, cfg archives.Config) (*client, error) {
	cfg.Interval = -1
	if cfg.Index != "" {
		if err := os.MkdirAll(filepath.Dir(cfg.Index), 0o700); err != nil {
			return nil, err
		}
	}
	store, err := archives.Open(ctx, cfg)
	if err != nil && cfg.Index != "" && ctx.Err() == nil { // another process has it
		cfg.Index = ""
		store, err = archives.Open(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	return newHandled(env, store)
}

// newHandled answers requests from a store in this process, which it closes.
func newHandled(env *cli.Env, store series.Store) (*client, error) {
	h, err := seriesapi.New(seriesapi.Config{Store: store, Zone: env.Local(), Timeout: 24 * time.Hour})
	if err != nil {
		store.Close()
		return nil, err
	}
	return &client{base: "http://local", http: &http.Client{Transport: inProcess{h}}, end: func() { h.Close(); store.Close() }}, nil
}

func (c *client) close() { c.end() }

// inProcess answers requests by a handler, without a network.
type inProcess struct{ handler http.Handler }

// RoundTrip runs the handler; the answer is read while it is made.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pw: pw, begun: make(chan struct{})}
	go func() {
		defer func() {
			if recover() != nil { // http.ErrAbortHandler: the answer is cut
				w.WriteHeader(http.StatusInternalServerError)
				pw.CloseWithError(io.ErrUnexpectedEOF)
			}
		}()
		t.handler.ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		pw.Close()
	}()
	<-w.begun
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Header: w.header, Body: pr, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

type pipeWriter struct {
	header http.Header
	pw     *io.PipeWriter
	status int
	begun  chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		close(w.begun)
	}
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pw.Write(b)
}

// A refusal is an error that a server answered. Its message is the server's,
// empty if there is none.
type refusal struct{ message string }

func (r *refusal) Error() string { return r.message }

// post makes a request and returns the answer to read.
func (c *client) post(ctx context.Context, command string, params url.Values) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/series/"+command, strings.NewReader(params.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.http.Do(r)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		if c.name != "" {
			err = fmt.Errorf("%s: %w", c.name, err)
		}
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return nil, err
	}
	var answer struct{ Message string }
	if json.Unmarshal(text, &answer) != nil {
		return nil, fmt.Errorf("%s answers %s to /series/%s", c.base, resp.Status, command)
	}
	return nil, &refusal{answer.Message}
}

// list makes a request and calls f with each element of the list in the answer.
func list[T any](ctx context.Context, c *client, command string, params url.Values, f func(T) error) error {
	body, err := c.post(ctx, command, params)
	if err != nil {
		return err
	}
	defer body.Close()
	d := json.NewDecoder(body)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("the answer to /series/%s is not a list: %w", command, errors.Join(err, errAnswer))
	}
	for d.More() {
		var one T
		if err := d.Decode(&one); err != nil {
			return fmt.Errorf("the answer to /series/%s: %w", command, err)
		}
		if err := f(one); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("the answer to /series/%s: %w", command, err)
	}
	return nil
}

var errAnswer = errors.New("this is not a pmproxy")

// labelValues returns the values of a label, as JSON.
func (c *client) labelValues(ctx context.Context, name string) ([]string, error) {
	body, err := c.post(ctx, "labels", url.Values{"names": {name}})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var all map[string][]json.RawMessage
	if err := json.NewDecoder(body).Decode(&all); err != nil {
		return nil, fmt.Errorf("the answer to /series/labels: %w", err)
	}
	var values []string
	for _, v := range all[name] {
		values = append(values, string(bytes.TrimSpace(v)))
	}
	return values, nil
}

// Elements of answers.
type (
	element struct {
		Series    string
		Source    string
		Instance  *string
		ID        int64
		Name      string
		Timestamp json.Number
		Value     string

		PMID, InDom, Semantics, Type, Units string

		Labels map[string]json.RawMessage
	}
	// seriesOrValue is an element of the answer to a query.
	seriesOrValue struct {
		id    string
		value *element
	}
)

func (s *seriesOrValue) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.id)
	}
	s.value = &element{}
	return json.Unmarshal(b, s.value)
}
