package logsummary

import (
	"encoding/binary"
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/valueset"
)

// An interval is the time between two records. It is usually the same for many metrics.
type interval struct {
	us      int64
	seconds float64
}

// updateUsual processes the values of a set from j on as long as they are ordinary: the
// instance is at the same position and had a value in the previous record, there was no
// mark in between, the counter grew, and the value has the expected place and type. It
// returns the index of the first other value, or the number of values.
//
// It does the work of locate, number, countUp and observe in one loop, since most of
// the time is spent here.
func (m *metric) updateUsual(j int, x *set, now int64, body, values []byte, c *interval) int {
	insts := m.insts
	n := min(int(x.n), len(insts))
	if j >= n {
		return j
	}
	before := insts[j].lastTime
	if d := now - before; d != c.us {
		c.us, c.seconds = d, seconds(d)
	}
	elapsed := c.seconds
	span := elapsed * m.scale
	if m.counter && span == 0 {
		return j
	}
	t := m.desc.Type
	head := uint32(t)<<24 | 12 // of the block of a value of 8 bytes
	for ; j < n; j++ {
		pair := binary.BigEndian.Uint64(values[8*j:])
		i := &insts[j]
		if i.inst != int32(pair>>32) || i.lastTime != before || i.marked {
			return j
		}
		var v float64
		switch {
		case x.inSitu:
			switch t {
			case pcp.TypeU32:
				v = float64(uint32(pair))
			case pcp.Type32:
				v = float64(int32(pair))
			case pcp.TypeFloat:
				v = float64(math.Float32frombits(uint32(pair)))
			default:
				return j
			}
		default:
			block := body[valueset.At(uint32(pair)):]
			if len(block) < 12 || binary.BigEndian.Uint32(block) != head {
				return j
			}
			bits := binary.BigEndian.Uint64(block[4:])
			switch t {
			case pcp.TypeU64:
				if v = float64(int64(bits)); int64(bits) < 0 {
					v = float64(bits)
				}
			case pcp.Type64:
				v = float64(int64(bits))
			case pcp.TypeDouble:
				v = math.Float64frombits(bits)
			default:
				return j
			}
		}
		if m.counter {
			delta := v - i.last
			if !(delta >= 0) || i.count == 0 {
				return j
			}
			rate := delta / span
			i.stochastic += rate
			i.timed += delta
			i.sum += delta
			if rate < i.min {
				i.min, i.minTime = rate, now
			}
			if rate > i.max {
				i.max, i.maxTime = rate, now
			}
		} else {
			if v != v {
				return j
			}
			i.sum += v
			i.stochastic += v
			i.timed += float64(i.last * elapsed)
			if v < i.min {
				i.min, i.minTime = v, now
			}
			if v > i.max {
				i.max, i.maxTime = v, now
			}
		}
		i.count++
		i.last = v
		i.lastTime = now
	}
	return j
}
