package dstat

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// The ways in which the instances of a plugin's metrics are shown (grouptype in pcp-dstat(5)).
const (
	ungrouped  = -1 // metric by metric
	byInstance = 1  // instance by instance
	onlyTotal  = 2  // their sum
	withTotal  = 3  // the requested instances, and the sum
	onlyTop    = 4  // the instance with the largest value of the first metric
)

// total is the name of the sum of all instances in -C, -D and similar options.
const total = "total"

// The names of plugins that show the time.
var timeNames = []string{"time", "time-adv", "epoch", "epoch-adv"}

// A plugin is a group of metrics with a heading in common.
type plugin struct {
	name, label string
	time        bool // shows the time and has no metrics
	group       int
	width       int
	printAs     byte // 0 means by the type of a metric
	step        float64
	stepped     bool
	limit       int
	cull        *regexp.Regexp // instances excluded from the sum
	instances   []string       // of metrics that do not set their own
	unit, kind  string         // kind "raw": counters are not converted to rates

	metrics []*metric
	names   []string   // of columns
	shown   []instance // in groups
	sets    map[setKey]*set
}

// An instance is an instance of a metric, unnamed if the metric has no instances.
type instance struct {
	inst  int32
	name  string
	named bool
}

// A metric is a column of a plugin, or a column per instance.
type metric struct {
	plugin    *plugin
	name      string // dstat.PLUGIN.KEY
	source    string // its name at the source
	top       bool   // its value determines the top instance
	formulas  []string
	label     string
	instances []string
	unit      string
	kind      string
	width     string
	look      look

	desc    pcp.Desc
	out     pcp.Type
	scale   string // for the fetch group
	max     int    // more instances are too many
	matched []instance
	group   *pmapi.GroupInstances
	results []result
}

// A setKey identifies the values of an instance of the metrics with a label.
type setKey struct {
	label string
	inst  int32
}

// A set holds the values of an interval so far.
type set struct {
	sum float64
	n   int
}

func (s *set) add(f float64)    { s.sum, s.n = s.sum+f, s.n+1 }
func (s *set) average() float64 { return s.sum / float64(s.n) }
func (s *set) clear()           { *s = set{} }

// newPlugin creates a plugin from the section of that name.
func newPlugin(all *conf.Sections, section string, sel *selection) (*plugin, error) {
	p := &plugin{name: section, label: section, group: ungrouped, width: 5, sets: make(map[setKey]*set)}
	byName := make(map[string]*metric)
	for key, value := range all.Values(section) {
		if known, err := p.set(key, value); err != nil {
			return nil, err
		} else if known {
			continue
		}
		short, spec, ok := strings.Cut(key, ".")
		if !ok {
			spec = "formula"
		}
		name := "dstat." + section + "." + short
		m := byName[name]
		if m == nil {
			m = &metric{plugin: p, name: name, top: strings.HasSuffix(name, ".top")}
			if spec != "label" {
				m.label = short
			}
			byName[name] = m
			p.metrics = append(p.metrics, m)
		}
		if err := m.set(spec, value); err != nil {
			return nil, err
		}
	}
	sel.choose(p)
	for _, m := range p.metrics {
		m.inherit()
	}
	return p, nil
}

// set applies a line about the plugin itself, and reports whether it is such a line.
func (p *plugin) set(key, value string) (known bool, err error) {
	switch key {
	case "label":
		p.label = value
	case "unit":
		p.unit = value
	case "type":
		p.kind = value
	case "instances":
		p.instances = splitInstances(value)
	case "width":
		p.width, err = integer(value)
	case "precision":
		_, err = integer(value) // which has no meaning here
	case "limit":
		p.limit, err = integer(value)
	case "grouptype":
		p.group, err = integer(value)
	case "printtype":
		p.printAs, err = printing(value)
	case "colorstep":
		p.stepped = true
		p.step, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			err = fmt.Errorf("not a number: %q", value)
		}
	case "cullinsts":
		if p.cull, err = pmrep.CompileName(value); err != nil {
			return true, err
		}
	case "formula", "plugin", "valuesets":
	default:
		return false, nil
	}
	if err != nil {
		err = &lineError{p.name, key, err}
	}
	return true, err
}

// set applies a line about a metric.
func (m *metric) set(spec, value string) (err error) {
	if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1 : len(value)-1]
	}
	switch spec {
	case "formula":
		m.formulas = append(m.formulas, value)
	case "label":
		m.label = value
	case "instances":
		m.instances = []string{value}
	case "unit":
		m.unit = value
	case "type":
		m.kind = value
	case "width":
		m.width = value
	case "precision":
	case "printtype":
		m.look.print, err = printing(value)
	case "colorstep":
		m.look.stepped = true
		m.look.step, err = strconv.ParseFloat(strings.TrimSpace(value), 64)
	case "limit", "grouptype", "cullinsts", "plugin", "valuesets":
		// which the C program does not accept for a metric
	default:
		err = fmt.Errorf("there is no such setting: %s", spec)
	}
	if err != nil {
		key := strings.TrimPrefix(m.name, "dstat."+m.plugin.name+".") + "." + spec
		return &lineError{m.plugin.name, key, err}
	}
	return nil
}

// A lineError is an error in a line of a plugin.
type lineError struct {
	plugin, key string
	err         error
}

func (e *lineError) Error() string { return fmt.Sprintf("plugin %s: %s: %v", e.plugin, e.key, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// inherit takes settings that the metric does not define from the plugin.
func (m *metric) inherit() {
	p := m.plugin
	if len(m.instances) == 0 {
		m.instances = p.instances
	}
	if m.unit == "" {
		m.unit = p.unit
	}
	if m.kind == "" {
		m.kind = p.kind
	}
	if m.width == "" {
		m.width = strconv.Itoa(p.width)
	}
	// As in the C program, for metrics that are not in a top list, printtype and
	// colorstep only have an effect together; in a top list, only colorstep has an
	// effect.
	switch l := &m.look; {
	case p.group == onlyTop && l.stepped:
		l.print, l.step = p.printAs, float64(int(l.step))
	case p.group == onlyTop:
		l.print, l.step, l.stepped = p.printAs, onlyTop, true
	case l.print != 0:
		l.stepped = true
	default:
		l.print, l.step, l.stepped = p.printAs, p.step, p.stepped
	}
}

// printing reads a printtype; only its first letter counts.
func printing(value string) (byte, error) {
	if value != "" && strings.IndexByte("bdfpst", value[0]) >= 0 {
		return value[0], nil
	}
	return 0, fmt.Errorf("printtype %q is none of b, d, f, p, s and t", value)
}

// integer reads a number as Python's int does.
func integer(value string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("not a number: %q", value)
	}
	return int(n), nil
}

// splitInstances splits a list of instances at commas. An instance that contains a comma is in
// quotes.
func splitInstances(value string) []string {
	var list []string
	var item strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"' && quoted && i+1 < len(value) && value[i+1] == '"':
			item.WriteByte(c)
			i++
		case c == '"' && (quoted || item.Len() == 0):
			quoted = !quoted
		case c == ',' && !quoted:
			list = append(list, item.String())
			item.Reset()
		default:
			item.WriteByte(c)
		}
	}
	list = append(list, item.String())
	for i, s := range list {
		s = strings.TrimPrefix(s, "'")
		list[i] = strings.TrimSuffix(s, "'")
	}
	return list
}

// A selection is the choice of -C, -D and similar options, and of -f.
type selection struct {
	full                                              bool
	cpu, disk, dm, md, part, line, net, packets, swap *chosen
}

// chosen are the instances that an option names.
type chosen struct{ names []string }

// choose sets the instances of a plugin that has an option for them.
func (sel *selection) choose(p *plugin) {
	var c *chosen
	switch p.name {
	case "cpu":
		c = sel.cpu
	case "disk", "disk-tps":
		c = sel.disk
	case "dm", "dm-tps":
		c = sel.dm
	case "md", "md-tps":
		c = sel.md
	case "part", "part-tps":
		c = sel.part
	case "int":
		c = sel.line
	case "net":
		c = sel.net
	case "net-packets":
		c = sel.packets
	case "swap":
		c = sel.swap
	default:
		return
	}
	switch {
	case sel.full:
		p.group, p.instances = byInstance, nil
		return
	case c == nil:
		c = &chosen{[]string{total}}
	}
	i := slices.Index(c.names, total)
	switch {
	case i < 0:
		p.group = byInstance
	case len(c.names) == 1:
		p.group = onlyTotal
	default:
		p.group = withTotal
	}
	if i >= 0 {
		// As in the C program, the option's second plugin has no sum.
		c.names = slices.Delete(c.names, i, i+1)
	}
	p.instances = c.names
}
