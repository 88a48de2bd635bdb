package linux

import (
	"bytes"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/procfs"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of ttyMetrics.
const (
	ttyTx = iota
	ttyRx
	ttyFrame
	ttyParity
	ttyBreak
	ttyOverrun
	ttyIRQ
	numTTY
)

// A ttyReader reads /proc/tty/driver/serial.
type ttyReader struct {
	blocks []*column.Block
	names  column.Names
}

func ttyFamily(h *host) column.Family {
	r := newTTYReader()
	return column.Family{Name: "tty", Metrics: ttyMetrics, Sources: []*column.Source{{
		Name: "/proc/tty/driver/serial", File: h.file("proc/tty/driver/serial"), Parse: r.parse, Blocks: r.blocks, Restricted: true,
	}}}
}

func newTTYReader() *ttyReader {
	return &ttyReader{blocks: column.NewBlocks(ttyMetrics, column.Layout{Cols: numTTY, Lists: true, InDom: &column.InDom{
		Serial: 35, Help: "Serial ports",
	}})}
}

// parse reads lines "0: uart:16550A port:000003F8 irq:4 tx:218 rx:0 fe:1 RTS|CTS"
// of /proc/tty/driver/serial. Errors are only there if there were some.
func (r *ttyReader) parse(b []byte) {
	out := r.blocks[0]
	out.Clear()
	r.names.Begin()
	for line := range procfs.Lines(b) {
		port, line, ok := procfs.Cut(line, ':')
		if _, rest, isNum := procfs.Uint(port); !ok || !isNum || len(rest) > 0 || !bytes.HasPrefix(line, []byte("uart:")) || bytes.HasPrefix(line, []byte("uart:unknown")) {
			continue
		}
		inst, name := r.names.ID(port)
		if !r.names.First(inst) {
			continue
		}
		row := out.Row(out.AddNamed(inst, name))
		for i := range row {
			row[i] = column.Num(0)
		}
		for {
			var word []byte
			if word, line = procfs.Field(line); len(word) == 0 {
				break
			}
			key, val, _ := bytes.Cut(word, []byte(":"))
			col := -1
			switch string(key) {
			case "tx":
				col = ttyTx
			case "rx":
				col = ttyRx
			case "fe":
				col = ttyFrame
			case "pe":
				col = ttyParity
			case "brk":
				col = ttyBreak
			case "oe":
				col = ttyOverrun
			case "irq":
				col = ttyIRQ
			}
			if v, _, ok := procfs.Uint(val); ok && col >= 0 {
				row[col].Bits = v
			}
		}
	}
}

// ttyMetrics are the metrics of serial ports.
var ttyMetrics = []column.Metric{
	{Name: "tty.serial.tx", Cluster: 74, Item: 0, Type: pcp.TypeU32, Sem: counter, Col: ttyTx, Help: "Bytes sent of each serial port"},
	{Name: "tty.serial.rx", Cluster: 74, Item: 1, Type: pcp.TypeU32, Sem: counter, Col: ttyRx, Help: "Bytes received of each serial port"},
	{Name: "tty.serial.frame", Cluster: 74, Item: 2, Type: pcp.TypeU32, Sem: counter, Col: ttyFrame, Help: "Framing errors of each serial port"},
	{Name: "tty.serial.parity", Cluster: 74, Item: 3, Type: pcp.TypeU32, Sem: counter, Col: ttyParity, Help: "Parity errors of each serial port"},
	{Name: "tty.serial.brk", Cluster: 74, Item: 4, Type: pcp.TypeU32, Sem: counter, Col: ttyBreak, Help: "Breaks received of each serial port"},
	{Name: "tty.serial.overrun", Cluster: 74, Item: 5, Type: pcp.TypeU32, Sem: counter, Col: ttyOverrun, Help: "Bytes lost since the buffer was full of each serial port"},
	{Name: "tty.serial.irq", Cluster: 74, Item: 6, Type: pcp.TypeU32, Sem: discrete, Col: ttyIRQ, Help: "Interrupt of each serial port"},
}
