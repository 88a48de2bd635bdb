package pmapi

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/wire"
)

// fdOf returns the file descriptor of a connection, -1 if there is none.
func fdOf(conn net.Conn) int {
	fd := -1
	for {
		switch c := conn.(type) {
		case pduRecords:
			conn = c.Conn
			continue
		case *tls.Conn:
			conn = c.NetConn()
			continue
		case *readAhead:
			conn = c.Conn
			continue
		}
		break
	}
	if sc, ok := conn.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			raw.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}

// maxDumped is how many words of a PDU are printed.
const maxDumped = 1 << 16

// pdus prints PDUs that are about to be sent, with -D pdu.
func (t *trace) pdus(conn net.Conn, b []byte) {
	if !t.on(debugname.PDU) {
		return
	}
	for len(b) >= wire.HeaderSize {
		h, _ := wire.ParseHeader(b)
		n := int(min(uint64(h.Len), uint64(len(b))))
		if n < wire.HeaderSize {
			return
		}
		t.pdu("pmXmitPDU", conn, h, b[wire.HeaderSize:n])
		b = b[n:]
	}
}

// pdu prints one PDU: its header in the byte order of this machine, its body as
// words of the machine's order too, as the C library does. What
// authenticates a user is left out.
func (t *trace) pdu(call string, conn net.Conn, h wire.Header, body []byte) {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d]%s: %v fd=%d len=%d", os.Getpid(), call, h.Type, fdOf(conn), h.Len)
	if call == "pmGetPDU" {
		fmt.Fprintf(&b, " from=%d", int32(h.From))
	}
	secret := h.Type == wire.TypeAttr && !isContainer(body)
	words := min((wire.HeaderSize+len(body)+3)/4, maxDumped)
	for i := range words {
		if i%8 == 0 {
			fmt.Fprintf(&b, "\n%03d: ", i)
		}
		switch {
		case i == 0:
			fmt.Fprintf(&b, "%8x ", h.Len)
		case i == 1:
			fmt.Fprintf(&b, "%8x ", uint32(h.Type))
		case i == 2:
			fmt.Fprintf(&b, "%8x ", uint32(h.From))
		case secret && i > 3:
			b.WriteString("........ ")
		default:
			word := [4]byte{'~', '~', '~', '~'} // where the body has ended
			copy(word[:], body[4*i-wire.HeaderSize:])
			fmt.Fprintf(&b, "%8x ", wordOf(word[:]))
		}
	}
	b.WriteByte('\n')
	if words == maxDumped {
		b.WriteString("...\n")
	}
	t.printf("%s", b.String())
}

// wordOf returns four bytes as a word of this machine.
func wordOf(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// isContainer reports whether the body of a PDU of attributes names a container:
// others are about the user.
func isContainer(body []byte) bool {
	return len(body) >= 4 && wire.AttrKey(binary.BigEndian.Uint32(body)) == wire.AttrContainer
}

// connected prints that a connection exists, of which nothing was read so far.
func (t *trace) connected(conn net.Conn) {
	if t.on(debugname.Context) {
		t.printf("__pmSetSocketIPC: fd=%d\nIPC table fd(PDU version):\n", fdOf(conn))
	}
}

// greeted prints the greeting of a collector.
func (t *trace) greeted(conn net.Conn, hello *wire.Error) {
	if !t.on(debugname.Context) {
		return
	}
	info := wire.UnpackInfo(hello.Info)
	word := wordOf(binary.BigEndian.AppendUint32(nil, hello.Info))
	t.printf("__pmDecodeXtendError: got error PDU (code=%d, datum=%d, version=%d)\n", hello.Code, int32(word), info.Version)
	if hello.Code >= 0 {
		t.printf("__pmSetFeaturesIPC: fd=%d version=%d features=%d\n", fdOf(conn), info.Version, uint16(info.Features))
		t.table(conn)
	}
}

// table prints the C library's table of connections: that of this context alone, as
// each has its own.
func (t *trace) table(conn net.Conn) {
	t.printf("IPC table fd(PDU version): %d(%d,1)\n", fdOf(conn), wire.PDUVersion)
}

// creds prints credentials that are about to be sent.
func (t *trace) creds(creds []wire.Cred) {
	if t.on(debugname.Context) {
		for i, c := range creds {
			t.printf("__pmSendCreds: #%d = %x\n", i, uint32(c.Type)<<24|uint32(c.A)<<16|uint32(c.B)<<8|uint32(c.C))
		}
	}
}

// connection prints the result of connecting: to a socket, or to one of several
// ports.
func (t *trace) connection(to *target, conn net.Conn, path string, ports []int, err error) {
	if !t.on(debugname.Context) {
		return
	}
	where := "path=" + clean(path)
	if path == "" {
		list := make([]string, len(ports))
		for i, port := range ports {
			list[i] = strconv.Itoa(port)
		}
		where = "port=" + strings.Join(list, ",")
	}
	if to.proxy != "" && path == "" {
		t.byProxy(to, conn, where, err)
		return
	}
	if err != nil {
		code := pcp.Code(err)
		t.printf("__pmConnectPMCD(%s): pmcd connection %s failed: %v\n", clean(to.name()), where, code)
		return
	}
	t.printf("__pmConnectPMCD(%s): pmcd connection %s fd=%d PDU version=%d\n", clean(to.name()), where, fdOf(conn), wire.PDUVersion)
	t.table(conn)
}

// byProxy prints the result of connecting by way of a proxy.
func (t *trace) byProxy(to *target, conn net.Conn, where string, err error) {
	proxy, _, _ := net.SplitHostPort(to.proxy)
	if err != nil {
		t.printf("__pmConnectPMCD(%s): proxy connection to %s %s failed: %v\n", clean(to.name()), clean(proxy), where, pcp.Code(err))
		return
	}
	t.printf("__pmConnectPMCD(%s): proxy connection host=%s %s fd=%d version=1\n", clean(to.name()), clean(proxy), where, fdOf(conn))
}

// status prints a status that came as an answer.
func (t *trace) status(code pcp.Error) {
	if t.on(debugname.Context) {
		t.printf("__pmDecodeError: got error PDU (code=%d, fromversion=%d)\n", int32(code), wire.PDUVersion)
	}
}

// sendProfile prints a profile that is about to be sent.
func (t *trace) sendProfile(p *pcp.Profile) {
	if t.on(debugname.Profile) {
		t.printf("pmFetch: calling __pmSendProfile, context: %d slot: %d\n", t.handle, slot)
		t.profile(pcp.InDomNull, p)
	}
}

// nameRequest prints a request about a name, such as for its children.
func (t *trace) nameRequest(typ wire.Type, name string, subtype int) {
	if t.on(debugname.PMNS) {
		t.printf("SendNameReq: from=%d name=\"%s\" pdu=%v subtype=%d\n", slot, clean(name), typ, subtype)
	}
}

// asksNames prints a request for the PMIDs of names.
func (t *trace) asksNames(names []string) {
	if !t.on(debugname.PMNS) {
		return
	}
	var b strings.Builder
	b.WriteString("pmLookupName: request_names ->")
	for i, name := range names {
		fmt.Fprintf(&b, " [%d] %s", i, clean(name))
	}
	t.printf("%s\n", b.String())
	t.nameList("__pmSendNameList", names, nil)
}

// gotIDs prints the answer to that.
func (t *trace) gotIDs(ids []pcp.PMID, err error) {
	if !t.on(debugname.PMNS) || err != nil && len(ids) == 0 {
		return
	}
	t.idList("__pmDecodeIDList", ids)
	var b strings.Builder
	b.WriteString("pmLookupName: receive_names <-")
	for i, id := range ids {
		fmt.Fprintf(&b, " [%d] %v", i, id)
	}
	t.printf("%s\n", b.String())
}

// gotNames prints an answer that has names.
func (t *trace) gotNames(ans *wire.PMNSNames, err error) {
	if err == nil && t.on(debugname.PMNS) {
		t.nameList("__pmDecodeNameList", ans.Names, ans.Status)
	}
}

// hostResult dumps a result that came from a collector, or goes there.
func (t *trace) hostResult(ctx context.Context, res *pcp.Result) {
	if t.on(debugname.PDU) {
		t.result(ctx, t.lookup, res)
	}
}

// labels dumps label sets that came from a collector (__pmDumpLabelSets).
func (t *trace) labels(kind pcp.LabelFlags, ident uint32, sets []pcp.LabelSet) {
	if !t.on(debugname.Labels) {
		return
	}
	var b strings.Builder
	at := "(nil)"
	if len(sets) > 0 {
		at = fmt.Sprintf("%p", sets)
	}
	fmt.Fprintf(&b, "__pmDecodeLabel(ident=%d,type=0x%x[%v], %d sets @%s)\n", int32(ident), uint8(kind), kind, len(sets), at)
	for i := range sets {
		set := &sets[i]
		if set.Err != 0 {
			fmt.Fprintf(&b, "[%d] pmLabelSet dump from %p inst=%d nlabels=%d\n", i, set, set.Inst, int32(set.Err))
			continue
		}
		fmt.Fprintf(&b, "[%d] pmLabelSet dump from %p inst=%d nlabels=%d\n", i, set, set.Inst, len(set.Index))
		fmt.Fprintf(&b, "pmLabelSet %p json:\n    %s\n", set, clean(set.JSON))
		if len(set.Index) > 0 {
			fmt.Fprintf(&b, "pmLabelSet %p index:\n", set)
		}
		for j, l := range set.Index {
			fmt.Fprintf(&b, "    [%d] name(%d,%d) : value(%d,%d) [%v]\n", j, l.Name, l.NameLen, l.Value, l.ValueLen, l.Flags)
		}
	}
	t.printf("%s", b.String())
}
