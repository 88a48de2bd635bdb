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
	return newAgent(&reader{cfg: cfg, asleep: make(map[string]time.Time), open: openNVMe})
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
	cfg    Config
	blocks []*column.Block
	names  column.Names
	asleep map[string]time.Time // disks that did not answer: end of their pause
	open   func(device string) (nvmeDisk, error)
	logged map[string]string // the last error of each NVMe disk
}

// Blocks of the table.
const (
	blockDisks = iota
	blockInfo
	blockData
	blockNVMe
)

func (r *reader) family() column.Family {
	table := metrics()
	disks := &column.InDom{
		Serial: 0, Help: "Disks, by the names of their devices",
		Long: "All disks that are hardware, whether or not they know about themselves. A disk\nthat does not has no values.",
	}
	r.blocks = column.NewBlocks(table, []column.Layout{
		blockDisks: {InDom: disks, Lists: true},
		blockInfo:  {Cols: numInfo, InDom: disks},
		blockData:  {Cols: numData, InDom: disks},
		blockNVMe:  {Cols: numNVMeCols, InDom: disks},
	}...)
	list := &column.Source{Name: "disks", Read: r.list, Blocks: r.blocks[:blockInfo]}
	after := []*column.Source{list}
	return column.Family{Name: "smart", Metrics: table, Sources: []*column.Source{
		list,
		{Name: "smartctl -Hi", Row: r.info, Blocks: r.blocks[blockInfo:blockData], After: after},
		{Name: "smartctl -A", Row: r.data, Blocks: r.blocks[blockData:blockNVMe], After: after},
		{Name: "NVMe identify", Row: r.nvme, Blocks: r.blocks[blockNVMe:], After: after},
	}}
}

// list finds the disks.
func (r *reader) list() error {
	out := r.blocks[blockDisks]
	out.Clear()
	r.names.Begin()
	names, err := r.disks()
	for _, name := range names {
		if inst, kept := r.names.ID([]byte(name)); r.names.First(inst) {
			out.AddNamed(inst, kept)
		}
	}
	return err
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

func (r *reader) info(row int) {
	out := r.blocks[blockInfo]
	disk := r.disk(out.Insts()[row])
	if r.installed() {
		parseInfo(r.smartctl("-Hi", disk), out, row)
	} else {
		r.infoOfKernel(disk, out, row)
		if log := r.healthOfNVMe(disk); log != nil {
			health := "PASSED"
			if log[0] != 0 { // a warning
				health = "FAILED!"
			}
			out.SetText(row, infoHealth, health)
		}
	}
}

func (r *reader) data(row int) {
	out := r.blocks[blockData]
	disk := r.disk(out.Insts()[row])
	switch nvme := strings.HasPrefix(disk, "nvme"); {
	case !r.installed():
		if nvme {
			r.temperatures(disk, out.Row(row))
			parseHealth(r.healthOfNVMe(disk), out, row)
		}
	case nvme:
		parseNVMe(r.smartctl("-A", disk), out, row)
	default:
		parseATA(r.smartctl("-A", disk), out.Row(row))
	}
}

func (r *reader) disk(inst int32) string { return r.names.Name(inst) }
