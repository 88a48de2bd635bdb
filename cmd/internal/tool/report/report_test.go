package report

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle/clib"
)

func TestMain(m *testing.M) { clib.Main(m) }

func TestOracleDesc(t *testing.T) {
	r := rand.New(rand.NewPCG(longtest.Seed(t), 0))
	var tr clib.Trial
	for _, typ := range []pcp.Type{-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255} {
		for _, sem := range []pcp.Sem{0, 1, 2, 3, 4, 5} {
			d := pcp.Desc{Type: typ, Sem: sem, InDom: pcp.NewInDom(60, 3), Units: pcp.UnpackUnits(r.Uint32() &^ 0xff)} // 6.0.3 passes over extra units
			if sem == pcp.SemDiscrete {
				d.InDom, d.Units = pcp.InDomNull, pcp.Units{}
			}
			tr.Add(clib.Hex(AppendDesc(nil, &d)), "desc %d %x %d %x", typ, uint32(d.InDom), sem, d.Units.Pack())
		}
	}
	tr.Compare(t)
}

func TestTabbedDesc(t *testing.T) {
	f := func(d pcp.Desc, number bool, want string) {
		t.Helper()
		if got := string(AppendTabbedDesc([]byte("name"), &d, number)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	d := pcp.Desc{Type: pcp.TypeU64, InDom: pcp.NewInDom(60, 1), Sem: pcp.SemCounter, Units: pcp.NewUnits(1, -1, 0, pcp.SpaceKByte, pcp.TimeSec, 0)}
	f(d, false, "name\t64-bit unsigned int\t60.1 0xf000001\tcounter\tKbyte / sec\n")
	f(d, true, "name\t64-bit unsigned int\t60.1 = 251658241 = 0xf000001\tcounter\tKbyte / sec\n")
	f(pcp.Desc{Type: 77, InDom: pcp.InDomNull, Sem: 9}, false, "name\t??? (77)\tPM_INDOM_NULL 0xffffffff\t??? (9)\tnone\n")
}

func TestOracleLabelSets(t *testing.T) {
	var tr clib.Trial
	for _, text := range []string{`{"a":1}`, `{"b":"two","a":[1,2.5]}`, `{"long_name_of_a_label":null,"x":true,"y":"caf\u00e9"}`} {
		for _, flags := range []pcp.LabelFlags{pcp.LabelContext, pcp.LabelItem | pcp.LabelOptional, pcp.LabelInstances} {
			set, err := pcp.ParseLabels(text, flags)
			if err != nil {
				t.Fatal(err)
			}
			for _, ident := range []uint32{0xffffffff, 60, uint32(pcp.NewInDom(60, 3)), uint32(pcp.NewPMID(60, 0, 20))} {
				for _, level := range []pcp.LabelFlags{pcp.LabelContext, pcp.LabelDomain, pcp.LabelInDom, pcp.LabelCluster, pcp.LabelItem, pcp.LabelInstances} {
					if level == pcp.LabelCluster && ident == 0xffffffff {
						continue // C looks for a dot in PM_ID_NULL and dies
					}
					ours := AppendLabelSets(nil, ident, level, []pcp.LabelSet{set})
					tr.Add(clib.Hex(ours), "printlabels %d %d %d %s", int32(ident), level, flags, clib.Hex(set.JSON))
				}
			}
		}
	}
	tr.Compare(t)
}

// TestFullDesc checks descriptors that no agent has.
func TestFullDesc(t *testing.T) {
	f := func(d pcp.Desc, number bool, want string) {
		t.Helper()
		if got := string(AppendFullDesc([]byte("> "), &d, number)); got != "> "+want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	f(pcp.Desc{Type: 42, Sem: 9, InDom: pcp.NewInDom(60, 1)}, true,
		"    Data Type: ??? (42)  InDom: 60.1 = 251658241 = 0xf000001\n    Semantics: ??? (9)  Units: none\n")
	f(pcp.Desc{Type: pcp.TypeNoSupport, Sem: pcp.SemInstant, InDom: pcp.InDomNull}, false,
		"    Data Type: Not Supported  InDom: PM_INDOM_NULL 0xffffffff\n    Semantics: instant  Units: none\n")
}

func TestEvents(t *testing.T) {
	at := pcp.Timestamp{Sec: 3661, Nsec: 123456789}
	layout := Events{
		Missed: "    ",
		None:   "  none",
		Head: func(b []byte, i int, r *pcp.EventRecord) []byte {
			return AppendEventTime(fmt.Appendf(b, "[%d] ", i), r, pcp.Type(pcp.TypeHighResEvent-pcp.Type(i%2)), time.UTC)
		},
		Param: func(b []byte, p *pcp.EventParam) []byte { return fmt.Appendf(b, "  %s\n", p.PMID) },
	}
	got := layout.Append([]byte("> "), []pcp.EventRecord{
		{Time: at},
		{Time: at, Flags: pcp.EventPoint},
		{Time: at, Flags: pcp.EventMissed, Missed: 7},
		{Time: at, Params: []pcp.EventParam{{PMID: pcp.NewPMID(1, 2, 3)}, {PMID: pcp.NewPMID(4, 5, 6)}}},
	})
	const want = "> [0] 01:01:01.123456789 ---\n  none\n" +
		"[1] 01:01:01.123 flags 0x1 (point) ---\n" +
		"[2] 01:01:01.123456789 flags 0x80000000 (missed) ---\n    ==> 7 missed event records\n" +
		"[3] 01:01:01.123 ---\n  1.2.3\n  4.5.6\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// source knows the names and the descriptors of the metrics in it.
type source struct {
	names, descs map[pcp.PMID]bool
	asked        int
}

func (s *source) NameID(_ context.Context, id pcp.PMID) (string, error) {
	s.asked++
	if s.names[id] {
		return "m." + id.String(), nil
	}
	return "", pcp.ErrPMID
}

func (s *source) LookupDesc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	if s.descs[id] {
		return pcp.Desc{PMID: id, Type: pcp.TypeU64}, nil
	}
	return pcp.Desc{}, pcp.ErrPMID
}

// TestParams looks metrics up twice: only known properties are remembered.
func TestParams(t *testing.T) {
	from := &source{names: map[pcp.PMID]bool{1: true, 2: true}, descs: map[pcp.PMID]bool{1: true, 3: true}}
	var ps Params
	name := ps.Namer(t.Context(), from)
	for range 2 {
		for id, want := range []string{"unknown", "m.0.0.1 U64", "m.0.0.2 unknown", " U64"} {
			n, typ := name(pcp.PMID(id))
			got := n + " " + typ.String()
			if typ == pcp.TypeUnknown {
				got = n + " unknown"
			}
			if id == 0 {
				want = " " + want
			}
			if got != want {
				t.Errorf("%d: %q, want %q", id, got, want)
			}
		}
	}
	if from.asked != 7 {
		t.Errorf("asked %d times, want 7", from.asked)
	}
}

// TestListing compares lines with those of ls(1).
func TestListing(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	now := time.Now()
	for i, age := range []time.Duration{time.Minute, 170 * 24 * time.Hour, 200 * 24 * time.Hour, -time.Hour} {
		name := fmt.Sprint("f", i)
		if err := os.WriteFile(name, make([]byte, i*1000), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		got, err := Listing(name, now)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("ls", "-l", name)
		cmd.Env = append(os.Environ(), "LC_ALL=POSIX")
		want, err := cmd.Output()
		if err != nil {
			t.Skip("SKIPPED: no ls(1): ", err)
		}
		if got += "\n"; got != string(want) {
			t.Errorf("Listing = %q, want %q", got, want)
		}
	}
	if _, err := Listing("nosuch", now); err == nil {
		t.Error("no error for a file that there is not")
	}
}

type environ map[string]bool

func (e environ) IsSet(name string) bool { return e[name] }

// TestAppendValue prints a text of several lines with and without PCP_SQUASH_NEWLINES.
func TestAppendValue(t *testing.T) {
	v := pcp.StringValue("a\n\tb\r c")
	for _, tt := range []struct {
		env  environ
		v    pcp.Value
		want string
	}{
		{nil, v, "=\n\"a\n\tb\r c\""},
		{environ{"PCP_SQUASH_NEWLINES": true}, v, "=\n\"a  b  c\""},
		{environ{"PCP_SQUASH_NEWLINES": true}, pcp.Uint32Value(7), "=\n7"},
	} {
		if got := AppendValue([]byte("=\n"), tt.env, &tt.v, tt.v.Type(), 1, time.UTC); string(got) != tt.want {
			t.Errorf("%v: it is printed as %q, want %q", tt.env, got, tt.want)
		}
	}
}
