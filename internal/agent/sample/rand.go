package sample

// A drand48 is the generator of lrand48(3) as the GNU C library starts it without a
// seed, so that it draws the numbers of the C agent.
type drand48 uint64

// next returns a number below 2^31.
func (d *drand48) next() int32 {
	*d = (*d*0x5deece66d + 0xb) & (1<<48 - 1)
	return int32(*d >> 17)
}

// A plainRand is the generator of sample.scramble and sample.proc: the example
// of the C standard.
type plainRand uint32

func (p *plainRand) next() int32 {
	*p = (1103515245**p + 12345) & 0x7fffffff
	return int32(*p)
}

// fraction returns a number from 0 to 1.
func (p *plainRand) fraction() float64 { return float64(p.next()) / (1<<31 - 1) }
