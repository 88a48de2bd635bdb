//go:build !unix

package fleet

// enoughFiles knows no limit here.
func enoughFiles(int) error { return nil }
