package denki

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A zone is a part of the processors that RAPL knows: intel-rapl:0 is a package, and
// intel-rapl:0:1 is a part of it. The processors of AMD have the same names.
type zone struct {
	pkg, part int // part is -1 for the package
	name      string
	energy    *procfs.File
	most      uint64
	counter   counter
	there     bool // in the last list
	has       bool // a value
}

const zonePrefix = "intel-rapl:"

// zoneNumbers returns the numbers in the kernel's name of a zone.
func zoneNumbers(name string) (pkg, part int, ok bool) {
	rest, ok := strings.CutPrefix(name, zonePrefix)
	if !ok {
		return 0, 0, false
	}
	first, second, sub := strings.Cut(rest, ":")
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n >= maxZones || strconv.Itoa(n) != s {
			return -1
		}
		return n
	}
	pkg, part = number(first), -1
	if sub {
		if part = number(second); part < 0 {
			return 0, 0, false
		}
	}
	return pkg, part, pkg >= 0
}

// readZones reads the energy of all zones.
func (r *reader) readZones() error {
	dir := r.path("sys/class/powercap")
	for _, z := range r.zones {
		z.there = false
	}
	for _, name := range procfs.Names(dir) {
		pkg, part, ok := zoneNumbers(name)
		if !ok {
			continue
		}
		z := r.zones[name]
		if z == nil {
			if len(r.zones) >= maxZones {
				continue
			}
			title := r.text(r.path("sys/class/powercap", name, "name"))
			if title == "" || strings.Contains(title, " ") {
				continue
			}
			z = &zone{pkg: pkg, part: part, name: title, energy: procfs.NewWholeFile(r.path("sys/class/powercap", name, "energy_uj"))}
			if most, ok := r.number(r.path("sys/class/powercap", name, "max_energy_range_uj")); ok && most > 0 {
				z.most = uint64(most)
			}
			r.zones[name] = z
		}
		z.there = true
	}
	out := r.blocks[blockZones]
	out.Clear()
	order := make([]*zone, 0, len(r.zones))
	packages := 0
	for name, z := range r.zones {
		if !z.there {
			z.energy.Close()
			delete(r.zones, name)
			continue
		}
		if z.part < 0 && strings.HasPrefix(z.name, "package-") {
			packages++
		}
		order = append(order, z)
	}
	slices.SortFunc(order, func(a, b *zone) int {
		if a.pkg != b.pkg {
			return a.pkg - b.pkg
		}
		return a.part - b.part
	})
	r.zoneNames.Begin()
	for _, z := range order {
		name := z.name
		if packages > 1 {
			name = strconv.Itoa(z.pkg) + "-" + name
		}
		id, name := r.zoneNames.ID([]byte(name))
		if !r.zoneNames.First(id) {
			continue
		}
		row := out.AddNamed(id, name)
		z.has = false
		b, err := z.energy.Read()
		if err != nil {
			z.energy.Close()
			continue
		}
		if v, ok := parseNumber(b); ok && v >= 0 {
			const micro = 1e6
			sum := z.counter.add(uint64(v), z.most)
			z.has = true
			out.Set(row, zoneWhole, sum/micro)
			out.Row(row)[zoneExact] = double(float64(sum/(micro/10)) / 10)
		}
	}
	return nil
}

// energyOfAll returns the sum of the energy of all packages and their memory in microjoules, as
// last read. It is not known if the kernel reports none.
func (r *reader) energyOfAll() (sum uint64, ok bool) {
	for _, z := range r.zones {
		if z.has && (z.part < 0 && strings.HasPrefix(z.name, "package-") || z.part >= 0 && z.name == "dram") {
			sum += z.counter.sum
			ok = true
		}
	}
	return sum, ok
}

// Registers of Intel's processors (MSR_PKG_ENERGY_STATUS and others).
const (
	regUnit    = 0x606
	regPackage = 0x611
	regCores   = 0x639
	regUncore  = 0x641
	regDRAM    = 0x619
	regPsys    = 0x64d
)

// msrRegister returns the register of a part and the name of its instance.
func msrRegister(part int) (reg int64, name string) {
	parts := [...]struct {
		reg  int64
		name string
	}{{regPackage, "package_energy"}, {regCores, "cores_energy"}, {regUncore, "uncore_energy"}, {regDRAM, "dram_energy"}, {regPsys, "psys_energy"}}
	if part >= len(parts) {
		return 0, ""
	}
	return parts[part].reg, parts[part].name
}

// An msrPackage is a processor with registers.
type msrPackage struct {
	number, cpu int
}

// An msrValue is one of the registers.
type msrValue struct {
	pkg, part int
	unit      float64 // joules
	counter   counter
}

// A cpuModel is what the kernel reports about the processors.
type cpuModel struct {
	intel         bool
	family, model int
}

// parseCPUInfo reads the first processor of /proc/cpuinfo.
func parseCPUInfo(b []byte) (m cpuModel) {
	m.family, m.model = -1, -1
	for line := range procfs.Lines(b) {
		key, value, ok := procfs.Cut(line, ':')
		if !ok {
			if len(line) == 0 && m.model >= 0 {
				return m
			}
			continue
		}
		number := func() int {
			if v, rest, ok := procfs.Uint(value); ok && len(rest) == 0 && v <= math.MaxInt32 {
				return int(v)
			}
			return -1
		}
		switch string(key) {
		case "vendor_id":
			m.intel = bytes.Equal(value, []byte("GenuineIntel"))
		case "cpu family":
			m.family = number()
		case "model":
			m.model = number()
		}
	}
	return m
}

// unitOf returns the unit of a register in joules: regUnit has it, except for the memory of some servers.
func (m cpuModel) unitOf(reg int64, units uint64) float64 {
	if reg == regDRAM && slices.Contains([]int{63, 79, 85, 87, 106, 108, 133, 143, 207}, m.model) { // Haswell-EP and later servers, Knights Landing
		return math.Pow(0.5, 16)
	}
	return math.Pow(0.5, float64(units>>8&0x1f))
}

// findMSR finds the registers, once.
func (r *reader) findMSR() {
	if r.packages != nil {
		return
	}
	r.packages = []*msrPackage{}
	b, err := r.large.Read(r.path("proc/cpuinfo"), false)
	if err != nil {
		return
	}
	m := parseCPUInfo(b)
	if !m.intel || m.family != 6 {
		return
	}
	seen := make(map[int64]bool)
	for cpu := 0; len(r.packages) < maxZones; cpu++ {
		id, ok := r.number(r.path("sys/devices/system/cpu/cpu"+strconv.Itoa(cpu), "topology/physical_package_id"))
		if !ok {
			break
		}
		if id < 0 || id >= maxZones || seen[id] {
			continue
		}
		seen[id] = true
		units, ok := r.register(cpu, regUnit)
		if !ok {
			continue
		}
		r.packages = append(r.packages, &msrPackage{len(r.packages), cpu})
		for part := 0; ; part++ {
			reg, name := msrRegister(part)
			if name == "" {
				break
			}
			if _, ok := r.register(cpu, reg); ok {
				r.msrs = append(r.msrs, msrValue{pkg: len(r.packages) - 1, part: part, unit: m.unitOf(reg, units)})
			}
		}
	}
}

// register reads a register of a processor. Those that a processor lacks are errors.
func (r *reader) register(cpu int, reg int64) (v uint64, ok bool) {
	f, err := os.Open(r.path("dev/cpu", strconv.Itoa(cpu), "msr"))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	var b [8]byte
	if n, err := f.ReadAt(b[:], reg); n != len(b) || err != nil {
		return 0, false
	}
	return binary.NativeEndian.Uint64(b[:]), true
}

// readMSR reads the registers.
func (r *reader) readMSR() error {
	r.findMSR()
	out := r.blocks[blockMSR]
	out.Clear()
	r.msrNames.Begin()
	for i := range r.msrs {
		m := &r.msrs[i]
		reg, name := msrRegister(m.part)
		p := r.packages[m.pkg]
		if len(r.packages) > 1 {
			name = strconv.Itoa(p.number) + "-" + name
		}
		id, name := r.msrNames.ID([]byte(name))
		row := out.AddNamed(id, name)
		if v, ok := r.register(p.cpu, reg); ok {
			sum := m.counter.add(v&math.MaxUint32, math.MaxUint32)
			out.Set(row, 0, uint64(float64(sum)*m.unit))
		}
	}
	return nil
}
