//go:build !unix

package compressed

const nonBlock = 0
