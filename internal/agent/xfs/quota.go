package xfs

import (
	"bytes"
	"encoding/binary"
	"path/filepath"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/cache"
	"github.com/go-pcp/pcp/pmda/column"
)

// Commands of quotactl(2) for the quota of projects, and the flags of their results.
const (
	quotaGet   = ('X'<<8+3)<<8 | projectQuota // Q_XGETQUOTA
	quotaState = ('X'<<8+5)<<8 | projectQuota // Q_XGETQSTAT
	quotaSync  = ('X'<<8+7)<<8 | projectQuota // Q_XQUOTASYNC

	projectQuota = 2 // XQM_PRJQUOTA

	projectAccounting  = 1 << 4 // XFS_QUOTA_PDQ_ACCT
	projectEnforcement = 1 << 5 // XFS_QUOTA_PDQ_ENFD
)

// quotaRoom is enough for the result of any of the commands.
const quotaRoom = 256

// Offsets of the numbers in struct fs_quota_stat and struct fs_disk_quota, in the byte order
// of the machine.
const (
	stateFlags = 2 // 16 bits

	quotaSpaceHard  = 8 // 64 bits
	quotaSpaceSoft  = 16
	quotaFilesHard  = 24
	quotaFilesSoft  = 32
	quotaSpaceUsed  = 40
	quotaFilesUsed  = 48
	quotaFilesTimer = 56 // 32 bits, signed
	quotaSpaceTimer = 60
)

// Blocks of quotaMetrics.
const (
	blockFilesystems = iota
	blockProjects
)

// Columns of blockFilesystems and blockProjects.
const (
	colAccounting = iota
	colEnforcement
	numFilesystemCols
)

const (
	colSpaceHard = iota
	colSpaceSoft
	colSpaceUsed
	colSpaceTimeLeft
	colFilesHard
	colFilesSoft
	colFilesUsed
	colFilesTimeLeft
	numProjectCols
)

// quotas reads the quota of projects of the mounted file systems.
type quotas struct {
	host             *host
	mounts, projects *procfs.File
	blocks           []*column.Block
	filesystems      *cache.Cache[struct{}]
	limits           *cache.Cache[struct{}]
	room             [quotaRoom]byte
}

func quotaFamily(h *host) column.Family {
	filesystems := &column.InDom{Serial: filesystemsSerial, Help: "Mounted file systems of XFS", Long: "File systems of XFS that are mounted, by their devices. A link is followed,\nbut not one of the device mapper or of RAID, whose names last."}
	projects := &column.InDom{Serial: projectsSerial, Help: "Projects with a quota, on each file system of XFS", Long: "Projects that are listed in /etc/projects, on each file system that keeps\naccount of projects: the number of the project and the device, as in\n42:/dev/sda1."}
	q := &quotas{
		host: h, mounts: h.file("proc/mounts"), projects: procfs.NewFile(h.path("etc/projects")).In(&h.once),
		filesystems: cache.New[struct{}](pcp.NewInDom(h.domain, filesystemsSerial), nil),
		limits:      cache.New[struct{}](pcp.NewInDom(h.domain, projectsSerial), nil),
	}
	q.blocks = column.NewBlocks(quotaMetrics, column.Layout{Cols: numFilesystemCols, InDom: filesystems, Lists: true},
		column.Layout{Cols: numProjectCols, InDom: projects, Lists: true})
	return column.Family{Name: "quota", Metrics: quotaMetrics, Sources: []*column.Source{{
		Name: "/proc/mounts", Blocks: q.blocks, Read: q.read,
	}}}
}

// read finds the mounted file systems, and asks for the quota of each.
func (q *quotas) read() error {
	for _, b := range q.blocks {
		b.Clear()
	}
	q.filesystems.HideAll()
	q.limits.HideAll()
	text, err := q.mounts.Read()
	if err != nil {
		return err
	}
	for len(text) > 0 {
		var l []byte
		l, text = ctext.CutLine(text, maxLine)
		name, ok := mountedXFS(l)
		if !ok {
			continue
		}
		device := q.host.realDevice(string(name))
		if e, err := q.filesystems.LookupName(device); err == nil && e.State == cache.Active {
			continue // mounted twice
		}
		inst, err := q.filesystems.Store(device, struct{}{})
		if err != nil {
			continue // the part of its name before a blank is that of another
		}
		q.filesystem(inst, device)
	}
	return nil
}

// mountedXFS returns the device of a line of /proc/mounts if the line is about an XFS
// file system on a device.
func mountedXFS(l []byte) (device []byte, ok bool) {
	var words [3][]byte
	for i := range words {
		l = bytes.TrimLeft(l, " ")
		words[i], l, _ = bytes.Cut(l, []byte{' '})
	}
	return words[0], string(words[2]) == "xfs" && bytes.HasPrefix(words[0], []byte("/dev"))
}

// realDevice follows links, except those of the device mapper and of RAID, whose names are
// persistent.
func (h *host) realDevice(device string) string {
	for _, lasting := range [...]string{"/dev/mapper", "/dev/md"} {
		if len(device) >= len(lasting) && device[:len(lasting)] == lasting {
			return device
		}
	}
	if h.live {
		if real, err := hostroot.Resolve(h.root, device); err == nil {
			return real
		}
		return device
	}
	if real, err := filepath.EvalSymlinks(device); err == nil {
		return real
	}
	return device
}

// filesystem adds the project quotas of a file system.
func (q *quotas) filesystem(inst int32, device string) {
	row := q.blocks[blockFilesystems].AddNamed(inst, device)
	cells := q.blocks[blockFilesystems].Row(row)
	cells[colAccounting], cells[colEnforcement] = column.Num(0), column.Num(0)
	clear(q.room[:])
	if q.host.quotactl(quotaState, q.host.device(device), 0, q.room[:]) != nil {
		return
	}
	flags := binary.NativeEndian.Uint16(q.room[stateFlags:])
	if flags&projectEnforcement != 0 {
		cells[colEnforcement] = column.Num(1)
	}
	if flags&projectAccounting == 0 {
		return
	}
	cells[colAccounting] = column.Num(1)
	text, err := read(q.projects)
	if err != nil {
		return
	}
	q.host.quotactl(quotaSync, q.host.device(device), 0, nil) // the result is the same if this fails
	for len(text) > 0 {
		var l []byte
		if l, text = ctext.CutLine(text, maxLine); len(l) == 0 || l[0] == '#' {
			continue
		}
		id, rest, ok := ctext.Strtoull(l, 10)
		if !ok {
			continue
		}
		q.project(string(l[:len(l)-len(rest)])+":"+device, device, uint32(id))
	}
}

// project adds the limits and the use of one project.
func (q *quotas) project(name, device string, id uint32) {
	clear(q.room[:])
	if q.host.quotactl(quotaGet, q.host.device(device), id, q.room[:]) != nil {
		return
	}
	if e, err := q.limits.LookupName(name); err == nil && e.State == cache.Active {
		return // listed twice
	}
	inst, err := q.limits.Store(name, struct{}{})
	if err != nil {
		return
	}
	b := q.blocks[blockProjects]
	row := b.AddNamed(inst, name)
	set := func(col int, v uint64) { b.Set(row, col, v) }
	long := func(at int) uint64 { return binary.NativeEndian.Uint64(q.room[at:]) }
	timer := func(at int) uint64 { return uint64(binary.NativeEndian.Uint32(q.room[at:])) }
	set(colSpaceHard, long(quotaSpaceHard)>>1) // blocks of 512 bytes
	set(colSpaceSoft, long(quotaSpaceSoft)>>1)
	set(colSpaceUsed, long(quotaSpaceUsed)>>1)
	set(colSpaceTimeLeft, timer(quotaSpaceTimer))
	set(colFilesHard, long(quotaFilesHard))
	set(colFilesSoft, long(quotaFilesSoft))
	set(colFilesUsed, long(quotaFilesUsed))
	set(colFilesTimeLeft, timer(quotaFilesTimer))
}

// Units of quotaMetrics.
var (
	count  = pcp.Units{DimCount: 1}
	kbyte  = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	second = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}
)

// quotaMetrics are the metrics of the quota of projects.
var quotaMetrics = []column.Metric{
	{Name: "quota.state.project.accounting", Cluster: clusterQuota, Item: 0, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Col: colAccounting, Help: "1 if the use of projects is accounted, else 0", Long: "1 if the file system keeps account of how much space and how many files each\nproject has, as with the mount option pqnoenforce or prjquota, else 0."},
	{Name: "quota.state.project.enforcement", Cluster: clusterQuota, Item: 1, Type: pcp.TypeU32, Sem: pcp.SemDiscrete, Col: colEnforcement, Help: "1 if the limits of projects are enforced, else 0", Long: "1 if a project that has reached its limits gets no more space or files on this\nfile system, as with the mount option prjquota, else 0."},
	{Name: "quota.project.space.hard", Cluster: clusterQuota, Item: 6, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: kbyte, From: blockProjects, Col: colSpaceHard, Help: "Most space that a project may have", Long: "The hard limit on the space of a project on a file system. Writes beyond it\nfail. 0 means no limit. The project must be listed in /etc/projects."},
	{Name: "quota.project.space.soft", Cluster: clusterQuota, Item: 7, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: kbyte, From: blockProjects, Col: colSpaceSoft, Help: "Space that a project should not exceed", Long: "The soft limit on the space of a project on a file system. A project may be\nabove it for a time. 0 means no limit."},
	{Name: "quota.project.space.used", Cluster: clusterQuota, Item: 8, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: kbyte, From: blockProjects, Col: colSpaceUsed, Help: "Space that a project has", Long: "The space that the files of a project have on a file system, without that of\nits realtime section."},
	{Name: "quota.project.space.time_left", Cluster: clusterQuota, Item: 9, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: second, From: blockProjects, Col: colSpaceTimeLeft, Help: "When the soft limit on space becomes a hard one", Long: "The timer of the soft limit on space, as the kernel has it: the time, in\nseconds since 1970, after which the limit is enforced; 0 while the project is\nbelow the limit."},
	{Name: "quota.project.files.hard", Cluster: clusterQuota, Item: 10, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: count, From: blockProjects, Col: colFilesHard, Help: "Most files that a project may have", Long: "The hard limit on the files of a project on a file system. No more files can\nbe made beyond it. 0 means no limit."},
	{Name: "quota.project.files.soft", Cluster: clusterQuota, Item: 11, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: count, From: blockProjects, Col: colFilesSoft, Help: "Number of files that a project should not exceed", Long: "The soft limit on the files of a project on a file system. A project may be\nabove it for a time. 0 means no limit."},
	{Name: "quota.project.files.used", Cluster: clusterQuota, Item: 12, Type: pcp.TypeU64, Sem: pcp.SemDiscrete, Units: count, From: blockProjects, Col: colFilesUsed, Help: "Files that a project has", Long: "The files that a project has on a file system, directories and links included."},
	{Name: "quota.project.files.time_left", Cluster: clusterQuota, Item: 13, Type: pcp.Type32, Sem: pcp.SemDiscrete, Units: second, From: blockProjects, Col: colFilesTimeLeft, Help: "When the soft limit on files becomes a hard one", Long: "The timer of the soft limit on files, as the kernel has it: the time, in\nseconds since 1970, after which the limit is enforced; 0 while the project is\nbelow the limit."},
}
