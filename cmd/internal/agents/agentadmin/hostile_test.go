package agentadmin

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/agentlink"
	"github.com/go-pcp/pcp/cmd/internal/agents/dbpmda"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// replyTo is the type of the answer that an agent should send for a request, 0 for no answer.
var replyTo = map[wire.Type]wire.Type{
	wire.TypeFetch: wire.TypeResult, wire.TypeHighResFetch: wire.TypeHighResResult, wire.TypeDescReq: wire.TypeDesc,
	wire.TypeInstanceReq: wire.TypeInstance, wire.TypeTextReq: wire.TypeText, wire.TypeLabelReq: wire.TypeLabel,
	wire.TypePMNSNames: wire.TypePMNSIDs, wire.TypePMNSIDs: wire.TypePMNSNames, wire.TypePMNSChild: wire.TypePMNSNames,
	wire.TypePMNSTraverse: wire.TypePMNSNames, wire.TypeResult: wire.TypeError,
}

// How a hostile agent sends its next answer: the lowest bits of the byte before it. The
// byte after that is the length of the body.
const (
	answerAsAsked = iota // a PDU of the type that is due
	answerOther          // a PDU with the type in the other bits
	answerTwice          // one too many
	answerRaw            // bytes, and the end
	answerKinds
)

// A hostileAgent listens at a path, and sends each client the given answers. At their
// end it hangs up.
type hostileAgent struct {
	ln   net.Listener
	path string
	done chan struct{}
}

func newHostileAgent(t testing.TB, answers []byte) *hostileAgent {
	t.Helper()
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a := &hostileAgent{path: filepath.Join(dir, "agent"), done: make(chan struct{})}
	if a.ln, err = net.Listen("unix", a.path); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(a.done)
		for {
			conn, err := a.ln.Accept()
			if err != nil {
				return
			}
			talk(conn, answers)
			conn.Close()
		}
	}()
	return a
}

func (a *hostileAgent) close() {
	a.ln.Close()
	<-a.done
}

func talk(conn net.Conn, answers []byte) {
	rd := wire.NewReader(conn)
	rd.Max = wire.MaxPDU
	conn.Write(wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}))
	for len(answers) >= 2 {
		conn.SetReadDeadline(time.Now().Add(silence)) // do not wait for a client that waits for more
		h, _, err := rd.Next()
		if err != nil {
			return
		}
		t := replyTo[h.Type]
		if t == 0 {
			continue
		}
		mode, n := answers[0], min(int(answers[1]), len(answers)-2)
		body := answers[2 : 2+n]
		answers = answers[2+n:]
		switch mode % answerKinds {
		case answerRaw:
			conn.Write(body)
			return
		case answerOther:
			t = wire.TypeError + wire.Type(mode/answerKinds%0x1a)
		}
		b := append(wire.AppendHeader(nil, wire.Header{Len: uint32(wire.HeaderSize + len(body)), Type: t}), body...)
		if mode%answerKinds == answerTwice {
			b = append(b, b...)
		}
		if _, err := conn.Write(b); err != nil {
			return
		}
	}
}

// maxFindings is more than the findings that a few answers can cause.
const maxFindings = 10000

// silence is the time limit for an agent, and the agent's own. It does not matter if a slow agent
// is taken for a silent one.
const silence = 50 * time.Millisecond

// questions are requests of every kind that dbpmda has.
const questions = `getdesc on
getiname on
desc 29.0.10
fetch 29.0.10 29.0.11
instance 29.1
instance 29.1 3 -
instance 29.1 - "x"
text 29.0.10
text indom 29.1
label context
label domain 29
label item 29.0.10
label instances 29.1
name 29.0.10
pmid x.y
children x
traverse x
profile 29.1 add 3
fetch 29.0.10
store 29.0.10 "3"
attr 3 "x"
status
`

// FuzzHostileAgent makes an agent send arbitrary answers to both programs that query
// agents. They end, with a report, and hang up.
func FuzzHostileAgent(f *testing.F) {
	id, indom := pcp.NewPMID(29, 0, 10), pcp.NewInDom(29, 1)
	res := &wire.Result{}
	res.AddSet(id)
	res.Add(pcp.Int32Value(7).WithInst(3))
	good := []wire.PDU{
		&wire.PMNSNames{Names: []string{"x.y"}, Status: []int32{0}}, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}},
		&wire.Desc{Desc: pcp.Desc{PMID: id, Type: pcp.Type32, InDom: indom, Sem: pcp.SemInstant}},
		&wire.Instance{InDom: indom, Instances: []pcp.Instance{{Inst: 3, Name: "three"}, {Inst: 4, Name: "four"}}}, res,
		&wire.Text{Ident: uint32(id), Text: "some text"}, &wire.Error{Code: pcp.ErrPMDAReady}, &wire.Error{Code: pcp.ErrPMDANotReady}, &wire.Error{Code: pcp.ErrText},
	}
	frame := func(mode byte, p wire.PDU) []byte {
		body := wire.Append(nil, 0, p)[wire.HeaderSize:]
		return append([]byte{mode, byte(len(body))}, body...)
	}
	var all []byte
	for i, p := range good {
		all = append(all, frame(answerAsAsked, p)...)
		f.Add(bytes.Repeat(frame(answerAsAsked, p), 30))
		f.Add(append(frame(answerAsAsked, good[(i+1)%len(good)]), frame(answerTwice, p)...))
		f.Add(frame(byte(answerOther+answerKinds*int(p.Type()-wire.TypeError)), p))
	}
	f.Add(all)
	f.Add(append(frame(answerAsAsked, good[0]), append(frame(answerAsAsked, good[2]), append(frame(answerAsAsked, good[3]), frame(answerAsAsked, good[4])...)...)...))
	f.Add([]byte{answerRaw, 8, 0, 0, 0, 3, 0, 0, 0, 0})
	tree := pmns.New()
	for i, name := range []string{"odd.one", "odd.two"} {
		if err := tree.Add(name, pcp.NewPMID(29, 0, 10+i)); err != nil {
			f.Fatal(err)
		}
	}
	if err := tree.Add("odd.dynamic", pcp.DynamicRoot(29)); err != nil {
		f.Fatal(err)
	}
	noEnv := func(string) string { return "" }
	// Not the machine's file, which is missing until its collector has first started.
	root := filepath.Join(f.TempDir(), "root")
	if err := os.WriteFile(root, []byte("root {\n\todd\n}\nodd {\n\tone 29:0:10\n\ttwo 29:0:11\n}\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, answers []byte) {
		a := newHostileAgent(t, answers)
		defer a.close()
		for _, names := range []*pmns.Tree{tree, nil} {
			c, err := agentlink.Dial("unix", a.path, "hostile", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			rep := &report{Agent: "hostile"}
			newProbe(&tester{env: &cli.Env{Getenv: noEnv}, timeout: silence, domain: 29}, c, rep).run(names)
			c.Close()
			if n := len(rep.Problems) + len(rep.Notes); n > maxFindings {
				t.Errorf("%d findings about an agent that said %d bytes", n, len(answers))
			}
		}
		// Its output is on either stream: on standard error if a busy machine is too
		// slow for its time limits.
		var out, errs bytes.Buffer
		dbpmda.Command.Run(context.Background(), &cli.Env{
			Name: "dbpmda", Args: []string{"-f", "--timeout=1", "-n", root}, Command: dbpmda.Command, Getenv: noEnv,
			Stdin: strings.NewReader("open socket unix " + a.path + "\n" + questions), Stdout: &out, Stderr: &errs,
		})
		if out.Len()+errs.Len() == 0 {
			t.Error("dbpmda says nothing")
		}
	})
}
