//go:build !unix

package importrun

import "os"

// open opens a file to read.
func open(path string) (*os.File, error) { return os.Open(path) }
