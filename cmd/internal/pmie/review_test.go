package pmie

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmda"
)

// TestDescriptorsChange replaces an agent by another with a different metric, while rules use it: by a new agent of
// the same collector, and by another collector. A rule is unknown while it does not make sense for the metric, and
// recovers.
func TestDescriptorsChange(t *testing.T) {
	bytesOf := func(scale uint8) pcp.Units { return pcp.Units{DimSpace: 1, ScaleSpace: scale} }
	indom := &pmda.InDom{Serial: 1, List: func(context.Context) ([]pcp.Instance, error) {
		return []pcp.Instance{{Inst: 3, Name: "a"}, {Inst: 5, Name: "b"}}, nil
	}}
	none := pmda.Metric{}
	instant := pmda.Metric{Type: pcp.TypeU32, Sem: pcp.SemInstant, Units: bytesOf(pcp.SpaceKByte)}
	with := func(change func(m *pmda.Metric)) pmda.Metric {
		m := instant
		change(&m)
		return m
	}
	steps := []struct {
		what     string
		m        pmda.Metric
		value    float64
		single   deliver.State // of value > 50 Kbyte
		multiple deliver.State // of some_inst
		text     deliver.State // of == "yes"
		said     string
	}{
		{"as it was", instant, 80, deliver.True, deliver.Unknown, deliver.Unknown, ""},
		{"less", instant, 8, deliver.False, deliver.Unknown, deliver.Unknown, ""},
		{"another type", with(func(m *pmda.Metric) { m.Type = pcp.TypeDouble }), 80.5, deliver.True, deliver.Unknown, deliver.Unknown, "has changed: U32 instant \"Kbyte\", then DOUBLE instant \"Kbyte\""},
		{"a smaller type", with(func(m *pmda.Metric) { m.Type = pcp.Type32 }), -1, deliver.False, deliver.Unknown, deliver.Unknown, "32 instant"},
		{"another scale", with(func(m *pmda.Metric) { m.Units = bytesOf(pcp.SpaceMByte) }), 1, deliver.True, deliver.Unknown, deliver.Unknown, "\"Mbyte\""},
		{"another number", with(func(m *pmda.Metric) { m.Item = 7 }), 80, deliver.True, deliver.Unknown, deliver.Unknown, "has changed"},
		{"another dimension", with(func(m *pmda.Metric) { m.Units = pcp.Units{DimTime: 1} }), 80, deliver.Unknown, deliver.Unknown, deliver.Unknown, "is another one than before"},
		{"back", instant, 80, deliver.True, deliver.Unknown, deliver.Unknown, "has changed"},
		{"a counter", with(func(m *pmda.Metric) { m.Sem = pcp.SemCounter }), 80, deliver.Unknown, deliver.Unknown, deliver.Unknown, "counter"},
		{"discrete", with(func(m *pmda.Metric) { m.Sem = pcp.SemDiscrete }), 80, deliver.True, deliver.Unknown, deliver.Unknown, "discrete"},
		{"a string", with(func(m *pmda.Metric) { m.Type, m.Units = pcp.TypeString, pcp.Units{} }), 0, deliver.Unknown, deliver.Unknown, deliver.Unknown, "STRING"},
		{"instances", with(func(m *pmda.Metric) { m.InDom = indom }), 80, deliver.Unknown, deliver.Unknown, deliver.Unknown, "it has instances"},
		{"gone", none, 0, deliver.Unknown, deliver.Unknown, deliver.Unknown, ""},
		{"there again, and another", with(func(m *pmda.Metric) { m.Type, m.Item = pcp.TypeU64, 9 }), 80, deliver.True, deliver.Unknown, deliver.Unknown, "then U64"},
		{"gone again", none, 0, deliver.Unknown, deliver.Unknown, deliver.Unknown, ""},
		{"back at last", instant, 20, deliver.False, deliver.Unknown, deliver.Unknown, "has changed"},
		{"an aggregate", with(func(m *pmda.Metric) { m.Type = pcp.TypeAggregate }), 0, deliver.Unknown, deliver.Unknown, deliver.Unknown, "AGGREGATE"},
		{"once more", instant, 80, deliver.True, deliver.Unknown, deliver.Unknown, "has changed"},
	}
	for _, another := range []bool{false, true} {
		t.Run(fmt.Sprintf("another collector %t", another), func(t *testing.T) {
			var value atomic.Value
			value.Store(80.0)
			agent := func(n int, m pmda.Metric) pmcd.AgentSpec {
				cfg := pmda.Config{Name: "turn", Domain: 400, InDoms: []*pmda.InDom{indom}, Metrics: []pmda.Metric{{Name: "turn.other", Item: 100, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(1), nil }}}}
				if m.Type != none.Type || m.Sem != none.Sem {
					m.Name = "turn.value"
					m.Value = func(int32, int) (pcp.Value, error) {
						f := value.Load().(float64)
						switch m.Type {
						case pcp.TypeString:
							return pcp.StringValue("yes"), nil
						case pcp.TypeAggregate:
							return pcp.BytesValue(pcp.TypeAggregate, []byte{1, 2, 3}), nil
						case pcp.TypeDouble:
							return pcp.DoubleValue(f), nil
						case pcp.Type32:
							return pcp.Int32Value(int32(f)), nil
						case pcp.TypeU64:
							return pcp.Uint64Value(uint64(f)), nil
						}
						return pcp.Uint32Value(uint32(f)), nil
					}
					cfg.Metrics = append(cfg.Metrics, m)
				}
				a, err := pmda.NewTable(cfg)
				if err != nil {
					t.Fatal(err)
				}
				return pmcd.AgentSpec{Name: "turn", Domain: 400, Agent: a, Transport: conf.Transport{Path: fmt.Sprint("turn", n)}}
			}
			socket := filepath.Join(t.TempDir(), "socket")
			var setup atomic.Pointer[pmcd.Setup]
			start := func(spec pmcd.AgentSpec) (s *pmcd.Server, stop func()) {
				ln, err := net.Listen("unix", socket)
				if err != nil {
					t.Fatal(err)
				}
				s, err = pmcd.New(pmcd.Config{Listeners: []net.Listener{ln}, Agents: []pmcd.AgentSpec{spec}, Reload: setup.Load})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				var done sync.WaitGroup
				done.Go(func() { s.Run(ctx) })
				return s, func() {
					cancel()
					done.Wait()
				}
			}
			s, stop := start(agent(0, instant))
			defer func() { stop() }()
			var said bytes.Buffer
			seen := map[string]deliver.State{}
			d := pmapi.Dialer{Reconnect: []time.Duration{1}}
			e, err := New(t.Context(), Config{
				Host: "unix:" + socket, Err: &said, Dial: d.Dial, Act: nothing, Observe: func(ev deliver.Evaluation) { seen[ev.Rule] = ev.State },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			rules := `single = turn.value > 50 Kbyte -> print "%v";
				multiple = some_inst turn.value #a > 50 Kbyte -> print "%i";
				text = turn.value == "yes" -> print "%v";
				sums = avg_sample turn.value @0..1 > 0 && rate turn.value >= 0 && max_inst turn.value > 1 -> print "%v";
				other = turn.other == 1 -> print "%v";`
			if _, err := e.Load(t.Context(), strings.NewReader(rules), "rules"); err != nil {
				t.Fatal(err)
			}
			said.Reset()
			now := 1000.0
			evaluate := func() {
				t.Helper()
				now += 10
				e.now = now
				for _, task := range e.get.tasks {
					if err := e.get.revive(task); err != nil {
						t.Fatal(err)
					}
				}
				e.once(t, now)
			}
			evaluate()
			for i, step := range steps {
				value.Store(step.value)
				if i > 0 && !(step.m.Type == steps[i-1].m.Type && step.m.Sem == steps[i-1].m.Sem && step.m.Units == steps[i-1].m.Units && step.m.Item == steps[i-1].m.Item && step.m.InDom == steps[i-1].m.InDom) {
					spec := agent(i, step.m)
					if another {
						stop()
						evaluate() // the connection is lost
						_, stop = start(spec)
					} else {
						setup.Store(&pmcd.Setup{Agents: []pmcd.AgentSpec{spec}})
						s.HangUp()
					}
				}
				evaluate()
				evaluate()
				want := map[string]deliver.State{"single": step.single, "multiple": step.multiple, "text": step.text, "other": deliver.True}
				for rule, state := range want {
					if seen[rule] != state {
						t.Errorf("%s: rule %s is %v, want %v; said %s", step.what, rule, seen[rule], state, &said)
					}
				}
				if n := strings.Count(said.String(), "metric turn.value"); n > 1 {
					t.Errorf("%s: said %d times: %s", step.what, n, &said)
				}
				if !strings.Contains(said.String(), step.said) || slices.ContainsFunc(strings.Split(said.String(), "\n"), func(line string) bool { return step.said == "" && strings.Contains(line, "turn.value") }) {
					t.Errorf("%s: said %q, want %q", step.what, &said, step.said)
				}
				said.Reset()
			}
		})
	}
}
