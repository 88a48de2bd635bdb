package pmlogger

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

// A task is a set of metrics recorded in the same state at the same interval.
type task struct {
	conf.Statement
	metrics []taskMetric
	byName  map[string]int // index in metrics
	byID    map[pcp.PMID]int
	groups  []*group
	// valid is the number of accepted requests. A task without one is not scheduled.
	valid   int
	derived int       // number of metrics that are derived
	due     time.Time // zero if not scheduled
	sized   bool      // its size was logged
	records int64     // length of its last records
}

// A taskMetric is a metric of a task's statement, whether it is recorded or not.
type taskMetric struct {
	name string
	desc pcp.Desc
}

// A Fetch describes a task for Fetches: the interval of its metrics, 0 for none, and the number of metrics in each
// group fetched together.
type Fetch struct {
	Interval time.Duration
	Groups   []int
}

// Fetches returns the metrics that are fetched together. It must be called before Run.
func (r *Recorder) Fetches() []Fetch {
	var list []Fetch
	for _, t := range r.plan.tasks {
		f := Fetch{Interval: t.Interval}
		for _, g := range t.groups {
			f.Groups = append(f.Groups, len(g.ids))
		}
		list = append(list, f)
	}
	return list
}

// conflict returns the reason why a statement cannot change another task's
// recording of a metric, "" if it can.
func conflict(old, s conf.State) string {
	if !old.Mandatory || s.Mandatory || s.Maybe {
		return ""
	}
	state := map[bool]string{true: "ON", false: "OFF"}
	return fmt.Sprintf("Request for (advisory) %s conflicts with current (mandatory) %s state", state[s.On], state[old.On])
}

func newTask(s conf.Statement) *task {
	return &task{Statement: s, byName: make(map[string]int), byID: make(map[pcp.PMID]int)}
}

// add adds a metric to a task, and returns its index in metrics.
func (t *task) add(name string, d pcp.Desc) int {
	i := len(t.metrics)
	t.metrics = append(t.metrics, taskMetric{name, d})
	t.byName[name] = i
	if _, ok := t.byID[d.PMID]; !ok {
		t.byID[d.PMID] = i
	}
	if d.PMID.IsDerived() {
		t.derived++
	}
	return i
}

// reportSize logs the size of a task's records.
func (t *task) reportSize(log journal, bytes int64, metrics int) {
	if metrics > 1 {
		log.printf("\nGroup [%d metrics", metrics)
		if t.derived > 0 {
			log.printf(", %d derived", t.derived)
		}
		log.printf("] {\n")
	} else {
		log.printf("\nMetric ")
	}
	for _, g := range t.groups {
		for _, id := range g.ids {
			name := id.String()
			if i, ok := t.byID[id]; ok {
				name = t.metrics[i].name
			}
			if metrics > 1 {
				name = "\t" + name + "\n"
			}
			log.printf("%s", name)
		}
	}
	if metrics > 1 {
		log.printf("}")
	}
	if t.Interval == 0 {
		log.printf(" logged once: %d bytes\n", bytes)
		return
	}
	if s := t.Interval.Seconds(); t.Interval%time.Second == 0 {
		log.printf(" logged every %d sec: %d bytes ", int64(s), bytes)
	} else {
		log.printf(" logged every %.3f sec: %d bytes ", s, bytes)
	}
	log.printf("or %.2f Mbytes/day\n", float64(bytes)*24*60*60/(1024*1024*t.Interval.Seconds()))
}

// schedule makes a task due, if it records anything.
func (t *task) schedule(now time.Time) {
	if t.valid == 0 || !t.State.On {
		return
	}
	t.due = now
	if t.Interval > 0 {
		t.due = now.Add(blink)
	}
}

// blink is the delay of the first samples after those taken once.
const blink = 20 * time.Millisecond

// advance sets the time of the next sample of a task that is due. It returns the time when this one was due,
// and how many after it were missed; they are not made up for.
func (t *task) advance(now time.Time) (due time.Time, missed int) {
	due = t.due
	if t.Interval == 0 {
		t.due = time.Time{}
		return due, 0
	}
	late := now.Sub(due)
	t.due = due.Add(late.Truncate(t.Interval) + t.Interval)
	return due, int(late / t.Interval)
}
