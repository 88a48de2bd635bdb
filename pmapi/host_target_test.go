package pmapi

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

// TestWays checks which ways to a collector are tried, in which order, and the error if all fail.
func TestWays(t *testing.T) {
	f := func(spec string, reachable string, want []string, code pcp.Error) {
		t.Helper()
		hs, err := ParseHostSpec(spec)
		if err != nil {
			t.Fatal(err)
		}
		var tried []string
		to := target{given: spec, spec: hs, ports: []int{1, 2}, socket: "/run/socket"}
		to.dial = func(_ context.Context, network, address string) (net.Conn, error) {
			tried = append(tried, network+" "+address)
			if address != reachable {
				return nil, syscall.ECONNREFUSED
			}
			client, _ := net.Pipe()
			return client, nil
		}
		err = to.connect(t.Context(), nil, func(_ context.Context, conn net.Conn, at place) error {
			return conn.Close()
		})
		if diff := cmp.Diff(want, tried); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
		if code == 0 != (err == nil) || err != nil && pcp.Code(err) != code {
			t.Errorf("%s: %v, want %v", spec, err, code)
		}
	}
	refused, missing := -pcp.Error(syscall.ECONNREFUSED), -pcp.Error(syscall.ENOENT)
	f("a", "", []string{"tcp a:1", "tcp a:2"}, refused)
	f("a", "a:1", []string{"tcp a:1"}, 0)
	f("a:7", "a:7", []string{"tcp a:7"}, 0)
	f("unix:", "", []string{"unix /run/socket"}, missing)
	f("unix:", "/run/socket", []string{"unix /run/socket"}, 0)
	f("local:", "localhost:2", []string{"unix /run/socket", "tcp localhost:1", "tcp localhost:2"}, 0)
}

func TestAttachFails(t *testing.T) {
	hs, _ := ParseHostSpec("a")
	to := target{given: "a", spec: hs, ports: []int{1, 2}}
	to.dial = func(context.Context, string, string) (net.Conn, error) {
		client, _ := net.Pipe()
		return client, nil
	}
	var tried []place
	err := to.connect(t.Context(), nil, func(_ context.Context, _ net.Conn, at place) error {
		tried = append(tried, at)
		if len(tried) == 1 {
			return pcp.ErrPermission
		}
		return nil
	})
	if want := []place{{"tcp", "a:1", false}, {"tcp", "a:2", false}}; err != nil || !cmp.Equal(tried, want, cmp.AllowUnexported(place{})) {
		t.Errorf("%v, tried %v", err, tried)
	}
}

// TestLoginAsksOnce checks that the user is asked for missing parts, and that copies know the answers.
func TestLoginAsksOnce(t *testing.T) {
	asked := 0
	l := &login{realm: "R"}
	l.askUser = func(context.Context) (string, error) { asked++; return "ann", nil }
	l.askPassword = func(_ context.Context, user, realm string) (string, error) {
		asked++
		return user + "@" + realm, nil
	}
	for range 3 {
		user, password, err := l.complete(t.Context())
		if user != "ann" || password != "ann@R" || err != nil || asked != 2 {
			t.Errorf("complete = %q, %q, %v, asked %d times", user, password, err, asked)
		}
		l = l.another()
	}
	why := errors.New("why")
	l = &login{user: "bob", askPassword: func(context.Context, string, string) (string, error) { return "", why }}
	if _, _, err := l.complete(t.Context()); !errors.Is(err, why) {
		t.Errorf("complete: %v", err)
	}
	if _, _, has := l.known(); has {
		t.Error("password is known that nobody gave")
	}
}
