package linux

import (
	"bytes"
	"encoding/binary"

	"github.com/go-pcp/pcp/internal/procfs"
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

// A uname is what uname(2) says.
type uname struct{ sysname, nodename, release, version, machine []byte }

func readUname(a *Agent) error {
	u, err := a.uname.get(a)
	if err != nil {
		return err
	}
	out := &a.blocks[blockUname]
	all := a.uname.all[:0]
	for _, f := range [...]struct {
		col int
		s   []byte
	}{{unameSysname, u.sysname}, {unameNodename, u.nodename}, {unameRelease, u.release}, {unameVersion, u.version}, {unameMachine, u.machine}} {
		out.setString(0, f.col, f.s)
		if len(all) > 0 {
			all = append(all, ' ')
		}
		all = append(all, f.s...)
	}
	a.uname.all = all
	out.setString(0, unameAll, all)
	return nil
}

// A unameReader finds names in /proc/sys/kernel, where a fixture can have them
// too. The machine is only there since Linux 6.1.
type unameReader struct {
	sysname, nodename, release, version, arch *procfs.File
	all                                       []byte
	room                                      utsname
}

func newUnameReader(a *Agent) unameReader {
	file := func(name string) *procfs.File { return a.wholeFile("proc/sys/kernel/" + name) }
	return unameReader{file("ostype"), file("hostname"), file("osrelease"), file("version"), file("arch"), nil, utsname{}}
}

func (r *unameReader) get(a *Agent) (u uname, err error) {
	if a.root == "/" {
		if u, ok := sysUname(&r.room); ok {
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

// readDistro reports the name of the distribution, from the first of the files
// that distributions have for it. It does not change while we run.
func readDistro(a *Agent) error {
	out := &a.blocks[blockDistro]
	if out.cells[0].ok {
		return nil
	}
	name := []byte("?")
	for _, file := range [...]string{
		"debian_version", "oracle-release", "fedora-release", "redhat-release",
		"slackware-version", "SuSE-release", "lsb-release", "amazon-linux-release",
	} {
		b, err := procfs.ReadOnce(a.path("etc/" + file))
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
	out.setString(0, 0, name)
	return nil
}

// Columns of blockUtmp.
const (
	utmpUsers = iota
	utmpRoots
	utmpSessions
	numUtmp
)

func readUtmp(a *Agent) error {
	out := &a.blocks[blockUtmp]
	b, err := a.utmp.Read()
	if err != nil {
		b = nil // nobody has logged in where nobody keeps the records
	}
	parseUtmp(b, out)
	return nil
}

// parseUtmp counts the records of utmp(5). A record has 384 bytes on every
// architecture that keeps 32-bit times there: its type in the first two, the
// user's name in 32 from the 44th.
func parseUtmp(b []byte, out *block) {
	const (
		size        = 384
		userProcess = 7
	)
	var users, roots, sessions uint64
	for ; len(b) >= size; b = b[size:] {
		sessions++
		user, _, _ := bytes.Cut(b[44:76], []byte{0})
		if binary.NativeEndian.Uint16(b) != userProcess || len(user) == 0 {
			continue
		}
		users++
		if string(user) == "root" {
			roots++
		}
	}
	out.set(0, utmpUsers, users)
	out.set(0, utmpRoots, roots)
	out.set(0, utmpSessions, sessions)
}

// Columns of blockSysKernel.
const (
	kernEntropy = iota
	kernPoolSize
	kernPIDMax
	kernPtys
	numSysKernel
)

type sysKernelReader struct{ entropy, pool, pidMax, ptys, uevent *procfs.File }

func readSysKernel(a *Agent) error {
	r, out := &a.sysKernel, &a.blocks[blockSysKernel]
	out.clear()
	uevent := &a.blocks[blockUevent]
	uevent.clear()
	if b, err := r.uevent.Read(); err == nil {
		if v, _, ok := procfs.Uint(b); ok {
			uevent.set(0, 0, v)
		}
	}
	readExtfrag(a)
	out.set(0, kernPIDMax, number(r.pidMax, 1<<22)) // PID_MAX_LIMIT
	out.set(0, kernPtys, number(r.ptys, 0))
	for _, f := range [...]struct {
		col  int
		file *procfs.File
	}{{kernEntropy, r.entropy}, {kernPoolSize, r.pool}} {
		b, err := f.file.Read()
		if err != nil {
			continue
		}
		if v, _, ok := procfs.Uint(b); ok {
			out.set(0, f.col, v)
		}
	}
	return nil
}

// Columns of blockSlab.
const (
	slabActiveObjs = iota
	slabObjs
	slabObjSize
	slabActive
	slabTotal
	slabPages
	slabObjsPer
	slabSize
	numSlab
)

type slabReader struct {
	file  *procfs.File
	names registry
}

func readSlabinfo(a *Agent) error {
	b, err := a.slabs.file.Read()
	if err != nil {
		return err
	}
	a.slabs.parse(b, a.page, &a.blocks[blockSlab])
	return nil
}

// parse reads /proc/slabinfo of version 2:
// "dentry 100 120 192 21 1 : tunables 0 0 0 : slabdata 6 6 0".
func (r *slabReader) parse(b []byte, page uint64, out *block) {
	out.clear()
	r.names.begin()
	first, b, _ := procfs.Line(b)
	if !bytes.HasPrefix(first, []byte("slabinfo - version: 2.")) {
		return
	}
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		name, nums := procfs.Field(line)
		if len(name) == 0 || name[0] == '#' {
			continue
		}
		var v [5]uint64 // objects active and all, their size, per slab, pages per slab
		for i := range v {
			if v[i], nums, ok = procfs.Uint(nums); !ok {
				break
			}
		}
		_, data, found := bytes.Cut(nums, []byte("slabdata"))
		active, data, ok1 := procfs.Uint(data)
		total, _, ok2 := procfs.Uint(data)
		if !ok || !found || !ok1 || !ok2 {
			continue
		}
		inst, kept := r.names.id(name)
		if !r.names.first(inst) {
			continue
		}
		row := out.row(out.addNamed(inst, kept))
		row[slabActiveObjs] = cell{v[0], true}
		row[slabObjs] = cell{v[1], true}
		row[slabObjSize] = cell{v[2], true}
		row[slabObjsPer] = cell{v[3], true}
		row[slabPages] = cell{v[4], true}
		row[slabActive] = cell{active, true}
		row[slabTotal] = cell{total, true}
		if v[3] != 0 {
			row[slabSize] = cell{v[4] * v[0] * page / v[3], true}
		}
	}
}
