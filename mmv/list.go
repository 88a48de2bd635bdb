package mmv

import "math/bits"

// A list grows and never moves its elements. Readers take no lock for elements
// that they know; a writer holds a lock.
type list[T any] struct {
	n      int
	chunks [18][]T // of 8, 16, 32 ...: more than maxFileValues together
}

// add returns a new element. The first chunk has room for first of them.
func (l *list[T]) add(first int) *T {
	k, j := chunkOf(l.n)
	if l.chunks[k] == nil {
		size := 8 << k
		if k == 0 {
			size = first
		}
		l.chunks[k] = make([]T, size)
	}
	l.n++
	return &l.chunks[k][j]
}

// at returns the element i.
func (l *list[T]) at(i int) *T {
	k, j := chunkOf(i)
	return &l.chunks[k][j]
}

func chunkOf(i int) (chunk, within int) {
	k := bits.Len(uint(i+8)) - 4
	return k, i + 8 - 8<<k
}
