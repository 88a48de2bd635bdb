package mmv

import (
	"fmt"
	"math"

	"github.com/go-pcp/pcp"
)

// InDom defines an instance domain. If def is invalid the error is kept for Err,
// and the domain belongs to no file.
func (r *Registry) InDom(def InDomDef) *InDom {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, err := r.addInDom(def)
	if err != nil {
		r.fail(fmt.Errorf("instance domain %d: %w", def.Serial, err))
		return &InDom{}
	}
	return d
}

// addInDom does the work of InDom. The caller holds r.mu.
func (r *Registry) addInDom(def InDomDef) (*InDom, error) {
	switch {
	case r.closed:
		return nil, errClosed
	case r.started && r.opt.Fixed:
		return nil, errStarted
	case def.Serial < 0 || def.Serial > MaxSerial:
		return nil, fmt.Errorf("serial not in 1..%d: %w", MaxSerial, errNoInDom)
	case def.Serial != 0 && r.serials[def.Serial] != nil:
		return nil, fmt.Errorf("defined twice: %w", errExist)
	case r.m != nil && len(r.c.inDoms) >= r.grow.inDoms.room:
		return nil, fmt.Errorf("more than %d in a file: %w", r.grow.inDoms.room, errTooMany)
	}
	if err := checkText("one-line help", def.OneLine); err != nil {
		return nil, err
	}
	if err := checkText("help", def.Help); err != nil {
		return nil, err
	}
	if def.Serial == 0 {
		for r.serials[r.lowInDom] != nil {
			r.lowInDom++
		}
		def.Serial = r.lowInDom
	}
	d := &InDom{r: r, def: def}
	d.names.init(len(def.Instances))
	r.serials[def.Serial] = d
	r.c.inDoms = append(r.c.inDoms, d)
	if r.m != nil {
		r.writeInDom(d)
	}
	for _, name := range def.Instances {
		if _, err := r.addInstance(d, d.free(), name); err != nil {
			r.fail(fmt.Errorf("instance %q: %w", name, err))
		}
	}
	for _, l := range def.Labels {
		if err := r.addLabel(pcp.LabelInDom, def.Serial, pcp.InNull, l); err != nil {
			r.fail(fmt.Errorf("instance domain %d: %w", def.Serial, err))
		}
	}
	return d, nil
}

// Add adds an instance with the next free number, unless the domain has it,
// and returns its number (mmv_stats_add_instance(3)).
func (d *InDom) Add(name string) (int32, error) {
	if d.r == nil {
		return 0, errNoInDom
	}
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	if _, i, ok := d.names.get(name); ok {
		return d.insts[i].Inst, nil
	}
	i, err := d.r.addInstance(d, d.free(), name)
	if err != nil {
		return 0, err
	}
	return d.insts[i].Inst, nil
}

// AddInstance adds an instance with a number of the caller's choice.
func (d *InDom) AddInstance(inst int32, name string) error {
	if d.r == nil {
		return errNoInDom
	}
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	_, err := d.r.addInstance(d, inst, name)
	return err
}

// addInstance adds an instance and its value in each metric of d. The caller
// holds r.mu.
func (r *Registry) addInstance(d *InDom, inst int32, name string) (int, error) {
	switch {
	case r.closed:
		return 0, errClosed
	case r.started && r.opt.Fixed:
		return 0, errStarted
	case name == "" || inst < 0:
		return 0, fmt.Errorf("number %d, name %q: %w", inst, name, errInvalid)
	case d.hasInst(inst):
		return 0, fmt.Errorf("number %d is taken: %w", inst, errExist)
	}
	hash, _, ok := d.names.get(name)
	if ok {
		return 0, errExist
	}
	if err := checkText("instance name", name); err != nil {
		return 0, err
	}
	if r.m != nil {
		if err := r.roomForInstance(d); err != nil {
			return 0, err
		}
	}
	i := len(d.insts)
	d.insts = append(d.insts, pcp.Instance{Inst: inst, Name: name})
	for _, m := range d.metrics {
		m.slots.grow(m, 1, r.m != nil)
	}
	if r.m != nil {
		if err := r.writeInstance(d, i); err != nil {
			d.insts = d.insts[:i]
			for _, m := range d.metrics {
				m.slots.n = i
			}
			return 0, err
		}
	}
	if d.byInst != nil {
		d.byInst[inst] = true
	}
	d.next = max(d.next, int64(inst)+1)
	d.names.add(hash, name)
	return i, nil
}

// hasInst reports whether the number inst is taken. Numbers given out in their
// order need no look-up.
func (d *InDom) hasInst(inst int32) bool {
	if int64(inst) >= d.next {
		return false
	}
	if d.byInst == nil {
		d.byInst = make(map[int32]bool, len(d.insts))
		for _, in := range d.insts {
			d.byInst[in.Inst] = true
		}
	}
	return d.byInst[inst]
}

// free returns the number for the next instance: one above all others or, if there
// is none, the lowest that is free.
func (d *InDom) free() int32 {
	if d.next <= math.MaxInt32 {
		return int32(d.next)
	}
	for d.hasInst(d.hole) {
		d.hole++
	}
	return d.hole
}
