package lmsensors

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// Limits of the input.
const (
	maxFile    = 4096 // bytes of a file
	maxChips   = 1024
	maxSensors = 4096
	maxName    = 64 // bytes of the name of a chip or a label
)

// A sensor is one of a chip.
type sensor struct {
	kind   *kind
	inst   int32
	number int    // of the file
	chip   string // coretemp-isa-0000
	label  string // Core 0
	file   string // temp2
	name   string // of the instance
	single string // coretemp_isa_0000.core_0, "" if the sensor has no metric of its own
	dir    string
	device string // directory of the device, "" if it is not known
	there  bool   // in the last list
	values map[string]reading
}

// A reading is the value of an attribute.
type reading struct {
	v    float64
	ok   bool
	pass uint64
}

// A reader knows the sensors.
type reader struct {
	root   string
	buffer procfs.Buffer
	kinds  []*kind
	known  map[string]*sensor // by the names of instances
	names  map[string]bool    // names that metrics have
	single []*sensor          // those with a metric, by its item
	order  map[*kind][]*sensor
	next   map[*kind]int32
	chips  int
	seen   string // what the last list was made of
	stale  bool   // a sensor has gone
	pass   uint64
	asleep map[string]bool // devices, in this pass
}

func newReader(root string) *reader {
	return &reader{
		root: root, buffer: procfs.Buffer{Max: maxFile}, kinds: kinds(), stale: true,
		known: make(map[string]*sensor), names: make(map[string]bool), order: make(map[*kind][]*sensor), next: make(map[*kind]int32), asleep: make(map[string]bool),
	}
}

func (r *reader) ofKind(k *kind) []*sensor { return r.order[k] }

// text returns the contents of a file, "" if it cannot be read or shown.
func (r *reader) text(path string) string {
	b, err := r.buffer.Read(path, true)
	if err != nil {
		return ""
	}
	b = procfs.Trim(b)
	if len(b) > maxName {
		return ""
	}
	for _, c := range b {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return string(b)
}

// hwmonNumber returns the number in the name of a directory of hwmon.
func hwmonNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "hwmon")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == digits
}

// find lists the sensors again if chips came or went.
func (r *reader) find() {
	dir := filepath.Join(r.root, "sys/class/hwmon")
	names := slices.DeleteFunc(procfs.Names(dir), func(name string) bool {
		_, ok := hwmonNumber(name)
		return !ok
	})
	slices.SortFunc(names, func(a, b string) int {
		m, _ := hwmonNumber(a)
		n, _ := hwmonNumber(b)
		return m - n
	})
	names = names[:min(len(names), maxChips)]
	var seen strings.Builder
	for _, name := range names {
		target, _ := os.Readlink(filepath.Join(dir, name)) // the same number may be another device
		seen.WriteString(name + " " + target + "\n")
	}
	if !r.stale && seen.String() == r.seen {
		return
	}
	r.seen, r.stale = seen.String(), false
	for _, s := range r.known {
		s.there = false
	}
	chips := make(map[string]bool)
	r.chips = 0
	for _, name := range names {
		if r.chip(filepath.Join(dir, name), chips) {
			r.chips++
		}
	}
	clear(r.order)
	for _, s := range r.known {
		if s.there {
			r.order[s.kind] = append(r.order[s.kind], s)
		}
	}
	for _, list := range r.order {
		slices.SortFunc(list, func(a, b *sensor) int { return int(a.inst - b.inst) })
	}
}

// sensorFile returns the kind and the number of the file of a sensor, temp2_input.
func (r *reader) sensorFile(name string) (k *kind, number int, ok bool) {
	base, ok := strings.CutSuffix(name, "_"+attrInput)
	if !ok {
		if base, ok = strings.CutSuffix(name, "_"+attrAverage); !ok {
			return nil, 0, false
		}
	}
	for _, k := range r.kinds {
		digits, ok := strings.CutPrefix(base, k.prefix)
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n < maxSensors && strconv.Itoa(n) == digits {
			return k, n, true
		}
	}
	return nil, 0, false
}

// chip lists the sensors of a chip, and reports whether it has any. chips are the names of those before it.
func (r *reader) chip(dir string, chips map[string]bool) bool {
	name := r.text(filepath.Join(dir, "name"))
	if name == "" || strings.ContainsAny(name, " -*/.") {
		return false
	}
	device, _ := filepath.EvalSymlinks(filepath.Join(dir, "device"))
	chip := r.chipName(name, device)
	if chips[chip] {
		chip += "-" + filepath.Base(dir)
	}
	chips[chip] = true
	type file struct {
		kind   *kind
		number int
	}
	var files []file
	for _, f := range procfs.Names(dir) {
		if k, n, ok := r.sensorFile(f); ok && !slices.Contains(files, file{k, n}) {
			files = append(files, file{k, n})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(slices.Index(r.kinds, a.kind)-slices.Index(r.kinds, b.kind), a.number-b.number)
	})
	used := make(map[string]bool)
	for _, f := range files {
		base := f.kind.prefix + strconv.Itoa(f.number)
		label := cmp.Or(r.text(filepath.Join(dir, base+"_label")), base)
		name := chip + ":" + strings.ReplaceAll(label, " ", "_")
		if used[name] { // two sensors with one label
			name += ":" + base
		}
		used[name] = true
		s := r.known[name]
		if s == nil || s.kind != f.kind {
			if len(r.known) >= maxSensors || s != nil {
				continue
			}
			s = &sensor{kind: f.kind, inst: r.next[f.kind], chip: chip, label: label, name: name, values: make(map[string]reading)}
			r.next[f.kind]++
			r.known[name] = s
			if single := singleName(chip, label, base); len(r.single) < maxSingle && !r.names[single] {
				s.single = single
				r.names[single] = true
				r.single = append(r.single, s)
			}
		}
		s.number, s.file, s.dir, s.device, s.there = f.number, base, dir, device, true
	}
	return len(files) > 0
}

// singleName returns the name that the C agent gives the metric of a sensor. It makes a name of the output of
// sensors -j: digits before an underscore go, as does what cannot be in a name.
func singleName(chip, label, base string) string {
	f := func(s string) string {
		s = strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(withoutDigits(s)))
		return strings.Map(func(c rune) rune {
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
				return c
			}
			return '_'
		}, s)
	}
	l := f(label)
	if l[0] < 'a' || l[0] > 'z' { // +3.3V
		l = base + "_" + l
	}
	c := f(chip)
	if c[0] < 'a' || c[0] > 'z' {
		c = "chip_" + c
	}
	return c + "." + l
}

// withoutDigits returns s without each digit that is before an underscore.
func withoutDigits(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' && i+1 < len(s) && s[i+1] == '_' {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// chipName returns the name by which sensors(1) knows a chip: with the kind of its bus, and its address there. device is
// its directory, "" if it is not on a bus.
func (r *reader) chipName(name, device string) string {
	for dir := device; strings.HasPrefix(dir, r.root) && len(dir) > len(r.root) && filepath.Base(dir) != "devices"; dir = filepath.Dir(dir) {
		bus, err := os.Readlink(filepath.Join(dir, "subsystem"))
		if err != nil {
			continue
		}
		if s := address(filepath.Base(bus), filepath.Base(dir)); s != "" {
			return name + "-" + s
		}
	}
	return name + "-virtual-0"
}

// address returns the bus of a device and its place there, "" if the bus is not one of those known.
func address(bus, device string) string {
	// numbers splits the device at separators into hexadecimal numbers, or decimal ones.
	numbers := func(base int, seps string, n int) []int64 {
		fields := strings.FieldsFunc(device, func(c rune) bool { return strings.ContainsRune(seps, c) })
		if len(fields) != n {
			return nil
		}
		out := make([]int64, n)
		for i, f := range fields {
			v, err := strconv.ParseUint(f, base, 31)
			if err != nil {
				return nil
			}
			out[i] = int64(v)
		}
		return out
	}
	hex := func(v int64, width int) string {
		s := strconv.FormatInt(v, 16)
		return strings.Repeat("0", max(width-len(s), 0)) + s
	}
	dec := func(v int64) string { return strconv.FormatInt(v, 10) }
	switch bus {
	case "pci":
		if n := numbers(16, ":.", 4); n != nil {
			return "pci-" + hex(n[0]<<16+n[1]<<8+n[2]<<3+n[3], 4)
		}
	case "i2c":
		if n := numbers(16, "-", 2); n != nil {
			number, _, _ := strings.Cut(device, "-")
			if _, err := strconv.Atoi(number); err == nil {
				return "i2c-" + number + "-" + hex(n[1], 2)
			}
		}
	case "spi":
		if rest, ok := strings.CutPrefix(device, "spi"); ok {
			device = rest
			if n := numbers(10, ".", 2); n != nil {
				return "spi-" + dec(n[0]) + "-" + hex(n[1], 1)
			}
		}
	case "hid":
		if n := numbers(16, ":.", 4); n != nil {
			return "hid-" + dec(n[0]) + "-" + hex(n[3], 1)
		}
	case "scsi":
		if n := numbers(10, ":", 4); n != nil {
			return "scsi-" + dec(n[0]) + "-" + hex(n[1]<<8+n[2]<<4+n[3], 1)
		}
	case "mdio_bus":
		if _, place, ok := strings.Cut(device, ":"); ok {
			if v, err := strconv.ParseUint(place, 16, 31); err == nil {
				return "mdio-" + hex(int64(v), 1)
			}
		}
	case "acpi":
		return "acpi-0"
	case "platform", "of_platform":
		if i := strings.LastIndexByte(device, '.'); i >= 0 {
			if v, err := strconv.ParseUint(device[i+1:], 10, 31); err == nil {
				return "isa-" + hex(int64(v), 4)
			}
		}
		return "isa-0000"
	}
	return ""
}

// begin starts a pass: readings of before do not count.
func (r *reader) begin() {
	r.pass++
	clear(r.asleep)
}

// read reads an attribute of a sensor, once in a pass.
func (r *reader) read(s *sensor, attr string) {
	if s.values[attr].pass == r.pass || !s.there {
		return
	}
	v := reading{pass: r.pass}
	if !r.sleeps(s.device) {
		b, err := r.buffer.Read(filepath.Join(s.dir, s.file+"_"+attr), true)
		switch {
		case err != nil && attr == attrInput && s.kind.prefix != "power":
			r.stale = r.stale || !procfs.Exists(filepath.Join(s.dir, "name")) // the chip has gone
		case err == nil:
			v.v, v.ok = s.kind.parse(b)
		}
	}
	s.values[attr] = v
}

// parse reads the value of a sensor.
func (k *kind) parse(b []byte) (v float64, ok bool) {
	n, rest, ok := procfs.Int(procfs.Trim(b))
	if !ok || len(rest) > 0 || n == math.MaxInt64 || n == math.MinInt64 { // which also mean more
		return 0, false
	}
	v = float64(n) / k.scale
	return v, v >= k.least
}

// sleeps reports whether a device is suspended. Reading its sensors would wake it up.
func (r *reader) sleeps(device string) bool {
	if device == "" {
		return false
	}
	asleep, ok := r.asleep[device]
	if !ok {
		b, err := r.buffer.Read(filepath.Join(device, "power/runtime_status"), true)
		asleep = err == nil && strings.HasPrefix(string(b), "suspend") // suspended or suspending
		r.asleep[device] = asleep
	}
	return asleep
}

// value returns the reading of this pass.
func (r *reader) value(s *sensor, attr string) (v float64, ok bool) {
	x := s.values[attr]
	return x.v, x.ok && x.pass == r.pass && s.there
}
