package derive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

func TestControl(t *testing.T) {
	var set Set
	for c, want := range map[Control]int{GlobalLimit: -1, ContextLimit: -1, NoValue: 0} {
		if got, err := set.Control(c); got != want || err != nil {
			t.Errorf("%v is %d, %v at first", c, got, err)
		}
	}
	f := func(c Control, value int, want error) {
		t.Helper()
		before, _ := set.Control(c)
		if err := set.SetControl(c, value); !errors.Is(err, want) {
			t.Errorf("SetControl(%v, %d): %v, want %v", c, value, err, want)
		}
		if want == nil {
			before = value
		}
		if got, _ := set.Control(c); got != before {
			t.Errorf("%v is %d, want %d", c, got, before)
		}
	}
	f(GlobalLimit, 2, nil)
	f(GlobalLimit, 0, errValue)
	f(GlobalLimit, -2, errValue)
	f(ContextLimit, 1, nil)
	f(ContextLimit, 0, errValue)
	f(NoValue, 1, nil)
	f(NoValue, 2, errValue)
	f(0, 1, pcp.ErrName)
	f(99, 1, pcp.ErrName)

	add := func(name string, want string) {
		t.Helper()
		got := ""
		if err := set.Add(name, "1"); err != nil {
			got = err.(*Error).Msg
		}
		if got != want {
			t.Errorf("Add(%s): %q", name, got)
		}
	}
	add("a", "")
	add("b", "")
	add("c", "Too many global derived metrics")
	if !set.Remove("a") || set.Remove("a") || set.Len() != 1 {
		t.Error("Remove")
	}
	add("c", "")
	f(GlobalLimit, -1, nil)
	add("d", "")

	b := set.Bind(newFake(), nil)
	if err := b.Add(t.Context(), "own", "i32"); err != nil {
		t.Error(err)
	}
	if err := b.Add(t.Context(), "more", "i32"); err == nil {
		t.Error("the limit of a binding does not hold")
	}
}

// TestControlText compares messages with those of version 7 of the C library.
func TestControlText(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "conf")
	f := func(list, wantEnv, wantFile string, noValue int) {
		t.Helper()
		env := map[string]string{"PCP_DERIVED_CONTROL": list, "PCP_DERIVED_CONFIG": ""}
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		var one, two Set
		got := text(one.LoadInstalled(config.NewLookup(func(name string) (string, bool) { v, ok := env[name]; return v, ok })))
		if got != wantEnv {
			t.Errorf("variable %s: %q, want %q", list, got, wantEnv)
		}
		if err := os.WriteFile(conf, []byte("# first\n#Control "+list+"\na=b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := two.Load(conf)
		if got := strings.ReplaceAll(text(err), conf, "F"); got != wantFile {
			t.Errorf("line %s: %q, want %q", list, got, wantFile)
		}
		for _, set := range []*Set{&one, &two} {
			if got, _ := set.Control(NoValue); got != noValue {
				t.Errorf("%s: NoValue is %d", list, got)
			}
		}
	}
	const env, file = "Warning: $PCP_DERIVED_CONTROL: ", "[F:2] Warning: "
	both := func(list, msg string, noValue int) {
		t.Helper()
		f(list, env+msg, file+msg, noValue)
	}
	f("OPTION_NoValue=1", "", "", 1)
	f("option_novalue=1,global_limit=7", "", "", 1)
	both("badoption=1", "unknown derived metric control (badoption)", 0)
	f("option_novalue", env+"missing '=' in derived metric control (option_novalue)", "[F:2] Error: missing '=' in derived metric control (option_novalue)", 0)
	both("option_novalue=", "missing value in derived metric control (option_novalue=)", 0)
	both("option_novalue=bar", "bad value (bar) for derived metric control (option_novalue)", 0)
	both("option_novalue=1bar", "bad value (1bar) for derived metric control (option_novalue)", 0)
	both("option_novalue=1,badoption=1", "unknown derived metric control (badoption)", 1)
	both("option_novalue=1,context_limit=", "missing value in derived metric control (context_limit=)", 1)
	both("GLOBAL_LIMIT=-2", "failed to set derived metric control GLOBAL_LIMIT=-2: Bad value for function argument", 0)
	both("context_limit=0,option_novalue=1", "failed to set derived metric control context_limit=0: Bad value for function argument", 1)

	// The environment takes precedence.
	vars := map[string]string{"PCP_DERIVED_CONTROL": "option_novalue=0", "PCP_DERIVED_CONFIG": conf}
	if err := os.WriteFile(conf, []byte("#control option_novalue=1\na=b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var set Set
	err := set.LoadInstalled(config.NewLookup(func(name string) (string, bool) { v, ok := vars[name]; return v, ok }))
	want := "[" + conf + ":1] Warning: failed to set derived metric control option_novalue=1: Try again. Information not currently available"
	if err == nil || err.Error() != want || set.Len() != 1 {
		t.Errorf("%v, want %s", err, want)
	}
	if err := set.SetControl(NoValue, 1); !errors.Is(err, pcp.ErrAgain) {
		t.Errorf("SetControl against the environment: %v", err)
	}
	if err := set.SetControl(NoValue, 0); err != nil {
		t.Errorf("SetControl as the environment has it: %v", err)
	}
}

func TestNoValue(t *testing.T) {
	var set Set
	for _, def := range []string{"m0=i32+nosuch", "m1=nosuch", "m2=count(nosuch)", "m3=delta(nosuch)", "m4=disk.temp + nosuch", "m5=m0+1", "m6=nosuch ? i32 : i32", "m7=scalar(nosuch)", "m8=u64"} {
		name, expr, _ := strings.Cut(def, "=")
		if err := set.Add(name, expr); err != nil {
			t.Fatal(err)
		}
	}
	for _, on := range []int{0, 1} {
		if err := set.SetControl(NoValue, on); err != nil {
			t.Fatal(err)
		}
		b := set.Bind(newFake(), nil)
		ids := make([]pcp.PMID, set.Len())
		for i := range ids {
			ids[i] = pmidOf(i)
		}
		descs := make([]pcp.Desc, len(ids))
		if err := b.Descs(t.Context(), ids, descs); err != nil {
			t.Fatal(err)
		}
		for i, d := range descs {
			want := on == 1 && i != 5 || i == 8
			if got := d.PMID != pcp.PMIDNull; got != want {
				t.Errorf("NoValue %d: metric %d is bound: %v", on, i, got)
			}
		}
		if on == 0 {
			continue
		}
		if d := descs[0]; d.Type != pcp.Type32 || d.Sem != pcp.SemInstant || d.InDom != pcp.InDomNull {
			t.Errorf("i32+nosuch is %v", d)
		}
		if d := descs[1]; d.Type != pcp.Type32 || d.Sem != pcp.SemDiscrete {
			t.Errorf("nosuch is %v", d)
		}
		if d := descs[4]; d.Type != pcp.TypeFloat || d.InDom != disks {
			t.Errorf("disk.temp + nosuch is %v", d)
		}
		wanted, err := b.Operands(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			res := new(pcp.Result)
			for _, id := range wanted {
				res.AddSet(id)
				res.Add(pcp.RawValue(pcp.Type32, 1))
			}
			b.Evaluate(t.Context(), res, len(ids))
			for i := range ids {
				if n := len(res.Sets[i].Values); i == 8 && n != 1 || i != 8 && i != 2 && i != 5 && n != 0 {
					t.Errorf("metric %d has %d values", i, n)
				}
			}
		}
	}
}

func TestRemove(t *testing.T) {
	var set Set
	for _, name := range []string{"a", "b", "c"} {
		if err := set.Add(name, "i32"); err != nil {
			t.Fatal(err)
		}
	}
	b := set.Bind(newFake(), nil)
	if err := b.Add(t.Context(), "b", "u32"); err != nil {
		t.Fatal(err)
	}
	names := func(want ...string) {
		t.Helper()
		var got []string
		b.Names(func(name string) bool { got = append(got, name); return true })
		if !slices.Equal(got, want) {
			t.Errorf("names %q, want %q", got, want)
		}
	}
	names("a", "c", "b")
	own, _ := b.Lookup("b")
	if !b.Remove("b") || b.Remove("b") || b.Remove("a") {
		t.Error("Remove of the binding")
	}
	names("a", "b", "c")
	if _, ok := b.Name(own); ok {
		t.Error("a metric that was removed has a name")
	}
	if id, ok := b.Lookup("b"); !ok || id != pmidOf(1) {
		t.Error("what it hid is not found")
	}
	if err := b.Add(t.Context(), "d", "u32"); err != nil {
		t.Fatal(err)
	}
	if id, _ := b.Lookup("d"); id == own {
		t.Error("a PMID is used again")
	}
	a, _ := b.Lookup("a")
	if !set.Remove("a") {
		t.Error("Remove of the set")
	}
	names("b", "c", "d")
	if _, ok := b.Lookup("a"); ok {
		t.Error("a name that was removed is found")
	}
	descs := []pcp.Desc{{PMID: 7}}
	if err := b.Descs(t.Context(), []pcp.PMID{a}, descs); err != nil || descs[0].PMID != 7 {
		t.Errorf("Descs of what was removed: %v, %v", descs, err)
	}
	if err := set.Add("a", "u32"); err != nil {
		t.Error(err)
	}
	if id, _ := b.Lookup("a"); id == a {
		t.Error("a PMID is used again")
	}
	names("b", "c", "a", "d")
}
