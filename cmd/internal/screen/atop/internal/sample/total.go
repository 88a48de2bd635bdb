package sample

import "slices"

// A Total sums up changes over several samples, as pcp-atopsar -R shows them. As in C it has
// only some of the fields.
type Total struct {
	System System
	rows   map[byte][]scalar
}

// Add adds a deviation in the categories named: c processors, m memory, n network, d disks.
func (t *Total) Add(categories string, d *System) {
	to := &t.System
	for _, category := range []byte(categories) {
		for _, row := range t.summed(category) {
			if f := row.field; row.kind == gauge {
				*f(to) = *f(d)
			} else {
				*f(to) += *f(d)
			}
		}
		switch category {
		case 'c':
			t.addCPUs(d)
		case 'n':
			t.addInterfaces(d)
		case 'd':
			to.Disks = addDisks(to.Disks, d.Disks, diskColumns)
			to.Volumes = addDisks(to.Volumes, d.Volumes, volumeColumns)
			to.Arrays = addDisks(to.Arrays, d.Arrays, arrayColumns)
		}
	}
}

func (t *Total) addCPUs(d *System) {
	to := &t.System
	for len(to.CPUs) < len(d.CPUs) {
		to.CPUs = append(to.CPUs, CPU{})
	}
	to.CPUs = to.CPUs[:len(d.CPUs)]
	if len(d.CPUs) == 1 {
		to.CPUs[0] = to.CPU
	} else {
		for i := range d.CPUs {
			to.CPUs[i].Nr = d.CPUs[i].Nr
			for _, col := range cpuColumns[:9] { // times
				*col.field(&to.CPUs[i]) += *col.field(&d.CPUs[i])
			}
		}
	}
	to.Load1, to.Load5, to.Load15 = d.Load1, d.Load5, d.Load15
}

func (t *Total) addInterfaces(d *System) {
	to := &t.System
	for len(to.Interfaces) < len(d.Interfaces) {
		to.Interfaces = append(to.Interfaces, Interface{})
	}
	to.Interfaces = to.Interfaces[:len(d.Interfaces)]
	for i := range d.Interfaces {
		in := &to.Interfaces[i]
		if in.Name != d.Interfaces[i].Name {
			*in = Interface{Name: d.Interfaces[i].Name}
		}
		for _, col := range interfaceColumns {
			*col.field(in) += *col.field(&d.Interfaces[i])
		}
		in.Type, in.Speed, in.Duplex = d.Interfaces[i].Type, d.Interfaces[i].Speed, d.Interfaces[i].Duplex
	}
}

func addDisks(to, d []Disk, columns []column[Disk]) []Disk {
	for len(to) < len(d) {
		to = append(to, Disk{})
	}
	to = to[:len(d)]
	for i := range d {
		to[i].Name = d[i].Name
		for _, col := range columns {
			if col.kind == counter {
				*col.field(&to[i]) += *col.field(&d[i])
			}
		}
	}
	return to
}

// summed returns the scalars of a category, without rows that repeat a field.
func (t *Total) summed(category byte) []scalar {
	if list, ok := t.rows[category]; ok {
		return list
	}
	var list []scalar
	var seen []*Count
	dummy := new(System)
	for _, row := range systemScalars(false) {
		at := row.field(dummy)
		if row.sum == category && !(row.same && slices.Contains(seen, at)) {
			seen, list = append(seen, at), append(list, row)
		}
	}
	if t.rows == nil {
		t.rows = make(map[byte][]scalar)
	}
	t.rows[category] = list
	return list
}

// Reset starts the sums again.
func (t *Total) Reset() { t.System = System{} }
