package linux

import (
	"regexp"
	"strings"

	"github.com/go-pcp/pcp/internal/procfs"
)

// notPhysical matches the interfaces that network.all leaves out unless there is a
// configuration: their traffic also passes through others.
const notPhysical = `^(lo|bond[0-9]+|team[0-9]+|face)$`

// Columns of blockNetAll.
const (
	allRxBytes = iota
	allRxPackets
	allRxErrors
	allRxDrops
	allTxBytes
	allTxPackets
	allTxErrors
	allTxDrops
	allBytes
	allPackets
	allErrors
	allDrops
	numNetAll
)

// netAllFrom are the columns of blockNet that those are sums of.
var netAllFrom = [numNetAll]int{
	netRxBytes, netRxPackets, netRxErrors, netRxDrops,
	netTxBytes, netTxPackets, netTxErrors, netTxDrops,
	netBytes, netPackets, netErrors, netDrops,
}

// sumNet fills blockNetAll from blockNet.
func (r *netReader) sumNet() {
	net, all := r.blocks[blockNet], r.blocks[blockNetAll]
	all.Zero()
	for row, inst := range net.Insts() {
		for len(r.counted) <= int(inst) {
			if r.exclude == nil {
				r.exclude = r.host.notCounted()
			}
			r.counted = append(r.counted, !r.exclude.MatchString(r.names.Name(int32(len(r.counted)))))
		}
		if !r.counted[inst] {
			continue
		}
		for col, from := range netAllFrom {
			v, _ := net.Get(row, from)
			all.Row(0)[col].Bits += v
		}
	}
}

// notCounted reads the interfaces that network.all leaves out: a regular
// expression in interfaces.conf, in which blanks, line ends and comments do not
// count.
func (h *host) notCounted() *regexp.Regexp {
	byDefault := regexp.MustCompile(notPhysical)
	b, err := procfs.ReadOnce(h.path("etc/pcp/linux/interfaces.conf"))
	if err != nil {
		return byDefault
	}
	var text strings.Builder
	for line := range procfs.Lines(b) {
		s, _, _ := strings.Cut(string(line), "#")
		text.WriteString(strings.Join(strings.Fields(s), ""))
	}
	if text.Len() == 0 {
		return byDefault
	}
	re, err := regexp.CompilePOSIX(text.String())
	if err != nil {
		h.log.Warn("interfaces.conf is invalid, network.all uses its defaults", "err", err)
		return byDefault
	}
	return re
}
