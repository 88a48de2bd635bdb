package mmv

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
)

// A file that grows keeps each kind of record in a separate region, with room for
// the maximum number. The file is sparse: unused room takes no space. So no record
// ever moves, in particular no value that a goroutine is changing, and a reader
// with an old table of contents sees the values of that moment.
//
// A change is made in two steps. First the new records are written to places that no
// table of contents refers to yet. Then the generation numbers are made to differ,
// the counts in the table of contents and of the instance domain are raised, and the
// numbers are made equal again: a few stores, during which the file asks readers to
// retry.

// startGrowing creates the file with no metrics in it.
func (r *Registry) startGrowing() error {
	g := &r.grow
	// Names of any length fit version 2; labels make it 3.
	g.version = Version2
	n := r.opt.MaxValues
	const page = 4096
	at := page // the header and the table of contents take the first
	place := func(reg *region, size, room int) {
		*reg = region{at: at, size: size, room: room, ready: at}
		at += (size*room + page - 1) &^ (page - 1)
	}
	place(&g.inDoms, inDomSize, min(n, 4096))
	place(&g.labels, labelSize, maxFileLabels)
	place(&g.metrics, metric2Size, maxMetrics)
	place(&g.insts, instance2Size, n)
	place(&g.values, valueSize, n)
	place(&g.rows, instance2Size, 4*n)
	place(&g.strs, stringSize, n+stringCopies*min(n, 1<<14)+3*(maxMetrics+min(n, 4096)))

	// Without a metric there is nothing to show: the generation numbers stay
	// 0, which means to readers that there is no data yet.
	b := make([]byte, g.inDoms.at)
	r.c.putHeader(b, g.version, 0, os.Getpid(), 0)
	m, err := createMapping(r.path, b, at)
	if err != nil {
		return fmt.Errorf("mmv registry %s: %w", r.name, err)
	}
	if err := m.publish(r.path); err != nil {
		m.release()
		return fmt.Errorf("mmv registry %s: %w", r.name, err)
	}
	r.m = m
	r.started = true
	return nil
}

// publishGrowth makes new records visible: change runs while the generation
// numbers differ.
func (r *Registry) publishGrowth(change func()) {
	g, m := &r.grow, r.m
	if g.values.used == 0 { // no reader uses it yet
		if change != nil {
			change()
		}
		return
	}
	// The first is the time of day, as in C. Later ones are one more: they only
	// have to differ.
	if g.generation++; g.generation == 1 {
		g.generation = nextGeneration(0)
	}
	atomic.StoreUint64(m.word(hdrG1), g.generation)
	m.set(0, joinWords(binary.NativeEndian.Uint32([]byte("MMV\x00")), uint32(g.version)))
	var shown [growTOCs]int // types of sections
	n := 0
	regs := [growTOCs]*region{&g.inDoms, &g.insts, &g.metrics, &g.values, &g.strs, &g.labels}
	for i, reg := range regs {
		if reg.used > 0 { // readers treat an empty section as damaged
			shown[n] = tocInDoms + i
			n++
		}
	}
	// Sections move towards the end when others come before them. They are moved
	// from the last to the first, and offsets before types, so that no section is
	// missing at any moment: a program that continues from a file in flux takes
	// the last of each.
	tocs, _ := splitWord(*m.word(hdrTOCs))
	for i := n - 1; i >= 0; i-- {
		if i == int(tocs)-1 {
			m.set(hdrTOCs, joinWords(uint32(n), uint32(r.c.flags)))
		}
		at, reg := headerSize+i*tocSize, regs[shown[i]-tocInDoms]
		m.set(at+8, uint64(reg.at))
		m.set(at, joinWords(uint32(shown[i]), uint32(reg.used)))
	}
	m.set(hdrTOCs, joinWords(uint32(n), uint32(r.c.flags)))
	if change != nil {
		change()
	}
	atomic.StoreUint64(m.word(hdrG2), g.generation)
}

// set stores v at a multiple of 8, unless it is already there.
func (m *mapping) set(at int, v uint64) {
	if p := m.word(at); *p != v {
		atomic.StoreUint64(p, v)
	}
}

// Limits of the steps by which a region grows in the file; a step doubles it.
const (
	minStep = 8 << 10
	maxStep = 1 << 20
)

// take takes n records of a region and extends the file for them.
func (r *Registry) take(reg *region, n int) (int, error) {
	if reg.left() < n {
		return 0, fmt.Errorf("the file has room for %d: %w", reg.room, errTooMany)
	}
	at := reg.next()
	if end := at + n*reg.size; end > reg.ready {
		step := min(max(reg.used*reg.size, minStep), maxStep)
		ready := min(max(reg.ready+step, end), reg.at+reg.room*reg.size)
		if err := r.m.allocate(reg.ready, ready-reg.ready); err != nil {
			return 0, err
		}
		reg.ready = ready
	}
	reg.used += n
	return at, nil
}

// takeString writes s to a new record; 0 means no string.
func (r *Registry) takeString(s string) uint64 {
	at, err := r.take(&r.grow.strs, 1)
	if err != nil {
		r.fail(fmt.Errorf("string: %w", err))
		return 0
	}
	copy(r.m.bytes(at, stringSize-1), s)
	return uint64(at)
}

// writeInDom adds the record of an instance domain without instances.
func (r *Registry) writeInDom(d *InDom) {
	at, err := r.take(&r.grow.inDoms, 1)
	if err != nil {
		r.fail(err)
		return
	}
	d.at = at
	d.rowAt = r.grow.rows.next()
	rec := r.m.bytes(at, inDomSize)
	ne := binary.NativeEndian
	ne.PutUint32(rec, uint32(d.def.Serial))
	ne.PutUint64(rec[8:], uint64(d.rowAt))
	putHelp(rec[16:], d.def.OneLine, d.def.Help, r.takeString)
	r.publishGrowth(nil)
}

// addMetric adds the record of a metric and its values.
func (r *Registry) addMetric(m *metric) {
	g := &r.grow
	if g.values.left() < m.slots.n {
		m.slots.detach()
		r.fail(fmt.Errorf("metric %q: the file has room for %d values: %w", m.def.Name, g.values.room, errTooMany))
		return
	}
	at, err := r.take(&g.metrics, 1)
	if err != nil {
		m.slots.detach()
		r.fail(fmt.Errorf("metric %q: %w", m.def.Name, err))
		return
	}
	m.at = at
	rec := r.m.bytes(at, metric2Size)
	putMetric(rec, g.version, m, r.takeString)
	putHelp(rec[metric2Size-16:], m.def.OneLine, m.def.Help, r.takeString)
	for i := range m.slots.n {
		instAt := 0
		if m.inDom != nil {
			instAt = m.inDom.instAt[i]
		}
		r.addValue(m, i, instAt)
	}
	r.publishGrowth(nil)
}

// addValue gives a slot its record in the file.
func (r *Registry) addValue(m *metric, i, instAt int) {
	s := m.slots.at(i)
	at, err := r.take(&r.grow.values, 1)
	if err != nil {
		s.rec = new([4]uint64)
		r.fail(fmt.Errorf("metric %q: %w", m.def.Name, err))
		return
	}
	s.rec, s.at = r.m.record(at), at
	r.past.resume(m, s, i)
	if m.typ == TypeString {
		if s.str.copies, err = r.take(&r.grow.strs, stringCopies); err != nil {
			r.fail(fmt.Errorf("metric %q: %w", m.def.Name, err))
		} else {
			copy(r.m.bytes(s.str.copies, stringSize-1), s.str.value)
			s.rec[1] = uint64(s.str.copies)
		}
	}
	s.rec[2], s.rec[3] = uint64(m.at), uint64(instAt)
}

// roomForInstance checks that another instance fits everywhere.
func (r *Registry) roomForInstance(d *InDom) error {
	g := &r.grow
	if g.values.left() < len(d.metrics) || g.insts.left() < 1 || g.strs.left() < 1 {
		return fmt.Errorf("the file has room for %d values: %w", g.values.room, errTooMany)
	}
	if len(d.insts) >= d.room && g.rows.left() < rowFor(len(d.insts)) {
		return fmt.Errorf("the file has no room for more instances: %w", errTooMany)
	}
	return nil
}

// rowFor returns the size of the next row of a domain that has n instances and
// needs another.
func rowFor(n int) int { return 2 * max(8, n) }

// writeInstance adds the record of instance i of d, and the values that its
// metrics have for it.
//
// A record is written twice. The section of instances has those of each domain in
// the order of their arrival, and they never move: values refer to them. But the
// instances of one domain must also be contiguous in a row. When the row is full
// a longer one is begun elsewhere, with copies of its records.
func (r *Registry) writeInstance(d *InDom, i int) error {
	g := &r.grow
	instAt, err := r.take(&g.insts, 1)
	if err != nil {
		return err
	}
	name, err := r.take(&g.strs, 1)
	if err != nil {
		return err
	}
	copy(r.m.bytes(name, stringSize-1), d.insts[i].Name)
	str := func(string) uint64 { return uint64(name) }
	putInstance(r.m.bytes(instAt, instance2Size), g.version, uint64(d.at), d.insts[i], str)
	if i >= d.room {
		rowAt, err := r.take(&g.rows, rowFor(i))
		if err != nil {
			return err
		}
		copy(r.m.bytes(rowAt, i*instance2Size), r.m.bytes(d.rowAt, i*instance2Size))
		d.rowAt, d.room = rowAt, rowFor(i)
	}
	copy(r.m.bytes(d.rowAt+i*instance2Size, instance2Size), r.m.bytes(instAt, instance2Size))
	d.instAt = append(d.instAt, instAt)
	for _, m := range d.metrics {
		r.addValue(m, i, instAt)
	}
	r.publishGrowth(func() {
		// serial and count share a word, the offset follows
		r.m.set(d.at+8, uint64(d.rowAt))
		r.m.set(d.at, joinWords(uint32(d.def.Serial), uint32(len(d.insts))))
	})
	return nil
}

// writeLabel adds the record of a label. The first makes the file version 3.
func (r *Registry) writeLabel(l label) error {
	at, err := r.take(&r.grow.labels, 1)
	if err != nil {
		return err
	}
	putLabel(r.m.bytes(at, labelSize), l)
	r.grow.version = Version3
	r.publishGrowth(nil)
	return nil
}
