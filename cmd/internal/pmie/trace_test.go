package pmie

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/cmd/internal/pmie/rule"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// TestTraceTask checks the trace of a task with a host that lacks a metric, and of a task with a host that is down.
func TestTraceTask(t *testing.T) {
	f := func(want string, h host, retry float64) {
		t.Helper()
		var out bytes.Buffer
		log := debug.New(&out, debugname.Appl2)
		log.SetZone(time.UTC)
		e := &Engine{cfg: Config{Debug: log}}
		e.traceTask(&task{delta: 12, tick: 3, due: 1000.25, retry: retry, hosts: []*host{&h}, rules: []*ruled{{Rule: &rule.Rule{Name: "full"}}}})
		if got := regexp.MustCompile("0x[0-9a-f]+").ReplaceAllString(out.String(), "ADDR"); got != want {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
	const head = "Evaluating task:\nTask dump @ ADDR\n  delta=12.000 tick=3\n  eval time: Thu Jan  1 00:16:40.250000 1970\n"
	const rules = "  rules:\n    full\n"
	f(head+"  via=cellar (up)\n"+rules, host{conn: "cellar"}, 0)
	f(head+"  retry delta: 10.000 host:  metric/instances missing\n  via=cellar (up)\n"+rules, host{conn: "cellar", waits: []*eval.Metric{nil}}, 10)
	f(head+"  retry delta: 5.000 host: down\n  via=cellar (down)\n"+rules, host{conn: "cellar", down: true}, 5)
}
