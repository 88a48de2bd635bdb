package sample

import (
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A dodgy is sample.dodgey: instances that cannot be relied on. As in the C
// agent a control of up to 5 is the number of instances with values; if it is
// larger the instances are drawn again after that many fetches, or there is only
// an error.
type dodgy struct {
	control int32
	what    int32 // up to 5: as control; negative: the error
	left    int32 // fetches until it is drawn again
	seen    mark  // the metric of a fetch that was counted last
	list    []pcp.Instance
}

func newDodgy() dodgy {
	d := dodgy{control: 5, what: 5}
	d.full()
	return d
}

func (d *dodgy) full() {
	d.list = nil
	for n := int32(1); n <= 5; n++ {
		d.list = append(d.list, pcp.Instance{Inst: n, Name: fmt.Sprint("d", n)})
	}
}

// check draws again if it is time.
func (d *dodgy) check(a *Agent) {
	if d.left < 0 {
		d.redo(a)
	}
}

func (d *dodgy) redo(a *Agent) {
	if d.control <= 5 {
		d.what, d.left = d.control, 0
		d.full()
		return
	}
	switch n := a.rand.next() % 1000; {
	case n < 33:
		d.what = int32(pcp.ErrNoAgent)
	case n < 66:
		d.what = int32(pcp.ErrAgain)
	case n < 99:
		d.what = int32(pcp.ErrAppVersion)
	default:
		d.list = nil
		for n := int32(1); n <= 5; n++ {
			if a.rand.next()%100 < 49 {
				d.list = append(d.list, pcp.Instance{Inst: n, Name: fmt.Sprint("d", n)})
			}
		}
		d.what = int32(len(d.list))
	}
	d.left = a.rand.next() % d.control
}

// A mark identifies one metric of one fetch.
type mark struct{ fetch, metric int }

// value is called for the instances one after the other. As in the C agent
// each instance before the first value counts as a fetch, but with an error only
// the first.
func (d *dodgy) value(a *Agent, inst int32) (pcp.Value, error) {
	sets := a.req.Result.Sets
	here := mark{a.fetches, len(sets)}
	if d.control > 5 && len(sets[len(sets)-1].Values) == 0 && (d.what > 0 || d.seen != here) {
		d.left--
	}
	d.seen = here
	switch {
	case d.what < 0:
		return pcp.Value{}, pcp.Error(d.what)
	case d.what == 0 || d.what <= 5 && inst > d.what:
		return pcp.Value{}, pmda.ErrNoValue
	}
	return pcp.Int32Value(a.rand.next() % 101), nil
}

func (a *Agent) dodgyRows() []row {
	return []row{{Metric: pmda.Metric{
		Name: "dodgey.control", Item: 61, Type: pcp.Type32, Sem: pcp.SemDiscrete,
		OneLine: "how unreliable sample.dodgey.value is",
		Help: `Up to 5: the number of instances with a value; a negative number is an error code
that is returned instead. More than 5: after at most this number of fetches the
instances are chosen at random, or in one of ten cases an error is returned.`,
		Value: func(int32, int) (pcp.Value, error) { return pcp.Int32Value(a.dodgy.control), nil },
	}, set: func(v pcp.Value) error {
		a.dodgy.control = v.Int32()
		a.dodgy.redo(a)
		return nil
	}}, {Metric: pmda.Metric{
		Name: "dodgey.value", Item: 62, Type: pcp.Type32, Sem: pcp.SemInstant, InDom: a.dom.dodgy,
		OneLine: "values that cannot be relied on",
		Help:    "Random numbers from 0 to 100, when there are any: see sample.dodgey.control.",
		Value: func(inst int32, _ int) (pcp.Value, error) {
			return a.dodgy.value(a, inst)
		},
	}}}
}
