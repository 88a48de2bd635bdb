package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A mount is a hierarchy of control groups that is mounted.
type mount struct {
	entry   *entry
	version int
	dir     string
	options []byte
}

// A mountSource reads /proc/cgroups and /proc/mounts.
type mountSource struct {
	*machine
	controllers, source *column.Source
	subsys, subsysCount *column.Block
	list, listCount     *column.Block
	files               [2]column.File

	known   []*entry // controllers that the kernel has
	mounts  []mount
	unified bool   // version 2 is the only one
	reading uint64 // counts readings of mounts
	text    []byte // of /proc/mounts, as it was parsed
	scratch []byte
}

// Blocks of subsysMetrics and mountsMetrics.
const (
	blockInstances = iota
	blockNumber
)

// Columns of subsysMetrics.
const (
	subsysHierarchy = iota
	subsysGroups
	subsysEnabled
	numSubsys
)

func newMountSource(m *machine) *mountSource {
	s := &mountSource{machine: m}
	s.files = [...]column.File{m.keptFile("proc/cgroups"), m.keptFile("proc/mounts")}
	b := column.NewBlocks(subsysMetrics, column.Layout{Cols: numSubsys, Lists: true, InDom: &column.InDom{
		Serial: controllersSerial, Help: "Controllers of control groups that the kernel knows",
	}}, column.Layout{Cols: 1})
	s.subsys, s.subsysCount = b[blockInstances], b[blockNumber]
	s.controllers = &column.Source{Name: "/proc/cgroups", Blocks: b, Read: s.readControllers}
	b = column.NewBlocks(mountsMetrics, column.Layout{Cols: 1, Lists: true, InDom: &column.InDom{
		Serial: mountsSerial, Help: "Hierarchies of control groups, by where they are mounted",
	}}, column.Layout{Cols: 1})
	s.list, s.listCount = b[blockInstances], b[blockNumber]
	s.source = &column.Source{Name: "/proc/mounts", Blocks: b, Read: s.readMounts, After: []*column.Source{s.controllers}}
	return s
}

func (s *mountSource) subsysFamily() column.Family {
	return column.Family{Name: "controllers of control groups", Metrics: subsysMetrics, Sources: []*column.Source{s.controllers}}
}

func (s *mountSource) family() column.Family {
	return column.Family{Name: "mounts of control groups", Metrics: mountsMetrics, Sources: []*column.Source{s.source}}
}

// contents reads one of the files. A missing file is empty, as on a kernel without control
// groups.
func (s *mountSource) contents(i int) ([]byte, error) {
	b, err := s.files[i].Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func (s *mountSource) readControllers() error {
	s.known = s.known[:0]
	b, err := s.contents(0)
	if err != nil {
		return err
	}
	s.subsys.Clear()
	reg := s.register(controllersSerial)
	reg.begin()
	for line := range procfs.Lines(b) {
		name, rest := procfs.Field(line)
		hierarchy, rest, ok := procfs.Uint(rest)
		groups, rest, ok2 := procfs.Uint(rest)
		enabled, _, ok3 := procfs.Uint(rest)
		if len(name) == 0 || name[0] == '#' || !ok || !ok2 || !ok3 {
			continue
		}
		e := reg.lookup(name)
		if !e.first(reg) {
			continue
		}
		s.known = append(s.known, e)
		row := s.subsys.AddNamed(e.inst, e.name)
		s.subsys.Set(row, subsysHierarchy, hierarchy)
		s.subsys.Set(row, subsysGroups, groups)
		s.subsys.Set(row, subsysEnabled, enabled)
	}
	reg.end()
	s.subsysCount.Set(0, 0, uint64(len(s.known)))
	return nil
}

func (s *mountSource) readMounts() error {
	s.reading++
	b, err := s.contents(1)
	if err != nil {
		s.mounts, s.unified, s.text = s.mounts[:0], false, s.text[:0]
		return err
	}
	if !bytes.Equal(b, s.text) {
		s.text = append(s.text[:0], b...)
		s.parse(s.text)
	}
	s.list.Clear()
	for i := range s.mounts {
		m := &s.mounts[i]
		s.list.SetString(s.list.AddNamed(m.entry.inst, m.entry.name), 0, s.controllersOf(m))
	}
	s.listCount.Set(0, 0, uint64(len(s.mounts)))
	return nil
}

// parse finds the hierarchies in lines such as "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0".
func (s *mountSource) parse(b []byte) {
	s.mounts = s.mounts[:0]
	reg := s.register(mountsSerial)
	reg.begin()
	versions := [3]bool{}
	for line := range procfs.Lines(b) {
		_, rest := procfs.Field(line)
		path, rest := procfs.Field(rest)
		kind, rest := procfs.Field(rest)
		options, _ := procfs.Field(rest)
		m := mount{version: 1, options: options}
		switch string(kind) {
		case "cgroup":
		case "cgroup2":
			m.version, m.options = 2, nil
		default:
			continue
		}
		versions[m.version] = true
		if m.entry = reg.lookup(path); m.entry.first(reg) {
			m.dir = s.joinRoot(string(unmangle(path)))
			s.mounts = append(s.mounts, m)
		}
	}
	reg.end()
	s.unified = versions[2] && !versions[1]
	slices.SortFunc(s.mounts, func(a, b mount) int { return int(a.entry.inst) - int(b.entry.inst) })
}

// controllersOf returns the controllers among the options of a mount, ? for none.
func (s *mountSource) controllersOf(m *mount) []byte {
	out := s.scratch[:0]
	for rest := m.options; len(rest) > 0; {
		var option []byte
		option, rest, _ = bytes.Cut(rest, []byte{','})
		if !slices.ContainsFunc(s.known, func(e *entry) bool { return e.name == string(option) }) {
			continue
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(out, option...)
	}
	if len(out) == 0 {
		out = append(out, '?')
	}
	s.scratch = out
	return out
}

// of returns the hierarchy with the groups of a controller of version 1, or one of version 2
// if there is no other; with "", that of version 2 if no other is in use. Of several the last
// counts, as in C.
func (s *mountSource) of(controller string) *mount {
	if controller == "" && !s.unified {
		return nil
	}
	var found *mount
	for i := range s.mounts {
		m := &s.mounts[i]
		switch {
		case m.version == 1 && hasOption(m.options, controller):
			found = m
		case m.version == 2 && (found == nil || found.version == 2):
			found = m
		}
	}
	return found
}

// hasOption reports whether a word is in a list with commas.
func hasOption(options []byte, word string) bool {
	for len(options) > 0 {
		var option []byte
		if option, options, _ = bytes.Cut(options, []byte{','}); string(option) == word {
			return true
		}
	}
	return false
}

// unmangle replaces the escapes of /proc/mounts, such as \040.
func unmangle(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+3 < len(b) {
			if high, mid, low := b[i+1]-'0', b[i+2]-'0', b[i+3]-'0'; high <= 3 && mid <= 7 && low <= 7 {
				out = append(out, high<<6|mid<<3|low)
				i += 3
				continue
			}
		}
		out = append(out, b[i])
	}
	return out
}

// subsysMetrics are the metrics of /proc/cgroups.
var subsysMetrics = []column.Metric{
	{Name: "cgroup.subsys.hierarchy", Cluster: 37, Item: 0, Type: pcp.TypeU32, Sem: instant, Col: subsysHierarchy, Help: "Number of the hierarchy that the controller is in, 0 for version 2 or none"},
	{Name: "cgroup.subsys.count", Cluster: 37, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockNumber, Help: "Controllers of control groups that the kernel knows"},
	{Name: "cgroup.subsys.num_cgroups", Cluster: 37, Item: 2, Type: pcp.TypeU32, Sem: instant, Col: subsysGroups, Help: "Control groups in the hierarchy of the controller"},
	{Name: "cgroup.subsys.enabled", Cluster: 37, Item: 3, Type: pcp.TypeU32, Sem: instant, Col: subsysEnabled, Help: "Whether the controller is enabled"},
}

// mountsMetrics are those of /proc/mounts.
var mountsMetrics = []column.Metric{
	{Name: "cgroup.mounts.subsys", Cluster: 38, Item: 0, Type: pcp.TypeString, Sem: instant, Help: "Controllers of the hierarchy that is mounted, ? for none or version 2"},
	{Name: "cgroup.mounts.count", Cluster: 38, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: count, From: blockNumber, Help: "Hierarchies of control groups that are mounted"},
}
