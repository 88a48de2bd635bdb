//go:build !unix

package loggerdaily

func pretendLogger() int { return 1 }
