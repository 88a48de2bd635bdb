package pmda_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
	"github.com/go-pcp/pcp/wire"
)

// A collector is the other end of an agent's connection.
type collector struct {
	t    testing.TB
	conn net.Conn
	r    *wire.Reader
	log  *bytes.Buffer // of the agent; read it only after end
	err  chan error    // the error of Serve
}

// serve starts serving a and returns its collector, before the handshake.
func serve(t testing.TB, a pmda.Agent, opts pmda.ServeOptions) *collector {
	t.Helper()
	ours, theirs := net.Pipe()
	c := &collector{t: t, conn: ours, r: wire.NewReader(ours), log: new(bytes.Buffer), err: make(chan error, 1)}
	c.r.Max = wire.MaxPDU
	opts.Log = slog.New(slog.NewTextHandler(c.log, nil))
	ctx := t.Context()
	go func() {
		err := pmda.Serve(ctx, theirs, a, opts)
		theirs.Close()
		c.err <- err
	}()
	t.Cleanup(func() { ours.Close() })
	ours.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// start is serve with the handshake done.
func start(t testing.TB, a pmda.Agent) *collector {
	t.Helper()
	return startWith(t, a, pmda.ServeOptions{})
}

// startWith is start with these options.
func startWith(t testing.TB, a pmda.Agent, opts pmda.ServeOptions) *collector {
	t.Helper()
	c := serve(t, a, opts)
	h, body, err := c.r.Next()
	if err != nil || h.Type != wire.TypeCreds {
		t.Fatalf("agent begins with %v, %v", h, err)
	}
	var creds wire.Creds
	if err := creds.DecodeBody(body); err != nil {
		t.Fatal(err)
	}
	c.send(1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	return c
}

func (c *collector) send(from int32, p wire.PDU) {
	c.t.Helper()
	if _, err := c.conn.Write(wire.Append(nil, from, p)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *collector) receive() wire.PDU {
	c.t.Helper()
	h, body, err := c.r.Next()
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := wire.Decode(h, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if h.From != wire.FromAnon {
		c.t.Errorf("answer of type %v is from %d", h.Type, h.From)
	}
	return p
}

// ask sends a request and returns its answer.
func (c *collector) ask(from int32, p wire.PDU) wire.PDU {
	c.t.Helper()
	c.send(from, p)
	return c.receive()
}

// refused asks and wants an error.
func (c *collector) refused(from int32, p wire.PDU, want pcp.Error) {
	c.t.Helper()
	if got := c.ask(from, p); !isError(got, want) {
		c.t.Errorf("%v %+v is answered with %v %+v, want the error %d", p.Type(), p, got.Type(), got, int32(want))
	}
}

func isError(p wire.PDU, want pcp.Error) bool {
	e, ok := p.(*wire.Error)
	return ok && e.Code == want
}

// end closes the connection and wants Serve to return want, nil for success.
func (c *collector) end(want string) {
	c.t.Helper()
	c.conn.Close()
	c.ended(want)
}

func (c *collector) ended(want string) {
	c.t.Helper()
	select {
	case err := <-c.err:
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			c.t.Errorf("Serve: %v, want %q", err, want)
		}
	case <-time.After(time.Minute):
		c.t.Fatal("Serve does not return")
	}
}

func TestServeHandshake(t *testing.T) {
	f := newFixture(t)
	c := serve(t, f, pmda.ServeOptions{})
	got := make([]byte, 20)
	if _, err := io.ReadFull(c.conn, got); err != nil {
		t.Fatal(err)
	}
	// As real agents send it; bytes 8 to 11 are the process.
	want := []byte{0, 0, 0, 20, 0, 0, 0x70, 0x0c, got[8], got[9], got[10], got[11], 0, 0, 0, 1, 1, 2, 0, 0}
	if !bytes.Equal(got, want) || binary.BigEndian.Uint32(got[8:]) == 0 {
		t.Errorf("credentials % x, want % x", got, want)
	}
	c.send(1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}})
	c.ask(3, &wire.DescReq{PMID: pcp.NewPMID(domain, 0, 0)})
	c.end("")
}

func TestServeHandshakeFails(t *testing.T) {
	for name, tt := range map[string]struct {
		send []byte
		want string
	}{
		"end":           {nil, "unexpected EOF"},
		"another PDU":   {wire.Append(nil, 0, &wire.DescReq{}), "got a"},
		"other version": {wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(1, 0)}}), "version 1"},
		"not a PDU":     {[]byte("GET / HTTP/1.0\r\n\r\n"), "credentials"},
		"short":         {[]byte{0, 0, 0, 20, 0, 0}, "unexpected EOF"},
		"bad creds":     {[]byte{0, 0, 0, 16, 0, 0, 0x70, 0x0c, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, "credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, newFixture(t), pmda.ServeOptions{})
			if _, _, err := c.r.Next(); err != nil {
				t.Fatal(err)
			}
			c.conn.Write(tt.send)
			c.end(tt.want)
		})
	}
}

func TestServeRequests(t *testing.T) {
	f := newFixture(t)
	c := start(t, f)
	desc, _ := f.Desc(t.Context(), pcp.NewPMID(domain, 1, 0))
	disks := pcp.NewInDom(domain, 3)
	equal := func(got, want wire.PDU) {
		t.Helper()
		if diff := cmp.Diff(wire.Append(nil, 0, want), wire.Append(nil, 0, got)); diff != "" {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	equal(c.ask(1, &wire.DescReq{PMID: desc.PMID}), &wire.Desc{Desc: desc})
	c.refused(1, &wire.DescReq{PMID: desc.PMID + 100}, pcp.ErrPMID)

	equal(c.ask(1, &wire.InstanceReq{InDom: disks, Inst: pcp.InNull}), &wire.Instance{InDom: disks, Instances: []pcp.Instance{
		{Inst: 0, Name: "sda"}, {Inst: 10, Name: "sdb"}, {Inst: 20, Name: "sdc spare"},
	}})
	equal(c.ask(1, &wire.InstanceReq{InDom: disks, Inst: pcp.InNull, Name: "sdc"}),
		&wire.Instance{InDom: disks, Instances: []pcp.Instance{{Inst: 20}}})
	equal(c.ask(1, &wire.InstanceReq{InDom: disks, Inst: 10}),
		&wire.Instance{InDom: disks, Instances: []pcp.Instance{{Inst: pcp.InNull, Name: "sdb"}}})
	c.refused(1, &wire.InstanceReq{InDom: disks, Inst: 11}, pcp.ErrInst)
	c.refused(1, &wire.InstanceReq{InDom: disks, Inst: 10, Name: "sdb"}, pcp.ErrInst)
	c.refused(1, &wire.InstanceReq{InDom: disks + 1, Inst: pcp.InNull}, pcp.ErrInDom)

	equal(c.ask(1, &wire.TextReq{Ident: uint32(desc.PMID), Kind: pcp.TextPMID | pcp.TextOneLine}),
		&wire.Text{Ident: uint32(desc.PMID), Text: "reads"})
	c.refused(1, &wire.TextReq{Ident: 5, Kind: pcp.TextPMID | pcp.TextOneLine}, pcp.ErrText)

	limit := pcp.NewPMID(domain, 0, 0)
	store := &wire.Result{Result: pcp.Result{Sets: []pcp.ValueSet{{PMID: limit, Values: []pcp.Value{pcp.Int32Value(123)}}}}}
	equal(c.ask(1, store), &wire.Error{})
	if f.limit != 123 {
		t.Errorf("the limit is %d after the store", f.limit)
	}
	store.Sets[0].PMID = pcp.NewPMID(domain, 3, 0)
	c.refused(1, store, pcp.ErrPermission)

	f.asked = nil
	want := "400.0.0 [-1]123\n400.1.0 [0]7 [10]8 [20]9\n400.9.9 error -12358\n"
	ids := ids([2]int{0, 0}, [2]int{1, 0}, [2]int{9, 9})
	res, ok := c.ask(7, &wire.Fetch{Context: 7, PMIDs: ids}).(*wire.Result)
	if !ok || show(typed(&res.Result)) != want {
		t.Errorf("fetch: got %+v, want %s", res, want)
	}
	if len(f.asked) != 1 || len(f.asked[0]) != 3 {
		t.Errorf("a fetch refreshed %v", f.asked)
	}
}

// typed gives a result from the wire the types that show needs.
func typed(res *pcp.Result) *pcp.Result {
	for i := range res.Sets {
		for j := range res.Sets[i].Values {
			res.Sets[i].Values[j] = res.Sets[i].Values[j].As(pcp.TypeU32)
		}
	}
	return res
}

func TestServeProfile(t *testing.T) {
	c := start(t, newFixture(t))
	var p pcp.Profile
	if err := p.Add(pcp.NewInDom(domain, 3), 20); err != nil {
		t.Fatal(err)
	}
	reads := &wire.Fetch{PMIDs: ids([2]int{1, 0})}
	fetch := func(from int32, want string) {
		t.Helper()
		if res, ok := c.ask(from, reads).(*wire.Result); !ok || show(&res.Result) != want {
			t.Errorf("got %+v, want %s", res, want)
		}
	}
	fetch(1, "400.1.0 [0]7 [10]8 [20]9\n")
	c.send(1, &wire.Profile{Context: 1, Profile: p})
	fetch(1, "400.1.0 [20]9\n")
	// It selects labels as well.
	labels, ok := c.ask(1, &wire.LabelReq{Ident: uint32(pcp.NewInDom(domain, 3)), Kind: pcp.LabelInstances}).(*wire.Labels)
	if !ok || len(labels.Sets) != 1 || labels.Sets[0].Inst != 20 {
		t.Errorf("labels of the instances: %+v", labels)
	}
	// The collector sends a profile when another client has its turn; until
	// then the last one applies.
	fetch(2, "400.1.0 [20]9\n")
	c.send(2, &wire.Profile{Context: 2})
	fetch(2, "400.1.0 [0]7 [10]8 [20]9\n")
	c.end("")
}

// TestServeContextLabels asks for labels that dbpmda asks for and collectors do not.
func TestServeContextLabels(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PCP_SYSCONF_DIR", filepath.Join(dir, "of the process"))
	vars := map[string]string{"PCP_CONF": os.DevNull, "PCP_SYSCONF_DIR": dir}
	c := startWith(t, newFixture(t), pmda.ServeOptions{Config: config.New(func(name string) string { return vars[name] })})
	req := &wire.LabelReq{Ident: uint32(pcp.PMIDNull), Kind: pcp.LabelContext}
	if l, ok := c.ask(1, req).(*wire.Labels); !ok || len(l.Sets) != 0 {
		t.Errorf("labels of a site without: %+v", l)
	}
	if err := os.MkdirAll(filepath.Join(dir, "labels"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "labels", "qa.json"), []byte(`{"QA":562}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, ok := c.ask(1, req).(*wire.Labels); !ok || len(l.Sets) != 1 || l.Sets[0].JSON != `{"QA":562}` {
		t.Errorf("labels of the site: %+v", l)
	}
	c.end("")
}

func TestServeNames(t *testing.T) {
	c := start(t, newFixture(t)) // it is not a DynamicNamer: its name space answers
	names := func(p wire.PDU) string {
		t.Helper()
		n, ok := c.ask(1, p).(*wire.PMNSNames)
		if !ok {
			t.Fatalf("%+v: no names", p)
		}
		return fmt.Sprint(n.Names, n.Status)
	}
	reads := pcp.NewPMID(domain, 1, 0)
	got, ok := c.ask(1, &wire.PMNSNames{Names: []string{"fix.disk.reads"}}).(*wire.PMNSIDs)
	if !ok || len(got.PMIDs) != 1 || got.PMIDs[0] != reads {
		t.Errorf("fix.disk.reads is %+v", got)
	}
	c.refused(1, &wire.PMNSNames{Names: []string{"fix.nothing"}}, pcp.ErrName)
	c.refused(1, &wire.PMNSNames{Names: []string{"fix.disk"}}, pcp.ErrNonLeaf)
	c.refused(1, &wire.PMNSNames{Names: []string{"fix.limit", "fix.user"}}, pcp.ErrIPC)
	if got := names(&wire.PMNSIDs{PMIDs: []pcp.PMID{reads}}); got != "[fix.disk.reads] []" {
		t.Errorf("names of %v: %s", reads, got)
	}
	c.refused(1, &wire.PMNSIDs{PMIDs: []pcp.PMID{reads + 77}}, pcp.ErrPMID)
	if got := names(&wire.PMNSChild{Name: "fix", WithStatus: true}); got != "[limit disk broken wrongtype absent client user] [0 1 0 0 0 0 0]" {
		t.Errorf("children of fix: %s", got)
	}
	if got := names(&wire.PMNSChild{Name: "fix.disk"}); got != "[reads odd none] []" {
		t.Errorf("children of fix.disk: %s", got)
	}
	c.refused(1, &wire.PMNSChild{Name: "fax"}, pcp.ErrName)
	if got := names(&wire.PMNSTraverse{Name: "fix.disk"}); got != "[fix.disk.reads fix.disk.odd fix.disk.none] []" {
		t.Errorf("leaves of fix.disk: %s", got)
	}
	c.end("")
}

// An oddAgent behaves as the request number selects.
type oddAgent struct {
	pmda.Agent
	calls  []string
	ended  []*pmda.Client
	closed int
}

func (a *oddAgent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	switch id.Item() {
	case 0:
		panic("desc of item 0")
	case 1:
		return pcp.Desc{}, errors.New("no reason that a client could understand")
	case 2:
		return pcp.Desc{}, fmt.Errorf("wrapped: %w", pcp.ErrAgain)
	}
	return pcp.Desc{PMID: id}, nil
}

func (a *oddAgent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	switch req.PMIDs[0].Item() {
	case 0:
		req.Result.AddSet(req.PMIDs[0])
		req.Result.Add(pcp.Int32Value(1))
		panic("in the middle of a result")
	case 1:
		return pcp.ErrTimeout
	case 2:
		return nil // without a set
	case 3:
		req.Result.AddError(req.PMIDs[0]+1, pcp.ErrValue)
		return nil
	case 4:
		big := make([]byte, 1<<23)
		for _, id := range req.PMIDs {
			req.Result.AddSet(id)
			req.Result.Add(pcp.BytesValue(pcp.TypeAggregate, big))
		}
		return nil
	}
	req.Result.AddError(req.PMIDs[0], pcp.ErrValue)
	a.calls = append(a.calls, fmt.Sprint("fetch ", req.Client.ID, " ", req.Client.Attrs))
	return nil
}

func (a *oddAgent) Attribute(_ context.Context, c *pmda.Client, key pmda.AttrKey, value string) error {
	a.calls = append(a.calls, fmt.Sprintf("attr %d %d=%s", c.ID, key, value))
	if value == "bad" {
		panic("attribute")
	}
	return nil
}

func (a *oddAgent) EndContext(c *pmda.Client) {
	a.calls = append(a.calls, fmt.Sprint("end ", c.ID))
	a.ended = append(a.ended, c)
	if c.ID == 13 {
		panic("end")
	}
}

func (a *oddAgent) Close() error {
	a.closed++
	return nil
}

func (a *oddAgent) LookupName(context.Context, string) (pcp.PMID, error) { return 4711, nil }
func (a *oddAgent) Names(context.Context, pcp.PMID) ([]string, error) {
	return []string{"one", "two"}, nil
}

func (a *oddAgent) Children(_ context.Context, name string, traverse bool) ([]pmns.Child, error) {
	return nil, nil
}

func TestServeOddAgent(t *testing.T) {
	a := &oddAgent{}
	c := start(t, a)
	id := func(item int) pcp.PMID { return pcp.NewPMID(domain, 0, item) }
	for range 50 {
		c.refused(1, &wire.DescReq{PMID: id(0)}, pcp.ErrGeneric)
	}
	c.refused(1, &wire.DescReq{PMID: id(1)}, pcp.ErrGeneric)
	c.refused(1, &wire.DescReq{PMID: id(2)}, pcp.ErrAgain)
	for item, want := range []pcp.Error{pcp.ErrGeneric, pcp.ErrTimeout, pcp.ErrIPC, pcp.ErrIPC} {
		c.refused(1, &wire.Fetch{PMIDs: []pcp.PMID{id(item)}}, want)
	}
	// After a panic in the middle of a result the next one is whole.
	if res, ok := c.ask(1, &wire.Fetch{PMIDs: []pcp.PMID{id(9)}}).(*wire.Result); !ok || show(&res.Result) != "400.0.9 error -12351\n" {
		t.Errorf("fetch after a panic: %+v", res)
	}
	// What the agent does not have.
	c.refused(1, &wire.TextReq{Kind: pcp.TextPMID | pcp.TextHelp}, pcp.ErrText)
	c.refused(1, &wire.Result{}, pcp.ErrPermission)
	if l, ok := c.ask(1, &wire.LabelReq{Ident: domain, Kind: pcp.LabelDomain}).(*wire.Labels); !ok || len(l.Sets) != 0 {
		t.Errorf("labels of an agent without: %+v", l)
	}
	// The agent has these.
	if ids, ok := c.ask(1, &wire.PMNSNames{Names: []string{"x"}}).(*wire.PMNSIDs); !ok || ids.PMIDs[0] != 4711 {
		t.Errorf("name: %+v", ids)
	}
	if names, ok := c.ask(1, &wire.PMNSIDs{PMIDs: []pcp.PMID{1}}).(*wire.PMNSNames); !ok || len(names.Names) != 2 {
		t.Errorf("names: %+v", names)
	}
	c.end("")
	if n := strings.Count(c.log.String(), "desc of item 0"); n > 2 {
		t.Errorf("%d lines in the log about one panic", n)
	}
	for _, want := range []string{"desc of item 0", "in the middle of a result", "no reason that a client", "0 metrics where 1", "oddAgent).Desc serve_test.go:"} {
		if !strings.Contains(c.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, c.log)
		}
	}
}

func TestServeClients(t *testing.T) {
	a := &oddAgent{}
	c := serve(t, a, pmda.ServeOptions{})
	h, body, err := c.r.Next()
	var creds wire.Creds
	if err != nil || creds.DecodeBody(body) != nil || h.Type != wire.TypeCreds {
		t.Fatal(h, err)
	}
	if _, f, _ := creds.Creds[0].Version(); f != wire.FeatureAuth|wire.FeatureContainer {
		t.Errorf("an agent that wants attributes has the features %v", f)
	}
	c.send(1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, f0)}})
	get := &wire.Fetch{PMIDs: []pcp.PMID{pcp.NewPMID(domain, 0, 9)}}
	c.send(5, &wire.Attr{Attr: pmda.AttrUserID, Value: []byte("1000\x00")})
	c.send(5, &wire.Attr{Attr: pmda.AttrGroupID, Value: []byte("100")})
	c.send(6, &wire.Attr{Attr: pmda.AttrUserID, Value: []byte("bad")})
	c.ask(5, get)
	c.ask(6, get)
	c.send(5, &wire.Error{Code: pcp.ErrNotConn})
	c.send(99, &wire.Error{Code: pcp.ErrNotConn}) // was never here
	c.send(6, &wire.Error{Code: pcp.ErrTimeout})  // has no meaning
	c.ask(5, get)                                 // another client by now
	c.ask(13, get)
	c.end("")
	want := []string{
		"attr 5 11=1000", "attr 5 12=100", "attr 6 11=bad",
		"fetch 5 map[userid:1000 groupid:100]", "fetch 6 map[userid:bad]", "end 5", "fetch 5 map[]", "fetch 13 map[]",
	}
	if diff := cmp.Diff(want, a.calls[:min(len(want), len(a.calls))]); diff != "" {
		t.Error(diff)
	}
	if len(a.ended) != 4 { // the end of the connection ends all
		t.Errorf("%d clients ended, want 4", len(a.ended))
	}
	if a.ended[0].Attrs[pmda.AttrUserID] != "1000" {
		t.Error("the client that ended is not the one that began")
	}
}

// TestServeNobody ends a connection on which no client made a request. The agent is notified of the end
// of client 0, as in C.
func TestServeNobody(t *testing.T) {
	a := &oddAgent{}
	c := serve(t, a, pmda.ServeOptions{})
	if _, _, err := c.r.Next(); err != nil {
		t.Fatal(err)
	}
	c.send(1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, f0)}})
	c.end("")
	if len(a.ended) != 1 || a.ended[0].ID != 0 {
		t.Errorf("the clients %v ended, want one with the number 0", a.ended)
	}
}

const f0 = wire.Features(0)

// TestServeBadRequests sends bodies that cannot be decoded: each is refused, and
// the agent continues.
func TestServeBadRequests(t *testing.T) {
	c := start(t, newFixture(t))
	good := &wire.DescReq{PMID: pcp.NewPMID(domain, 0, 0)}
	for _, tt := range []struct {
		typ    wire.Type
		body   string
		answer bool
	}{
		{wire.TypeFetch, "", true},
		{wire.TypeFetch, "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff", true},
		{wire.TypeDescReq, "\x00", true},
		{wire.TypeInstanceReq, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff", true},
		{wire.TypeTextReq, "", true},
		{wire.TypeResult, "\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff", true},
		{wire.TypePMNSNames, "\xff\xff\xff\xff\xff\xff\xff\xff", true},
		{wire.TypePMNSIDs, "", true},
		{wire.TypePMNSChild, "\x00", true},
		{wire.TypePMNSTraverse, "\x00", true},
		{wire.TypeLabelReq, "", true},
		{wire.TypeDescIDs, "", true}, // collectors do not ask agents so
		{wire.Type(0x7fff), "what", true},
		{wire.Type(1), "", true},
		{wire.TypeProfile, "\x00", false},
		{wire.TypeAttr, "", false},
		{wire.TypeError, "", false},
	} {
		pdu := binary.BigEndian.AppendUint32(nil, uint32(wire.HeaderSize+len(tt.body)))
		pdu = binary.BigEndian.AppendUint32(pdu, uint32(tt.typ))
		pdu = binary.BigEndian.AppendUint32(pdu, 3)
		if _, err := c.conn.Write(append(pdu, tt.body...)); err != nil {
			t.Fatal(err)
		}
		if tt.answer {
			if p := c.receive(); !isError(p, pcp.ErrIPC) {
				t.Errorf("%v %q is answered with %+v, want PM_ERR_IPC", tt.typ, tt.body, p)
			}
		}
		if _, ok := c.ask(3, good).(*wire.Desc); !ok {
			t.Fatalf("after %v %q the agent does not answer", tt.typ, tt.body)
		}
	}
	c.end("")
}

// TestServeBadHeaders sends headers that cannot be read, which end the connection.
func TestServeBadHeaders(t *testing.T) {
	for name, tt := range map[string]struct{ send, want string }{
		"too short":      {"\x00\x00\x00\x0b\x00\x00\x70\x06\x00\x00\x00\x00", "reading a request"},
		"too long":       {"\x7f\xff\xff\xff\x00\x00\x70\x06\x00\x00\x00\x00", "reading a request"},
		"negative":       {"\xff\xff\xff\xff\x00\x00\x70\x06\x00\x00\x00\x00", "reading a request"},
		"cut header":     {"\x00\x00\x00", "unexpected EOF"},
		"cut body":       {"\x00\x00\x00\x10\x00\x00\x70\x06\x00\x00\x00\x00\x00", "unexpected EOF"},
		"between":        {"", ""},
		"half a request": {"\x03\xff\xff\xff\x00\x00\x70\x06\x00\x00\x00\x00\x00", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, newFixture(t))
			c.conn.Write([]byte(tt.send))
			c.end(tt.want)
		})
	}
}

func TestServeCancel(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	a, done := &oddAgent{}, make(chan error)
	go func() { done <- pmda.Serve(ctx, theirs, a, pmda.ServeOptions{}) }()
	r := wire.NewReader(ours)
	if _, _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	ours.Write(wire.Append(nil, 1, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(wire.PDUVersion, 0)}}))
	reason := errors.New("enough")
	cancel(reason)
	select {
	case err := <-done:
		if err != reason {
			t.Errorf("Serve: %v, want %v", err, reason)
		}
	case <-time.After(time.Minute):
		t.Fatal("Serve goes on")
	}
}

// TestServeTooBig has an agent whose answer no collector would take.
func TestServeTooBig(t *testing.T) {
	c := start(t, &oddAgent{})
	id := pcp.NewPMID(domain, 0, 4)
	c.refused(1, &wire.Fetch{PMIDs: []pcp.PMID{id, id, id, id, id, id, id, id}}, pcp.ErrTooBig)
	if p, ok := c.ask(1, &wire.Fetch{PMIDs: []pcp.PMID{id}}).(*wire.Result); !ok {
		t.Errorf("one of them is answered with %v", p)
	}
	c.end("")
}
