package amdgpu

import (
	"bytes"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Limits of the input.
const (
	maxDigits = 3       // in the number of a card
	maxOpen   = 128     // files that stay open between readings
	maxFile   = 1 << 16 // size of a file about a card
	maxIDs    = 1 << 20 // size of amdgpu.ids
)

// The maker and the driver of the cards.
const (
	vendorAMD = 0x1002
	driverAMD = "amdgpu"
)

// Blocks of the table.
const (
	blockControl = iota
	blockCount
	blockCards
	blockName
	blockTotal
	blockUsed
	blockFree
	blockMemClock
	blockMemMax
	blockTemp
	blockLoad
	blockPower
	blockClock
	blockMax
	numBlocks
)

// Columns of blockUsed.
const (
	usedNow = iota
	usedSum
)

// Columns of blockTemp.
const (
	tempDegrees = iota
	tempMilli
)

// Files about a card, below its directory device.
const (
	fileVendor = iota
	fileUevent
	fileStatus
	fileTotal
	fileUsed
	fileLoad
	fileGPULevels
	fileMemLevels
	firstSensor // those in the directory hwmon
)

const (
	fileTemp = firstSensor + iota
	filePower
	filePowerNow
	fileGPUClock
	fileMemClock
	numFiles
)

func fileName(file int) string {
	return [numFiles]string{
		"vendor", "uevent", "power/runtime_status", "mem_info_vram_total", "mem_info_vram_used", "gpu_busy_percent", "pp_dpm_sclk", "pp_dpm_mclk",
		"temp1_input", "power1_average", "power1_input", "freq1_input", "freq2_input",
	}[file]
}

// A card has the files of one.
type card struct {
	dir         string // device
	name        string // of the instance
	inst        int32  // -1 as long as the card is not one of ours
	number      int
	there       bool // in the last list
	state       powerState
	files       [numFiles]*procfs.File
	total, used column.Cell // bytes of memory, as last read
	sum         uint64      // of bytes in use, over all readings
	title       string      // product name of the card, once known
}

// A powerState is whether a card is in use, if known since the last list.
type powerState int

const (
	powerUnknown powerState = iota
	powerAwake
	powerAsleep
)

// A reader knows the cards.
type reader struct {
	root    string
	log     *slog.Logger
	blocks  []*column.Block
	pool    procfs.Pool
	ids     procfs.Buffer
	cards   map[string]*card // all cards found, by the kernel's name
	byInst  []*card
	order   []*card // those in the last list
	debug   string
	verbose bool
}

func newReader(root string, log *slog.Logger) *reader {
	return &reader{root: root, log: log, cards: make(map[string]*card), pool: procfs.Pool{Max: maxOpen, Size: maxFile}, ids: procfs.Buffer{Max: maxIDs}}
}

func (r *reader) family() column.Family {
	table := metrics()
	cards := &column.InDom{
		Serial: 0, Help: "AMD graphics cards",
		Long:   "Cards that the driver amdgpu runs: gpu0, gpu1 and so on, in the order of the\nkernel's names for them. A card keeps its number as long as the agent runs.",
		Labels: `{"device_type":"gpu","indom_name":"per gpu"}`,
		InstanceLabels: func(inst int32, _ string) map[string]any {
			if inst < 0 || int(inst) >= len(r.byInst) {
				return nil
			}
			if name := r.cardName(r.byInst[inst]); name != "" {
				return map[string]any{"gpu": name}
			}
			return nil
		},
	}
	layouts := make([]column.Layout, numBlocks)
	for i := range layouts {
		layouts[i] = column.Layout{Cols: 1, InDom: cards}
	}
	layouts[blockControl].InDom, layouts[blockCount].InDom = nil, nil
	layouts[blockCards].Lists = true
	layouts[blockUsed].Cols, layouts[blockTemp].Cols = 2, 2
	r.blocks = column.NewBlocks(table, layouts...)

	control := &column.Source{Name: "the agent", Read: r.control, Blocks: r.blocks[blockControl:blockCount]}
	list := &column.Source{Name: "/sys/class/drm", Read: r.list, Blocks: r.blocks[blockCount:blockName]}
	// of returns the source of a block whose rows read fills.
	of := func(block int, name string, read func(c *card, row int), after ...*column.Source) *column.Source {
		return &column.Source{Name: name, Blocks: r.blocks[block : block+1], After: append(after, list), Read: func() error {
			out := r.blocks[block]
			out.Clear()
			for _, c := range r.order {
				read(c, out.Add(c.inst))
			}
			return nil
		}}
	}
	total := of(blockTotal, "/sys/class/drm/card*/device/mem_info_vram_total", r.readTotal)
	used := of(blockUsed, "/sys/class/drm/card*/device/mem_info_vram_used", r.readUsed)
	return column.Family{Name: "amdgpu", Metrics: table, Sources: []*column.Source{
		control, list, total, used,
		of(blockFree, "/sys/class/drm/card*/device/mem_info_vram_{total,used}", r.readFree, total, used),
		of(blockName, "/usr/share/libdrm/amdgpu.ids, /sys/class/drm/card*/device/product_name", r.readName),
		of(blockMemClock, "/sys/class/drm/card*/device/hwmon/hwmon*/freq2_input, pp_dpm_mclk", r.readClock(blockMemClock, fileMemClock, fileMemLevels)),
		of(blockMemMax, "/sys/class/drm/card*/device/pp_dpm_mclk", r.readMax(blockMemMax, fileMemLevels)),
		of(blockTemp, "/sys/class/drm/card*/device/hwmon/hwmon*/temp1_input", r.readTemp),
		of(blockLoad, "/sys/class/drm/card*/device/gpu_busy_percent", r.readLoad),
		of(blockPower, "/sys/class/drm/card*/device/hwmon/hwmon*/power1_average, power1_input", r.readPower),
		of(blockClock, "/sys/class/drm/card*/device/hwmon/hwmon*/freq1_input, pp_dpm_sclk", r.readClock(blockClock, fileGPUClock, fileGPULevels)),
		of(blockMax, "/sys/class/drm/card*/device/pp_dpm_sclk", r.readMax(blockMax, fileGPULevels)),
	}}
}

// control reports the value set by Store.
func (r *reader) control() error {
	r.blocks[blockControl].SetText(0, 0, r.debug)
	return nil
}

// cardNumber returns the number in the kernel's name of a card. The same directory has the
// connectors of a card, such as card0-DP-1.
func cardNumber(name string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(name, "card")
	if !ok || len(digits) > maxDigits {
		return 0, false
	}
	u, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits != strconv.FormatUint(u, 10) {
		return 0, false
	}
	return int(u), true
}

// list finds the cards.
func (r *reader) list() error {
	r.order = r.order[:0]
	for _, c := range r.cards {
		c.there, c.state = false, powerUnknown
	}
	dir := filepath.Join(r.root, "sys/class/drm")
	for _, name := range procfs.Names(dir) {
		n, ok := cardNumber(name)
		if !ok {
			continue
		}
		c := r.cards[name]
		if c == nil {
			c = &card{dir: filepath.Join(dir, name, "device"), inst: -1, number: n}
			r.cards[name] = c
		}
		c.there = true
		if r.ours(c) {
			r.order = append(r.order, c)
		}
	}
	for _, c := range r.cards {
		if !c.there {
			c.close()
		}
	}
	slices.SortFunc(r.order, func(a, b *card) int { return a.number - b.number })

	out := r.blocks[blockCards]
	out.Clear()
	for _, c := range r.order {
		if c.inst < 0 {
			c.inst = int32(len(r.byInst))
			c.name = "gpu" + strconv.Itoa(len(r.byInst))
			r.byInst = append(r.byInst, c)
		}
		out.Set(out.AddNamed(c.inst, c.name), 0, uint64(c.inst))
	}
	r.blocks[blockCount].Set(0, 0, uint64(len(r.order)))
	return nil
}

// ours reports whether a card is by AMD and run by the driver amdgpu.
func (r *reader) ours(c *card) bool {
	b, ok := r.read(c, fileVendor)
	if !ok {
		return false
	}
	if v, ok := hex(b); !ok || v != vendorAMD {
		return false
	}
	b, ok = r.read(c, fileUevent)
	return ok && string(driver(b)) == driverAMD
}

// read returns the contents of a file about a card, valid until the file is read again.
func (r *reader) read(c *card, file int) (b []byte, ok bool) {
	f := c.files[file]
	if f == nil {
		if f = r.file(c, file); f == nil {
			return nil, false
		}
	}
	b, err := f.Read()
	if err != nil {
		f.Close()
		if c.files[file] == nil || file < firstSensor {
			c.files[file] = f
			return nil, false
		}
		c.files[file] = nil // a driver that is loaded again can have its sensors elsewhere
		if f = r.file(c, file); f == nil {
			return nil, false
		}
		if b, err = f.Read(); err != nil {
			f.Close()
			return nil, false
		}
	}
	c.files[file] = f
	if r.verbose {
		r.log.Info("read", "file", f.Path(), "contents", string(b))
	}
	return b, true
}

// file returns a file about a card, nil if there is no directory for it.
func (r *reader) file(c *card, file int) *procfs.File {
	dir := c.dir
	if file >= firstSensor {
		if dir = c.sensors(); dir == "" {
			return nil
		}
	}
	return procfs.NewWholeFile(filepath.Join(dir, fileName(file))).In(&r.pool)
}

// sensors returns the directory of the sensors of a card, "" if there is none.
func (c *card) sensors() string {
	dir := filepath.Join(c.dir, "hwmon")
	first := ""
	for _, name := range procfs.Names(dir) {
		if strings.HasPrefix(name, "hwmon") && (first == "" || name < first) {
			first = name
		}
	}
	if first == "" {
		return ""
	}
	return filepath.Join(dir, first)
}

// close closes the files of a card that has gone. Another card can get its name.
func (c *card) close() {
	c.title = ""
	for i, f := range c.files {
		if f != nil {
			f.Close()
			c.files[i] = nil
		}
	}
}

// sense is read for a file whose contents the driver reads from the card, which wakes it
// up. It does not read those of a suspended card.
func (r *reader) sense(c *card, file int) (b []byte, ok bool) {
	if c.state == powerUnknown {
		c.state = powerAwake
		if b, ok := r.read(c, fileStatus); ok && bytes.HasPrefix(b, []byte("suspend")) { // suspended or suspending
			c.state = powerAsleep
		}
	}
	if c.state == powerAsleep {
		return nil, false
	}
	return r.read(c, file)
}

// memory reads a number of bytes.
func (r *reader) memory(c *card, file int) column.Cell {
	if b, ok := r.read(c, file); ok {
		if v, ok := number(b); ok {
			return column.Num(v)
		}
	}
	return column.Cell{}
}

func (r *reader) readTotal(c *card, row int) {
	c.total = r.memory(c, fileTotal)
	r.blocks[blockTotal].Row(row)[0] = c.total
}

func (r *reader) readUsed(c *card, row int) {
	c.used = r.memory(c, fileUsed)
	if cells := r.blocks[blockUsed].Row(row); c.used.OK {
		c.sum += c.used.Bits
		cells[usedNow], cells[usedSum] = c.used, column.Num(c.sum)
	}
}

func (r *reader) readFree(c *card, row int) {
	if c.total.OK && c.used.OK && c.used.Bits <= c.total.Bits {
		r.blocks[blockFree].Set(row, 0, c.total.Bits-c.used.Bits)
	}
}

// readClock returns a reader of a clock, which a sensor has in Hz, or else the levels in MHz.
func (r *reader) readClock(block, sensor, steps int) func(*card, int) {
	return func(c *card, row int) {
		const mega = 1e6
		if b, ok := r.sense(c, sensor); ok {
			if v, ok := divided(b, mega); ok {
				r.blocks[block].Set(row, 0, v)
				return
			}
		}
		if b, ok := r.sense(c, steps); ok {
			if l := parseLevels(b); l.hasNow {
				r.blocks[block].Set(row, 0, l.now)
			}
		}
	}
}

// readMax returns a reader of the highest of several levels.
func (r *reader) readMax(block, steps int) func(*card, int) {
	return func(c *card, row int) {
		if b, ok := r.sense(c, steps); ok {
			if l := parseLevels(b); l.hasMost {
				r.blocks[block].Set(row, 0, l.most)
			}
		}
	}
}

func (r *reader) readTemp(c *card, row int) {
	b, ok := r.sense(c, fileTemp)
	if !ok {
		return
	}
	v, ok := celsius(b)
	if !ok {
		return
	}
	cells := r.blocks[blockTemp].Row(row)
	cells[tempDegrees] = column.Num(uint64(math.Float32bits(float32(v) / 1000)))
	if v >= 0 {
		cells[tempMilli] = column.Num(uint64(v))
	}
}

func (r *reader) readLoad(c *card, row int) {
	if b, ok := r.sense(c, fileLoad); ok {
		if v, ok := number(b); ok && v <= 100 {
			r.blocks[blockLoad].Set(row, 0, v)
		}
	}
}

func (r *reader) readPower(c *card, row int) {
	const micro = 1e6
	for _, file := range [...]int{filePower, filePowerNow} {
		if b, ok := r.sense(c, file); ok {
			if v, ok := divided(b, micro); ok {
				r.blocks[blockPower].Set(row, 0, v)
				return
			}
		}
	}
}

func (r *reader) readName(c *card, row int) {
	if name := r.cardName(c); name != "" {
		r.blocks[blockName].SetText(row, 0, name)
	}
}

// cardName returns the product name of a card, "" if it is not known. It looks it up once.
func (r *reader) cardName(c *card) string {
	if c.title != "" {
		return c.title
	}
	one := func(file string) []byte {
		b, err := r.ids.Read(filepath.Join(c.dir, file), true)
		if err != nil {
			return nil
		}
		return procfs.Trim(b)
	}
	device, ok1 := hex(one("device"))
	revision, ok2 := hex(one("revision"))
	if ok1 && ok2 {
		if b, err := r.ids.Read(filepath.Join(r.root, "usr/share/libdrm/amdgpu.ids"), false); err == nil {
			if name, ok := findName(b, device, revision); ok {
				c.title = string(name)
				return c.title
			}
		}
	}
	if name := one("product_name"); printable(name) {
		c.title = string(name)
	}
	return c.title
}
