package recorded

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmapi"
)

// Before returns an archive, opened by a function, of the host that was recorded on this machine, with the same time of the day before or the last hour; nil if there is none. That
// is not an error: the changes are left out.
func Before(ctx context.Context, env *cli.Env, c *pmapi.Context, open func(spec string) (*pmapi.ArchiveContext, error)) *pmapi.ArchiveContext {
	host, err := c.HostName(ctx)
	if err != nil || host == "" || strings.ContainsAny(host, "/,") || strings.HasPrefix(host, ".") {
		return nil
	}
	for _, dir := range Dirs(env, true) {
		names := recent(filepath.Join(dir, host), time.Now().Add(-25*time.Hour))
		if len(names) == 0 {
			continue
		}
		if a, err := open(strings.Join(names, ",")); err == nil {
			return a
		}
	}
	return nil
}

// maxRecent is the number of archives of a day that are read.
const maxRecent = 100

// recent returns the archives of a directory that were written after a time.
func recent(dir string, after time.Time) []string {
	files, err := os.ReadDir(dir)
	if err != nil || strings.Contains(dir, ",") {
		return nil
	}
	var names []string
	for _, f := range files {
		base, _, ok := archive.BaseName(f.Name())
		if !ok || strings.Contains(base, ",") {
			continue
		}
		if st, err := f.Info(); err == nil && st.Mode().IsRegular() && st.ModTime().After(after) {
			names = append(names, filepath.Join(dir, base))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[max(0, len(names)-maxRecent):]
}
