package sockets

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/nsenter"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/column"
)

//go:embed help.txt
var texts string

// Domain is the domain of the agent (SOCKETS in stdpmid).
const Domain = 154

// Config sets the sockets that an Agent reads. The zero Config reads those of this
// machine.
type Config struct {
	// Root is the directory of sys, for names of control groups and devices; "" means /. With another
	// root there are no sockets unless it is Live: the kernel would report those of this machine.
	Root string
	// Live is set if Root is the root directory of the host, mounted in the container of this process, rather than a
	// copy of its files. If the container has a network of its own, there are sockets if it may enter that of the host.
	Live bool
	// FilterFile has the initial filter in its first line that is neither empty nor a comment
	// (filter.conf); without it all sockets are reported.
	FilterFile string
	// Domain is the domain to be served under; 0 means Domain.
	Domain int
	// Log gets a line if the kernel or the filter has an error; nil discards.
	Log *slog.Logger
}

// An Agent is the agent for sockets. It implements pmda.Agent, pmda.Refresher, NameSpacer, Texter,
// Labeler and Storer.
type Agent struct {
	*column.Agent
	reader *reader
	domain int
	log    *slog.Logger
}

// New returns an agent with the filter of cfg.FilterFile. It does not ask the kernel yet. An
// error in the filter is logged; then there are no sockets until another filter is stored.
func New(cfg Config) (*Agent, error) {
	if cfg.Domain == 0 {
		cfg.Domain = Domain
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	r := newReader(cfg.Root, cfg.Live)
	if err := r.loadFilter(cfg.FilterFile); err != nil {
		cfg.Log.Warn("no sockets are reported", "err", err)
	}
	engine, err := column.New(column.Config{Name: "sockets", Domain: cfg.Domain, Texts: texts, Log: cfg.Log}, r.family())
	if err != nil {
		return nil, err
	}
	return &Agent{engine, r, cfg.Domain, cfg.Log}, nil
}

// maxFilterFile is the number of bytes read of the file of the filter.
const maxFilterFile = 64 << 10

// loadFilter reads the file of the filter.
func (r *reader) loadFilter(path string) error {
	r.filter = &Filter{states: allStates}
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && len(b) > maxFilterFile {
		err = fmt.Errorf("%s: %d bytes: at most %d are allowed", path, len(b), maxFilterFile)
	}
	if err != nil {
		r.filter = nil
		return err
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		r.filterText = line
		if r.filter, err = ParseFilter(line); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		break
	}
	return nil
}

// Store implements pmda.Storer: only network.persocket.filter can be stored. A text that is
// not a filter gives pcp.ErrBadStore.
func (a *Agent) Store(_ context.Context, _ *pmda.Client, res *pcp.Result) error {
	for _, vs := range res.Sets {
		switch {
		case vs.PMID.Domain() != a.domain || vs.PMID.Cluster() > clusterSockets:
			return fmt.Errorf("sockets: store into %v: %w", vs.PMID, pcp.ErrPMID)
		case vs.PMID.Cluster() == clusterSockets:
			return fmt.Errorf("sockets: store into %v: %w", vs.PMID, pcp.ErrPermission)
		case vs.PMID.Item() != 0:
			return fmt.Errorf("sockets: store into %v: %w", vs.PMID, pcp.ErrPMID)
		case len(vs.Values) != 1:
			return pcp.ErrInst
		}
		text, ok := vs.Values[0].Text()
		if !ok {
			return pcp.ErrBadStore
		}
		f, err := ParseFilter(text)
		if err != nil {
			a.log.Warn("the filter is refused", "err", err)
			return fmt.Errorf("%w: %w", pcp.ErrBadStore, err)
		}
		a.reader.filter, a.reader.filterText = f, text
	}
	return nil
}

// clusterSockets is the cluster of the metrics of sockets; that of the filter precedes it.
const clusterSockets = 1

// Limits of a reading, and of the stored state.
const (
	maxSockets = 1 << 20
	keepNumber = 10 * time.Minute // after an instance was last seen
	purgeEvery = time.Minute
)

// A reader asks the kernel for sockets.
type reader struct {
	blocks     []*column.Block
	filter     *Filter // nil after an error
	filterText string
	dump       func(family, protocol uint8, states uint32, fn func(msg []byte) error) error
	now        func() time.Time
	devices    devices
	cgroups    cgroups

	known  map[string]*instance
	next   int32
	pass   uint64
	purged time.Time

	template []column.Cell
	diag     diag
	scratch  []byte // for texts
	takeIn   func(msg []byte) error
	clock    time.Time // of the reading
}

// An instance is a known name.
type instance struct {
	inst int32
	name string
	pass uint64 // that found it last
	row  int
	seen time.Time
}

func newReader(root string, live bool) *reader {
	r := &reader{now: time.Now, known: make(map[string]*instance), devices: devices{root: root}, cgroups: cgroups{root: root}}
	k := new(kernel)
	switch {
	case root == "" || root == "/":
		r.dump = k.dump
	case live:
		r.dump = func(family, protocol uint8, states uint32, fn func(msg []byte) error) error {
			return nsenter.InHostNet(root, func() error { return k.dump(family, protocol, states, fn) })
		}
	}
	r.blocks = column.NewBlocks(
		metrics, column.Layout{Cols: numCols, Lists: true, InDom: &column.InDom{Serial: 0, Help: "Sockets of this machine, by protocol, address and port"}}, column.Layout{Cols: 1})
	r.template = make([]column.Cell, numCols)
	for i := range metrics {
		if m := &metrics[i]; m.From == blockSockets && m.Type != pcp.TypeString {
			r.template[m.Col] = column.Num(0)
		}
	}
	r.takeIn = r.socket
	return r
}

func (r *reader) family() column.Family {
	return column.Family{Name: "sockets", Metrics: metrics, Sources: []*column.Source{
		{Name: "netlink", Read: r.read, Blocks: r.blocks[:blockFilter]},
		{Name: "filter", Read: r.readFilter, Blocks: r.blocks[blockFilter:]},
	}}
}

func (r *reader) readFilter() error {
	r.blocks[blockFilter].SetText(0, 0, r.filterText)
	return nil
}

// read asks for all sockets, in the order in which ss lists them.
func (r *reader) read() error {
	r.blocks[blockSockets].Clear()
	if r.dump == nil || r.filter == nil {
		return nil
	}
	r.pass++
	r.clock = r.now()
	r.cgroups.begin()
	for _, protocol := range [...]uint8{protocolUDP, protocolTCP} {
		r.diag.udp = protocol == protocolUDP
		for _, family := range [...]uint8{familyIPv4, familyIPv6} {
			if err := r.dump(family, protocol, r.filter.states, r.takeIn); err != nil && !absent(err) {
				return err
			}
		}
	}
	r.purge()
	return nil
}

// absent reports whether the error means that the kernel cannot report on the protocol, or not to this
// user.
func absent(err error) bool {
	for _, errno := range [...]syscall.Errno{syscall.ENOENT, syscall.EPROTONOSUPPORT, syscall.EAFNOSUPPORT, syscall.EPERM, syscall.EACCES} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// socket adds a socket.
func (r *reader) socket(msg []byte) error {
	d := &r.diag
	if err := d.decode(msg); err != nil {
		return err
	}
	if !r.filter.matches(d) {
		return nil
	}
	out := r.blocks[blockSockets]
	b := append(r.scratch[:0], d.netid()...)
	if d.v6only {
		b = append(b, '6')
	}
	b = append(b, '/')
	start := len(b)
	b = r.appendAddress(b, d, true)
	in := r.known[string(b)]
	if in == nil {
		if r.next < 0 { // after 2^31 names
			clear(r.known)
			r.next = 0
			out.Clear()
		}
		in = &instance{inst: r.next, name: string(b)}
		r.next++
		r.known[in.name] = in
	}
	if in.pass != r.pass {
		if out.Rows() == maxSockets {
			return fmt.Errorf("more than %d sockets: %w", maxSockets, pcp.ErrTooBig)
		}
		in.pass, in.row = r.pass, out.AddNamed(in.inst, in.name)
	}
	in.seen = r.clock
	copy(out.Row(in.row), r.template)
	out.SetString(in.row, colSrc, b[start:])
	r.scratch = b
	r.fill(out, in.row, d)
	return nil
}

// purge drops instances that have been gone for long.
func (r *reader) purge() {
	if r.clock.Sub(r.purged) < purgeEvery {
		return
	}
	r.purged = r.clock
	for name, in := range r.known {
		if r.clock.Sub(in.seen) > keepNumber {
			delete(r.known, name)
		}
	}
}
