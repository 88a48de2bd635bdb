package share

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"alpha": true, "alpha:44322": true, "10.0.0.7": true, "[fe80::1]": true, "[fe80::1]:44322": true, "fe80::1": true, "a_b.example.com": true,
		"": false, "..": false, "a/b": false, "a b": false, "alpha:": false, "alpha:x": false, "alpha:0": false, "alpha:65536": false, "unix:/run/x": false,
		"alpha?container=x": false, strings.Repeat("a", maxAddress+1): false, "a\n": false, "]:1": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestRegister has hosts register, end, and end without notice. Their registrations expire only while the store answers.
func TestRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		start := func(address string) (g *gate, stop func()) {
			g = &gate{Store: s}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				r := Registration{Store: g, Address: address}
				done <- r.Run(ctx)
			}()
			return g, func() {
				t.Helper()
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		reg := Registry{Store: s}
		list := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if got, err := reg.List(t.Context()); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v, %v, want %v", got, err, want)
			}
		}
		list()
		_, stopA := start("alpha")
		_, stopB := start("beta:44322")
		dead, stopC := start("[fe80::1]:44321")
		list("[fe80::1]:44321", "alpha", "beta:44322")
		stopB()
		list("[fe80::1]:44321", "alpha")
		time.Sleep(RegisterEvery + time.Second)
		dead.setFail(errors.New("no route"))
		s.setFail(errors.New("503"))
		for range 24 * 60 {
			time.Sleep(time.Minute)
			if got, err := reg.List(t.Context()); err == nil {
				t.Fatalf("%v", got)
			}
		}
		s.setFail(nil)
		list("[fe80::1]:44321", "alpha")
		for range 15 {
			time.Sleep(time.Minute)
			if got, err := reg.List(t.Context()); err != nil || !slices.Contains(got, "alpha") {
				t.Fatalf("%v, %v", got, err)
			}
		}
		list("alpha")
		for range 24 * 60 {
			time.Sleep(time.Minute)
			if _, err := reg.List(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.mu.Lock()
		if len(s.files) != 1 {
			t.Errorf("files remain: %v", s.files)
		}
		s.mu.Unlock()
		dead.setFail(nil)
		time.Sleep(RegisterEvery)
		list("[fe80::1]:44321", "alpha")
		_, again := start("alpha") // another process, after a restart
		synctest.Wait()
		stopA()
		list("[fe80::1]:44321", "alpha")
		again()
		stopC()
		list()
		if len(s.files) != 0 {
			t.Errorf("files remain: %v", s.files)
		}
	})
}

// names is a Resolver.
type names struct {
	srv []*net.SRV
	ip  []netip.Addr
}

var errName = errors.New("no such host")

func (n names) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	if service+proto != "" || name != "_pmcd._tcp.example.com" {
		return "", nil, errName
	}
	return name, n.srv, nil
}

func (n names) LookupNetIP(_ context.Context, network, name string) ([]netip.Addr, error) {
	if network != "ip" || name != "collectors.example.com" {
		return nil, errName
	}
	return slices.Clone(n.ip), nil
}

func TestLookup(t *testing.T) {
	n := names{
		srv: []*net.SRV{{Target: "beta.example.com.", Port: 44322}, {Target: "alpha.example.com.", Port: 44321}},
		ip:  []netip.Addr{netip.MustParseAddr("10.0.0.8"), netip.MustParseAddr("fd00::1"), netip.MustParseAddr("::ffff:10.0.0.7")},
	}
	f := func(r names, name, want string) {
		t.Helper()
		x, err := ParseName(name)
		var list []string
		if err == nil {
			list, err = x.Lookup(t.Context(), r)
		}
		if got := strings.Join(list, " "); err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	f(n, "_pmcd._tcp.example.com", "alpha.example.com beta.example.com:44322")
	f(n, "collectors.example.com", "10.0.0.7 10.0.0.8")
	f(n, "collectors.example.com:4000", "10.0.0.7:4000 10.0.0.8:4000")
	f(names{ip: n.ip[1:2]}, "collectors.example.com", "[fd00::1]")
	f(n, "other.example.com", "no such host")
	f(n, "_other._tcp.example.com", "no such host")
	f(n, "_pmcd._tcp.example.com:44321", "records of a service have ports")
	f(n, "a:b", "want NAME or NAME:PORT")
	f(n, "", "not a name")
	f(n, "a/b", "not a name")
	f(names{srv: []*net.SRV{{Target: "../x", Port: 1}}}, "_pmcd._tcp.example.com", "HOST:PORT")
}
