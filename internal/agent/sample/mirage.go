package sample

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// A mirage is the instances of sample.mirage.
type mirage struct {
	list   []pcp.Instance
	newest int32
	wanted bool // a client has fetched them
	next   time.Time
	every  time.Duration
}

// check changes the instances if it is time.
func (m *mirage) check(a *Agent) {
	if m.wanted && !time.Now().Before(m.next) {
		m.redo(a)
	}
}

// redo drops some instances and adds up to two. It makes a new list: an older one
// may still be in use.
func (m *mirage) redo(a *Agent) {
	m.next = time.Now().Add(m.every)
	if m.list == nil {
		m.list = []pcp.Instance{{Inst: 0, Name: "m-00"}}
	} else {
		one := int32(len(m.list))
		if one > 12 {
			one /= 2
		}
		list := append(make([]pcp.Instance, 0, len(m.list)+2), m.list[0])
		for _, i := range m.list[1:] {
			if a.rand.next()%1000 >= 1000/one {
				list = append(list, i)
			}
		}
		for range 2 {
			if a.rand.next()%1000 < 500 {
				m.newest = free(list, m.newest)
				list = append(list, pcp.Instance{Inst: m.newest, Name: fmt.Sprintf("m-%02d", m.newest)})
			}
		}
		m.list = list
	}
	a.debugList("mirage", m.list)
}

// free returns the next number after n that no instance has.
func free(list []pcp.Instance, n int32) int32 {
	for {
		n = (n + 1) % 50
		taken := false
		for _, i := range list {
			taken = taken || i.Inst == n
		}
		if !taken {
			return n
		}
	}
}

func (a *Agent) mirageRows() []row {
	// The value is a saw-tooth shared by colour, mirage and mirage_longlong.
	value := func(inst int32) int64 {
		a.mirage.wanted = true
		return int64(inst+1)*100 - int64(a.tooth())
	}
	return []row{{Metric: pmda.Metric{
		Name: "mirage", Item: 37, Type: pcp.Type32, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0),
		InDom: a.dom.mirage, OneLine: "a rate whose instances come and go",
		Help: `Saw-teeth below (n + 1) * 100 for instance n, while there is one. A store sets
where the teeth of sample.colour, mirage and mirage_longlong are, all at once.`,
		Value: func(inst int32, _ int) (pcp.Value, error) { return pcp.Int32Value(int32(value(inst))), nil },
	}, setAll: a.setTooth}, {Metric: pmda.Metric{
		Name: "mirage_longlong", Item: 38, Type: pcp.Type64, Sem: pcp.SemInstant, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceByte, pcp.TimeMsec, 0),
		InDom: a.dom.mirage, OneLine: "a rate in 64 bits whose instances come and go",
		Help:  "Like sample.mirage, in other units and a million times as much.",
		Value: func(inst int32, _ int) (pcp.Value, error) { return pcp.Int64Value(value(inst) * 1000000), nil },
	}, setAll: a.setTooth}, {Metric: pmda.Metric{
		Name: "controller.mirage", Item: 155, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0),
		OneLine: "how often the instances of sample.mirage change",
		Help:    "Milliseconds, 10000 at first. A store also changes the instances at once.",
		Value: func(int32, int) (pcp.Value, error) {
			return pcp.Int32Value(int32(a.mirage.every / time.Millisecond)), nil
		},
	}, set: func(v pcp.Value) error {
		a.mirage.every = time.Duration(uint32(v.Int32())) * time.Millisecond
		a.mirage.next = time.Time{}
		return nil
	}}}
}
