package nfsclient

import (
	"bytes"
	_ "embed"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

//go:embed help.txt
var texts string

// Domain is the domain of the agent (NFSCLIENT in stdpmid).
const Domain = 62

// Config sets the file that an agent reads. The zero Config reads that of this machine.
type Config struct {
	// Root is the directory of proc; "" means /.
	Root string
	// Mountstats is a file to read in place of proc/self/mountstats.
	Mountstats string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line if the file exists and cannot be read; nil discards.
	Log *slog.Logger
}

// Blocks of metrics.
const (
	blockMounts = iota // which lists the instances
	blockOps
)

// Limits: the number of mounts reported, and the number of mount points whose numbers are kept.
const (
	maxMounts = 1 << 13
	maxNames  = 1 << 16
)

// New returns an agent for the file that cfg names. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	path := cfg.Mountstats
	if path == "" {
		path = filepath.Join(cfg.Root, "proc/self/mountstats")
	}
	return column.New(column.Config{Name: "nfsclient", Domain: cfg.Domain, Texts: texts, Log: cfg.Log}, newReader(path).family())
}

// A reader reads mountstats.
type reader struct {
	file    *procfs.File
	metrics []column.Metric
	blocks  []*column.Block
	names   column.Names
	ops     map[string]int // first column of an operation, by its name in the file

	text                 map[string]int // columns by the text before the first colon
	events, bytes        []int          // columns in the order of the file
	tcp, udp, rdma       []int          // likewise, from the bind count on
	options              map[string]option
	defaults             []column.Cell // of a mount
	row                  int           // of the current mount; -1 if it is not NFS
	inOps                bool
	optionsText, srcPort int
	export, mountPoint   int
}

// An option maps a mount option to its column and value.
type option struct {
	col    int
	kind   optionKind
	number uint64 // of kind flag
}

type optionKind uint8

const (
	flag       optionKind = iota // "noac" means number
	word                         // "rw" is the text itself
	numberText                   // "rsize=4096"
	valueText                    // "sec=krb5"
)

func newReader(path string) *reader {
	r := &reader{file: procfs.NewFile(path), metrics: metrics(), ops: make(map[string]int)}
	d := &column.InDom{Serial: 0, Help: "Mounted NFS file systems, by mount point"}
	r.blocks = column.NewBlocks(r.metrics,
		column.Layout{InDom: d, Lists: true}, column.Layout{Cols: len(operations) * len(opColumns), InDom: d})
	for i, op := range operations {
		r.ops[string(bytes.ToUpper([]byte(op)))] = i * len(opColumns)
	}
	r.text = map[string]int{"caps": r.col("capabilities"), "nfsv4": r.col("nfsv4"), "sec": r.col("security")}
	r.events = r.cols(
		"events.", "inoderevalidate", "dentryrevalidate", "datainvalidate", "attrinvalidate", "vfsopen", "vfslookup", "vfsaccess",
		"vfsupdatepage", "vfsreadpage", "vfsreadpages", "vfswritepage", "vfswritepages", "vfsgetdents", "vfssetattr", "vfsflush",
		"vfsfsync", "vfslock", "vfsrelease", "congestionwait", "setattrtrunc", "extendwrite", "sillyrename", "shortread",
		"shortwrite", "delay", "pnfsread", "pnfswrite",
	)
	r.bytes = r.cols("", "bytes.read.normal", "bytes.write.normal", "bytes.read.direct", "bytes.write.direct",
		"bytes.read.server", "bytes.write.server", "pages.read", "pages.write")
	r.tcp = r.cols("xprt.", "bind_count", "connect_count", "connect_time", "idle_time", "sends", "recvs", "bad_xids", "req_u",
		"backlog_u", "max_slots", "sending_u", "pending_u")
	r.udp = r.cols("xprt.", "bind_count", "sends", "recvs", "bad_xids", "req_u", "backlog_u", "max_slots", "sending_u", "pending_u")
	r.rdma = append(slices.Clone(r.tcp[:9]), r.cols("xprt.", "read_chunks", "write_chunks", "reply_chunks", "total_rdma_req",
		"total_rdma_rep", "pullup", "fixup", "hardway", "failed_marshal", "bad_reply", "nomsg_call", "mrs_recycled", "mrs_orphaned",
		"mrs_allocated", "local_inv_needed", "empty_sendctxq", "reply_waits")...)
	r.optionsText, r.srcPort = r.col("options.string"), r.col("xprt.srcport")
	r.export, r.mountPoint = r.col("export"), r.col("mountpoint")
	r.makeOptions()
	r.makeDefaults()
	return r
}

func (r *reader) col(key string) int { return r.blocks[blockMounts].Column(key) }

func (r *reader) cols(prefix string, keys ...string) []int {
	cols := make([]int, len(keys))
	for i, key := range keys {
		cols[i] = r.col(prefix + key)
	}
	return cols
}

// makeOptions fills the table of options.
func (r *reader) makeOptions() {
	r.options = make(map[string]option)
	for _, name := range [...]string{"atime", "diratime", "cto", "ac", "lock", "acl", "rdirplus", "sharecache", "resvport"} {
		r.options["no"+name] = option{r.col("options." + name), flag, 0}
	}
	for _, name := range [...]string{"sync", "posix", "fsc", "migration"} {
		r.options[name] = option{r.col("options." + name), flag, 1}
	}
	for _, name := range [...]string{"rw", "ro"} {
		r.options[name] = option{r.col("options.readmode"), word, 0}
	}
	for _, name := range [...]string{"hard", "soft", "softerr"} {
		r.options[name] = option{r.col("options.recovery"), word, 0}
	}
	for _, name := range [...]string{
		"rsize", "wsize", "bsize", "namlen", "acregmin", "acregmax", "acdirmin", "acdirmax", "port", "timeo", "retrans", "mountvers", "mountport",
	} {
		r.options[name+"="] = option{r.col("options." + name), numberText, 0}
	}
	for _, name := range [...]string{"vers", "proto", "sec", "mountaddr", "mountproto", "clientaddr", "lookupcache", "local_lock"} {
		r.options[name+"="] = option{r.col("options." + name), valueText, 0}
	}
}

func (r *reader) family() column.Family {
	return column.Family{Name: "nfsclient", Metrics: r.metrics, Sources: []*column.Source{{
		Name: r.file.Path(), Read: r.read, Blocks: r.blocks,
	}}}
}

func (r *reader) read() error {
	b, err := r.file.Read()
	if err != nil {
		return err
	}
	return r.parse(b)
}

// parse reads the kernel's text about all mounts. A mount starts with a line
//
//	device srv:/export mounted on /mnt with fstype nfs statvers=1.1
//
// and the lines after it describe it, if it is an NFS mount.
func (r *reader) parse(b []byte) error {
	mounts, ops := r.blocks[blockMounts], r.blocks[blockOps]
	mounts.Clear()
	ops.Clear()
	if r.names.Len() > maxNames {
		r.names = column.Names{}
	}
	r.names.Begin()
	r.row, r.inOps = -1, false
	for line := range procfs.Lines(b) {
		switch {
		case bytes.HasPrefix(line, []byte("device ")):
			if err := r.start(line); err != nil {
				return fmt.Errorf("%s: %w", r.file.Path(), err)
			}
		case r.row < 0:
		case r.inOps && r.parseOp(line):
		default:
			r.inOps = false
			r.parseLine(line)
		}
	}
	return nil
}

// start begins a mount.
func (r *reader) start(line []byte) error {
	rest := line[len("device "):]
	export, rest, _ := cut(rest, ' ')
	rest, ok1 := bytes.CutPrefix(rest, []byte("mounted on "))
	point, rest, _ := cut(rest, ' ')
	kind, ok2 := bytes.CutPrefix(rest, []byte("with fstype "))
	if !ok1 || !ok2 {
		return nil // the following lines belong to the previous mount
	}
	r.row, r.inOps = -1, false
	if len(point) == 0 || !bytes.HasPrefix(kind, []byte("nfs statvers=")) && !bytes.HasPrefix(kind, []byte("nfs4 statvers=")) {
		return nil
	}
	mounts, ops := r.blocks[blockMounts], r.blocks[blockOps]
	inst, name := r.names.ID(point)
	if r.names.First(inst) {
		if mounts.Rows() == maxMounts {
			return fmt.Errorf("more than %d file systems: %w", maxMounts, pcp.ErrTooBig)
		}
		r.row = mounts.AddNamed(inst, name)
		ops.Add(inst)
	} else { // mounted over another
		r.row = slices.Index(mounts.Insts(), inst)
	}
	copy(mounts.Row(r.row), r.defaults)
	cells := ops.Row(r.row)
	for i := range cells {
		cells[i] = column.Num(0) // this version may not have the operation
	}
	for _, col := range r.text {
		mounts.SetText(r.row, col, "")
	}
	mounts.SetString(r.row, r.export, export)
	mounts.SetString(r.row, r.mountPoint, point)
	return nil
}

// makeDefaults fills the row for a mount of which the kernel lists nothing: numbers are 0, options
// that "no" switches off are on, and options that are texts have no value.
func (r *reader) makeDefaults() {
	r.defaults = make([]column.Cell, r.blocks[blockMounts].Cols())
	for i := range mountMetrics {
		if m := &mountMetrics[i]; m.Type != pcp.TypeString {
			r.defaults[r.col(m.Key)] = column.Num(0)
		}
	}
	for name, o := range r.options {
		if o.kind == flag && name[:2] == "no" {
			r.defaults[o.col] = column.Num(1)
		}
	}
}

// parseLine reads a line about a mount: "\tage:\t572945".
func (r *reader) parseLine(line []byte) {
	out := r.blocks[blockMounts]
	line, ok := bytes.CutPrefix(line, []byte("\t"))
	if !ok {
		return
	}
	if string(line) == "per-op statistics" {
		r.inOps = true
		return
	}
	head, rest, _ := cut(line, ':')
	rest, ok = bytes.CutPrefix(rest, []byte("\t"))
	if !ok {
		return
	}
	if col, ok := r.text[string(head)]; ok {
		out.SetString(r.row, col, rest)
		return
	}
	switch string(head) {
	case "opts":
		r.parseOptions(rest)
	case "age":
		if v, _, ok := procfs.Uint(rest); ok {
			out.Set(r.row, r.col("age"), v)
		}
	case "events":
		r.numbers(rest, r.events)
	case "bytes":
		r.numbers(rest, r.bytes)
	case "xprt":
		r.parseTransport(rest)
	}
}

// numbers sets columns to the numbers of a line that exist.
func (r *reader) numbers(b []byte, cols []int) {
	out := r.blocks[blockMounts]
	for _, col := range cols {
		v, rest, ok := procfs.Uint(b)
		if !ok {
			return
		}
		out.Set(r.row, col, v)
		b = rest
	}
}

// parseTransport reads "tcp 774 1 207 …". Of several connections the last counts.
func (r *reader) parseTransport(b []byte) {
	protocol, rest := procfs.Field(b)
	var cols []int
	switch string(protocol) {
	case "tcp":
		cols = r.tcp
	case "udp":
		cols = r.udp
	case "rdma":
		cols = r.rdma
	default:
		return
	}
	port, rest := procfs.Field(rest)
	r.blocks[blockMounts].SetString(r.row, r.srcPort, port)
	r.numbers(rest, cols)
}

// parseOptions reads "rw,vers=3,rsize=65536,…".
func (r *reader) parseOptions(b []byte) {
	out := r.blocks[blockMounts]
	out.SetString(r.row, r.optionsText, b)
	for len(b) > 0 {
		var opt []byte
		opt, b, _ = cut(b, ',')
		opt = procfs.Trim(opt)
		name := opt
		if i := bytes.IndexByte(opt, '='); i >= 0 {
			name = opt[:i+1]
		}
		o, ok := r.options[string(name)]
		if !ok {
			continue
		}
		value := opt[len(name):]
		switch o.kind {
		case flag:
			out.Set(r.row, o.col, o.number)
		case word:
			out.SetString(r.row, o.col, opt)
		case valueText:
			out.SetString(r.row, o.col, value)
		case numberText:
			if v, rest, ok := procfs.Uint(value); ok && len(rest) == 0 {
				out.Set(r.row, o.col, v)
			}
		}
	}
}

// parseOp reads " GETATTR: 4125 4322 1 467292 461888 310200 37328 347664" and reports whether the line
// is of this form. The ninth number, of errors, exists since version 1.1 of the statistics.
func (r *reader) parseOp(line []byte) bool {
	name, rest, ok := cut(procfs.Skip(line), ':')
	if !ok || len(name) == 0 {
		return false
	}
	for _, c := range name {
		if (c < 'A' || c > 'Z') && c != '_' {
			return false
		}
	}
	var v [len(opColumns)]uint64
	n := 0
	for ; n < len(v); n++ {
		if v[n], rest, ok = procfs.Uint(rest); !ok {
			break
		}
	}
	if n < len(v)-1 {
		return true // a damaged line
	}
	if first, ok := r.ops[string(name)]; ok {
		cells := r.blocks[blockOps].Row(r.row)[first:]
		for i := range n {
			cells[i] = column.Num(v[i])
		}
	}
	return true
}

// cut is bytes.Cut for a single byte.
func cut(b []byte, sep byte) (before, after []byte, ok bool) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}
