package dstat

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/metricset"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmapi"
)

// A report prints a line for each interval.
type report struct {
	env   *cli.Env
	c     *pmapi.Context
	group *pmapi.FetchGroup
	clock *metricset.Clock

	plugins []*plugin // all requested plugins
	archive bool
	pace
	screen
	style
	table csvFile

	json, quietMissed, debug bool
	command, host, version   string // for the table's head

	novalues bool   // nothing was on the last line
	first    bool   // no line has been written
	line     []byte // that is being made
}

// A style has the options for figures.
type style struct{ colors, bits, float, integer bool }

// shades are the colours of figures now.
func (r *report) shades() *shades {
	if r.definite() {
		return &r.theme.last
	}
	return &r.theme.early
}

// run prints the requested number of lines. It returns pcp.ErrEOL at the end of an archive.
func (r *report) run(ctx context.Context) error {
	r.first, r.novalues = true, true
	if !r.archive {
		r.began = time.Now()
	}
	for update := 0.0; r.more(update); update += r.interval() {
		if !r.archive {
			due := r.began.Add(time.Duration(update * float64(time.Second)))
			if wait := time.Until(due); wait > 0 && !pacing.Sleep(ctx, wait) {
				return ctx.Err()
			}
		}
		if err := r.tick(ctx, update); err != nil {
			return err
		}
		if err := r.env.FlushOut(); err != nil {
			return err
		}
	}
	return nil
}

// tick fetches the metrics and prints a line, or an interim line.
func (r *report) tick(ctx context.Context, update float64) error {
	if r.advance(update, time.Now()) {
		return nil
	}
	if r.first {
		r.first, r.showHead = false, true
	}
	margin := 0
	if r.debug {
		margin = 8
	}
	trimmed := r.layout(r.plugins, margin, &r.pace)
	if err := r.group.Fetch(ctx); err != nil {
		return err
	}
	for _, p := range r.plugins {
		for _, m := range p.metrics {
			m.take()
		}
	}
	if r.json {
		r.objects()
		return nil
	}
	hadNone := r.novalues
	r.novalues = true
	line := r.appendLine(r.line[:0])
	if r.table.path != "" {
		r.table.row = r.appendRow(r.table.row[:0])
	}
	if r.definite() {
		r.theme.ground = r.theme.reset
	} else {
		r.theme.ground = r.theme.last.text
	}
	err := r.print(update, line, hadNone, trimmed)
	r.line = line
	return err
}

// appendLine appends the figures of all visible plugins.
func (r *report) appendLine(b []byte) []byte {
	for i, p := range r.plugins {
		shown := slices.Contains(r.visible, p)
		bar := func() {
			if i > 0 {
				b = append(b, r.theme.frame...)
				b = append(b, '|')
			}
		}
		switch {
		case !shown:
			b = append(b, r.theme.frame...)
			return append(b, '>')
		case p.time:
			bar()
			l := look{print: asString, width: p.width}
			b = r.appendCell(b, cell{ok: true, str: true, text: r.time(p.name)}, &l)
		case p.group == ungrouped:
			for n, m := range p.metrics {
				if n > 0 {
					b = append(b, ' ')
				} else {
					bar()
				}
				b = r.appendMetric(b, m)
			}
		case len(p.metrics) > 0:
			bar()
			b = r.appendGroup(b, p)
		}
	}
	return b
}

// appendMetric appends the values of a metric, instance by instance.
func (r *report) appendMetric(b []byte, m *metric) []byte {
	for i := range m.results {
		res := &m.results[i]
		if i > 0 {
			b = append(b, ' ')
		}
		if m.out == pcp.TypeString {
			b = r.appendCell(b, m.cell(res), &m.look)
			continue
		}
		key := setKey{m.label, res.inst}
		s, known := m.plugin.sets[key]
		if !known {
			s = new(set)
		}
		s.add(number(res.value))
		b = r.appendCell(b, cell{ok: true, num: s.average()}, &m.look)
		switch {
		case !known:
			// As in the C program, the first value also counts in the second line.
			m.plugin.sets[key] = s
		case r.definite():
			s.clear()
		}
	}
	if len(m.results) == 0 {
		b = r.appendCell(b, cell{}, &m.look)
	}
	return b
}

// cell returns a result to print, a string or the average of the interval so far.
func (m *metric) cell(res *result) cell {
	if m.out == pcp.TypeString {
		text, _ := res.value.Text()
		return cell{ok: true, str: true, text: text}
	}
	s := m.plugin.sets[setKey{m.label, res.inst}]
	if s == nil || s.n == 0 {
		return cell{}
	}
	return cell{ok: true, num: s.average()}
}

// appendGroup appends the values of a plugin that repeats its columns for instances.
func (r *report) appendGroup(b []byte, p *plugin) []byte {
	for _, m := range p.metrics {
		listed := p.group == onlyTop && m.top
		if listed {
			p.shown = p.shown[:0]
		}
		if m.out == pcp.TypeString {
			continue
		}
		for i := range m.results {
			m.add(&m.results[i])
		}
		if !listed {
			continue
		}
		top, largest := -1, 0.0
		for i := range m.results {
			if f := m.cell(&m.results[i]).num; f > largest {
				top, largest = i, f
			}
		}
		if top < 0 {
			return appendBlanks(b, max(p.width, 1)) // as Python's '%-*s' of a blank
		}
		p.shown = append(p.shown, m.results[top].instance)
	}

	begun := false
	if p.group != onlyTotal {
		b, begun = r.appendInstances(b, p)
	}
	if p.group == onlyTotal || p.group == withTotal {
		if begun {
			b = append(b, r.theme.frame...)
			b = append(b, ':')
		}
		b = r.appendTotals(b, p)
	}

	if r.definite() {
		last := p.metrics[len(p.metrics)-1]
		for _, m := range p.metrics {
			for i := range last.results {
				if s := p.sets[setKey{m.label, last.results[i].inst}]; s != nil {
					s.clear()
				}
			}
		}
	}
	return b
}

// add adds a value to those of the interval.
func (m *metric) add(res *result) {
	key := setKey{m.label, res.inst}
	s := m.plugin.sets[key]
	if s == nil {
		s = new(set)
		m.plugin.sets[key] = s
	}
	s.add(number(res.value))
}

// appendInstances appends the figures of the instances that a plugin shows, and reports whether there
// are any.
func (r *report) appendInstances(b []byte, p *plugin) ([]byte, bool) {
	n := 0
	for _, in := range p.shown {
		if !p.shows(in) {
			continue
		}
		for _, m := range p.metrics {
			if p.group == onlyTop && m.top {
				continue
			}
			switch {
			case n > 0 && n%len(p.metrics) == 0:
				b = append(b, r.theme.frame...)
				b = append(b, ':')
			case n > 0:
				b = append(b, ' ')
			}
			var c cell
			if res := m.find(in); res != nil {
				c = m.cell(res)
			}
			b = r.appendCell(b, c, &m.look)
			n++
		}
	}
	return b, n > 0
}

// shows reports whether an instance is shown on its own.
func (p *plugin) shows(in instance) bool {
	return p.group == byInstance || p.group == onlyTop || in.named && slices.Contains(p.instances, in.name)
}

// find returns the result of an instance, the last one of several of that name, or nil.
func (m *metric) find(in instance) *result {
	for i := len(m.results) - 1; i >= 0; i-- {
		if m.results[i].sameName(in) {
			return &m.results[i]
		}
	}
	return nil
}

// counts reports whether an instance is included in a sum.
func (p *plugin) counts(in instance) bool {
	return p.cull == nil || !in.named || !p.cull.MatchString(in.name)
}

// appendTotals appends the sums over the instances. That of percentages is their mean.
func (r *report) appendTotals(b []byte, p *plugin) []byte {
	// As in the C program, the last metric determines whether there are values, and how all are
	// printed.
	last := p.metrics[len(p.metrics)-1]
	n := 0
	for i := range last.results {
		if p.counts(last.results[i].instance) {
			n++
		}
	}
	for i, m := range p.metrics {
		if i > 0 {
			b = append(b, ' ')
		}
		c := cell{ok: n > 0}
		for j := range m.results {
			if p.counts(m.results[j].instance) {
				c.num += m.cell(&m.results[j]).num
			}
		}
		if c.ok && p.printAs == asPercent {
			c.num /= float64(n)
		}
		b = r.appendCell(b, c, &last.look)
	}
	return b
}

// print writes a line, with the headings that are due, and a row of the table.
func (r *report) print(update float64, line []byte, hadNone, trimmed bool) error {
	t, out := r.theme, r.env.Stdout
	miss := r.takeMissed()
	if r.quietMissed {
		miss = ""
	}
	before := ""
	if r.update && !r.novalues {
		switch {
		case r.step == 1 && update != 0 && !hadNone:
			before = "\n" + t.reset + t.line + t.save
		case r.loop != 0:
			before = t.restore
		}
	}
	if r.showHead {
		if r.loop == 0 && trimmed {
			r.env.FlushOut()
			fmt.Fprintln(r.env.Stderr, "Terminal width too small, trimming output.")
		}
		r.showHead = false
		io.WriteString(out, before)
		before = r.header() + t.reset + t.line + t.save
	}
	io.WriteString(out, before)
	if !r.novalues {
		out.Write(line)
	}
	io.WriteString(out, t.input)
	if r.table.path != "" {
		if err := r.table.write(r.csvHead, !r.novalues, r.definite(), miss); err != nil {
			return err
		}
	}
	if miss != "" {
		io.WriteString(out, " "+t.fail+miss+t.input)
	}
	if !r.update && !r.novalues {
		io.WriteString(out, "\n")
	}
	return nil
}

// time formats the time of the last fetch for a plugin.
func (r *report) time(plugin string) string {
	t, s := r.group.Time(), ""
	switch plugin {
	case "time", "time-adv":
		s = r.clock.Format(t)
	default:
		s = strconv.FormatInt(t.Sec, 10)
	}
	if plugin == "time-adv" || plugin == "epoch-adv" {
		fraction := strconv.FormatInt(int64(t.Nsec)/1000*1000, 10)
		s += "." + fraction[:min(3, len(fraction))]
	}
	return s
}

// finite reports whether a number can be printed.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
