package top

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/model"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/screen"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
	"github.com/go-pcp/pcp/pcpjson"
)

// export writes the screen as text into a new file, or if its name ends in .csv the table of the view.
func (p *program) export(path string) error {
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		view, s, sel := p.app.Shown()
		if s == nil {
			return errors.New("there is no sample yet")
		}
		return writeNew(path, table(view, s, sel, p.job.sampler.Host().Name))
	}
	w, h := p.grid.Size()
	g := screen.New(w, h)
	p.app.Draw(g)
	return writeNew(path, g.Plain())
}

// writeNew writes a text into a new file.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// A csvStall is the pressure on a resource.
type csvStall struct {
	Resource string `json:"resource"`
	jsonStall
}

// A csvLine is a line of a chart.
type csvLine struct {
	Metric string `json:"metric"`
	jsonLine
	Units string `json:"units"`
}

// table returns the main table of a view as CSV. The columns are the fields of --json, after the time and the host.
func table(view ui.View, s *model.Snapshot, sel *model.Selection, host string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	switch view {
	case ui.CGroups:
		rows(w, s, host, len(s.CGroups), func(i int) jsonCGroup { return groupOf(&s.CGroups[i]) })
	case ui.Containers:
		rows(w, s, host, len(s.Containers), func(i int) jsonContainer { return containerOf(&s.Containers[i]) })
	case ui.Disks:
		rows(w, s, host, len(s.Disks), func(i int) jsonDisk { return diskOf(&s.Disks[i]) })
	case ui.Network:
		rows(w, s, host, len(s.Interfaces), func(i int) jsonInterface { return interfaceOf(&s.Interfaces[i]) })
	case ui.Pressure:
		p := &s.Pressure
		stalls := []*model.Stall{&p.CPU, &p.Memory, &p.IO, &p.IRQ}
		rows(w, s, host, len(stalls), func(i int) csvStall {
			return csvStall{[]string{"cpu", "memory", "io", "irq"}[i], *cmp.Or(stallOf(stalls[i]), &jsonStall{})}
		})
	case ui.Charts:
		var lines []csvLine
		for i := range s.Charts {
			for _, l := range s.Charts[i].Lines {
				lines = append(lines, csvLine{s.Charts[i].Spec, jsonLine{l.Name, known(l.Value)}, s.Charts[i].Units})
			}
		}
		rows(w, s, host, len(lines), func(i int) csvLine { return lines[i] })
	default:
		var order model.Order
		list := order.Rows(s, sel)
		rows(w, s, host, len(list), func(i int) jsonProcess { return processOf(&s.Processes[list[i].Index]) })
	}
	w.Flush()
	return b.String()
}

// rows writes a head and n rows, whose columns are the fields of a structure.
func rows[T any](w *csv.Writer, s *model.Snapshot, host string, n int, row func(i int) T) {
	fields := reflect.VisibleFields(reflect.TypeFor[T]())
	head := []string{"time", "host"}
	for _, f := range fields {
		if !f.Anonymous {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			head = append(head, name)
		}
	}
	_ = w.Write(head) // into memory
	for i := range n {
		line := []string{pcpjson.Time(s.Time), cell(reflect.ValueOf(host))}
		v := reflect.ValueOf(row(i))
		for _, f := range fields {
			if !f.Anonymous {
				line = append(line, cell(v.FieldByIndex(f.Index)))
			}
		}
		_ = w.Write(line)
	}
}

// cell returns the text of a value, "" if it is unknown. A text that spreadsheets would take for a formula begins with an apostrophe.
func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return strconv.FormatFloat(v.Elem().Float(), 'f', -1, 64)
	case reflect.String:
		text := screen.Clean(v.String())
		if text != "" && strings.Contains("=+-@", text[:1]) {
			text = "'" + text
		}
		return text
	}
	return fmt.Sprint(v.Interface())
}
