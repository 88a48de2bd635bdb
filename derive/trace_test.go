package derive

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// traced returns a set that logs to b, without its first lines.
func traced(b *bytes.Buffer, names ...string) *Set {
	s := &Set{Debug: debug.New(b, append(names, debugname.Derive)...)}
	s.begin()
	b.Reset()
	return s
}

// checkTrace compares the log, with addresses replaced.
func checkTrace(t *testing.T, b *bytes.Buffer, want string) {
	t.Helper()
	got := regexp.MustCompile(`0x[0-9a-f]{9,}`).ReplaceAllString(b.String(), "ADDR")
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("logged:\n%s\nwant:\n%s", got, want)
	}
	b.Reset()
}

func TestTraceParse(t *testing.T) {
	var b bytes.Buffer
	s := traced(&b, debugname.Appl0)
	if err := s.Add("my.a", "disk.reads[sda] + 1"); err != nil {
		t.Fatal(err)
	}
	checkTrace(t, &b, `
pmRegisterDerived: name="my.a" expr="disk.reads[sda] + 1"
derive_lex() -> type=L_NAME "disk.reads"
derive_lex() -> type=L_INSTNAME "sda"
derive_lex() -> type=L_PLUS "+"
derive_lex() -> type=L_INTEGER "1"
derive_lex() -> type=L_EOS ""
pmRegisterDerived: global metric[2] my.a = disk.reads[sda] + 1
Derived metric expr dump from ADDR...
expr node ADDR type=PLUS left=ADDR right=ADDR save_last=0
expr node ADDR type=FILTERINST left=ADDR right=ADDR save_last=0
expr node ADDR type=PATTERN pattern: sda type: exact match inst=-1
expr node ADDR type=NAME left=(nil) right=(nil) save_last=0 [disk.reads] primary=1
expr node ADDR type=INTEGER left=(nil) right=(nil) save_last=0 [1] primary=1
`)
	if err := s.Add("my.b", "disk.reads[sda"); err == nil {
		t.Error("a bad expression was added")
	}
	checkTrace(t, &b, `
pmRegisterDerived: name="my.b" expr="disk.reads[sda"
derive_lex() -> type=L_NAME "disk.reads"
derive_lex() -> type=L_ERROR "sda"
`)
}

func TestTraceBind(t *testing.T) {
	var b bytes.Buffer
	s := traced(&b)
	if err := s.Add("my.a", "ncpu * 2"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("my.b", "1 + nosuch"); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	binding := s.Bind(newFake(), nil)
	if err := binding.BindNames(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := binding.Add(t.Context(), "own", "i32 + 1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add("my.c", "3"); err != nil {
		t.Fatal(err)
	}
	binding.Closed()
	checkTrace(t, &b, `
__dmgetpmid: metric "my.a" -> PMID 511.0.3
__dmbind: bind metric[2] my.a
__dmgetpmid: metric "my.b" -> PMID 511.0.4
__dmgetpmid: metric "nosuch" -> Unknown metric name
bind_expr: error: derived metric my.b: operand: nosuch: Unknown metric name
__dmgetpmid: metric "own" -> PMID 511.2047.1023
__dmbind: bind metric[4] own
pmAddDerived(ctx->0): per-context metric[4] own = i32 + 1
pmRegisterDerived: global metric[4] my.c = 3
__dmclosecontext(->ctx 0) called dm->ADDR 5 metrics
`)
}

// TestTraceSeven checks that with the layout of version 7 each attempt to bind is traced, and a failure with the bad expression.
func TestTraceSeven(t *testing.T) {
	var b bytes.Buffer
	s := traced(&b, debugname.Appl1, debugname.Version7)
	for i, expr := range []string{"ncpu * 2", "1 + nosuch", "u32 + mem.used"} {
		if err := s.Add("my."+"abc"[i:i+1], expr); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	binding := s.Bind(newFake(), nil)
	id, _ := binding.Lookup("my.a")
	if _, err := binding.Operands(t.Context(), []pcp.PMID{id}); err != nil {
		t.Fatal(err)
	}
	if err := binding.BindNames(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := binding.Add(t.Context(), "own", "i32 + 1"); err != nil {
		t.Fatal(err)
	}
	checkTrace(t, &b, `
__dmopencontext(->ctx 0) called, 5 derived metrics
__dmbind(derive_locked=0, ctx=0, metric[2] my.a, async= 1)
__dmgetpmid: metric "my.a" -> PMID 511.0.3
__dmbind(derive_locked=1, ctx=0, metric[3] my.b, async= 1)
__dmgetpmid: metric "my.b" -> PMID 511.0.4
__dmgetpmid: metric "nosuch" -> Unknown metric name
__dmbind: bind_expr failed for metric[3] my.b
__dmbind(derive_locked=1, ctx=0, metric[4] my.c, async= 1)
__dmgetpmid: metric "my.c" -> PMID 511.0.5
__dmbind: check_expr failed for metric[4] my.c
Derived metric expr dump from ADDR...
expr node ADDR type=PLUS left=ADDR right=ADDR save_last=0
    PMID: PM_ID_NULL (60.0.13 from pmDesc) numval: 0
    Data Type: 64-bit unsigned int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: instant  Units: none
expr node ADDR type=NAME left=(nil) right=(nil) save_last=0 [u32] primary=0
    PMID: 60.0.13 (60.0.13 from pmDesc) numval: 0
    Data Type: 32-bit unsigned int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: instant  Units: none
expr node ADDR type=NAME left=(nil) right=(nil) save_last=0 [mem.used] primary=0
    PMID: 60.0.10 (60.0.10 from pmDesc) numval: 0
    Data Type: 64-bit unsigned int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: instant  Units: Kbyte
__dmbind(derive_locked=0, ctx=0, metric[5] own, async= 0)
__dmgetpmid: metric "own" -> PMID 511.2047.1023
pmAddDerived(ctx->0): per-context metric[5] own = i32 + 1
`)
	s = traced(&b, debugname.Appl1, debugname.Desperate, debugname.Version7)
	if err := s.Add("my.a", "1"); err != nil {
		t.Fatal(err)
	}
	binding = s.Bind(newFake(), nil)
	if err := binding.BindNames(t.Context(), func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if log := b.String(); !strings.Contains(log, "__dmbind: metric[2] my.a: after check_expr ...\nDerived metric expr dump from ") {
		t.Errorf("-D desperate logged %s", log)
	}
}

func TestTraceEvaluate(t *testing.T) {
	var b bytes.Buffer
	s := traced(&b, debugname.Appl2)
	if err := s.Add("my.d", "delta(i32)"); err != nil {
		t.Fatal(err)
	}
	f := newFake()
	binding := s.Bind(f, nil)
	id, _ := binding.Lookup("my.d")
	for i := range int32(2) {
		ids, err := binding.Operands(t.Context(), []pcp.PMID{id})
		if err != nil {
			t.Fatal(err)
		}
		var res pcp.Result
		res.Time.Sec = int64(i)
		res.AddError(id, 0)
		res.AddSet(ids[1])
		res.AddValues(1)[0] = pcp.Int32Value(i * 7).WithInst(pcp.InNull)
		b.Reset()
		binding.Evaluate(t.Context(), &res, 1)
	}
	checkTrace(t, &b, `
__dmpostvalueset: [0] root node 511.0.3: numval=1 vset[0]: inst=-1 l=7
expr node ADDR type=DELTA left=ADDR right=(nil) save_last=0
    PMID: PM_ID_NULL (511.0.3 from pmDesc) numval: 1
    Data Type: 32-bit int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: instant  Units: none
[0] inst=-1, val=7
expr node ADDR type=NAME left=(nil) right=(nil) save_last=1 [i32] primary=0
    PMID: `+f.descs["i32"].PMID.String()+` (`+f.descs["i32"].PMID.String()+` from pmDesc) numval: 1
    Data Type: 32-bit int  InDom: PM_INDOM_NULL 0xffffffff
    Semantics: instant  Units: none
[0] inst=-1, val=7 (last inst=-1, val=0)
`)
}

// TestReport checks that an error in a file is reported when it is found, and not
// returned.
func TestReport(t *testing.T) {
	var got []string
	var s Set
	s.Report = func(err error) { got = append(got, err.Error()) }
	n, err := s.Read(strings.NewReader("a = 1\nb\nc = (\nd = 2\n"), "file")
	if n != 2 || err != nil {
		t.Errorf("Read returned %d, %v", n, err)
	}
	if len(got) != 2 || !strings.HasPrefix(got[0], "[file:2]") || !strings.HasPrefix(got[1], "[file:3]") {
		t.Errorf("reported %q", got)
	}
}
