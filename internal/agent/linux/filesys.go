package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of filesysMetrics.
const (
	blockMountCount = iota
	blockMount
	blockTmpfsMount
	blockFilesys
	blockTmpfs
	blockMountUUID
)

// Columns of blockFilesys and blockTmpfs read by statfs(2).
const (
	fsCapacity = iota
	fsUsed
	fsFree
	fsMaxFiles
	fsUsedFiles
	fsFreeFiles
	fsFull
	fsBlockSize
	fsAvail
	numFilesys
)

// Columns of blockMount, from the table of mounts.
const (
	mountDir = iota
	mountReadonly
	mountType
	numMount
)

// A mount is one line of /proc/self/mounts that is reported.
type mount struct {
	device   string // its name: the device, or for tmpfs the directory
	inst     int32
	name     string
	dir, typ string
	source   string // the device in the file
	readonly bool
	tmpfs    bool
}

// A mountReader reads /proc/self/mounts, and asks each file system for its size.
type mountReader struct {
	blocks  []*column.Block
	host    *host
	file    *procfs.File
	last    []byte      // the contents of the file that mounts was made from
	outer   *hostMounts // nil if the file is not that of this process
	devices column.Names
	tmpfs   column.Names
	mounts  []mount

	statfs statfsPool
}

// A fsStat is the result of statfs(2).
type fsStat struct {
	ok                  bool
	blockSize           uint64
	blocks, free, avail uint64
	files, freeFiles    uint64
}

func newMountReader(h *host) *mountReader {
	r := &mountReader{host: h, file: h.file("proc/self/mounts")}
	if h.box != nil {
		// This file stays open within a reading: it is opened by the host's /proc,
		// and read where /proc may be missing.
		r.file = procfs.NewFile(h.path("proc/self/mounts"))
		h.box.mounts = r.file
	}
	r.outer = newHostMounts(h)
	h.share("mounted devices", &r.devices)
	h.share("tmpfs", &r.tmpfs)
	r.statfs.call = func(path string) (fsStat, error) {
		if h.statfs != nil {
			return h.statfs(path)
		}
		return statfs(path)
	}
	devices := &column.InDom{Serial: 5, Help: "Mounted file systems on a block device, by device"}
	tmpfs := &column.InDom{Serial: 18, Help: "Mounted tmpfs file systems, by directory"}
	r.blocks = column.NewBlocks(filesysMetrics, []column.Layout{
		blockMountCount: {Cols: 1},
		blockMount:      {Cols: numMount, InDom: devices, Lists: true},
		blockTmpfsMount: {InDom: tmpfs, Lists: true},
		blockFilesys:    {Cols: numFilesys, InDom: devices},
		blockTmpfs:      {Cols: numFilesys, InDom: tmpfs},
		blockMountUUID:  {Cols: 1, InDom: devices},
	}...)
	return r
}

func (r *mountReader) family() column.Family {
	mounts := &column.Source{Name: "/proc/self/mounts", File: r.file, Parse: r.read, Blocks: r.blocks[:blockFilesys], Scope: scopeMounts}
	// sizes asks each file system on a device, or each tmpfs.
	sizes := func(name string, block int) *column.Source {
		return &column.Source{
			Name: "statfs: " + name, Blocks: r.blocks[block : block+1], After: []*column.Source{mounts}, Scope: scopeMounts,
			Read: func() error { r.statMounts(r.blocks[block], block == blockTmpfs); return nil },
		}
	}
	return column.Family{Name: "filesys", Metrics: filesysMetrics, Sources: []*column.Source{
		mounts, sizes("devices", blockFilesys), sizes("tmpfs", blockTmpfs),
		{Name: "/" + uuidDir, Blocks: r.blocks[blockMountUUID:], After: []*column.Source{mounts}, Scope: scopeMounts, Read: r.readUUIDs},
	}}
}

// read updates the list of mounts and fills the blocks of mounts.
func (r *mountReader) read(b []byte) {
	if !bytes.Equal(b, r.last) {
		r.last = append(r.last[:0], b...)
		r.parse(b, r.host.realDevice)
	}
	if r.outer != nil {
		r.outer.read()
	}
	out, tmp := r.blocks[blockMount], r.blocks[blockTmpfsMount]
	out.Clear()
	tmp.Clear()
	for i := range r.mounts {
		m := &r.mounts[i]
		if m.tmpfs {
			tmp.AddNamed(m.inst, m.name)
			continue
		}
		row := out.AddNamed(m.inst, m.name)
		out.SetText(row, mountDir, m.dir)
		out.SetText(row, mountType, m.typ)
		ro := uint64(0)
		if r.outer.of(mountPoint{m.dir, m.source}, m.readonly) {
			ro = 1
		}
		out.Set(row, mountReadonly, ro)
	}
	r.blocks[blockMountCount].Set(0, 0, uint64(out.Rows()))
}

// uuidDir has a symbolic link to a device for each file system that udev knows.
const uuidDir = "dev/disk/by-uuid"

// readUUIDs reports the identifiers of the file systems that udev knows.
func (r *mountReader) readUUIDs() error {
	out := r.blocks[blockMountUUID]
	out.Clear()
	dir := r.host.path(uuidDir)
	uuids := make(map[string]string) // by the name of the device in /dev
	for _, uuid := range procfs.Names(dir) {
		if link, err := os.Readlink(filepath.Join(dir, uuid)); err == nil {
			uuids[filepath.Base(link)] = uuid
		}
	}
	for i := range r.mounts {
		m := &r.mounts[i]
		if m.tmpfs {
			continue
		}
		row := out.Add(m.inst)
		device := m.device
		if link, err := os.Readlink(r.host.path(device)); err == nil {
			device = link // a name in /dev/mapper or /dev/md; other names are kept
		}
		if uuid, ok := uuids[filepath.Base(device)]; ok {
			out.SetText(row, 0, uuid)
		}
	}
	return nil
}

// skipped reports whether a type is one of file systems without a device. Network file systems are skipped
// because they mount nothing from /dev.
func skipped(typ []byte) bool {
	switch string(typ) {
	case "proc", "nfs", "devfs", "devpts", "devtmpfs", "squashfs", "selinuxfs", "securityfs", "configfs", "cgroup", "sysfs":
		return true
	}
	return false
}

// parse makes the list of mounts: file systems on a device, once each, under
// the device's real name, the root file system, and all of type tmpfs.
func (r *mountReader) parse(b []byte, real func(string) string) {
	r.mounts = r.mounts[:0]
	r.devices.Begin()
	r.tmpfs.Begin()
	seen := make(map[string]bool)
	for line := range procfs.Lines(b) {
		device, line := procfs.Field(line)
		dir, line := procfs.Field(line)
		typ, line := procfs.Field(line)
		options, _ := procfs.Field(line)
		if len(typ) == 0 || skipped(typ) || bytes.HasPrefix(typ, []byte("auto")) {
			continue
		}
		m := mount{device: string(device), dir: unescape(dir), typ: string(typ), source: string(device), readonly: hasOption(options, "ro")}
		switch {
		case m.typ == "tmpfs":
			m.tmpfs, m.device = true, m.dir
		case !strings.HasPrefix(m.device, "/dev") && m.dir != "/":
			continue
		case !strings.HasPrefix(m.device, "/dev/mapper/") && !strings.HasPrefix(m.device, "/dev/md/"):
			m.device = real(m.device)
		}
		key := m.device
		if m.tmpfs {
			key = "tmpfs " + key
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		insts := &r.devices
		if m.tmpfs {
			insts = &r.tmpfs
		}
		m.inst, m.name = insts.ID([]byte(m.device))
		r.mounts = append(r.mounts, m)
	}
}

// realDevice follows symbolic links below the root directory.
func (h *host) realDevice(name string) string {
	if h.cfg.Live {
		if path, err := hostroot.Resolve(h.root, name); err == nil && procfs.Exists(filepath.Join(h.root, path)) {
			return path
		}
		return name
	}
	path, err := filepath.EvalSymlinks(h.path(name))
	if err != nil {
		return name
	}
	if h.root == "/" {
		return path
	}
	root, err := filepath.EvalSymlinks(h.root)
	if err != nil {
		return name
	}
	if rest, ok := strings.CutPrefix(path, root); ok {
		return rest
	}
	return path
}

// hasOption reports whether option is one of a list with commas.
func hasOption(list []byte, option string) bool {
	for o := range bytes.SplitSeq(list, []byte(",")) {
		if string(o) == option {
			return true
		}
	}
	return false
}

// unescape undoes the kernel's escapes of blanks in names of files: \040.
func unescape(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+3 < len(b) && b[i+1] >= '0' && b[i+1] <= '3' && isOctal(b[i+2]) && isOctal(b[i+3]) {
			out = append(out, (b[i+1]-'0')<<6|(b[i+2]-'0')<<3|(b[i+3]-'0'))
			i += 3
			continue
		}
		out = append(out, b[i])
	}
	return string(out)
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

func (r *mountReader) statMounts(out *column.Block, tmpfs bool) {
	out.Clear()
	p := &r.statfs
	p.paths = p.paths[:0]
	for i := range r.mounts {
		if m := &r.mounts[i]; m.tmpfs == tmpfs {
			p.paths = append(p.paths, m.dir)
		}
	}
	switch {
	case len(p.paths) == 0:
	case r.host.box != nil:
		p.runHere() // only this thread sees the container's files
	default:
		p.run(r.host.root, r.host.cfg.StatfsTimeout)
	}
	n := 0
	for i := range r.mounts {
		m := &r.mounts[i]
		if m.tmpfs != tmpfs {
			continue
		}
		row := out.Row(out.Add(m.inst))
		if s := &p.stats[n]; s.ok {
			s.put(row)
		}
		n++
	}
}

// put stores s in a row, in Kbytes.
func (s *fsStat) put(row []column.Cell) {
	set := func(col int, v uint64) { row[col] = column.Num(v) }
	used := s.blocks - s.free
	set(fsCapacity, s.blocks*s.blockSize/1024)
	set(fsUsed, used*s.blockSize/1024)
	set(fsFree, s.free*s.blockSize/1024)
	set(fsMaxFiles, s.files)
	set(fsUsedFiles, s.files-s.freeFiles)
	set(fsFreeFiles, s.freeFiles)
	full := 0.0 // in percent of the space for users other than root
	if used+s.avail != 0 {
		full = 100 * float64(used) / float64(used+s.avail)
	}
	set(fsFull, doubleBits(full))
	set(fsBlockSize, s.blockSize)
	set(fsAvail, s.avail*s.blockSize/1024)
}

// A statfsPool calls statfs(2), which waits for as long as a file system does
// not answer, and cannot be interrupted. A separate goroutine makes the calls; if
// it hangs, it is left until it returns, and the directory that it hangs on is
// not used before that.
type statfsPool struct {
	paths []string // to ask
	stats []fsStat // the answers

	job  *statfsJob // idle, for reuse
	call func(path string) (fsStat, error)

	mu   sync.Mutex
	hung map[string]bool
}

// A statfsJob is one round of calls.
type statfsJob struct {
	paths []string
	end   chan struct{}
	timer *time.Timer

	stats   []fsStat // guarded by the pool's mu, as all below
	done    int      // number of valid stats
	givenUp bool
}

// run calls statfs for all of p.paths and waits up to a limit.
func (p *statfsPool) run(root string, timeout time.Duration) {
	j := p.job
	if j == nil {
		j = &statfsJob{end: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	}
	p.job = nil
	j.paths, j.stats, j.done = j.paths[:0], j.stats[:0], 0
	p.mu.Lock()
	for _, path := range p.paths {
		if len(p.hung) > 0 && p.hung[path] {
			path = ""
		}
		j.paths = append(j.paths, path)
		j.stats = append(j.stats, fsStat{})
	}
	p.mu.Unlock()

	go p.work(j, root)
	j.timer.Reset(timeout)
	select {
	case <-j.end:
	case <-j.timer.C:
	}
	j.timer.Stop()

	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats = append(p.stats[:0], j.stats...)
	if j.done == len(j.paths) {
		select { // the end may coincide with the timer
		case <-j.end:
		default:
		}
		p.job = j
		return
	}
	j.givenUp = true
	if p.hung == nil {
		p.hung = make(map[string]bool)
	}
	p.hung[j.paths[j.done]] = true
}

// runHere calls statfs for all of p.paths on the caller's thread, without a time limit.
func (p *statfsPool) runHere() {
	p.stats = p.stats[:0]
	for _, path := range p.paths {
		s, err := p.call(path)
		s.ok = err == nil
		p.stats = append(p.stats, s)
	}
}

// work calls statfs for the paths of j in order, until j has been given up.
func (p *statfsPool) work(j *statfsJob, root string) {
	for i, path := range j.paths {
		var s fsStat
		if path != "" {
			if root != "/" {
				path = filepath.Join(root, path)
			}
			var err error
			s, err = p.call(path)
			s.ok = err == nil
		}
		p.mu.Lock()
		if j.givenUp {
			delete(p.hung, j.paths[i])
			p.mu.Unlock()
			return
		}
		j.stats[i] = s
		j.done++
		if j.done == len(j.paths) {
			j.end <- struct{}{}
		}
		p.mu.Unlock()
	}
}

// filesysMetrics are the metrics of mounted file systems.
var filesysMetrics = []column.Metric{
	{Name: "filesys.capacity", Cluster: 5, Item: 1, Type: pcp.TypeU64, Sem: discrete, Units: kbyte, From: blockFilesys, Col: fsCapacity, Help: "Size, of each mounted file system"},
	{Name: "filesys.used", Cluster: 5, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockFilesys, Col: fsUsed, Help: "Space in use, of each mounted file system"},
	{Name: "filesys.free", Cluster: 5, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockFilesys, Col: fsFree, Help: "Space not in use, of each mounted file system"},
	{Name: "filesys.maxfiles", Cluster: 5, Item: 4, Type: pcp.TypeU32, Sem: discrete, From: blockFilesys, Col: fsMaxFiles, Help: "Files that there is room for, of each mounted file system"},
	{Name: "filesys.usedfiles", Cluster: 5, Item: 5, Type: pcp.TypeU32, Sem: instant, From: blockFilesys, Col: fsUsedFiles, Help: "Files that exist, of each mounted file system"},
	{Name: "filesys.freefiles", Cluster: 5, Item: 6, Type: pcp.TypeU32, Sem: instant, From: blockFilesys, Col: fsFreeFiles, Help: "Files that could be made, of each mounted file system"},
	{Name: "filesys.mountdir", Cluster: 5, Item: 7, Type: pcp.TypeString, Sem: discrete, From: blockMount, Col: mountDir, Help: "Directory that it is mounted on, of each mounted file system"},
	{Name: "filesys.full", Cluster: 5, Item: 8, Type: pcp.TypeDouble, Sem: instant, From: blockFilesys, Col: fsFull, Help: "Percentage of space in use, of what users can have, of each mounted file system"},
	{Name: "filesys.blocksize", Cluster: 5, Item: 9, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockFilesys, Col: fsBlockSize, Help: "Size of a block, of each mounted file system"},
	{Name: "filesys.avail", Cluster: 5, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockFilesys, Col: fsAvail, Help: "Space that users other than root can have, of each mounted file system"},
	{Name: "filesys.readonly", Cluster: 5, Item: 11, Type: pcp.TypeU32, Sem: instant, From: blockMount, Col: mountReadonly, Help: "1 if mounted for reading only, of each mounted file system"},
	// Newer than PCP 6.0.3.
	{Name: "filesys.uuid", Cluster: 5, Item: 12, Type: pcp.TypeString, Sem: discrete, From: blockMountUUID, Help: "Unique identifier of the contents, of each mounted file system"},
	{Name: "filesys.type", Cluster: 5, Item: 13, Type: pcp.TypeString, Sem: discrete, From: blockMount, Col: mountType, Help: "Type, of each mounted file system"},
	{Name: "tmpfs.capacity", Cluster: 34, Item: 1, Type: pcp.TypeU64, Sem: discrete, Units: kbyte, From: blockTmpfs, Col: fsCapacity, Help: "Size, of each mounted tmpfs"},
	{Name: "tmpfs.used", Cluster: 34, Item: 2, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockTmpfs, Col: fsUsed, Help: "Space in use, of each mounted tmpfs"},
	{Name: "tmpfs.free", Cluster: 34, Item: 3, Type: pcp.TypeU64, Sem: instant, Units: kbyte, From: blockTmpfs, Col: fsFree, Help: "Space not in use, of each mounted tmpfs"},
	{Name: "tmpfs.maxfiles", Cluster: 34, Item: 4, Type: pcp.TypeU32, Sem: discrete, From: blockTmpfs, Col: fsMaxFiles, Help: "Files that there is room for, of each mounted tmpfs"},
	{Name: "tmpfs.usedfiles", Cluster: 34, Item: 5, Type: pcp.TypeU32, Sem: instant, From: blockTmpfs, Col: fsUsedFiles, Help: "Files that exist, of each mounted tmpfs"},
	{Name: "tmpfs.freefiles", Cluster: 34, Item: 6, Type: pcp.TypeU32, Sem: instant, From: blockTmpfs, Col: fsFreeFiles, Help: "Files that could be made, of each mounted tmpfs"},
	{Name: "tmpfs.full", Cluster: 34, Item: 7, Type: pcp.TypeDouble, Sem: instant, From: blockTmpfs, Col: fsFull, Help: "Percentage of space in use, of what users can have, of each mounted tmpfs"},
	{Name: "hinv.nfilesys", Cluster: 5, Item: 0, Type: pcp.TypeU32, Sem: discrete, Units: count, From: blockMountCount, Help: "Mounted file systems that are on a device"},
}
