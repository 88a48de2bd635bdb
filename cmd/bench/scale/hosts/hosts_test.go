package hosts

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmapi"
)

// serve serves hosts until the test ends, and returns their port.
func serve(t *testing.T, cfg Config) (*Sim, int) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, ln.Addr().(*net.TCPAddr).Port
}

// dial connects to a host.
func dial(t *testing.T, host, port int) *pmapi.Context {
	t.Helper()
	d := pmapi.Dialer{Config: config.NewLookup(func(string) (string, bool) { return "", false })}
	c, err := d.Dial(t.Context(), fmt.Sprintf("%v:%d", Address(host), port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestHosts(t *testing.T) {
	const ahead = 24 * time.Hour
	s, port := serve(t, Config{Metrics: 60, Clock: func(host int) time.Duration {
		if host >= perNet {
			return ahead
		}
		return 0
	}})
	if n := s.Values(); n != 50+10*Instances {
		t.Errorf("%d values", n)
	}
	for _, host := range []int{0, 249, 250, 9999, perNet, 2*perNet - 1} {
		c := dial(t, host, port)
		if name, err := c.HostName(t.Context()); name != Name(host) || err != nil {
			t.Errorf("host %d is %q, %v", host, name, err)
		}
		var names []string
		for name, err := range c.Traverse(t.Context(), "sim") {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		if len(names) != 60 {
			t.Fatalf("host %d: %d metrics", host, len(names))
		}
		ids, err := c.LookupName(t.Context(), names...)
		if err != nil || slices.Contains(ids, pcp.PMIDNull) {
			t.Fatal(ids, err)
		}
		for _, id := range ids {
			if text, err := c.LookupText(t.Context(), id, pcp.TextHelp); err != nil || !strings.HasPrefix(text, "Simulated metric number ") {
				t.Errorf("%v: text %q, %v", id, text, err)
			}
		}
		desc, err := c.LookupDesc(t.Context(), ids[5])
		if err != nil {
			t.Fatal(err)
		}
		in, err := c.GetInDom(t.Context(), desc.InDom)
		if err != nil || len(in) != Instances {
			t.Errorf("instances: %v, %v", in, err)
		}
		res, err := c.Fetch(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, set := range res.Sets {
			n += len(set.Values)
			if set.Err != 0 {
				t.Errorf("%v: %v", set.PMID, set.Err)
			}
		}
		if n != s.Values() {
			t.Errorf("host %d: %d values, want %d", host, n, s.Values())
		}
		want := time.Duration(0)
		if host >= perNet {
			want = ahead
		}
		if d := time.Until(res.Time.Time()); d < want-time.Minute || d > want+time.Minute {
			t.Errorf("host %d: its clock is ahead by %v, want %v", host, d, want)
		}
	}
	if fetches, values := s.Served(); fetches < 6 || values < uint64(6*s.Values()) {
		t.Errorf("%d fetches, %d values", fetches, values)
	}
}

// TestValues checks that counters do not go back, and that about half of the values are equal to the ones before.
func TestValues(t *testing.T) {
	list := makeMetrics(300)
	last := make(map[string]pcp.Value)
	same, all := 0, 0
	for ms := int64(1.7e12); ms < 1.7e12+600_000; ms += 10_000 {
		for i := range list {
			m := &list[i]
			for inst := range m.values() {
				key := fmt.Sprint(i, inst)
				v := m.value(7, inst, ms)
				if old, ok := last[key]; ok {
					all++
					if v.Bits() == old.Bits() {
						same++
					}
					if m.desc.Sem == pcp.SemCounter && v.Uint64() < old.Uint64() {
						t.Fatalf("%s: %d after %d", m.name, v.Uint64(), old.Uint64())
					}
				}
				last[key] = v
				if v.Type() != m.desc.Type {
					t.Fatalf("%s: type %v", m.name, v.Type())
				}
			}
		}
	}
	if share := float64(same) / float64(all); share < 0.4 || share > 0.7 {
		t.Errorf("%.2f of the values are equal to the ones before", share)
	}
}

func TestAddress(t *testing.T) {
	for _, host := range []int{0, 1, 249, 250, 62_499, 62_500, 100_000} {
		if got, ok := number(Address(host)); got != host || !ok {
			t.Errorf("host %d: %v is %d, %v", host, Address(host), got, ok)
		}
	}
	for _, bad := range []string{"127.0.0.1", "10.1.1.1", "::1", "127.1.250.1", "127.1.0.0"} {
		if n, ok := number(net.ParseIP(bad)); ok {
			t.Errorf("%s is %d", bad, n)
		}
	}
}
