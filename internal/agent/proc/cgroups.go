package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Serial numbers of instance domains of control groups.
const (
	group2Serial      = 16 // groups of version 2
	group2DiskSerial  = 17 // and their devices
	cpusetSerial      = 20
	cpuacctSerial     = 21
	cpuacctCPUSerial  = 22
	cpuschedSerial    = 23
	memorySerial      = 24
	netclassSerial    = 25
	blkioSerial       = 26
	blkioDiskSerial   = 27
	controllersSerial = 37
	mountsSerial      = 38
	pidsSerial        = 1000 // not in the C agent
)

// groups are the control groups of a view.
type groups struct {
	*machine
	container string // path of a group: only that and those below it are shown; "" for all
	mounts    *mountSource
	trees     map[string]*groupTree
	buffer    procfs.Buffer
	path      []byte
}

// newGroups returns the control groups of m. container is as that of a filter.
func newGroups(m *machine, container string) *groups {
	g := &groups{machine: m, trees: make(map[string]*groupTree), buffer: procfs.Buffer{Max: maxFile}}
	if i := strings.LastIndexByte(container, ':'); i >= 0 {
		g.container = strings.Trim(container[i+1:], "/")
	}
	g.mounts = newMountSource(m)
	return g
}

// families returns all families of metrics of control groups.
func (g *groups) families() []column.Family {
	devices := newDevices(g.machine)
	list := []column.Family{g.mounts.subsysFamily(), g.mounts.family(), devices.family()}
	list = append(list, g.version2Families(devices)...)
	list = append(list, g.cpuFamilies()...)
	list = append(list, g.memoryFamily(), g.netclassFamily(), g.pidsFamily())
	return append(list, g.blkioFamilies(devices)...)
}

// file reads a file of a control group.
func (g *groups) file(of *group, name string) ([]byte, error) {
	b := append(g.path[:0], of.dir...)
	b = append(b, '/')
	b = append(b, name...)
	g.path = b
	return g.buffer.Read(string(b), true)
}

// shown reports whether a group is in the container, if there is one.
func (g *groups) shown(of *group) bool {
	if g.container == "" {
		return true
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(of.path, "/"), g.container)
	return ok && (rest == "" || rest[0] == '/')
}

// A group is a control group in one hierarchy.
type group struct {
	dir  string // where its files are
	path string // below the mount point, "" for the root
	name string // of the instance
	seen uint64 // the last scan that found it

	sums   []uint64 // of blkioDevice, and when they were made
	summed uint64
}

// A groupTree is a hierarchy of control groups.
type groupTree struct {
	root    *group
	known   map[string]*group // by path
	groups  []*group          // that the last scan found
	scans   uint64
	reading uint64 // of mounts, to which groups belong
	stack   []*group
	names   []byte
	reader  directory
	path    []byte
	saw     func(path string) // is called for each new group
}

// maxGroups is the maximum number of control groups of a hierarchy.
const maxGroups = 1 << 18

// tree returns the groups of a hierarchy, found once for each reading of mounts.
func (g *groups) tree(m *mount) (*groupTree, error) {
	t := g.trees[m.dir]
	if t == nil {
		t = &groupTree{known: make(map[string]*group), saw: g.containers.Saw}
		t.root = &group{dir: m.dir, name: "/"}
		g.trees[m.dir] = t
	}
	if t.reading == g.mounts.reading {
		return t, nil
	}
	if err := t.scan(); err != nil {
		return nil, err
	}
	t.reading = g.mounts.reading
	return t, nil
}

// scan finds the groups, parents first. Groups may come and go meanwhile.
func (t *groupTree) scan() error {
	t.scans++
	t.groups = t.groups[:0]
	t.stack = append(t.stack[:0], t.root)
	counted := countsLinks(t.root.dir)
	for len(t.stack) > 0 {
		g := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		if counted && isLeaf(g.dir) {
			t.found(g)
			continue
		}
		names, err := t.reader.subdirectories(g.dir, t.names[:0])
		t.names = names
		if errors.Is(err, fs.ErrNotExist) || err != nil && g == t.root {
			continue
		}
		t.found(g)
		if len(t.groups)+len(t.stack) > maxGroups {
			return fmt.Errorf("%s: more than %d control groups: %w", t.root.dir, maxGroups, procfs.ErrTooLarge)
		}
		first := len(t.stack)
		for len(names) > 0 {
			end := bytes.IndexByte(names, 0)
			t.stack = append(t.stack, t.below(g, names[:end]))
			names = names[end+1:]
		}
		slices.Reverse(t.stack[first:])
	}
	if len(t.known) > len(t.groups) {
		for path, g := range t.known {
			if g.seen != t.scans {
				delete(t.known, path)
			}
		}
	}
	return nil
}

func (t *groupTree) found(g *group) {
	g.seen = t.scans
	t.groups = append(t.groups, g)
}

// below returns a group by its parent and the name of its directory.
func (t *groupTree) below(parent *group, name []byte) *group {
	t.path = append(append(append(t.path[:0], parent.path...), '/'), name...)
	g := t.known[string(t.path)]
	if g == nil {
		path := string(t.path)
		g = &group{dir: t.root.dir + path, path: path, name: unescapeUnit(path)}
		t.known[path] = g
		t.saw(path)
	}
	return g
}

// unescapeUnit replaces the escapes of the service manager in the name of a unit, such as
// \x2d, by the bytes that they represent. It keeps incomplete escapes and that of NUL,
// which a name cannot contain.
func unescapeUnit(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			high, ok := ctext.HexDigit(s[i+2])
			low, ok2 := ctext.HexDigit(s[i+3])
			if c := high<<4 | low; ok && ok2 && c != 0 {
				b = append(b, c)
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// A groupDomain is an instance domain whose instances are control groups.
type groupDomain struct {
	*groups
	// controller is that of version 1 whose hierarchy has the groups; "" for groups of
	// version 2, which exist if that is the only version in use.
	controller string
	// needs is a file that a group of version 2 has if it is an instance, "" for all of them.
	needs string

	indom  *column.InDom
	source *column.Source
	list   *column.Block
	rows   []groupRow // in the order of instances
}

type groupRow struct {
	inst int32
	*group
}

// newDomain returns the domain of a controller. labels are those of the domain.
func (g *groups) newDomain(serial int, controller, needs, help, labels string) *groupDomain {
	d := &groupDomain{groups: g, controller: controller, needs: needs}
	d.indom = &column.InDom{
		Serial: serial, Help: help, Labels: labels,
		InstanceLabels: g.labels,
	}
	return d
}

// labels returns the labels of a control group, with those of its container.
func (g *groups) labels(_ int32, name string) map[string]any {
	l := g.containers.Labels(name)
	return l.Map(map[string]any{"cgroup": name})
}

// A groupFile is a file of a control group with values of a table.
type groupFile struct {
	name string
	cols int
	// parse fills a row; nil for a file of keys, of which the table has columns.
	parse func(b *column.Block, row int, text []byte)
	// always is set if a group without the file has values too: those of an empty file.
	always bool
	// zero is set if values missing in the file are 0.
	zero bool
}

// family returns the family of a table, whose block 0 is the list of groups and has the
// identifier of the container, and whose other blocks are files.
func (d *groupDomain) family(name string, metrics []column.Metric, files ...groupFile) column.Family {
	layouts := []column.Layout{{Cols: 1, InDom: d.indom, Lists: true}}
	for _, f := range files {
		layouts = append(layouts, column.Layout{Cols: f.cols, InDom: d.indom})
	}
	b := column.NewBlocks(metrics, layouts...)
	d.list = b[0]
	d.source = &column.Source{Name: name, Blocks: b[:1], After: []*column.Source{d.mounts.source}, Read: d.read}
	sources := []*column.Source{d.source}
	for i, f := range files {
		sources = append(sources, d.fileSource(f, b[i+1]))
	}
	return column.Family{Name: name, Metrics: metrics, Sources: sources}
}

func (d *groupDomain) fileSource(f groupFile, b *column.Block) *column.Source {
	if f.parse == nil {
		f.parse = keyedFile(b)
	}
	return &column.Source{Name: f.name, Blocks: []*column.Block{b}, After: []*column.Source{d.source}, Row: func(row int) {
		g := d.find(b.Insts()[row])
		if g == nil {
			return
		}
		text, err := d.file(g, f.name)
		if err != nil && !f.always {
			return
		}
		if err != nil {
			text = nil
		}
		if f.zero {
			for col := range b.Row(row) {
				b.Set(row, col, 0)
			}
		}
		f.parse(b, row, text)
	}}
}

// keyedFile returns a parser of lines "key value".
func keyedFile(b *column.Block) func(*column.Block, int, []byte) {
	keyed, current := procfs.NewKeyed(b.Keys()), 0
	set := func(col int, v uint64) {
		if v != noValue {
			b.Set(current, col, v)
		}
	}
	return func(_ *column.Block, row int, text []byte) {
		current = row
		keyed.Parse(text, nil, set)
	}
}

// noValue is a number that means no value.
const noValue = 1<<64 - 1

// numberFile is a file that is one number.
func numberFile(name string) groupFile {
	return groupFile{name: name, cols: 1, parse: func(b *column.Block, row int, text []byte) {
		if v, _, ok := procfs.Uint(text); ok && v != noValue {
			b.Set(row, 0, v)
		}
	}}
}

// lineFile is a file that is one line. It is empty if the file is missing, as in C.
func lineFile(name string) groupFile {
	return groupFile{name: name, cols: 1, always: true, parse: func(b *column.Block, row int, text []byte) {
		line, _, _ := procfs.Line(text)
		b.SetString(row, 0, line)
	}}
}

// find returns the group that is an instance, nil if it has gone.
func (d *groupDomain) find(inst int32) *group {
	i, ok := slices.BinarySearchFunc(d.rows, inst, func(r groupRow, inst int32) int { return int(r.inst) - int(inst) })
	if !ok {
		return nil
	}
	return d.rows[i].group
}

// read lists the groups.
func (d *groupDomain) read() error {
	d.rows = d.rows[:0]
	d.list.Clear()
	m := d.mounts.of(d.controller)
	if m == nil {
		return nil
	}
	t, err := d.tree(m)
	if err != nil {
		return err
	}
	reg := d.register(d.indom.Serial)
	reg.begin()
	for _, g := range t.groups {
		if !d.shown(g) || d.mounts.unified && d.needs != "" && !d.has(g, d.needs) {
			continue
		}
		// Of two whose names differ in escapes only the first counts, as in C.
		if e := reg.lookup([]byte(g.name)); e.first(reg) {
			d.rows = append(d.rows, groupRow{e.inst, g})
		}
	}
	reg.end()
	slices.SortFunc(d.rows, func(a, b groupRow) int { return int(a.inst) - int(b.inst) })
	for i := range d.rows {
		r := &d.rows[i]
		row := d.list.AddNamed(r.inst, r.name)
		d.list.SetString(row, 0, containerOfGroup(r.path))
	}
	return nil
}

// has reports whether a group has a file.
func (d *groupDomain) has(g *group, file string) bool {
	b := append(append(append(d.path[:0], g.dir...), '/'), file...)
	d.path = b
	return procfs.Exists(string(b))
}

// containerOfGroup is containerOf, but finds none at the root of a hierarchy, as in C.
func containerOfGroup(path string) []byte {
	if strings.LastIndexByte(path, '/') <= 0 {
		return nil
	}
	return containerOf([]byte(path))
}

// A groupPairs is an instance domain of a group and something that it uses, such as
// /user.slice::sda.
type groupPairs struct {
	*groupDomain
	indom *column.InDom
	block *column.Block
	reg   *register
	name  []byte
}

// newPairs returns the domain, whose instances get the label of the second part.
func newPairs(d *groupDomain, serial int, help, label, strip string) *groupPairs {
	p := &groupPairs{groupDomain: d, reg: d.register(serial)}
	p.indom = &column.InDom{Serial: serial, Help: help, Labels: d.indom.Labels, InstanceLabels: func(_ int32, name string) map[string]any {
		i := strings.LastIndex(name, "::")
		labels := p.labels(0, name[:i])
		labels[label] = strings.TrimPrefix(name[i+2:], strip)
		return labels
	}}
	return p
}

// family returns the family of a table with one block, which the function fill fills for
// each group.
func (p *groupPairs) family(name string, metrics []column.Metric, cols int, after *column.Source, fill func(g *group)) column.Family {
	b := column.NewBlocks(metrics, column.Layout{Cols: cols, InDom: p.indom, Lists: true})
	p.block = b[0]
	source := &column.Source{Name: name, Blocks: b, After: []*column.Source{p.source}, Read: func() error {
		p.block.Clear()
		p.reg.begin()
		for i := range p.rows {
			fill(p.rows[i].group)
		}
		p.reg.end()
		return nil
	}}
	if after != nil {
		source.After = append(source.After, after)
	}
	return column.Family{Name: name, Metrics: metrics, Sources: []*column.Source{source}}
}

// row returns the row of a group and a thing that it uses. It adds the row if necessary;
// added reports whether it did.
func (p *groupPairs) row(g *group, of []byte) (row int, added bool) {
	p.name = append(append(append(p.name[:0], g.name...), "::"...), of...)
	e := p.reg.lookup(p.name)
	if e.first(p.reg) {
		e.row = p.block.AddNamed(e.inst, e.name)
		return e.row, true
	}
	return e.row, false
}

// A register gives names their numbers: 0, 1, 2, … in the order in which they first
// appear. All views share it. It drops names that have been gone for long, since control groups
// come and go, and never reuses a number.
type register struct {
	entries map[string]*entry
	next    int32
	pass    uint64
	live    int
}

// An entry is a name of a register.
type entry struct {
	name string
	inst int32
	seen uint64 // the last pass that found it
	row  int
}

// Limits after which a register drops a name: passes without the name, and an
// excess of names over the existing ones.
const (
	forgetAfter = 100
	forgetFrom  = 4096
)

// register returns the register of an instance domain.
func (m *machine) register(serial int) *register {
	r := m.registers[serial]
	if r == nil {
		r = &register{entries: make(map[string]*entry)}
		if m.registers == nil {
			m.registers = make(map[int]*register)
		}
		m.registers[serial] = r
	}
	return r
}

// begin starts a pass over all existing names.
func (r *register) begin() { r.pass, r.live = r.pass+1, 0 }

// lookup returns the entry of a name.
func (r *register) lookup(name []byte) *entry {
	e := r.entries[string(name)]
	if e == nil {
		e = &entry{name: string(name), inst: r.next}
		r.entries[e.name] = e
		r.next = (r.next + 1) & (1<<31 - 1)
	}
	return e
}

// first reports whether this is its first call in a pass.
func (e *entry) first(r *register) bool {
	if e.seen == r.pass {
		return false
	}
	e.seen = r.pass
	r.live++
	return true
}

// end ends a pass.
func (r *register) end() {
	if len(r.entries) <= 2*r.live+forgetFrom {
		return
	}
	for name, e := range r.entries {
		if e.seen+forgetAfter < r.pass {
			delete(r.entries, name)
		}
	}
}

// joinRoot returns a path below the root directory.
func (m *machine) joinRoot(path string) string { return filepath.Join(m.root, path) }

// keptFile returns a file that stays open. All views share it: its contents are valid
// until one of them reads it again.
func (m *machine) keptFile(path string) column.File {
	f := m.files[path]
	if f == nil {
		name := path
		if m.live {
			name = hostroot.Name(name)
		}
		f = column.NewFile(m.joinRoot(name))
		if m.files == nil {
			m.files = make(map[string]column.File)
		}
		m.files[path] = f
	}
	return f
}
