package sample

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// nameOrder is the name space below the agent's root, in the order in which an
// installation of the C agent lists it. A star marks a dynamic subtree of the
// agent.
const nameOrder = `
control daemon_pid seconds milliseconds load colour darkness bin bucket part_bin bogus_bin drift step step_counter
mirage mirage_longlong write_me lights magnitude sysinfo pdu recv_pdu xmit_pdu noinst needprofile not_ready rapid
error_code error_check bigid byte_ctr byte_rate kbyte_ctr kbyte_rate byte_rate_perhour datasize secret.* ghosts.*
long.one long.ten long.hundred long.million long.write_me long.bin long.bin_ctr
ulong.one ulong.ten ulong.hundred ulong.million ulong.write_me ulong.bin ulong.bin_ctr
ulong.count.base ulong.count.deca ulong.count.hecto ulong.count.kilo ulong.count.mega
longlong.one longlong.ten longlong.hundred longlong.million longlong.write_me longlong.bin longlong.bin_ctr
ulonglong.one ulonglong.ten ulonglong.hundred ulonglong.million ulonglong.write_me ulonglong.bin ulonglong.bin_ctr
float.one float.ten float.hundred float.million float.write_me float.bin float.bin_ctr
double.one double.ten double.hundred double.million double.write_me double.bin double.bin_ctr
string.null string.hullo string.write_me string.bin
aggregate.null aggregate.hullo aggregate.write_me
hordes.one hordes.two
bad.unknown bad.nosupport bad.novalues bad.fetch.again
wrap.long wrap.ulong wrap.longlong wrap.ulonglong
slow_wrap.long slow_wrap.ulong slow_wrap.longlong slow_wrap.ulonglong
dodgey.control dodgey.value
dynamic.counter dynamic.discrete dynamic.instant dynamic.meta.metric
dynamic.meta.pmdesc.type dynamic.meta.pmdesc.indom dynamic.meta.pmdesc.sem dynamic.meta.pmdesc.units
scale_step.bytes_up scale_step.bytes_down scale_step.count_up scale_step.count_down
scale_step.time_up_secs scale_step.time_up_nanosecs scale_step.none_up
const_rate.value const_rate.gradient
many.count many.int
scramble.version scramble.bin
percontext.pdu percontext.recv_pdu percontext.xmit_pdu
percontext.control.ctx percontext.control.active percontext.control.start percontext.control.end
event.records event.highres_records event.no_indom_records event.reset event.reset_highres event.type
event.param_32 event.param_u32 event.param_64 event.param_u64 event.param_float event.param_double
event.param_string event.param_aggregate
dupnames.daemon_pid=daemon_pid dupnames.pid_daemon=daemon_pid
dupnames.two.seconds=seconds dupnames.two.bin=bin dupnames.two.write_me=write_me dupnames.two.lights=lights
dupnames.two.float.ten=float.ten dupnames.two.double.ten=double.ten
dupnames.three.bin=bin dupnames.three.write_me=write_me
dupnames.four.bin=bin dupnames.four.colour=colour
dupnames.five.bin=bin dupnames.five.bucket=bucket dupnames.five.part_bin=part_bin dupnames.five.long_bin=long.bin
negative.ctr.m_32 negative.ctr.m_64 negative.ctr.m_float negative.ctr.m_double
negative.instant.m_32 negative.instant.m_64 negative.instant.m_float negative.instant.m_double
negative.discrete.m_32 negative.discrete.m_64 negative.discrete.m_float negative.discrete.m_double
controller.mirage
proc.ordinal proc.exec proc.time proc.reset
updown.obs updown.control.repeat updown.control.min updown.control.max updown.control.step
temperature.celsius temperature.fahrenheit temperature.kelvin
voltage.volt voltage.millivolt voltage.microvolt
current.amp current.milliamp current.microamp
power.kilowatt power.watt power.milliwatt power.microwatt
`

// makeNames returns the name space.
func (a *Agent) makeNames(domain int) (*pmns.Tree, error) {
	ids := make(map[string]pcp.PMID, len(a.rows))
	for _, r := range a.rows {
		if r.Name != "" {
			ids[r.Name] = pcp.NewPMID(domain, 0, r.Item)
		}
	}
	tree := pmns.New()
	for _, word := range strings.Fields(nameOrder) {
		name, target, alias := strings.Cut(word, "=")
		if !alias {
			target = name
		}
		id, ok := ids[a.root+"."+target]
		if root, dynamic := strings.CutSuffix(name, ".*"); dynamic {
			name, id, ok = root, pcp.NewPMID(pcp.DomainDynamic, domain, 0), true
		}
		if !ok {
			return nil, fmt.Errorf("%s.%s is no metric", a.root, target)
		}
		if err := tree.Add(a.root+"."+name, id); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// NameSpace implements pmda.NameSpacer.
func (a *Agent) NameSpace() *pmns.Tree { return a.tree }

// A dynamicName is a name that no name space has.
type dynamicName struct {
	name string // below the agent's root
	id   pcp.PMID
}

// makeDynamicNames fills the table of names below the dynamic roots. The first
// belongs to another agent.
func (a *Agent) makeDynamicNames(domain int) {
	id := func(item int) pcp.PMID { return pcp.NewPMID(domain, 0, item) }
	a.dyn = []dynamicName{
		{"secret.foo.bar.max.redirect", pcp.NewPMID(2, 4, 1)},
		{"secret.bar", id(1000)},
		{"secret.foo.one", id(1001)},
		{"secret.foo.two", id(1002)},
		{"secret.foo.bar.three", id(1003)},
		{"secret.foo.bar.four", id(1004)},
		{"secret.foo.bar.grunt.five", id(1005)},
		{"secret.foo.bar.grunt.snort.six", id(1006)},
		{"secret.foo.bar.grunt.snort.huff.puff.seven", id(1007)},
		{"ghosts.visible", id(1008)},
		{"ghosts.origin", id(itemGhostOrigin)},
		{"ghosts.karma", id(itemGhostKarma)},
		{"ghosts.state", id(itemGhostState)},
	}
}

// secretRows are the metrics that only have those names.
func (a *Agent) secretRows() []row {
	rows := []row{{Metric: pmda.Metric{
		Item: 1000, Type: pcp.TypeString, Sem: pcp.SemInstant,
		OneLine: `a metric with a dynamic name`, Help: `Always "foo".`,
		Value: constant(pcp.StringValue("foo")),
	}}}
	for n := 1; n <= 7; n++ {
		rows = append(rows, row{Metric: pmda.Metric{
			Item: 1000 + n, Type: pcp.Type32, Sem: pcp.SemInstant, Units: count,
			OneLine: "a metric with a dynamic name", Help: fmt.Sprintf("Always %d.", n),
			Value: constant(pcp.Int32Value(int32(n))),
		}})
	}
	return rows
}

// hidden reports whether a dynamic name is that of a hidden ghost.
func (a *Agent) hidden(d dynamicName) bool {
	return a.ghosts.visible < 0 && d.id.Domain() == a.Domain() && isGhost(d.id)
}

// below returns a name without its first component, which is the agent's root.
func below(name string) string {
	_, rest, _ := strings.Cut(name, ".")
	return rest
}

// LookupName implements pmda.DynamicNamer. A collector that only has a dynamic
// root for the agent finds the other names, too.
func (a *Agent) LookupName(_ context.Context, name string) (pcp.PMID, error) {
	for _, d := range a.dyn {
		if d.name == below(name) && !a.hidden(d) {
			return d.id, nil
		}
	}
	id, err := a.tree.Lookup(name)
	if id.IsDynamicRoot() { // also for a name with children
		return pcp.PMIDNull, pcp.ErrName
	}
	return id, err
}

// Names implements pmda.DynamicNamer.
func (a *Agent) Names(_ context.Context, id pcp.PMID) ([]string, error) {
	var names []string
	for _, d := range a.dyn {
		if d.id == id && !a.hidden(d) {
			names = append(names, a.root+"."+d.name)
		}
	}
	if names == nil {
		return a.tree.Names(id)
	}
	return names, nil
}

// Children implements pmda.DynamicNamer. An unknown name has no children.
func (a *Agent) Children(_ context.Context, name string, traverse bool) ([]pmns.Child, error) {
	list := a.dynamicChildren(name, traverse)
	if list != nil {
		return list, nil
	}
	if _, dynamic := a.tree.DynamicRoot(name); dynamic {
		return nil, nil
	}
	if _, err := a.tree.Lookup(name); errors.Is(err, pcp.ErrName) {
		return nil, nil
	}
	if !traverse {
		return a.tree.Children(name)
	}
	leaves, err := a.tree.Leaves(name)
	for leaf, id := range leaves {
		if id.IsDynamicRoot() {
			list = append(list, a.dynamicChildren(leaf, true)...)
		} else {
			list = append(list, pmns.Child{Name: leaf, Leaf: true})
		}
	}
	return list, err
}

// dynamicChildren returns the names below a dynamic root.
func (a *Agent) dynamicChildren(name string, traverse bool) []pmns.Child {
	root, _, _ := strings.Cut(name, ".")
	at := below(name)
	if at == "" {
		return nil
	}
	var list []pmns.Child
	seen := map[string]bool{}
	for _, d := range a.dyn {
		rest, ok := strings.CutPrefix(d.name, at)
		if !ok || a.hidden(d) || rest != "" && rest[0] != '.' || rest == "" && !traverse {
			continue
		}
		if traverse {
			list = append(list, pmns.Child{Name: root + "." + d.name, Leaf: true})
			continue
		}
		child, _, more := strings.Cut(rest[1:], ".")
		if !seen[child] {
			seen[child] = true
			list = append(list, pmns.Child{Name: child, Leaf: !more})
		}
	}
	return list
}
