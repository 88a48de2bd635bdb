package logsummary

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// A metric is the summary of a metric so far.
type metric struct {
	desc    pcp.Desc
	counter bool
	scale   float64 // of the time of rates
	owner   int     // the worker that processes its values
	known   bool    // numeric, with a descriptor
	next    *metric // the metric after it in the last record that had it

	// For its worker alone:
	started bool
	insts   []instance
	bins    []uint32 // tool.bins for each instance
	totals  []uint32 // count of each instance at the start of the second pass
	places  map[int32]int32
	twice   bool // an instance has two places
	place   int  // of the last instance looked up

	lastTime int64 // cache of seconds
	now      int64
	seconds  float64
}

// An instance sums up its values. Times are in microseconds from the start of the
// archive, as in the C tool: nanoseconds are truncated.
type instance struct {
	inst  int32
	count uint32

	stochastic, timed float64 // sums that averages are made of
	min, max, sum     float64
	last              float64
	lastTime          int64
	first             int64 // moved forward by the time that marks and wraps exclude
	minTime, maxTime  int64
	marks             uint32
	marked            bool // since the last value
}

// seconds converts microseconds to seconds, 0 for negative values.
func seconds(us int64) float64 {
	if us <= 0 {
		return 0
	}
	return extended(us/1e6, us%1e6)
}

// extended returns seconds and microseconds in seconds. The C library adds them as long
// double, with 64 bits, and then rounds to the 53 bits of a double: occasionally the
// result is not the nearest double.
func extended(sec, us int64) float64 {
	if us == 0 {
		return float64(sec)
	}
	if sec < 0 || us < 0 || us >= 1e6 {
		// A time stamp that no logger writes.
		return float64(sec) + float64(us)/1e6
	}
	// us/1e6 is frac / 2**exp, with frac of 64 bits.
	exp := 63 + 19 - bits.Len64(uint64(us))
	hi, lo := bits.Mul64(uint64(us), 1<<(exp-32))
	hi, lo = hi<<32|lo>>32, lo<<32
	if hi >= 1e6 {
		exp--
		hi, lo = hi>>1, hi<<63|lo>>1
	}
	frac, rest := bits.Div64(hi, lo, 1e6)
	if frac < 1<<63 {
		exp++
		frac = frac<<1 | rest*2/1e6
		rest = rest * 2 % 1e6
	}
	if rest*2 > 1e6 || rest*2 == 1e6 && frac&1 == 1 {
		if frac++; frac == 0 {
			frac, exp = 1<<63, exp-1
		}
	}
	if sec == 0 {
		return math.Ldexp(float64(frac), -exp)
	}
	// The sum must have 64 bits, too: shift of them are the fraction's.
	shift := bits.LeadingZeros64(uint64(sec))
	if shift == 0 {
		return float64(sec)
	}
	drop := exp - shift
	var kept, lost uint64
	half := uint64(1) << 63
	switch {
	case drop < 64:
		kept, lost = frac>>drop, frac<<(64-drop)
	case drop == 64:
		lost = frac
	default:
		lost = frac >> (drop - 64)
	}
	if lost > half || lost == half && kept&1 == 1 {
		kept++
	}
	sum := uint64(sec)<<shift + kept
	if sum < kept {
		return math.Ldexp(1, 64-shift)
	}
	return math.Ldexp(float64(sum), -shift)
}

// since returns the seconds from an earlier value of m to now.
func (m *metric) since(last, now int64) float64 {
	if last != m.lastTime || now != m.now {
		m.lastTime, m.now, m.seconds = last, now, seconds(now-last)
	}
	return m.seconds
}

// start makes m ready for its first values.
func (m *metric) start(sum bool) {
	m.started = true
	m.now = -1
	if !m.counter {
		return
	}
	if sum {
		m.scale = 1
		return
	}
	// Units of rates.
	u := &m.desc.Units
	switch {
	case u.DimTime == 0:
		m.scale = 1
		u.ScaleTime = pcp.TimeSec
	case u.ScaleTime > pcp.TimeSec:
		m.scale = math.Pow(60, float64(pcp.TimeSec)-float64(u.ScaleTime))
	default:
		m.scale = math.Pow(1000, float64(pcp.TimeSec)-float64(u.ScaleTime))
	}
	u.DimTime--
}

// number returns a value as a float64. If it is not in situ, word is its offset in
// body, which has been checked. The conversion is pmExtractValue's.
func number(t pcp.Type, body []byte, word uint32, inSitu bool) (float64, bool) {
	if inSitu {
		switch t {
		case pcp.Type32:
			return float64(int32(word)), true
		case pcp.TypeU32:
			return float64(word), true
		case pcp.TypeFloat:
			return float64(math.Float32frombits(word)), true
		}
		return 0, false
	}
	at := valueset.At(word)
	head := binary.BigEndian.Uint32(body[at:])
	if head>>24 == 0 {
		return untyped(t, body[at:], int(head))
	}
	size := 8
	if t == pcp.TypeFloat {
		size = 4
	}
	if int(head&0xffffff) != 4+size || pcp.Type(head>>24) != t {
		return 0, false
	}
	switch t {
	case pcp.TypeU64:
		return float64(binary.BigEndian.Uint64(body[at+4:])), true
	case pcp.Type64:
		return float64(int64(binary.BigEndian.Uint64(body[at+4:]))), true
	case pcp.TypeDouble:
		return math.Float64frombits(binary.BigEndian.Uint64(body[at+4:])), true
	case pcp.TypeFloat:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(body[at+4:]))), true
	}
	return 0, false
}

// untyped is number for a block of size bytes without a type, as very old archives have
// them. The C library leaves these in the byte order of the machine that wrote them.
func untyped(t pcp.Type, block []byte, size int) (float64, bool) {
	switch {
	case t == pcp.TypeU64 && size == 12:
		return float64(binary.LittleEndian.Uint64(block[4:])), true
	case t == pcp.Type64 && size == 12:
		return float64(int64(binary.LittleEndian.Uint64(block[4:]))), true
	case t == pcp.TypeDouble && size == 12:
		return math.Float64frombits(binary.LittleEndian.Uint64(block[4:])), true
	case t == pcp.TypeFloat && size == 8:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(block[4:]))), true
	}
	return 0, false
}

// add appends an instance with its first value.
func (m *metric) add(inst int32, v float64, now int64, bins int) {
	i := instance{inst: inst, minTime: now, maxTime: now, first: now, last: v, lastTime: now}
	if !m.counter {
		i.min, i.max, i.sum, i.stochastic, i.count = v, v, v, v, 1
	}
	if m.places != nil {
		m.putPlace(inst, int32(len(m.insts)))
	}
	m.insts = append(m.insts, i)
	if bins > 0 {
		m.bins = append(m.bins, make([]uint32, bins)...)
		m.totals = append(m.totals, 0)
	}
}

func (m *metric) putPlace(inst, place int32) {
	if _, ok := m.places[inst]; ok {
		m.twice = true
		return
	}
	m.places[inst] = place
}

// find returns the first position of an instance, -1 if there is none.
func (m *metric) find(inst int32) int {
	if m.places == nil {
		m.places = make(map[int32]int32, len(m.insts))
		for i := range m.insts {
			m.putPlace(m.insts[i].inst, int32(i))
		}
	}
	// Usually the instance after the last one.
	if k := m.place + 1; !m.twice && k < len(m.insts) && m.insts[k].inst == inst {
		m.place = k
		return k
	}
	k, ok := m.places[inst]
	if !ok {
		return -1
	}
	m.place = int(k)
	return int(k)
}

// locate returns the position of value j of n, -1 if the instance is new. As in the C
// tool it tries position j first.
func (m *metric) locate(j, n int, inst int32) int {
	if n <= 1 && m.desc.InDom == pcp.InDomNull {
		return 0
	}
	if j >= len(m.insts) {
		return -1
	}
	if m.insts[j].inst == inst {
		m.place = j
		return j
	}
	return m.find(inst)
}

// mark ends the time covered by the values so far.
func (m *metric) mark(now int64) {
	discrete := m.desc.Sem == pcp.SemDiscrete
	for k := range m.insts {
		i := &m.insts[k]
		if discrete {
			i.stochastic += i.last
			i.timed += float64(i.last * seconds(now-i.lastTime))
			i.lastTime = now
			i.count++
		}
		i.marked = true
		i.marks++
	}
}

// skip excludes the time since the last value.
func (i *instance) skip(now int64) { i.first += now - i.lastTime }

// countUp processes a value of a counter.
func (m *metric) countUp(i *instance, v float64, now int64, unwrap bool) {
	diff := m.since(i.lastTime, now) * m.scale
	if diff == 0 {
		return
	}
	if i.marked || v < i.last {
		if i.marked {
			i.restart(v, now)
			return
		}
		w := v
		if unwrap {
			w = m.unwrap(v)
		}
		if w < i.last {
			i.restart(v, now)
			return
		}
		i.climb(w-i.last, diff, now)
	} else {
		i.climb(v-i.last, diff, now)
	}
	i.count++
	i.last = v
	i.lastTime = now
}

// restart handles a counter that was reset.
func (i *instance) restart(v float64, now int64) {
	i.marked = false
	i.skip(now)
	i.last = v
	i.lastTime = now
}

// climb handles a counter that grew.
func (i *instance) climb(delta, diff float64, now int64) {
	rate := delta / diff
	i.stochastic += rate
	i.timed += delta
	if i.count == 0 {
		i.min, i.max = rate, rate
		i.sum = delta
		return
	}
	if rate < i.min {
		i.min = rate
		i.minTime = now
	}
	if rate > i.max {
		i.max = rate
		i.maxTime = now
	}
	i.sum += delta
}

// unwrap returns the value of a wrapped counter as if it had not wrapped.
func (m *metric) unwrap(v float64) float64 {
	switch m.desc.Type {
	case pcp.Type32, pcp.TypeU32:
		return v + 4294967296
	case pcp.Type64, pcp.TypeU64:
		return v + 18446744073709551616
	}
	return v
}

// observe processes a value of other semantics.
func (m *metric) observe(i *instance, v float64, now int64) {
	i.sum += v
	i.stochastic += v
	if v < i.min {
		i.min = v
		i.minTime = now
	}
	if v > i.max {
		i.max = v
		i.maxTime = now
	}
	if !i.marked {
		i.timed += float64(i.last * m.since(i.lastTime, now))
	} else {
		i.marked = false
		i.skip(now)
	}
	i.count++
	i.last = v
	i.lastTime = now
}

// bin counts a value in a bin of the instance at position k, and returns the bin.
func (m *metric) bin(k int, v float64, bins int) int {
	i := &m.insts[k]
	size := (i.max - i.min) / float64(bins)
	bound := i.min
	b := 0
	for ; b < bins-1; b++ {
		next := bound + size
		if v >= bound && v <= next {
			break
		}
		bound = next
	}
	m.bins[k*bins+b]++
	return b
}

// distribute processes a value in the second pass. It returns the bin of the value or
// its rate; ok reports whether there is one.
func (m *metric) distribute(k int, v float64, now int64, bins int, unwrap bool) (bin int, binned float64, ok bool) {
	i := &m.insts[k]
	if m.totals[k] == 0 {
		m.totals[k] = i.count
		i.lastTime, i.first, i.last = now, now, v
		i.count = 0
		if m.counter {
			return 0, 0, false
		}
		i.count = 1
		return m.bin(k, v, bins), v, true
	}
	if !m.counter {
		i.count++
		i.last = v
		i.lastTime = now
		return m.bin(k, v, bins), v, true
	}
	diff := m.since(i.lastTime, now) * m.scale
	if diff == 0 {
		return 0, 0, false
	}
	w := v
	if !i.marked && unwrap && v < i.last {
		w = m.unwrap(v)
	}
	if i.marked || w < i.last {
		i.restart(v, now)
		return 0, 0, false
	}
	rate := (w - i.last) / diff
	i.count++
	i.last = v
	i.lastTime = now
	return m.bin(k, rate, bins), rate, true
}
