package pmlogger_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// crowd serves 50 metrics of 1,000 instances.
func crowd(tb testing.TB, socket string) (stop func()) {
	tb.Helper()
	var list []pcp.Instance
	for i := range int32(1000) {
		list = append(list, pcp.Instance{Inst: i * 3, Name: fmt.Sprintf("%06d process", i*3)})
	}
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) { return list, nil }}
	cfg := pmda.Config{Name: "crowd", Domain: 400, InDoms: []*pmda.InDom{indom}}
	for i := range 50 {
		m := pmda.Metric{Name: fmt.Sprintf("crowd.m%d", i), Item: i, InDom: indom, Type: pcp.TypeU64, Sem: pcp.SemCounter}
		m.Value = func(inst int32, _ int) (pcp.Value, error) { return pcp.Uint64Value(uint64(inst) * 7), nil }
		if i%10 == 0 {
			m.Type, m.Sem = pcp.TypeString, pcp.SemDiscrete
			m.Value = func(int32, int) (pcp.Value, error) { return pcp.StringValue("a command with arguments"), nil }
		}
		cfg.Metrics = append(cfg.Metrics, m)
	}
	a, err := pmda.NewTable(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "crowd", Domain: 400, Agent: a}}})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
	}
}

// crowdRecorder returns a recorder of these metrics, and a function that takes a sample.
func crowdRecorder(tb testing.TB) (r *pmlogger.Recorder, sample func()) {
	tb.Helper()
	dir := tb.TempDir()
	socket := filepath.Join(dir, "socket")
	tb.Cleanup(crowd(tb, socket))
	c, err := pmapi.Dial(tb.Context(), "unix:"+socket)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	if r, err = pmlogger.New(tb.Context(), c, pmlogger.Config{Archive: filepath.Join(dir, "a")}); err != nil {
		tb.Fatal(err)
	}
	if _, err := r.Configure(tb.Context(), strings.NewReader("log on 1 sec crowd"), "config"); err != nil {
		tb.Fatal(err)
	}
	if err := r.Create(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return r, func() {
		if err := r.Sample(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	_, sample := crowdRecorder(b)
	sample()
	b.ReportAllocs()
	for b.Loop() {
		sample()
	}
}

func BenchmarkWrite(b *testing.B) {
	r, sample := crowdRecorder(b)
	sample()
	sample()
	b.ReportAllocs()
	for b.Loop() {
		if err := r.WriteAgain(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWriteAllocs checks that a sample like the one before does not allocate.
func TestWriteAllocs(t *testing.T) {
	r, sample := crowdRecorder(t)
	sample()
	sample()
	if !r.Raw() {
		t.Error("the result was decoded")
	}
	if n := testing.AllocsPerRun(20, func() {
		if err := r.WriteAgain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}); n > 1 { // the index grows
		t.Errorf("%v allocations", n)
	}
}
