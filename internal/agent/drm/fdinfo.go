package drm

import (
	"bytes"
	"math"

	"github.com/go-pcp/pcp/internal/procfs"
)

// Limits of a file.
const (
	maxEntries = 64 // engines and regions
	maxName    = 32 // bytes of their names
)

// An info is what /proc/PID/fdinfo/N reports about a client. It is used again for the next file.
type info struct {
	driver, pdev string
	id           uint64
	hasID        bool
	engines      []engineInfo
	regions      []regionInfo
}

// An engineInfo is about the work of a client on the engines of a class.
type engineInfo struct {
	name               string
	ns, cycles, total  uint64
	capacity           uint64 // engines of the class
	hasNS, hasC, hasTC bool
}

// A regionInfo is about the memory of a client in a region, in bytes.
type regionInfo struct {
	name                    string
	resident, total, shared uint64
	isResident              bool // drm-resident has it, and not drm-memory
	hasTotal                bool
}

// names are the strings of engines and others, so that a name is allocated once.
type names map[string]string

// get returns a name, "" if it is not valid.
func (n names) get(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	if len(b) == 0 || len(b) > maxName {
		return ""
	}
	for _, c := range b {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return ""
		}
	}
	const most = 4096
	if len(n) >= most {
		clear(n)
	}
	s := string(b)
	n[s] = s
	return s
}

func (f *info) engine(name string) *engineInfo {
	for i := range f.engines {
		if f.engines[i].name == name {
			return &f.engines[i]
		}
	}
	if name == "" || len(f.engines) >= maxEntries {
		return nil
	}
	f.engines = append(f.engines, engineInfo{name: name, capacity: 1})
	return &f.engines[len(f.engines)-1]
}

func (f *info) region(name string) *regionInfo {
	for i := range f.regions {
		if f.regions[i].name == name {
			return &f.regions[i]
		}
	}
	if name == "" || len(f.regions) >= maxEntries {
		return nil
	}
	f.regions = append(f.regions, regionInfo{name: name})
	return &f.regions[len(f.regions)-1]
}

// parse reads a file of /proc/PID/fdinfo. It reports false if the descriptor is not that of a client: lines such as
//
//	drm-driver:	i915
//	drm-pdev:	0000:00:02.0
//	drm-client-id:	7
//	drm-engine-render:	25662044495 ns
//	drm-engine-capacity-video:	2
//	drm-total-system0:	125 MiB
//
// Lines of another form are skipped.
func (f *info) parse(b []byte, n names) bool {
	*f = info{engines: f.engines[:0], regions: f.regions[:0]}
	for line := range procfs.Lines(b) {
		rest, ok := bytes.CutPrefix(line, []byte("drm-"))
		if !ok {
			continue
		}
		key, value, ok := procfs.Cut(rest, ':')
		if !ok {
			continue
		}
		what, name, _ := bytes.Cut(key, []byte{'-'})
		switch string(what) {
		case "driver":
			f.driver = n.get(value)
		case "pdev":
			f.pdev = n.get(value)
		case "client":
			if v, rest, ok := procfs.Uint(value); ok && len(rest) == 0 && string(name) == "id" {
				f.id, f.hasID = v, true
			}
		case "engine":
			if class, ok := bytes.CutPrefix(name, []byte("capacity-")); ok {
				if v, rest, ok := procfs.Uint(value); ok && len(rest) == 0 && v > 0 && v <= math.MaxUint16 {
					if e := f.engine(n.get(class)); e != nil {
						e.capacity = v
					}
				}
				continue
			}
			if v, rest, ok := procfs.Uint(value); ok && string(procfs.Trim(rest)) == "ns" && v != math.MaxUint64 {
				if e := f.engine(n.get(name)); e != nil {
					e.ns, e.hasNS = v, true
				}
			}
		case "cycles":
			if v, ok := plain(value); ok {
				if e := f.engine(n.get(name)); e != nil {
					e.cycles, e.hasC = v, true
				}
			}
		case "total", "memory", "resident", "shared":
			if class, ok := bytes.CutPrefix(name, []byte("cycles-")); ok && string(what) == "total" {
				if v, ok := plain(value); ok {
					if e := f.engine(n.get(class)); e != nil {
						e.total, e.hasTC = v, true
					}
				}
				continue
			}
			v, ok := size(value)
			if !ok {
				continue
			}
			r := f.region(n.get(name))
			if r == nil {
				continue
			}
			switch string(what) {
			case "total":
				r.total, r.hasTotal = v, true
			case "resident":
				r.resident, r.isResident = v, true
			case "memory":
				if !r.isResident {
					r.resident = v
				}
			case "shared":
				r.shared = v
			}
		}
	}
	return f.driver != "" && f.hasID
}

// plain reads a number without a unit.
func plain(b []byte) (v uint64, ok bool) {
	v, rest, ok := procfs.Uint(b)
	return v, ok && len(procfs.Trim(rest)) == 0 && v != math.MaxUint64
}

// size reads a number of bytes, with an optional unit.
func size(b []byte) (v uint64, ok bool) {
	v, rest, ok := procfs.Uint(b)
	if !ok {
		return 0, false
	}
	shift := 0
	switch string(procfs.Trim(rest)) {
	case "":
	case "KiB":
		shift = 10
	case "MiB":
		shift = 20
	default:
		return 0, false
	}
	return v << shift, v <= math.MaxInt64>>shift
}
