//go:build !linux

package backend

// goneFunc is not needed: there is no helper on this system.
func goneFunc(int) func() { return func() {} }

func endingOfStatus(status int) ending { return ending{exited: true, code: status >> 8} }
