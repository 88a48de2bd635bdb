package attack

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// hostileEnv makes this program an agent when a collector starts it as one.
const hostileEnv = "ATTACK_AGENT"

// hostileLine is the line of pmcd.conf for an agent that misbehaves in a way.
func hostileLine(t testing.TB, mode string, domain int) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d pipe binary /usr/bin/env %s=%s %s", mode, domain, hostileEnv, mode, exe)
}

// A hostile agent answers well except for the fault of its mode.
type hostile struct {
	mode string
	in   *wire.Reader
}

func (a *hostile) send(p wire.PDU)  { a.write(wire.Append(nil, int32(os.Getpid()), p)) }
func (a *hostile) write(b []byte)   { os.Stdout.Write(b) }
func (a *hostile) is(m string) bool { return a.mode == m }

// hostileAgent is the main function of an agent.
func hostileAgent(mode string) {
	a := &hostile{mode: mode, in: wire.NewReader(os.Stdin)}
	a.in.Max = wire.MaxPDU
	flags := wire.Features(0)
	if a.is("container") {
		flags = wire.FeatureContainer
	}
	a.send(&wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, flags)}})
	if a.is("deaf") {
		time.Sleep(time.Hour)
	}
	if a.is("noisy") {
		line := []byte(strings.Repeat("noise ", 20) + "\n")
		for range noisyLines {
			if _, err := os.Stderr.Write(line); err != nil {
				os.Exit(3)
			}
		}
	}
	if a.is("unasked") {
		// As much as the pipe takes; the rest waits in it.
		go func() {
			for {
				a.send(&wire.Text{Text: "hear, hear"})
			}
		}()
	}
	for {
		h, body, err := a.in.Next()
		if err != nil {
			return
		}
		p, err := wire.Decode(h, body)
		if err != nil {
			fmt.Fprintf(os.Stderr, "hostile agent: %v\n", err)
			os.Exit(4)
		}
		bad, ok := badReplies[a.mode]
		if !ok {
			bad, ok = slowReplies[a.mode]
		}
		if ok && bad.to == h.Type {
			if bad.bytes != nil {
				a.write(bad.bytes)
			}
			if bad.do != nil {
				bad.do(a)
			}
			continue
		}
		a.answer(p)
	}
}

func (a *hostile) answer(p wire.PDU) {
	switch p := p.(type) {
	case *wire.Fetch:
		if a.is("long") {
			a.write(longResult(p.PMIDs[0]))
			return
		}
		res := &wire.Result{}
		for _, id := range p.PMIDs {
			res.AddSet(id)
			res.Add(pcp.Int32Value(42))
		}
		a.send(res)
	case *wire.DescReq:
		if a.is("noisy") {
			os.Exit(9)
		}
		a.send(&wire.Desc{Desc: pcp.Desc{PMID: p.PMID, Type: pcp.Type32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}})
	case *wire.Profile, *wire.Creds, *wire.Error:
	case *wire.Attr:
		if a.is("container") && p.Attr == wire.AttrContainer {
			fmt.Fprintf(os.Stderr, "container of %d bytes\n", len(p.Text()))
		}
	default:
		a.send(&wire.Error{Code: pcp.ErrNYI})
	}
}

// A badReply is how a hostile agent answers one kind of request.
type badReply struct {
	to    wire.Type
	bytes []byte
	do    func(*hostile)
	// dropped is the log's reason for its end; "" means that it stays.
	dropped string
	memory  int // that it may cost, in MiB; 0 means 48
}

const (
	hostileDomain = 400
	minus         = 0xffffffff
)

func bigText(n int) *wire.Text { return &wire.Text{Text: strings.Repeat("x", n)} }

func forever(b []byte) func(*hostile) {
	return func(a *hostile) {
		for {
			if _, err := os.Stdout.Write(b); err != nil {
				os.Exit(0)
			}
		}
	}
}

// badReplies are wrong replies of agents, by the name of the agent.
var badReplies = map[string]badReply{
	"fetch.type":     {to: wire.TypeFetch, bytes: wire.Append(nil, 0, bigText(3)), dropped: "answered a FETCH PDU with a TEXT PDU"},
	"fetch.unknown":  {to: wire.TypeFetch, bytes: PDU(minus, 1, 2, 3), dropped: "answered a FETCH PDU with a"},
	"fetch.none":     {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, 0), dropped: "other metrics than it was asked for"},
	"fetch.many":     {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, append([]uint32{0, 0, 4096}, make([]uint32, 8192)...)...), dropped: "other metrics than it was asked for"},
	"fetch.count":    {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, 0x7fffffff, 1, 1), dropped: "RESULT PDU"},
	"fetch.negative": {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, minus, 1, 1), dropped: "RESULT PDU"},
	"fetch.values":   {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, 1, 1, 0x20000001, 0, 1, 1), dropped: "RESULT PDU"},
	"fetch.outside":  {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, 1, 1, 1, 1, minus, 0x3fffffff), dropped: "RESULT PDU"},
	"fetch.header":   {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, 1, 1, 1, 1, minus, 0), dropped: "RESULT PDU"},
	"fetch.block":    {to: wire.TypeFetch, bytes: PDU(wire.TypeResult, 0, 0, 1, 1, 1, 1, minus, 11, 0x06ffffff), dropped: "RESULT PDU"},
	"fetch.short":    {to: wire.TypeFetch, bytes: Claim(4, wire.TypeResult), dropped: "header with a length of 4"},
	"fetch.long":     {to: wire.TypeFetch, bytes: Claim(0x7fffffff, wire.TypeResult), dropped: "bytes where 67108864 are accepted"},
	"fetch.mid":      {to: wire.TypeFetch, bytes: Claim(500, wire.TypeResult, 0, 0, 1), do: func(*hostile) { os.Exit(0) }, dropped: "in the middle of a PDU"},
	"fetch.crash":    {to: wire.TypeFetch, do: func(*hostile) { os.Exit(9) }, dropped: "closed its connection"},
	"fetch.error":    {to: wire.TypeFetch, bytes: PDU(wire.TypeError, uint32(0xffffcfc7))}, // PM_ERR_PMID
	"fetch.errno":    {to: wire.TypeFetch, bytes: PDU(wire.TypeError, 0x80000000)},
	"fetch.positive": {to: wire.TypeFetch, bytes: PDU(wire.TypeError, 77), dropped: "answered a FETCH PDU with a ERROR PDU"},
	"fetch.endless":  {to: wire.TypeFetch, bytes: Claim(wire.MaxPDU, wire.TypeResult), do: forever(make([]byte, 1<<16)), dropped: "RESULT PDU", memory: 200},

	"instance.over":     {to: wire.TypeInstanceReq, bytes: Claim(12+16+5, wire.TypeInstance, join([]uint32{1, 2, 1, 5}, text("12345"))...)[:12+16+5], dropped: "INSTANCE PDU"}, // a finding of 2026: the padding leads past the end
	"instance.count":    {to: wire.TypeInstanceReq, bytes: PDU(wire.TypeInstance, 1, 0x20000001, 0, 0), dropped: "INSTANCE PDU"},
	"instance.negative": {to: wire.TypeInstanceReq, bytes: PDU(wire.TypeInstance, 1, 1, 0, minus), dropped: "INSTANCE PDU"},
	"instance.name":     {to: wire.TypeInstanceReq, bytes: PDU(wire.TypeInstance, 1, 1, 0, 0x7ffffffc), dropped: "INSTANCE PDU"},
	"instance.huge": {to: wire.TypeInstanceReq, do: func(a *hostile) {
		a.send(&wire.Instance{Instances: []pcp.Instance{{Name: strings.Repeat("i", 4<<20)}}})
	}, memory: 96},

	"label.offset": {to: wire.TypeLabelReq, bytes: PDU(wire.TypeLabel, 1, 2, 0, 1, minus, 0, 0xfffffff0, 0x20), dropped: "LABEL PDU"}, // a finding of 2026: begins before the PDU
	"label.long":   {to: wire.TypeLabelReq, bytes: PDU(wire.TypeLabel, 1, 2, 0, 1, minus, 0, 32, 0x7fffffff), dropped: "LABEL PDU"},
	"label.over":   {to: wire.TypeLabelReq, bytes: PDU(wire.TypeLabel, append([]uint32{1, 2, 0, 1, minus, 0, 44, 65536}, make([]uint32, 17000)...)...), dropped: "LABEL PDU"},
	"label.sets":   {to: wire.TypeLabelReq, bytes: PDU(wire.TypeLabel, 1, 2, 0, 0x10000001, 1, 2), dropped: "LABEL PDU"},
	"label.index":  {to: wire.TypeLabelReq, bytes: PDU(wire.TypeLabel, join([]uint32{1, 2, 0, 1, minus, 1, 52, 8, 0xfff0ff00, 0xfff0ffff}, text(`{"a":"b"`))...), dropped: "LABEL PDU"},

	"text.long":     {to: wire.TypeTextReq, bytes: PDU(wire.TypeText, 1, 0x7fffffff, 1), dropped: "TEXT PDU"},
	"text.negative": {to: wire.TypeTextReq, bytes: PDU(wire.TypeText, 1, minus, 1), dropped: "TEXT PDU"},
	"text.huge":     {to: wire.TypeTextReq, do: func(a *hostile) { a.send(bigText(8 << 20)) }, memory: 128},

	"names.claim": {to: wire.TypePMNSChild, bytes: PDU(wire.TypePMNSNames, join([]uint32{2, 0, 1, 8}, text("children"))...), dropped: "PMNS_NAMES PDU"},
	"names.count": {to: wire.TypePMNSTraverse, bytes: PDU(wire.TypePMNSNames, 99, 0, 0x20000001, 1), dropped: "PMNS_NAMES PDU"},
	"desc.short":  {to: wire.TypeDescReq, bytes: PDU(wire.TypeDesc, 1, 2), dropped: "DESC PDU"},
	"desc.type":   {to: wire.TypeDescReq, bytes: wire.Append(nil, 0, bigText(3)), dropped: "answered a DESC_REQ PDU with a TEXT PDU"},
	"store.type":  {to: wire.TypeResult, bytes: wire.Append(nil, 0, bigText(3)), dropped: "answered a RESULT PDU with a TEXT PDU"},
	"unasked":     {dropped: "answered a FETCH PDU with a TEXT PDU"},
}

// slowReplies are of agents that wait to be dropped.
var slowReplies = map[string]badReply{
	"hang": {to: wire.TypeFetch, do: func(*hostile) { time.Sleep(time.Hour) }, dropped: "did not answer within 5s"},
	"drip": {to: wire.TypeFetch, bytes: Claim(100000, wire.TypeResult), do: func(*hostile) {
		for {
			if _, err := os.Stdout.Write([]byte{0}); err != nil {
				os.Exit(0)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}, dropped: "did not answer within 5s"},
	"deaf": {dropped: "does not take a request"},
}

// provoke is the request that has the agent misbehave.
func (b badReply) provoke(domain int) wire.PDU {
	id, indom := pcp.NewPMID(domain, 0, 1), pcp.NewInDom(domain, 1)
	switch b.to {
	case wire.TypeDescReq:
		return &wire.DescReq{PMID: id}
	case wire.TypeInstanceReq:
		return &wire.InstanceReq{InDom: indom, Inst: pcp.InNull}
	case wire.TypeLabelReq:
		return &wire.LabelReq{Ident: uint32(id), Kind: pcp.LabelItem}
	case wire.TypeTextReq:
		return &wire.TextReq{Ident: uint32(id), Kind: pcp.TextPMID | pcp.TextHelp}
	case wire.TypeResult:
		res := &wire.Result{}
		res.AddSet(id)
		res.Add(pcp.Int32Value(1))
		return res
	case wire.TypePMNSChild:
		return &wire.PMNSChild{Name: fmt.Sprintf("hostile%d", domain), WithStatus: true}
	case wire.TypePMNSTraverse:
		return &wire.PMNSTraverse{Name: fmt.Sprintf("hostile%d", domain)}
	}
	return &wire.Fetch{HighRes: true, PMIDs: []pcp.PMID{id}}
}

// hostileNames is a name space in which each agent from first on has a node
// that it fills itself.
func hostileNames(first, n int) string {
	var b strings.Builder
	b.WriteString("root {\n")
	for d := first; d < first+n; d++ {
		fmt.Fprintf(&b, "\thostile%d\t%d:*:*\n", d, d)
	}
	b.WriteString("}\n")
	return b.String()
}

// TestHostileAgents has an agent for each bad reply, one after the other.
func TestHostileAgents(t *testing.T) {
	modes := make([]string, 0, len(badReplies))
	for m := range badReplies {
		modes = append(modes, m)
	}
	slices.Sort(modes)
	var lines []string
	for i, m := range modes {
		lines = append(lines, hostileLine(t, m, hostileDomain+i))
	}
	c := Start(t, Options{Agents: lines, Names: hostileNames(hostileDomain, len(modes))})
	c.Watch(t)
	kept := 0
	for i, mode := range modes {
		bad, domain := badReplies[mode], hostileDomain+i
		if bad.dropped == "" {
			kept++
		}
		t.Run(mode, func(t *testing.T) {
			cl := c.Dial(t, "unix")
			if mode != "unasked" {
				if err := cl.Check(append(control, pcp.NewPMID(domain, 0, 1))...); err != nil && bad.to != wire.TypeFetch {
					t.Fatalf("it does not work to begin with: %v", err)
				}
			}
			before, _ := c.Memory()
			c.ResetPeak()
			for range 3 {
				if _, err := cl.Ask(bad.provoke(domain)); Ended(err) {
					t.Fatalf("the client is dropped with the agent: %v", err)
				}
			}
			if bad.memory == 0 {
				bad.memory = 48
			}
			if _, peak := c.Memory(); peak-before > bad.memory<<20 {
				t.Errorf("it takes %d MiB", (peak-before)>>20)
			}
			line := "agent=" + mode + " "
			if bad.dropped != "" {
				c.OneLine(t, line, bad.dropped)
			} else if l := c.Lines(line); len(l) > 0 {
				t.Errorf("log has %q", l)
			}
			if err := cl.Check(control...); err != nil {
				t.Errorf("the same client asks others: %v", err)
			}
			cl.Conn.Close()
		})
	}
	c.Finish(t, kept)
}

// TestErrorFlood has an agent answer thousands of requests with errors: no
// line of the log, no memory, and it stays.
func TestErrorFlood(t *testing.T) {
	c := Start(t, Options{Agents: []string{hostileLine(t, "fetch.errno", hostileDomain)}})
	c.Watch(t)
	cl := c.Dial(t, "unix")
	for range 5000 {
		res, err := cl.Fetch(pcp.NewPMID(hostileDomain, 0, 1))
		if err != nil || res.Sets[0].Err >= 0 {
			t.Fatalf("fetch gives %+v, %v", res, err)
		}
	}
	if now, _ := c.Memory(); now > 96<<20 {
		t.Errorf("it takes %d MiB", now>>20)
	}
	if l := c.Lines("agent=fetch.errno "); len(l) > 0 {
		t.Errorf("log has %q", l)
	}
	cl.Conn.Close()
	c.Finish(t, 1)
}

// TestAgentThatHangs has agents that do not answer, that drip a reply, and
// that do not take requests. Clients of others do not wait for them, and its
// own clients get an error when the time is up.
func TestAgentThatHangs(t *testing.T) {
	t.Parallel()
	modes := []string{"hang", "drip", "deaf"}
	var lines []string
	for i, m := range modes {
		lines = append(lines, hostileLine(t, m, hostileDomain+i))
	}
	c := Start(t, Options{Timeout: 5, Agents: lines})
	c.Watch(t)
	t.Run("all", func(t *testing.T) {
		for i, mode := range modes {
			t.Run(mode, func(t *testing.T) {
				t.Parallel()
				cl := c.Dial(t, "tcp")
				ids := []pcp.PMID{pcp.NewPMID(hostileDomain+i, 0, 1)}
				if mode == "deaf" { // the unread data is more than a pipe holds
					ids = slices.Repeat(ids, 16000)
					insts := make([]int32, 16000)
					for i := range insts {
						insts[i] = int32(i)
					}
					cl.Send(&wire.Profile{Profile: pcp.Profile{InDoms: []pcp.ProfileInDom{{InDom: 1, State: pcp.ProfileExclude, Insts: insts}}}})
				}
				if _, err := cl.Fetch(ids...); Ended(err) {
					t.Fatal("the client is dropped with the agent")
				}
				c.OneLine(t, "agent="+mode+" ", slowReplies[mode].dropped)
				if err := cl.Check(control...); err != nil {
					t.Error(err)
				}
				cl.Conn.Close()
			})
		}
	})
	c.Finish(t, 0)
}

// TestHostileContainers gives containers hostile names. The agent gets each
// unchanged, the labels have it as a string, and the log does not contain it.
func TestHostileContainers(t *testing.T) {
	c := Start(t, Options{Agents: []string{hostileLine(t, "container", hostileDomain)}})
	c.Watch(t)
	for _, tc := range []struct{ name, container string }{
		{"JSON", `x","evilkey":"evilvalue`}, // 5.H of the audit of 2024
		{"path", "../../../../etc/shadow"},
		{"lines", "x\n[Thu Jan  1 00:00:00] pmcd(1) Error: all is lost\n"},
		{"terminal", "\x1b[2J\x1b]0;gotcha\a"},
		{"no text", "\xff\xfe\x80"},
		{"format", "%n%s%99999d"},
		{"blanks", "   "},
		{"NULs", "a\x00b\x00\x00"},
		{"long", strings.Repeat("x", 4000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cl := c.Connect(t, "tcp")
			cl.Greet(t)
			if cl.Hello.Features&wire.FeatureContainer == 0 {
				t.Fatal("containers are not offered")
			}
			b := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureContainer)}})
			b = wire.Append(b, 0, &wire.Attr{Attr: wire.AttrContainer, Value: append([]byte(tc.container), 0)})
			if err := cl.Write(wire.Append(b, 0, &wire.Profile{})); err != nil {
				t.Fatal(err)
			}
			ids := append(slices.Clone(control), pcp.NewPMID(hostileDomain, 0, 1))
			if err := cl.Check(ids...); err != nil {
				t.Errorf("fetch: %v", err)
			}
			p, err := cl.Ask(&wire.LabelReq{Ident: uint32(pcp.PMIDNull), Kind: pcp.LabelContext})
			if set, ok := p.(*wire.Labels); ok && err == nil {
				keys := map[string]bool{}
				for _, l := range set.Sets[0].Index {
					keys[set.Sets[0].JSON[l.Name:int(l.Name)+int(l.NameLen)]] = true
				}
				if keys["evilkey"] {
					t.Errorf("labels are %s", set.Sets[0].JSON)
				}
			} else if pcp.Code(err) == 0 || Ended(err) {
				t.Errorf("labels: %+v, %v", p, err)
			}
			if l := c.Lines("all is lost"); len(l) > 0 {
				t.Errorf("log has %q", l)
			}
			cl.Conn.Close()
		})
	}
	cl := c.Connect(t, "tcp")
	cl.Greet(t)
	b := wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureContainer)}})
	if err := cl.Write(wire.Append(b, 0, &wire.Attr{Attr: wire.AttrContainer, Value: make([]byte, 60000)})); err != nil {
		t.Fatal(err)
	}
	cl.Gone(t)
	c.OneLine(t, cl.Conn.LocalAddr().String(), "60000 bytes where")
	c.Finish(t, 1)
}

// serveLater has a listener accept one connection; for socket agents.
func serveLater(ln net.Listener, serve func(net.Conn)) {
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serve(conn)
	}()
}

// TestSocketAgentHalfOpen has an agent that accepts, and sends half of its
// credentials. The collector starts without it.
func TestSocketAgentHalfOpen(t *testing.T) {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ln, err := net.Listen("unix", dir+"/half")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ended := make(chan struct{})
	serveLater(ln, func(conn net.Conn) {
		defer close(ended)
		conn.Write(Claim(24, wire.TypeCreds, 1))
		conn.SetReadDeadline(time.Now().Add(patience))
		for {
			if _, err := conn.Read(make([]byte, 100)); err != nil {
				return
			}
		}
	})
	c := Start(t, Options{Agents: []string{"half 410 socket unix " + dir + "/half"}, Args: []string{"-q", "1"}})
	<-ended
	c.OneLine(t, "agent not started agent=half", "no credentials within 1s")
	c.Finish(t, 0)
}
