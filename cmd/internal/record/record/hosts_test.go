package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/rendezvous"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
)

// A directory is a name service.
type directory struct {
	mu  sync.Mutex
	ips []netip.Addr
	err error
}

func (d *directory) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	return "", nil, errors.New("no service")
}

func (d *directory) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ips), d.err
}

// newHostsForTest returns the hosts of a process that records nothing, and the events.
func newHostsForTest(t *testing.T, store share.Store, set *settings) (*hosts, *[]string) {
	t.Helper()
	var events []string
	f, err := fleet.New(fleet.Config{Dir: t.TempDir(), Configure: fleet.Static(nil, "none"), Event: func(e fleet.Event) { events = append(events, e.Text) }})
	if err != nil {
		t.Fatal(err)
	}
	return newHosts(set, f, store), &events
}

func recorded(h *hosts) (names []string) {
	for _, s := range h.f.Status() {
		names = append(names, s.Name)
	}
	return names
}

// TestHosts changes members of a fleet, and hosts from each source.
func TestHosts(t *testing.T) {
	store, err := share.OpenStore(t.TempDir(), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	name, err := share.ParseName("collectors.example.com:4000")
	if err != nil {
		t.Fatal(err)
	}
	h, events := newHostsForTest(t, store, &settings{fleetID: "a", dns: []share.Name{name}})
	check := func(members []string, want ...string) {
		t.Helper()
		var mine []string
		for _, host := range want {
			if i := rendezvous.Owner(host, members); i >= 0 && members[i] == "a" {
				mine = append(mine, host)
			}
		}
		if got := recorded(h); !slices.Equal(got, mine) || len(h.all) != len(want) {
			t.Errorf("%d hosts, own %v, want %d and %v", len(h.all), got, len(want), mine)
		}
	}
	if err := h.setNamed([]fleet.Host{{Spec: "alpha"}, {Spec: "unix:/run/x", Name: "beta"}}); err != nil {
		t.Fatal(err)
	}
	check(nil, "alpha", "beta")
	h.change(func() { h.members = []string{"a"} })
	check([]string{"a"}, "alpha", "beta")
	h.change(func() { h.registered = []string{"alpha", "gamma", "delta:4001", "epsilon"} })
	check([]string{"a"}, "alpha", "beta", "delta-4001", "epsilon", "gamma")
	h.change(func() { h.members = []string{"a", "b"} })
	check([]string{"a", "b"}, "alpha", "beta", "delta-4001", "epsilon", "gamma")
	if err := h.setNamed([]fleet.Host{{Spec: "alpha"}, {Spec: "alpha"}}); err == nil {
		t.Error("a host is listed twice")
	}
	check([]string{"a", "b"}, "alpha", "beta", "delta-4001", "epsilon", "gamma")
	h.change(func() { h.members = nil }) // the lease is lost
	if got := recorded(h); len(got) > 0 {
		t.Errorf("%v are recorded without a lease", got)
	}
	h.change(func() { h.members, h.registered = []string{"a"}, nil })
	check([]string{"a"}, "alpha", "beta")

	d := &directory{ips: []netip.Addr{netip.MustParseAddr("10.0.0.7")}}
	h.resolver = d
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // one turn
	h.find(ctx)
	check([]string{"a"}, "alpha", "beta") // it is late
	for _, fail := range []error{nil, errors.New("no server")} {
		d.err = fail
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.find(ctx)
		}()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			h.mu.Lock()
			done := len(h.all) == 3
			h.mu.Unlock()
			if done {
				break
			}
		}
		cancel()
		<-done
		check([]string{"a"}, "10.0.0.7-4000", "alpha", "beta")
	}
	if !slices.Contains(*events, "recording 3 of 3 hosts") {
		t.Errorf("events %q", *events)
	}
}

// TestShowFleet prints the statuses of recorders, some of which cannot be read.
func TestShowFleet(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	if status, text := call(t, dir, "--status", "--fleet", store); status != 1 || !strings.Contains(text, "no recorder has this fleet") {
		t.Errorf("status %d: %s", status, text)
	}
	s, err := share.OpenStore(store, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, st := range []share.Status{
		{ID: "r2", Time: now, Listed: 3, Hosts: []share.Host{{Name: "beta", Spec: "beta", State: "retry", Err: "connection\nrefused", ErrTime: now, Clock: 90}}, More: 1},
		{ID: "r1", Time: now, Listed: 3, Hosts: []share.Host{{Name: "gamma", Spec: "gamma", State: "recording", Last: now, Samples: 7, Bytes: 2048}}},
	} {
		if err := share.WriteStatus(t.Context(), s, &st); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(store, "fleet/status/r3.json"), "{")
	status, text := call(t, dir, "--status", "--fleet", store)
	for _, want := range []string{
		"the status of recorder r3: ", "RECORDER  STATE", "r1        recording  1      3", "r2        recording  2      3",
		"beta   r2        retry", "gamma  r1        recording  0s    7", "beta, 0s ago: connection refused\n", "beta: its clock is ahead by 1m30s\n",
	} {
		if status != 0 || !strings.Contains(text, want) {
			t.Errorf("status %d: %s lacks %q", status, text, want)
		}
	}
}

func TestFleetMistakes(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--fleet gs://bucket alpha":              "only directories and s3://BUCKET/PREFIX",
		"--fleet s3:// alpha":                    "s3://",
		"--fleet " + dir + " --fleet-id a/b":     `recorder "a/b"`,
		"--fleet-id a alpha":                     "--fleet-id is for a recorder with --fleet",
		"--hosts-dns a:b":                        "want NAME or NAME:PORT",
		"--hosts-dns a,,b":                       "not a name",
		"--json alpha":                           "--json is for --status",
		"--status --hosts-dns a":                 "--status shows all hosts",
		"--status --fleet " + dir + " -d " + dir: "either the recordings in DIR",
		"--fleet /dev/null/x --fleet-id a alpha": "ot a directory",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var b bytes.Buffer
		status := run(ctx, newEnv(dir, &b, &b, append(strings.Fields(args), "-d", filepath.Join(dir, "archives"))...))
		if strings.Contains(args, "--status") {
			status, b = 1, *bytes.NewBuffer(nil)
			_, text := call(t, dir, strings.Fields(args)...)
			b.WriteString(text)
		}
		cancel()
		if status != 1 || !strings.Contains(b.String(), want) {
			t.Errorf("%s: status %d: %s, want %q", args, status, &b, want)
		}
	}
}

// BenchmarkMembers computes which of 10,000 hosts a recorder of ten has.
func BenchmarkMembers(b *testing.B) {
	var members, names []string
	for i := range 10 {
		members = append(members, fmt.Sprint("recorder-", i))
	}
	for i := range 10_000 {
		names = append(names, fmt.Sprintf("host%05d.example.com", i))
	}
	f, err := fleet.New(fleet.Config{Dir: b.TempDir(), Configure: fleet.Static(nil, "none")})
	if err != nil {
		b.Fatal(err)
	}
	store, err := share.OpenStore(b.TempDir(), func(string) string { return "" })
	if err != nil {
		b.Fatal(err)
	}
	h := newHosts(&settings{fleetID: "recorder-0"}, f, store)
	h.registered = names
	for b.Loop() {
		h.change(func() { h.members = members })
	}
	b.ReportMetric(float64(len(h.own)), "hosts")
}
