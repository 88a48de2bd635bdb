package bpf

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/go-pcp/pcp/pmda/column"
)

// A module is a set of programs and the metrics that are made of their maps.
type module struct {
	name  string // as upstream's modules are called
	inst  int32
	about string
	on    bool // unless the configuration switches it
	write func(k *kernel, o *object) error
	read  func(o *object) error // fills the blocks
	clear func()                // drops kept events when the module is switched off

	family column.Family

	// The remaining fields are guarded by Agent.mu.
	wanted bool
	run    *object // nil if it does not run
	why    string  // it does not, although wanted
}

// An object has the programs and maps of a module: first as they are written, then as they run.
type object struct {
	spec  ebpf.CollectionSpec
	order []string // of the programs; they are attached in this order
	maps  map[string]*ebpf.Map
	progs []*ebpf.Program
	links []link.Link
	took  time.Duration // from the first instruction to the last link
}

// table adds a map.
func (o *object) table(s *ebpf.MapSpec) {
	if o.spec.Maps == nil {
		o.spec.Maps = make(map[string]*ebpf.MapSpec)
	}
	o.spec.Maps[s.Name] = s
}

// counts adds a map of numbers by key, in which the entries used longest ago make room for others.
func (o *object) counts(name string, keySize, entries uint32) {
	o.table(&ebpf.MapSpec{Name: name, Type: ebpf.LRUHash, KeySize: keySize, ValueSize: 8, MaxEntries: entries})
}

// on adds the program for a tracepoint.
func (o *object) on(tracepoint string, c *code) {
	if o.spec.Programs == nil {
		o.spec.Programs = make(map[string]*ebpf.ProgramSpec)
	}
	name := "pcp_" + tracepoint
	o.order = append(o.order, name)
	o.spec.Programs[name] = &ebpf.ProgramSpec{
		Name: name, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: tracepoint,
		License:      "GPL", // the kernel requires it of programs that read its structures
		Instructions: c.end(),
	}
}

// start loads and attaches the programs of m. Whatever it created is gone if it returns an error.
func (m *module) start(k *kernel) (_ *object, err error) {
	began := time.Now()
	o := new(object)
	if err := m.write(k, o); err != nil {
		return nil, err
	}
	coll, err := ebpf.NewCollectionWithOptions(&o.spec, ebpf.CollectionOptions{Cache: k.types})
	if err != nil {
		return nil, refusal(err)
	}
	o.maps = coll.Maps
	for _, name := range o.order {
		o.progs = append(o.progs, coll.Programs[name])
	}
	for i, p := range o.progs {
		l, err := link.AttachTracing(link.TracingOptions{Program: p, AttachType: ebpf.AttachTraceRawTp})
		if err != nil {
			o.close()
			return nil, refusal(fmt.Errorf("tracepoint %s: %w", o.spec.Programs[o.order[i]].AttachTo, err))
		}
		o.links = append(o.links, l)
	}
	o.spec, o.took = ebpf.CollectionSpec{}, time.Since(began)
	return o, nil
}

// refusal adds to an error of the kernel the rights that are missing.
func refusal(err error) error {
	var refused *ebpf.VerifierError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("the kernel refuses the program: %w", refused)
	case errors.Is(err, errPermission):
		return fmt.Errorf("%w: the agent needs CAP_BPF and CAP_PERFMON, and a kernel that is not locked down to confidentiality", err)
	}
	return err
}

// close detaches the programs and frees all.
func (o *object) close() {
	for _, l := range o.links {
		l.Close()
	}
	for _, p := range o.progs {
		p.Close()
	}
	for _, m := range o.maps {
		m.Close()
	}
}

// stats returns how often the programs ran and for how long. ok is false if the kernel does not count that (kernel.bpf_stats_enabled).
func (o *object) stats() (runs, missed uint64, took time.Duration, ok bool) {
	for _, p := range o.progs {
		if s, err := p.Stats(); err == nil {
			runs += s.RunCount
			missed += s.RecursionMisses
			took += s.Runtime
		}
	}
	return runs, missed, took, runs > 0
}

// Batches of entries that are read from a map at once.
const batch = 512

// each calls fn for the entries of a map. Entries that programs add meanwhile may be missing. K and V have the sizes of its keys and values.
func each[K, V any](m *ebpf.Map, fn func(K, V)) error {
	size := min(batch, int(m.MaxEntries()))
	for {
		keys, values := make([]K, size), make([]V, size)
		var allKeys []K
		var allValues []V
		var cursor ebpf.MapBatchCursor
		for {
			n, err := m.BatchLookup(&cursor, keys, values, nil)
			if errors.Is(err, errNoSpace) && size < int(m.MaxEntries()) { // a bucket has more entries than the batch
				break
			}
			if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return err
			}
			allKeys, allValues = append(allKeys, keys[:n]...), append(allValues, values[:n]...)
			if err != nil {
				for i, key := range allKeys {
					fn(key, allValues[i])
				}
				return nil
			}
		}
		size = min(4*size, int(m.MaxEntries()))
	}
}
