package series

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/seriestest"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/seriesapi"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// call runs the command, and returns its status and output.
func call(t *testing.T, server string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	status := run(context.Background(), &cli.Env{
		Name: "pmseries", Args: append([]string{"-h", host, "-p", port}, args...), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string {
			if name == "TZ" {
				return "UTC"
			}
			return ""
		},
		Command: Command,
	})
	s := out.String()
	if errs.Len() > 0 {
		s += "stderr: " + errs.String()
	}
	if status != 0 {
		s += fmt.Sprintf("status %d\n", status)
	}
	return s
}

// TestReports compares with the output of pmseries 6.0.3 for such series.
func TestReports(t *testing.T) {
	s := seriestest.New()
	labels := `{"hostname":"h","rank":1}`
	load := s.AddMetric("kernel.all.load", pcp.Desc{PMID: pcp.NewPMID(60, 2, 0), Type: pcp.TypeFloat, InDom: pcp.NewInDom(60, 2), Sem: pcp.SemInstant}, labels, "/a/h", "h")
	one, five := s.AddInstance(load, 1, "1 minute", ""), s.AddInstance(load, 5, "5 minute", "")
	calls := s.AddMetric("calls", pcp.Desc{PMID: pcp.NewPMID(60, 0, 13), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}}, labels, "h")
	at := pcp.Timestamp{Sec: 1000, Nsec: 5_008_000}
	s.Append(load, at, series.InstValue{Instance: five, Value: pcp.FloatValue(1.5)}, series.InstValue{Instance: one, Value: pcp.FloatValue(2)})
	s.Append(calls, at, series.InstValue{Value: pcp.Uint64Value(7)})
	m, err := s.Metric(context.Background(), load)
	if err != nil {
		t.Fatal(err)
	}
	h, err := seriesapi.New(seriesapi.Config{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	ids := []string{"LOAD", load.String(), "CALLS", calls.String(), "ONE", one.String(), "FIVE", five.String(), "SOURCE", m.Source.String()}
	back := make([]string, len(ids))
	for i := range ids {
		back[i] = ids[i^1]
	}
	short, long := strings.NewReplacer(back...), strings.NewReplacer(ids...)
	unknown := sid.ID{1}.String()
	for _, c := range [][2]string{
		{"calls", "CALLS\n"},
		{"kernel.all.load[samples:1]", "\nLOAD\n    [Thu Jan  1 00:16:40.005008000 1970] 1.500000e+00 FIVE\n    [Thu Jan  1 00:16:40.005008000 1970] 2.000000e+00 ONE\n"},
		{"-t calls[samples:1]", "\nCALLS\n    [1000005.008] 7\n"},
		{"-Z EST5 calls[samples:1]", "\nCALLS\n    [Wed Dec 31 19:16:40.005008000 1969] 7\n"},
		{"-w samples:1 CALLS", "\nCALLS\n    [Thu Jan  1 00:16:40.005008000 1970] 7\n"},
		{"-F calls[samples:1]", "CALLS\n"},
		{"LOAD", "\nLOAD\n    PMID: 60.2.0\n    Data Type: float  InDom: 60.2 0xf000002\n    Semantics: instant  Units: none\n    Source: SOURCE\n" +
			"    Metric: kernel.all.load\n    labels {\"hostname\":\"h\",\"rank\":1}\n    inst [1 or \"1 minute\"] series ONE\n    inst [5 or \"5 minute\"] series FIVE\n" +
			"    inst [1 or \"1 minute\"] labels {\"hostname\":\"h\",\"rank\":1}\n    inst [5 or \"5 minute\"] labels {\"hostname\":\"h\",\"rank\":1}\n"},
		{"-d LOAD,CALLS", "\nLOAD\n    PMID: 60.2.0\n    Data Type: float  InDom: 60.2 0xf000002\n    Semantics: instant  Units: none\n" +
			"\nCALLS\n    PMID: 60.0.13\n    Data Type: 64-bit unsigned int  InDom: PM_INDOM_NULL 0xffffffff\n    Semantics: counter  Units: count\n"},
		{"-sI CALLS", "\nCALLS\n     InDom: PM_INDOM_NULL = 4294967295 = 0xffffffff\n    Source: SOURCE\n"},
		{"-M CALLS", "\nCALLS\n    PMID: 60.0.13 = 251658253 = 0xf00000d\n"},
		{"-d " + unknown, "\n" + unknown + "\n    PMID: PM_ID_NULL\n    Data Type: ???  InDom: unknown 0xffffffff\n    Semantics: unknown  Units: unknown\n"},
		{"-m LOAD CALLS", "\nLOAD\n    Metric: kernel.all.load\n\nCALLS\n    Metric: calls\n"},
		{"-n CALLS", "\nCALLS\n    Labels: hostname, rank\n"},
		{"-n LOAD", "\nLOAD\n    Labels: hostname, rank\n\nONE    Labels: hostname, rank\n\nFIVE    Labels: hostname, rank\n"},
		{"-i LOAD", "\nLOAD\n    inst [1 or \"1 minute\"] series ONE\n    inst [5 or \"5 minute\"] series FIVE\n"},
		{"-S", "/a/h\nh\n"},
		{"-S SOURCE", "    Context: /a/h, h\n"},
		{"-Sg /*", "/a/h\n"},
		{"-mli", "calls\nkernel.all.load\nhostname\nrank\n1 minute\n5 minute\n"},
		{"-v hostname,rank nosuch", "hostname: \"h\"\nrank: 1\n"},
		{"-v -w [samples:1] abc", "stderr: pmseries: [Error] Invalid SID abc near offset 2\nstatus 1\n"},
		{"-L /a/h", "stderr: pmseries: [Error] No permission to perform requested operation\nstatus 1\n"},
		{"rate(kernel.all.load)", "stderr: pmseries: [Error] Can't rate convert 'kernel.all.load', counter semantics required\nstatus 1\n"},
		{"-F a(", "stderr: pmseries: [Error] cannot parse given string\n\na(\n ^ -- syntax error\n\nstatus 1\n"},
		{"-w a CALLS", "stderr: pmseries: [Error] cannot parse given string\n\n[a]\n ^ -- syntax error\n\npmseries: invalid time specification '[a]': Invalid argument\nstatus 1\n"},
		{"-Mm", "stderr: pmseries: Invalid argument\nstatus 1\n"},
	} {
		if got := short.Replace(call(t, server.Listener.Addr().String(), strings.Fields(long.Replace(c[0]))...)); got != c[1] {
			t.Errorf("%s:\n%s\nwant\n%s", c[0], got, c[1])
		}
	}
}

// TestBadServers rejects answers that are not pmproxy's.
func TestBadServers(t *testing.T) {
	answer := ""
	status := 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	addr := server.Listener.Addr().String()
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{200, "<html>", "this is not a pmproxy"},
		{200, `[{"series":"a","timestamp":1`, "the answer to /series/query: unexpected EOF"},
		{200, `[{"series":"a","timestamp":-1,"value":"1"}]`, `"-1" is not a time in milliseconds`},
		{200, `[{"series":"a","timestamp":1e99,"value":"1"}]`, `is not a time in milliseconds`},
		{200, `["a"`, "the answer to /series/query"},
		{500, "<html>", "answers 500 Internal Server Error to /series/query"},
		{400, `{"success":false}`, "Invalid argument"},
	} {
		status, answer = c.status, c.answer
		if got := call(t, addr, "a"); !strings.Contains(got, c.want) || !strings.HasSuffix(got, "status 1\n") {
			t.Errorf("%d %s: %s, want %s", c.status, c.answer, got, c.want)
		}
	}
	status, answer = 200, `[]`
	if got := call(t, addr, "-v", "a"); !strings.Contains(got, "/series/labels") {
		t.Error(got)
	}
}
