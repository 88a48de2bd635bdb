package linux

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A host is the machine that families read: this one, a copy of its files, or the
// part that the processes of a container see.
type host struct {
	cfg     Config
	root    string
	hz      uint64
	page    uint64 // size in bytes
	log     *slog.Logger
	devices procfs.Pool // files that each device has

	box    *box                   // inside a container; nil outside
	shared map[string]*sharedName // by name

	statfs func(path string) (fsStat, error) // nil means statfs(2)
}

// A sharedName gives instances numbers that are the same inside containers.
type sharedName struct {
	names   *column.Names
	numbers *column.Numbers // nil until there is a container
}

// maxDeviceFiles is the number of files about single devices that stay open.
const maxDeviceFiles = 128

// newHost returns the host of cfg.
func newHost(cfg Config) *host {
	h := &host{cfg: cfg, root: cfg.Root, hz: uint64(cfg.HZ), page: uint64(cfg.PageSize), log: cfg.Log, shared: make(map[string]*sharedName)}
	if h.root == "" {
		h.root = "/"
	}
	if h.hz == 0 {
		h.hz = 100
	}
	if h.page == 0 {
		h.page = uint64(os.Getpagesize())
	}
	if h.cfg.StatfsTimeout == 0 {
		h.cfg.StatfsTimeout = time.Second
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if !cfg.Replaced {
		h.devices.Max = maxDeviceFiles
	}
	return h
}

// inside returns h as the processes of a container see it.
func (h *host) inside(b *box) *host {
	in := &host{cfg: h.cfg, root: h.root, hz: h.hz, page: h.page, log: h.log, box: b, shared: h.shared}
	in.cfg.Replaced = true // files are opened for each reading, so they are always the right ones
	in.devices = procfs.Pool{Size: procfs.MaxSize}
	return in
}

// share gives the instances that n names the same numbers outside and inside
// containers.
func (h *host) share(what string, n *column.Names) {
	if h.box == nil {
		h.shared[what] = &sharedName{names: n}
		return
	}
	s := h.shared[what]
	if s.numbers == nil {
		s.numbers = new(column.Numbers)
		s.names.Share(s.numbers)
	}
	n.Share(s.numbers)
}

// path returns the name of a file below the root.
func (h *host) path(name string) string {
	if h.box != nil {
		name = h.box.path(name)
	}
	if h.cfg.Live {
		return hostroot.Path(h.root, name)
	}
	return filepath.Join(h.root, name)
}

func (h *host) file(name string) *procfs.File { return h.kept(procfs.NewFile(h.path(name))) }

func (h *host) wholeFile(name string) *procfs.File { return h.kept(procfs.NewWholeFile(h.path(name))) }

// deviceFile is wholeFile for files that each device has.
func (h *host) deviceFile(name string) *procfs.File { return h.wholeFile(name).In(&h.devices) }

// kept returns f, which stays open between readings if that is allowed.
func (h *host) kept(f *procfs.File) *procfs.File {
	if h.cfg.Replaced {
		return f.In(&h.devices) // whose files do not
	}
	return f
}

// number reads a file of one number, or returns instead.
func number(f *procfs.File, instead uint64) uint64 {
	b, err := f.Read()
	if err != nil {
		return instead
	}
	v, _, ok := procfs.Uint(b)
	if !ok {
		return instead
	}
	return v
}
