package screen

import (
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/figure"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// disk is the disk of the line.
func (x *line) disk() *sample.Disk { return &x.disks[x.index] }

// each returns a/b, 0 if there is no b.
func each(a, b sample.Count) sample.Count {
	if b <= 0 {
		return 0
	}
	return a / b / 2
}

func hasDiscards(s *sample.System) bool {
	return s != nil && len(s.Disks) > 0 && s.Disks[0].Discards != -1
}

// dskFields are those of the line about a disk.
var dskFields = sync.OnceValue(func() []field {
	return []field{
		{name: "DSKNAME", put: func(x *line) {
			x.color = colorDefault
			x.b = right(x.b, 12, tail(x.disk().Name, 12))
		}},
		{name: "DSKBUSY", put: func(x *line) {
			x.color = colorDefault
			f := float64(x.disk().BusyMS) * 100.0 / float64(x.ms)
			if !(f >= 0 && f < 1000000) {
				f = 999999
			}
			x.b = append(figure.Float(append(x.b, "busy "...), 6, 0, f), '%')
		}},
		colored(count("DSKNREAD", "read ", 7, func(x *line) sample.Count { return max(x.disk().Reads, 0) })),
		colored(count("DSKNWRITE", "write ", 6, func(x *line) sample.Count { return max(x.disk().Writes, 0) })),
		onlyIf(colored(count("DSKNDISC", "discrd ", 5, func(x *line) sample.Count { return x.disk().Discards })), hasDiscards),
		perSecond("DSKMBPERSECWR", "MBw/s ", 6, func(x *line) float64 { return float64(x.disk().WriteSectors) / 2.0 / 1024 }),
		perSecond("DSKMBPERSECRD", "MBr/s ", 6, func(x *line) float64 { return float64(x.disk().ReadSectors) / 2.0 / 1024 }),
		number("DSKKBPERRD", "KiB/r ", 6, long, func(x *line) sample.Count { return each(x.disk().ReadSectors, x.disk().Reads) }),
		number("DSKKBPERWR", "KiB/w ", 6, long, func(x *line) sample.Count { return each(x.disk().WriteSectors, x.disk().Writes) }),
		// C has the reads here.
		onlyIf(number("DSKKBPERDS", "KiB/d ", 6, long, func(x *line) sample.Count { return each(x.disk().ReadSectors, x.disk().Reads) }), hasDiscards),
		number("DSKINFLIGHT", "inflt ", 6, long, func(x *line) sample.Count { return x.disk().InFlight }),
		{name: "DSKAVQUEUE", put: func(x *line) {
			queue := 0.0
			if d := x.disk(); d.BusyMS != 0 {
				queue = float64(d.Queue) / float64(d.BusyMS)
			}
			x.b = figure.Float(append(x.b, "avq "...), 8, 2, queue)
			x.trim(long)
		}},
		{name: "DSKAVIO", put: func(x *line) {
			x.color = colorDefault
			ms := 0.0
			if x.transfers > 0 {
				ms = float64(x.disk().BusyMS) / float64(x.transfers)
			}
			x.b = append(x.b, "avio "...)
			switch {
			case ms >= 9999:
				x.b = figure.Value(x.b, int64(uint64(ms)/1000), 5, 0)
				x.b = append(x.b[:min(len(x.b), 10)], " s"...)
			case ms >= 9.995:
				x.b = append(figure.Float(x.b, 4, 1, ms), " ms"...)
			case ms >= 0.09995:
				x.b = append(figure.Float(x.b, 4, 2, ms), " ms"...)
			case ms >= 0.01:
				x.b = append(figure.Float(x.b, 4, 1, ms*1000), " µs"...)
			case ms >= 0.0001:
				x.b = append(figure.Float(x.b, 4, 2, ms*1000), " µs"...)
			default:
				x.b = append(figure.Float(x.b, 4, 1, max(ms, 0)*1000000), " ns"...)
			}
		}},
		blankBox,
	}
})

// perSecond returns a field with a label and a number per second with one digit after the point.
func perSecond(name, label string, width int, of func(x *line) float64) field {
	return field{name: name, put: func(x *line) {
		x.b = figure.Float(append(x.b, label...), width, 1, of(x)/x.seconds)
		x.trim(long)
	}}
}

// transfer returns a field with a label and a number of bytes, in kilobytes at least, which may be a rate per
// second.
func transfer(name, label string, of func(x *line) sample.Count) field {
	return field{name: name, put: func(x *line) {
		x.b = figure.Memory(append(x.b, label...), of(x), figure.KiB, x.div())
		x.trim(long)
	}}
}

// mount is the NFS mount of the line.
func (x *line) mount() *sample.Mount { return &x.s.Mounts[x.index] }

// cutServer splits the name of a mount into its server and its path.
func cutServer(device string) (server, path string) {
	for i := range len(device) {
		if device[i] == ':' {
			return device[:i], device[i+1:]
		}
	}
	return "?", device
}

// nfmFields are the fields of the line about an NFS mount.
var nfmFields = sync.OnceValue(func() []field {
	return []field{
		{name: "NFMPATH", put: func(x *line) {
			_, path := cutServer(x.mount().Device)
			x.b = right(x.b, 12, tail(path, 12))
		}},
		{name: "NFMSERVER", put: func(x *line) {
			server, _ := cutServer(x.mount().Device)
			x.b = right(append(x.b, "srv "...), 8, server[:min(len(server), 8)])
		}},
		transfer("NFMTOTREAD", "read  ", func(x *line) sample.Count { return x.mount().TotalRead }),
		transfer("NFMTOTWRITE", "write ", func(x *line) sample.Count { return x.mount().TotalWrite }),
		transfer("NFMNREAD", "nread ", func(x *line) sample.Count { return x.mount().Read }),
		transfer("NFMNWRITE", "nwrit ", func(x *line) sample.Count { return x.mount().Write }),
		transfer("NFMDREAD", "dread ", func(x *line) sample.Count { return x.mount().DirectRead }),
		transfer("NFMDWRITE", "dwrit ", func(x *line) sample.Count { return x.mount().DirectWrite }),
		transfer("NFMMREAD", "mread ", func(x *line) sample.Count { return x.mount().MappedRead * int64(x.p.s.Host.PageSize) }),
		transfer("NFMMWRITE", "mwrit ", func(x *line) sample.Count { return x.mount().MappedWrite * int64(x.p.s.Host.PageSize) }),
		blankBox,
	}
})

// nfcFields are the fields of the line about the calls of NFS clients.
var nfcFields = sync.OnceValue(func() []field {
	return []field{
		count("NFCRPCCNT", "rpc ", 8, func(x *line) sample.Count { return x.s.Client.Calls }),
		count("NFCRPCREAD", "read ", 7, func(x *line) sample.Count { return x.s.Client.Reads }),
		count("NFCRPCWRITE", "write ", 6, func(x *line) sample.Count { return x.s.Client.Writes }),
		count("NFCRPCRET", "retxmit ", 4, func(x *line) sample.Count { return x.s.Client.Retrans }),
		count("NFCRPCARF", "autref ", 5, func(x *line) sample.Count { return x.s.Client.AuthRefresh }),
		blankBox,
	}
})

// nfsFields are the fields of the line about an NFS server.
var nfsFields = sync.OnceValue(func() []field {
	return []field{
		count("NFSRPCCNT", "rpc ", 8, func(x *line) sample.Count { return x.s.Server.Calls }),
		count("NFSRPCREAD", "cread ", 6, func(x *line) sample.Count { return x.s.Server.Reads }),
		count("NFSRPCWRITE", "cwrit ", 6, func(x *line) sample.Count { return x.s.Server.Writes }),
		perSecond("NFSNRBYTES", "MBcr/s ", 5, func(x *line) float64 { return float64(x.s.Server.ReadBytes) / 1024.0 / 1024.0 }),
		perSecond("NFSNWBYTES", "MBcw/s ", 5, func(x *line) float64 { return float64(x.s.Server.WriteBytes) / 1024.0 / 1024.0 }),
		count("NFSNETTCP", "nettcp ", 5, func(x *line) sample.Count { return x.s.Server.NetTCP }),
		count("NFSNETUDP", "netudp ", 5, func(x *line) sample.Count { return x.s.Server.NetUDP }),
		count("NFSBADFMT", "badfmt ", 5, func(x *line) sample.Count { return x.s.Server.BadFormat }),
		count("NFSBADAUT", "badaut ", 5, func(x *line) sample.Count { return x.s.Server.BadAuth }),
		count("NFSBADCLN", "badcln ", 5, func(x *line) sample.Count { return x.s.Server.BadClient }),
		count("NFSRCHITS", "rchits  ", 4, func(x *line) sample.Count { return x.s.Server.CacheHits }),
		count("NFSRCMISS", "rcmiss  ", 4, func(x *line) sample.Count { return x.s.Server.CacheMisses }),
		count("NFSRCNOCA", "rcnoca  ", 4, func(x *line) sample.Count { return x.s.Server.Uncached }),
		blankBox,
	}
})
