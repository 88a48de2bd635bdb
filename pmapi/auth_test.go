package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/sasl"
	"github.com/go-pcp/pcp/wire"
)

// accounts of a collector of tests.
type accounts map[string]string

func (a accounts) Verifier(mechanism, user string) (sasl.Verifier, error) {
	return sasl.VerifierFor(mechanism, a[user], []byte("0123456789abcdef"), 4096)
}

func (a accounts) CheckPassword(user, password string) error {
	if want, ok := a[user]; !ok || want != password {
		return sasl.ErrAuth
	}
	return nil
}

// guard is a collector that refuses every client at authentication.
type guard struct {
	features wire.Features
	offer    string
	reply    wire.PDU // instead of the first message, if not nil

	unix      bool          // how the last client came
	flags     wire.Features // that it asked for
	mechanism string
	user      string
	outcome   error
	container string
}

// dialer returns a Dialer whose connections are pipes to g. Wait for done before
// looking at the fields of g.
func (g *guard) dialer() (d *Dialer, done chan struct{}) {
	done = make(chan struct{}, 8)
	return &Dialer{
		Config: config.New(func(string) string { return "" }),
		DialContext: func(_ context.Context, network, _ string) (net.Conn, error) {
			client, server := net.Pipe()
			g.unix = network == "unix"
			go func() {
				defer func() { server.Close(); done <- struct{}{} }()
				g.outcome = g.serve(server)
				if g.outcome != nil {
					server.Write(wire.Append(nil, 0, &wire.Error{Code: pcp.Code(g.outcome)}))
				}
			}()
			return client, nil
		},
	}, done
}

func (g *guard) serve(conn net.Conn) error {
	r := wire.NewReader(conn)
	send := func(p wire.PDU) error {
		_, err := conn.Write(wire.Append(nil, 0, p))
		return err
	}
	receive := func() ([]byte, error) {
		h, body, err := r.Next()
		if err != nil {
			return nil, err
		}
		p, err := wire.Decode(h, body)
		if err != nil {
			return nil, err
		}
		switch p := p.(type) {
		case *wire.Attr:
			if p.Attr == wire.AttrContainer {
				g.container = string(p.Value)
			}
			return p.Value, nil
		case *wire.Creds:
			_, g.flags, _ = p.Version()
			return nil, nil
		}
		return nil, fmt.Errorf("%v PDU came", h.Type)
	}
	if err := send(greet(g.features)); err != nil {
		return err
	}
	if _, err := receive(); err != nil {
		return err
	}
	if g.flags&(wire.FeatureAuth|wire.FeatureCredsReqd) != 0 && !g.unix {
		if g.reply != nil {
			return send(g.reply)
		}
		if err := send(&wire.Attr{Value: []byte(g.offer)}); err != nil {
			return err
		}
		first, err := receive()
		if err != nil {
			return err
		}
		s, err := sasl.NewServer(strings.Fields(g.offer), accounts{"tux": "secret", "eve": ""}, first)
		if err != nil {
			return err
		}
		out, err := s.Start()
		for err == nil && !s.Done() {
			if err = send(&wire.Attr{Value: out}); err != nil {
				return err
			}
			var in []byte
			if in, err = receive(); err == nil {
				out, err = s.Step(in)
			}
		}
		g.mechanism, g.user = s.Mechanism(), s.User()
		if err != nil {
			return err
		}
	}
	if g.flags&wire.FeatureContainer != 0 {
		_, err := receive()
		return err
	}
	return nil
}

const authFeatures = allFeatures | wire.FeatureAuth

func TestAuthentication(t *testing.T) {
	const all = "PLAIN LOGIN SCRAM-SHA-256"
	type outcome struct {
		Flags                      wire.Features
		Mechanism, User, Container string
	}
	f := func(spec string, g *guard, code pcp.Error, want outcome) {
		t.Helper()
		d, done := g.dialer()
		d.Password = func(_ context.Context, user, realm string) (string, error) {
			if user != "tux" {
				return "", fmt.Errorf("asked for the password of %q in %q", user, realm)
			}
			return "secret", nil
		}
		d.UserName = func(context.Context) (string, error) { return "tux", nil }
		c, err := d.Dial(t.Context(), spec)
		if c != nil {
			defer c.Close()
		}
		<-done
		got := outcome{g.flags, g.mechanism, g.user, g.container}
		if diff := cmp.Diff(want, got); pcp.Code(err) != code || diff != "" {
			t.Errorf("Dial(%q): %v, collector: %v; want %v (-want +got)\n%s", spec, err, g.outcome, code, diff)
		}
	}
	ok := func(mechanism string) outcome { return outcome{wire.FeatureAuth, mechanism, "tux", ""} }
	f("h", &guard{features: authFeatures, offer: all}, 0, outcome{})
	f("h?user=tux&pass=secret", &guard{features: authFeatures, offer: all}, 0, ok("SCRAM-SHA-256"))
	f("h?user=tux&pass=secret&method=plain", &guard{features: authFeatures, offer: all}, 0, ok("PLAIN"))
	f("h?user=tux&pass=secret&method=login", &guard{features: authFeatures, offer: all}, 0, ok("LOGIN"))
	f("h?user=tux&pass=secret", &guard{features: authFeatures, offer: "GSSAPI PLAIN"}, 0, ok("PLAIN"))
	f("h?user=tux", &guard{features: authFeatures, offer: all}, 0, ok("SCRAM-SHA-256"))
	f("h?userauth", &guard{features: authFeatures, offer: all}, 0, ok("SCRAM-SHA-256"))
	f("h?user=eve&pass=", &guard{features: authFeatures, offer: "PLAIN"}, 0, outcome{wire.FeatureAuth, "PLAIN", "eve", ""})
	f("h?realm=r&container=c", &guard{features: authFeatures, offer: all}, 0,
		outcome{wire.FeatureAuth | wire.FeatureContainer, "SCRAM-SHA-256", "tux", "c"})
	// A collector that insists.
	insists := wire.FeatureCredsReqd
	f("h", &guard{features: authFeatures | insists, offer: all}, 0, outcome{insists, "SCRAM-SHA-256", "tux", ""})
	f("unix:", &guard{features: authFeatures | insists, offer: all}, 0, outcome{Flags: insists})

	f("h?user=tux&pass=bad", &guard{features: authFeatures, offer: all}, sasl.ErrAuth, ok("SCRAM-SHA-256"))
	f("h?user=tux&pass=secret&method=gssapi", &guard{features: authFeatures, offer: all}, sasl.ErrNoMech, outcome{Flags: wire.FeatureAuth})
	f("h?user=tux&pass=secret", &guard{features: authFeatures, offer: "GSSAPI"}, sasl.ErrNoMech, outcome{Flags: wire.FeatureAuth})
	f("h?user=tux&pass=x", &guard{features: authFeatures, reply: &wire.Error{Code: pcp.ErrPermission}}, pcp.ErrPermission, outcome{Flags: wire.FeatureAuth})
	f("h?user=tux&pass=x", &guard{features: authFeatures, reply: &wire.Text{}}, pcp.ErrIPC, outcome{Flags: wire.FeatureAuth})
	f("h?user=tux&pass=x", &guard{features: authFeatures, reply: &wire.Attr{Value: make([]byte, sasl.MaxMessage)}}, pcp.ErrIPC, outcome{Flags: wire.FeatureAuth})
}

// TestNobodyToAsk has a user without a name or password and no terminal.
func TestNobodyToAsk(t *testing.T) {
	g := &guard{features: authFeatures, offer: "PLAIN SCRAM-SHA-256"}
	d, done := g.dialer()
	_, err := d.Dial(t.Context(), "h?userauth")
	<-done
	if pcp.Code(err) != sasl.ErrParam {
		t.Errorf("without a name: %v, want %v", err, sasl.ErrParam)
	}
	_, err = d.Dial(t.Context(), "h?user=tux")
	<-done
	if pcp.Code(err) != sasl.ErrAuth {
		t.Errorf("without a password: %v, want %v", err, sasl.ErrAuth)
	}
	no := errors.New("no")
	d.Password = func(context.Context, string, string) (string, error) { return "", no }
	_, err = d.Dial(t.Context(), "h?user=tux")
	<-done
	if !errors.Is(err, no) {
		t.Errorf("nobody answers: %v, want %v", err, no)
	}
}

// TestPasswordAskedOnce connects twice.
func TestPasswordAskedOnce(t *testing.T) {
	g := &guard{features: authFeatures, offer: "SCRAM-SHA-256"}
	d, done := g.dialer()
	asked := 0
	d.Password = func(context.Context, string, string) (string, error) {
		asked++
		return "secret", nil
	}
	c, err := d.Dial(t.Context(), "h?user=tux")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-done
	if err := c.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-done
	if asked != 1 || g.user != "tux" {
		t.Errorf("asked %d times, user %q", asked, g.user)
	}
}

// FuzzAuthReplies has a collector send arbitrary bytes while a client
// authenticates.
func FuzzAuthReplies(f *testing.F) {
	f.Add(wire.Append(wire.Append(nil, 0, &wire.Attr{Value: []byte("SCRAM-SHA-256")}), 0, &wire.Attr{Value: []byte("r=x,s=MDEyMzQ1Njc=,i=4096")}))
	f.Add(wire.Append(wire.Append(nil, 0, &wire.Attr{Value: []byte("LOGIN")}), 0, &wire.Error{Code: -1}))
	f.Add(wire.Append(nil, 0, &wire.Attr{Attr: 7, Value: []byte("PLAIN")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &Dialer{
			Config: config.New(func(string) string { return "" }),
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go io.Copy(io.Discard, server)
				go func() {
					server.Write(append(wire.Append(nil, 0, greet(authFeatures)), b...))
					server.Close()
				}()
				return client, nil
			},
		}
		if c, err := d.Dial(t.Context(), "h?user=tux&pass=secret"); err == nil {
			c.Close()
		}
	})
}
