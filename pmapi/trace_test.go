package pmapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/wire"
)

// masks hide text that differs from one run to the next.
var masks = []*regexp.Regexp{
	regexp.MustCompile(`0x[0-9a-f]{9,}`), regexp.MustCompile(`\[\d+\](pm(?:Xmit|Get)PDU)`), regexp.MustCompile(`fd=-?\d+`),
}

func masked(text string) string {
	text = strings.ReplaceAll(text, " \n", "\n") // as after the words of a PDU
	text = masks[0].ReplaceAllString(text, "ADDR")
	text = masks[1].ReplaceAllString(text, "$1")
	return masks[2].ReplaceAllString(text, "fd=N")
}

// traced dials a collector with a log of options, which it returns.
func (c *collector) traced(t *testing.T, options ...string) (*Context, *bytes.Buffer) {
	t.Helper()
	if c.answer == nil {
		c.answer = func(s *session, hdr wire.Header, body []byte) bool {
			switch hdr.Type {
			case wire.TypePMNSIDs:
				var req wire.PMNSIDs
				if req.DecodeBody(body) != nil {
					return false
				}
				names, err := c.names.Names(req.PMIDs[0])
				if err != nil {
					return s.status(pcp.ErrPMID)
				}
				return s.send(&wire.PMNSNames{Names: names})
			case wire.TypePMNSTraverse:
				return s.send(&wire.PMNSNames{Names: []string{"demo.count", "demo.load", "demo.name"}})
			case wire.TypePMNSChild:
				return s.send(&wire.PMNSNames{Names: []string{"count", "load", "name"}, Status: []int32{0, 0, 0}})
			}
			return false
		}
	}
	var b bytes.Buffer
	d := c.dialer()
	d.Debug = debug.New(&b, options...)
	d.Debug.SetZone(time.UTC)
	ctx, err := d.Dial(t.Context(), "demo:44321")
	if err != nil {
		t.Fatal(err)
	}
	c.once.Do(func() { t.Cleanup(c.wg.Wait) })
	t.Cleanup(func() { ctx.Close() })
	return ctx, &b
}

func TestTraceContext(t *testing.T) {
	c, b := newCollector().traced(t, debugname.Context)
	c.Close()
	const want = `__pmSetSocketIPC: fd=N
IPC table fd(PDU version):
__pmDecodeXtendError: got error PDU (code=0, datum=1074659586, version=2)
__pmSetFeaturesIPC: fd=N version=2 features=3648
IPC table fd(PDU version): -1(2,1)
__pmSendCreds: #0 = 1020000
__pmConnectPMCD(demo): pmcd connection port=44321 fd=N PDU version=2
IPC table fd(PDU version): -1(2,1)
pmNewContext(1, demo:44321) -> 0
Dump Contexts: current -> contexts[0] handle 0
contexts[0] handle 0: host demo: pmcd=CONNECTED profile=NOT_SENT fd=N origin=0.000000000 delta=0.000000000
Dump Instance Profile state=INCLUDE, 0 profiles
pmDestroyContext(0) -> 0, curr_handle=-1
`
	if got := masked(b.String()); !strings.HasPrefix(got, "__pmSetSocketIPC") || got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTraceFetch(t *testing.T) {
	c, b := newCollector().traced(t, debugname.Fetch, debugname.Profile)
	if err := c.DelProfile(indom); err != nil {
		t.Fatal(err)
	}
	if err := c.AddProfile(indom, 0, 2); err != nil {
		t.Fatal(err)
	}
	res, err := c.Fetch(t.Context(), []pcp.PMID{idCount, idLoad, idName, 12345})
	if err != nil {
		t.Fatal(err)
	}
	stamp := fmt.Sprintf("%d.%09d %s", res.Time.Sec, res.Time.Nsec, res.Time.AppendHighResStamp(nil, time.UTC))
	want := `pmDelProfile() indom: 400.1
Dump Instance Profile state=INCLUDE, 1 profiles, dump restricted to indom=1677721601 [400.1]
	Profile [0] indom=1677721601 [400.1] state=EXCLUDE 0 instances
pmAddProfile() indom: 400.1
Dump Instance Profile state=INCLUDE, 1 profiles, dump restricted to indom=1677721601 [400.1]
	Profile [0] indom=1677721601 [400.1] state=EXCLUDE 2 instances
		Instances: [0] [2]
pmFetch: calling __pmSendProfile, context: 0 slot: 0
Dump Instance Profile state=INCLUDE, 1 profiles
	Profile [0] indom=1677721601 [400.1] state=EXCLUDE 2 instances
		Instances: [0] [2]
pmFetch returns ...
__pmResult dump from ADDR timestamp: ` + stamp + ` numpmid: 4
  400.0.0 (demo.count): numval: 1 valfmt: 0 vlist[]:
   value 1
  400.0.1 (demo.load): numval: 3 valfmt: 1 vlist[]:
    inst [0 or "one"] value 0
    inst [1 or "two 2"] value 0.5
    inst [2 or "three"] value 1
  400.0.2 (demo.name): numval: 1 valfmt: 1 vlist[]:
   value "wallaby"
  0.12.57 (<noname>): No PMCD agent for domain of request
`
	if got := masked(b.String()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	// The dump asked for names: the result must not have lost the values it
	// points to.
	if name := string(res.Sets[2].Values[0].Bytes()); name != "wallaby" {
		t.Errorf("after the dump the value is %q", name)
	}
}

// TestTracePDU checks the words of PDUs, and that a dump's own requests are not
// shown.
func TestTracePDU(t *testing.T) {
	c, b := newCollector().traced(t, debugname.PDU)
	b.Reset()
	if _, err := c.LookupName(t.Context(), "demo.count"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LookupDesc(t.Context(), idCount); err != nil {
		t.Fatal(err)
	}
	const want = `pmXmitPDU: PMNS_NAMES fd=N len=40
000:       28     700e        0  b000000        0  1000000  a000000 6f6d6564
008: 756f632e 7e7e746e
pmGetPDU: PMNS_IDS fd=N len=24 from=0
000:       18     700d        0  1000000  1000000       64
pmXmitPDU: DESC_REQ fd=N len=16
000:       10     7004        0       64
pmGetPDU: DESC fd=N len=32 from=0
000:       20     7005        0       64  1000000 ffffffff  1000000        0
`
	if got := masked(b.String()); littleEndian() && got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	b.Reset()
	if _, err := c.Fetch(t.Context(), []pcp.PMID{idLoad}); err != nil {
		t.Fatal(err)
	}
	var calls []string
	for line := range strings.Lines(masked(b.String())) {
		if !strings.HasPrefix(line, "0") {
			head, _, _ := strings.Cut(line, " fd=")
			head, _, _ = strings.Cut(head, " from")
			calls = append(calls, strings.TrimRight(head, "\n"))
		}
	}
	if got := strings.Join(calls, "\n"); got != `pmXmitPDU: PROFILE
pmXmitPDU: HIGHRES_FETCH
pmGetPDU: HIGHRES_RESULT
__pmResult dump
  400.0.1 (demo.load): numval: 3 valfmt: 1 vlist[]:
    inst [0 or "one"] value 0
    inst [1 or "two 2"] value 0.5
    inst [2 or "three"] value 1` {
		t.Errorf("got:\n%s", got)
	}
}

func littleEndian() bool { return wordOf([]byte{1, 0, 0, 0}) == 1 }

// TestTraceSecret checks that what authenticates a user is not printed, and that the name
// of a container is.
func TestTraceSecret(t *testing.T) {
	show := func(attr wire.AttrKey, value string) string {
		var b bytes.Buffer
		tr := newTrace(debug.New(&b, debugname.PDU))
		tr.pdus(nil, wire.Append(nil, 0, &wire.Attr{Attr: attr, Value: []byte(value)}))
		return b.String()
	}
	word := fmt.Sprintf("%8x", wordOf([]byte("abcd")))
	if got := show(wire.AttrContainer, "abcd"); !strings.Contains(got, word) {
		t.Errorf("the name of a container is missing:\n%s", got)
	}
	for _, attr := range []wire.AttrKey{0, wire.AttrPassword, wire.AttrUserName} {
		if got := show(attr, "abcd"); strings.Contains(got, word) || !strings.Contains(got, "........") {
			t.Errorf("attribute %d is printed:\n%s", attr, got)
		}
	}
}

func TestTracePMAPI(t *testing.T) {
	c, b := newCollector().traced(t, debugname.PMAPI)
	ids, err := c.LookupName(t.Context(), "demo.count", "demo.load")
	if err != nil {
		t.Fatal(err)
	}
	c.LookupName(t.Context(), "no.such")
	c.LookupDescs(t.Context(), ids...)
	c.LookupDesc(t.Context(), 12345)
	c.GetInDom(t.Context(), indom)
	c.NameInDom(t.Context(), indom, 1)
	c.LookupInDom(t.Context(), indom, "two")
	c.Fetch(t.Context(), ids)
	var res pcp.Result
	res.AddSet(idCount)
	res.Add(pcp.Uint32Value(1))
	c.Store(t.Context(), &res)
	c.Reconnect(t.Context())
	d, err := c.Dup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	d.Close()
	const want = `pmNewContext(1, "demo:44321") <::> returns 0
pmLookupName(2, name[0] demo.count ... name[1] demo.load, ...) <::> returns 2 (pmid[0] 400.0.0 ... pmid[1] 400.0.1)
pmLookupName(1, name[0] no.such, ...) <::> returns Unknown metric name
pmLookupDescs(2, desc[0] 400.0.0 ... desc[1] 400.0.1, ...) <::> returns 2
pmLookupDesc(0.12.57, ...) <::> returns Unknown or illegal metric identifier
pmGetInDom(400.1, ...) <::> returns 3
pmNameInDom(400.1, 1, ...) <::> returns 0 (name two 2)
pmLookupInDom(400.1, two) <::> returns 1
pmFetch(2, pmid[0] 400.0.0 ... pmid[1] 400.0.1, ...) <::> returns 0
pmStore(...) pmid[0] 400.0.0 <::> returns 0
pmReconnectContext(0) <::> returns 0
pmDupContext() <::> returns 1
pmDestroyContext(1) <::> returns 0
pmDestroyContext(1) <::> returns Attempt to use an illegal context
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTraceNames(t *testing.T) {
	c, b := newCollector().traced(t, debugname.PMNS, debugname.InDom)
	if _, err := LeavesOf(t.Context(), c, "demo"); err != nil {
		t.Fatal(err)
	}
	c.LookupName(t.Context(), "demo.count")
	c.Children(t.Context(), "demo")
	c.GetInDom(t.Context(), indom)
	c.LookupInDom(t.Context(), indom, "two")
	c.NameInDom(t.Context(), indom, 1)
	const want = `SendNameReq: from=0 name="demo" pdu=PMNS_TRAVERSE subtype=0
__pmDecodeNameList
namelist dump: numnames = 3
  name[0]: "demo.count"
  name[1]: "demo.load"
  name[2]: "demo.name"
pmLookupName: request_names -> [0] demo.count
__pmSendNameList
namelist dump: numnames = 1
  name[0]: "demo.count"
__pmDecodeIDList
IDlist dump: numids = 1
  PMID[0]: 0x64000000 400.0.0
pmLookupName: receive_names <- [0] 400.0.0
pmLookupName(1, ...) -> 1
SendNameReq: from=0 name="demo" pdu=PMNS_CHILD subtype=1
__pmDecodeNameList
namelist dump: numnames = 3
  name[0]: "count"
  name[1]: "load"
  name[2]: "name"
statuslist dump: numstatus = 3
  status[0]: 0
  status[1]: 0
  status[2]: 0
pmGetChildren(name="demo") -> namelist & statuslist dump: numnames = 3
  name[0]: "count" (leaf)
  name[1]: "load" (leaf)
  name[2]: "name" (leaf)
pmInResult dump from ADDR for InDom 400.1 (0x64000001), numinst=3
  [0] inst=0 name="one"
  [1] inst=1 name="two 2"
  [2] inst=2 name="three"
pmInResult dump from ADDR for InDom 400.1 (0x64000001), numinst=1
  [0] inst=1
pmInResult dump from ADDR for InDom 400.1 (0x64000001), numinst=1
  [0] name="two 2"
`
	if got := masked(b.String()); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestTraceFailure checks the lines printed where there is no collector.
func TestTraceFailure(t *testing.T) {
	var b bytes.Buffer
	d := Dialer{
		Config: newCollector().dialer().Config,
		Debug:  debug.New(&b, debugname.Context, debugname.PMAPI),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, os.ErrNotExist
		},
	}
	if _, err := d.Dial(t.Context(), "demo:1,2?"); err == nil {
		t.Fatal("a context without a collector")
	}
	if _, err := d.Dial(t.Context(), "unix://no/such"); err == nil {
		t.Fatal("a context without a collector")
	}
	const want = `pmNewContext(1, "demo:1,2?") <:__pmConnectPMCD(demo): pmcd connection port=1,2 failed: Connection refused
pmNewContext(1, demo:1,2?) -> -111, curr_handle=-1
:> returns Connection refused
pmNewContext(1, "unix://no/such") <:__pmConnectPMCD(/no/such): pmcd connection path=/no/such failed: Connection refused
pmNewContext(1, unix://no/such) -> -2, curr_handle=-1
:> returns No such file or directory
`
	if got := b.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestTraceHostile checks that a collector gets no control characters to the terminal,
// and that no answer makes a dump fail.
func TestTraceHostile(t *testing.T) {
	col := newCollector()
	col.answer = func(s *session, hdr wire.Header, body []byte) bool {
		switch hdr.Type {
		case wire.TypePMNSIDs:
			return s.send(&wire.PMNSNames{Names: []string{"a\x1b[2Jb\nfake line"}})
		case wire.TypeInstanceReq:
			return s.send(&wire.Instance{InDom: indom, Instances: []pcp.Instance{{Inst: 1, Name: "x\r\x9by"}}})
		}
		return false
	}
	col.fetch = func(id pcp.PMID, res *pcp.Result) {
		res.AddSet(id)
		res.Add(pcp.StringValue("\x1b]0;title\x07"))
	}
	all := []string{
		debugname.PDU, debugname.Fetch, debugname.Profile, debugname.Value, debugname.Context, debugname.InDom, debugname.PMNS, debugname.PMAPI, debugname.Labels,
		debugname.Attr, debugname.Auth,
	}
	c, b := col.traced(t, all...)
	if _, err := c.Fetch(t.Context(), []pcp.PMID{idName}); err != nil {
		t.Fatal(err)
	}
	c.GetInDom(t.Context(), indom)
	c.NameAll(t.Context(), idName)
	for _, r := range b.String() {
		if unprintable(r) && r != '\n' && r != '\t' {
			t.Fatalf("control character %q in:\n%q", r, b)
		}
	}
	if strings.Contains(b.String(), "\nfake line") {
		t.Errorf("a name begins a line:\n%s", b)
	}

	for name, call := range calls() {
		for _, junk := range [][]byte{{}, {0}, bytes.Repeat([]byte{0xff}, 40), bytes.Repeat([]byte{0}, 64)} {
			col := newCollector()
			col.answer = func(s *session, hdr wire.Header, body []byte) bool {
				if hdr.Type == wire.TypeCreds || hdr.Type == wire.TypeProfile {
					return false
				}
				s.conn.Write(append(wire.AppendHeader(nil, wire.Header{Len: uint32(wire.HeaderSize + len(junk)), Type: answerTo(hdr.Type)}), junk...))
				return true
			}
			c, _ := col.traced(t, all...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := call(ctx, c); errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
			c.Close()
		}
	}
}

// answerTo returns the type of the answer to a request.
func answerTo(typ wire.Type) wire.Type {
	switch typ {
	case wire.TypeHighResFetch:
		return wire.TypeHighResResult
	case wire.TypeFetch:
		return wire.TypeResult
	case wire.TypeDescReq, wire.TypeInstanceReq, wire.TypeTextReq, wire.TypeLabelReq, wire.TypeDescIDs:
		return typ + 1
	case wire.TypePMNSNames:
		return wire.TypePMNSIDs
	case wire.TypePMNSIDs, wire.TypePMNSChild, wire.TypePMNSTraverse:
		return wire.TypePMNSNames
	}
	return wire.TypeError
}

// TestTraceDerivedNames checks what lists of names trace about derived metrics, in the layouts of both versions.
func TestTraceDerivedNames(t *testing.T) {
	const bind = `__dmgetpmid: metric "my.lost" -> PMID 511.0.3
__dmgetpmid: metric "nosuch" -> Unknown metric name
`
	const end = `__dmchildren: name="my", omitting invalid child "my.lost"
pmGetChildren(name="my") 3 regular children, no derived children (Unknown metric name)
`
	for seven, want := range map[bool]string{
		false: bind + `bind_expr: error: derived metric my.lost: operand: nosuch: Unknown metric name
__dmtraverse: name="my", omitting invalid child "my.lost"` + "\n" + end,
		true: `__dmtraverse(ctx=0, name="my", ...)
__dmbind(derive_locked=1, ctx=0, metric[2] my.lost, async= 1)
` + bind + `__dmbind: bind_expr failed for metric[2] my.lost
__dmtraverse: name="my", omitting invalid child my.lost [511.0.3]
__dmchildren(ctx=0, derive_locked=0, name="my", ...)
` + end,
	} {
		c, b := newCollector().traced(t, debugname.Derive)
		names := []string{debugname.Derive}
		if seven {
			names = append(names, debugname.Version7)
		}
		set := &derive.Set{Debug: debug.New(b, names...)}
		set.Debug.OpenContext()
		if err := set.Add("my.lost", "nosuch + 1"); err != nil {
			t.Fatal(err)
		}
		c.UseDerived(set, nil)
		b.Reset()
		if _, err := LeavesOf(t.Context(), c, "my"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Children(t.Context(), "my"); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != want {
			t.Errorf("version 7: %t: got:\n%s\nwant:\n%s", seven, got, want)
		}
	}
}

// TestTraceChanges checks how state bits are named.
func TestTraceChanges(t *testing.T) {
	var b bytes.Buffer
	tr := newTrace(debug.New(&b, debugname.Fetch))
	tr.changes(AddAgent | RestartAgent | DropAgent)
	tr.changes(DropAgent | LabelChange | NamesChange)
	newTrace(debug.New(&b, debugname.Fetch, debugname.Version7)).changes(DropAgent)
	const want = "PMCD state changes: agent(s) added restarted dropped\n" +
		"PMCD state changes: agent(s) dropped, label change, names change\n" +
		"PMCD state: agent(s) dropped\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
