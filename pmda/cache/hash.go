package cache

// Hash mixes key into a number, starting from init. It decides which instance
// number a key gets, here and in libpcp_pmda, and is part of the file format;
// do not change. The function is Bob Jenkins' hash of 1996 (lookup2). As in the
// C library bytes are signed, which matters from 0x80 on.
func Hash(key []byte, init uint32) uint32 {
	a, b, c := uint32(0x9e3779b9), uint32(0x9e3779b9), init
	k := key
	for ; len(k) >= 12; k = k[12:] {
		a += word(k[0:4])
		b += word(k[4:8])
		c += word(k[8:12])
		a, b, c = mix(a, b, c)
	}
	c += uint32(len(key))
	// The lowest byte of c belongs to the length.
	for i, x := range k {
		v := uint32(int32(int8(x)))
		switch {
		case i < 4:
			a += v << (8 * i)
		case i < 8:
			b += v << (8 * (i - 4))
		default:
			c += v << (8 * (i - 7))
		}
	}
	_, _, c = mix(a, b, c)
	return c
}

// word adds four signed bytes up, the first one lowest.
func word(k []byte) uint32 {
	return uint32(int32(int8(k[0]))) + uint32(int32(int8(k[1])))<<8 +
		uint32(int32(int8(k[2])))<<16 + uint32(int32(int8(k[3])))<<24
}

func mix(a, b, c uint32) (x, y, z uint32) {
	for _, s := range [3][3]int{{13, 8, 13}, {12, 16, 5}, {3, 10, 15}} {
		a = (a - b - c) ^ c>>s[0]
		b = (b - c - a) ^ a<<s[1]
		c = (c - a - b) ^ b>>s[2]
	}
	return a, b, c
}
