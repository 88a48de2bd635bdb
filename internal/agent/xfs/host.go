package xfs

import (
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A host has the files.
type host struct {
	root     string
	domain   int
	replaced bool
	live     bool // root is that of the host, seen from a container
	log      *slog.Logger
	once     procfs.Pool // whose files do not stay open
	devices  procfs.Pool // files that each device has
	quotactl func(cmd uint32, device string, id uint32, room []byte) error
}

// maxDeviceFiles is the number of files about single devices that stay open.
const maxDeviceFiles = 128

func newHost(cfg Config) *host {
	h := &host{root: cfg.Root, domain: cfg.Domain, replaced: cfg.Replaced, live: cfg.Live, log: cfg.Log, quotactl: quotactl}
	if h.root == "" {
		h.root = "/"
	}
	if !h.replaced {
		h.devices.Max = maxDeviceFiles
	}
	return h
}

// path returns the name of a file below the root.
func (h *host) path(name string) string {
	if h.live {
		return hostroot.Path(h.root, name)
	}
	return filepath.Join(h.root, name)
}

// device returns the path of a device that the host calls name.
func (h *host) device(name string) string {
	if h.live {
		return filepath.Join(h.root, name)
	}
	return name
}

// file returns a file that stays open between readings if that is allowed.
func (h *host) file(name string) *procfs.File {
	f := procfs.NewFile(h.path(name))
	if h.replaced {
		f.In(&h.once)
	}
	return f
}

// read reads a file as C's stdio does: a file that can be opened but not read is empty.
func read(f *procfs.File) ([]byte, error) {
	b, err := f.Read()
	if e, ok := err.(*fs.PathError); ok && e.Op == "read" { // Read returns it unchanged
		return nil, nil
	}
	return b, err
}

// statsFamily reads the totals of all file systems.
func statsFamily(h *host, stats []stat) column.Family {
	metrics := statMetrics(stats, false)
	b := column.NewBlocks(metrics, column.Layout{})
	p := newParser(b[0])
	now, before, quota := h.file("sys/fs/xfs/stats/stats"), h.file("proc/fs/xfs/stat"), h.file("proc/fs/xfs/xqmstat")
	return column.Family{Name: "stats", Metrics: metrics, Sources: []*column.Source{{
		Name: "/sys/fs/xfs/stats/stats", Blocks: b,
		Read: func() error {
			text, err := read(now)
			if err != nil {
				if text, err = read(before); err != nil {
					return err
				}
			}
			p.parse(text, b[0].Row(0))
			if text, err := read(quota); err == nil {
				p.parseQuota(text, b[0].Row(0))
			}
			return nil
		},
	}}}
}
