package sample_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/sample"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// start runs our collector with the agent in its process.
func start(t testing.TB) (host string) {
	t.Helper()
	a, err := sample.New(sample.Config{DynamicPath: filepath.Join(t.TempDir(), "dynamic.indom")})
	if err != nil {
		t.Fatal(err)
	}
	return agenttest.Serve(t, "sample", sample.Domain, a)
}

var (
	moving = regexp.MustCompile(`^sample\.(seconds|milliseconds|dupnames\.two\.seconds|daemon_pid|dupnames\.(daemon_pid|pid_daemon)|` +
		`sysinfo|datasize|ulonglong\.bin|proc\.time|step|pdu|recv_pdu|xmit_pdu|percontext\.|secret\.foo\.bar\.max\.redirect)`)
	value  = regexp.MustCompile(`value .*$|No value\(s\) available!$`)
	clock  = regexp.MustCompile(`\b\d\d:\d\d:\d\d\.\d+`)
	labels = regexp.MustCompile(`"(domainname|groupid|hostname|machineid|userid)":("[^"]*"|\d+),?`)
)

// steady replaces values that depend on the time, the process, the collector or the
// client.
func steady(out string) string {
	var lines []string
	moves := false
	for line := range strings.SplitSeq(out, "\n") {
		if line != "" && line[0] != ' ' && line[0] != 'N' {
			moves = moving.MatchString(line)
		}
		if moves {
			line = value.ReplaceAllString(line, "value NOW")
		}
		line = labels.ReplaceAllString(line, "")
		line = strings.ReplaceAll(line, ",}", "}")
		lines = append(lines, clock.ReplaceAllString(line, "CLOCK"))
	}
	return strings.Join(lines, "\n")
}

// TestOracle compares the agent in our collector with the C agent in the C one.
func TestOracle(t *testing.T) {
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ours := start(t)
	// Random values are the same for the same requests.
	same := func(tool string, args ...string) {
		t.Helper()
		want := d.Run(t, tool, append([]string{"-h", d.Unix}, args...)...)
		got := oracle.Run(t, tool, append([]string{"-h", ours}, args...)...)
		for _, o := range []*oracle.Output{&want, &got} {
			o.Stdout, o.Stderr = steady(o.Stdout), steady(o.Stderr)
			o.Stdout = redirect.ReplaceAllString(newer.ReplaceAllString(o.Stdout, ""), "\n")
			// The C collector changes this number to 0.
			o.Stdout = strings.ReplaceAll(o.Stdout, " (7000 missed)", "")
			o.Stderr = strings.ReplaceAll(strings.ReplaceAll(o.Stderr, d.Unix, "HOST"), ours, "HOST")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-theirs +ours):\n%s", tool, strings.Join(args, " "), diff)
		}
	}
	same("pmstore", "sample.controller.mirage", "1000000000")
	same("pminfo", "-dmfl", "sample")
	same("pminfo", "-I", "sample")
	for range 4 {
		same("pminfo", "-f", "sample")
	}
	same("pminfo", "-fx", "sample.event")
	same("pmstore", "-i", "bin-300", "sample.bin", "17")
	same("pmstore", "sample.bucket", "17")
	same("pmstore", "sample.ghosts.visible", "3")
	same("pminfo", "-dmf", "sample.ghosts", "sample.bin", "sample.needprofile")
	same("pminfo", "-m", "sample.secret")
}

// newer are the metrics that 6.0.3 lacks.
var newer = regexp.MustCompile(`\n+sample\.(temperature|voltage|current|power)\.[^\n]*(\n[^\n]+)*`)

// redirect is the metric of another agent, which our collector here lacks.
var redirect = regexp.MustCompile(`\n+sample\.secret\.foo\.bar\.max\.redirect[^\n]*(\n[^\n]+)*\n+`)

// TestOracleEvents compares the records of four fetches, except their times.
func TestOracleEvents(t *testing.T) {
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	ids := []pcp.PMID{pcp.NewPMID(29, 0, 136), pcp.NewPMID(29, 0, 137), pcp.NewPMID(29, 0, 139)}
	var got [2][][]pcp.EventRecord
	for side, host := range []string{d.Unix, start(t)} {
		c, err := pmapi.Dial(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range 8 {
			res, err := c.Fetch(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			for _, vs := range res.Sets {
				for _, v := range vs.Values {
					records, err := v.EventRecords()
					if err != nil {
						t.Fatal(err)
					}
					for i := range records {
						if i > 0 { // a second after the previous one, or the same time
							records[i].Time.Sec -= records[0].Time.Sec
							records[i].Time.Nsec -= records[0].Time.Nsec
						}
						if vs.PMID.Item() == 139 && records[i].Flags == pcp.EventMissed {
							records[i].Missed = 0 // changed by the C collector
						}
					}
					if len(records) > 0 {
						records[0].Time = pcp.Timestamp{}
					}
					got[side] = append(got[side], records)
				}
			}
		}
	}
	if diff := cmp.Diff(got[0], got[1], cmp.AllowUnexported(pcp.Value{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
}
