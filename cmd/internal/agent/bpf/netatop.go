package bpf

import (
	"github.com/cilium/ebpf/asm"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Columns of netatop, which are the items of its metrics: those of UDP are netUDP on, and those of packets come before those of bytes.
const (
	netSend = 0
	netRecv = 2
	netUDP  = 4
	numNet  = 8

	messagePeek = 2 // MSG_PEEK
)

// netatop counts what processes send and receive.
func netatop(Config) *module {
	m := &module{name: "netatop", write: writeNetatop}
	bytes := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceByte}
	var metrics []column.Metric
	for item := range numNet {
		protocol, way, verb, what, units := "tcp", "send", "sent", "packets", count()
		if item >= netUDP {
			protocol = "udp"
		}
		if item&netRecv != 0 {
			way, verb = "recv", "received"
		}
		long := "The number of system calls, as in PCP's agent of the same name."
		if item&1 != 0 {
			what, units = "bytes", bytes
			long = "Without headers. Bytes that a process receives by splice(2) are not counted."
		}
		metrics = append(metrics, column.Metric{
			Name: "bpf.proc.net." + protocol + "." + way + "." + what, Cluster: clusterNetatop, Item: item, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: units, Col: item,
			Help: what + " that a process has " + verb + " by " + protocol, Long: long,
		})
	}
	blocks := column.NewBlocks(metrics, column.Layout{Cols: numNet, Lists: true, InDom: processInDom(clusterNetatop, "use the network")})
	m.read = func(o *object) error { return readProcesses(o, "bytes", blocks[0]) }
	m.family = column.Family{Name: m.name, Metrics: metrics, Sources: []*column.Source{{Name: "eBPF at sock_send_length and sock_recv_length", Blocks: blocks, Restricted: true}}}
	return m
}

func writeNetatop(k *kernel, o *object) error {
	sock, err := k.socket()
	if err != nil {
		return err
	}
	o.counts("bytes", 8, numNet*maxProcessCounts)
	for way, tracepoint := range map[int32]string{netSend: "sock_send_length", netRecv: "sock_recv_length"} {
		c := new(code)
		c.arg(asm.R6, asm.R1, 0)
		c.arg(asm.R7, asm.R1, 1) // the result of the system call, an int
		c.arg(asm.R8, asm.R1, 2) // flags
		c.add(asm.LSh.Imm(asm.R7, 32), asm.ArSh.Imm(asm.R7, 32), asm.JSLE.Imm(asm.R7, 0, exit))
		c.add(asm.And.Imm(asm.R8, messagePeek), asm.JNE.Imm(asm.R8, 0, exit))
		c.load(asm.R1, asm.R6, sock.protocol)
		tcp, known := c.label(), c.label()
		c.add(asm.Mov.Imm(asm.R9, way), asm.JEq.Imm(asm.R1, protocolTCP, tcp), asm.JNE.Imm(asm.R1, protocolUDP, exit), asm.Add.Imm(asm.R9, netUDP), asm.Ja.Label(known))
		c.mark(tcp)
		c.load(asm.R1, asm.R6, sock.family)
		c.add(asm.JEq.Imm(asm.R1, familyIPv4, known), asm.JNE.Imm(asm.R1, familyIPv6, exit))
		c.mark(known)
		c.add(asm.FnGetCurrentPidTgid.Call(), asm.RSh.Imm(asm.R0, 32))
		c.add(asm.StoreMem(asm.RFP, -8, asm.R0, asm.Word), asm.StoreMem(asm.RFP, -4, asm.R9, asm.Word))
		c.bump("bytes", -8, -16, asm.R0)
		c.add(asm.Add.Imm(asm.R9, 1), asm.StoreMem(asm.RFP, -4, asm.R9, asm.Word))
		c.bump("bytes", -8, -16, asm.R7)
		o.on(tracepoint, c)
	}
	return nil
}
