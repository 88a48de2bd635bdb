package loggermerge

import (
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
)

func dropArchive(base string) error {
	list, err := parts.Regular(base)
	if err != nil {
		return err
	}
	return parts.Remove(list)
}

// syncArchive syncs an archive to disk.
func syncArchive(base string) error {
	list, err := parts.Regular(base)
	if err == nil {
		err = parts.Sync(list)
	}
	if err != nil {
		return err
	}
	return fsdir.Sync(filepath.Dir(base))
}
