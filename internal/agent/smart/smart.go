package smart

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (SMART in stdpmid).
const Domain = 150

// Config sets the sources that an Agent reads. The zero Config reads those of this
// machine.
type Config struct {
	// Root is the directory of sys; "" means /.
	Root string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Command is run by sh in place of smartctl, with the same arguments; "" means smartctl,
	// if it is installed.
	Command string
	// List is run by sh and prints the names of disks, a line each; "" means to read /sys.
	List string
	// Log gets a line about a disk that does not answer; nil discards.
	Log *slog.Logger
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "smart", Domain: Domain, Program: builtin.Program{KeepUser: true},
		New: func(e builtin.Env) (pmda.Agent, error) {
			cfg := Config{Root: e.HostRoot, Domain: e.Domain, Log: e.Log, Command: e.Config.Getenv("SMART_SETUP"), List: e.Config.Getenv("SMART_SETUP_LSBLK")}
			return New(cfg), nil
		},
	}
}

// New returns an agent for the disks that cfg names. It runs nothing yet.
func New(cfg Config) *column.Agent {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return newAgent(&reader{cfg: cfg, asleep: make(map[string]time.Time), open: openNVMe, openSCSI: openSCSI})
}

// newAgent returns an agent for the disks that r reads.
func newAgent(r *reader) *column.Agent {
	a, err := column.New(column.Config{Name: "smart", Domain: r.cfg.Domain, Log: r.cfg.Log}, r.family())
	if err != nil {
		panic(err) // the tables are wrong
	}
	return a
}

// Limits of a program's run.
const (
	patience  = 4 * time.Second
	sleep     = time.Minute // for a disk that did not answer in time
	maxOutput = 1 << 20
)

// A reader knows the disks.
type reader struct {
	cfg      Config
	blocks   []*column.Block
	byName   view
	byWWID   view
	devices  map[string]string    // names of disks by WWID
	asleep   map[string]time.Time // disks that did not answer: end of their pause
	open     func(device string) (nvmeDisk, error)
	openSCSI func(device string) (scsiDisk, error)
	logged   map[string]string // the last error of each disk
}

// A view has the values of disks, by the names of their devices or by their WWID.
type view struct {
	r                                      *reader
	list, info, data, nvme, totals, errors *column.Block
	names, entries                         column.Names
	disk                                   func(inst int32) string // name of the device
}

// Blocks of the table: those of disks by name, then as many of disks by WWID.
const (
	blockDisks = iota
	blockInfo
	blockData
	blockNVMe
	blockTotals
	blockErrors
	blocksOfView
)

func (r *reader) family() column.Family {
	table := metrics()
	disks := &column.InDom{
		Serial: 0, Help: "Disks, by the names of their devices",
		Long: "All disks that are hardware, whether or not they know about themselves. A disk\nthat does not has no values.",
	}
	wwids := &column.InDom{
		Serial: 1, Help: "Disks, by their WWID",
		Long: "The identifier that a disk has from its manufacturer, without its kind (naa,\neui, t10). It stays when the name of the device changes. Disks without one are\nmissing.",
	}
	diskErrors := &column.InDom{
		Serial: 2, Help: "Errors of NVMe disks, by the names of their devices",
		Long: "Such as nvme0n1::entry_0, the newest error. The numbers change with each error.",
	}
	wwidErrors := &column.InDom{
		Serial: 3, Help: "Errors of NVMe disks, by their WWID",
		Long: "Such as 0025385b71b00ee2::entry_0, the newest error. The numbers change with\neach error.",
	}
	var layouts []column.Layout
	for _, d := range [...][2]*column.InDom{{disks, diskErrors}, {wwids, wwidErrors}} {
		layouts = append(layouts, []column.Layout{
			blockDisks:  {InDom: d[0], Lists: true},
			blockInfo:   {Cols: numInfo, InDom: d[0]},
			blockData:   {Cols: numData, InDom: d[0]},
			blockNVMe:   {Cols: numNVMeCols, InDom: d[0]},
			blockTotals: {Cols: 1, InDom: d[0]},
			blockErrors: {Cols: numError, InDom: d[1], Lists: true},
		}...)
	}
	r.blocks = column.NewBlocks(table, layouts...)
	r.byName.set(r, r.blocks[:blocksOfView])
	r.byWWID.set(r, r.blocks[blocksOfView:])
	r.byName.disk = func(inst int32) string { return r.byName.names.Name(inst) }
	r.byWWID.disk = func(inst int32) string { return r.devices[r.byWWID.names.Name(inst)] }
	list := &column.Source{Name: "disks", Read: r.list, Blocks: []*column.Block{r.byName.list}}
	listWWID := &column.Source{Name: "wwid", Read: r.listWWID, Blocks: []*column.Block{r.byWWID.list}, After: []*column.Source{list}}
	sources := append([]*column.Source{list, listWWID}, r.byName.sources(list)...)
	sources = append(sources, r.byWWID.sources(listWWID)...)
	sources = append(sources, &column.Source{
		Name: "NVMe log of errors", Read: r.readErrors, After: []*column.Source{list, listWWID},
		Blocks: []*column.Block{r.byName.totals, r.byName.errors, r.byWWID.totals, r.byWWID.errors},
	})
	return column.Family{Name: "smart", Metrics: table, Sources: sources}
}

func (v *view) set(r *reader, blocks []*column.Block) {
	v.r = r
	v.list, v.info, v.data = blocks[blockDisks], blocks[blockInfo], blocks[blockData]
	v.nvme, v.totals, v.errors = blocks[blockNVMe], blocks[blockTotals], blocks[blockErrors]
}

// sources returns the sources that fill the rows of the disks of list.
func (v *view) sources(list *column.Source) []*column.Source {
	after := []*column.Source{list}
	return []*column.Source{
		{Name: "smartctl -Hi", Row: v.fillInfo, Blocks: []*column.Block{v.info}, After: after},
		{Name: "smartctl -A", Row: v.fillData, Blocks: []*column.Block{v.data}, After: after},
		{Name: "NVMe identify", Row: v.fillNVMe, Blocks: []*column.Block{v.nvme}, After: after},
	}
}

// list finds the disks.
func (r *reader) list() error {
	v := &r.byName
	v.list.Clear()
	v.names.Begin()
	names, err := r.disks()
	for _, name := range names {
		if inst, kept := v.names.ID([]byte(name)); v.names.First(inst) {
			v.list.AddNamed(inst, kept)
		}
	}
	return err
}

// listWWID finds the identifiers of the disks. Of two disks with the same one, as two paths to a disk, the first counts.
func (r *reader) listWWID() error {
	v := &r.byWWID
	v.list.Clear()
	v.names.Begin()
	r.devices = make(map[string]string)
	for _, disk := range r.byName.list.Names() {
		wwid := r.wwid(disk)
		if wwid == "" {
			continue
		}
		if inst, kept := v.names.ID([]byte(wwid)); v.names.First(inst) {
			v.list.AddNamed(inst, kept)
			r.devices[kept] = disk
		}
	}
	return nil
}

// maxWWID is the maximum length of an identifier.
const maxWWID = 255

// wwid returns the identifier of a disk, "" if the kernel does not know it.
func (r *reader) wwid(disk string) string {
	for _, file := range [...]string{"device/wwid", "wwid"} {
		b, err := procfs.ReadOnce(r.sys(disk, file))
		if err == nil {
			return parseWWID(b)
		}
	}
	return ""
}

// parseWWID removes the kind of an identifier, and replaces blanks, which the names of instances cannot have.
func parseWWID(b []byte) string {
	for _, kind := range [...]string{"t10.", "eui.", "naa."} {
		if rest, ok := bytes.CutPrefix(b, []byte(kind)); ok {
			b = rest
			break
		}
	}
	s := strings.Join(strings.Fields(strings.TrimRight(string(b), "\x00\n")), "_")
	if len(s) > maxWWID || strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
		return ""
	}
	return s
}

// disks returns the names of the disks: block devices that are hardware, except floppies
// and CD-ROMs.
func (r *reader) disks() (names []string, err error) {
	if r.cfg.List != "" {
		out, err := r.run("sh", "-c", r.cfg.List)
		for line := range procfs.Lines(out) {
			if name, _ := procfs.Field(line); len(name) > 0 && name[0] != '-' {
				names = append(names, string(name))
			}
		}
		return names, err
	}
	for _, name := range procfs.Names(filepath.Join(r.cfg.Root, "sys/block")) {
		if strings.HasPrefix(name, "sr") || strings.HasPrefix(name, "fd") || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "ram") {
			continue
		}
		if procfs.Exists(r.sys(name, "device")) {
			names = append(names, strings.ReplaceAll(name, "!", "/"))
		}
	}
	slices.Sort(names)
	return names, nil
}

// sys returns the name of a file about a disk.
func (r *reader) sys(disk, file string) string {
	return filepath.Join(r.cfg.Root, "sys/block", strings.ReplaceAll(disk, "/", "!"), file)
}

// installed reports whether there is a smartctl, or its replacement.
func (r *reader) installed() bool {
	if r.cfg.Command != "" {
		return true
	}
	_, err := exec.LookPath("smartctl")
	return err == nil && r.cfg.Root == "/"
}

// smartctl returns the output of smartctl about a disk, nothing if it fails.
func (r *reader) smartctl(option, disk string) []byte {
	if time.Now().Before(r.asleep[disk]) {
		return nil
	}
	var out []byte
	var err error
	if r.cfg.Command != "" {
		out, err = r.run("sh", "-c", r.cfg.Command+` "$@"`, "sh", option, "/dev/"+disk)
	} else {
		out, err = r.run("env", "LC_ALL=C", "smartctl", option, "/dev/"+disk)
	}
	if err != nil {
		r.asleep[disk] = time.Now().Add(sleep)
		r.cfg.Log.Warn("disk does not answer", "disk", disk, "err", err)
		return nil
	}
	delete(r.asleep, disk)
	return out
}

// run runs a program and returns its output. Its exit status reports the health of the
// disk, not whether it ran.
func (r *reader) run(name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &limited{&out, maxOutput}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if cmd.ProcessState == nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// A limited writer drops bytes beyond its limit.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.left -= n
	if _, err := l.w.Write(b[:n]); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (v *view) fillInfo(row int) {
	r, out := v.r, v.info
	disk := v.disk(out.Insts()[row])
	out.SetText(row, infoDevice, disk)
	if wwid := r.wwid(disk); wwid != "" {
		out.SetText(row, infoUUID, wwid)
	}
	if r.installed() {
		parseInfo(r.smartctl("-Hi", disk), out, row)
		return
	}
	r.infoOfKernel(disk, out, row)
	if log := r.healthOfNVMe(disk); log != nil {
		health := "PASSED"
		if log[0] != 0 { // a warning
			health = "FAILED!"
		}
		out.SetText(row, infoHealth, health)
	}
	r.askSCSI(disk, func(d scsiDisk, answer []byte, ata bool) error {
		if ata {
			return infoOfATA(d, out, row)
		}
		infoOfSCSI(d, answer, out, row)
		return nil
	})
}

func (v *view) fillData(row int) {
	r, out := v.r, v.data
	disk := v.disk(out.Insts()[row])
	switch nvme := strings.HasPrefix(disk, "nvme"); {
	case !r.installed():
		if nvme {
			r.temperatures(disk, out.Row(row))
			parseHealth(r.healthOfNVMe(disk), out, row)
			return
		}
		r.askSCSI(disk, func(d scsiDisk, _ []byte, ata bool) error {
			if ata {
				return dataOfATA(d, out.Row(row))
			}
			dataOfSCSI(d, out.Row(row))
			return nil
		})
	case nvme:
		parseNVMe(r.smartctl("-A", disk), out, row)
	default:
		parseATA(r.smartctl("-A", disk), out.Row(row))
	}
}
