package pmie

import (
	"fmt"
	"math"
	"time"

	"github.com/go-pcp/pcp/internal/debugname"
)

// traceTask traces a task that is about to be evaluated, in the layout of the C program (dumpTask): when it
// was due, the missing metrics and how soon they are tried again, and its hosts and rules. Expressions are
// not dumped, which are other trees than those of C.
func (e *Engine) traceTask(t *task) {
	log := e.cfg.Debug
	if !log.On(debugname.Appl2) {
		return
	}
	sec, frac := math.Modf(t.due)
	at := time.Unix(int64(sec), int64(math.Round(frac*1e6))*1000).In(log.Zone())
	b := fmt.Appendf(nil, "Evaluating task:\nTask dump @ %p\n  delta=%.3f tick=%d\n  eval time: %s\n",
		t, t.delta, t.tick, at.Format("Mon Jan _2 15:04:05.000000 2006"))
	if t.retry > 0 {
		b = fmt.Appendf(b, "  retry delta: %.3f host: %s\n", t.retry, t.missing())
	}
	for _, h := range t.hosts {
		state := "up"
		if h.down {
			state = "down"
		}
		b = fmt.Appendf(b, "  via=%s (%s)\n", h.conn, state)
	}
	b = append(b, "  rules:\n"...)
	for _, r := range t.rules {
		b = fmt.Appendf(b, "    %s\n", r.Name)
	}
	log.Write(b)
}

// missing returns the metrics that a task waits for.
func (t *task) missing() string {
	for _, h := range t.hosts {
		if len(h.waits) > 0 {
			return " metric/instances missing"
		}
	}
	return "down"
}
