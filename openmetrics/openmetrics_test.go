package openmetrics_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/openmetrics"
)

func Example() {
	const text = "# TYPE requests counter\nrequests_total{code=\"200\"} 1027 # {id=\"7\"} 1\n# EOF\n"
	s := openmetrics.NewScanner(strings.NewReader(text), openmetrics.Limits{})
	for s.Next() {
		line := s.Line()
		if line[0] == '#' {
			keyword, name, rest := openmetrics.Comment(line)
			fmt.Printf("%s: %s is a %s\n", keyword, name, rest)
			continue
		}
		series, n, err := openmetrics.ParseSeries(line, true)
		if err != nil {
			fmt.Println(s.Number(), err)
			return
		}
		f, _ := openmetrics.ParseFloat(openmetrics.ParseSample(line[n:]).Value)
		fmt.Println(series.Name, series.Labels, f)
	}
	// Output:
	// TYPE: requests is a counter
	// requests_total [{code 200}] 1027
	// EOF:  is a
}

func TestScanner(t *testing.T) {
	f := func(text string, limits openmetrics.Limits, wantErr error, want ...string) {
		t.Helper()
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "eof": iotest.DataErrReader(strings.NewReader(text)),
		} {
			s := openmetrics.NewScanner(r, limits)
			var got []string
			for s.Next() {
				got = append(got, strconv.Itoa(s.Number())+":"+string(s.Line()))
			}
			if !errors.Is(s.Err(), wantErr) || !slices.Equal(got, want) {
				t.Errorf("%s: lines of %.40q = %q, %v, want %q, %v", name, text, got, s.Err(), want, wantErr)
			}
		}
	}
	f("", openmetrics.Limits{}, nil)
	f("a 1\n\n  b 2  \r\nc 3", openmetrics.Limits{}, nil, "1:a 1", "3:b 2", "4:c 3")
	f("1234567890\n", openmetrics.Limits{Line: 10}, nil, "1:1234567890")
	f("a\n12345678901\n", openmetrics.Limits{Line: 10}, openmetrics.ErrTooLong, "1:a")
	f("a 1\nb", openmetrics.Limits{Bytes: 5}, nil, "1:a 1", "2:b")
	f("a 1\nbc", openmetrics.Limits{Bytes: 5}, openmetrics.ErrTooLong, "1:a 1")
	long := "x" + strings.Repeat("y", 200<<10)
	f("a\n"+long+"\nb", openmetrics.Limits{}, nil, "1:a", "2:"+long, "3:b")
	s := openmetrics.NewScanner(iotest.ErrReader(io.ErrUnexpectedEOF), openmetrics.Limits{})
	if s.Next() || s.Err() != io.ErrUnexpectedEOF {
		t.Errorf("Err() = %v, want %v", s.Err(), io.ErrUnexpectedEOF)
	}
	s.Reset(strings.NewReader("x 1\n"))
	if !s.Next() || string(s.Line()) != "x 1" || s.Size() != 4 {
		t.Errorf("after Reset the line is %q, size %d", s.Line(), s.Size())
	}
}

func labels(pairs ...string) (list []openmetrics.Label) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, openmetrics.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func TestParseSeries(t *testing.T) {
	f := func(line, rest, wantErr string, strict bool, name string, want ...string) {
		t.Helper()
		s, n, err := openmetrics.ParseSeries([]byte(line), strict)
		if wantErr != "" {
			if err == nil || err.Error() != wantErr {
				t.Errorf("ParseSeries(%q, %v) = %+v, %v, want %s", line, strict, s, err, wantErr)
			}
			return
		}
		if err != nil || s.Name != name || !slices.Equal(s.Labels, labels(want...)) || line[n:] != rest {
			t.Errorf("ParseSeries(%q, %v) = %+v, %q, %v", line, strict, s, line[n:], err)
		}
	}
	for _, strict := range []bool{false, true} {
		f(`a 1`, ` 1`, "", strict, "a")
		f(`a:b_c{} 1`, ` 1`, "", strict, "a:b_c")
		f(`a {x="1"} 1`, ` 1`, "", strict, "a", "x", "1")
		f(`a{y="2",x="1",} 1`, ` 1`, "", strict, "a", "x", "1", "y", "2")
		f(`a { x = "1" , y = "" } 1`, ` 1`, "", strict, "a", "x", "1", "y", "")
		f(`a{x="\\\"\n\t}, {"}1`, `1`, "", strict, "a", "x", "\\\"\n\\t}, {")
		f(`a{x="\\"} 1`, ` 1`, "", strict, "a", "x", `\`)
		f("a{x=\"\xff\"} 1", ` 1`, "", strict, "a", "x", "\ufffd")
		f(`a{x=1} 1`, "", `a: label x: its value must be in double quotes`, strict, "")
		f(`a{x"1"} 1`, "", map[bool]string{true: `a: "x\"1\"} 1" does not begin with the name of a label`, false: `a: label x"1"}: = is missing`}[strict], strict, "")
		f(`a{x="1" y="2"} 1`, "", `a: label x: a comma or } is missing`, strict, "")
		f(`a{x="1`, "", `a: label x: its value does not end`, strict, "")
		f(`a{x="1\"`, "", `a: label x: its value does not end`, strict, "")
		f(`a{x="1"`, "", `a: label x: a comma or } is missing`, strict, "")
	}
	f(`a-b{c.d="1"} 1`, ` 1`, "", false, "a-b", "c.d", "1")
	f(`a-b 1`, "", `"a-b" is not the name of a metric`, true, "")
	f(`1a 1`, "", `"1a 1" does not begin with the name of a metric`, true, "")
	f(`a{x="1",x="2"} 1`, " 1", "", false, "a", "x", "2")
	f(`a{x="1",x="2"} 1`, "", "a: label x is there twice", true, "")
	f("a{x=\"\x00\"} 1", "", "a: label x: a NUL in its value", true, "")
}

func TestComment(t *testing.T) {
	f := func(line string, want ...string) {
		t.Helper()
		a, b, c := openmetrics.Comment([]byte(line))
		if got := []string{string(a), string(b), string(c)}; !slices.Equal(got, want) {
			t.Errorf("Comment(%q) = %q, want %q", line, got, want)
		}
	}
	f("# HELP a_b  what it is ", "HELP", "a_b", "what it is")
	f("#TYPE a counter", "TYPE", "a", "counter")
	f("# EOF", "EOF", "", "")
	f("#", "", "", "")
	if got, want := openmetrics.Help(`a\\nb\nc\"`), "a\\nb\nc\""; got != want {
		t.Errorf("Help = %q, want %q", got, want)
	}
}

func TestParseSample(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		s := openmetrics.ParseSample([]byte(in))
		got := []string{string(s.Value), string(s.Timestamp), string(s.Exemplar), string(s.Extra)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseSample(%q):\n%s", in, diff)
		}
	}
	f(" 1", "1", "", "", "")
	f("1 1395066363000", "1", "1395066363000", "", "")
	f(` 9 # {trace_id="x # y"} 0.6 12`, "9", "", `{trace_id="x # y"} 0.6 12`, "")
	f(" 9 12.5 # {} 1", "9", "12.5", "{} 1", "")
	f(" 9 12.5 7 8", "9", "12.5", "", "7 8")
	f("", "", "", "", "")
}

func TestParseFloat(t *testing.T) {
	for _, s := range []string{
		"0", "-0", "1", "12.5", "-12.50", "0.1", ".5", "5.", "123456789012345", "1234567890123456", "9007199254740993", "9007199254740992",
		"0.1234567890123456", "1e3", "1.70205394e+08", "-1E-7", "+1", "1e999", "-1e999", "NaN", "nan", "Inf", "+Inf", "-inf", "infinity",
		"12345678901234567890", "0.000001", "3.141592653589793", "1.7976931348623157e308", "4.9e-324",
	} {
		want, _ := strconv.ParseFloat(s, 64)
		got, ok := openmetrics.ParseFloat([]byte(s))
		if !ok || math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("ParseFloat(%s) = %v, %v, want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "-", ".", "-.", "1_0", "0x10", "1p4", "1.2.3", "--1", "1e", "abc", "1 ", strings.Repeat("1", 401)} {
		if f, ok := openmetrics.ParseFloat([]byte(s)); ok {
			t.Errorf("ParseFloat(%.20q) = %v, want none", s, f)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	line := []byte(`http_requests_total{method="post",code="200",path="/a\"b"} 1027.25 1395066363000`)
	if n := testing.AllocsPerRun(100, func() {
		n, err := openmetrics.SeriesLen(line)
		f, ok := openmetrics.ParseFloat(openmetrics.ParseSample(line[n:]).Value)
		if err != nil || !ok || f != 1027.25 {
			t.Fatal(err, ok, f)
		}
	}); n != 0 {
		t.Errorf("%v allocations a line, want 0", n)
	}
}

// FuzzSeries checks that SeriesLen and lenient parsing agree, that strict parsing accepts no more than
// lenient, and that accepted series can be written and read again.
func FuzzSeries(f *testing.F) {
	for _, s := range []string{
		`a 1`, `a{x="1",y="\\\"\n"} 2 3 # {a="b"} 1`, `a{x="1"`, `{`, `{}{`, `a{}`, `a {,} 1`, `a{="`, `a{x="\`, "a{\"b c\"=\"d\"} NaN", "\xff{\xff=\"\xff\"}\xff", `a{x="1" , } +Inf`, "a\t{x=\"\x00\"} 1",
		`# HELP a b`, `a{x="1",x="2",x="3"} 1`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if slices.Contains(line, '\n') {
			return
		}
		n, err := openmetrics.SeriesLen(line)
		s, m, err2 := openmetrics.ParseSeries(line, false)
		if (err == nil) != (err2 == nil) || n != m {
			t.Fatalf("SeriesLen = %d, %v; ParseSeries = %+v, %d, %v", n, err, s, m, err2)
		}
		strict, k, err3 := openmetrics.ParseSeries(line, true)
		if err3 == nil && (err != nil || k != n || !cmp.Equal(s, strict)) {
			t.Fatalf("strict %+v, %d, but lenient %+v, %d, %v", strict, k, s, n, err2)
		}
		openmetrics.Comment(line)
		openmetrics.ParseFloat(openmetrics.ParseSample(line).Value)
		if err3 != nil {
			return
		}
		var b strings.Builder
		b.WriteString(s.Name + "{")
		for _, l := range s.Labels {
			fmt.Fprintf(&b, "%s=\"%s\",", l.Name, strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`).Replace(l.Value))
		}
		b.WriteString("}")
		again, _, err := openmetrics.ParseSeries([]byte(b.String()), true)
		again.Braces = s.Braces
		if err != nil || !cmp.Equal(again.Labels, s.Labels) || again.Name != s.Name {
			t.Fatalf("%+v written is %s, and read again %+v, %v", s, b.String(), again, err)
		}
	})
}

// FuzzScanner checks that a text has the same lines for any size of reads.
func FuzzScanner(f *testing.F) {
	f.Add("a 1\nb 2\r\n\n # c")
	f.Add(strings.Repeat("x", 70) + "\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		read := func(r io.Reader) (lines []string) {
			s := openmetrics.NewScanner(r, openmetrics.Limits{Line: 64, Bytes: 4096})
			for s.Next() {
				lines = append(lines, string(s.Line()))
			}
			return append(lines, fmt.Sprint(s.Err() == nil))
		}
		if a, b := read(strings.NewReader(text)), read(iotest.HalfReader(strings.NewReader(text))); len(text) <= 4096 && !slices.Equal(a, b) {
			t.Fatalf("%q, then %q", a, b)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "http_requests_total{method=\"post\",code=\"200\",path=\"/api/v1/%d\"} %d.5\n", i, i*1000)
	}
	s := openmetrics.NewScanner(nil, openmetrics.Limits{})
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	r := strings.NewReader("")
	for b.Loop() {
		r.Reset(text.String())
		s.Reset(r)
		for s.Next() {
			n, err := openmetrics.SeriesLen(s.Line())
			if err != nil {
				b.Fatal(err)
			}
			openmetrics.ParseFloat(openmetrics.ParseSample(s.Line()[n:]).Value)
		}
	}
}
