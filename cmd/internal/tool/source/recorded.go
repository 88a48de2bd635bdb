package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/storage"
)

// NothingRecorded returns a message that there are no archives of this host yet, and how
// to make some.
func NothingRecorded(env *cli.Env) string {
	return fmt.Sprintf("nothing is recorded yet: \"%s up\" collects and records, \"%[1]s record\" records a collector that runs", env.Pcp())
}

// nothingRecorded returns a message if path is that of pmlogger's archives of this host, the
// default of tools that are asked for the past without the name of an archive, and there are none;
// else "".
func (o *Options) nothingRecorded(path string, err error) string {
	own := o.OwnArchive()
	other := filepath.Join(o.env.Config().Get("PCP_LOG_DIR"), "pmlogger", filepath.Base(own)) // as pcp-atop does
	path = storage.Clean(path)
	if path == other || storage.Dir(path) == other {
		own = other
	}
	if !errors.Is(err, fs.ErrNotExist) || path != own && storage.Dir(path) != own {
		return ""
	}
	if dir, err := o.env.StateDir(); err == nil {
		if made, err := filepath.Glob(filepath.Join(dir, "pmlogger", "*", "*.meta*")); err == nil && len(made) > 0 {
			return fmt.Sprintf("pmlogger has recorded nothing in %s.\nFor what \"%s up\" and \"%[2]s record\" recorded put replay before the command: %[2]s replay -1h %s", own, o.env.Pcp(), o.env.Command.Name)
		}
	}
	if days, err := filepath.Glob(filepath.Join(own, "*.meta*")); err != nil || len(days) > 0 {
		return "" // but not of that time
	}
	return NothingRecorded(o.env)
}
