//go:build !unix

package folio

import "path/filepath"

// A fileID identifies a file regardless of its path.
type fileID struct {
	dev  uint64
	path string
}

func identify(path string) (fileID, error) {
	p, err := filepath.EvalSymlinks(path)
	if err == nil {
		p, err = filepath.Abs(p)
	}
	return fileID{path: p}, err
}
