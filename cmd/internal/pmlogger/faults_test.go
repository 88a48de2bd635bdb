package pmlogger_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// A cable is a connection between a recorder and its collector that can be cut: data is
// dropped, and neither side notices.
type cable struct {
	to string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

func (w *cable) serve(ln net.Listener) {
	for {
		in, err := ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("unix", w.to)
		if err != nil {
			in.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		go w.copy(out, in)
		go w.copy(in, out)
	}
}

func (w *cable) copy(to, from net.Conn) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		w.mu.Lock()
		cut := w.cut
		w.mu.Unlock()
		if err != nil {
			to.Close()
			return
		}
		if cut {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			from.Close()
			return
		}
	}
}

// set cuts or mends the cable. Connections from before a cut stay silent for ever.
func (w *cable) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut && !cut {
		for _, c := range w.conns {
			c.Close()
		}
		w.conns = nil
	}
	w.cut = cut
}

// TestNetworkCut cuts the network between a recorder and its collector, and mends it: there is
// one mark, and no sample twice.
func TestNetworkCut(t *testing.T) {
	dir := t.TempDir()
	socket, near := filepath.Join(dir, "far"), filepath.Join(dir, "near")
	stop := count(t, socket)
	defer stop()
	w := &cable{to: socket}
	ln, err := net.Listen("unix", near)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go w.serve(ln)
	d := pmapi.Dialer{Reconnect: []time.Duration{time.Millisecond}, RequestTimeout: 200 * time.Millisecond}
	c, err := d.Dial(t.Context(), "unix:"+near)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l := &said{text: make(chan string, 10000)}
	base := filepath.Join(dir, "a")
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base, Log: l})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 2 msec count.fetched\nlog on once count.once"), "config"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	if err := r.Call(t.Context(), func() {}); err != nil {
		t.Fatal(err)
	}
	w.set(true)
	l.wait(t, "Lost connection")
	w.set(false)
	l.wait(t, "re-established connection")
	for range 5 { // samples, the first of which arrived with the connection
		if err := r.Call(t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	marks, last := 0, uint64(0)
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		if len(rec.Sets) == 0 {
			marks++
		}
		for _, s := range rec.Sets {
			if s.PMID == pcp.NewPMID(400, 0, 0) {
				v := s.Values[0].Uint64()
				if v <= last {
					t.Errorf("sample %d after %d", v, last)
				}
				last = v
			}
		}
	}
	if marks != 1 {
		t.Errorf("%d marks", marks)
	}
}

// TestClockBack sets the collector's time back: records stay in order, and the log reports it.
func TestClockBack(t *testing.T) {
	r, sample := crowdRecorder(t)
	sample()
	sample()
	before := r.Last()
	for range 3 {
		if err := r.WriteAt(t.Context(), before.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WriteAt(t.Context(), before.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	base := r.Archive()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var times []pcp.Timestamp
	reader := a.NewReader()
	defer reader.Close()
	for {
		rec, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, rec.Time)
	}
	if n := len(times); n != 7 || times[n-2] != before.Add(3*time.Millisecond) || times[n-1] != before.Add(time.Second) {
		t.Errorf("records at %v, want four from %v on, a millisecond apart", times, before)
	}
}

// TestLargeInDom has all of 50,000 instances change from one sample to the next.
func TestLargeInDom(t *testing.T) {
	const n = 50_000
	dir := t.TempDir()
	socket, base := filepath.Join(dir, "socket"), filepath.Join(dir, "a")
	var first atomic.Int32
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		list := make([]pcp.Instance, n)
		for i := range list {
			inst := first.Load() + int32(i)
			list[i] = pcp.Instance{Inst: inst, Name: strconv.Itoa(int(inst))}
		}
		return list, nil
	}}
	a, err := pmda.NewTable(pmda.Config{Name: "large", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "large.n", InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Uint32Value(uint32(inst)), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer collect(t, socket, pmcd.AgentSpec{Name: "large", Domain: 400, Agent: a})()
	c, err := pmapi.Dial(t.Context(), "unix:"+socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: base})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Configure(t.Context(), strings.NewReader("log on 1 sec large"), "config"); err != nil {
		t.Fatal(err)
	}
	if err := r.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	shifts := []int32{0, 0, n, n + 10, 0}
	for _, shift := range shifts {
		first.Store(shift)
		if err := r.Sample(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	back, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	i := 0
	for rec, err := range back.Records(back.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rec.Sets {
			if s.PMID != pcp.NewPMID(400, 0, 0) {
				continue
			}
			view := back.Meta().View(pcp.NewInDom(400, 1), rec.Time)
			for _, v := range s.Values {
				if name, ok := view.Name(v.Inst); !ok || name != strconv.Itoa(int(v.Inst)) {
					t.Fatalf("sample %d: instance %d has name %q, %t", i, v.Inst, name, ok)
				}
			}
			if len(s.Values) != n || s.Values[0].Inst != shifts[i] {
				t.Errorf("sample %d: %d instances from %d on, want %d from %d on", i, len(s.Values), s.Values[0].Inst, n, shifts[i])
			}
			i++
		}
	}
	if i != len(shifts) {
		t.Errorf("%d samples", i)
	}
}
