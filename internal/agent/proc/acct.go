package proc

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// acctSerial is the serial number of the instance domain of processes that have ended, and
// acctCluster the cluster of their metrics.
const (
	acctSerial  = 40
	acctCluster = 70
)

// maxEnded is the maximum number of ended processes kept.
const maxEnded = 5000

// accounting reads the records that the kernel writes of processes that end: from the
// system's file if it grows, otherwise from its own file, for which it switches accounting
// on if root has enabled that by acct.control.enable_acct.
type accounting struct {
	cfg *Config
	hz  uint64
	now func() time.Time
	// kernel and growing make system calls: kernel calls acct(2), growing has a
	// process end to see whether its record is written.
	kernel  func(path string) error
	growing func(f *os.File) bool

	mu       sync.Mutex // the fields below are used by the timer too
	settings acctSettings
	file     *os.File // nil: none is open
	own      bool     // accounting was switched on for it
	read     int64    // bytes of file read
	failed   time.Time
	checked  time.Time
	timer    *time.Timer // of the size of the agent's own file
	closed   bool

	ended []ended // in the order in which they were written
	known map[int32]bool
}

// acctSettings are the settings that root may change.
type acctSettings struct {
	retry, check, lifetime, interval uint32 // seconds
	threshold                        uint64 // bytes
	enabled                          uint32
}

// ended is a process that has ended.
type ended struct {
	acctRecord
	at int64 // time in seconds since 1970
}

func newAccounting(cfg *Config) *accounting {
	c := &accounting{
		cfg: cfg, hz: uint64(cfg.HZ), now: time.Now, kernel: switchAccounting, growing: grows, known: make(map[int32]bool),
		settings: acctSettings{retry: 60, check: 600, lifetime: 60, interval: 600, threshold: 10 << 20},
	}
	if cfg.AcctFile != "" {
		if _, err := os.Stat(cfg.AcctFile); err == nil {
			c.open()
		}
	}
	return c
}

// open opens the file of the system, or the agent's own if that is allowed.
func (c *accounting) open() {
	if c.cfg.AcctFile != "" && c.try(c.cfg.AcctFile, false) {
		return
	}
	if c.settings.enabled == 0 || c.cfg.OwnAcctFile == "" || c.closed {
		return
	}
	if !c.try(c.cfg.OwnAcctFile, true) {
		c.failed = c.now()
	}
}

// try opens a file and reports whether the kernel writes readable records to it. For the
// agent's own file it switches accounting on first.
func (c *accounting) try(path string, own bool) bool {
	open := func() (*os.File, error) { return openAcct(path, own) }
	f, err := open()
	if err != nil {
		c.debug("open", path, err)
		return false
	}
	info, err := f.Stat()
	if err == nil && own {
		if err = c.kernel(path); err != nil {
			c.debug("acct", path, err)
			f.Close()
			os.Remove(path)
			return false
		}
	}
	var head [2]byte
	if err == nil && c.growing(f) {
		if _, err = f.ReadAt(head[:], 0); err == nil && head[1]&0x0f == acctVersion {
			c.file, c.own, c.read, c.checked = f, own, info.Size(), c.now()
			if own {
				c.startTimer()
			}
			return true
		}
	}
	c.debug("no records of version 3", path, err)
	if own {
		_ = c.kernel("")
		os.Remove(path)
	}
	f.Close()
	return false
}

func (c *accounting) debug(msg, path string, err error) {
	c.cfg.Log.Debug("process accounting: "+msg, slog.String("file", path), slog.Any("err", err))
}

// release closes the file. If accounting was switched on for it, release switches that off and
// removes the file.
func (c *accounting) release() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.file == nil {
		return
	}
	c.file.Close()
	c.file = nil
	if c.own {
		_ = c.kernel("")
		os.Remove(c.cfg.OwnAcctFile)
	}
	c.own = false
}

func (c *accounting) reopen() {
	c.release()
	c.open()
}

// Close switches accounting off if the agent has switched it on.
func (c *accounting) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.release()
	return nil
}

// startTimer schedules a check of the size of the agent's own file after the interval.
func (c *accounting) startTimer() {
	c.timer = time.AfterFunc(time.Duration(c.settings.interval)*time.Second, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.limitSize()
	})
}

// limitSize replaces the agent's own file if it has become too large.
func (c *accounting) limitSize() {
	if c.closed || c.file == nil || !c.own {
		return
	}
	if info, err := c.file.Stat(); err == nil && uint64(info.Size()) > c.settings.threshold {
		c.reopen()
		return
	}
	c.startTimer()
}

// refresh reads the records that were written since it was last called.
func (c *accounting) refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.file == nil {
		if now.Sub(c.failed) > time.Duration(c.settings.retry)*time.Second {
			c.open()
		}
		return
	}
	if now.Sub(c.checked) > time.Duration(c.settings.check)*time.Second {
		if !c.growing(c.file) {
			c.reopen()
			return
		}
		c.checked = now
	}
	c.expire(now.Unix())
	info, err := c.file.Stat()
	if err != nil || info.Size() < c.read {
		c.reopen()
		return
	}
	if !c.take(info.Size(), now.Unix()) {
		c.reopen()
	}
}

// expire drops processes that ended longer ago than the lifetime.
func (c *accounting) expire(now int64) {
	n := 0
	for n < len(c.ended) && now-c.ended[n].at > int64(c.settings.lifetime) {
		delete(c.known, int32(c.ended[n].pid))
		n++
	}
	c.ended = append(c.ended[:0], c.ended[n:]...)
}

// acctChunk is the number of records to read at once.
const acctChunk = 256

// take reads the complete records up to an offset, and reports whether they were valid. If there are
// more than fit, it skips the oldest.
func (c *accounting) take(size, now int64) bool {
	if n := (size - c.read) / acctSize; n > maxEnded {
		c.read += (n - maxEnded) * acctSize
	}
	var buf [acctChunk * acctSize]byte
	for c.read+acctSize <= size {
		n := min(int64(len(buf)), (size-c.read)/acctSize*acctSize)
		if _, err := io.ReadFull(io.NewSectionReader(c.file, c.read, n), buf[:n]); err != nil {
			return false
		}
		c.read += n
		for b := buf[:n]; len(b) > 0; b = b[acctSize:] {
			r, ok := parseAcct(b)
			if !ok {
				return false
			}
			c.add(ended{r, r.end(c.hz)}, now)
		}
	}
	return true
}

// add keeps a process. Of those with the same identifier the first counts.
func (c *accounting) add(e ended, now int64) {
	pid := int32(e.pid)
	if pid <= 0 || c.known[pid] || now-e.at > int64(c.settings.lifetime) {
		return
	}
	if len(c.ended) == maxEnded {
		delete(c.known, int32(c.ended[0].pid))
		c.ended = append(c.ended[:0], c.ended[1:]...)
	}
	c.ended = append(c.ended, e)
	c.known[pid] = true
}

// isAcct reports whether a metric is about processes that have ended.
func isAcct(id pcp.PMID) bool { return id.Cluster() == acctCluster }

// known reports whether the collector knows who a client is, or all clients have access.
func (a *Agent) knows(client *pmda.Client) bool {
	if a.cfg.AllAccess {
		return true
	}
	if client == nil {
		return false
	}
	_, ok := client.UserID()
	return ok
}

// refreshAcct reads records, once per round.
func (a *Agent) refreshAcct(client *pmda.Client) {
	if a.acctClock != a.machine.clock || a.machine.clock == 0 {
		if a.knows(client) {
			a.acctClock = a.machine.clock
			a.machine.acct.refresh()
		}
	}
}

// Close implements io.Closer: it switches process accounting off if the agent has switched
// it on, closes files, and ends requests to the runtimes of containers.
func (a *Agent) Close() error {
	for _, v := range a.views {
		v.close()
	}
	return errors.Join(a.machine.containers.Close(), a.machine.acct.Close())
}

// Blocks of acctMetrics.
const (
	blockEnded = iota
	blockEndedText
)

// Columns of blockEnded.
const (
	endedTTY = iota
	endedExit
	endedUID
	endedGID
	endedPID
	endedParent
	endedBegin
	endedElapsed
	endedUser
	endedSystem
	endedMemory
	endedIO
	endedRW
	endedMinFaults
	endedMajFaults
	endedSwaps
	endedForked
	endedSuper
	endedDumped
	endedSignal
	numEnded
)

// Columns of blockEndedText.
const (
	endedTTYName = iota
	endedUserName
	endedGroupName
	numEndedText
)

// acctFamily are the metrics of processes that have ended. The agent has read them before,
// for all users alike.
func acctFamily(m *machine) column.Family {
	indom := &column.InDom{Serial: acctSerial, Help: "processes that have ended; names are those of their commands"}
	b := column.NewBlocks(acctMetrics, []column.Layout{
		blockEnded:     {Cols: numEnded, InDom: indom, Lists: true},
		blockEndedText: {Cols: numEndedText, InDom: indom},
	}...)
	source := &column.Source{Name: "process accounting", Blocks: b, Read: func() error {
		m.acct.mu.Lock()
		defer m.acct.mu.Unlock()
		b[blockEnded].Clear()
		b[blockEndedText].Clear()
		if m.acct.file == nil {
			return nil
		}
		now := m.acct.now().Unix()
		for i := range m.acct.ended {
			if e := &m.acct.ended[i]; now-e.at <= int64(m.acct.settings.lifetime) {
				m.showEnded(b, e)
			}
		}
		return nil
	}}
	return column.Family{Name: "acct", Metrics: acctMetrics, Sources: []*column.Source{source}}
}

// showEnded adds a row.
func (m *machine) showEnded(b []*column.Block, e *ended) {
	row := b[blockEnded].AddNamed(int32(e.pid), e.command)
	seconds := func(ticks float64) uint64 { return floatBits(ticks / float64(m.hz)) }
	bit := func(mask byte) uint64 {
		if e.flag&mask != 0 {
			return 1
		}
		return 0
	}
	for col, v := range [numEnded]uint64{
		endedTTY: uint64(e.tty), endedExit: uint64(e.exit), endedUID: uint64(e.uid), endedGID: uint64(e.gid), endedPID: uint64(e.pid),
		endedParent: uint64(e.ppid), endedBegin: uint64(e.begin), endedElapsed: seconds(float64(e.elapsed)),
		endedUser: seconds(float64(e.user)), endedSystem: seconds(float64(e.system)), endedMemory: e.memory, endedIO: e.io, endedRW: e.rw,
		endedMinFaults: e.minFaults, endedMajFaults: e.majFaults, endedSwaps: e.swapOuts,
		endedForked: bit(acctForked), endedSuper: bit(acctSuper), endedDumped: bit(acctDumped), endedSignal: bit(acctSignal),
	} {
		b[blockEnded].Set(row, col, v)
	}
	row = b[blockEndedText].Add(int32(e.pid))
	b[blockEndedText].SetText(row, endedTTYName, m.ttys.name(uint32(e.tty)))
	b[blockEndedText].SetText(row, endedUserName, m.users.name(e.uid))
	b[blockEndedText].SetText(row, endedGroupName, m.groups.name(e.gid))
}

// ownAcctFile is the agent's own file, in PCP's variable directory.
func ownAcctFile(dir string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "pmcd", "pacct")
}

// acctMetrics are the metrics of processes that have ended.
var acctMetrics = []column.Metric{
	{Name: "acct.psinfo.tty", Cluster: 70, Item: 0, Type: pcp.TypeU32, Sem: discrete, Col: endedTTY, Help: "Device number of the controlling terminal, 0 for none"},
	{Name: "acct.psinfo.exitcode", Cluster: 70, Item: 1, Type: pcp.TypeU32, Sem: discrete, Col: endedExit, Help: "How the process ended, as wait(2) has it"},
	{Name: "acct.psinfo.pid", Cluster: 70, Item: 4, Type: pcp.TypeU32, Sem: discrete, Col: endedPID, Help: "Process identifier"},
	{Name: "acct.psinfo.ppid", Cluster: 70, Item: 5, Type: pcp.TypeU32, Sem: discrete, Col: endedParent, Help: "Process identifier of the parent"},
	{Name: "acct.psinfo.btime", Cluster: 70, Item: 6, Type: pcp.TypeU32, Sem: discrete, Units: sec, Col: endedBegin, Help: "When the process began, in seconds since 1970"},
	{Name: "acct.psinfo.etime", Cluster: 70, Item: 7, Type: pcp.TypeFloat, Sem: counter, Units: sec, Col: endedElapsed, Help: "How long the process lived"},
	{Name: "acct.psinfo.utime", Cluster: 70, Item: 8, Type: pcp.TypeFloat, Sem: counter, Units: sec, Col: endedUser, Help: "Processor time in user mode"},
	{Name: "acct.psinfo.stime", Cluster: 70, Item: 9, Type: pcp.TypeFloat, Sem: counter, Units: sec, Col: endedSystem, Help: "Processor time in the kernel"},
	{Name: "acct.psinfo.mem", Cluster: 70, Item: 10, Type: pcp.TypeU64, Sem: instant, Units: kbyte, Col: endedMemory, Help: "Size of the address space at the end"},
	{Name: "acct.psinfo.io", Cluster: 70, Item: 11, Type: pcp.TypeU64, Sem: counter, Units: count, Col: endedIO, Help: "Bytes read and written; 0, as Linux does not count them here"},
	{Name: "acct.psinfo.rw", Cluster: 70, Item: 12, Type: pcp.TypeU64, Sem: counter, Units: count, Col: endedRW, Help: "Blocks read and written; 0, as Linux does not count them here"},
	{Name: "acct.psinfo.minflt", Cluster: 70, Item: 13, Type: pcp.TypeU64, Sem: counter, Col: endedMinFaults, Help: "Page faults that needed no disk"},
	{Name: "acct.psinfo.majflt", Cluster: 70, Item: 14, Type: pcp.TypeU64, Sem: counter, Units: count, Col: endedMajFaults, Help: "Page faults that needed a disk"},
	{Name: "acct.psinfo.swaps", Cluster: 70, Item: 15, Type: pcp.TypeU64, Sem: counter, Units: count, Col: endedSwaps, Help: "Times the process was swapped; 0, as Linux does not count them"},
	{Name: "acct.psinfo.ttyname", Cluster: 70, Item: 16, Type: pcp.TypeString, Sem: discrete, From: blockEndedText, Col: endedTTYName, Help: "Name of the controlling terminal, ? for none"},
	{Name: "acct.id.uid", Cluster: 70, Item: 2, Type: pcp.TypeU32, Sem: discrete, Col: endedUID, Help: "Real user identifier"},
	{Name: "acct.id.gid", Cluster: 70, Item: 3, Type: pcp.TypeU32, Sem: discrete, Col: endedGID, Help: "Real group identifier"},
	{Name: "acct.id.uid_nm", Cluster: 70, Item: 17, Type: pcp.TypeString, Sem: discrete, From: blockEndedText, Col: endedUserName, Help: "Name of the real user"},
	{Name: "acct.id.gid_nm", Cluster: 70, Item: 18, Type: pcp.TypeString, Sem: discrete, From: blockEndedText, Col: endedGroupName, Help: "Name of the real group"},
	{Name: "acct.flag.fork", Cluster: 70, Item: 19, Type: pcp.TypeU32, Sem: instant, Col: endedForked, Help: "Whether the process never executed another program after fork(2)"},
	{Name: "acct.flag.su", Cluster: 70, Item: 20, Type: pcp.TypeU32, Sem: instant, Col: endedSuper, Help: "Whether the process used privileges of root"},
	{Name: "acct.flag.core", Cluster: 70, Item: 21, Type: pcp.TypeU32, Sem: discrete, Col: endedDumped, Help: "Whether the process wrote a core file"},
	{Name: "acct.flag.xsig", Cluster: 70, Item: 22, Type: pcp.TypeU32, Sem: discrete, Col: endedSignal, Help: "Whether a signal ended the process"},
}
