package sockets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
)

// A fakeSocket is a socket in the fake kernel's reports.
type fakeSocket struct {
	udp      bool
	state    uint8
	src, dst string
	device   uint32
	timer    uint8
	expires  uint32
	cookie   uint64
	attrs    []fakeAttr
}

type fakeAttr struct {
	kind uint16
	data []byte
}

func u32s(list ...uint32) []byte {
	var b []byte
	for _, v := range list {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// tcpInfo is a struct tcp_info of a connection, of n bytes.
func tcpInfo(n int) []byte {
	b := make([]byte, tcpInfoSize)
	b[tcpOptions] = optTimestamps | optSACK | optWscale
	b[tcpWscale], b[tcpFlags] = 0x78, 1
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		b[tcpWscale], b[tcpFlags] = 0x87, 0x80
	}
	for i := 8; i+4 <= len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], uint32(1000+i))
	}
	for _, off := range []int{tcpPacingRate, tcpBytesAcked, tcpBytesRecv, tcpDeliveryRate, tcpBusyTime, tcpBytesSent, tcpBytesRetrans} {
		binary.NativeEndian.PutUint64(b[off:], uint64(1_000_000_000_000+off))
	}
	return b[:n]
}

// message is the kernel's message about s.
func (s fakeSocket) message() []byte {
	src, dst := netip.MustParseAddrPort(s.src), netip.MustParseAddrPort(s.dst)
	b := []byte{familyIPv4, s.state, s.timer, 2}
	if src.Addr().Is6() {
		b[0] = familyIPv6
	}
	b = binary.BigEndian.AppendUint16(b, src.Port())
	b = binary.BigEndian.AppendUint16(b, dst.Port())
	for _, a := range []netip.Addr{src.Addr(), dst.Addr()} {
		b = append(b, a.AsSlice()...)
		b = append(b, make([]byte, 16-len(a.AsSlice()))...)
	}
	b = append(b, u32s(s.device, uint32(s.cookie), uint32(s.cookie>>32), s.expires, 11, 22, 1000, 4242)...)
	for _, a := range s.attrs {
		b = binary.NativeEndian.AppendUint16(b, uint16(4+len(a.data)))
		b = binary.NativeEndian.AppendUint16(b, a.kind)
		b = append(b, a.data...)
		b = append(b, make([]byte, -len(a.data)&3)...)
	}
	return b
}

// netlink wraps a message in one of netlink.
func netlink(kind uint16, msg []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(nlHeader+len(msg)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, make([]byte, 10)...)
	b = append(b, msg...)
	return append(b, make([]byte, -len(b)&3)...)
}

func fakeSockets() []fakeSocket {
	skmem := fakeAttr{attrSkmem, u32s(1, 131072, 3, 16384, 5, 6, 7, 8, 9)}
	cgroup := fakeAttr{attrCgroup, binary.NativeEndian.AppendUint64(nil, 77)}
	return []fakeSocket{
		{state: stateListen, src: "0.0.0.0:22", dst: "0.0.0.0:0", cookie: 0x1a, attrs: []fakeAttr{skmem, {attrCong, []byte("cubic\x00")}, cgroup, {attrInfo, tcpInfo(8)}}},
		{state: stateEstablished, src: "192.0.2.1:22", dst: "198.51.100.7:50000", timer: 2, expires: 237000, cookie: 1<<40 | 5, attrs: []fakeAttr{{attrCong, []byte("cubic\x00")}, {attrInfo, tcpInfo(tcpInfoSize)}, skmem}},
		{state: stateTimeWait, src: "127.0.0.1:8080", dst: "127.0.0.1:40000", timer: 3, expires: 9001},
		{state: stateListen, src: "[::]:80", dst: "[::]:0", attrs: []fakeAttr{{attrV6Only, []byte{0}}}},
		{state: stateListen, src: "[::]:81", dst: "[::]:0", attrs: []fakeAttr{{attrV6Only, []byte{1}}, {attrSkmem, u32s(1, 2, 3)}}},
		{state: stateEstablished, src: "[::ffff:192.0.2.1]:80", dst: "[2001:db8::1]:9", attrs: []fakeAttr{{attrInfo, tcpInfo(100)}, {attrVegas, u32s(1, 0, 500, 0)}, {attrCong, []byte("a-name-of-more-than-16-bytes")}}},
		{udp: true, state: stateClosed, src: "0.0.0.0:68", dst: "0.0.0.0:0", device: 4000000000},
		{udp: true, state: stateEstablished, src: "[fe80::1]:546", dst: "[ff02::2]:547", attrs: []fakeAttr{{attrV6Only, []byte{1}}}},
	}
}

// newFake returns an agent whose kernel has the sockets.
func newFake(t testing.TB, list func() []fakeSocket) *Agent {
	t.Helper()
	a, err := New(Config{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a.reader.dump = dumpOf(list)
	return a
}

func dumpOf(list func() []fakeSocket) func(family, protocol uint8, states uint32, fn func([]byte) error) error {
	return func(family, protocol uint8, states uint32, fn func([]byte) error) error {
		var b []byte
		for _, s := range list() {
			msg := s.message()
			if msg[0] == family && s.udp == (protocol == protocolUDP) && states&(1<<s.state) != 0 {
				b = append(b, netlink(nlDiag, msg)...)
			}
		}
		done, err := messages(append(b, netlink(nlDone, u32s(0))...), fn)
		if err == nil && !done {
			return errors.New("not done")
		}
		return err
	}
}

func TestValues(t *testing.T) {
	a := newFake(t, fakeSockets)
	v := agenttest.Read(t, a)
	if diff := cmp.Diff(v, agenttest.Read(t, a)); diff != "" {
		t.Errorf("a second reading differs:\n%s", diff)
	}
	var insts []string
	list, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
	if err != nil {
		t.Fatal(err)
	}
	for i, inst := range list {
		if inst.Inst != int32(i) {
			t.Errorf("instance %d is number %d", i, inst.Inst)
		}
		insts = append(insts, inst.Name)
	}
	names := []string{
		"udp/0.0.0.0%if4000000000:68", "udp6/[fe80::1]:546", "tcp/0.0.0.0:22", "tcp/192.0.2.1:22", "tcp/127.0.0.1:8080", "tcp/*:80", "tcp6/[::]:81", "tcp/[::ffff:192.0.2.1]:80",
	}
	if diff := cmp.Diff(names, insts); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	f := func(inst string, values map[string]string) {
		t.Helper()
		for name, want := range values {
			if got := v["network.persocket."+name][inst]; got != want {
				t.Errorf("%s of %s is %s, want %s", name, inst, got, want)
			}
		}
	}
	f("tcp/0.0.0.0:22", map[string]string{
		"netid": `"tcp"`, "state": `"LISTEN"`, "src": `"0.0.0.0:22"`, "dst": `"0.0.0.0:*"`, "recvq": "11", "sendq": "22", "inode": "4242", "uid": "1000",
		"sk": "26", "cgroup": `"unreachable:4d"`, "v6only": "0", "cubic": "1", "ts": "1", "cwnd": "0", "skmem.str": `"r1,rb131072,t3,tb16384,f5,w6,o7,bl8,d9"`, "skmem.sock_drop": "9",
		"skmem.back_log": "8", "timer.str": `""`, "round_trip.str": `""`, "wscale.str": `"8,7"`, "app_limited": "1",
	})
	f("tcp/192.0.2.1:22", map[string]string{
		"state": `"ESTAB"`, "dst": `"198.51.100.7:50000"`, "timer.str": `"keepalive,3min57sec,2"`, "timer.name": `"keepalive"`, "timer.expire_str": `"3min57sec"`,
		"timer.retrans": "2", "sk": "1099511627781", "wscale.snd": "8", "wscale.rcv": "7", "cwnd": "1080", "ssthresh": "1076", "mss": "1016", "round_trip.rtt": "1.068",
		"round_trip.str": `"1.068/1.072"`, "ato": "1.012", "minrtt": "1.148", "bytes_acked": "1000000000120", "bytes_retrans": "1000000000208", "busy": "1000000000",
		"pacing_rate": "8.000000000832e+12", "delivery_rate": "8.00000000128e+12", "send": "8.219325843e+09", "reord_seen": "1220", "dsack_dups": "1216",
		"delivered": "1192", "notsent": "1144", "data_segs_in": "1152", "data_segs_out": "1156", "lastsnd": "1044", "lastrcv": "1052", "lastack": "1056", "rcv_ssthresh": "1064", "cgroup": `""`,
	})
	f("tcp/127.0.0.1:8080", map[string]string{"state": `"TIME-WAIT"`, "timer.str": `"timewait,9.001ms,2"`, "skmem.str": `""`, "cubic": "0"})
	f("tcp6/[::]:81", map[string]string{"v6only": "1", "dst": `"[::]:*"`, "skmem.str": `""`})
	f("tcp/[::ffff:192.0.2.1]:80", map[string]string{"send": "1.755648e+10", "bytes_sent": "0", "minrtt": "0", "rcv_space": "1096", "cubic": "0"})
	f("", map[string]string{"filter": `""`})
	agenttest.HelpTexts(t, a)
}

// TestShared checks that sockets of the same name are one instance, with the values of the
// last.
func TestShared(t *testing.T) {
	all := []fakeSocket{
		{state: stateListen, src: "127.0.0.1:22", dst: "0.0.0.0:0", attrs: []fakeAttr{{attrSkmem, u32s(1, 2, 3, 4, 5, 6, 7, 8, 9)}}},
		{state: stateEstablished, src: "127.0.0.1:22", dst: "127.0.0.1:1000"},
	}
	v := agenttest.Read(t, newFake(t, func() []fakeSocket { return all }))
	if got := v["network.persocket.state"]; len(got) != 1 || got["tcp/127.0.0.1:22"] != `"ESTAB"` {
		t.Errorf("states %q", got)
	}
	if got := v["network.persocket.skmem.back_log"]["tcp/127.0.0.1:22"]; got != "0" {
		t.Errorf("back_log is %s, of another socket", got)
	}
}

// TestNumbers checks that instances keep their numbers for ten minutes after they were last
// seen.
func TestNumbers(t *testing.T) {
	var list []fakeSocket
	a := newFake(t, func() []fakeSocket { return list })
	now := time.Unix(1000, 0)
	a.reader.now = func() time.Time { return now }
	f := func(want string, ports ...int) {
		t.Helper()
		list = nil
		for _, p := range ports {
			list = append(list, fakeSocket{state: stateListen, src: fmt.Sprintf("127.0.0.1:%d", p), dst: "0.0.0.0:0"})
		}
		insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, inst := range insts {
			fmt.Fprintf(&got, "%d=%s ", inst.Inst, strings.TrimPrefix(inst.Name, "tcp/127.0.0.1:"))
		}
		if got.String() != want {
			t.Errorf("instances %q, want %q", got.String(), want)
		}
	}
	f("0=1 1=2 ", 1, 2)
	f("1=2 2=3 ", 3, 2)
	now = now.Add(9 * time.Minute)
	f("0=1 2=3 ", 1, 3)
	now = now.Add(9 * time.Minute)
	f("0=1 ", 1)
	now = now.Add(2 * time.Minute)
	f("0=1 ", 1)
	if n := len(a.reader.known); n != 1 {
		t.Errorf("%d names are known", n)
	}
	f("0=1 3=2 ", 1, 2)
	a.reader.next = 1<<31 - 1
	f("2147483647=9 ", 9)
	f("0=10 ", 10)
}

// TestErrors checks that a kernel that cannot report has no sockets, and that a kernel that
// fails is an error of the source alone.
func TestErrors(t *testing.T) {
	for _, err := range []error{syscall.ENOENT, syscall.EPERM, errors.New("odd"), errShort} {
		a := newFake(t, nil)
		a.reader.dump = func(uint8, uint8, uint32, func([]byte) error) error { return fmt.Errorf("netlink: %w", err) }
		if got := agenttest.Read(t, a)["network.persocket.state"]; len(got) != 0 {
			t.Errorf("%v: states %q", err, got)
		}
		readErr := a.reader.read()
		if absent := err == syscall.ENOENT || err == syscall.EPERM; (readErr == nil) != absent {
			t.Errorf("%v: read = %v", err, readErr)
		}
	}
}

func TestFilter(t *testing.T) {
	all := fakeSockets()
	f := func(filter, want string) {
		t.Helper()
		p, err := ParseFilter(filter)
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			return
		}
		var got []string
		for _, s := range all {
			d := diag{udp: s.udp}
			if err := d.decode(s.message()); err != nil {
				t.Fatal(err)
			}
			if p.matches(&d) {
				got = append(got, fmt.Sprint(d.src.Port()))
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: ports %s, want %s", filter, text, want)
		}
	}
	const everything = "22 22 8080 80 81 80 68 546"
	f("", everything)
	f("state all", everything)
	f("state connected", "22 8080 80 546")
	f("state synchronized", "22 8080 80 546")
	f("state listening", "22 80 81")
	f("state listen state time-wait", "22 8080 80 81")
	f("exclude listening exclude established", "8080 68")
	f("state all exclude bucket", "22 22 80 81 80 68 546")
	f("state big", "22 22 80 81 80 68 546")
	f("sport = :22", "22 22")
	f("sport == 80 or sport = 81", "80 81 80")
	f("sport >= 80 sport < 100", "80 81 80")
	f("sport ge :80 and sport lt :100 and not sport eq :81", "80 80")
	f("! ( sport > 60 | sport = 22 )", "")
	f("not not sport != 22", "8080 80 81 80 68 546")
	f("state established ( dport = :9 or dport = :547 )", "80 546")
	f("src 192.0.2.1", "22 80")
	f("src = 192.0.2.0/24", "22 80")
	f("src != 192.0.2.0/24 and src 127.0.0.0/8", "8080")
	f("src 192.0.2.1:80", "80")
	f("dst [2001:db8::1]:9", "80")
	f("dst 2001:db8::/32", "80")
	f("dst [2001:db8::]/32", "80")
	f("src *:22", "22 22")
	f("src :22", "22 22")
	f("src * sport=22&&dport!=0", "22")
	f("src 0.0.0.0/0", "22 22 8080 80 68")
}

// TestFilterRefused wants a reason for texts that are not filters, or not supported.
func TestFilterRefused(t *testing.T) {
	f := func(filter, want string) {
		t.Helper()
		if _, err := ParseFilter(filter); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseFilter(%.40q) = %v, want %q", filter, err, want)
		}
	}
	f("state", `"" is not a state`)
	f("state established state nonsense", `"nonsense" is not a state`)
	f("established", `condition "established" is not supported`)
	f("dev = eth0", `condition "dev" is not supported`)
	f("cgroup = /x", "not supported")
	f("sport", "not an operator")
	f("sport 80", "not an operator")
	f("sport ~ 22", "not an operator")
	f("sport = ssh", `"ssh" is not the number of a port`)
	f("sport = 65536", "not the number of a port")
	f("src", `"" is not an address`)
	f("src localhost", `"localhost" is not an address`)
	f("src 1.2.3.4/33", "not a number of bits")
	f("src fe80::1%eth0", "not an address")
	f("src 1.2.3.4:x", "not the number of a port")
	f("( sport = 1", "not closed")
	f("sport = 1 )", `")" is unexpected`)
	f("sport = 1 and", "missing at the end")
	f("not", "missing at the end")
	f("; reboot", `condition ";" is not supported`)
	f(strings.Repeat("(", 100), "nested deeper")
	f(strings.Repeat("! ", 2000), "nested deeper")
	f(strings.Repeat("x", 5000), "at most 4096")
}

// TestFilterFile checks that the first line that is not a comment counts, and that a damaged one
// leaves no sockets and does no harm.
func TestFilterFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter.conf")
	f := func(text, wantFilter string, wantSockets int) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		a, err := New(Config{FilterFile: path})
		if err != nil {
			t.Fatal(err)
		}
		a.reader.dump = dumpOf(fakeSockets)
		v := agenttest.Read(t, a)
		if got := v["network.persocket.filter"][""]; got != wantFilter {
			t.Errorf("%q: the filter is %s, want %s", text, got, wantFilter)
		}
		if got := len(v["network.persocket.state"]); got != wantSockets {
			t.Errorf("%q: %d sockets, want %d", text, got, wantSockets)
		}
	}
	f("# comment\n\nstate listening\nstate all\n", `"state listening"`, 3)
	f("", `""`, 8)
	f("state all", `"state all"`, 8)
	f("\x00\xff", `""`, 0)
	f("state odd\n", `"state odd"`, 0)
	f(strings.Repeat("#\n", maxFilterFile), `""`, 0)
}

func TestStore(t *testing.T) {
	a := newFake(t, fakeSockets)
	f := func(id pcp.PMID, want error, values ...pcp.Value) {
		t.Helper()
		res := new(pcp.Result)
		res.AddSet(id)
		for _, v := range values {
			res.Add(v)
		}
		if err := a.Store(t.Context(), new(pmda.Client), res); !errors.Is(err, want) {
			t.Errorf("store of %v into %v: %v, want %v", values, id, err, want)
		}
	}
	filter := pcp.NewPMID(Domain, 0, 0)
	f(filter, nil, pcp.StringValue("state listening"))
	f(filter, pcp.ErrBadStore, pcp.StringValue("state nonsense"))
	f(filter, pcp.ErrBadStore, pcp.Uint32Value(1))
	f(filter, pcp.ErrInst)
	f(pcp.NewPMID(Domain, 1, 0), pcp.ErrPermission, pcp.StringValue("x"))
	f(pcp.NewPMID(Domain, 0, 1), pcp.ErrPMID, pcp.StringValue("x"))
	f(pcp.NewPMID(Domain, 7, 0), pcp.ErrPMID, pcp.StringValue("x"))
	v := agenttest.Read(t, a)
	if got := v["network.persocket.filter"][""]; got != `"state listening"` {
		t.Errorf("the filter is %s", got)
	}
	if n := len(v["network.persocket.state"]); n != 3 {
		t.Errorf("%d sockets", n)
	}
}

// TestNames checks that control groups and devices are found below the root directory.
func TestNames(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sys/fs/cgroup/unified/a b.slice/x.service")
	for _, d := range []string{dir, filepath.Join(root, "sys/class/net/eth7")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"sys/fs/cgroup/unified/cgroup.controllers": "", "sys/class/net/eth7/ifindex": "7\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := cgroups{root: root}
	id, ok := inode(dir)
	if !ok {
		t.Skip("SKIPPED: directories have no numbers here")
	}
	if got := string(c.append(nil, id)); got != "/a b.slice/x.service" {
		t.Errorf("group %q", got)
	}
	if got := string(c.append(nil, 1<<60)); got != "unreachable:1000000000000000" {
		t.Errorf("group %q", got)
	}
	d := devices{root: root}
	if got := string(d.append(nil, 7)) + " " + string(d.append(nil, 8)); got != "eth7 if8" {
		t.Errorf("devices %q", got)
	}
	if err := os.WriteFile(filepath.Join(root, "sys/class/net/eth7/ifindex"), []byte("9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := string(d.append(nil, 7)) + " " + string(d.append(nil, 9)); got != "if7 eth7" {
		t.Errorf("after a change devices %q", got)
	}
}

func TestMillis(t *testing.T) {
	f := func(ms uint32, want string) {
		t.Helper()
		if got := string(appendMillis(nil, ms)); got != want {
			t.Errorf("appendMillis(%d) = %s, want %s", ms, got, want)
		}
	}
	f(0, "")
	f(7, "007ms")
	f(200, "200ms")
	f(9001, "9.001ms")
	f(9000, "9sec")
	f(59999, "59sec")
	f(237000, "3min57sec")
	f(60000, "1min")
	f(7200000, "120min")
}

func FuzzMessages(f *testing.F) {
	var all []byte
	for _, s := range fakeSockets() {
		all = append(all, netlink(nlDiag, s.message())...)
	}
	f.Add(append(all, netlink(nlDone, u32s(0))...))
	f.Add(netlink(nlError, u32s(^uint32(1))))
	f.Add(netlink(nlDiag, make([]byte, diagFixed)))
	f.Add(u32s(0xffffffff, 20, 0, 0))
	f.Add(u32s(16, 99, 0, 0))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		r := newReader(dir, false)
		r.filter = &Filter{states: allStates}
		r.dump = func(_, _ uint8, _ uint32, fn func([]byte) error) error {
			_, err := messages(b, fn)
			return err
		}
		for range 2 {
			if err := r.read(); err != nil {
				r.blocks[blockSockets].Clear()
			}
			out := r.blocks[blockSockets]
			if len(out.Names()) != out.Rows() || len(out.Cells()) != out.Rows()*numCols {
				t.Fatalf("%d names, %d rows, %d cells", len(out.Names()), out.Rows(), len(out.Cells()))
			}
			out.Sort()
		}
	})
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"state all", "state listening exclude closed ( sport = :22 or src 10.0.0.0/8 ) and ! dst [::1]:80", "src *:22&sport!=1||dport>=:9", "((((", "src ]:1", "src [/1"} {
		f.Add(s)
	}
	var d diag
	if err := d.decode(fakeSockets()[1].message()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := ParseFilter(s); err == nil {
			p.matches(&d)
		}
	})
}

// manyFake returns a reader of n sockets, which are made once.
func manyFake(n int) *reader {
	var b []byte
	for i := range n {
		s := fakeSockets()[1]
		s.src = fmt.Sprintf("10.0.%d.%d:80", i>>8, i&255)
		b = append(b, netlink(nlDiag, s.message())...)
	}
	b = append(b, netlink(nlDone, u32s(0))...)
	r := newReader("/nowhere", false)
	r.filter = &Filter{states: allStates}
	r.dump = func(family, protocol uint8, _ uint32, fn func([]byte) error) error {
		if family != familyIPv4 || protocol != protocolTCP {
			return nil
		}
		_, err := messages(b, fn)
		return err
	}
	return r
}

// TestAllocs limits the allocations of a reading without changed texts.
func TestAllocs(t *testing.T) {
	r := manyFake(100)
	read := func() {
		if err := r.read(); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n > 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("sockets=%d", n), func(b *testing.B) {
			r := manyFake(n)
			b.ReportAllocs()
			for b.Loop() {
				if err := r.read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMachine reads the sockets of this machine.
func BenchmarkMachine(b *testing.B) {
	a, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.reader.read(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(a.reader.blocks[blockSockets].Rows()), "sockets")
}

// openSockets opens sockets of all kinds and returns the names of their instances.
func openSockets(t *testing.T) []string {
	t.Helper()
	var names []string
	listen := func(network, address, prefix string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Logf("%s %s: %v", network, address, err)
			return nil
		}
		t.Cleanup(func() { l.Close() })
		_, port, _ := net.SplitHostPort(l.Addr().String())
		names = append(names, prefix+port)
		return l
	}
	listen("tcp4", "127.0.0.1:0", "tcp/127.0.0.1:")
	listen("tcp4", "0.0.0.0:0", "tcp/0.0.0.0:")
	listen("tcp6", "[::1]:0", "tcp6/[::1]:")
	listen("tcp6", "[::]:0", "tcp6/[::]:")
	listen("tcp", "[::]:0", "tcp/*:")
	if l := listen("tcp4", "127.0.0.1:0", "tcp/127.0.0.1:"); l != nil {
		names = names[:len(names)-1] // of several sockets
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		if _, err := c.Write(make([]byte, 1<<20)[:5000]); err != nil {
			t.Fatal(err)
		}
		names = append(names, "tcp/"+c.LocalAddr().String())
	}
	for _, u := range []struct{ network, address, prefix string }{
		{"udp4", "127.0.0.1:0", "udp/127.0.0.1:"}, {"udp6", "[::1]:0", "udp6/[::1]:"}, {"udp", "[::]:0", "udp/*:"},
	} {
		c, err := net.ListenPacket(u.network, u.address)
		if err != nil {
			t.Logf("%s %s: %v", u.network, u.address, err)
			continue
		}
		t.Cleanup(func() { c.Close() })
		_, port, _ := net.SplitHostPort(c.LocalAddr().String())
		names = append(names, u.prefix+port)
	}
	return names
}

// TestMachine checks that this machine's kernel reports the sockets that the test opens.
func TestMachine(t *testing.T) {
	a, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.reader.dump(familyIPv4, protocolTCP, allStates, func([]byte) error { return nil }); err != nil {
		t.Skipf("SKIPPED: the kernel does not list sockets: %v", err)
	}
	names := openSockets(t)
	v := agenttest.Read(t, a)
	for _, name := range names {
		if strings.HasPrefix(name, "tcp") && v["network.persocket.state"][name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestOracle compares the agent with the real one, which runs ss.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	const dso = "/var/lib/pcp/pmdas/sockets/pmda_sockets.so"
	if _, err := os.Stat(dso); err != nil {
		t.Skipf("SKIPPED: the real agent is not installed: %v", err)
	}
	if _, err := os.Stat("/usr/bin/ss"); err != nil {
		t.Skipf("SKIPPED: ss is not installed: %v", err)
	}
	a, err := New(Config{FilterFile: "/etc/pcp/sockets/filter.conf"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.reader.dump(familyIPv4, protocolTCP, allStates, func([]byte) error { return nil }); err != nil {
		t.Skipf("SKIPPED: the kernel does not list sockets: %v", err)
	}
	real := agenttest.Start(t, "sockets 154 dso sockets_init "+dso,
		"#include \"/var/lib/pcp/pmdas/sockets/pmns\"\nroot {\n\tnetwork\n}\n", "network.persocket")
	real.Metrics(t, a, nil)
	mine := openSockets(t)
	var diff string
	for range 10 { // times since an event change
		ours := agenttest.Read(t, a)
		theirs := real.Read(t, real.Names...)
		again := agenttest.Read(t, a)
		diff = ""
		compared := 0
		for _, metric := range real.Names {
			if metric == "network.persocket.sk" {
				continue // the real agent reads hexadecimal digits as decimal ones
			}
			for _, inst := range mine {
				o, w, n := ours[metric][inst], theirs[metric][inst], again[metric][inst]
				if o != n || metric == "network.persocket.filter" {
					continue
				}
				compared++
				if o != w {
					diff += fmt.Sprintf("%s of %s is %s, want %s\n", metric, inst, o, w)
				}
			}
		}
		if compared < 100*len(mine)/2 {
			diff += fmt.Sprintf("only %d values were compared\n", compared)
		}
		if ours["network.persocket.filter"][""] != theirs["network.persocket.filter"][""] {
			diff += "the filters differ\n"
		}
		if diff == "" {
			return
		}
	}
	t.Error(diff)
}
