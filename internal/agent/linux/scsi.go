package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// A scsiReader reads /proc/scsi/scsi.
type scsiReader struct {
	blocks []*column.Block
	disk   func(address string) string // the block device at an address, "" for none
	names  column.Names
	disks  []string // names of block devices by instance
}

func scsiFamily(h *host) column.Family {
	r := newSCSIReader(func(address string) string {
		for _, name := range procfs.Names(h.path("sys/class/scsi_device/" + address + "/device/block")) {
			return name
		}
		return ""
	})
	return column.Family{Name: "scsi", Metrics: scsiMetrics, Sources: []*column.Source{{
		Name: "/proc/scsi/scsi", File: h.file("proc/scsi/scsi"), Parse: r.parse, Blocks: r.blocks,
	}}}
}

func newSCSIReader(disk func(address string) string) *scsiReader {
	return &scsiReader{disk: disk, blocks: column.NewBlocks(scsiMetrics, column.Layout{Cols: 1, Lists: true, InDom: &column.InDom{
		Serial: 11, Help: "SCSI devices, by address and type", Labels: `{"device_type":"block","indom_name":"per disk"}`,
	}})}
}

// parse reads /proc/scsi/scsi, which has for each device "Host: scsi0 Channel:
// 00 Id: 00 Lun: 00", its maker, and "Type:   Direct-Access ...". Devices that
// are not block devices are not reported.
func (r *scsiReader) parse(b []byte) {
	out := r.blocks[0]
	out.Clear()
	r.names.Begin()
	var addr [4]uint64
	have := false
	for line := range procfs.Lines(b) {
		if host, ok := bytes.CutPrefix(line, []byte("Host: scsi")); ok {
			have = true
			for i, word := range [...]string{"", "Channel:", "Id:", "Lun:"} {
				host = bytes.TrimPrefix(procfs.Skip(host), []byte(word))
				var ok bool
				if addr[i], host, ok = procfs.Uint(host); !ok {
					have = false
					break
				}
			}
			continue
		}
		_, typ, ok := bytes.Cut(line, []byte("Type:"))
		if !ok || !have {
			continue
		}
		have = false
		typ, _ = procfs.Field(typ)
		var address []byte
		for i, n := range addr {
			if i > 0 {
				address = append(address, ':')
			}
			address = strconv.AppendUint(address, n, 10)
		}
		known := r.names.Len()
		inst, name := r.names.ID([]byte("scsi" + string(address) + "_" + string(typ)))
		if r.names.Len() > known {
			r.disks = append(r.disks, r.disk(string(address)))
		}
		if r.disks[inst] == "" || out.Has(inst) {
			continue
		}
		out.SetText(out.AddNamed(inst, name), 0, r.disks[inst])
	}
}

// scsiMetrics are the metrics of SCSI addresses.
var scsiMetrics = []column.Metric{
	{Name: "hinv.map.scsi", Cluster: 15, Item: 0, Type: pcp.TypeString, Sem: discrete, Help: "Name of the disk at each SCSI address"},
}
