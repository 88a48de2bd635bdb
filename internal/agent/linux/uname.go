package linux

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of unameMetrics.
const (
	blockUname = iota
	blockDistro
)

// Columns of blockUname.
const (
	unameRelease = iota
	unameVersion
	unameSysname
	unameMachine
	unameNodename
	unameAll
	numUname
)

// A uname is the result of uname(2).
type uname struct{ sysname, nodename, release, version, machine []byte }

func unameFamily(h *host) column.Family {
	b := column.NewBlocks(unameMetrics, []column.Layout{blockUname: {Cols: numUname}, blockDistro: {Cols: 1}}...)
	r := newUnameReader(h)
	names := &column.Source{
		Name: "uname", Scope: scopeUTS, Blocks: b[:blockDistro],
		Read: func() error { return r.read(b[blockUname]) },
	}
	return column.Family{Name: "uname", Metrics: unameMetrics, Sources: []*column.Source{names, {
		Name: "release files of /etc", Blocks: b[blockDistro:], After: []*column.Source{names},
		Read: func() error {
			if _, ok := b[blockUname].Get(0, unameAll); !ok {
				b[blockDistro].Clear() // a tree without the system's names
			} else {
				readDistro(h, b[blockDistro])
			}
			return nil
		},
	}}}
}

// read fills a block with the names.
func (r *unameReader) read(out *column.Block) error {
	u, err := r.get()
	if err != nil {
		return err
	}
	all := r.all[:0]
	for _, f := range [...]struct {
		col int
		s   []byte
	}{{unameSysname, u.sysname}, {unameNodename, u.nodename}, {unameRelease, u.release}, {unameVersion, u.version}, {unameMachine, u.machine}} {
		out.SetString(0, f.col, f.s)
		if len(all) > 0 {
			all = append(all, ' ')
		}
		all = append(all, f.s...)
	}
	r.all = all
	out.SetString(0, unameAll, all)
	return nil
}

// A unameReader reads names from /proc/sys/kernel, which a fixture can have too.
// The machine's name is only there since Linux 6.1.
type unameReader struct {
	live                                      bool // read from the running machine
	sysname, nodename, release, version, arch *procfs.File
	all                                       []byte
	room                                      utsname
	name                                      func() (string, error) // of a host that this is a container of; else nil
}

func newUnameReader(h *host) *unameReader {
	file := func(name string) *procfs.File { return h.wholeFile("proc/sys/kernel/" + name) }
	r := &unameReader{
		live: h.root == "/" || h.cfg.Live, sysname: file("ostype"), nodename: file("hostname"), release: file("osrelease"),
		version: file("version"), arch: file("arch"),
	}
	if h.cfg.Live {
		r.name = func() (string, error) { return hostroot.HostName(h.root) }
	}
	return r
}

func (r *unameReader) get() (u uname, err error) {
	if r.live {
		if u, ok := sysUname(&r.room); ok {
			if r.name != nil {
				if name, err := r.name(); err == nil {
					u.nodename = []byte(name)
				}
			}
			return u, nil
		}
	}
	for _, f := range [...]struct {
		s    *[]byte
		file *procfs.File
	}{{&u.sysname, r.sysname}, {&u.nodename, r.nodename}, {&u.release, r.release}, {&u.version, r.version}} {
		b, err := f.file.Read()
		if err != nil {
			return u, err
		}
		*f.s = procfs.Trim(b)
	}
	if b, err := r.arch.Read(); err == nil {
		u.machine = procfs.Trim(b)
	}
	return u, nil
}

// readDistro reports the name of the distribution, from the first existing one of
// the files that distributions use for it. It does not change while the agent
// runs.
func readDistro(h *host, out *column.Block) {
	if _, ok := out.Get(0, 0); ok {
		return
	}
	name := []byte("?")
	for _, file := range [...]string{
		"debian_version", "oracle-release", "fedora-release", "redhat-release",
		"slackware-version", "SuSE-release", "lsb-release", "amazon-linux-release",
	} {
		b, err := procfs.ReadOnce(h.path("etc/" + file))
		if err != nil {
			continue
		}
		line, _, _ := procfs.Line(b)
		switch file {
		case "debian_version":
			line = append([]byte("Debian "), line...)
		case "lsb-release":
			line = bytes.TrimPrefix(bytes.TrimPrefix(line, []byte("DISTRIB_ID = ")), []byte("DISTRIB_ID="))
		}
		if len(line) > 0 {
			name = line
		}
		break
	}
	out.SetString(0, 0, name)
}

// unameMetrics are the metrics of uname(2), and the name of the distribution.
var unameMetrics = []column.Metric{
	{Name: "kernel.uname.release", Cluster: 12, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameRelease, Help: "Release of the kernel"},
	{Name: "kernel.uname.version", Cluster: 12, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameVersion, Help: "Version of the kernel, with its build"},
	{Name: "kernel.uname.sysname", Cluster: 12, Item: 2, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameSysname, Help: "Name of the operating system"},
	{Name: "kernel.uname.machine", Cluster: 12, Item: 3, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameMachine, Help: "Name of the hardware type"},
	{Name: "kernel.uname.nodename", Cluster: 12, Item: 4, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameNodename, Help: "Name of the host"},
	{Name: "kernel.uname.distro", Cluster: 12, Item: 7, Type: pcp.TypeString, Sem: discrete, From: blockDistro, Help: "Name of the Linux distribution"},
	{Name: "pmda.uname", Cluster: 12, Item: 5, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameAll, Help: "Names of the system: those of kernel.uname, in the order of uname -a"},
	{Name: "hinv.machine", Cluster: 18, Item: 7, Type: pcp.TypeString, Sem: discrete, From: blockUname, Col: unameMachine, Help: "Name of the hardware type"},
}
