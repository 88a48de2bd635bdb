package pmie

import (
	"bytes"
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// nowhere is a Config.Dial that reaches no collector.
func nowhere(context.Context, string) (*pmapi.Context, error) { return nil, pcp.ErrIPC }

// nothing is a Config.Act that succeeds.
func nothing(context.Context, deliver.Action) error { return nil }

// serve starts a collector with one metric of two instances, and returns a function that
// stops it.
func serve(t *testing.T, socket string, value *atomic.Uint32) (stop func()) {
	t.Helper()
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		return []pcp.Instance{{Inst: 0, Name: "sda"}, {Inst: 1, Name: "it's $(b)"}}, nil
	}}
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{
		{Name: "guide.busy", InDom: indom, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.Uint32Value(value.Load() * uint32(inst)), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{{Name: "guide", Domain: 400, Agent: a}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	return func() {
		cancel()
		done.Wait()
	}
}

// TestLive evaluates a rule while the collector stops and starts again.
func TestLive(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	value := new(atomic.Uint32)
	value.Store(80)
	stop := serve(t, socket, value)
	acts := make(chan deliver.Action, 1000)
	var said bytes.Buffer // written by Run alone, read when it has ended
	d := pmapi.Dialer{Reconnect: []time.Duration{time.Millisecond}}
	var first atomic.Pointer[pmapi.Context] // the connection for reading the rules
	e, err := New(t.Context(), Config{
		Host: "unix:" + socket, Err: &said, Interval: 20 * time.Millisecond,
		Dial: func(ctx context.Context, spec string) (*pmapi.Context, error) {
			c, err := d.Dial(ctx, spec)
			first.CompareAndSwap(nil, c)
			return c, err
		},
		Act: func(_ context.Context, a deliver.Action) error {
			acts <- a
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	sound, err := e.Load(t.Context(), strings.NewReader(`some_inst guide.busy > 50 -> print "%i: %v" & shell 1 hour "echo '%i'";`), "rules")
	if err != nil || !sound {
		t.Fatalf("%t, %v: %s", sound, err, &said)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	want := func(kind deliver.Kind, text string) {
		t.Helper()
		if a := <-acts; a.Kind != kind || a.Text != text {
			t.Fatalf("%v %q, want %v %q", a.Kind, a.Text, kind, text)
		}
	}
	want(deliver.Print, "it's $(b): 80")
	want(deliver.Shell, `echo 'it'\''s $(b)'`)
	want(deliver.Print, "it's $(b): 80") // the shell is held back from now on
	if _, err := first.Load().Fetch(t.Context(), []pcp.PMID{pcp.NewPMID(400, 0, 0)}); err == nil {
		t.Error("the connection with which rules were read answers")
	}
	stop()
	value.Store(90)
	stop = serve(t, socket, value)
	for a := range acts {
		if a.Text == "it's $(b): 90" {
			break
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("Run ended without an error")
	}
	stop()
	if s := e.Stats(); s.Rules != 1 || s.True == 0 || s.Actions == 0 || s.True+s.False+s.Unknown != s.Actual {
		t.Errorf("stats %+v", s)
	}
	for _, text := range []string{"Lost connection to pmcd", "Re-established connection to pmcd"} {
		if !strings.Contains(said.String(), text) {
			t.Errorf("nothing said of %q: %s", text, &said)
		}
	}
}
