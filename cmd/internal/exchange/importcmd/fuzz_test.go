package importcmd_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/archive"
)

// FuzzCSV imports whatever bytes.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{
		"time,a\n1,2\n", "time;a[x];a[y]\n2026-01-01T00:00:00Z;1;\n2026-01-01T00:00:01Z;;1.5\n",
		"a,b (counter KB u64),when\n1,2,3\n", "\xef\xbb\xbftime\ta\n1\t\"x\ny\"\n", "time,a-b,a.b-c\n1,2,3\n", "time\n", "", "\n\n", ",,\n,,\n",
		"time,a\n1,\x00\n", "time,a\n99999999999999999999,1\n", "time,a[],[a],a[b\n1,2,3,4\n", "t,a\n1e9,1\n-1,1\n", "time,a\n\"1,1\n",
		"Time,\"x.y-1 minute\"\n2013-07-06 00:17:01,0.9\n", "time,é.9,_,a..b,a.\n1,1,1,1,1\n",
	} {
		f.Add(s, "")
		f.Add(s, "%Y-%m-%d")
	}
	f.Fuzz(func(t *testing.T, s, format string) {
		base := filepath.Join(t.TempDir(), "x")
		args := []string{"csv", "-h", "h", "--archive-version", "3", "-Z", "UTC", "-", base}
		if format != "" {
			args = append(args, "-f", format)
		}
		checkImport(t, "pcp import csv: ", base, s, args)
	})
}

// checkImport imports: there is an archive that can be read, or a message and no file.
func checkImport(t *testing.T, prefix, base, stdin string, args []string) {
	t.Helper()
	out, status := run(stdin, nil, args...)
	if status != 0 {
		if !strings.HasPrefix(out, prefix) && !strings.Contains(out, "\n"+prefix) {
			t.Errorf("exit %d: %q", status, out)
		}
		if list, _ := filepath.Glob(base + ".*"); list != nil {
			t.Errorf("exit %d: %q, but there is %v", status, out, list)
		}
		return
	}
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	n := 0
	for _, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Error("no records")
	}
}

// The other importers read whatever bytes in the same way.

func FuzzSar(f *testing.F) {
	for _, s := range sarDocuments {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		base := filepath.Join(t.TempDir(), "x")
		checkImport(t, "pcp import sar: ", base, s, []string{"sar", "-", base})
	})
}

func FuzzIostat(f *testing.F) {
	for _, s := range iostatReports {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		base := filepath.Join(t.TempDir(), "x")
		checkImport(t, "pcp import iostat: ", base, s, []string{"iostat", "-v", "-", base})
	})
}

func FuzzMRTG(f *testing.F) {
	for _, s := range []string{
		"3 1 2\n3 1 2 3 4\n2 5 6 7 8\n1 9 9 9 9\n0 0 0 0 0\n", "", "1\n", "1\n1\n", "1 1 1\n1 -1 0\n", "x\n1 1 1\n2 1 1\n",
		"x\n9999999999999 1 1\n", "x\n253402300799 18446744073709551615 1\n1 1 1\n", "x\n2 1,5 1\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		base := filepath.Join(t.TempDir(), "x")
		checkImport(t, "pcp import mrtg: ", base, s, []string{"mrtg", "h", "eth0", "UTC", "-", base})
	})
}

func FuzzPrometheus(f *testing.F) {
	for _, s := range []string{
		"# HELP a b\n# TYPE a counter\na 1\n", "a{b=\"c\",d=\"e f\"} 1.5 1700000000000\na{b=\"x\"} NaN 1700000000001\n",
		"# TYPE h histogram\nh_bucket{le=\"+Inf\"} 3 # {x=\"y\"} 1\nh_sum 2\nh_count 3\n# EOF\n", "a{b=\"\\\"\\n\\x\"} +Inf\n", "a{} 1\na 2\n", "a{",
		"a 1 1\na 2 1\n", ":a:b::c_:_ 1\n_ 1\n", "a 1 0.000000001\na 2 99999999999\na 3 100000000000\n", "# EOF\n1\n", "# TYPE a b\n", "a{_b=\"c\"} 1\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		base := filepath.Join(t.TempDir(), "x")
		checkImport(t, "pcp import prometheus: ", base, s, []string{"prometheus", "-t", "2026-01-01", "-h", "h", "-", base})
	})
}

// FuzzBenchmarks imports whatever bytes as the results of benchmarks.
func FuzzBenchmarks(f *testing.F) {
	for _, s := range []string{
		`{"backend":"b","model_id":"m","date":"20250929-080417","duration":1.5,"completed":3,"request_rate":"inf"}`,
		`{"backend":"b","model_id":"m","date":"20250929-080417","duration":Infinity,"label":"\"NaN"}`,
		`{"model_id":"x","report":{"backend":"b","model_id":"m","date":"19700101-000000","duration":0,"mean_itl_ms":NaN,"p99_itl_ms":-Infinity}}`,
		`{"benchmarks":[{"id_":"b","run_id":"r","duration":1,"run_stats":{"start_time":1,"end_time":2,"requests_made":{"total":1}},"metrics":{}}]}`,
		`{"benchmarks":[{"id_":"b","run_id":"r","run_stats":{"start_time":1,"end_time":2,"requests_made":{}},"metrics":{"requests_per_second":{"total":{"mean":1e400}},"request_latency":{"total":{}},"time_to_first_token_ms":{"total":{}},"time_per_output_token_ms":{"total":{}},"inter_token_latency_ms":{"total":{}},"output_tokens_per_second":{"total":{}},"tokens_per_second":{"total":{"count":1}}}}]}`,
		`{"benchmarks":[{"id_":"b"},{"id_":"b"}]}`, `{"benchmarks":[null]}`, `[]`, `{`, ``, `"`, `"\`, `NaN`, `{"report":1}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"vllmbench", "guidellm"} {
			base := filepath.Join(t.TempDir(), "x")
			checkImport(t, "pcp import "+name+": ", base, s, []string{name, "-a", base, "-"})
		}
	})
}
