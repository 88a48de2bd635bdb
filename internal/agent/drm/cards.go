package drm

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A card is a graphics card.
type card struct {
	number  int // of the kernel's name, and of the instance
	name    string
	driver  string
	address string // on the PCI bus, "" if it is not there
	ids     string
	there   bool
	sensors string // directory of the sensors, once known
}

// cardNumber returns the number in the kernel's name of a card. The same directory has the
// connectors of a card, such as card0-DP-1.
func cardNumber(name string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(name, "card")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && n <= math.MaxUint16 && strconv.Itoa(n) == digits
}

// parseUevent reads the file uevent of a device.
func parseUevent(b []byte) (driver, address, ids []byte) {
	for line := range procfs.Lines(b) {
		key, value, _ := bytes.Cut(line, []byte{'='})
		switch string(key) {
		case "DRIVER":
			driver = value
		case "PCI_SLOT_NAME":
			address = value
		case "PCI_ID":
			ids = value
		}
	}
	return driver, address, ids
}

// list finds the cards.
func (r *reader) list() error {
	for _, c := range r.cards {
		c.there = false
	}
	r.order = r.order[:0]
	for _, name := range procfs.Names(r.path("sys/class/drm")) {
		n, ok := cardNumber(name)
		if !ok || len(r.order) >= maxCards {
			continue
		}
		b, err := r.buffer.Read(r.path("sys/class/drm", name, "device/uevent"), true)
		if err != nil {
			continue
		}
		driver, address, ids := parseUevent(b)
		c := r.cards[name]
		if c == nil || c.driver != string(driver) || c.address != string(address) {
			c = &card{number: n, name: name, driver: r.usage.names.get(driver), address: r.usage.names.get(address), ids: strings.ToLower(r.usage.names.get(ids))}
			if c.driver == "" {
				continue // a display without a graphics processor, or a virtual one
			}
			r.cards[name] = c
		}
		c.there = true
		r.order = append(r.order, c)
	}
	for name, c := range r.cards {
		if !c.there {
			delete(r.cards, name)
		}
	}
	slices.SortFunc(r.order, func(a, b *card) int { return a.number - b.number })
	out := r.blocks[blockCards]
	out.Clear()
	for _, c := range r.order {
		row := out.AddNamed(int32(c.number), c.name)
		out.SetText(row, cardDriver, c.driver)
		if c.address != "" {
			out.SetText(row, cardAddress, c.address)
		}
		if c.ids != "" {
			out.SetText(row, cardIDs, c.ids)
		}
	}
	r.blocks[blockCount].Set(0, 0, uint64(len(r.order)))
	return nil
}

// number reads the first of several files of a card that has a number.
func (r *reader) number(c *card, files ...string) (v uint64, ok bool) {
	for _, file := range files {
		b, err := r.buffer.Read(r.path("sys/class/drm", c.name, file), true)
		if err != nil {
			continue
		}
		if v, ok := parseNumber(b); ok {
			return v, true
		}
	}
	return 0, false
}

// parseNumber reads a file with a single number in it, which may be hexadecimal.
func parseNumber(b []byte) (v uint64, ok bool) {
	b = procfs.Trim(b)
	var rest []byte
	if bytes.HasPrefix(b, []byte("0x")) {
		v, rest, ok = procfs.Hex(b)
	} else {
		v, rest, ok = procfs.Uint(b)
	}
	return v, ok && len(rest) == 0 && v != math.MaxUint64 // which also means more
}

// asleep reports whether a card is suspended to save power. Reading its sensors would wake it up.
func (r *reader) asleep(c *card) bool {
	b, err := r.buffer.Read(r.path("sys/class/drm", c.name, "device/power/runtime_status"), true)
	return err == nil && bytes.HasPrefix(b, []byte("suspend")) // suspended or suspending
}

// state reads the state of the cards.
func (r *reader) state() error {
	out := r.blocks[blockState]
	out.Clear()
	for _, c := range r.order {
		row := out.Add(int32(c.number))
		set := func(col int, most, divide uint64, files ...string) {
			if v, ok := r.number(c, files...); ok && v/divide <= most {
				out.Set(row, col, v/divide)
			}
		}
		switch c.driver {
		case "amdgpu":
			set(stateMemTotal, math.MaxInt64, 1, "device/mem_info_vram_total")
			set(stateMemUsed, math.MaxInt64, 1, "device/mem_info_vram_used")
			if r.asleep(c) {
				continue
			}
			set(stateBusy, 100, 1, "device/gpu_busy_percent")
			if dir := r.hwmon(c); dir != "" {
				const mega = 1e6
				set(stateClock, math.MaxUint32, mega, "device/hwmon/"+dir+"/freq1_input")
			}
		case "i915":
			if r.asleep(c) {
				continue
			}
			set(stateIdle, math.MaxInt64, 1, "gt/gt0/rc6_residency_ms", "power/rc6_residency_ms")
			set(stateClock, math.MaxUint32, 1, "gt/gt0/rps_act_freq_mhz", "gt_act_freq_mhz")
			set(stateClockMax, math.MaxUint32, 1, "gt/gt0/rps_max_freq_mhz", "gt_max_freq_mhz")
		case "xe":
			if r.asleep(c) {
				continue
			}
			const gt = "device/tile0/gt0/"
			set(stateIdle, math.MaxInt64, 1, gt+"gtidle/idle_residency_ms")
			set(stateClock, math.MaxUint32, 1, gt+"freq0/act_freq")
			set(stateClockMax, math.MaxUint32, 1, gt+"freq0/max_freq")
			set(stateMemTotal, math.MaxInt64, 1, "device/tile0/physical_vram_size_bytes")
		}
	}
	return nil
}

// hwmon returns the directory of the sensors of a card, "" if there is none.
func (r *reader) hwmon(c *card) string {
	dir := r.path("sys/class/drm", c.name, "device/hwmon")
	if c.sensors == "" || !procfs.Exists(dir+"/"+c.sensors) {
		c.sensors = ""
		for _, name := range procfs.Names(dir) {
			if strings.HasPrefix(name, "hwmon") && (c.sensors == "" || name < c.sensors) {
				c.sensors = name
			}
		}
	}
	return c.sensors
}
