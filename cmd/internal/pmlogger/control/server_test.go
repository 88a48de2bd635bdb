package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmcd/access"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/wire"
)

// PMIDs of the agent.
var (
	answer = pcp.NewPMID(400, 0, 0) // without an instance domain
	disk   = pcp.NewPMID(400, 0, 1) // with the instances 0 to 2
	other  = pcp.NewPMID(400, 0, 2)
	wide   = pcp.NewPMID(400, 0, 3) // with many instances
	nosuch = pcp.NewPMID(400, 0, 99)
)

// wideInsts is the number of instances of wide: its answer is 1.6 MB.
const wideInsts = 200_000

func agent(t testing.TB) pmda.Agent {
	t.Helper()
	list := func(n int32) func(context.Context) ([]pcp.Instance, error) {
		return func(context.Context) ([]pcp.Instance, error) {
			all := make([]pcp.Instance, n)
			for i := range n {
				all[i] = pcp.Instance{Inst: i, Name: fmt.Sprintf("disk%d", i)}
			}
			return all, nil
		}
	}
	few, many := &pmda.InDom{Serial: 1, List: list(3)}, &pmda.InDom{Serial: 2, List: list(wideInsts)}
	value := func(int32, int) (pcp.Value, error) { return pcp.Uint32Value(42), nil }
	a, err := pmda.NewTable(pmda.Config{Name: "guide", Domain: 400, InDoms: []*pmda.InDom{few, many}, Metrics: []pmda.Metric{
		{Name: "guide.answer", Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.disk", InDom: few, Item: 1, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.other", Item: 2, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
		{Name: "guide.wide", InDom: many, Item: 3, Type: pcp.TypeU32, Sem: pcp.SemInstant, Value: value},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A served is a recorder and its control port.
type served struct {
	r    *pmlogger.Recorder
	addr string
	sock string
	log  *lockedBuffer
}

// start runs a recorder with a configuration and a server until the test ends.
func start(t testing.TB, config string, cfg Config) *served {
	t.Helper()
	dir := t.TempDir()
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "guide", Domain: 400, Agent: agent(t)})
	if err != nil {
		t.Fatal(err)
	}
	v := &served{log: new(lockedBuffer)}
	v.r, err = pmlogger.New(t.Context(), c, pmlogger.Config{Archive: filepath.Join(dir, "a"), Log: v.log})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Access, err = v.r.Configure(t.Context(), strings.NewReader(config), "config"); err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sockdir, err := os.MkdirTemp("", "ctl")
	if err != nil {
		t.Fatal(err)
	}
	v.sock = filepath.Join(sockdir, "s")
	unix, err := net.Listen("unix", v.sock)
	if err != nil {
		t.Fatal(err)
	}
	v.addr = tcp.Addr().String()
	cfg.Recorder, cfg.Listeners, cfg.Log = v.r, []net.Listener{tcp, unix}, v.log
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	wg.Go(func() {
		if err := v.r.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		c.Close()
		os.RemoveAll(sockdir)
	})
	return v
}

// A peer is the other end of a connection.
type peer struct {
	t    testing.TB
	conn net.Conn
	rd   *wire.Reader
}

// dial connects. It returns the code of the server's greeting.
func dial(t testing.TB, network, addr string) (*peer, pcp.Error) {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	p := &peer{t: t, conn: conn, rd: wire.NewReader(conn)}
	p.rd.Max = wire.MaxPDU
	h, pdu := p.next()
	if h.From != int32(os.Getpid()) && pdu.(*wire.Error).Code > 0 {
		t.Errorf("the greeting is from %d", h.From)
	}
	return p, pdu.(*wire.Error).Code
}

func (p *peer) next() (wire.Header, wire.PDU) {
	p.t.Helper()
	h, body, err := p.rd.Next()
	if err != nil {
		p.t.Fatal(err)
	}
	pdu, err := wire.Decode(h, body)
	if err != nil {
		p.t.Fatal(err)
	}
	return h, pdu
}

func (p *peer) send(pdu wire.PDU) {
	p.t.Helper()
	if _, err := p.conn.Write(wire.Append(nil, 0, pdu)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) ask(pdu wire.PDU) wire.PDU {
	p.t.Helper()
	p.send(pdu)
	_, answer := p.next()
	return answer
}

// connect opens a connection with a protocol version, when no other client is connected.
func connect(t testing.TB, v *served, version uint8) *peer {
	t.Helper()
	for {
		p, code := dial(t, "tcp4", v.addr)
		if code == -pcp.Error(syscall.EADDRINUSE) {
			p.conn.Close()
			continue
		}
		if code != 3 {
			t.Fatalf("the greeting says %d", code)
		}
		p.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(version, 0)}})
		return p
	}
}

// control sends a LOG_CONTROL and returns the answer as text.
func (p *peer) control(kind wire.LogControlKind, state wire.LogState, delta int32, metrics ...wire.LogMetric) string {
	p.t.Helper()
	got := p.ask(&wire.LogControl{Control: kind, State: state, Delta: delta, Metrics: metrics})
	res, ok := got.(*wire.Result)
	if !ok {
		return fmt.Sprintf("%v", got.(*wire.Error).Code)
	}
	var b strings.Builder
	for _, s := range res.Sets {
		fmt.Fprintf(&b, "%d:", s.PMID.Item())
		if s.Err < 0 {
			fmt.Fprintf(&b, " %v", s.Err)
		}
		for _, v := range s.Values {
			x := wire.LogValue(v.Bits())
			// The contents of the archive depend on the time of the first sample.
			fmt.Fprintf(&b, " [%d]", v.Inst)
			for bit, name := range map[wire.LogValue]string{wire.LogBitMandatory: "mandatory"} {
				if x&bit != 0 {
					b.WriteString(" " + name)
				}
			}
			if x&wire.LogBitOn != 0 {
				fmt.Fprintf(&b, " on %d", x.Delta())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func metric(id pcp.PMID, insts ...int32) wire.LogMetric {
	return wire.LogMetric{PMID: id, Insts: insts}
}

// TestControl changes recording states in all ways.
func TestControl(t *testing.T) {
	v := start(t, "log mandatory on 10 sec { guide.answer }\nlog advisory on 20 sec { guide.disk [\"disk0\",\"disk1\"] }", Config{})
	p := connect(t, v, 3)
	const null = pcp.InNull
	f := func(kind wire.LogControlKind, state wire.LogState, delta int32, want string, metrics ...wire.LogMetric) {
		t.Helper()
		if diff := cmp.Diff(want, p.control(kind, state, delta, metrics...)); diff != "" {
			t.Errorf("control %d state %d interval %d (-want +got):\n%s", kind, state, delta, diff)
		}
	}
	const mand, adv, ask = wire.LogMandatory, wire.LogAdvisory, wire.LogEnquire
	const on, off, maybe = wire.LogOn, wire.LogOff, wire.LogMaybe
	f(ask, 0, 0, "0: [-1] mandatory on 10000\n1: [0] on 20000 [1] on 20000 [2]\n2: [-1]\n", metric(answer), metric(disk), metric(other))
	f(ask, 0, 0, "1: [1] on 20000\n", metric(disk, 1))
	// An advisory request does not change mandatory states.
	f(adv, off, 0, "0: [-1] mandatory on 10000\n", metric(answer, null))
	f(mand, on, 5000, "0: [-1] mandatory on 5000\n2: [-1] mandatory on 5000\n", metric(answer, null), metric(other, null))
	f(mand, off, 0, "0: [-1] mandatory\n", metric(answer, null))
	f(adv, on, 1000, "0: [-1] mandatory\n", metric(answer, null))
	f(mand, maybe, 0, "0: [-1]\n", metric(answer, null))
	f(adv, on, 1000, "0: [-1] on 1000\n", metric(answer, null))
	f(adv, on, 0, "0: [-1] on 0\n", metric(answer, null))
	f(adv, off, 0, "0: [-1]\n", metric(answer, null))
	// Instances, one by one.
	f(mand, on, 1000, "1: [1] mandatory on 1000 [2] mandatory on 1000\n", metric(disk, 1, 2))
	f(ask, 0, 0, "1: [0] on 20000 [1] mandatory on 1000 [2] mandatory on 1000\n", metric(disk))
	f(adv, off, 0, "1: [0] [1] mandatory on 1000\n", metric(disk, 0, 1))
	f(mand, maybe, 0, "1: [1]\n", metric(disk, 1))
	// All instances: an advisory request does not touch mandatory states, a mandatory one does.
	f(adv, on, 3000, "1: [0] [1] [2] mandatory on 1000\n", metric(disk))
	f(mand, on, 3000, "1: [0] mandatory on 3000 [1] mandatory on 3000 [2] mandatory on 3000\n", metric(disk))
	f(mand, off, 0, "1: [1] mandatory on 3000\n", metric(disk, 1)) // all but one is not possible
	f(mand, off, 0, "1: [0] mandatory [1] mandatory [2] mandatory\n", metric(disk))
	f(mand, maybe, 0, "1: [0] [1] [2]\n", metric(disk))
	f(adv, on, 3000, "1: [0] on 3000 [1] on 3000 [2] on 3000\n", metric(disk))
	f(mand, maybe, 0, "1: [0] on 3000 [1] on 3000 [2] on 3000\n", metric(disk)) // advisory states stay
	f(adv, off, 0, "1: [0] [1] [2]\n", metric(disk))
	// Impossible requests.
	f(mand, on, 1000, "99: "+pcp.ErrPMID.Error()+"\n", metric(nosuch))
	f(mand, on, 1000, "99: [7]\n", metric(nosuch, 7)) // nothing is recorded
	f(mand, on, 1000, "99: "+pcp.ErrPMID.Error()+"\n0: [-1] mandatory on 1000\n", wire.LogMetric{PMID: nosuch, Err: pcp.ErrPMID}, metric(answer, null))
	f(mand, on, -1, (-pcp.Error(syscall.EINVAL)).Error(), metric(answer, null))
}

// TestFlags waits for the flags of the archive and of the last fetch.
func TestFlags(t *testing.T) {
	v := start(t, "log on 10 msec { guide.answer guide.disk [\"disk1\"] }", Config{})
	p := connect(t, v, 3)
	ask := &wire.LogControl{Control: wire.LogEnquire, Metrics: []wire.LogMetric{metric(answer), metric(disk)}}
	const both = wire.LogBitInLog | wire.LogBitAvailable
	flags := func() []wire.LogValue {
		var list []wire.LogValue
		for _, s := range p.ask(ask).(*wire.Result).Sets {
			for _, v := range s.Values {
				list = append(list, wire.LogValue(v.Bits())&both)
			}
		}
		return list
	}
	want := []wire.LogValue{both, 0, both, 0}
	for end := time.Now().Add(time.Minute); !cmp.Equal(flags(), want); {
		if time.Now().After(end) {
			t.Fatalf("flags %v, want %v", flags(), want)
		}
	}
	// Recorded metrics are in the archive, even if they are not recorded any more.
	p.control(wire.LogMandatory, wire.LogOff, 0, metric(answer), metric(disk, 1))
	if got := flags(); !cmp.Equal(got, want) {
		t.Errorf("flags %v after it was switched off, want %v", got, want)
	}
	// It is recorded again, at another interval.
	p.control(wire.LogMandatory, wire.LogOn, 20, metric(disk))
	want = []wire.LogValue{both, both, both, both}
	for end := time.Now().Add(time.Minute); !cmp.Equal(flags(), want); {
		if time.Now().After(end) {
			t.Fatalf("flags %v, want %v", flags(), want)
		}
	}
}

// TestRequests requests status, volumes and nonexistent things.
func TestRequests(t *testing.T) {
	v := start(t, "log on 1 hour guide.answer", Config{Source: "local:", TimeZone: "UTC"})
	p := connect(t, v, 3)
	st := p.ask(&wire.LogRequest{Request: wire.LogStatusRequest}).(*wire.LogStatus)
	if st.V2 || st.State != wire.LogStateInit || st.FQDN != "local:" || st.LoggerTimeZone != "UTC" || st.Volume != 0 || st.Size == 0 || st.Start.IsZero() {
		t.Errorf("status %+v", st)
	}
	for i := 1; i < 4; i++ {
		if e := p.ask(&wire.LogRequest{Request: wire.LogNewVolume}).(*wire.Error); int(e.Code) != i {
			t.Errorf("volume %d, want %d", e.Code, i)
		}
	}
	if e := p.ask(&wire.LogRequest{Request: wire.LogSync}).(*wire.Error); e.Code != 0 {
		t.Errorf("sync: %d", e.Code)
	}
	if e := p.ask(&wire.LogRequest{Request: 77}).(*wire.Error); e.Code != pcp.ErrIPC {
		t.Errorf("an unknown request: %d", e.Code)
	}
	if _, _, err := p.rd.Next(); err != io.EOF {
		t.Errorf("after it: %v", err)
	}
	p.conn.Close()

	// An older client, and a client that did not send its version.
	p = connect(t, v, 2)
	if st := p.ask(&wire.LogRequest{Request: wire.LogStatusRequest}).(*wire.LogStatus); !st.V2 || st.Volume != 3 {
		t.Errorf("status %+v", st)
	}
	p.conn.Close()
	p = connect(t, v, 9)
	if e := p.ask(&wire.LogRequest{Request: wire.LogStatusRequest}).(*wire.Error); e.Code != pcp.ErrIPC {
		t.Errorf("version 9: %d", e.Code)
	}
	for _, line := range []string{"New log volume 3, via pmlc request at ", "do_request: bad request type 77\n"} {
		if !strings.Contains(v.log.String(), line) {
			t.Errorf("the log has no %q", line)
		}
	}
}

// TestOneClient has other clients wait, on TCP and the socket.
func TestOneClient(t *testing.T) {
	v := start(t, "log on 1 hour guide.answer", Config{Version: 2})
	p, code := dial(t, "unix", v.sock)
	if code != 2 {
		t.Fatalf("the greeting says %d", code)
	}
	for range 3 {
		for _, at := range [][2]string{{"tcp4", v.addr}, {"unix", v.sock}} {
			q, code := dial(t, at[0], at[1])
			if code != -pcp.Error(syscall.EADDRINUSE) {
				t.Errorf("%s: a second client is told %d", at[0], code)
			}
			if _, _, err := q.rd.Next(); err != io.EOF {
				t.Errorf("%s: after it: %v", at[0], err)
			}
		}
	}
	p.conn.Close()
	for {
		if _, code := dial(t, "unix", v.sock); code == 2 {
			return
		}
	}
}

// TestAccess checks the access rules.
func TestAccess(t *testing.T) {
	denied := pcp.ErrPermission.Error()
	f := func(rules string, admitted bool, mandatory, advisory string) {
		t.Helper()
		v := start(t, "log on 1 hour { guide.answer }\n[access]\n"+rules, Config{})
		p, code := dial(t, "tcp4", v.addr)
		if !admitted {
			if code != pcp.ErrPermission {
				t.Errorf("%s: greeted by %d", rules, code)
			}
			return
		}
		if code != 3 {
			t.Errorf("%s: greeted by %d", rules, code)
			return
		}
		if got := p.control(wire.LogEnquire, 0, 0, metric(other)); got != "2: [-1]\n" {
			t.Errorf("%s: enquire: %s", rules, got)
		}
		if got := p.control(wire.LogAdvisory, wire.LogOn, 1000, metric(other, pcp.InNull)); got != advisory {
			t.Errorf("%s: advisory: %s", rules, got)
		}
		if got := p.control(wire.LogMandatory, wire.LogOn, 1000, metric(other, pcp.InNull)); got != mandatory {
			t.Errorf("%s: mandatory: %s", rules, got)
		}
		vol := p.ask(&wire.LogRequest{Request: wire.LogNewVolume}).(*wire.Error).Code
		if want := map[bool]pcp.Error{true: pcp.ErrPermission, false: 1}[mandatory == denied]; vol != want {
			t.Errorf("%s: new volume: %d, want %d", rules, vol, want)
		}
	}
	const mand, adv = "2: [-1] mandatory on 1000\n", "2: [-1] on 1000\n"
	f("disallow * : all;", false, "", "")
	f("allow * : all;", true, mand, adv)
	f("disallow * : mandatory;", true, denied, adv)
	f("disallow * : advisory;", true, mand, denied)
	f("disallow * : all except enquire;", true, denied, denied)
	f("disallow * : all; allow localhost : enquire;", true, denied, denied)
	if access.OpAll == conf.OpAll {
		t.Error("the operations are those of a collector")
	}
}

// TestLog checks the log of changes.
func TestLog(t *testing.T) {
	v := start(t, "log mandatory on 1 hour guide.answer", Config{})
	p, _ := dial(t, "unix", v.sock)
	p.control(wire.LogAdvisory, wire.LogOn, 1500, metric(answer, pcp.InNull), metric(disk, 1, 7))
	p.control(wire.LogMandatory, wire.LogOn, 0, metric(other, pcp.InNull))
	p.control(wire.LogAdvisory, wire.LogOff, 0, metric(nosuch))
	want := `pmlc request from pmlogger: advisory on 1.5 sec
  metric: guide.answer [request failed]
  metric: guide.disk
    instance: disk1
    instance: #7

DATE
pmlc request from pmlogger: mandatory on once
  metric: guide.other

DATE
pmlc request from pmlogger: advisory off
  metric: 400.0.99: Unknown or illegal metric identifier [request failed]
`
	_, got, _ := strings.Cut(v.log.String(), "pmlc")
	var lines []string
	for line := range strings.Lines("pmlc" + got) {
		if _, err := time.Parse(time.ANSIC+"\n", line); err == nil {
			line = "DATE\n"
		}
		lines = append(lines, line)
	}
	want = strings.ReplaceAll(want, "from pmlogger", "from "+v.sock)
	if diff := cmp.Diff(want, strings.Join(lines, "")); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// records waits until the recorder has written more records.
func (v *served) records(t testing.TB, n int) {
	t.Helper()
	for range n {
		var before, now pcp.Timestamp
		if err := v.r.Call(t.Context(), func() { before = v.r.Status().Last }); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); now.Compare(before) <= 0; {
			if time.Now().After(end) {
				t.Fatal("the recorder stands still")
			}
			if err := v.r.Call(t.Context(), func() { now = v.r.Status().Last }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestNeverReads has a client that sends requests and does not read: the recorder
// continues, and disconnects the client after the time limit.
func TestNeverReads(t *testing.T) {
	v := start(t, "log on 5 msec guide.answer", Config{patience: 300 * time.Millisecond})
	p := connect(t, v, 3)
	ask := wire.Append(nil, 0, &wire.LogControl{Control: wire.LogEnquire, Metrics: []wire.LogMetric{metric(wide)}})
	for range 20 { // 32 MB of answers, more than sockets hold
		if _, err := p.conn.Write(ask); err != nil {
			break
		}
	}
	v.records(t, 10)
	connect(t, v, 3)
}

// TestStops has a client stop within a request.
func TestStops(t *testing.T) {
	v := start(t, "log on 5 msec guide.answer", Config{patience: 100 * time.Millisecond})
	p := connect(t, v, 3)
	pdu := wire.Append(nil, 0, &wire.LogRequest{Request: wire.LogSync})
	p.conn.Write(pdu[:13])
	v.records(t, 3)
	p2 := connect(t, v, 3) // after the time limit of the first client
	if e := p2.ask(&wire.LogRequest{Request: wire.LogSync}).(*wire.Error); e.Code != 0 {
		t.Errorf("sync: %d", e.Code)
	}
	// A client that only waits keeps its place.
	v.records(t, 30)
	if e := p2.ask(&wire.LogRequest{Request: wire.LogSync}).(*wire.Error); e.Code != 0 {
		t.Errorf("sync: %d", e.Code)
	}
}

// FuzzClient sends any bytes. The recorder and the next client must not be affected.
func FuzzClient(f *testing.F) {
	creds := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(3, 0)}})
	add := func(p wire.PDU) { f.Add(wire.Append(bytes.Clone(creds), 0, p)) }
	add(&wire.LogRequest{Request: wire.LogStatusRequest})
	add(&wire.LogRequest{Request: wire.LogNewVolume})
	add(&wire.LogControl{Control: wire.LogMandatory, State: wire.LogOn, Delta: 1, Metrics: []wire.LogMetric{metric(disk, 1, 1, -5), metric(disk)}})
	add(&wire.LogControl{Control: wire.LogAdvisory, State: 99, Delta: 1 << 27, Metrics: []wire.LogMetric{metric(nosuch, 1), metric(answer, 7, 8)}})
	add(&wire.LogControl{Control: wire.LogMandatory, State: wire.LogMaybe, Metrics: []wire.LogMetric{metric(answer), metric(disk, 0), metric(disk, 0)}})
	add(&wire.Fetch{PMIDs: []pcp.PMID{answer}})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{})
	v := start(f, "log on 5 msec { guide.answer guide.disk }", Config{patience: time.Second})
	f.Fuzz(func(t *testing.T, b []byte) {
		p := connect(t, v, 3)
		p.conn.Write(b)
		p.conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, p.conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		p.conn.Close()
		if err := v.r.Call(t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
	})
}
