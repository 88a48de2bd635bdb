package prommmv

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/mmv"
)

// The real agent and tools show a bridged histogram with its labels.
func TestOracle(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "mmv"}})
	reg, err := mmv.New("bridged", mmv.Options{Dir: filepath.Join(d.Dir, "tmp", "mmv")})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	prom := prometheus.NewRegistry()
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "took_seconds", Help: "Time it took.", Buckets: []float64{.5},
	}, []string{"op"})
	prom.MustRegister(took)
	took.WithLabelValues("read, then write").Observe(.25)
	took.WithLabelValues("read, then write").Observe(4)
	e := Export(reg, prom, Options{})
	defer e.Stop()
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	for metric, lines := range map[string][]string{
		"mmv.bridged.took_seconds_sum": {
			`\[Time it took\.\]`, `Data Type: double `, `Semantics: counter  Units: sec`,
			`inst \[0 or "op=read\\, then write"\] value 4\.25`, `inst \[0 or "op=read\\, then write"\] labels .*"op":"read, then write"`,
		},
		"mmv.bridged.took_seconds_bucket": {
			`Data Type: 64-bit unsigned int `, `Semantics: counter  Units: count`,
			`inst \[0 or "op=read\\, then write,le=0\.5"\] value 1`, `inst \[1 or "op=read\\, then write,le=\+Inf"\] value 2`,
			`inst \[1 or .*\] labels .*"le":"\+Inf",.*"op":"read, then write"`,
		},
	} {
		out := d.Run(t, "pminfo", "-h", d.Unix, "-dftl", metric)
		if out.Exit != 0 || out.Stderr != "" {
			t.Fatalf("pminfo: %+v", out)
		}
		for _, line := range lines {
			if !regexp.MustCompile(line).MatchString(out.Stdout) {
				t.Errorf("%s: no %s in\n%s", metric, line, out.Stdout)
			}
		}
	}
}
