package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of ipcMetrics.
const (
	blockIPCLimits = iota
	blockShm
	blockShmInfo
	blockMsg
	blockMsgInfo
	blockSem
	blockSemInfo
)

// Columns of blockShm.
const (
	shmKey = iota
	shmOwner
	shmPerms
	shmSize
	shmAttached
	shmStatus
	shmCreator
	shmLast
	numShm
)

// Columns of blockShmInfo.
const (
	shmTotal = iota
	shmResident
	shmSwapped
	shmIDs
	shmSwapAttempts
	shmSwapSuccesses
	numShmInfo
)

// Columns of blockMsg.
const (
	msgKey = iota
	msgOwner
	msgPerms
	msgBytes
	msgMessages
	msgLastSend
	msgLastRecv
	numMsg
)

// Columns of blockMsgInfo.
const (
	msgQueues = iota
	msgAll
	msgAllBytes
	numMsgInfo
)

// Columns of blockSem.
const (
	semKey = iota
	semOwner
	semPerms
	semCount
	numSem
)

// Columns of blockSemInfo.
const (
	semSets = iota
	semAll
	numSemInfo
)

// Columns of blockIPCLimits.
const (
	limitSemMap = iota
	limitSemMNI
	limitSemMNS
	limitSemMNU
	limitSemMSL
	limitSemOPM
	limitSemUME
	limitSemUSZ
	limitSemVMX
	limitSemAEM
	limitMsgPool
	limitMsgMap
	limitMsgMax
	limitMsgMNB
	limitMsgMNI
	limitMsgSSZ
	limitMsgTQL
	limitMsgSeg
	limitShmMax
	limitShmMin
	limitShmMNI
	limitShmSeg
	limitShmAll
	numIPCLimits
)

// An ipcReader reads /proc/sysvipc.
type ipcReader struct {
	blocks                       []*column.Block
	host                         *host
	shmNames, msgNames, semNames column.Names

	limits []ipcLimit
	owners map[uint64]string // user names
	text   []byte
}

// An ipcLimit is a file of /proc/sys/kernel and the columns of its numbers.
type ipcLimit struct {
	file *procfs.File
	cols []int
}

func newIPCReader(h *host) *ipcReader {
	limit := func(name string, cols ...int) ipcLimit {
		return ipcLimit{h.wholeFile("proc/sys/kernel/" + name), cols}
	}
	indom := func(serial int, help string) *column.InDom { return &column.InDom{Serial: serial, Help: help} }
	return &ipcReader{
		host: h,
		blocks: column.NewBlocks(ipcMetrics, []column.Layout{
			blockIPCLimits: {Cols: numIPCLimits},
			blockShm:       {Cols: numShm, Lists: true, InDom: indom(28, "Shared memory segments, by identifier")},
			blockShmInfo:   {Cols: numShmInfo},
			blockMsg:       {Cols: numMsg, Lists: true, InDom: indom(29, "Message queues, by identifier")},
			blockMsgInfo:   {Cols: numMsgInfo},
			blockSem:       {Cols: numSem, Lists: true, InDom: indom(30, "Sets of semaphores, by identifier")},
			blockSemInfo:   {Cols: numSemInfo},
		}...),
		limits: []ipcLimit{
			limit("sem", limitSemMSL, limitSemMNS, limitSemOPM, limitSemMNI),
			limit("msgmax", limitMsgMax), limit("msgmnb", limitMsgMNB), limit("msgmni", limitMsgMNI),
			limit("shmmax", limitShmMax), limit("shmall", limitShmAll), limit("shmmni", limitShmMNI),
		},
	}
}

func ipcFamily(h *host) column.Family {
	r := newIPCReader(h)
	b := r.blocks
	file := func(name string, parse func(b []byte), out *column.Block) oneFile {
		return oneFile{h.file("proc/sysvipc/" + name), parse, out}
	}
	shm := file("shm", r.parseShm, b[blockShm])
	return column.Family{Name: "ipc", Metrics: ipcMetrics, Sources: []*column.Source{
		{Name: "/proc/sys/kernel: limits", Read: r.readLimits, Blocks: b[:blockShm]},
		{Name: "/proc/sysvipc/shm", File: shm.file, Parse: shm.parse, Blocks: b[blockShm:blockMsg]},
		{
			Name: "/proc/sysvipc/msg", Blocks: b[blockMsg:],
			Read: bothFiles(file("msg", r.parseMsg, b[blockMsg]), file("sem", r.parseSem, b[blockSem])),
		},
	}}
}

// compiledLimits are the limits that are compiled into the kernel
// (uapi/linux/sem.h, msg.h, shm.h).
var compiledLimits = [...]struct {
	col   int
	limit uint64
}{
	{limitSemMap, 32000 * 32000}, // SEMMNI * SEMMSL
	{limitSemMNU, 32000 * 32000},
	{limitSemUME, 500}, // SEMOPM
	{limitSemUSZ, 20},
	{limitSemVMX, 32767},
	{limitSemAEM, 32767},
	{limitMsgPool, 32000 * 16384 / 1024}, // MSGMNI * MSGMNB, in Kbytes
	{limitMsgMap, 16384},
	{limitMsgSSZ, 16},
	{limitMsgTQL, 16384},
	{limitMsgSeg, 65535},
	{limitShmMin, 1},
}

// readLimits reports the limits that IPC_INFO returns. Limits with settings are read from
// those.
func (r *ipcReader) readLimits() error {
	out := r.blocks[blockIPCLimits]
	out.Clear()
	var last error
	for _, l := range r.limits {
		b, err := l.file.Read()
		if err != nil {
			last = err
			continue
		}
		for _, col := range l.cols {
			v, rest, ok := procfs.Uint(b)
			if !ok {
				break
			}
			b = rest
			out.Set(0, col, v)
		}
	}
	if last != nil && !anyValue(out) {
		return last
	}
	for _, l := range compiledLimits {
		out.Set(0, l.col, l.limit)
	}
	if v, ok := out.Get(0, limitShmMNI); ok {
		out.Set(0, limitShmSeg, v)
	}
	return nil
}

// An ipcObject has the first columns of the tables of all three kinds: the key,
// the identifier, and permissions, in octal.
type ipcObject struct {
	key   int64
	id    uint64
	perms uint64
}

// parseIPC reads a line: the three numbers, and up to len(nums) more.
func parseIPC(line []byte, nums []uint64) (o ipcObject, n int, ok bool) {
	if o.key, line, ok = procfs.Int(line); !ok {
		return o, 0, false
	}
	if o.id, line, ok = procfs.Uint(line); !ok {
		return o, 0, false
	}
	perms, line := procfs.Field(line)
	for _, c := range perms {
		if !isOctal(c) {
			return o, 0, false
		}
		o.perms = o.perms<<3 | uint64(c-'0')
	}
	for n < len(nums) {
		v, rest, ok := procfs.Uint(line)
		if !ok {
			break
		}
		nums[n], line = v, rest
		n++
	}
	return o, n, len(perms) > 0
}

// put stores the values common to all kinds in the first three columns.
func (r *ipcReader) put(out *column.Block, row int, o ipcObject, uid uint64) {
	r.text = append(r.text[:0], "0x"...)
	for shift := 28; shift >= 0; shift -= 4 {
		r.text = append(r.text, "0123456789abcdef"[uint32(o.key)>>shift&15])
	}
	out.SetString(row, 0, r.text)
	out.SetText(row, 1, r.owner(uid))
	// The octal digits, read as a decimal number.
	p := o.perms & 0o777
	out.Set(row, 2, p>>6*100+p>>3&7*10+p&7)
}

// owner returns the name of a user, or the number. The file is read again for an
// unknown user.
func (r *ipcReader) owner(uid uint64) string {
	if name, ok := r.owners[uid]; ok {
		return name
	}
	r.owners = make(map[uint64]string)
	b, err := procfs.ReadOnce(r.host.path("etc/passwd"))
	for err == nil {
		line, rest, ok := procfs.Line(b)
		if !ok {
			break
		}
		b = rest
		name, line, _ := bytes.Cut(line, []byte(":"))
		_, line, _ = bytes.Cut(line, []byte(":"))
		if n, _, ok := procfs.Uint(line); ok && len(name) > 0 {
			if _, ok := r.owners[n]; !ok {
				r.owners[n] = string(name)
			}
		}
	}
	if _, ok := r.owners[uid]; !ok {
		r.owners[uid] = strconv.FormatUint(uid, 10)
	}
	return r.owners[uid]
}

// each calls fn for each object of a table with the row made for it, its
// permissions, and the numbers after them.
func (r *ipcReader) each(b []byte, names *column.Names, out *column.Block, uid int, nums []uint64, fn func(row int, o ipcObject)) {
	out.Clear()
	names.Begin()
	for line := range procfs.Lines(b) {
		clear(nums)
		o, n, ok := parseIPC(line, nums)
		if !ok || n <= uid {
			continue
		}
		r.text = strconv.AppendUint(r.text[:0], o.id, 10)
		inst, name := names.ID(r.text)
		if !names.First(inst) {
			continue
		}
		row := out.AddNamed(inst, name)
		r.put(out, row, o, nums[uid])
		fn(row, o)
	}
}

// parseShm reads "key shmid perms size cpid lpid nattch uid gid cuid cgid atime
// dtime ctime rss swap".
func (r *ipcReader) parseShm(b []byte) {
	const (
		dest   = 0o1000 // SHM_DEST: removed when no process has it attached any more
		locked = 0o2000 // SHM_LOCKED: is not swapped
	)
	out, info := r.blocks[blockShm], r.blocks[blockShmInfo]
	info.Zero()
	var nums [13]uint64
	r.each(b, &r.shmNames, out, 4, nums[:], func(row int, o ipcObject) {
		out.Set(row, shmSize, nums[0])
		out.Set(row, shmCreator, nums[1])
		out.Set(row, shmLast, nums[2])
		out.Set(row, shmAttached, nums[3])
		status := ""
		switch {
		case o.perms&dest != 0 && o.perms&locked != 0:
			status = "dest locked"
		case o.perms&dest != 0:
			status = "dest"
		case o.perms&locked != 0:
			status = "locked"
		}
		out.SetText(row, shmStatus, status)
		info.Row(0)[shmTotal].Bits += (nums[0] + r.host.page - 1) / r.host.page * r.host.page
		info.Row(0)[shmResident].Bits += nums[11]
		info.Row(0)[shmSwapped].Bits += nums[12]
		info.Row(0)[shmIDs].Bits++
	})
}

// parseMsg reads "key msqid perms cbytes qnum lspid lrpid uid ...".
func (r *ipcReader) parseMsg(b []byte) {
	out, info := r.blocks[blockMsg], r.blocks[blockMsgInfo]
	info.Zero()
	var nums [5]uint64
	r.each(b, &r.msgNames, out, 4, nums[:], func(row int, _ ipcObject) {
		for i, col := range [...]int{msgBytes, msgMessages, msgLastSend, msgLastRecv} {
			out.Set(row, col, nums[i])
		}
		info.Row(0)[msgQueues].Bits++
		info.Row(0)[msgAll].Bits += nums[1]
		info.Row(0)[msgAllBytes].Bits += nums[0]
	})
}

// parseSem reads "key semid perms nsems uid ...".
func (r *ipcReader) parseSem(b []byte) {
	out, info := r.blocks[blockSem], r.blocks[blockSemInfo]
	info.Zero()
	var nums [2]uint64
	r.each(b, &r.semNames, out, 1, nums[:], func(row int, _ ipcObject) {
		out.Set(row, semCount, nums[0])
		info.Row(0)[semSets].Bits++
		info.Row(0)[semAll].Bits += nums[0]
	})
}

// ipcMetrics are the metrics of interprocess communication.
var ipcMetrics = []column.Metric{
	{Name: "ipc.sem.max_semmap", Cluster: 21, Item: 0, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemMap, Help: "Entries of the map of semaphores"},
	{Name: "ipc.sem.max_semid", Cluster: 21, Item: 1, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemMNI, Help: "Most sets of semaphores"},
	{Name: "ipc.sem.max_sem", Cluster: 21, Item: 2, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemMNS, Help: "Most semaphores"},
	{Name: "ipc.sem.num_undo", Cluster: 21, Item: 3, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemMNU, Help: "Most undo structures"},
	{Name: "ipc.sem.max_perid", Cluster: 21, Item: 4, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemMSL, Help: "Most semaphores in a set"},
	{Name: "ipc.sem.max_ops", Cluster: 21, Item: 5, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemOPM, Help: "Most operations in a call of semop"},
	{Name: "ipc.sem.max_undoent", Cluster: 21, Item: 6, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemUME, Help: "Most undo entries of a process"},
	{Name: "ipc.sem.sz_semundo", Cluster: 21, Item: 7, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemUSZ, Help: "Size of an undo structure"},
	{Name: "ipc.sem.max_semval", Cluster: 21, Item: 8, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemVMX, Help: "Largest value of a semaphore"},
	{Name: "ipc.sem.max_exit", Cluster: 21, Item: 9, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitSemAEM, Help: "Largest change undone at exit"},
	{Name: "ipc.sem.used_sem", Cluster: 61, Item: 0, Type: pcp.TypeU32, Sem: instant, From: blockSemInfo, Col: semSets, Help: "Sets of semaphores"},
	{Name: "ipc.sem.tot_sem", Cluster: 61, Item: 1, Type: pcp.TypeU32, Sem: instant, From: blockSemInfo, Col: semAll, Help: "Semaphores in all sets"},
	{Name: "ipc.sem.key", Cluster: 66, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockSem, Col: semKey, Help: "Key of each set of semaphores"},
	{Name: "ipc.sem.owner", Cluster: 66, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockSem, Col: semOwner, Help: "Owner of each set of semaphores"},
	{Name: "ipc.sem.perms", Cluster: 66, Item: 2, Type: pcp.TypeU32, Sem: instant, From: blockSem, Col: semPerms, Help: "Permissions, the octal digits read as decimal, of each set of semaphores"},
	{Name: "ipc.sem.nsems", Cluster: 66, Item: 3, Type: pcp.TypeU32, Sem: instant, From: blockSem, Col: semCount, Help: "Semaphores of each set of semaphores"},
	{Name: "ipc.msg.sz_pool", Cluster: 22, Item: 0, Type: pcp.TypeU32, Sem: discrete, Units: kbyte, From: blockIPCLimits, Col: limitMsgPool, Help: "Size of the pool of messages"},
	{Name: "ipc.msg.mapent", Cluster: 22, Item: 1, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgMap, Help: "Entries of the map of messages"},
	{Name: "ipc.msg.max_msgsz", Cluster: 22, Item: 2, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgMax, Help: "Largest message"},
	{Name: "ipc.msg.max_defmsgq", Cluster: 22, Item: 3, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgMNB, Help: "Most bytes in a queue, unless it is set otherwise"},
	{Name: "ipc.msg.max_msgqid", Cluster: 22, Item: 4, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgMNI, Help: "Most message queues"},
	{Name: "ipc.msg.max_msgseg", Cluster: 22, Item: 5, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgSSZ, Help: "Size of a message segment"},
	{Name: "ipc.msg.num_smsghdr", Cluster: 22, Item: 6, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgTQL, Help: "Most headers of messages"},
	{Name: "ipc.msg.max_seg", Cluster: 22, Item: 7, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitMsgSeg, Help: "Most message segments"},
	{Name: "ipc.msg.used_queues", Cluster: 62, Item: 0, Type: pcp.TypeU32, Sem: instant, From: blockMsgInfo, Col: msgQueues, Help: "Message queues"},
	{Name: "ipc.msg.tot_msg", Cluster: 62, Item: 1, Type: pcp.TypeU32, Sem: instant, From: blockMsgInfo, Col: msgAll, Help: "Messages in all queues"},
	{Name: "ipc.msg.tot_bytes", Cluster: 62, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockMsgInfo, Col: msgAllBytes, Help: "Bytes in all message queues"},
	{Name: "ipc.msg.key", Cluster: 65, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockMsg, Col: msgKey, Help: "Key of each message queue"},
	{Name: "ipc.msg.owner", Cluster: 65, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockMsg, Col: msgOwner, Help: "Owner of each message queue"},
	{Name: "ipc.msg.perms", Cluster: 65, Item: 2, Type: pcp.TypeU32, Sem: instant, From: blockMsg, Col: msgPerms, Help: "Permissions, the octal digits read as decimal, of each message queue"},
	{Name: "ipc.msg.msgsz", Cluster: 65, Item: 3, Type: pcp.TypeU32, Sem: discrete, Units: byteUnit, From: blockMsg, Col: msgBytes, Help: "Bytes of each message queue"},
	{Name: "ipc.msg.messages", Cluster: 65, Item: 4, Type: pcp.TypeU32, Sem: instant, From: blockMsg, Col: msgMessages, Help: "Messages of each message queue"},
	{Name: "ipc.msg.last_send_pid", Cluster: 65, Item: 5, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockMsg, Col: msgLastSend, Help: "Process that sent last, of each message queue"},
	{Name: "ipc.msg.last_recv_pid", Cluster: 65, Item: 6, Type: pcp.TypeU32, Sem: instant, From: blockMsg, Col: msgLastRecv, Help: "Process that received last, of each message queue"},
	{Name: "ipc.shm.max_segsz", Cluster: 23, Item: 0, Type: pcp.TypeU32, Sem: discrete, Units: byteUnit, From: blockIPCLimits, Col: limitShmMax, Help: "Largest shared memory segment"},
	{Name: "ipc.shm.min_segsz", Cluster: 23, Item: 1, Type: pcp.TypeU32, Sem: discrete, Units: byteUnit, From: blockIPCLimits, Col: limitShmMin, Help: "Smallest shared memory segment"},
	{Name: "ipc.shm.max_seg", Cluster: 23, Item: 2, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitShmMNI, Help: "Most shared memory segments"},
	{Name: "ipc.shm.max_segproc", Cluster: 23, Item: 3, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitShmSeg, Help: "Most shared memory segments of a process"},
	{Name: "ipc.shm.max_shmsys", Cluster: 23, Item: 4, Type: pcp.TypeU32, Sem: discrete, From: blockIPCLimits, Col: limitShmAll, Help: "Most pages of shared memory"},
	{Name: "ipc.shm.tot", Cluster: 56, Item: 0, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockShmInfo, Col: shmTotal, Help: "Size of all shared memory segments"},
	{Name: "ipc.shm.rss", Cluster: 56, Item: 1, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockShmInfo, Col: shmResident, Help: "Shared memory in memory"},
	{Name: "ipc.shm.swp", Cluster: 56, Item: 2, Type: pcp.TypeU32, Sem: instant, Units: byteUnit, From: blockShmInfo, Col: shmSwapped, Help: "Shared memory in swap"},
	{Name: "ipc.shm.used_ids", Cluster: 56, Item: 3, Type: pcp.TypeU32, Sem: instant, From: blockShmInfo, Col: shmIDs, Help: "Shared memory segments"},
	{Name: "ipc.shm.swap_attempts", Cluster: 56, Item: 4, Type: pcp.TypeU32, Sem: instant, From: blockShmInfo, Col: shmSwapAttempts, Help: "Attempts to swap shared memory, which Linux does not count"},
	{Name: "ipc.shm.swap_successes", Cluster: 56, Item: 5, Type: pcp.TypeU32, Sem: instant, From: blockShmInfo, Col: shmSwapSuccesses, Help: "Successes in swapping shared memory, which Linux does not count"},
	{Name: "ipc.shm.key", Cluster: 64, Item: 0, Type: pcp.TypeString, Sem: discrete, From: blockShm, Col: shmKey, Help: "Key of each shared memory segment"},
	{Name: "ipc.shm.owner", Cluster: 64, Item: 1, Type: pcp.TypeString, Sem: discrete, From: blockShm, Col: shmOwner, Help: "Owner of each shared memory segment"},
	{Name: "ipc.shm.perms", Cluster: 64, Item: 2, Type: pcp.TypeU32, Sem: instant, From: blockShm, Col: shmPerms, Help: "Permissions, the octal digits read as decimal, of each shared memory segment"},
	{Name: "ipc.shm.segsz", Cluster: 64, Item: 3, Type: pcp.TypeU32, Sem: discrete, Units: byteUnit, From: blockShm, Col: shmSize, Help: "Size of each shared memory segment"},
	{Name: "ipc.shm.nattch", Cluster: 64, Item: 4, Type: pcp.TypeU32, Sem: instant, From: blockShm, Col: shmAttached, Help: "Times that it is attached, of each shared memory segment"},
	{Name: "ipc.shm.status", Cluster: 64, Item: 5, Type: pcp.TypeString, Sem: instant, From: blockShm, Col: shmStatus, Help: "Whether it is locked in memory or to be destroyed, of each segment"},
	{Name: "ipc.shm.creator_pid", Cluster: 64, Item: 6, Type: pcp.TypeU32, Sem: discrete, From: blockShm, Col: shmCreator, Help: "Process that made it, of each shared memory segment"},
	{Name: "ipc.shm.last_access_pid", Cluster: 64, Item: 7, Type: pcp.TypeU32, Sem: instant, From: blockShm, Col: shmLast, Help: "Process that attached or detached it last, of each shared memory segment"},
}
