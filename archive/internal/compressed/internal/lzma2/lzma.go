package lzma2

// Probabilities of a bit being 0, of probOne. Arrays have a power of two of
// elements, more than are used, to save checks of the index.
const (
	probBits = 11
	probOne  = 1 << probBits
	probMove = 5
	rngTop   = 1 << 24
)

const (
	litSize    = 0x300 // probabilities of literals in one context
	litStates  = 7     // states below follow a literal
	lenMin     = 2
	slotStart  = 4  // distances below are their slot
	slotDirect = 14 // slots from here on have bits that are not modelled
)

type probs struct {
	isMatch  [256]uint16 // by state and position
	isLong   [256]uint16 // not a repetition of one byte; likewise
	isRep    [16]uint16  // by state
	isRep0   [16]uint16  // 1 means: not the last distance
	isRep1   [16]uint16
	isRep2   [16]uint16
	slot     [4][64]uint16 // by length
	special  [128]uint16   // low bits of near distances
	align    [16]uint16    // low bits of far ones
	matchLen lengths
	repLen   lengths
	literal  [litSize << 4]uint16
}

type lengths struct {
	choice, choice2 uint16
	low, mid        [16][8]uint16 // by position
	high            [256]uint16
}

func fill(p []uint16) {
	for i := range p {
		p[i] = probOne / 2
	}
}

func (l *lengths) anew() {
	l.choice, l.choice2 = probOne/2, probOne/2
	for i := range l.low {
		fill(l.low[i][:])
		fill(l.mid[i][:])
	}
	fill(l.high[:])
}

// anew resets the state.
func (d *Decoder) anew() {
	d.state, d.rep = 0, [4]uint32{}
	p := &d.probs
	fill(p.isMatch[:])
	fill(p.isLong[:])
	fill(p.isRep[:])
	fill(p.isRep0[:])
	fill(p.isRep1[:])
	fill(p.isRep2[:])
	for i := range p.slot {
		fill(p.slot[i][:])
	}
	fill(p.special[:])
	fill(p.align[:])
	p.matchLen.anew()
	p.repLen.anew()
	fill(p.literal[:litSize<<(d.lc+d.lp)])
}

// bit decodes one bit without a branch, which could not be predicted. The
// returned word has all bits set if the bit is 0, and none if it is 1. The caller
// refills rng if it is below rngTop.
func bit(rng, code uint32, p *uint16) (r, c, zero uint32) {
	v := int32(*p)
	bound := rng >> probBits * uint32(v)
	t := int64(code) - int64(bound)
	z := int32(t >> 63)
	*p = uint16(v - (v+z&(1<<probMove-1-probOne))>>probMove)
	zero = uint32(z)
	r = rng - bound
	return r + (bound-r)&zero, uint32(t) + bound&zero, zero
}

// literal decodes a byte. It is a separate function, as is unlike, because its
// loop then keeps everything in registers. Both inline [bit], each in a suitable
// order: here, the probabilities of both possible next bits are loaded before the
// bit is known.
//
//go:noinline
func literal(in *input, lit *[litSize]uint16, rng, code uint32, ip int) (r, c uint32, i int, sym uint32) {
	v := int32(lit[1])
	sym = 1
	for sym < 0x100 {
		next := sym << 1
		v0, v1 := int32(lit[next]), int32(lit[next+1])
		bound := rng >> probBits * uint32(v)
		t := int64(code) - int64(bound)
		z := int32(t >> 63)
		lit[sym] = uint16(v - (v+z&(1<<probMove-1-probOne))>>probMove)
		v = v1 + (v0-v1)&z
		rng -= bound
		rng += (bound - rng) & uint32(z)
		code = uint32(t) + bound&uint32(z)
		sym = next + 1 + uint32(z)
		if rng < rngTop {
			rng <<= 8
			code = code<<8 | uint32(in[ip])
			ip++
		}
	}
	return rng, code, ip, sym
}

// unlike decodes a byte after a match. The byte that would continue the match is
// a prediction, as long as its bits agree.
//
//go:noinline
func unlike(in *input, lit *[litSize]uint16, rng, code uint32, ip int, match uint32) (r, c uint32, i int, sym uint32) {
	sym = 1
	same := uint32(0x100)
	for sym < 0x100 {
		match <<= 1
		p := &lit[same+match&same+sym]
		v := int32(*p)
		bound := rng >> probBits * uint32(v)
		t := int64(code) - int64(bound)
		z := uint32(t >> 63)
		same &= match ^ z // z is the complement
		sym = sym<<1 + 1 + z
		rng -= bound
		code = uint32(t) + bound&z
		rng += (bound - rng) & z
		*p = uint16(v - (v+int32(z)&(1<<probMove-1-probOne))>>probMove)
		if rng < rngTop {
			rng <<= 8
			code = code<<8 | uint32(in[ip])
			ip++
		}
	}
	return rng, code, ip, sym
}
