package hosts

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-pcp/pcp"
)

const (
	// Domain is the domain of the simulated metrics.
	Domain     = 400
	pmcdDomain = 2

	clusterSize = 20 // metrics in a cluster
	indoms      = 5
	// Instances is the number of instances of a metric that has instances: each sixth.
	Instances = 8
)

// A kind describes how the values of a metric move.
type kind int

const (
	still  kind = iota // a size or a setting, which does not change
	rare               // a counter of rare events
	busy               // a counter that moves with each sample
	gauge              // a number that goes up and down
	double             // a floating-point number that does
	nKinds
)

// mix has the kinds of metrics. Of the values of an idle Linux host, about half are equal to the ones before.
var mix = [...]kind{still, busy, rare, gauge, still, busy, still, double, rare, still, still, rare}

// A metric is a simulated metric.
type metric struct {
	name string
	desc pcp.Desc
	kind kind
	text string
}

// values returns the number of values of a sample.
func (m *metric) values() int {
	if m.desc.InDom == pcp.InDomNull {
		return 1
	}
	return Instances
}

// makeMetrics returns n metrics.
func makeMetrics(n int) []metric {
	count := pcp.NewUnits(0, 0, 1, 0, 0, pcp.CountOne)
	list := make([]metric, n)
	for i := range list {
		m := &list[i]
		m.name = fmt.Sprintf("sim.group%02d.metric%03d", i/clusterSize, i)
		m.kind = mix[i%len(mix)]
		m.text = fmt.Sprintf("Simulated metric number %d of %d\n%s", i, n, strings.Repeat("A text of the length that help usually has. ", 4))
		m.desc = pcp.Desc{PMID: pcp.NewPMID(Domain, i/clusterSize, i%clusterSize), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: count}
		switch m.kind {
		case still:
			m.desc.Sem = pcp.SemDiscrete
		case gauge:
			m.desc.Sem, m.desc.Type = pcp.SemInstant, pcp.TypeU32
		case double:
			m.desc.Sem, m.desc.Type = pcp.SemInstant, pcp.TypeDouble
		}
		if i%6 == 5 {
			m.desc.InDom = pcp.NewInDom(Domain, i/6%indoms+1)
		}
	}
	return list
}

// mixed returns a number that looks random.
func mixed(x uint64) uint64 { // the finalizer of splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// value returns the value of an instance of a metric at a time in milliseconds since 1970. Counters do not go back.
func (m *metric) value(host, inst int, ms int64) pcp.Value {
	own := mixed(uint64(host)<<40 ^ uint64(m.desc.PMID)<<8 ^ uint64(inst+1))
	noise := func(every int64) uint64 { return mixed(own ^ uint64(ms/every)*0x9e3779b97f4a7c15) }
	switch m.kind {
	case still:
		return pcp.Uint64Value(own % (1 << (10 + own>>59)))
	case rare: // an event in one to thirty minutes
		every := int64(60_000 * (1 + own%30))
		return pcp.Uint64Value(own%1000 + uint64((ms+int64(own>>32%3_600_000))/every%1_000_000))
	case busy: // 1 to 10,000 events a second, in bursts of a second
		rate := int64(1) << (own % 14)
		return pcp.Uint64Value(uint64(ms/1000*rate) + noise(1000)%uint64(rate))
	case gauge: // the level of a day, and some noise
		size := float64(uint64(100) << (own % 12))
		day := math.Sin(float64(ms%86_400_000)/86_400_000*2*math.Pi + float64(own%7))
		return pcp.Uint32Value(uint32(size * (2 + day + float64(noise(10_000)%64)/640)))
	default: // two decimals, as a load average
		day := math.Sin(float64(ms%86_400_000)/86_400_000*2*math.Pi + float64(own%7))
		return pcp.DoubleValue(math.Round(100*(1.5+day+float64(noise(10_000)%100)/200)) / 100)
	}
}
