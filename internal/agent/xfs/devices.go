package xfs

import (
	"bytes"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/cache"
	"github.com/go-pcp/pcp/pmda/column"
)

// Serials of the instance domains, which were those of the agent linux.
const (
	filesystemsSerial = 5
	devicesSerial     = 6
	projectsSerial    = 16
)

// Blocks of the devices.
const (
	blockDevices = iota // has their names
	blockDevice         // and their counters
)

// A device is a block device that has or had a mounted file system of XFS.
type device struct {
	kernelName string // sda1, dm-0
	file       *procfs.File
}

// devices lists the devices.
type devices struct {
	host   *host
	known  *cache.Cache[*device] // by name, /dev/sda1
	list   *column.Block
	before *procfs.File // in place of a device's file
	name   procfs.Buffer
}

// devicesFamily reads the statistics of each device.
func devicesFamily(h *host, stats []stat) (*devices, column.Family) {
	metrics := statMetrics(stats, true)
	// The counter without a source has a descriptor here, too, and no name.
	metrics = append(metrics, column.Metric{Cluster: clusterDevice, Item: itemReset, From: blockDevice, Key: "reset", Type: pcp.TypeU32, Sem: pcp.SemDiscrete})
	indom := &column.InDom{Serial: devicesSerial, Help: "Devices with a mounted file system of XFS", Long: "Devices with a file system of XFS that is mounted, for each of which the kernel\ncounts by itself. Volumes of the device mapper have the names that people gave\nthem, as in /dev/mapper/vg-home."}
	b := column.NewBlocks(metrics, column.Layout{InDom: indom, Lists: true}, column.Layout{InDom: indom})
	d := &devices{
		host: h, list: b[blockDevices], before: h.file("proc/fs/xfs/stat"),
		known: cache.New[*device](pcp.NewInDom(h.domain, devicesSerial), nil), name: procfs.Buffer{Max: maxNameFile},
	}
	p := newParser(b[blockDevice])
	var never []int // columns without values
	for _, key := range [...]string{"shake_reclaims", "inact_reclaims", "reset"} {
		never = append(never, b[blockDevice].Column(key))
	}
	list := &column.Source{Name: "/sys/fs/xfs", Blocks: b[:1], Read: d.read}
	each := &column.Source{Name: "/sys/fs/xfs/DEVICE", Blocks: b[1:], After: []*column.Source{list}, Row: func(row int) {
		e, err := d.known.Lookup(b[blockDevice].Insts()[row])
		if err != nil {
			return
		}
		text, err := read(e.Value.file)
		if err != nil {
			if text, err = read(d.before); err != nil {
				return
			}
		}
		cells := b[blockDevice].Row(row)
		p.parse(text, cells)
		for _, col := range never {
			cells[col] = column.Cell{}
		}
	}}
	return d, column.Family{Name: "devices", Metrics: metrics, Sources: []*column.Source{list, each}}
}

// maxNameFile is the number of bytes read of a file with the name of a device.
const maxNameFile = 64 << 10

// read lists the current devices.
func (d *devices) read() error {
	d.list.Clear()
	d.known.HideAll()
	for _, name := range procfs.Names(d.host.path("sys/fs/xfs")) {
		if name[0] == '.' {
			continue
		}
		path := "sys/fs/xfs/" + name + "/stats/stats"
		if info, err := os.Stat(d.host.path(path)); err != nil || !info.Mode().IsRegular() {
			continue
		}
		known := d.persistent(name)
		e, err := d.known.LookupName(known)
		if err == nil && e.State == cache.Active {
			continue
		}
		if err != nil || e.Value.kernelName != name {
			if err == nil {
				e.Value.file.Close()
			}
			e.Value = &device{name, procfs.NewFile(d.host.path(path)).In(&d.host.devices)}
		}
		if _, err := d.known.Store(known, e.Value); err != nil {
			continue // the part of its name before a blank is that of another
		}
	}
	for e := range d.known.All() {
		if e.State != cache.Active {
			e.Value.file.Close()
			continue
		}
		d.list.AddNamed(e.Inst, e.Name)
	}
	return nil
}

// persistent returns the persistent name of a device: that of the device mapper if it has
// one.
func (d *devices) persistent(name string) string {
	text, err := d.name.Read(d.host.path("sys/block/"+name+"/dm/name"), false)
	if err != nil || len(text) == 0 {
		return "/dev/" + name
	}
	text, _, _ = bytes.Cut(ctext.Bytes(text), []byte{'\n'})
	return "/dev/mapper/" + string(text)
}

// wanted reports whether a profile includes one of the devices.
func (d *devices) wanted(profile *pcp.Profile, domain int) bool {
	p := profile.InDom(pcp.NewInDom(domain, devicesSerial))
	for _, inst := range d.list.Insts() {
		if p.Includes(inst) {
			return true
		}
	}
	return false
}
