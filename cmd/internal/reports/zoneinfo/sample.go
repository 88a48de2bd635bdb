package zoneinfo

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
)

// A sample holds the values of a time.
type sample struct {
	m      *pmcc.Manager
	whole  bool // with the metrics of since5
	zones  []string
	values map[string]map[string]pmcc.Value // by metric and instance
	levels []level
}

// A level is the amount that a zone reserves for another zone.
type level struct {
	name  string // DMA::node0::lowmem_reserved1
	pages int64
}

func newSample(m *pmcc.Manager, whole bool) *sample {
	s := &sample{m: m, whole: whole, values: make(map[string]map[string]pmcc.Value)}
	s.zones = slices.Sorted(maps.Keys(s.byInst("present")))
	protection := m.Named(below + "protection")
	for _, n := range protection {
		kept := slices.ContainsFunc(s.levels, func(l level) bool { return l.name == n.Name })
		if !kept { // several of the same name count once
			s.levels = append(s.levels, level{n.Name, pages(s.byInst("protection")[n.Name])})
		}
	}
	slices.SortStableFunc(s.levels, func(a, b level) int { return strings.Compare(strings.ToLower(a.name), strings.ToLower(b.name)) })
	return s
}

func (s *sample) byInst(metric string) map[string]pmcc.Value {
	if s.values[metric] == nil {
		s.values[metric] = pmcc.ByName(s.m.Named(below + metric))
	}
	return s.values[metric]
}

// pages converts kB to pages, 0 if the value is missing.
func pages(v pmcc.Value) int64 {
	f, _ := v.Number()
	return int64(f / 4)
}

func (s *sample) of(metric, inst string) int64 { return pages(s.byInst(metric)[inst]) }

// protection returns the reserves of a zone, as Python prints lists.
func (s *sample) protection(zone string, sorted bool) string {
	var list []int64
	for _, l := range s.levels {
		if strings.HasPrefix(l.name, zone) {
			list = append(list, l.pages)
		}
	}
	if sorted {
		slices.Sort(list)
	}
	text := make([]string, len(list))
	for i, n := range list {
		text[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(text, ", ") + "]"
}

// title returns the line above a zone.
func title(zone string) string {
	name, node, ok := strings.Cut(zone, "::")
	number, isNode := strings.CutPrefix(node, "node")
	if !ok || !isNode || strings.Contains(node, "::") {
		return "Invalid input format"
	}
	return fmt.Sprintf("Node %s, zone    %s", number, name)
}

// byZone sorts zones named DMA first.
func byZone(a, b string) int {
	rank := func(s string) (int, string) {
		name, _, _ := strings.Cut(s, "::")
		if name == "DMA" {
			return 0, name
		}
		return 1, name
	}
	i, x := rank(a)
	j, y := rank(b)
	return cmp.Or(i-j, strings.Compare(x, y))
}

func (s *sample) lines(w io.Writer, metrics []string, inst string) {
	for _, name := range metrics {
		if s.has(name) {
			fmt.Fprintf(w, "\t%s %d\n", name, s.of(name, inst))
		}
	}
}

// has reports whether a metric has a line.
func (s *sample) has(metric string) bool {
	return s.whole || metric != "numa_local" && !slices.Contains(since5, metric)
}

// zone prints the lines of a zone.
func (s *sample) zone(w io.Writer, zone string) {
	s.pages(w, zone, "\t")
	s.lines(w, perZone, zone)
}

func (s *sample) pages(w io.Writer, zone, indent string) {
	for _, l := range ofPages {
		fmt.Fprintf(w, "%s%s%s %d\n", indent, l.indent, l.name, s.of(l.name, zone))
	}
	fmt.Fprintf(w, "%14sprotection %s\n", "", s.protection(zone, !s.whole))
}

// printZones prints the report of older kernels, in which each zone has the lines of its node.
func (s *sample) printZones(w io.Writer) error {
	zones := slices.Clone(s.zones)
	slices.SortStableFunc(zones, byZone)
	for _, zone := range zones {
		fmt.Fprintf(w, "%s\n\tper-node status\n", title(zone))
		s.lines(w, perNode, zone)
		s.zone(w, zone)
	}
	return nil
}

// nodes returns the names of nodes in the order of their numbers.
func (s *sample) nodes() ([]string, error) {
	number := make(map[string]int)
	last := int(^uint(0) >> 1)
	for _, zone := range s.zones {
		part := strings.Split(zone, "::")
		if len(part) < 2 {
			return nil, errMachine
		}
		n, err := last, error(nil)
		if text, ok := strings.CutPrefix(part[1], "node"); ok {
			if n, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%spresent: %q is not a zone of a node", below, zone)
			}
		}
		number[part[1]] = n
	}
	return slices.SortedFunc(maps.Keys(number), func(a, b string) int { return cmp.Or(cmp.Compare(number[a], number[b]), strings.Compare(a, b)) }), nil
}

// zonesOf returns the zones that reserve memory at a node: those with pages, and others.
func (s *sample) zonesOf(node string) (zones, others []string) {
	seen := make(map[string]bool)
	for _, l := range s.levels {
		if !strings.Contains(l.name, node) {
			continue
		}
		name, _, _ := strings.Cut(l.name, "::"+node)
		zone := name + "::" + node
		switch {
		case seen[zone]:
		case slices.Contains(s.zones, zone):
			zones = append(zones, zone)
		default:
			others = append(others, zone)
		}
		seen[zone] = true
	}
	slices.SortFunc(zones, byZone)
	slices.Sort(others)
	return zones, others
}

// printNodes prints the report: nodes, and the zones of each. It ends at a node that has no levels of protection, as
// in C.
func (s *sample) printNodes(w io.Writer) error {
	nodes, err := s.nodes()
	if err != nil {
		return err
	}
	for _, node := range nodes {
		zones, others := s.zonesOf(node)
		if len(zones)+len(others) == 0 {
			return nil
		}
		fmt.Fprintf(w, "NODE %2s, per-node status\n", node[min(len("node"), len(node)):])
		s.lines(w, perNode, node)
		for _, zone := range zones {
			fmt.Fprintln(w, title(zone))
			s.zone(w, zone)
		}
		for _, zone := range others { // which only have pages
			fmt.Fprintln(w, title(zone))
			s.pages(w, zone, "\t ")
		}
	}
	return nil
}

// printJSON prints the sample with --json: a line for each node and zone, in pages.
func (s *sample) printJSON() {
	row := func(inst string, metrics []string) {
		r := s.m.Row("", inst)
		r.Units = "pages"
		for _, name := range metrics {
			if v, ok := s.byInst(name)[inst]; ok {
				r.Columns.Number(name, float64(pages(v)))
			}
		}
		if len(r.Columns) > 0 {
			r.Write()
		}
	}
	for _, node := range slices.Sorted(maps.Keys(s.byInst("nr_inactive_anon"))) {
		if !slices.Contains(s.zones, node) {
			row(node, perNode)
		}
	}
	zone := make([]string, 0, len(ofPages)+len(perZone)+len(perNode))
	for _, l := range ofPages {
		zone = append(zone, l.name)
	}
	zone = append(zone, perZone...)
	if !s.whole {
		zone = append(zone, perNode...)
	}
	for _, name := range s.zones {
		row(name, zone)
	}
}
