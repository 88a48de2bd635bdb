package infiniband

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

// Domain is the domain of the agent (IB in stdpmid).
const Domain = 91

// class is the kernel's directory of the files.
const class = "/sys/class/infiniband"

// Limits of the input.
const (
	maxFile  = 4096 // bytes of a file
	maxRows  = 4096 // adapters, and ports
	wordSize = 4    // bytes that the counters of data count
)

// A Config sets the files that an agent reads. The zero Config reads those of this machine.
type Config struct {
	Dir    string       // of the files; "" means /sys/class/infiniband
	Domain int          // 0 means Domain
	Log    *slog.Logger // nil discards
}

// A reader reads the files.
type reader struct {
	dir             string
	blocks          []*column.Block
	adapters, ports column.Names
	buffer          procfs.Buffer
}

// New returns an agent. It reads nothing yet.
func New(cfg Config) (*column.Agent, error) {
	r := &reader{dir: cmp.Or(cfg.Dir, class), buffer: procfs.Buffer{Max: maxFile}}
	adapters := &column.InDom{Serial: 0, Help: "Adapters", Long: "Channel adapters and others, by the names of the kernel, such as mlx5_0."}
	ports := &column.InDom{Serial: 1, Help: "Ports of adapters", Long: "Names have the adapter and the number of the port, such as mlx5_0:1."}
	fields := &column.InDom{Serial: 2, Help: "Counters of management datagrams", Long: "Empty: this agent sends no management datagrams."}
	table := metrics()
	r.blocks = column.NewBlocks(
		table,
		column.Layout{InDom: adapters, Lists: true},
		column.Layout{InDom: ports, Lists: true},
		column.Layout{InDom: ports},
		column.Layout{InDom: ports},
		column.Layout{InDom: fields, Lists: true},
	)
	list := &column.Source{Name: class + "/ADAPTER/ports", Read: r.readPorts, Blocks: r.blocks[blockPorts : blockPorts+1]}
	return column.New(column.Config{Name: "infiniband", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log}, column.Family{
		Name: "infiniband", Metrics: table, Sources: []*column.Source{
			{Name: class, Read: r.readAdapters, Blocks: r.blocks[blockAdapters : blockAdapters+1]},
			list,
			{Name: class + "/ADAPTER/ports/NUMBER/counters", After: []*column.Source{list}, Row: r.counters, Blocks: r.blocks[blockCounters : blockCounters+1]},
			{Name: class + "/ADAPTER/ports/NUMBER", After: []*column.Source{list}, Row: r.messages, Blocks: r.blocks[blockMessages : blockMessages+1]},
			{Name: "management datagrams", Read: func() error { return nil }, Blocks: r.blocks[blockFields:]},
		},
	})
}

func (r *reader) readAdapters() error {
	b := r.blocks[blockAdapters]
	b.Clear()
	r.adapters.Begin()
	for _, name := range procfs.Names(r.dir) {
		if b.Rows() == maxRows {
			break
		}
		id, name := r.adapters.ID([]byte(name))
		row := b.AddNamed(id, name)
		for _, key := range [...]string{"hca_type", "fw_ver", "hw_rev", "node_guid", "sys_image_guid", "device/vendor"} {
			if text, ok := r.text(name, key); ok {
				b.SetText(row, b.Column(key), text)
			}
		}
		kind, _ := r.text(name, "node_type")
		kind = cmp.Or(stateName(kind, kinds()), "Unknown")
		b.SetText(row, b.Column("node_type"), kind)
		b.SetText(row, b.Column("transport"), transport(kind))
		board, _ := r.text(name, "board_id")
		b.SetText(row, b.Column("board_id"), cmp.Or(board, "NA"))
		b.Set(row, b.Column("ports"), uint64(len(procfs.Names(filepath.Join(r.dir, name, "ports")))))
	}
	return nil
}

// transport returns the text that the C agent has for a kind of adapter.
func transport(kind string) string {
	switch kind {
	case "CA", "Switch", "Router":
		return "Infinband"
	case "iWARP RNIC":
		return "iWARP"
	}
	return "unknown"
}

func (r *reader) readPorts() error {
	b := r.blocks[blockPorts]
	b.Clear()
	r.ports.Begin()
	for _, adapter := range procfs.Names(r.dir) {
		for _, number := range procfs.Names(filepath.Join(r.dir, adapter, "ports")) {
			if b.Rows() == maxRows {
				return nil
			}
			id, name := r.ports.ID([]byte(adapter + ":" + number))
			r.port(b, b.AddNamed(id, name), adapter, filepath.Join(adapter, "ports", number))
		}
	}
	return nil
}

// port sets the values of a port, whose files are in dir.
func (r *reader) port(b *column.Block, row int, adapter, dir string) {
	set := func(key, text string) {
		if text != "" {
			b.SetText(row, b.Column(key), text)
		}
	}
	for _, key := range [...]string{"lid", "sm_lid", "lid_mask_count", "cap_mask"} {
		text, _ := r.text(dir, key)
		if v, ok := number(text); ok {
			b.Set(row, b.Column(key), v)
			if key == "cap_mask" {
				b.SetText(row, b.Column("capabilities"), capabilities(v))
			}
		}
	}
	state, _ := r.text(dir, "state")
	set("state", stateName(state, states()))
	state, _ = r.text(dir, "phys_state")
	set("phys_state", stateName(state, physicalStates()))
	link, _ := r.text(dir, "link_layer")
	set("link_layer", link)
	device, _ := r.text(dir, "gid_attrs/ndevs/0")
	set("gid_attrs/ndevs/0", device)
	description, _ := r.text(adapter, "node_desc")
	set("node_desc", description)
	gid, _ := r.text(dir, "gids/0")
	if prefix, guid, ok := identifier(gid); ok {
		b.Set(row, b.Column("prefix"), prefix)
		set("guid", guid)
	}
	text, _ := r.text(dir, "rate")
	if l, ok := parseRate(text); ok {
		b.Set(row, b.Column("rate"), l.whole)
		if l.width > 0 {
			b.Set(row, b.Column("width"), l.width)
			set("speed", l.speed())
		}
	}
}

// counters sets the traffic and errors of a port.
func (r *reader) counters(row int) {
	b := r.blocks[blockCounters]
	dir := filepath.Join(r.portDir(row), "counters")
	value := func(key string) (uint64, bool) {
		text, _ := r.text(dir, key)
		return number(text)
	}
	for key, col := range b.Keys() {
		if strings.Contains(key, " ") || strings.Contains(key, ".") {
			continue // a sum, or not supported
		}
		if v, ok := value(key); ok {
			b.Set(row, col, v)
		}
	}
	sum := func(key string, factor uint64, files ...string) {
		var total uint64
		for _, file := range files {
			v, ok := b.Get(row, b.Column(file))
			if !ok {
				return
			}
			total += factor * v
		}
		b.Set(row, b.Column(key), total)
	}
	sum("in bytes", wordSize, "port_rcv_data")
	sum("out bytes", wordSize, "port_xmit_data")
	sum("total bytes", wordSize, "port_rcv_data", "port_xmit_data")
	sum("total packets", 1, "port_rcv_packets", "port_xmit_packets")
	sum("total drop", 1, "port_rcv_switch_relay_errors", "port_xmit_discards")
	sum("total filter", 1, "port_rcv_constraint_errors", "port_xmit_constraint_errors")
}

// messages sets the counters of the connection manager and those of the driver.
func (r *reader) messages(row int) {
	b := r.blocks[blockMessages]
	adapter, port, _ := strings.Cut(r.blocks[blockPorts].Names()[row], ":")
	for key, col := range b.Keys() {
		text, ok := r.text(r.portDir(row), key)
		if !ok && strings.HasPrefix(key, "cm_") { // kernels before 5.14
			text, _ = r.text("..", "infiniband_cm", adapter, port, key)
		}
		if v, ok := number(text); ok {
			b.Set(row, col, v)
		}
	}
}

// portDir returns the directory of a port, below that of all adapters.
func (r *reader) portDir(row int) string {
	adapter, port, _ := strings.Cut(r.blocks[blockPorts].Names()[row], ":")
	return filepath.Join(adapter, "ports", port)
}

// text returns the first line of a file.
func (r *reader) text(elem ...string) (string, bool) {
	b, err := r.buffer.Read(filepath.Join(append([]string{r.dir}, elem...)...), true)
	if err != nil {
		return "", false
	}
	line, _, _ := procfs.Line(b)
	return string(procfs.Trim(line)), true
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "infiniband", Domain: Domain, Source: class,
		New: func(e builtin.Env) (pmda.Agent, error) {
			dir := hostroot.Path(cmp.Or(e.HostRoot, "/"), class[1:])
			if s := e.Config.Getenv("IB_STATSPATH"); s != "" {
				dir = filepath.Join(s, class)
			}
			return New(Config{Dir: dir, Domain: e.Domain, Log: e.Log})
		},
	}
}
