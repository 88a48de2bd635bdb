package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
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
	shm, msg, sem             *procfs.File
	shmNames, msgNames, names registry

	limits []ipcLimit
	owners map[uint64]string // user names
	text   []byte
}

// An ipcLimit is a file of /proc/sys/kernel and the columns of its numbers.
type ipcLimit struct {
	file *procfs.File
	cols []int
}

func newIPCReader(a *Agent) ipcReader {
	limit := func(name string, cols ...int) ipcLimit {
		return ipcLimit{a.wholeFile("proc/sys/kernel/" + name), cols}
	}
	return ipcReader{
		shm: a.file("proc/sysvipc/shm"), msg: a.file("proc/sysvipc/msg"), sem: a.file("proc/sysvipc/sem"),
		limits: []ipcLimit{
			limit("sem", limitSemMSL, limitSemMNS, limitSemOPM, limitSemMNI),
			limit("msgmax", limitMsgMax), limit("msgmnb", limitMsgMNB), limit("msgmni", limitMsgMNI),
			limit("shmmax", limitShmMax), limit("shmall", limitShmAll), limit("shmmni", limitShmMNI),
		},
	}
}

// compiledLimits are those that the kernel has no setting for; it has them
// compiled in (uapi/linux/sem.h, msg.h, shm.h).
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

// readIPCLimits reports what IPC_INFO tells. Where the kernel has settings they
// are read.
func readIPCLimits(a *Agent) error {
	out := &a.blocks[blockIPCLimits]
	out.clear()
	var last error
	for _, l := range a.ipc.limits {
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
			out.set(0, col, v)
		}
	}
	if last != nil && !anyValue(out) {
		return last
	}
	for _, l := range compiledLimits {
		out.set(0, l.col, l.limit)
	}
	if v, ok := out.get(0, limitShmMNI); ok {
		out.set(0, limitShmSeg, v)
	}
	return nil
}

// An ipcObject is what the tables of all three kinds begin with: the key, the
// identifier, and permissions, in octal.
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

// put stores what all kinds have in the first three columns.
func (r *ipcReader) put(a *Agent, out *block, row int, o ipcObject, uid uint64) {
	r.text = append(r.text[:0], "0x"...)
	for shift := 28; shift >= 0; shift -= 4 {
		r.text = append(r.text, "0123456789abcdef"[uint32(o.key)>>shift&15])
	}
	out.setString(row, 0, r.text)
	out.setText(row, 1, r.owner(a, uid))
	// The octal digits, read as a decimal number.
	p := o.perms & 0o777
	out.set(row, 2, p>>6*100+p>>3&7*10+p&7)
}

// owner returns the name of a user, or the number. The file is read again when
// an unknown user turns up.
func (r *ipcReader) owner(a *Agent, uid uint64) string {
	if name, ok := r.owners[uid]; ok {
		return name
	}
	r.owners = make(map[uint64]string)
	b, err := procfs.ReadOnce(a.path("etc/passwd"))
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
func (r *ipcReader) each(a *Agent, b []byte, names *registry, out *block, uid int, nums []uint64, fn func(row int, o ipcObject)) {
	out.clear()
	names.begin()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		clear(nums)
		o, n, ok := parseIPC(line, nums)
		if !ok || n <= uid {
			continue
		}
		r.text = strconv.AppendUint(r.text[:0], o.id, 10)
		inst, name := names.id(r.text)
		if !names.first(inst) {
			continue
		}
		row := out.addNamed(inst, name)
		r.put(a, out, row, o, nums[uid])
		fn(row, o)
	}
}

func readShm(a *Agent) error {
	b, err := a.ipc.shm.Read()
	if err != nil {
		return err
	}
	a.parseShm(b)
	return nil
}

// parseShm reads "key shmid perms size cpid lpid nattch uid gid cuid cgid atime
// dtime ctime rss swap".
func (a *Agent) parseShm(b []byte) {
	const (
		dest   = 0o1000 // SHM_DEST: goes when nobody has it attached any more
		locked = 0o2000 // SHM_LOCKED: is not swapped
	)
	out, info := &a.blocks[blockShm], &a.blocks[blockShmInfo]
	info.zero()
	var nums [13]uint64
	a.ipc.each(a, b, &a.ipc.shmNames, out, 4, nums[:], func(row int, o ipcObject) {
		out.set(row, shmSize, nums[0])
		out.set(row, shmCreator, nums[1])
		out.set(row, shmLast, nums[2])
		out.set(row, shmAttached, nums[3])
		status := ""
		switch {
		case o.perms&dest != 0 && o.perms&locked != 0:
			status = "dest locked"
		case o.perms&dest != 0:
			status = "dest"
		case o.perms&locked != 0:
			status = "locked"
		}
		out.setText(row, shmStatus, status)
		info.cells[shmTotal].bits += (nums[0] + a.page - 1) / a.page * a.page
		info.cells[shmResident].bits += nums[11]
		info.cells[shmSwapped].bits += nums[12]
		info.cells[shmIDs].bits++
	})
}

func readMsg(a *Agent) error {
	b, err := a.ipc.msg.Read()
	if err != nil {
		return err
	}
	a.parseMsg(b)
	return nil
}

// parseMsg reads "key msqid perms cbytes qnum lspid lrpid uid ...".
func (a *Agent) parseMsg(b []byte) {
	out, info := &a.blocks[blockMsg], &a.blocks[blockMsgInfo]
	info.zero()
	var nums [5]uint64
	a.ipc.each(a, b, &a.ipc.msgNames, out, 4, nums[:], func(row int, _ ipcObject) {
		for i, col := range [...]int{msgBytes, msgMessages, msgLastSend, msgLastRecv} {
			out.set(row, col, nums[i])
		}
		info.cells[msgQueues].bits++
		info.cells[msgAll].bits += nums[1]
		info.cells[msgAllBytes].bits += nums[0]
	})
}

func readSem(a *Agent) error {
	b, err := a.ipc.sem.Read()
	if err != nil {
		return err
	}
	a.parseSem(b)
	return nil
}

// parseSem reads "key semid perms nsems uid ...".
func (a *Agent) parseSem(b []byte) {
	out, info := &a.blocks[blockSem], &a.blocks[blockSemInfo]
	info.zero()
	var nums [2]uint64
	a.ipc.each(a, b, &a.ipc.names, out, 1, nums[:], func(row int, _ ipcObject) {
		out.set(row, semCount, nums[0])
		info.cells[semSets].bits++
		info.cells[semAll].bits += nums[0]
	})
}
