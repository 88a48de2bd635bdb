package dbpmda

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/wire"
)

// A call holds the function names in the C program's messages.
type call struct {
	send, decode, dso string
	want              wire.Type
	hex               bool // form of the report of a PDU of a wrong type
}

var (
	callDesc     = call{"__pmSendDescReq", "__pmDecodeDesc", "desc", wire.TypeDesc, true}
	callFetch    = call{"__pmSendFetch", "__pmDecodeResult", "fetch", wire.TypeResult, true}
	callRefetch  = call{"__pmSendFetch", "__pmDecodeResult", "fetch", wire.TypeResult, false}
	callInstance = call{"__pmSendInstanceReq", "__pmDecodeInstance", "instance", wire.TypeInstance, false}
	callStore    = call{"__pmSendResult", "__pmDecodeError", "store", wire.TypeError, false}
	callText     = call{"__pmSendTextReq", "__pmDecodeText", "text", wire.TypeText, false}
	callLabel    = call{"__pmSendLabelReq", "__pmDecodeLabel", "label", wire.TypeLabel, false}
	callName     = call{"__pmSendIDList", "__pmDecodeNameList", "name", wire.TypePMNSNames, false}
	callPMID     = call{"__pmSendIDList", "__pmDecodeIDList", "pmid", wire.TypePMNSIDs, false}
	callChildren = call{"__pmSendChildReq", "__pmDecodeNameList", "children", wire.TypePMNSNames, false}
	callTraverse = call{"__pmSendTraversePMNS", "__pmDecodeNameList", "children", wire.TypePMNSNames, false}
)

func (s *session) send(p wire.PDU, from int32) error {
	s.flush()
	s.traceSent(p, from)
	return s.conn.Send(p, from, s.timeout)
}

// ask makes a request, and reports errors in the answer. ok reports whether ans has the
// answer.
func (s *session) ask(c call, req, ans wire.PDU) (ok bool) {
	if err := s.send(req, wire.FromAnon); err != nil {
		s.printf("Error: %s() failed: %s\n", c.send, pcp.Code(err))
		if errors.Is(err, pcp.ErrTimeout) {
			s.giveUp()
		}
		return false
	}
	h, body, err := s.conn.Receive(s.timeout)
	if err == nil {
		s.traceReceived(h, body)
	}
	switch {
	case err == io.EOF:
		s.printf("Error: __pmGetPDU() failed: PDU empty, PMDA may have died\n")
	case err != nil && c.hex && !errors.Is(err, pcp.ErrTimeout):
		s.printf("Error: __pmGetPDU() failed: wrong PDU (%x)\n", uint32(pcp.Code(err)))
	case err != nil:
		s.printf("Error: __pmGetPDU() failed: %s\n", pcp.Code(err))
		if errors.Is(err, pcp.ErrTimeout) {
			s.giveUp()
		}
	case h.Type == wire.TypeError:
		var e wire.Error
		if err := e.DecodeBody(body); err != nil {
			s.printf("Error: __pmDecodeError() failed: %s\n", pcp.Code(err))
			return false
		}
		if c.want == wire.TypeError && e.Code >= 0 {
			return true
		}
		if s.conn.InProc {
			s.printf("Error: DSO %s() failed: %s\n", c.dso, e.Code)
		} else {
			s.printf("Error PDU: %s\n", e.Code)
		}
	case h.Type != c.want && c.hex:
		s.printf("Error: __pmGetPDU() failed: wrong PDU (%x)\n", uint32(h.Type))
	case h.Type != c.want:
		s.printf("Error: __pmGetPDU() failed: %s\n", pcp.Error(h.Type))
	default:
		if err := ans.DecodeBody(body); err != nil {
			s.printf("Error: %s() failed: %s\n", c.decode, pcp.Code(err))
			return false
		}
		return true
	}
	return false
}

// giveUp closes the connection to an agent that has not answered in time: a late answer
// would be taken for the answer to the next request.
func (s *session) giveUp() {
	s.errorf("Warning: PMDA %s does not answer, closed after %v\n", s.conn.Name, s.timeout)
	s.closeConn()
}

// timed runs a request and, if enabled, reports its duration.
func (s *session) timed(request func() bool) {
	if s.conn == nil {
		s.in.warnf("No PMDA currently opened")
		return
	}
	start := time.Now()
	if request() && s.timer {
		s.printf("Timer: %f seconds\n", time.Since(start).Seconds())
	}
}

func (s *session) desc(id pcp.PMID) (pcp.Desc, bool) {
	var ans wire.Desc
	ok := s.ask(callDesc, &wire.DescReq{PMID: id}, &ans)
	if ok && s.debug["pdu"] {
		s.printf("%s", report.AppendDesc(nil, &ans.Desc))
	}
	return ans.Desc, ok
}

func (s *session) printDesc(id pcp.PMID) bool {
	s.printf("PMID: %s\n", id)
	desc, ok := s.desc(id)
	if ok && (!s.debug["pdu"] || s.conn.InProc) {
		s.printf("%s", report.AppendDesc(nil, &desc))
	}
	return ok
}

// sendProfile sends the profile if it has changed.
func (s *session) sendProfile() bool {
	if !s.profileChanged {
		return true
	}
	if err := s.send(&wire.Profile{Profile: s.profile}, wire.FromAnon); err != nil {
		s.printf("Error: __pmSendProfile() failed: %s\n", pcp.Code(err))
		if errors.Is(err, pcp.ErrTimeout) {
			s.giveUp()
		}
		return false
	}
	s.profileChanged = false
	return true
}

func (s *session) fetch(ids []pcp.PMID) bool {
	s.printf("PMID(s):")
	for _, id := range ids {
		s.printf(" %s", id)
	}
	s.printf("\n")
	var descs []pcp.Desc
	if s.getDesc || s.getIname {
		for _, id := range ids {
			desc, ok := s.desc(id)
			if !ok {
				return false
			}
			descs = append(descs, desc)
		}
	}
	if !s.sendProfile() {
		return false
	}
	var ans wire.Result
	if !s.ask(callFetch, &wire.Fetch{PMIDs: ids}, &ans) {
		return false
	}
	if s.debug["pdu"] && !s.conn.InProc {
		// The C library prints the decoded values.
		s.flush()
		out := s.out
		s.out = s.env.Stderr
		s.printResult(&ans, nil)
		s.out = out
	}
	s.printResult(&ans, descs)
	return true
}

func (s *session) printResult(res *wire.Result, descs []pcp.Desc) {
	t := res.Time
	if s.conn.InProc {
		s.printf("pmResult dump from %p timestamp: %d.%06d %s", res, t.Sec, t.Nsec/1000, t.AppendStamp(nil, s.loc))
	} else {
		s.printf("__pmResult dump from %p timestamp: %d.%09d %s", res, t.Sec, t.Nsec, t.AppendHighResStamp(nil, s.loc))
	}
	s.printf(" numpmid: %d\n", len(res.Sets))
	for i := range res.Sets {
		var desc *pcp.Desc
		if i < len(descs) {
			desc = &descs[i]
		}
		s.printSet(&res.Sets[i], desc)
		if s.conn == nil { // given up
			return
		}
	}
}

func (s *session) printSet(set *pcp.ValueSet, desc *pcp.Desc) {
	names, err := s.tree.Names(set.PMID)
	joint := ", "
	if desc != nil {
		joint = " or "
	}
	if err != nil {
		names = []string{"<noname>"}
	}
	s.printf("  %s (%s):", set.PMID, strings.Join(names, joint))
	switch {
	case set.Err != 0:
		s.printf(" %s\n", set.Err)
		return
	case len(set.Values) == 0:
		s.printf(" No values returned!\n")
		return
	}
	s.printf(" numval: %d valfmt: %d vlist[]:\n", len(set.Values), set.ValFmt)
	var b []byte
	for _, v := range set.Values {
		single := v.Inst == pcp.InNull
		if desc != nil {
			single = desc.InDom == pcp.InDomNull
		}
		if len(set.Values) == 1 && single {
			s.printf("   ")
		} else {
			s.printf("    inst [%d", v.Inst)
			name, ok := "", false
			if desc != nil && s.getIname {
				if name, ok = s.instanceName(desc.InDom, v.Inst); s.conn == nil {
					return
				}
			}
			if ok {
				s.printf(" or \"%s\"] ", name)
			} else {
				s.printf(" or ???] ")
			}
		}
		from := v.Type()
		if desc != nil {
			from = desc.Type
		}
		b = v.AppendPrint(b[:0], from, 1, s.loc)
		s.printf("value %s\n", b)
	}
}

func (s *session) instanceName(indom pcp.InDom, inst int32) (string, bool) {
	var ans wire.Instance
	if !s.ask(callInstance, &wire.InstanceReq{InDom: indom, Inst: inst}, &ans) || len(ans.Instances) == 0 {
		return "", false
	}
	return ans.Instances[0].Name, true
}

func (s *session) instances(indom pcp.InDom, inst int32, name string) bool {
	s.printf("pmInDom: %s\n", indom)
	var ans wire.Instance
	if !s.ask(callInstance, &wire.InstanceReq{InDom: indom, Inst: inst, Name: name}, &ans) {
		return false
	}
	if len(ans.Instances) == 0 {
		s.printf("Instance domain is empty\n")
		return true
	}
	// An answer has numbers, names, or both.
	var insts, names bool
	for _, in := range ans.Instances {
		insts = insts || in.Inst != pcp.InNull
		names = names || in.Name != ""
	}
	for i, in := range ans.Instances {
		s.printf("[%3d]", i)
		if insts {
			s.printf(" inst: %d", in.Inst)
		}
		if names {
			s.printf(" name: \"%s\"", in.Name)
		}
		s.printf("\n")
	}
	return true
}

func (s *session) text(ident uint32, kind pcp.TextKind) (ok bool) {
	if kind == pcp.TextPMID {
		s.printf("PMID: %s\n", pcp.PMID(ident))
	} else {
		s.printf("pmInDom: %s\n", pcp.InDom(ident))
	}
	for _, part := range []pcp.TextKind{pcp.TextOneLine, pcp.TextHelp} {
		var ans wire.Text
		if ok = s.ask(callText, &wire.TextReq{Ident: ident, Kind: kind | part}, &ans); !ok {
			if s.conn == nil {
				return false
			}
			continue
		}
		switch {
		case part == pcp.TextOneLine && ans.Text == "":
			s.printf("[<no one line help text specified>]\n")
		case part == pcp.TextOneLine:
			s.printf("[%s]\n", ans.Text)
		case ans.Text == "":
			s.printf("<no help text specified>\n")
		default:
			s.printf("%s\n", ans.Text)
		}
	}
	return ok
}

func (s *session) labels(ident uint32, kind pcp.LabelFlags) bool {
	switch kind {
	case pcp.LabelInDom:
		s.printf("pmInDom: %s\n", pcp.InDom(ident))
	case pcp.LabelCluster:
		id := pcp.PMID(ident).String()
		s.printf("Cluster: %s\n", id[:strings.LastIndexByte("."+id, '.')-1])
	case pcp.LabelItem:
		s.printf("PMID: %s\n", pcp.PMID(ident))
	case pcp.LabelInstances:
		s.printf("Instances of pmInDom: %s\n", pcp.InDom(ident))
		if s.sendProfile(); s.conn == nil {
			return false
		}
	}
	var ans wire.Labels
	if !s.ask(callLabel, &wire.LabelReq{Ident: ident, Kind: kind}, &ans) {
		return false
	}
	if len(ans.Sets) == 0 {
		if s.conn.InProc {
			s.printf("Info: DSO label() returns 0\n")
		} else {
			s.printf("Info: __pmDecodeLabel() returns 0 label sets\n")
		}
	}
	for i := range ans.Sets {
		set := &ans.Sets[i]
		if set.Inst != pcp.InNull {
			s.printf("[%3d] Labels inst: %d\n", i, set.Inst)
		} else {
			s.printf("Labels:\n")
		}
		for l := range set.All() {
			s.printf("    %s=%s\n", l.Name, l.Value)
		}
	}
	return true
}

func (s *session) nameOf(id pcp.PMID) bool {
	s.printf("PMID: %s\n", id)
	var ans wire.PMNSNames
	if !s.ask(callName, &wire.PMNSIDs{PMIDs: []pcp.PMID{id}}, &ans) {
		return false
	}
	for _, name := range ans.Names {
		s.printf("   %s\n", name)
	}
	if len(ans.Names) == 0 && s.conn.InProc {
		s.printf("Warning: DSO name() returns 0\n")
	}
	return true
}

func (s *session) pmidOf(name string) bool {
	s.printf("Metric: %s\n", name)
	var ans wire.PMNSIDs
	if !s.ask(callPMID, &wire.PMNSNames{Names: []string{name}}, &ans) {
		return false
	}
	if len(ans.PMIDs) != 1 {
		s.printf("Error: __pmDecodeIDList() failed: %s\n", pcp.ErrIPC)
		return false
	}
	if s.conn.InProc && ans.Status < 0 {
		s.printf("Error: DSO pmid() failed: %s\n", ans.Status)
		return false
	}
	s.printf("   %s\n", ans.PMIDs[0])
	return true
}

func (s *session) children(name string, traverse bool) bool {
	s.printf("Metric: %s\n", name)
	var ans wire.PMNSNames
	if traverse {
		if !s.ask(callTraverse, &wire.PMNSTraverse{Name: name}, &ans) {
			return false
		}
	} else if !s.ask(callChildren, &wire.PMNSChild{Name: name, WithStatus: true}, &ans) {
		return false
	}
	if len(ans.Names) == 0 && s.conn.InProc {
		s.printf("Warning: DSO children() returns 0\n")
	}
	for i, name := range ans.Names {
		switch {
		case traverse && !s.conn.InProc:
			s.printf("   %s\n", name)
		case i < len(ans.Status) && ans.Status[i] == 1:
			s.printf("   non-leaf %s\n", name)
		default:
			s.printf("       leaf %s\n", name)
		}
	}
	return true
}

// attr sends an attribute, as if a client had it. There is no answer.
func (s *session) attr(key wire.AttrKey, value string, given bool) bool {
	shown := "''"
	var b []byte
	if given {
		shown = value
		b = append([]byte(value), 0)
	}
	s.printf("Attribute: %s=%s\n", key, shown)
	if err := s.send(&wire.Attr{Attr: key, Value: b}, 0); err != nil {
		s.printf("Error: __pmSendAuth() failed: %s\n", pcp.Code(err))
		if errors.Is(err, pcp.ErrTimeout) {
			s.giveUp()
		}
		return false
	}
	s.flush() // before the agent's output
	s.conn.Settle(s.timeout)
	s.printf("Success\n")
	return true
}

// dynamic asks the agent for the PMID of a name in its part of the name space.
func (s *session) dynamic(name string, id pcp.PMID) (pcp.PMID, error) {
	if s.conn == nil {
		return id, nil
	}
	err := s.send(&wire.PMNSNames{Names: []string{name}}, wire.FromAnon)
	if err != nil {
		return id, err
	}
	h, body, err := s.conn.Receive(s.timeout)
	switch {
	case err == io.EOF:
		return id, nil
	case errors.Is(err, pcp.ErrTimeout):
		s.giveUp()
		return id, err
	case err != nil:
		return id, err
	}
	s.traceReceived(h, body)
	switch h.Type {
	case wire.TypePMNSIDs:
		var ans wire.PMNSIDs
		if err := ans.DecodeBody(body); err != nil {
			return id, err
		}
		if len(ans.PMIDs) != 1 {
			return id, pcp.ErrIPC
		}
		if ans.Status < 0 {
			return id, ans.Status
		}
		return ans.PMIDs[0], nil
	case wire.TypeError:
		var e wire.Error
		if err := e.DecodeBody(body); err != nil {
			return id, err
		}
		if e.Code < 0 {
			return id, e.Code
		}
	}
	return id, nil
}
