// Logtail is an agent that follows a log file: it counts lines by severity and
// hands the lines out as events.
package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/event"
)

func main() {
	path := "/var/log/syslog"
	d := &pmda.Daemon{
		Name: "pmdalogtail", Domain: 402,
		Own: []pmda.Option{{Short: 'f', Long: "file", Arg: "PATH", Help: "follow PATH rather than " + path}},
		Set: func(_ *pmda.Option, arg string) error { path = arg; return nil },
		New: func(domain int, log *slog.Logger) (pmda.Agent, error) { return newAgent(domain, path, log) },
	}
	d.Main()
}

// severities are the instances; a line is of the first that it contains, else of the last.
var severities = []pcp.Instance{{Inst: 0, Name: "error"}, {Inst: 1, Name: "warning"}, {Inst: 2, Name: "other"}}

// tail follows a file. Queues forgets clients that have gone.
type tail struct {
	*pmda.Table
	*event.Queues
	path  string
	file  *os.File // nil while there is none
	rest  string   // of a line whose end has not been written yet
	count [3]uint64
	lines *event.Queue
	line  pcp.PMID // of the parameter of events
}

func newAgent(domain int, path string, log *slog.Logger) (pmda.Agent, error) {
	t := &tail{Queues: event.NewQueues(log), path: path, line: pcp.NewPMID(domain, 0, 2)}
	var err error
	if t.lines, err = t.New("lines", 64<<10); err != nil { // slow clients miss older lines
		return nil, err
	}
	if t.file, err = os.Open(path); err == nil { // existing lines are not news
		_, err = t.file.Seek(0, io.SeekEnd)
	}
	if err != nil {
		log.Warn("log cannot be followed yet", "err", err)
	}
	t.Table, err = pmda.NewTable(pmda.Config{
		Name: "logtail", Domain: domain, Refresh: t.refresh, Log: log,
		Value: func(req *pmda.FetchRequest, _ *pmda.Metric, _ int32, _ int) (pcp.Value, error) {
			return t.lines.Records(req.Client, t.record)
		},
		Metrics: []pmda.Metric{{
			Name: "logtail.lines", Item: 0, Type: pcp.TypeU64, Sem: pcp.SemCounter,
			Units:   pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne),
			InDom:   &pmda.InDom{Serial: 0, Instances: severities, OneLine: "severities of lines"},
			OneLine: "lines written to the log", Help: "Lines by severity, since the agent started.",
			Value: func(_ int32, i int) (pcp.Value, error) { return pcp.Uint64Value(t.count[i]), nil },
		}, {
			Name: "logtail.records", Item: 1, Type: pcp.TypeEvent, Sem: pcp.SemInstant,
			OneLine: "the lines themselves", Help: "Each client gets each line that was written since it first asked once.",
		}, {
			Name: "logtail.line", Item: 2, Type: pcp.TypeString, Sem: pcp.SemInstant,
			OneLine: "one line", Help: "The parameter of logtail.records; by itself it has no value.",
			Value: func(int32, int) (pcp.Value, error) { return pcp.Value{}, pmda.ErrNoValue },
		}},
	})
	return t, err
}

// refresh reads the lines written since, from a new file if the old one was
// rotated away. A megabyte at a time bounds the time of one request.
func (t *tail) refresh(context.Context, []pcp.PMID) error {
	for again := true; again; {
		again = false
		if t.file == nil {
			f, err := os.Open(t.path)
			if err != nil {
				return nil // none yet: the counts stay
			}
			t.file, t.rest = f, ""
		}
		if err := t.read(); err != nil {
			return err
		}
		ours, err := t.file.Stat()
		if err != nil {
			return err
		}
		if now, err := os.Stat(t.path); err == nil && !os.SameFile(ours, now) {
			t.file.Close()
			t.file, again = nil, true
		}
	}
	return nil
}

func (t *tail) read() error {
	r := bufio.NewReader(io.LimitReader(t.file, 1<<20))
	for {
		part, err := r.ReadString('\n')
		t.rest += part
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line := strings.TrimSuffix(t.rest, "\n")
		t.rest = ""
		i := 0
		for i < len(severities)-1 && !strings.Contains(line, severities[i].Name) {
			i++
		}
		t.count[i]++
		if err := t.lines.Append([]byte(line), pcp.TimestampOf(time.Now())); err != nil {
			return err
		}
	}
}

func (t *tail) record(a *event.Array, line []byte, at pcp.Timestamp) error {
	if err := a.Add(at, pcp.EventPoint); err != nil {
		return err
	}
	return a.Param(t.line, pcp.StringValue(string(line)))
}
