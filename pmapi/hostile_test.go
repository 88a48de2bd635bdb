package pmapi

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/wire"
)

// TestHostile has a collector break the protocol: every call fails or succeeds,
// and does not hang or panic.
func TestHostile(t *testing.T) {
	huge := []byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0x70, 0x15, 0, 0, 0, 0}
	f := func(what string, answer func(s *session)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			fake := newCollector()
			fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
				switch hdr.Type {
				case wire.TypeCreds, wire.TypeProfile, wire.TypeAttr:
					return false
				}
				answer(s)
				return true
			}
			for name, call := range calls() {
				c := fake.dial(t)
				start := time.Now()
				err := call(t.Context(), c)
				if err == nil {
					t.Errorf("%s: %s succeeded", what, name)
				}
				if took := time.Since(start); took > 25*time.Second {
					t.Errorf("%s: %s took %v", what, name, took)
				}
				c.Close()
			}
		})
	}
	raw := func(b ...byte) func(s *session) { return func(s *session) { s.conn.Write(b) } }
	f("closes", func(s *session) { s.conn.Close() })
	f("never answers", func(s *session) {})
	f("closes in a header", func(s *session) { s.conn.Write(huge[:5]); s.conn.Close() })
	f("closes in a body", func(s *session) { s.conn.Write([]byte{0, 0, 1, 0, 0, 0, 0x70, 0x15, 0, 0, 0, 0, 1}); s.conn.Close() })
	f("stops in a body", raw(0, 0, 1, 0, 0, 0, 0x70, 0x15, 0, 0, 0, 0, 1))
	f("sends a huge length", raw(huge...))
	f("sends a tiny length", raw(0, 0, 0, 4, 0, 0, 0x70, 0x15, 0, 0, 0, 0))
	f("sends an unknown type", raw(0, 0, 0, 12, 0, 0, 0x77, 0x77, 0, 0, 0, 0))
	f("answers with a request", func(s *session) { s.send(&wire.DescReq{}) })
	f("answers with an empty error", raw(0, 0, 0, 12, 0, 0, 0x70, 0, 0, 0, 0, 0))
	f("sends state bits without end", func(s *session) {
		for s.status(1) {
		}
	})
	f("answers with status", func(s *session) { s.status(pcp.ErrPermission) })
	for typ := wire.TypeError; typ <= wire.TypeDescs; typ++ {
		head := []byte{0, 0, 0, 16, 0, 0, 0x70, byte(typ), 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf0}
		f("answers with garbage of type "+typ.String(), raw(head...))
	}
	f("answers for another metric", func(s *session) {
		res := wire.Result{HighRes: true}
		res.AddSet(99)
		s.send(&res)
	})
	f("answers for no metric", func(s *session) { s.send(&wire.Result{HighRes: true}) })
}

// calls are the requests that need an answer.
func calls() map[string]func(ctx context.Context, c *Context) error {
	return map[string]func(ctx context.Context, c *Context) error{
		"LookupName":   func(ctx context.Context, c *Context) error { _, err := c.LookupName(ctx, "a"); return err },
		"LookupName 2": func(ctx context.Context, c *Context) error { _, err := c.LookupName(ctx, "a", "b"); return err },
		"NameAll":      func(ctx context.Context, c *Context) error { _, err := c.NameAll(ctx, 1); return err },
		"Children":     func(ctx context.Context, c *Context) error { _, err := c.Children(ctx, "a"); return err },
		"Traverse": func(ctx context.Context, c *Context) error {
			for _, err := range c.Traverse(ctx, "a") {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"LookupDesc":  func(ctx context.Context, c *Context) error { _, err := c.LookupDesc(ctx, 1); return err },
		"LookupDescs": func(ctx context.Context, c *Context) error { _, err := c.LookupDescs(ctx, 1, 2); return err },
		"LookupText":  func(ctx context.Context, c *Context) error { _, err := c.LookupText(ctx, 1, pcp.TextHelp); return err },
		"LookupInDomText": func(ctx context.Context, c *Context) error {
			_, err := c.LookupInDomText(ctx, 1, pcp.TextOneLine)
			return err
		},
		"LookupLabels": func(ctx context.Context, c *Context) error { _, err := c.LookupLabels(ctx, 1); return err },
		"Labels": func(ctx context.Context, c *Context) error {
			_, err := c.Labels(ctx, pcp.LabelInstances, 1)
			return err
		},
		"GetInDom":    func(ctx context.Context, c *Context) error { _, err := c.GetInDom(ctx, 1); return err },
		"LookupInDom": func(ctx context.Context, c *Context) error { _, err := c.LookupInDom(ctx, 1, "a"); return err },
		"NameInDom":   func(ctx context.Context, c *Context) error { _, err := c.NameInDom(ctx, 1, 1); return err },
		"Fetch":       func(ctx context.Context, c *Context) error { _, err := c.Fetch(ctx, []pcp.PMID{1}); return err },
		"Store": func(ctx context.Context, c *Context) error {
			var res pcp.Result
			res.AddSet(1)
			res.Add(pcp.Int32Value(1))
			return c.Store(ctx, &res)
		},
		"TimeZone": func(ctx context.Context, c *Context) error { _, err := c.TimeZone(ctx); return err },
	}
}

// A scripted is a connection that reads from bytes and discards writes.
type scripted struct {
	net.Conn
	r io.Reader
}

func (s scripted) Read(b []byte) (int, error) { return s.r.Read(b) }

func (s scripted) Write(b []byte) (int, error) { return len(b), nil }

func (s scripted) Close() error { return nil }

func (s scripted) SetDeadline(time.Time) error { return nil }

// FuzzServer has a client read any bytes from its collector.
func FuzzServer(f *testing.F) {
	hello := wire.Append(nil, 0, greet(allFeatures))
	res := wire.Result{HighRes: true}
	res.AddSet(1)
	res.Add(pcp.StringValue("x"))
	for _, p := range []wire.PDU{
		&res, &wire.Error{Code: pcp.ErrPMID}, &wire.Desc{}, &wire.Descs{Descs: make([]pcp.Desc, 2)},
		&wire.Instance{Instances: []pcp.Instance{{Inst: 1, Name: "a"}}}, &wire.Text{Text: "x"},
		&wire.PMNSIDs{PMIDs: []pcp.PMID{1}}, &wire.PMNSNames{Names: []string{"a"}, Status: []int32{0}},
		&wire.Labels{Sets: []pcp.LabelSet{{JSON: "{}"}}},
	} {
		f.Add(wire.Append(hello, 0, p))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, call := range calls() {
			d := Dialer{
				Config: config.New(func(string) string { return "" }),
				DialContext: func(context.Context, string, string) (net.Conn, error) {
					return scripted{r: strings.NewReader(string(b))}, nil
				},
			}
			c, err := d.Dial(context.Background(), "fake")
			if err != nil {
				continue
			}
			for range 2 {
				call(context.Background(), c)
			}
			c.Close()
		}
	})
}
