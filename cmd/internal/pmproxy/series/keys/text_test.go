package keys

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// TestStamp writes and reads times.
func TestStamp(t *testing.T) {
	for _, c := range []struct {
		at   pcp.Timestamp
		text string
	}{
		{pcp.Timestamp{Sec: 1489620673, Nsec: 870437000}, "1489620673870-437"},
		{pcp.Timestamp{}, "0-0"},
		{pcp.Timestamp{Sec: 1, Nsec: 999999000}, "1999-999"},
	} {
		if got := string(appendStamp(nil, c.at)); got != c.text {
			t.Errorf("stamp of %v is %s, want %s", c.at, got, c.text)
		}
		if got, err := parseStamp(c.text); err != nil || got != c.at {
			t.Errorf("time of %s is %v, %v, want %v", c.text, got, err, c.at)
		}
	}
	for _, s := range []string{"", "1", "1-", "-1", "1-1000", "x-1", "1-1-1", "99999999999999999999-0"} {
		if got, err := parseStamp(s); err == nil {
			t.Errorf("time of %q is %v, want an error", s, got)
		}
	}
	for id, want := range map[string]string{"5-0": "5-1", "5-18446744073709551615": ""} {
		if got, _ := after(id); got != want {
			t.Errorf("after %s comes %q, want %q", id, got, want)
		}
	}
	for id, want := range map[string]string{"5-1": "5-0", "5-0": "4", "0-0": "", "x": ""} {
		if got, _ := before(id); got != want {
			t.Errorf("before %s comes %q, want %q", id, got, want)
		}
	}
}

// TestValue reads values that AppendValue wrote.
func TestValue(t *testing.T) {
	for _, c := range []struct {
		t    pcp.Type
		v    pcp.Value
		want string
	}{
		{pcp.Type32, pcp.Int32Value(math.MinInt32), "-2147483648"},
		{pcp.TypeU32, pcp.Uint32Value(math.MaxUint32), "4294967295"},
		{pcp.Type64, pcp.Int64Value(math.MinInt64), "-9223372036854775808"},
		{pcp.TypeU64, pcp.Uint64Value(math.MaxUint64), "18446744073709551615"},
		{pcp.TypeFloat, pcp.FloatValue(1.5), "1.500000e+00"},
		{pcp.TypeDouble, pcp.DoubleValue(math.Inf(-1)), "-inf"},
		{pcp.TypeDouble, pcp.DoubleValue(-1e-300), "-1.000000e-300"},
		{pcp.TypeString, pcp.StringValue("a \"b\"\n\\"), `"a \u0022b\u0022\u000A\u005C"`},
		{pcp.TypeString, pcp.StringValue(""), `""`},
		{pcp.TypeAggregate, pcp.BytesValue(pcp.TypeAggregate, []byte{0, 127}), `"\u0000\u007F"`},
		{pcp.TypeEvent, pcp.RawValue(pcp.TypeEvent, 0), "-21"},
	} {
		text := string(series.AppendValue(nil, c.v, c.t))
		if c.t != pcp.TypeEvent && text != c.want {
			t.Errorf("%v is written as %s, want %s", c.t, text, c.want)
		}
		v, err := parseValue(text, c.t)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if again := string(series.AppendValue(nil, v, c.t)); again != text {
			t.Errorf("%s becomes %s", text, again)
		}
	}
	// Bytes that are not ASCII stay as many.
	v, err := parseValue(`"\uFFFD\uFFFD"`, pcp.TypeString)
	if err != nil || string(v.Bytes()) != "\xff\xff" {
		t.Errorf("lost bytes are %q, %v", v.Bytes(), err)
	}
	for _, c := range []struct {
		t    pcp.Type
		text string
	}{
		{pcp.Type32, "2147483648"},
		{pcp.TypeU32, "-1"},
		{pcp.TypeU64, ""},
		{pcp.TypeDouble, "x"},
		{pcp.TypeString, "a"},
		{pcp.TypeString, `"`},
		{pcp.TypeString, `"\x"`},
		{pcp.TypeString, `"\u00"`},
		{pcp.TypeString, `"\u00zz"`},
		{pcp.TypeString, `"` + strings.Repeat("a", maxText) + `"`},
	} {
		if v, err := parseValue(c.text, c.t); err == nil {
			t.Errorf("%.40q as %v is %v, want an error", c.text, c.t, v)
		}
	}
}

// TestDesc reads descriptors.
func TestDesc(t *testing.T) {
	source := sid.String("x")
	fields := func(change ...string) map[string]string {
		f := map[string]string{"indom": "60.1", "pmid": "60.0.4", "semantics": "counter", "source": string(source[:]), "type": "u64", "units": "Kbyte / sec"}
		for i := 0; i < len(change); i += 2 {
			f[change[i]] = change[i+1]
		}
		return f
	}
	d, err := parseDesc(fields())
	if err != nil {
		t.Fatal(err)
	}
	want := pcp.Desc{PMID: pcp.NewPMID(60, 0, 4), InDom: pcp.NewInDom(60, 1), Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.NewUnits(1, -1, 0, 1, 3, 0)}
	if diff := cmp.Diff(want, d.desc); diff != "" || d.source != source {
		t.Errorf("source %v, -want +got:\n%s", d.source, diff)
	}
	if d, err := parseDesc(fields("indom", "none", "pmid", "none", "units", "none", "type", "unknown")); err != nil || d.desc.InDom != pcp.InDomNull || d.desc.PMID != pcp.PMIDNull {
		t.Errorf("with none: %v, %v", d.desc, err)
	}
	if d, err := parseDesc(fields("pmid", "5.*.*")); err != nil || d.desc.PMID.String() != "5.*.*" {
		t.Errorf("a root of dynamic metrics: %v, %v", d.desc.PMID, err)
	}
	for _, change := range [][]string{
		{"pmid", "x.*.*"},
		{"indom", "512.1"},
		{"indom", "1"},
		{"indom", ""},
		{"pmid", "1.2"},
		{"pmid", "1.2.1024"},
		{"semantics", ""},
		{"type", "U64"},
		{"units", "parsecs"},
		{"units", strings.Repeat("x", maxUnits+1)},
		{"source", "short"},
	} {
		if _, err := parseDesc(fields(change...)); err == nil {
			t.Errorf("%v is accepted", change)
		}
	}
}

// TestEntry reads entries of streams.
func TestEntry(t *testing.T) {
	of, one, two := sid.String("series"), sid.String("one"), sid.String("two")
	numbers := map[sid.ID]int32{one: 1}
	f := func(want string, wantErr pcp.Error, fields ...string) {
		t.Helper()
		var list [][2]string
		for i := 0; i < len(fields); i += 2 {
			list = append(list, [2]string{fields[i], fields[i+1]})
		}
		s, err := decodeEntry("1000-0", list, pcp.TypeU32, of, numbers)
		if err != nil {
			if want != "error" {
				t.Errorf("%q: %v", fields, err)
			}
			return
		}
		var got []string
		for _, v := range s.Values {
			got = append(got, string(series.AppendValue(nil, v.Value, pcp.TypeU32)))
		}
		if strings.Join(got, " ") != want || s.Err != wantErr || s.Time.Sec != 1 || s.Series != of {
			t.Errorf("%q: %v %v, want %s %v", fields, got, s.Err, want, wantErr)
		}
	}
	f("7", 0, "", "7")
	f("7", 0, string(one[:]), "7")
	f("7", 0, string(one[:]), "7", string(two[:]), "8") // the metadata of an instance are not there yet
	f("", 0, "0", "0")
	f("", pcp.ErrPMID, "-1", "-12358")
	f("error", 0, "-1", "x")
	f("error", 0, "-1", "5")
	f("error", 0, "short", "5")
	f("error", 0, "", "x")
}

// TestSlot compares slots with those that Redis computes.
func TestSlot(t *testing.T) {
	for key, want := range map[string]int{"123456789": 0x31c3, "foo": 12182, "{foo}bar": 12182, "a{foo}{bar}": 12182, "foo{}": 5542, "": 0} {
		if got := slot(key); got != want {
			t.Errorf("slot of %q is %d, want %d", key, got, want)
		}
	}
}

// TestAddresses fills in ports.
func TestAddresses(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{nil, []string{DefaultServer}},
		{[]string{" a ", "b:1", "", "::1", "[::2]:3"}, []string{"a:6379", "b:1", "[::1]:6379", "[::2]:3"}},
	} {
		cfg := Config{Servers: c.in}
		if diff := cmp.Diff(c.want, cfg.addresses()); diff != "" {
			t.Errorf("%q:\n%s", c.in, diff)
		}
	}
}

func FuzzEntry(f *testing.F) {
	id := sid.String("x")
	f.Add("1489620673870-437", string(id[:]), "1.500000e+00", 5)
	f.Add("1-0", "", `"a\u0022\uFFFD"`, 6)
	f.Add("1-0", "-1", "-12357", 0)
	f.Add("1-0", "0", "0", 3)
	f.Add("18446744073709551615-18446744073709551615", "", "", 11)
	f.Fuzz(func(t *testing.T, stamp, field, value string, typ int) {
		s, err := decodeEntry(stamp, [][2]string{{field, value}}, pcp.Type(typ), id, map[sid.ID]int32{id: 1})
		if (s == nil) == (err == nil) {
			t.Fatalf("%v, %v", s, err)
		}
		if err != nil || len(s.Values) == 0 {
			return
		}
		if got := string(appendStamp(nil, s.Time)); got != stamp && len(got) == len(stamp) {
			t.Errorf("time %s becomes %s", stamp, got)
		}
		text := string(series.AppendValue(nil, s.Values[0].Value, pcp.Type(typ)))
		v, err := parseValue(text, pcp.Type(typ))
		if err != nil {
			t.Fatalf("%q becomes %q: %v", value, text, err)
		}
		if again := string(series.AppendValue(nil, v, pcp.Type(typ))); again != text {
			t.Errorf("%q becomes %q", text, again)
		}
	})
}

func FuzzDesc(f *testing.F) {
	id := sid.String("x")
	f.Add("60.0.4", "60.1", "counter", "u64", "Kbyte / sec", string(id[:]), "1")
	f.Add("none", "none", "instant", "string", "none", "", "-1")
	f.Fuzz(func(t *testing.T, pmid, indom, sem, typ, units, source, inst string) {
		d, err := parseDesc(map[string]string{"pmid": pmid, "indom": indom, "semantics": sem, "type": typ, "units": units, "source": source})
		if err == nil {
			if _, err := parseUnits(unitsText(d.desc.Units)); err != nil {
				t.Errorf("units %q: %v", units, err)
			}
			if again, err := parseType(typeText(d.desc.Type)); err != nil || again != d.desc.Type {
				t.Errorf("type %q: %v, %v", typ, again, err)
			}
		}
		in, name, err := decodeInstance(inst, source, source)
		if err == nil && (in.Source != name || string(name[:]) != source) {
			t.Errorf("instance of %q: %v", source, in)
		}
	})
}
