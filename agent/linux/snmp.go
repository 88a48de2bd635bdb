package linux

import (
	"bytes"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
)

// A pairedReader reads files of pairs of lines, of which the first has names
// and the second numbers: "Udp: InDatagrams NoPorts" and "Udp: 196 0", as
// /proc/net/snmp and netstat. It remembers the lines of names.
type pairedReader struct {
	file *procfs.File
	keys map[string]int // columns by "Udp.InDatagrams"
	rows []pairedLine   // by number of the pair
	key  []byte         // room to make keys in
}

// A pairedLine is a line of names and the columns of what they name, -1 for
// what nobody wants.
type pairedLine struct {
	names []byte
	cols  []int
	types []int32 // of the pair "IcmpMsg:": the number in the name
}

// maxPairs bounds how many pairs of lines a pairedReader looks at.
const maxPairs = 256

// maxICMPType is the largest type of an ICMP message.
const maxICMPType = 255

// Columns of blockICMPMsg.
const (
	icmpIn = iota
	icmpOut
	numICMPMsg
)

// parse fills a block from the file. Messages by type, "IcmpMsg: InType3 OutType3", go to icmp if that is not nil.
func (r *pairedReader) parse(b []byte, out, icmp *block) {
	out.clear()
	if icmp != nil && icmp.rows() == 0 {
		for i := range int32(maxICMPType + 1) {
			icmp.addNamed(i, "Type"+strconv.Itoa(int(i)))
		}
	} else if icmp != nil {
		clear(icmp.cells)
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
				icmp.set(int(l.types[j]), col, u)
			case l.types[j] < 0 && col >= 0:
				out.set(0, col, u)
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
		col, ok := r.keys[string(r.key)]
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

func readSNMP(a *Agent) error {
	b, err := a.snmp.file.Read()
	if err != nil {
		return err
	}
	a.snmp.parse(b, &a.blocks[blockSNMP], &a.blocks[blockICMPMsg])
	return nil
}

func readNetstat(a *Agent) error {
	b, err := a.netstat.file.Read()
	if err != nil {
		return err
	}
	a.netstat.parse(b, &a.blocks[blockNetstat], nil)
	return nil
}

// A keyedReader reads a file of keys and values into the block whose metrics
// name the keys.
type keyedReader struct {
	file  *procfs.File
	keyed *procfs.Keyed
	block blockID
}

func newKeyedReader(a *Agent, b blockID, file *procfs.File) keyedReader {
	return keyedReader{file, procfs.NewKeyed(a.keys[b]), b}
}

func (r *keyedReader) read(a *Agent) error {
	b, err := r.file.Read()
	if err != nil {
		return err
	}
	out := &a.blocks[r.block]
	out.clear()
	c := out.cells
	r.keyed.Parse(b, nil, func(col int, v uint64) { c[col] = cell{v, true} })
	return nil
}

// readSNMP6 takes what a kernel does not count for 0, as the C agent does.
func readSNMP6(a *Agent) error {
	err := a.snmp6.read(a)
	if err == nil {
		out := &a.blocks[blockSNMP6]
		for i := range out.cells {
			out.cells[i].ok = true
		}
	}
	return err
}

// A sockstatReader reads /proc/net/sockstat or sockstat6: lines such as "TCP:
// inuse 10 orphan 0". The key of a number is "TCP.inuse".
type sockstatReader struct {
	file  *procfs.File
	block blockID
	key   []byte
}

func (r *sockstatReader) read(a *Agent) error {
	b, err := r.file.Read()
	if err != nil {
		a.blocks[r.block].clear()
		return err
	}
	r.parse(b, a.keys[r.block], &a.blocks[r.block])
	return nil
}

func (r *sockstatReader) parse(b []byte, keys map[string]int, out *block) {
	out.clear()
	for {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		what, line, ok := procfs.Cut(line, ':')
		if !ok {
			continue
		}
		for {
			var name []byte
			if name, line = procfs.Field(line); len(name) == 0 {
				break
			}
			v, rest, ok := procfs.Int(line)
			if !ok {
				break
			}
			line = rest
			r.key = append(append(append(r.key[:0], what...), '.'), name...)
			if col, ok := keys[string(r.key)]; ok {
				out.set(0, col, uint64(v))
			}
		}
	}
}

// Columns of blockSoftnet and blockSoftnetCPU.
const (
	softProcessed = iota
	softDropped
	softSqueezed
	softCollision
	softRPS
	softFlowLimit
	numSoftnet
)

// readSoftnet has what is not in the file be an error, as in C.
func readSoftnet(a *Agent) error {
	if a.softnetMetrics == nil {
		for i := range a.metrics {
			if m := &a.metrics[i]; m.block == blockSoftnet || m.block == blockSoftnetCPU {
				a.softnetMetrics = append(a.softnetMetrics, m)
			}
		}
	}
	all := &a.blocks[blockSoftnet]
	b, err := a.softnet.Read()
	if err == nil {
		parseSoftnet(b, a.blocks[blockCPU].insts, all, &a.blocks[blockSoftnetCPU])
	}
	for _, m := range a.softnetMetrics {
		m.err = 0
		if err == nil && !all.cells[m.col].ok {
			m.err = pcp.ErrAppVersion
		}
	}
	return err
}

// parseSoftnet reads /proc/net/softnet_stat: a line of hexadecimal numbers for
// each of the processors online, without their numbers in older kernels.
func parseSoftnet(b []byte, online []int32, all, perCPU *block) {
	all.clear()
	perCPU.clear()
	columns := [...]int{
		0: softProcessed, 1: softDropped, 2: softSqueezed, 3: -1, 4: -1, 5: -1, 6: -1, 7: -1,
		8: softCollision, 9: softRPS, 10: softFlowLimit, 11: -1,
	}
	for n := 0; n < len(online); n++ {
		line, rest, ok := procfs.Line(b)
		if !ok {
			return
		}
		b = rest
		row := perCPU.row(perCPU.add(online[n]))
		for _, col := range columns {
			v, rest, ok := procfs.Hex(line)
			if !ok {
				break
			}
			line = rest
			if col >= 0 {
				row[col] = cell{v, true}
			}
		}
		addCells(all.cells, row)
	}
}
