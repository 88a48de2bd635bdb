package importcmd

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// A layout has the columns of the lines of devices.
type layout struct {
	kind    layoutKind
	scale   float64 // of throughput, to get kbytes
	fields  []int   // possible numbers of fields, with the name
	columns []string
}

// A layoutKind is one of the forms that the section of devices has had.
type layoutKind int

const (
	noLayout  layoutKind = iota
	basic                // iostat -d
	extended             // iostat -x, lines begin with merges
	extended2            // iostat -x, lines begin with reads
	extended3            // the same with discards, and the columns of reads next to each other
)

// layoutOf returns the layout of a section by its head.
func layoutOf(head string) (layout, error) {
	columns := strings.Fields(strings.ReplaceAll(head, ":", " "))
	has := func(name string) bool { return slices.Contains(columns, name) }
	l := layout{fields: []int{len(columns)}, columns: columns}
	switch {
	case has("tps"):
		l.kind = basic
		switch {
		case has("Blk_read/s"):
			l.scale = 0.5
		case has("kB_read/s"):
			l.scale = 1
		case has("MB_read/s"):
			l.scale = 1024
		default:
			return l, errors.New("device: cannot determine thruput scale")
		}
	case len(columns) > 1 && columns[1] == "rrqm/s":
		l.kind, l.scale, l.fields = extended, 0.5, []int{12, 14}
	case len(columns) > 1 && columns[1] == "r/s" && has("d/s"):
		l.kind, l.scale = extended3, 1
		switch {
		case has("rsec/s"):
			l.scale = 0.5
		case has("rMB/s"):
			l.scale = 1024
		}
	case len(columns) > 1 && columns[1] == "r/s":
		l.kind, l.scale, l.fields = extended2, 0.5, []int{16}
	default:
		return l, errors.New("device: cannot decode header style (not -d and not -x)")
	}
	for _, name := range l.needs() {
		if !has(name) {
			return l, fmt.Errorf("device: there is no column %s", name)
		}
	}
	return l, nil
}

// needs returns the columns that are found by their names.
func (l *layout) needs() []string {
	switch l.kind {
	case basic:
		unit, _, _ := strings.Cut(l.columns[2], "_")
		return []string{unit + "_read/s", unit + "_wrtn/s", unit + "_read", unit + "_wrtn"}
	case extended3:
		return []string{"rrqm/s", "wrqm/s", "w/s", l.transfer("r"), l.transfer("w"), "r_await", "w_await"}
	}
	return nil
}

// transfer returns the name of the column with the throughput of reads or
// writes.
func (l *layout) transfer(what string) string {
	for _, unit := range []string{"kB/s", "MB/s"} {
		if slices.Contains(l.columns, what+unit) {
			return what + unit
		}
	}
	return what + "sec/s"
}

// metrics returns the metrics of devices.
func (l *layout) metrics() []string {
	if l.kind == basic {
		return []string{"disk.dev.total", "disk.dev.read_bytes", "disk.dev.write_bytes"}
	}
	return []string{
		"disk.dev.read_merge", "disk.dev.write_merge", "disk.dev.read", "disk.dev.write",
		"disk.dev.read_bytes", "disk.dev.write_bytes", "disk.dev.avactive", "disk.dev.read_rawactive", "disk.dev.write_rawactive",
	}
}

// values returns the values of a line, in the order of metrics.
func (l *layout) values(fields []string) ([]string, error) {
	if !slices.Contains(l.fields, len(fields)) {
		return nil, fmt.Errorf("device: number of values? expected %s, found %d", strings.Trim(strings.ReplaceAll(fmt.Sprint(l.fields), " ", " or "), "[]"), len(fields))
	}
	numbers := make([]float64, len(fields))
	for i, field := range fields[1:] {
		var err error
		if numbers[i+1], err = number(field); err != nil {
			return nil, fmt.Errorf("device: %w", err)
		}
	}
	at := func(i int) string { return strings.ReplaceAll(fields[i], ",", ".") }
	scaled := func(i int) string { return decimal(numbers[i] * l.scale) }
	switch l.kind {
	case basic:
		return []string{at(1), scaled(2), scaled(3)}, nil
	case extended:
		v := []string{at(1), at(2), at(3), at(4), scaled(5), scaled(6), at(9)}
		if len(fields) == 14 {
			v = append(v, at(10), at(11))
		}
		return v, nil
	case extended2:
		// The C implementation takes svctm, the last but one, for the average wait that these
		// versions do not print.
		return []string{at(5), at(6), at(1), at(2), scaled(3), scaled(4), at(14), at(9), at(10)}, nil
	}
	col := func(name string) int { return slices.Index(l.columns, name) }
	reads, writes, readWait, writeWait := col("r/s"), col("w/s"), col("r_await"), col("w_await")
	wait := 0.0
	if n := numbers[reads] + numbers[writes]; n > 0 {
		wait = (numbers[reads]*numbers[readWait] + numbers[writes]*numbers[writeWait]) / n
	}
	return []string{
		at(col("rrqm/s")), at(col("wrqm/s")), at(reads), at(writes), scaled(col(l.transfer("r"))), scaled(col(l.transfer("w"))),
		decimal(wait), at(readWait), at(writeWait),
	}, nil
}

// diskInDom is the instance domain of devices.
func diskInDom() pcp.InDom { return pcp.NewInDom(importer.Domain, 0) }

// defineDevices declares the metrics of devices.
func (p *iostat) defineDevices(head string) error {
	if err := p.start(); err != nil {
		return err
	}
	var err error
	if p.layout, err = layoutOf(head); err != nil {
		return err
	}
	for _, name := range p.layout.metrics() {
		desc := pcp.Desc{Type: pcp.TypeFloat, InDom: diskInDom(), Sem: pcp.SemInstant, Units: perSecond}
		switch {
		case name == "disk.dev.avactive":
			desc.Units = pcp.Units{}
		case strings.HasSuffix(name, "bytes"):
			desc.Units = kbPerSecond
		}
		if err := p.out.add(name, desc); err != nil {
			return err
		}
	}
	return nil
}

// putDevice imports the line of a device.
func (p *iostat) putDevice(line string) error {
	if p.layout.kind == noLayout {
		return errors.New("device: there is no such section in the report since boot")
	}
	fields := strings.Fields(line)
	if len(fields) == 1 {
		// A long name has a line of its own.
		more, err := p.in.next()
		if err != nil && err != io.EOF {
			return err
		}
		fields = append(fields, strings.Fields(more)...)
	}
	values, err := p.layout.values(fields)
	if err != nil {
		return err
	}
	if p.layout.kind == basic && p.stamps == noStamps && p.interval == 0 {
		p.findInterval(fields)
	}
	d := p.devices[fields[0]]
	if d == nil {
		if d, err = p.newDevice(fields[0], len(values)); err != nil {
			return err
		}
	}
	if len(values) != len(d.handles) {
		return fmt.Errorf("device: %s: number of values? expected %d, found %d", d.name, len(d.handles), len(values))
	}
	for i, h := range d.handles {
		if err := p.put(h, values[i]); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	d.seen = true
	return nil
}

// newDevice makes a device known that has so many metrics.
func (p *iostat) newDevice(name string, metrics int) (*device, error) {
	if len(p.order) == maxInstances {
		return nil, errManyInstances
	}
	if err := p.out.addInstance(diskInDom(), name, int32(len(p.order))); err != nil {
		return nil, err
	}
	d := &device{name: name}
	for _, metric := range p.layout.metrics()[:metrics] {
		h, err := p.out.im.Handle(metric, name)
		if err != nil {
			return nil, err
		}
		d.handles = append(d.handles, h)
	}
	p.devices[name] = d
	p.order = append(p.order, d)
	return d, nil
}

// findInterval calculates the interval from an amount read or written in it and its
// rate.
func (p *iostat) findInterval(fields []string) {
	unit, _, _ := strings.Cut(p.layout.columns[2], "_")
	for _, what := range []string{"_read", "_wrtn"} {
		total, err1 := number(fields[slices.Index(p.layout.columns, unit+what)])
		rate, err2 := number(fields[slices.Index(p.layout.columns, unit+what+"/s")])
		if err1 != nil || err2 != nil || total == 0 {
			continue
		}
		if rate > 0 && total/rate < 1<<31 {
			p.interval = int64(0.5 + total/rate)
		}
		return
	}
}
