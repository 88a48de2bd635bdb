package wire_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// A captured PDU is one block of a file in testdata: a line with its direction
// and type, its dump, and lines with "=" that have the decoded form.
type captured struct {
	where   string // file:line
	head    string // "> FETCH"
	dump    string
	decoded string
	pdu     []byte
}

func (c captured) header() wire.Header {
	h, _ := wire.ParseHeader(c.pdu)
	return h
}

func (c captured) body() []byte { return c.pdu[wire.HeaderSize:] }

// parseDump reads back the output of wire.Dump: the bytes are in the second
// column, words of eight digits with one space between them.
func parseDump(line string) ([]byte, error) {
	off, rest, _ := strings.Cut(line, " ")
	if _, err := strconv.ParseUint(off, 16, 32); err != nil {
		return nil, err
	}
	words, _, _ := strings.Cut(rest, "  ")
	return hex.DecodeString(strings.ReplaceAll(words, " ", ""))
}

func readCapture(tb testing.TB, file string) (comment string, pdus []captured) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		c := &captured{}
		if len(pdus) > 0 {
			c = &pdus[len(pdus)-1]
		}
		switch {
		case line == "":
		case line[0] == '#':
			comment += line + "\n"
		case line[0] == '>' || line[0] == '<':
			pdus = append(pdus, captured{where: fmt.Sprintf("%s:%d", filepath.Base(file), i+1), head: line})
		case line[0] == '=':
			c.decoded += line + "\n"
		default:
			b, err := parseDump(line)
			if err != nil {
				tb.Fatalf("%s:%d: %v", file, i+1, err)
			}
			c.dump += line + "\n"
			c.pdu = append(c.pdu, b...)
		}
	}
	return comment, pdus
}

func captures(tb testing.TB) []captured {
	tb.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("captures: %d files, %v", len(files), err)
	}
	var all []captured
	for _, file := range files {
		_, pdus := readCapture(tb, file)
		all = append(all, pdus...)
	}
	return all
}

// TestCaptures decodes PDUs of real programs, encodes them again, and compares
// bytes, dump and decoded form. UPDATE=1 rewrites the last two.
func TestCaptures(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			comment, pdus := readCapture(t, file)
			var out strings.Builder
			out.WriteString(comment)
			for _, c := range pdus {
				h, body := c.header(), c.body()
				if int(h.Len) != len(c.pdu) {
					t.Fatalf("%s: header with length %d, %d bytes", c.where, h.Len, len(c.pdu))
				}
				if got, want := strings.Fields(c.head)[1], h.Type.String(); got != want {
					t.Errorf("%s: headed %s, type word is %s", c.where, got, want)
				}
				seen[c.head] = true
				p, err := wire.Decode(h, body)
				if err != nil {
					t.Errorf("%s: %v", c.where, err)
					continue
				}
				if again := wire.Append(nil, h.From, p); !bytes.Equal(again, c.pdu) {
					var b bytes.Buffer
					wire.Dump(&b, again)
					t.Errorf("%s: encoded again differently (-captured +encoded):\n%s", c.where, cmp.Diff(c.dump, b.String()))
				}
				var dump bytes.Buffer
				if err := wire.Dump(&dump, c.pdu); err != nil {
					t.Error(err)
				}
				decoded := describe(p)
				fmt.Fprintf(&out, "\n%s\n%s%s", c.head, dump.String(), decoded)
				if os.Getenv("UPDATE") != "" {
					continue
				}
				if diff := cmp.Diff(c.dump, dump.String()); diff != "" {
					t.Errorf("%s: dump (-want +got):\n%s", c.where, diff)
				}
				if diff := cmp.Diff(c.decoded, decoded); diff != "" {
					t.Errorf("%s: decoded (-want +got):\n%s", c.where, diff)
				}
			}
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	// Every PDU in its direction between client, collector and agent.
	for _, head := range []string{
		"< ERROR", "> ERROR", "< CREDS", "> CREDS", "< ATTR", "> ATTR",
		"> PROFILE", "> FETCH", "< RESULT", "> RESULT", "> HIGHRES_FETCH", "< HIGHRES_RESULT",
		"> DESC_REQ", "< DESC", "> DESC_IDS", "< DESCS", "> INSTANCE_REQ", "< INSTANCE",
		"> TEXT_REQ", "< TEXT", "> LABEL_REQ", "< LABEL",
		"> PMNS_NAMES", "< PMNS_IDS", "> PMNS_IDS", "< PMNS_NAMES", "> PMNS_CHILD", "> PMNS_TRAVERSE",
		"> LOG_REQUEST", "> LOG_CONTROL", "< LOG_STATUS", "< LOG_STATUS_V2",
	} {
		if !seen[head] {
			t.Errorf("no capture of %s", head)
		}
	}
}

// TestReuse decodes each capture into the PDU of each other capture of its type:
// nothing of the old contents may remain.
func TestReuse(t *testing.T) {
	byType := map[wire.Type][]captured{}
	for _, c := range captures(t) {
		typ := c.header().Type
		byType[typ] = append(byType[typ], c)
	}
	for typ, list := range byType {
		for _, a := range list {
			for _, b := range list {
				p := wire.New(typ)
				if err := p.DecodeBody(bytes.Clone(a.body())); err != nil {
					t.Fatal(err)
				}
				if err := p.DecodeBody(b.body()); err != nil {
					t.Fatal(err)
				}
				if got := describe(p); got != b.decoded {
					t.Fatalf("%s after %s (-want +got):\n%s", b.where, a.where, cmp.Diff(b.decoded, got))
				}
			}
		}
	}
}

// describe writes a decoded PDU, its lists by the line.
func describe(p wire.PDU) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch p := p.(type) {
	case *wire.Error:
		add("Error %d extended %t %+v", int32(p.Code), p.Extended, wire.UnpackInfo(p.Info))
	case *wire.Creds:
		version, features, ok := p.Version()
		add("Creds version %d features %v %t", version, features, ok)
		for _, c := range p.Creds {
			add("  %+v", c)
		}
	case *wire.Fetch:
		add("Fetch highres %t context %d %v", p.HighRes, p.Context, p.PMIDs)
	case *wire.Profile:
		add("Profile context %d state %d", p.Context, p.Profile.State)
		for _, d := range p.Profile.InDoms {
			add("  %v state %d %v", d.InDom, d.State, d.Insts)
		}
	case *wire.Result:
		add("Result highres %t %d.%09d", p.HighRes, p.Time.Sec, p.Time.Nsec)
		for _, vs := range p.Sets {
			if len(vs.Values) == 0 {
				add("  %v error %d", vs.PMID, int32(vs.Err))
				continue
			}
			add("  %v format %d", vs.PMID, vs.ValFmt)
			for _, v := range vs.Values {
				add("    %d %v %s", v.Inst, v.Type(), valueText(v))
			}
		}
	case *wire.DescReq:
		add("DescReq %v", p.PMID)
	case *wire.Desc:
		add("Desc %s", descText(p.Desc))
	case *wire.DescIDs:
		add("DescIDs %v", p.PMIDs)
	case *wire.Descs:
		add("Descs")
		for _, d := range p.Descs {
			add("  %s", descText(d))
		}
	case *wire.InstanceReq:
		add("InstanceReq %v %d %q", p.InDom, p.Inst, p.Name)
	case *wire.Instance:
		add("Instance %v", p.InDom)
		for _, in := range p.Instances {
			add("  %d %q", in.Inst, in.Name)
		}
	case *wire.TextReq:
		add("TextReq %#x kind %d", p.Ident, int32(p.Kind))
	case *wire.Text:
		add("Text %#x %q", p.Ident, p.Text)
	case *wire.PMNSIDs:
		add("PMNSIDs status %d %v", int32(p.Status), p.PMIDs)
	case *wire.PMNSNames:
		add("PMNSNames status %v", p.Status)
		for _, name := range p.Names {
			add("  %q", name)
		}
	case *wire.PMNSChild:
		add("PMNSChild %q status %t", p.Name, p.WithStatus)
	case *wire.PMNSTraverse:
		add("PMNSTraverse %q", p.Name)
	case *wire.Attr:
		add("Attr %d %q text %q", p.Attr, p.Value, p.Text())
	case *wire.LabelReq:
		add("LabelReq %#x level %#x", p.Ident, uint8(p.Kind))
	case *wire.Labels:
		add("Labels %#x level %#x", p.Ident, uint8(p.Kind))
		for _, s := range p.Sets {
			add("  %d error %d %s", s.Inst, int32(s.Err), s.JSON)
			for _, l := range s.Index {
				add("    %q %q flags %#x", s.JSON[l.Name:][:l.NameLen], s.JSON[l.Value:][:l.ValueLen], uint8(l.Flags))
			}
		}
	case *wire.LogRequest:
		add("LogRequest %d", p.Request)
	case *wire.LogControl:
		add("LogControl %d state %d interval %d", p.Control, p.State, p.Delta)
		for _, m := range p.Metrics {
			add("  %v error %d instances %v", m.PMID, int32(m.Err), m.Insts)
		}
	case *wire.LogStatus:
		add("LogStatus v2 %t start %v last %v now %v", p.V2, p.Start, p.Last, p.Now)
		add("  state %d volume %d size %d", p.State, p.Volume, p.Size)
		add("  %q %q %q %q %q %q", p.Host, p.FQDN, p.TimeZone, p.ZoneInfo, p.LoggerTimeZone, p.LoggerZoneInfo)
	default:
		add("%#v", p)
	}
	return "= " + strings.Join(lines, "\n= ") + "\n"
}

func valueText(v pcp.Value) string {
	switch v.Type() {
	case pcp.TypeUnknown:
		return fmt.Sprintf("%#x", v.Bits())
	case pcp.Type32, pcp.TypeU32:
		return fmt.Sprint(v.Bits())
	case pcp.TypeFloat:
		return fmt.Sprint(v.Float())
	case pcp.TypeDouble:
		return fmt.Sprint(v.Double())
	case pcp.Type64:
		return fmt.Sprint(v.Int64())
	case pcp.TypeU64:
		return fmt.Sprint(v.Uint64())
	}
	return strconv.Quote(string(v.Bytes()))
}

func descText(d pcp.Desc) string {
	u := d.Units
	return fmt.Sprintf("%v type %v %v sem %v units %d %d %d scales %d %d %d", d.PMID, d.Type, d.InDom, d.Sem,
		u.DimSpace, u.DimTime, u.DimCount, u.ScaleSpace, u.ScaleTime, u.ScaleCount)
}

// TestDumpKeepsBytes checks that a dump has all bytes, also of a cut PDU or of
// bytes that are not a PDU.
func TestDumpKeepsBytes(t *testing.T) {
	f := func(where string, pdu []byte) {
		t.Helper()
		var b bytes.Buffer
		if err := wire.Dump(&b, pdu); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, " ") {
				continue // a remark
			}
			part, err := parseDump(line)
			if err != nil {
				t.Fatalf("%s: %q: %v", where, line, err)
			}
			got = append(got, part...)
		}
		if !bytes.Equal(got, pdu) {
			t.Errorf("%s: dump of % x gives back % x", where, pdu, got)
		}
	}
	for _, c := range captures(t) {
		f(c.where, c.pdu)
		f(c.where, c.pdu[:len(c.pdu)-len(c.pdu)/3])
		bad := slices.Clone(c.pdu)
		for i := wire.HeaderSize; i < len(bad); i += 3 {
			bad[i] ^= 0x81
		}
		f(c.where, bad)
	}
	f("empty", nil)
	f("three bytes", []byte{1, 2, 3})
}
