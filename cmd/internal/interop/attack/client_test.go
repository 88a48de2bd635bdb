package attack

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/wire"
)

// typeLogControl and typeLogStatus are PDUs of pmlc and pmlogger.
const (
	typeLogControl wire.Type = 0x8000
	typeLogStatus  wire.Type = 0x8001
)

// A badPDU is sent by a client after its handshake.
type badPDU struct {
	name  string
	bytes []byte
	// dropped is the log's reason for dropping the client; "" means that it
	// gets an error, or nothing at all, and may continue.
	dropped string
}

// text is a string as words, padded.
func text(s string) []uint32 {
	for len(s)%4 != 0 {
		s += "~"
	}
	var w []uint32
	for i := 0; i < len(s); i += 4 {
		w = append(w, binary.BigEndian.Uint32([]byte(s[i:])))
	}
	return w
}

func join(lists ...[]uint32) (all []uint32) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// badPDUs are the classes of CVE-2012-3418 (each decoder that believed a count
// or a length), of CVE-2024-45769 with its companions in the same audit, and
// of those of 2026 that clients can send. Where the numbers of the findings
// are known they are those of the description.
func badPDUs() []badPDU {
	const (
		huge     = 0x7fffffff
		negative = 0xffffffff
		wraps    = 0x40000001 // times 4 it is 4 in 32 bits
		wraps8   = 0x20000001
		wraps16  = 0x10000001
	)
	sample := uint32(pcp.NewPMID(29, 0, 11))
	indom := uint32(pcp.NewInDom(29, 2))
	res := func(words ...uint32) []byte { return PDU(wire.TypeResult, join([]uint32{1, 0}, words)...) }
	list := []badPDU{
		// CVE-2012-3418: the credentials, the profile and the fetch.
		{name: "credentials: more than there are", bytes: PDU(wire.TypeCreds, 0x1000, 0x01020000), dropped: "CREDS PDU"},
		{name: "credentials: count that wraps", bytes: PDU(wire.TypeCreds, wraps, 0x01020000), dropped: "CREDS PDU"},
		{name: "credentials: negative count", bytes: PDU(wire.TypeCreds, negative, 0x01020000), dropped: "CREDS PDU"},
		{name: "credentials: no count", bytes: PDU(wire.TypeCreds), dropped: "CREDS PDU"},         // 5.B of the audit of 2024
		{name: "credentials: count of zero", bytes: PDU(wire.TypeCreds, 0), dropped: "CREDS PDU"}, // 5.C
		{name: "credentials: count of zero and more", bytes: PDU(wire.TypeCreds, 0, 0x01020000), dropped: "CREDS PDU"},
		{name: "profile: more domains than there are", bytes: PDU(wire.TypeProfile, 0, 1, 0x1000, 0), dropped: "PROFILE PDU"},
		{name: "profile: domains that wrap", bytes: PDU(wire.TypeProfile, 0, 1, wraps16, 0, indom, 1, 0, 0), dropped: "PROFILE PDU"},
		{name: "profile: negative domains", bytes: PDU(wire.TypeProfile, 0, 1, negative, 0), dropped: "PROFILE PDU"},
		{name: "profile: more instances than there are", bytes: PDU(wire.TypeProfile, 0, 1, 1, 0, indom, 1, 0x1000, 0, 1), dropped: "PROFILE PDU"},
		{name: "profile: instances that wrap", bytes: PDU(wire.TypeProfile, 0, 1, 1, 0, indom, 1, wraps, 0, 1), dropped: "PROFILE PDU"},
		{name: "profile: negative instances", bytes: PDU(wire.TypeProfile, 0, 1, 1, 0, indom, 1, negative, 0, 1), dropped: "PROFILE PDU"},
		{name: "profile: negative context", bytes: PDU(wire.TypeProfile, negative, 1, 0, 0), dropped: "PROFILE PDU"},
		{name: "fetch: more metrics than there are", bytes: PDU(wire.TypeFetch, 0, 0, 0, 0x1000, sample), dropped: "FETCH PDU"},
		{name: "fetch: metrics that wrap", bytes: PDU(wire.TypeFetch, 0, 0, 0, wraps, sample), dropped: "FETCH PDU"},
		{name: "fetch: negative metrics", bytes: PDU(wire.TypeFetch, 0, 0, 0, negative, sample), dropped: "FETCH PDU"},
		{name: "fetch: no metrics", bytes: PDU(wire.TypeFetch, 0, 0, 0, 0), dropped: "FETCH PDU"},
		{name: "fetch: cut short", bytes: PDU(wire.TypeFetch, 0), dropped: "FETCH PDU"},
		{name: "fetch: nanoseconds, metrics that wrap", bytes: PDU(wire.TypeHighResFetch, 0, wraps, sample), dropped: "HIGHRES_FETCH PDU"},
		{name: "fetch: nanoseconds, more than there are", bytes: PDU(wire.TypeHighResFetch, 0, huge, sample), dropped: "HIGHRES_FETCH PDU"},

		// The same: lists of names and of identifiers.
		{name: "names: less room claimed than they take", bytes: PDU(wire.TypePMNSNames, join([]uint32{2, 0, 1, 10}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "names: more than there are", bytes: PDU(wire.TypePMNSNames, join([]uint32{99, 0, 0x1000, 10}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "names: count that wraps", bytes: PDU(wire.TypePMNSNames, join([]uint32{99, 0, wraps8, 10}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "names: room that wraps", bytes: PDU(wire.TypePMNSNames, join([]uint32{negative, 0, 1, 10}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "names: longer than the PDU", bytes: PDU(wire.TypePMNSNames, join([]uint32{huge, 0, 1, huge}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "names: negative length", bytes: PDU(wire.TypePMNSNames, join([]uint32{99, 0, 1, negative}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "names: other number of statuses", bytes: PDU(wire.TypePMNSNames, join([]uint32{99, 7, 1, 0, 10}, text("sample.bin"))...), dropped: "PMNS_NAMES PDU"},
		{name: "identifiers: more than there are", bytes: PDU(wire.TypePMNSIDs, 0, 0x1000, sample), dropped: "PMNS_IDS PDU"},
		{name: "identifiers: count that wraps", bytes: PDU(wire.TypePMNSIDs, 0, wraps, sample), dropped: "PMNS_IDS PDU"},
		{name: "identifiers: negative count", bytes: PDU(wire.TypePMNSIDs, 0, negative, sample), dropped: "PMNS_IDS PDU"},
		{name: "descriptors: more than there are", bytes: PDU(wire.TypeDescIDs, 0, 0x1000, sample), dropped: "DESC_IDS PDU"},
		{name: "descriptors: count that wraps", bytes: PDU(wire.TypeDescIDs, 0, wraps, sample), dropped: "DESC_IDS PDU"},
		{name: "children: name longer than the PDU", bytes: PDU(wire.TypePMNSChild, join([]uint32{0, 0x1000}, text("sample"))...), dropped: "PMNS_CHILD PDU"},
		{name: "children: negative length", bytes: PDU(wire.TypePMNSChild, join([]uint32{0, negative}, text("sample"))...), dropped: "PMNS_CHILD PDU"},
		{name: "traverse: name longer than the PDU", bytes: PDU(wire.TypePMNSTraverse, join([]uint32{0, huge}, text("sample"))...), dropped: "PMNS_TRAVERSE PDU"},

		// The same: instances and texts.
		{name: "instance: name longer than the PDU", bytes: PDU(wire.TypeInstanceReq, join([]uint32{indom, 0, 0, negative, 0x1000}, text("bin-100"))...), dropped: "INSTANCE_REQ PDU"},
		{name: "instance: negative length", bytes: PDU(wire.TypeInstanceReq, join([]uint32{indom, 0, 0, negative, negative}, text("bin-100"))...), dropped: "INSTANCE_REQ PDU"},
		{name: "text: cut short", bytes: PDU(wire.TypeTextReq, sample), dropped: "TEXT_REQ PDU"},
		{name: "text: that nobody asked for, longer than the PDU", bytes: PDU(wire.TypeText, sample, huge)},
		{name: "instances: that nobody asked for", bytes: PDU(wire.TypeInstance, indom, huge, 0, huge)},
		{name: "logger's control", bytes: PDU(typeLogControl, 0, 0, 0, wraps, 1, 2, 3)},
		// CVE-2026-16530: a length below zero in the status of a logger. The
		// collector does not handle that PDU, and does not decode it.
		{name: "logger's status", bytes: PDU(typeLogStatus, 0, 0, 0, 0, 0, 0, 0x80000000, 0x80000000, 0x80000000, 0x80000000)},

		// The same: results, in which clients store.
		{name: "store: more metrics than there are", bytes: res(0x1000, sample, 1, 0, negative, 1), dropped: "RESULT PDU"},
		{name: "store: metrics that wrap", bytes: res(wraps, sample, 1, 0, negative, 1), dropped: "RESULT PDU"},
		{name: "store: negative metrics", bytes: res(negative, sample, 1, 0, negative, 1), dropped: "RESULT PDU"},
		{name: "store: more values than there are", bytes: res(1, sample, 0x1000, 0, negative, 1), dropped: "RESULT PDU"},
		{name: "store: values that wrap", bytes: res(1, sample, wraps8, 0, negative, 1), dropped: "RESULT PDU"},
		{name: "store: unknown format of values", bytes: res(1, sample, 1, 99, negative, 1), dropped: "RESULT PDU"},
		{name: "store: block that begins in the header", bytes: res(1, sample, 1, 1, negative, 1), dropped: "RESULT PDU"},
		{name: "store: block without a length", bytes: res(1, sample, 1, 1, negative, 11, 0x03000000), dropped: "RESULT PDU"},
		{name: "store: block longer than the PDU", bytes: res(1, sample, 1, 1, negative, 11, 0x06ffffff), dropped: "RESULT PDU"},
		{name: "store: blocks that overlap", bytes: res(2, sample, 1, 1, negative, 16, sample, 1, 1, negative, 16, 0x06000010, 1, 2, 3), dropped: "RESULT PDU"},

		// CVE-2024-45769, 5.A of the audit: a block is found by its word, and
		// the check was for bytes. The second ends the real collector 6.0.3.
		{name: "store: word taken for a byte", bytes: res(1, sample, 1, 1, negative, 40, 0x03000008, 1, 0, 0, 0), dropped: "RESULT PDU"},
		{name: "store: word taken for a byte, far away", bytes: res(join([]uint32{1, sample, 1, 1, negative, 59000}, make([]uint32, 15000))...), dropped: "RESULT PDU"},
		{name: "store: word far away", bytes: res(1, sample, 1, 1, negative, 0x3fffffff, 0x03000008, 1), dropped: "RESULT PDU"},
		{name: "store: negative word", bytes: res(1, sample, 1, 1, negative, 0xfffffff0, 0x03000008, 1), dropped: "RESULT PDU"},
		// 5.D: event records with a false count. They stay bytes until an agent
		// needs them; ours take none. Both end the real collector 6.0.3.
		{name: "store: events without end", bytes: res(1, uint32(pcp.NewPMID(29, 0, 136)), 1, 1, negative, 11, 0x0900000c, 0x09000000, huge)},
		{name: "store: events below zero", bytes: res(1, uint32(pcp.NewPMID(29, 0, 136)), 1, 1, negative, 11, 0x0900000c, 0x09000000, negative)},

		// Labels: the level, and a set that a client should not send, with an
		// offset below zero as one finding of 2026 has it.
		{name: "label: level out of range", bytes: PDU(wire.TypeLabelReq, sample, 0xdeadbeef), dropped: "LABEL_REQ PDU"},
		{name: "label: no level", bytes: PDU(wire.TypeLabelReq, sample, 0)},
		{name: "label: all levels", bytes: PDU(wire.TypeLabelReq, sample, 0xff)},
		{name: "labels: that nobody asked for", bytes: PDU(wire.TypeLabel, sample, 0x20, 0, 1, negative, 1, 0xfffffff0, 0x20, 0, 0)},

		// False headers.
		{name: "header: length of zero", bytes: Claim(0, wire.TypeFetch), dropped: "length of 0"},
		{name: "header: length below the header's", bytes: Claim(11, wire.TypeFetch), dropped: "length of 11"},
		{name: "header: just too long", bytes: Claim(wire.MaxInbound+1, wire.TypeFetch), dropped: "65537 bytes where 65536 are accepted"},
		// One finding of 2026: rounded up it was below zero, and no PDU could
		// be read ever after.
		{name: "header: nearly the largest number", bytes: Claim(huge, wire.TypeFetch), dropped: "bytes where 65536 are accepted"},
		{name: "header: negative length", bytes: Claim(0x80000000, wire.TypeFetch), dropped: "bytes where 65536 are accepted"},
		{name: "header: odd length", bytes: append(Claim(13, wire.TypeDescReq), 1), dropped: "DESC_REQ PDU"},
		// CVE-2012-3420: the type was returned where errors are, so that a
		// negative type was taken for an error, and the data received was never
		// freed.
		{name: "header: negative type", bytes: PDU(wire.Type(negative), 1, 2, 3)},
		{name: "header: type that looks like an end of file", bytes: PDU(0, 1, 2, 3)},

		// Features that were not offered.
		{name: "authentication out of turn", bytes: wire.Append(nil, 0, &wire.Attr{Attr: wire.AttrUserName, Value: []byte("root\x00")})},
		{name: "authentication with a secret without end", bytes: wire.Append(nil, 0, &wire.Attr{Attr: wire.AttrPassword, Value: []byte(strings.Repeat("x", 60000))})},
		{name: "credentials: encryption out of turn", bytes: wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureSecure)}}), dropped: "not offered"},
		{name: "credentials: container without a name", bytes: slices.Concat(
			wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureContainer)}}), PDU(wire.TypeDescReq, sample),
		), dropped: "DESC_REQ PDU instead of a container's name"},

		// Names to stumble over: they are valid, and there are none such.
		{name: "name with NULs", bytes: wire.Append(nil, 0, &wire.PMNSNames{Names: []string{"sample\x00bin\x00\x00"}})},
		{name: "name 20,000 levels deep", bytes: wire.Append(nil, 0, &wire.PMNSNames{Names: []string{strings.Repeat("a.", 20000) + "a"}})},
		{name: "name of dots", bytes: wire.Append(nil, 0, &wire.PMNSChild{Name: strings.Repeat(".", 60000), WithStatus: true})},
		{name: "traverse below a deep name", bytes: wire.Append(nil, 0, &wire.PMNSTraverse{Name: strings.Repeat("sample.", 8000)})},
		{name: "instance with a long name", bytes: wire.Append(nil, 0, &wire.InstanceReq{InDom: pcp.NewInDom(29, 2), Inst: pcp.InNull, Name: strings.Repeat("b", 65000)})},
		{name: "text of nothing", bytes: PDU(wire.TypeTextReq, negative, negative)},
		{name: "instances of a domain that nobody has", bytes: PDU(wire.TypeInstanceReq, negative, 0, 0, negative, 0)},
		{name: "error from a client", bytes: PDU(wire.TypeError, negative)},
		{name: "error from a client, cut short", bytes: PDU(wire.TypeError)},
	}
	return list
}

// cve returns the number of the published flaw that a bad PDU attacks, "" for others.
func (bad *badPDU) cve() string {
	kind, what, _ := strings.Cut(bad.name, ": ")
	switch kind {
	case "logger's status":
		return "2026-16530"
	case "header":
		if what == "negative type" {
			return "2012-3420"
		}
	case "credentials":
		switch what {
		case "no count", "count of zero", "count of zero and more":
			return "2024-45769"
		case "more than there are", "count that wraps", "negative count":
			return "2012-3418"
		}
	case "store":
		if strings.Contains(what, "word") || strings.HasPrefix(what, "events") {
			return "2024-45769"
		}
		return "2012-3418"
	case "profile", "fetch", "names", "identifiers", "descriptors", "children", "traverse", "instance", "text":
		return "2012-3418"
	}
	return ""
}

// TestBadPDUs sends those bad PDUs that are not of a published flaw.
func TestBadPDUs(t *testing.T) { sendBad(t, "") }

// sendBad sends the bad PDUs of a published flaw, one each by a client of its own.
func sendBad(t *testing.T, cve string) {
	c := Start(t, Options{})
	c.Watch(t)
	list := slices.DeleteFunc(badPDUs(), func(bad badPDU) bool { return bad.cve() != cve })
	if len(list) == 0 {
		t.Fatalf("no bad PDU is of %q", cve)
	}
	for _, bad := range list {
		t.Run(bad.name, func(t *testing.T) {
			cl := c.Dial(t, "tcp")
			if err := cl.Check(control...); err != nil {
				t.Fatal(err)
			}
			if err := cl.Write(bad.bytes); err != nil {
				t.Fatal(err)
			}
			addr := cl.Conn.LocalAddr().String()
			if bad.dropped != "" {
				cl.Gone(t)
				c.OneLine(t, addr, bad.dropped)
				return
			}
			if p, err := cl.Answer(); pcp.Code(err) == 0 || Ended(err) {
				t.Errorf("it is answered with %+v, %v, where an error should be", p, err)
			}
			if err := cl.Check(control...); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if lines := c.Lines(addr); len(lines) != 0 {
				t.Errorf("log has %q", lines)
			}
			cl.Conn.Close()
		})
	}
	c.Finish(t, 0)
}

// TestBadHandshakes has clients begin with PDUs that must not come first.
func TestBadHandshakes(t *testing.T) {
	c := Start(t, Options{})
	c.Watch(t)
	for _, bad := range []badPDU{
		{name: "a request", bytes: PDU(wire.TypeDescReq, 1), dropped: "before credentials"},
		{name: "authentication", bytes: wire.Append(nil, 0, &wire.Attr{Attr: wire.AttrUserName, Value: []byte("root\x00")}), dropped: "before credentials"},
		// This is how a flaw of 2026 was found: no limit applied before the handshake was
		// over.
		{name: "authentication without end", bytes: Claim(0x7fffffff, wire.TypeAttr), dropped: "bytes where 65536 are accepted"},
		{name: "encryption", bytes: wire.Append(nil, 0, &wire.Creds{Creds: []wire.Cred{wire.VersionCred(2, wire.FeatureSecure)}}), dropped: "not offered"},
		{name: "the first bytes of TLS", bytes: []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 100)), dropped: "bytes where 65536 are accepted"},
		{name: "a browser", bytes: []byte("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"), dropped: "bytes where 65536 are accepted"},
		{name: "credentials: 16,000 of them", bytes: PDU(wire.TypeCreds, append([]uint32{16000}, make([]uint32, 16000)...)...), dropped: "16000 credentials where 1024 are accepted"},
		{name: "credentials: more than there are", bytes: PDU(wire.TypeCreds, 0x1000, 0x01020000), dropped: "4096 elements in 4 bytes"},
		{name: "credentials: another version", bytes: PDU(wire.TypeCreds, 1, 0x01010000), dropped: "version is 1"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			cl := c.Connect(t, "tcp")
			cl.Greet(t)
			if err := cl.Write(bad.bytes); err != nil {
				t.Fatal(err)
			}
			cl.Gone(t)
			c.OneLine(t, cl.Conn.LocalAddr().String(), bad.dropped)
		})
	}
	c.Finish(t, 0)
}

// TestRealCollector sends all of them to the real collector, and lists those
// that it does not survive.
func TestRealCollector(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("SKIPPED: PCP_TEST_LONG is not set")
	}
	var d *oracle.PMCD
	for _, bad := range badPDUs() {
		if d == nil {
			d = oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
		}
		err := func() error {
			conn, err := net.Dial("unix", d.Socket)
			if err != nil {
				return err
			}
			defer conn.Close()
			cl := NewClient(t, conn)
			cl.Shake(t)
			cl.Write(bad.bytes)
			conn.(*net.UnixConn).CloseWrite()
			for {
				conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				if _, _, err := cl.pdus.Next(); err != nil {
					break
				}
			}
			other, err := net.Dial("unix", d.Socket)
			if err != nil {
				return err
			}
			defer other.Close()
			cl = NewClient(t, other)
			other.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, _, err := cl.pdus.Next(); err != nil {
				return fmt.Errorf("no greeting: %w", err)
			}
			return nil
		}()
		if err != nil {
			t.Logf("%s: the real collector does not serve any more: %v", bad.name, err)
			d.Stop(t)
			d = nil
			continue
		}
	}
}
