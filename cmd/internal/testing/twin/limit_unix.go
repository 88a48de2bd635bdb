//go:build unix

package twin

import "syscall"

// limitFiles bounds the size of files until restore is called.
func limitFiles(n uint64) (restore func(), err error) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return nil, err
	}
	restore = func() { syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) }
	return restore, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: was.Max})
}
