package pmapi

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/wire"
)

// What a client of the real library, release 6.0.3, sends for its first fetch
// of one metric, with pid 1: captured with -Dpdu.
func TestFirstBytes(t *testing.T) {
	client, server := net.Pipe()
	got := make(chan []byte)
	go func() {
		server.Write(wire.Append(nil, 0, greet(allFeatures)))
		var all []byte
		buf := make([]byte, 1000)
		for len(all) < 80 {
			n, err := server.Read(buf)
			if err != nil {
				break
			}
			all = append(all, buf[:n]...)
		}
		server.Close()
		got <- all
	}()
	d := Dialer{
		Config:      config.New(func(string) string { return "" }),
		DialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil },
	}
	c, err := d.Dial(t.Context(), "fake")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Fetch(t.Context(), []pcp.PMID{pcp.NewPMID(60, 2, 0)}); !errors.Is(err, pcp.ErrIPC) {
		t.Errorf("Fetch from a collector that is gone: %v", err)
	}
	want := []uint32{
		0x14, 0x700c, 1, 1, 0x01020000, // CREDS
		0x1c, 0x7002, 0, 0, 0, 0, 0, // PROFILE
		0x20, 0x7014, 0, 0, 0, 0, 1, 0x0f000800, // HIGHRES_FETCH
	}
	b := <-got
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = uint32(b[4*i])<<24 | uint32(b[4*i+1])<<16 | uint32(b[4*i+2])<<8 | uint32(b[4*i+3])
	}
	if len(words) > 2 {
		words[2] = 1 // the pid
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestOldCollector(t *testing.T) {
	fake := newCollector()
	fake.greeting = greet(0)
	c := fake.dial(t)
	ctx := t.Context()
	ids := []pcp.PMID{idCount, 12345, idName}
	descs, err := c.LookupDescs(ctx, ids...)
	if !errors.Is(err, pcp.ErrPMID) || descs[0] != fake.descs[idCount] || descs[1].PMID != pcp.PMIDNull || descs[2] != fake.descs[idName] {
		t.Errorf("LookupDescs = %v, %v", descs, err)
	}
	if _, err := c.Labels(ctx, pcp.LabelContext, 0); !errors.Is(err, pcp.ErrNoLabels) {
		t.Errorf("Labels: %v", err)
	}
	res, err := c.Fetch(ctx, ids[:1])
	if err != nil || res.Time.Nsec != 123456000 {
		t.Errorf("Fetch = %v, %v", res, err)
	}
	want := []wire.Type{wire.TypeDescReq, wire.TypeDescReq, wire.TypeDescReq, wire.TypeProfile, wire.TypeFetch}
	if diff := cmp.Diff(want, fake.types()); diff != "" {
		t.Errorf("PDUs (-want +got):\n%s", diff)
	}
	many := slices.Repeat([]pcp.PMID{idCount, idLoad}, 500)
	if descs, err := c.LookupDescs(ctx, many...); err != nil || descs[999] != fake.descs[idLoad] {
		t.Errorf("LookupDescs of %d: %v", len(many), err)
	}
}

func TestManyInOneRequest(t *testing.T) {
	fake := newCollector()
	c := fake.dial(t)
	fake.types()
	ids := slices.Repeat([]pcp.PMID{idCount}, 40000)
	if descs, err := c.LookupDescs(t.Context(), ids...); err != nil || descs[39999] != fake.descs[idCount] {
		t.Errorf("LookupDescs: %v", err)
	}
	if n := len(fake.types()); n != 3 {
		t.Errorf("%d requests for descriptors, want 3", n)
	}
	names := slices.Repeat([]string{"demo.count", "demo.load"}, 5000)
	names[7000], names[8000] = "demo", "demo.nope"
	got, err := c.LookupName(t.Context(), names...)
	if !errors.Is(err, pcp.ErrNonLeaf) || got[6999] != idLoad || got[7000] != pcp.PMIDNull || got[9999] != idLoad {
		t.Errorf("LookupName: %v", err)
	}
	if n := len(fake.types()); n != 4 {
		t.Errorf("%d requests for names, want 3 and 1 for the error", n)
	}
	// More than the collector takes: refused here, and the connection stays.
	if _, err := c.Fetch(t.Context(), ids); !errors.Is(err, pcp.ErrTooBig) {
		t.Errorf("Fetch: %v", err)
	}
	if _, err := c.Fetch(t.Context(), ids[:10]); err != nil {
		t.Errorf("Fetch after: %v", err)
	}
}

func TestProfileIsSentWhenChanged(t *testing.T) {
	fake := newCollector()
	var last wire.Profile
	fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type == wire.TypeProfile {
			last = wire.Profile{}
			if err := last.DecodeBody(body); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	c := fake.dial(t)
	ctx := t.Context()
	fetch := func(want ...wire.Type) {
		t.Helper()
		fake.types()
		if _, err := c.Fetch(ctx, []pcp.PMID{idLoad}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, fake.types()); diff != "" {
			t.Errorf("PDUs (-want +got):\n%s", diff)
		}
	}
	fetch(wire.TypeProfile, wire.TypeHighResFetch)
	fetch(wire.TypeHighResFetch)
	c.DelProfile(indom)
	c.AddProfile(indom, 2, 1)
	fetch(wire.TypeProfile, wire.TypeHighResFetch)
	want := pcp.Profile{InDoms: []pcp.ProfileInDom{{InDom: indom, State: pcp.ProfileExclude, Insts: []int32{1, 2}}}}
	if diff := cmp.Diff(want, last.Profile); diff != "" {
		t.Errorf("profile (-want +got):\n%s", diff)
	}
	fetch(wire.TypeHighResFetch)
	if err := c.Reconnect(ctx); err != nil {
		t.Fatal(err)
	}
	fetch(wire.TypeProfile, wire.TypeHighResFetch)
	// Labels of instances go by the profile, other labels do not.
	c.AddProfile(indom, 1)
	fake.types()
	c.Labels(ctx, pcp.LabelItem, 1)
	c.Labels(ctx, pcp.LabelInstances, uint32(indom))
	if diff := cmp.Diff([]wire.Type{wire.TypeLabelReq, wire.TypeProfile, wire.TypeLabelReq}, fake.types()); diff != "" {
		t.Errorf("PDUs (-want +got):\n%s", diff)
	}
	fetch(wire.TypeHighResFetch)
	dup, err := c.Dup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	if err := c.AddProfile(pcp.InDomNull); err != nil {
		t.Fatal(err)
	}
	fetch(wire.TypeProfile, wire.TypeHighResFetch)
	if _, err := dup.Fetch(ctx, []pcp.PMID{idLoad}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, last.Profile); diff != "" {
		t.Errorf("profile of the duplicate (-want +got):\n%s", diff)
	}
	if err := c.AddProfile(pcp.InDomNull, 1); !errors.Is(err, pcp.ErrProfileSpec) {
		t.Errorf("AddProfile of an instance of no domain: %v", err)
	}
}

func TestPDUCounts(t *testing.T) {
	c := newCollector().dial(t)
	for range 3 {
		if _, err := c.Fetch(t.Context(), []pcp.PMID{idCount}); err != nil {
			t.Fatal(err)
		}
	}
	c.LookupDesc(t.Context(), 99)
	if err := c.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent, received := c.PDUCounts()
	at := func(t wire.Type) int { return int(t - wire.TypeError) }
	var wantSent, wantReceived PDUCounts
	wantSent[at(wire.TypeCreds)], wantSent[at(wire.TypeProfile)] = 2, 1
	wantSent[at(wire.TypeHighResFetch)], wantSent[at(wire.TypeDescReq)] = 3, 1
	wantReceived[at(wire.TypeError)], wantReceived[at(wire.TypeHighResResult)] = 3, 3
	if sent != wantSent || received != wantReceived {
		t.Errorf("PDUCounts = %v, %v, want %v, %v", sent, received, wantSent, wantReceived)
	}
}

func TestStateBits(t *testing.T) {
	fake := newCollector()
	var changed atomic.Bool
	changed.Store(true)
	fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
		if hdr.Type == wire.TypeHighResFetch && changed.Swap(false) {
			s.status(pcp.Error(AddAgent | NamesChange))
		}
		return false
	}
	c := fake.dial(t)
	var res pcp.Result
	changes, err := c.FetchInto(t.Context(), []pcp.PMID{idCount}, &res)
	if changes != AddAgent|NamesChange || err != nil || len(res.Sets) != 1 {
		t.Errorf("FetchInto = %v, %v", changes, err)
	}
	if changes, err := c.FetchInto(t.Context(), []pcp.PMID{idCount}, &res); changes != 0 || err != nil {
		t.Errorf("second FetchInto = %v, %v", changes, err)
	}
}

func TestRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newCollector()
		var silent atomic.Bool
		silent.Store(true)
		fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
			return silent.Load() && hdr.Type == wire.TypeHighResFetch
		}
		c := fake.dial(t)
		start := time.Now()
		ids := []pcp.PMID{idCount}
		if _, err := c.Fetch(t.Context(), ids); !errors.Is(err, pcp.ErrTimeout) || pcp.Code(err) != pcp.ErrTimeout {
			t.Errorf("Fetch: %v", err)
		}
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("gave up after %v", took)
		}
		silent.Store(false)
		if _, err := c.Fetch(t.Context(), ids); pcp.Code(err) != pcp.ErrIPC {
			t.Errorf("Fetch on the same connection: %v", err)
		}
		if err := c.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Fetch(t.Context(), ids); err != nil {
			t.Errorf("Fetch on the new connection: %v", err)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newCollector()
		fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
			return hdr.Type == wire.TypeHighResFetch
		}
		c := fake.dial(t)
		ids := []pcp.PMID{idCount}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Fetch(ctx, ids); !errors.Is(err, context.Canceled) {
			t.Errorf("Fetch with a context that is done: %v", err)
		}
		// That one never started: the connection is good.
		if _, err := c.LookupName(t.Context(), "demo.count"); err != nil {
			t.Errorf("LookupName: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		// Another caller waits for its turn meanwhile, and gives up first.
		waiter := make(chan error)
		go func() {
			time.Sleep(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.Fetch(ctx, ids)
			waiter <- err
		}()
		start := time.Now()
		_, err := c.Fetch(ctx, ids)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("Fetch: %v after %v", err, time.Since(start))
		}
		if err := <-waiter; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting Fetch: %v", err)
		}
		if _, err := c.LookupName(t.Context(), "demo.count"); !errors.Is(err, pcp.ErrIPC) {
			t.Errorf("LookupName after a request was given up: %v", err)
		}
	})
}

func TestCloseEndsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newCollector()
		fake.answer = func(s *session, hdr wire.Header, body []byte) bool { return hdr.Type == wire.TypeHighResFetch }
		c := fake.dial(t)
		time.AfterFunc(time.Second, func() { c.Close() })
		if _, err := c.Fetch(t.Context(), []pcp.PMID{idCount}); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("Fetch: %v", err)
		}
		if _, err := c.Fetch(t.Context(), []pcp.PMID{idCount}); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("Fetch: %v", err)
		}
		if err := c.Reconnect(t.Context()); !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("Reconnect: %v", err)
		}
	})
}

func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newCollector()
		d := fake.dialer()
		up, attempts := true, 0
		pipe := d.DialContext
		d.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			attempts++
			if up {
				return pipe(ctx, network, address)
			}
			return nil, syscall.ECONNREFUSED
		}
		c, err := d.Dial(t.Context(), "fake")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		up, attempts = false, 0
		wait := []int{5, 10, 20, 40, 80, 80, 80}
		for i, sec := range wait {
			err := c.Reconnect(t.Context())
			if pcp.Code(err) != -pcp.Error(syscall.ETIMEDOUT) || !errors.Is(err, syscall.ECONNREFUSED) || attempts != i+1 {
				t.Fatalf("attempt %d: %v, %d attempts", i, err, attempts)
			}
			time.Sleep(time.Duration(sec)*time.Second - 1)
			err = c.Reconnect(t.Context())
			if pcp.Code(err) != -pcp.Error(syscall.ETIMEDOUT) || attempts != i+1 {
				t.Fatalf("too soon after attempt %d: %v, %d attempts", i, err, attempts)
			}
			time.Sleep(time.Nanosecond)
		}
		up = true
		if err := c.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Fetch(t.Context(), []pcp.PMID{idCount}); err != nil {
			t.Error(err)
		}
		up = false
		if err := c.Reconnect(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the wait starts anew after success: %v", err)
		}
		time.Sleep(5 * time.Second)
		if err := c.Reconnect(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the first wait is 5 s again: %v", err)
		}
	})
}
