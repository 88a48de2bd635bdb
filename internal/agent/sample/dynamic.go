package sample

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmda"
)

// A dynamic is the instances of sample.dynamic, which a file lists: a number
// and a name, with space between.
type dynamic struct {
	path    string
	changed time.Time // the file, when it was read
	list    []pcp.Instance
	counts  map[int32]int32
}

// Limits of the file.
const (
	maxDynamicFile = 16 << 20
	maxDynamicInst = 1<<22 - 1
)

// check reads the file again if it has changed.
func (d *dynamic) check(a *Agent) {
	fi, err := os.Stat(d.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && d.list != nil {
			a.debug(debugAppl0, "redo instance domain for dynamic: numinst: 0 (no control file)")
		}
		d.list, d.changed = nil, time.Time{}
		return
	}
	if fi.ModTime().Equal(d.changed) {
		return
	}
	d.changed = fi.ModTime()
	f, err := os.Open(d.path)
	if err != nil {
		a.log.Error("instances cannot be read", "path", d.path, "err", err)
		return
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDynamicFile))
	if err == nil {
		d.list, err = parseDynamic(string(text))
	}
	if err != nil {
		d.list = nil
		a.log.Error("instances cannot be read", "path", d.path, "err", err)
	}
	d.counts = make(map[int32]int32, len(d.list))
	a.debugList("dynamic", d.list)
}

func parseDynamic(text string) ([]pcp.Instance, error) {
	var list []pcp.Instance
	for {
		text = ctext.TrimSpace(text)
		if text == "" {
			return list, nil
		}
		i := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '-' && r != '+' })
		if i < 0 {
			i = len(text)
		}
		n, err := strconv.Atoi(text[:i])
		if err != nil {
			line, _, _ := strings.Cut(text, "\n")
			return nil, fmt.Errorf("missing instance identifier in %.100q", line)
		}
		if n < 0 || n > maxDynamicInst {
			return nil, fmt.Errorf("instance identifier %d is illegal", n)
		}
		text = strings.TrimLeft(text[i:], " \t\v\f\r")
		name, _, _ := strings.Cut(text, "\n")
		if i = strings.IndexAny(name, " \t\v\f\r"); i >= 0 {
			name = name[:i]
		}
		if name == "" {
			return nil, fmt.Errorf("missing instance name for instance identifier %d", n)
		}
		text = text[len(name):]
		list = append(list, pcp.Instance{Inst: int32(n), Name: name})
	}
}

// count counts a fetch for each instance.
func (d *dynamic) count() {
	for _, i := range d.list {
		d.counts[i.Inst]++
	}
}

func (a *Agent) dynamicRows() []row {
	var rows []row
	for i, sem := range []struct {
		name string
		sem  pcp.Sem
	}{{"counter", pcp.SemCounter}, {"discrete", pcp.SemDiscrete}, {"instant", pcp.SemInstant}} {
		rows = append(rows, row{Metric: pmda.Metric{
			Name: "dynamic." + sem.name, Item: itemDynamicCounter + i, Type: pcp.Type32, Sem: sem.sem, Units: count,
			InDom: a.dom.dynamic, OneLine: "fetches since the instances changed",
			Help: `For each instance that $PCP_PMDAS_DIR/sample/dynamic.indom lists. Counting starts
over when the file changes.`,
			Value: func(inst int32, _ int) (pcp.Value, error) { return pcp.Int32Value(a.files.counts[inst]), nil },
		}})
	}
	return rows
}
