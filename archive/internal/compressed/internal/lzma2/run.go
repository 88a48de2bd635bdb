package lzma2

import "encoding/binary"

// run decodes symbols of the chunk until there are want bytes in buf, which
// ends with the chunk. It returns their number.
//
// Everything that each bit changes is in local variables. The code written out
// for single bits is [bit] with a branch: they are easy to predict, and the code
// after them depends on them anyway.
func (d *Decoder) run(buf []byte, pos, want int) (int, error) {
	var (
		p           = &d.probs
		in          = &d.in
		rng, code   = d.rng, d.code
		ip, end     = d.ip, d.end
		state       = d.state
		rep0        = d.rep[0]
		origin      = pos - d.reach  // start of the dictionary, maybe before buf
		start       = max(origin, 0) // nothing earlier is known
		pbMask      = uint32(1)<<d.pb - 1
		lpMask      = uint32(1)<<d.lp - 1
		lc          = d.lc & 15
		bad         = ""
		b           uint32
		bound, v, n uint32
	)
	want = min(want, len(buf))
	for pos < want {
		if ip > end {
			bad = "a chunk's input ends early"
			break
		}
		at := uint32(pos - origin)
		ps := at & pbMask
		pr := &p.isMatch[uint8(state<<4|ps)]
		v = uint32(*pr)
		bound = rng >> probBits * v
		if code < bound {
			rng = bound
			*pr = uint16(v + (probOne-v)>>probMove)
			if rng < rngTop {
				rng <<= 8
				code = code<<8 | uint32(in[ip])
				ip++
			}
			prev := uint32(0)
			if pos > start {
				prev = uint32(buf[pos-1])
			}
			i := litSize * ((at&lpMask)<<lc + prev>>(8-lc))
			lit := (*[litSize]uint16)(p.literal[i : i+litSize])
			var sym uint32
			if state < litStates {
				rng, code, ip, sym = literal(in, lit, rng, code, ip)
				if state < 4 {
					state = 0
				} else {
					state -= 3
				}
			} else {
				src := pos - int(rep0) - 1
				if src < start {
					bad = "a match before the dictionary"
					break
				}
				rng, code, ip, sym = unlike(in, lit, rng, code, ip, uint32(buf[src]))
				if state < 10 {
					state -= 3
				} else {
					state -= 6
				}
			}
			buf[pos] = byte(sym)
			pos++
			continue
		}
		rng -= bound
		code -= bound
		*pr = uint16(v - v>>probMove)
		if rng < rngTop {
			rng <<= 8
			code = code<<8 | uint32(in[ip])
			ip++
		}
		var length *lengths
		pr = &p.isRep[state&15]
		v = uint32(*pr)
		bound = rng >> probBits * v
		fresh := code < bound
		if fresh {
			rng = bound
			*pr = uint16(v + (probOne-v)>>probMove)
			if rng < rngTop {
				rng <<= 8
				code = code<<8 | uint32(in[ip])
				ip++
			}
			length = &p.matchLen
			d.rep[3], d.rep[2], d.rep[1] = d.rep[2], d.rep[1], rep0
			if state < litStates {
				state = 7
			} else {
				state = 10
			}
		} else {
			rng -= bound
			code -= bound
			*pr = uint16(v - v>>probMove)
			if rng < rngTop {
				rng <<= 8
				code = code<<8 | uint32(in[ip])
				ip++
			}
			length = &p.repLen
			pr = &p.isRep0[state&15]
			v = uint32(*pr)
			bound = rng >> probBits * v
			if code < bound {
				rng = bound
				*pr = uint16(v + (probOne-v)>>probMove)
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
				pr = &p.isLong[uint8(state<<4|ps)]
				v = uint32(*pr)
				bound = rng >> probBits * v
				if code < bound {
					rng = bound
					*pr = uint16(v + (probOne-v)>>probMove)
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
					src := pos - int(rep0) - 1
					if src < start || int(rep0) >= d.dict {
						bad = "a match before the dictionary"
						break
					}
					if state < litStates {
						state = 9
					} else {
						state = 11
					}
					buf[pos] = buf[src]
					pos++
					continue
				}
				rng -= bound
				code -= bound
				*pr = uint16(v - v>>probMove)
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
			} else {
				rng -= bound
				code -= bound
				*pr = uint16(v - v>>probMove)
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
				pr = &p.isRep1[state&15]
				v = uint32(*pr)
				bound = rng >> probBits * v
				k := 1
				if code < bound {
					rng = bound
					*pr = uint16(v + (probOne-v)>>probMove)
				} else {
					rng -= bound
					code -= bound
					*pr = uint16(v - v>>probMove)
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
					rng, code, b = bit(rng, code, &p.isRep2[state&15])
					k = 3 + int(int32(b))
				}
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
				dist := d.rep[k&3]
				if k == 3 {
					d.rep[3] = d.rep[2]
				}
				if k >= 2 {
					d.rep[2] = d.rep[1]
				}
				d.rep[1] = rep0
				rep0 = dist
			}
			if state < litStates {
				state = 8
			} else {
				state = 11
			}
		}

		// The length.
		v = uint32(length.choice)
		bound = rng >> probBits * v
		if code < bound {
			rng = bound
			length.choice = uint16(v + (probOne-v)>>probMove)
			if rng < rngTop {
				rng <<= 8
				code = code<<8 | uint32(in[ip])
				ip++
			}
			tree := &length.low[ps&15]
			n = 1
			for n < 8 {
				rng, code, b = bit(rng, code, &tree[n])
				n = n<<1 + 1 + b
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
			}
			n -= 8 - lenMin
		} else {
			rng -= bound
			code -= bound
			length.choice = uint16(v - v>>probMove)
			if rng < rngTop {
				rng <<= 8
				code = code<<8 | uint32(in[ip])
				ip++
			}
			v = uint32(length.choice2)
			bound = rng >> probBits * v
			if code < bound {
				rng = bound
				length.choice2 = uint16(v + (probOne-v)>>probMove)
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
				tree := &length.mid[ps&15]
				n = 1
				for n < 8 {
					rng, code, b = bit(rng, code, &tree[n])
					n = n<<1 + 1 + b
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
				}
				n += lenMin
			} else {
				rng -= bound
				code -= bound
				length.choice2 = uint16(v - v>>probMove)
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
				n = 1
				for n < 256 {
					rng, code, b = bit(rng, code, &length.high[n])
					n = n<<1 + 1 + b
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
				}
				n -= 256 - 16 - lenMin
			}
		}

		// The distance.
		if fresh {
			tree := &p.slot[min(n-lenMin, 3)]
			slot := uint32(1)
			for slot < 64 {
				rng, code, b = bit(rng, code, &tree[slot])
				slot = slot<<1 + 1 + b
				if rng < rngTop {
					rng <<= 8
					code = code<<8 | uint32(in[ip])
					ip++
				}
			}
			slot -= 64
			rep0 = slot
			switch {
			case slot >= slotDirect:
				rep0 = 2 | slot&1
				for k := slot>>1 - 5; k > 0; k-- {
					rng >>= 1
					code -= rng
					m := uint32(int32(code) >> 31) // all ones if the bit is 0
					code += rng & m
					rep0 = rep0<<1 + m + 1
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
				}
				low, k := uint32(0), uint32(1)
				for i := range 4 {
					rng, code, b = bit(rng, code, &p.align[k&15])
					b++
					k = k<<1 | b
					low |= b << i
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
				}
				rep0 = rep0<<4 | low
			case slot >= slotStart:
				bits := (slot>>1 - 1) & 7
				rep0 = (2 | slot&1) << bits
				base, k := rep0-slot, uint32(1)
				for i := range bits {
					rng, code, b = bit(rng, code, &p.special[(base+k)&127])
					b++
					k = k<<1 | b
					rep0 |= b << (i & 7)
					if rng < rngTop {
						rng <<= 8
						code = code<<8 | uint32(in[ip])
						ip++
					}
				}
			}
		}

		// The match.
		src, size := pos-int(rep0)-1, int(n)
		if src < start || int(rep0) >= d.dict {
			bad = "a match before the dictionary"
			break
		}
		if size > len(buf)-pos {
			bad = "a match beyond the chunk"
			break
		}
		switch dist := pos - src; {
		case dist >= 8 && size <= 32 && len(buf)-pos >= 40:
			// Eight extra bytes do no harm: they will be overwritten.
			from, to := buf[src:src+40], buf[pos:pos+40]
			for i := 0; i < size; i += 8 {
				binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:]))
			}
			pos += size
		case dist >= size:
			copy(buf[pos:pos+size], buf[src:])
			pos += size
		default:
			// They overlap: the copied bytes repeat.
			to := pos + size
			for pos < to {
				pos += copy(buf[pos:to], buf[src:pos])
			}
		}
	}
	d.rng, d.code, d.ip, d.state, d.rep[0] = rng, code, ip, state, rep0
	if bad != "" {
		return pos, errf("%s", bad)
	}
	if pos == len(buf) && (ip != end || code != 0) {
		return pos, errf("%d bytes of a chunk's input left, code %#x", end-ip, code)
	}
	return pos, nil
}
