package rep

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
)

// testSet has a metric without instances and two of disks.
func testSet() *pmrep.Set {
	disks := []pcp.Instance{{Inst: 0, Name: "sda"}, {Inst: 1, Name: "sdb"}}
	indom := pcp.NewInDom(60, 1)
	return &pmrep.Set{Metrics: []*pmrep.Metric{
		{Name: "kernel.load", Label: "k.load", Desc: pcp.Desc{InDom: pcp.InDomNull}, Instances: []pcp.Instance{{Inst: pcp.InNull}}, Width: 6, Precision: 2},
		{Name: "disk.read", Label: "reads", Unit: "count/s", Desc: pcp.Desc{InDom: indom}, Instances: disks, Width: 5},
		{Name: "disk.write", Label: "writes", Unit: "count/s", Desc: pcp.Desc{InDom: indom}, Instances: disks, Width: 6},
	}}
}

// testSample has the values of testSet at a second; negative ones are missing.
func testSample(second int64, load float64, reads, writes [2]int) *pmrep.Sample {
	s := &pmrep.Sample{Time: pcp.Timestamp{Sec: second, Nsec: 5e8}, Results: make([][]pmrep.Value, 3)}
	if load >= 0 {
		s.Results[0] = []pmrep.Value{{Inst: pcp.InNull, Value: pcp.DoubleValue(load)}}
	}
	for i, values := range [][2]int{reads, writes} {
		for inst, n := range values {
			if n >= 0 {
				s.Results[i+1] = append(s.Results[i+1], pmrep.Value{Inst: int32(inst), Name: []string{"sda", "sdb"}[inst], Value: pcp.Uint64Value(uint64(n))})
			}
		}
	}
	return s
}

// testSamples are three samples, the second without the first disk and the third without values.
func testSamples() []*pmrep.Sample {
	return []*pmrep.Sample{
		testSample(0, 0.25, [2]int{7, 123456}, [2]int{1, 2}),
		testSample(1, 1234.5, [2]int{-1, 8}, [2]int{-1, 3}),
		testSample(2, -1, [2]int{-1, -1}, [2]int{-1, -1}),
	}
}

// written returns what a writer writes: a static header and the samples.
func written(t *testing.T, f *form, make func(l *line) writer, samples ...*pmrep.Sample) string {
	t.Helper()
	var b strings.Builder
	out := bufio.NewWriter(&b)
	w := make(newLine(f, out, time.UTC, false))
	if f.header && !f.dynamic {
		w.header(nil, false)
	}
	for _, s := range samples {
		if err := w.sample(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	out.Flush()
	return b.String()
}

// compare compares texts whose lines end with "|" where they have blanks at the end.
func compare(t *testing.T, got, want string) {
	t.Helper()
	got = strings.ReplaceAll(strings.ReplaceAll(got, " \n", " |\n"), "\n\n", "\n|\n")
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func settings(pairs ...string) conf.Settings {
	s := conf.Settings{"header": "1", "instinfo": "1", "unitinfo": "1"}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = pairs[i+1]
	}
	return s
}

func TestForm(t *testing.T) {
	f := func(output string, swapped bool, want form, pairs ...string) {
		t.Helper()
		want.output, want.header, want.unitInfo, want.instInfo = output, true, true, true
		if want.delim == "" {
			want.delim = "  "
		}
		if want.timeFormat == "" {
			want.timeFormat = "%H:%M:%S"
		}
		if got := newForm(settings(pairs...), output, swapped); got != want {
			t.Errorf("%q: %+v, want %+v", pairs, got, want)
		}
	}
	const csvTime = "%Y-%m-%d %H:%M:%S"
	f(outStdout, false, form{static: true})
	f(outStdout, false, form{static: true, stamps: true}, "timestamp", "1")
	f(outStdout, false, form{dynamic: true, delim: ":"}, "dynamic_header", "1", "delimiter", ":")
	f(outStdout, false, form{static: true}, "fixed_header", "1") // only of swapped output
	f(outStdout, true, form{fixed: true}, "fixed_header", "1")
	f(outStdout, true, form{dynamic: true}, "fixed_header", "1", "dynamic_header", "1")
	f(outStdout, true, form{dynamic: true}, "fixed_header", "1", "names_change", "2")
	f(outCSV, true, form{static: true, delim: ",", timeFormat: csvTime}, "fixed_header", "1")
	f(outCSV, false, form{dynamic: true, delim: ",", timeFormat: "%s"}, "dynamic_header", "1", "timefmt", "%s")
	f(outArchive, false, form{static: true}, "dynamic_header", "1")

	for delim, want := range map[string]string{"": "a_b c", " ": "a_b c", "_": "a b c", "b": "a__ c"} {
		f := form{delim: delim}
		if got := f.withoutDelimiter("a_b c"); got != want {
			t.Errorf("without %q: %q, want %q", delim, got, want)
		}
	}
}

func TestRepeater(t *testing.T) {
	r := &repeater{every: 2}
	var got []bool
	for range 6 {
		got = append(got, r.next())
	}
	if want := []bool{false, false, true, false, true, false}; !equal(got, want) {
		t.Errorf("every second sample: %v, want %v", got, want)
	}
	size := 3
	r, got = &repeater{auto: func() int { return size }}, nil
	for n := range 6 {
		if n == 4 {
			size = 1 // the terminal has become smaller
		}
		got = append(got, r.next())
	}
	if want := []bool{false, false, false, true, true, true}; !equal(got, want) {
		t.Errorf("each screen: %v, want %v", got, want)
	}
	r, got = &repeater{}, nil
	samples := testSamples()
	for _, i := range []int{2, 0, 0, 1, 1, 2, 0} {
		due, again := r.nextDynamic(samples[i])
		if again != (len(got) > 0) {
			t.Errorf("sample %d: again is %t", len(got), again)
		}
		got = append(got, due)
	}
	if want := []bool{false, true, false, true, false, false, true}; !equal(got, want) {
		t.Errorf("dynamic: %v, want %v", got, want)
	}
}

func equal(a, b []bool) bool {
	for i := range a {
		if len(a) != len(b) || a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestColumnTable(t *testing.T) {
	f := func(want string, pairs ...string) {
		t.Helper()
		s := settings(pairs...)
		form := newForm(s, outStdout, false)
		every, _ := s.Natural("repeat_header")
		compare(t, written(t, &form, func(l *line) writer {
			table := &columnTable{line: l, set: testSet(), repeat: &repeater{every: every}, width: 6}
			table.arrange(nil)
			return table
		}, testSamples()...), want)
	}
	f(`
  k.load  reads  reads  writes  writes
            sda    sdb     sda     sdb
          count  count  count/  count/
    0.25      7    xxx       1       2
  1234.5    N/A      8     N/A       3
     N/A    N/A    N/A     N/A     N/A
`)
	f(`
          k.load  reads  reads  writes  writes
00:00:00    0.25      7    xxx       1       2
00:00:01  1234.5    N/A      8     N/A       3
|
          k.load  reads  reads  writes  writes
00:00:02     N/A    N/A    N/A     N/A     N/A
`, "timestamp", "1", "unitinfo", "0", "instinfo", "0", "repeat_header", "2")
	f(`
[ 1] - kernel.load - none
[ 2] - disk.read["sda"] - count/s
[ 3] - disk.read["sdb"] - count/s
[ 4] - disk.write["sda"] - count/s
[ 5] - disk.write["sdb"] - count/s
|
       1      2      3       4       5
    0.25      7    xxx       1       2
  1234.5    N/A      8     N/A       3
     N/A    N/A    N/A     N/A     N/A
`, "separate_header", "1")
	f(`
:k.load:reads:reads:writes:writes
:     ::  sda:  sdb:   sda:   sdb
:  0.25:    7:  xxx:     1:     2
|
:k.load:reads:writes
:     ::  sdb:   sdb
:1234.5:    8:     3
:   N/A
`, "dynamic_header", "1", "delimiter", ":", "unitinfo", "0")
}

func TestSwappedTable(t *testing.T) {
	f := func(want, sortBy string, pairs ...string) {
		t.Helper()
		form := newForm(settings(append(pairs, "unitinfo", "0")...), outStdout, true)
		compare(t, written(t, &form, func(l *line) writer {
			table := &swappedTable{line: l, set: testSet(), repeat: &repeater{}, corner: "DISK"}
			if sortBy != "" {
				table.sortBy = strings.Split(sortBy, ",")
			}
			table.arrange(nil)
			return table
		}, testSamples()...), want)
	}
	f(`
  DISK  k.load  reads  writes
     =    0.25      ~       ~
   sda       ~      7       1
   sdb       ~    xxx       2
     =  1234.5      ~       ~
   sda       ~    N/A     N/A
   sdb       ~      8       3
     =     N/A      ~       ~
   sda       ~    N/A     N/A
   sdb       ~    N/A     N/A
`, "")
	f(`
  DISK  k.load  reads  writes
   sdb       ~    xxx       2
   sda       ~      7       1
     =    0.25      ~       ~
   sdb       ~      8       3
   sda       ~    N/A     N/A
     =  1234.5      ~       ~
   sdb       ~    N/A     N/A
   sda       ~    N/A     N/A
     =     N/A      ~       ~
`, "disk.write")
	f(`
  DISK  k.load  reads  writes
     =    0.25      ~       ~
   sda       ~      7       1
   sdb       ~    xxx       2
|
  DISK  k.load  reads  writes
     =  1234.5      ~       ~
   sdb       ~      8       3
   N/A
`, "", "dynamic_header", "1")
	f(`
[ 1] - kernel.load
[ 2] - disk.read
[ 3] - disk.write
|
             1      2       3
     =    0.25      ~       ~
   sda       ~      7       1
   sdb       ~    xxx       2
     =  1234.5      ~       ~
   sdb       ~      8       3
   N/A       ~      ~       ~
`, "", "fixed_header", "1", "separate_header", "1")
}

func TestCSVTable(t *testing.T) {
	f := func(want string, extended bool, pairs ...string) {
		t.Helper()
		form := newForm(settings(pairs...), outCSV, false)
		compare(t, written(t, &form, func(l *line) writer {
			table := &csvTable{line: l, set: testSet(), repeat: &repeater{}}
			if extended {
				table.extended = func() (host, zone string) { return "app1", " UTC+0" }
			}
			return table
		}, testSamples()...), want)
	}
	f(`
Time,"kernel.load","disk.read-sda","disk.read-sdb","disk.write-sda","disk.write-sdb"
1970-01-01 00:00:00,0.25,7,123456,1,2
1970-01-01 00:00:01,1234.50,,8,,3
1970-01-01 00:00:02,,,,,
`, false)
	f(`
app1,0,1970-01-01 00:00:00 UTC+0,0.25,7,123456,1,2
app1,1,1970-01-01 00:00:01 UTC+0,1234.50,,8,,3
app1,1,1970-01-01 00:00:02 UTC+0,,,,,
`, true, "header", "0")
	f(`
Time;"kernel.load";"disk.read-sda";"disk.read-sdb";"disk.write-sda";"disk.write-sdb"
0;0.25;7;123456;1;2
Time;"kernel.load";"disk.read-sdb";"disk.write-sdb"
1;1234.50;8;3
2
`, false, "dynamic_header", "1", "delimiter", ";", "timefmt", "%s")
}

func TestRanking(t *testing.T) {
	form := newForm(settings("header", "0"), outStdout, false)
	samples := testSamples()
	f := func(want string, rank int, spec bool) {
		t.Helper()
		compare(t, written(t, &form, func(l *line) writer { return &ranking{line: l, set: testSet(), rank: rank, spec: spec} }, samples...), want)
	}
	f(`
kernel.load                    1234.50
disk.read     sdb   count/s     123456
disk.write    sdb   count/s          3
`, 1, false)
	f(`
kernel.load                    0.25
disk.read     sda   count/s       7
disk.read     sdb   count/s       8
disk.write    sda   count/s       1
disk.write    sdb   count/s       2
`, -2, false)
	f(`
kernel.load,,
disk.read,,"'sdb','sda'"
disk.write,,"'sdb','sda'"
`, 2, true)
}
