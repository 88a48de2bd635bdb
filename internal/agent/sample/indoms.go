package sample

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Serial numbers of the instance domains. The agent's interface; do not change.
const (
	serialColour = iota + 1
	serialBin
	serialMirage
	serialFamily
	serialHordes
	serialDodgy
	serialDynamic
	serialMany
	serialScramble
	serialEvent
	serialGhosts
	serialProc
)

// indoms are the instance domains.
type indoms struct {
	colour, bin, mirage, family, hordes, dodgy, dynamic, many, scramble, event, ghosts, proc *pmda.InDom
}

func (d *indoms) all() []*pmda.InDom {
	return []*pmda.InDom{
		d.colour, d.bin, d.mirage, d.family, d.hordes, d.dodgy, d.dynamic, d.many, d.scramble, d.event, d.ghosts, d.proc,
	}
}

func (a *Agent) makeInDoms() {
	list := func(f func() []pcp.Instance) func(context.Context) ([]pcp.Instance, error) {
		return func(context.Context) ([]pcp.Instance, error) { return f(), nil }
	}
	binLabel := func(inst int32, _ int) string { return fmt.Sprintf(`{"bin":%d}`, inst) }
	d := &a.dom
	d.colour = &pmda.InDom{
		Serial: serialColour, Instances: named("red", "green", "blue"), Labels: `{"model":"RGB"}`,
		OneLine: "three colours",
		Help:    `Always the same: "red" (0), "green" (1) and "blue" (2).`,
	}
	d.bin = &pmda.InDom{
		Serial: serialBin, Instances: binInstances(), InstanceLabels: binLabel,
		OneLine: "nine bins",
		Help:    `Always the same: "bin-100" (100) to "bin-900" (900) in steps of 100.`,
	}
	d.mirage = &pmda.InDom{
		Serial: serialMirage, List: list(func() []pcp.Instance { return a.mirage.list }),
		InstanceLabels: func(inst int32, _ int) string { return fmt.Sprintf(`{"transient":%v}`, inst != 0) },
		OneLine:        "instances that come and go by chance",
		Help: `"m-00" (0) is always there; of "m-01" (1) to "m-49" (49) some are, and every few
seconds others. See sample.controller.mirage.`,
	}
	d.family = &pmda.InDom{
		Serial: serialFamily, Instances: named("colleen", "terry", "emma", "cathy", "fat bald bastard"),
		Labels:  `{"clan":"mcdonell"}`,
		OneLine: "five people, one with spaces in the name",
		Help:    "Always the same five. That of number 4 has three words.",
	}
	d.hordes = &pmda.InDom{
		Serial: serialHordes, Instances: hordes(),
		OneLine: "many instances",
		Help:    `Always the same 500, "0" (0) to "499" (499).`,
	}
	d.dodgy = &pmda.InDom{
		Serial: serialDodgy, List: list(func() []pcp.Instance { return a.dodgy.list }),
		OneLine: "unreliable instances",
		Help: `All of "d1" (1) to "d5" (5), or some, or different ones each time, according to
sample.dodgey.control.`,
	}
	d.dynamic = &pmda.InDom{
		Serial: serialDynamic, List: list(func() []pcp.Instance { return a.files.list }),
		Refresh: func(context.Context) error { a.files.check(a); return nil },
		OneLine: "instances from a file",
		Help: `The lines of $PCP_PMDAS_DIR/sample/dynamic.indom, each a number and a name. The
file is read again when it changes; without it there are none.`,
	}
	d.many = &pmda.InDom{
		Serial: serialMany, List: list(func() []pcp.Instance { return a.many }),
		OneLine: "as many instances as are asked for",
		Help:    `"i-0" (0) and so on; sample.many.count is their number.`,
	}
	a.resetScramble()
	d.scramble = &pmda.InDom{
		Serial: serialScramble, List: list(a.scrambleList), InstanceLabels: binLabel,
		OneLine: "bins in another order each time",
		Help:    "Some of the nine bins, in another selection and order with each fetch.",
	}
	d.event = &pmda.InDom{
		Serial: serialEvent, Instances: named("fungus", "bogus"),
		OneLine: "two sources of events",
		Help:    `"fungus" (0) has all kinds of records, "bogus" (1) one or two simple ones.`,
	}
	d.ghosts = &pmda.InDom{
		Serial: serialGhosts, List: list(a.ghosts.list),
		OneLine: "ghosts, of which some can be seen",
		Help:    "Up to eight instances; sample.ghosts.visible is their number.",
	}
	d.proc = &pmda.InDom{
		Serial: serialProc, List: list(func() []pcp.Instance { return a.proc.list }),
		OneLine: "made-up processes",
		Help: `Four that stay, and up to sixteen that come and go with each fetch, in the same
way each time. A name is a number and the path of a program.`,
	}
	a.setMany(5)
}

// named returns instances that are numbered from 0.
func named(names ...string) []pcp.Instance {
	list := make([]pcp.Instance, len(names))
	for i, name := range names {
		list[i] = pcp.Instance{Inst: int32(i), Name: name}
	}
	return list
}

func binInstances() []pcp.Instance {
	var list []pcp.Instance
	for n := int32(100); n <= 900; n += 100 {
		list = append(list, pcp.Instance{Inst: n, Name: fmt.Sprint("bin-", n)})
	}
	return list
}

func hordes() []pcp.Instance {
	list := make([]pcp.Instance, 500)
	for i := range list {
		list[i] = pcp.Instance{Inst: int32(i), Name: strconv.Itoa(i)}
	}
	return list
}

// setMany changes the number of instances of sample.many.
func (a *Agent) setMany(n int32) {
	n = min(max(n, 0), 999999)
	list := make([]pcp.Instance, n)
	for i := range list {
		list[i] = pcp.Instance{Inst: int32(i), Name: "i-" + strconv.Itoa(i)}
	}
	a.many = list
}

// resetScramble puts all bins in their order.
func (a *Agent) resetScramble() { a.scrambled = binInstances() }

// scrambleList returns the instances of sample.scramble.bin. Each fetch shuffles
// them again.
func (a *Agent) scrambleList() []pcp.Instance {
	if a.req == nil {
		return a.scrambled
	}
	r := plainRand(a.scrambles<<10 + 13)
	a.scrambles++
	bins := a.dom.bin.Instances
	place := make([]*pcp.Instance, len(bins))
	for i := range bins {
		if r.next()%100 < 33 {
			continue
		}
		for {
			if k := r.next() % int32(len(bins)); place[k] == nil {
				place[k] = &bins[i]
				break
			}
		}
	}
	a.scrambled = nil
	for _, p := range place {
		if p != nil {
			a.scrambled = append(a.scrambled, *p)
		}
	}
	return a.scrambled
}

// shortName returns a name up to its first space.
func shortName(name string) string {
	short, _, _ := strings.Cut(name, " ")
	return short
}
