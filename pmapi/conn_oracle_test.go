package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestAccessOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Access: "disallow \"*\" : all;\n"})
	printed := func(spec string, err error) string {
		return fmt.Sprintf("pminfo: Cannot connect to PMCD on host %q: %v\n", spec, pcp.Code(err))
	}
	_, err := Dial(t.Context(), d.Unix)
	if out := d.Run(t, "pminfo", "-h", d.Unix); !errors.Is(err, pcp.ErrPermission) || out.Stderr != printed(d.Unix, err) {
		t.Errorf("Dial: %v, pminfo: %q", err, out.Stderr)
	}
	// Over TCP the collector resets the connection at once. Whether its
	// refusal is read before that is chance, to the real tools as to us; they
	// also may find the connection reset when it is made.
	for range 5 {
		_, err := Dial(t.Context(), d.TCP)
		switch pcp.Code(err) {
		case pcp.ErrPermission, pcp.ErrIPC, -pcp.Error(syscall.ECONNREFUSED):
		default:
			t.Errorf("Dial: %v", err)
		}
	}
}

// The status of each failure to connect is that which the real tools print.
func TestDialErrorOracle(t *testing.T) {
	oracle.Require(t)
	for _, spec := range []string{
		"nosuchhost.invalid", "localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/nonexistent", "unix:/etc/passwd", "pcps://localhost:1", "localhost:x",
		"[::1", "", "localhost:1,2", "localhost:1?compress",
	} {
		_, err := (&Dialer{Config: config.New(func(string) string { return "" })}).Dial(t.Context(), spec)
		if err == nil {
			t.Errorf("Dial(%q) succeeded", spec)
			continue
		}
		want := fmt.Sprintf("pminfo: Cannot connect to PMCD on host %q: %v\n", spec, pcp.Code(err))
		var bad *SpecError
		if errors.As(err, &bad) {
			want = "pmNewContext: bad host specification\n" + bad.Detail() + want
		}
		if strings.HasPrefix(spec, "pcps") || strings.Contains(spec, "compress") {
			// The real tools connect first and find the missing part then.
			want = strings.Replace(want, pcp.Code(err).Error(), "Connection refused", 1)
		}
		out := oracle.Run(t, "pminfo", "-h", spec, "x")
		if strings.HasSuffix(spec, ".invalid") && out.Stderr != want {
			// Without a name server that answers, the time-out and the error
			// of a look-up vary.
			_, err := net.DefaultResolver.LookupHost(t.Context(), spec)
			if dns := (*net.DNSError)(nil); errors.As(err, &dns) && (dns.IsTemporary || dns.IsTimeout) {
				t.Logf("%q: not compared: %v", spec, err)
				continue
			}
		}
		if out.Stderr != want {
			t.Errorf("%q: pminfo prints %q, we would %q", spec, out.Stderr, want)
		}
	}
}

// A collector that goes away, comes back, and stops answering.
func TestLostCollectorOracle(t *testing.T) {
	t.Parallel() // it mostly waits
	d := oracle.StartPMCD(t, oracle.Config{})
	ctx := t.Context()
	c, err := (&Dialer{RequestTimeout: 4 * time.Second, Reconnect: []time.Duration{10 * time.Millisecond}}).Dial(ctx, d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "sample.bin")
	if err != nil {
		t.Fatal(err)
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	c.DelProfile(desc.InDom)
	c.AddProfile(desc.InDom, 200)
	set := new(derive.Set)
	if err := set.Add("twice", "2 * sample.long.ten"); err != nil {
		t.Fatal(err)
	}
	c.UseDerived(set, nil)
	if err := c.AddDerived(ctx, "thrice", "3 * sample.long.ten"); err != nil {
		t.Fatal(err)
	}
	fetch := func() {
		t.Helper()
		if res, err := c.Fetch(ctx, ids); err != nil || len(res.Sets[0].Values) != 1 {
			t.Errorf("Fetch = %v, %v", res, err)
		}
		twice, err := c.LookupName(ctx, "twice")
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Fetch(ctx, twice)
		if err != nil || len(res.Sets[0].Values) != 1 || res.Sets[0].Values[0].Int32() != 20 {
			t.Errorf("derived: %v, %v", res, err)
		}
	}
	fetch()
	d.Stop(t)
	if _, err := c.Fetch(ctx, ids); pcp.Code(err) != pcp.ErrIPC {
		t.Errorf("Fetch without a collector: %v", err)
	}
	if err := c.Reconnect(ctx); pcp.Code(err) != -pcp.Error(syscall.ETIMEDOUT) {
		t.Errorf("Reconnect without a collector: %v", err)
	}
	d.Start(t)
	time.Sleep(20 * time.Millisecond)
	if err := c.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	fetch() // bound again
	if _, err := c.LookupName(ctx, "thrice"); !errors.Is(err, pcp.ErrName) {
		t.Errorf("a metric of the context alone, after Reconnect: %v", err)
	}
	d.Pause(t)
	if _, err := c.Fetch(ctx, ids); pcp.Code(err) != pcp.ErrTimeout {
		t.Errorf("Fetch from a collector that hangs: %v", err)
	}
	if err := c.Reconnect(ctx); pcp.Code(err) != -pcp.Error(syscall.ETIMEDOUT) || !errors.Is(err, pcp.ErrTimeout) {
		t.Errorf("Reconnect to a collector that hangs: %v", err)
	}
	d.Resume(t)
	time.Sleep(20 * time.Millisecond)
	if err := c.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	fetch()
}

// State bits of a collector that reads its configuration again.
func TestStateBitsOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ctx := t.Context()
	c, err := Dial(ctx, d.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "pmcd.pid")
	if err != nil {
		t.Fatal(err)
	}
	var res pcp.Result
	if changes, err := c.FetchInto(ctx, ids, &res); changes != 0 || err != nil {
		t.Errorf("first FetchInto = %v, %v", changes, err)
	}
	d.WritePMCDConf(t, oracle.Config{Agents: []string{"pmcd"}})
	d.Signal(t, syscall.SIGHUP)
	var all Changes
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for all&DropAgent == 0 {
		changes, err := c.FetchInto(ctx, ids, &res)
		if err != nil {
			t.Fatalf("%v, state bits so far %v", err, all)
		}
		all |= changes
		time.Sleep(5 * time.Millisecond)
	}
	if host, err := c.HostName(ctx); host == "" || err != nil {
		t.Errorf("HostName = %q, %v", host, err)
	}
	if tz, err := c.TimeZone(ctx); !strings.HasPrefix(tz, "UTC") || err != nil {
		t.Errorf("TimeZone = %q, %v", tz, err)
	}
}
