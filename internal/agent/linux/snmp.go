package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Blocks of snmpMetrics.
const (
	blockSNMP = iota
	blockICMPMsg
)

// A pairedReader reads files of pairs of lines, of which the first has names
// and the second numbers: "Udp: InDatagrams NoPorts" and "Udp: 196 0", as
// /proc/net/snmp and netstat. It remembers the lines of names.
type pairedReader struct {
	source *column.Source
	table  []column.Metric
	out    *column.Block // its keys are such as "Udp.InDatagrams"
	icmp   *column.Block // of messages by type, "IcmpMsg: InType3 OutType3"; may be nil
	rows   []pairedLine  // by number of the pair
	key    []byte        // room to make keys in
}

// A pairedLine is a line of names and the columns of their values, -1 for names
// that no metric has.
type pairedLine struct {
	names []byte
	cols  []int
	types []int32 // of the pair "IcmpMsg:": the number in the name
}

// maxPairs is the maximum number of pairs of lines that a pairedReader reads.
const maxPairs = 256

// maxICMPType is the largest type of an ICMP message.
const maxICMPType = 255

// Columns of blockICMPMsg.
const (
	icmpIn = iota
	icmpOut
	numICMPMsg
)

func newSNMPReader(h *host) *pairedReader {
	b := column.NewBlocks(snmpMetrics, []column.Layout{
		blockSNMP:    {},
		blockICMPMsg: {Cols: numICMPMsg, Lists: true, InDom: &column.InDom{Serial: 23, Help: "Types of ICMP messages"}},
	}...)
	r := &pairedReader{table: snmpMetrics, out: b[blockSNMP], icmp: b[blockICMPMsg]}
	r.source = &column.Source{Name: "/proc/net/snmp", File: h.wholeFile("proc/net/snmp"), Parse: r.parse, Blocks: b, Scope: scopeNet}
	return r
}

func newNetstatReader(h *host) *pairedReader {
	b := column.NewBlocks(netstatMetrics, column.Layout{})
	r := &pairedReader{table: netstatMetrics, out: b[0]}
	r.source = &column.Source{Name: "/proc/net/netstat", File: h.wholeFile("proc/net/netstat"), Parse: r.parse, Blocks: b, Scope: scopeNet}
	return r
}

func (r *pairedReader) family() column.Family {
	return column.Family{Name: r.source.Name, Metrics: r.table, Sources: []*column.Source{r.source}}
}

// parse fills the blocks from the file.
func (r *pairedReader) parse(b []byte) {
	out, icmp := r.out, r.icmp
	out.Clear()
	if icmp != nil && icmp.Rows() == 0 {
		for i := range int32(maxICMPType + 1) {
			icmp.AddNamed(i, "Type"+strconv.Itoa(int(i)))
		}
	} else if icmp != nil {
		clear(icmp.Cells())
	}
	for n := 0; n < maxPairs; n++ {
		names, rest, ok1 := procfs.Line(b)
		nums, rest, ok2 := procfs.Line(rest)
		if !ok1 || !ok2 {
			return
		}
		b = rest
		for len(r.rows) <= n {
			r.rows = append(r.rows, pairedLine{})
		}
		l := &r.rows[n]
		if !bytes.Equal(l.names, names) {
			r.learn(l, names)
		}
		i := bytes.IndexByte(nums, ':')
		if i < 0 || !bytes.HasPrefix(names, nums[:i+1]) {
			continue
		}
		nums = nums[i+1:]
		for j, col := range l.cols {
			v, rest, ok := procfs.Int(nums)
			u := uint64(v)
			if !ok {
				break
			}
			if v == 1<<63-1 {
				u, _, _ = procfs.Uint(nums) // too large for a signed number
			}
			nums = rest
			switch {
			case l.types[j] >= 0 && icmp != nil:
				icmp.Set(int(l.types[j]), col, u)
			case l.types[j] < 0 && col >= 0:
				out.Set(0, col, u)
			}
		}
	}
}

// learn finds the columns of a line of names.
func (r *pairedReader) learn(l *pairedLine, names []byte) {
	l.names = append(l.names[:0], names...)
	l.cols, l.types = l.cols[:0], l.types[:0]
	i := bytes.IndexByte(names, ':')
	if i < 0 {
		return
	}
	prefix, names := names[:i], names[i+1:]
	for {
		var name []byte
		if name, names = procfs.Field(names); len(name) == 0 {
			return
		}
		r.key = append(append(append(r.key[:0], prefix...), '.'), name...)
		col, ok := r.out.Keys()[string(r.key)]
		if !ok {
			col = -1
		}
		typ := int32(-1)
		if string(prefix) == "IcmpMsg" {
			for c, dir := range [...]string{"InType", "OutType"} {
				if digits, ok := bytes.CutPrefix(name, []byte(dir)); ok {
					if n, rest, ok := procfs.Uint(digits); ok && len(rest) == 0 && n <= maxICMPType {
						typ, col = int32(n), c
					}
				}
			}
		}
		l.cols, l.types = append(l.cols, col), append(l.types, typ)
	}
}
