package names

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

func TestNames(t *testing.T) {
	for _, c := range []struct{ in, name, old string }{
		{"disk.dev.read", "disk_dev_read", "disk:dev:read"},
		{"hinv.ncpu", "hinv_ncpu", "hinv:ncpu"},
		{"1a.2b", "_a_2b", "_a:2b"},
		{"a:b-c_d", "a_b_c_d", "a_b_c_d"},
		{"", "", ""},
	} {
		if got := Metric(c.in); got != c.name {
			t.Errorf("Metric(%q) = %q, want %q", c.in, got, c.name)
		}
		if got := Old(c.in); got != c.old {
			t.Errorf("Old(%q) = %q, want %q", c.in, got, c.old)
		}
	}
	if got := Label("device.model:x"); got != "device_model_x" {
		t.Errorf("Label: %q", got)
	}
}

func TestMerge(t *testing.T) {
	parse := func(s string, level pcp.LabelFlags) pcp.LabelSet {
		set, err := pcp.ParseLabels(s, level)
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	sets := []pcp.LabelSet{parse(`{"hostname":"www","agent":"linux"}`, pcp.LabelContext), parse(`{"agent":"disk","n":4}`, pcp.LabelDomain)}
	own := parse(`{"instname":"mine","ab":true}`, pcp.LabelInstances)
	got := Merge(sets, &own, 3, "sda", Label)
	want := []Pair{{"agent", `"disk"`}, {"hostname", `"www"`}, {"n", "4"}, {"ab", "true"}, {"instname", `"mine"`}, {"instid", `"3"`}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Merge = %v, want %v", got, want)
	}
	if got := Instance(nil, -2, `a"b`); got[0].Text() != `a"b` || got[1].Text() != "4294967294" {
		t.Errorf("Instance = %v", got)
	}
	if got := Instance(nil, pcp.InNull, "x"); got != nil {
		t.Errorf("no instance: %v", got)
	}
}

func TestComments(t *testing.T) {
	if got, want := string(AppendHelp(nil, "a_b", "one\\two\nthree\xff")), "# HELP a_b one\\\\two\\nthree\ufffd\n"; got != want {
		t.Errorf("AppendHelp: %q, want %q", got, want)
	}
	if got, want := string(AppendType([]byte("x"), "a_b", &pcp.Desc{Sem: pcp.SemCounter})), "x# TYPE a_b counter\n"; got != want {
		t.Errorf("AppendType: %q, want %q", got, want)
	}
}

// TestQuote compares with package json.
func TestQuote(t *testing.T) {
	for _, s := range []string{"", "sda", "a b~!", `a"b`, `a\b`, "<a>&", "é\u2028", "a\xffb", "\x00\t\x7f", `"`, `\`} {
		want, err := json.Marshal(strings.ToValidUTF8(s, "\ufffd"))
		if err != nil {
			t.Fatal(err)
		}
		if got := Quote(s); got != string(want) {
			t.Errorf("Quote(%q) = %s, want %s", s, got, want)
		}
		if got, want := (Pair{Value: Quote(s)}).Text(), strings.ToValidUTF8(s, "\ufffd"); got != want {
			t.Errorf("Text of %q = %q, want %q", s, got, want)
		}
	}
	for value, want := range map[string]string{`"a\u0041"`: "aA", `"`: `"`, `""`: "", `4`: "4", `true`: "true", `"a"b"`: `"a"b"`, `{"a":"b"}`: `{"a":"b"}`} {
		if got := (Pair{Value: value}).Text(); got != want {
			t.Errorf("Text of %s = %s, want %s", value, got, want)
		}
	}
	list := []Pair{{"a", `"www.example.com"`}}
	if n := testing.AllocsPerRun(100, func() { list[0].Text() }); n > 0 {
		t.Errorf("%v allocations for a text", n)
	}
}

func TestKinds(t *testing.T) {
	f := func(d pcp.Desc, kind string, numeric bool) {
		t.Helper()
		if Type(&d) != kind || Numeric(&d) != numeric {
			t.Errorf("%+v: %s, %v", d, Type(&d), Numeric(&d))
		}
	}
	f(pcp.Desc{Sem: pcp.SemCounter, Type: pcp.TypeU64}, "counter", true)
	f(pcp.Desc{Sem: pcp.SemInstant, Type: pcp.TypeDouble}, "gauge", true)
	f(pcp.Desc{Sem: pcp.SemDiscrete, Type: pcp.TypeString}, "gauge", false)
	f(pcp.Desc{Sem: pcp.SemDiscrete, Type: pcp.TypeNoSupport}, "gauge", false)
}
