package diagnosis_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis/diagnosistest"
	"github.com/go-pcp/pcp/pmapi"
)

// diagnose diagnoses an archive.
func diagnose(t *testing.T, base string, change ...func(*diagnosis.Config)) *diagnosis.Diagnosis {
	t.Helper()
	d, err := try(t, base, change...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func try(t *testing.T, base string, change ...func(*diagnosis.Config)) (*diagnosis.Diagnosis, error) {
	t.Helper()
	return tryContext(context.Background(), t, base, change...)
}

func tryContext(ctx context.Context, t *testing.T, base string, change ...func(*diagnosis.Config)) (*diagnosis.Diagnosis, error) {
	t.Helper()
	a, err := pmapi.OpenArchive(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	rules, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	cfg := diagnosis.Config{Context: a.Context, Rules: rules}
	for _, fn := range change {
		fn(&cfg)
	}
	return diagnosis.Run(ctx, cfg)
}

// TestFaults stages faults, and expects the first finding to name the cause and the culprit.
func TestFaults(t *testing.T) {
	for _, test := range diagnosistest.Faults() {
		t.Run(test.Name, func(t *testing.T) {
			d := diagnose(t, diagnosistest.New(t).Fault(test.Change))
			if len(d.Findings) == 0 {
				t.Fatal("nothing is short")
			}
			for i := range d.Findings {
				f := &d.Findings[i]
				t.Logf("%s (effect of %d, severe %v): %s; %+v", f.ID, f.Cause, f.Severe, f.Text, f.Takers)
			}
			f := &d.Findings[0]
			if f.ID != test.ID || !strings.Contains(f.Instance, test.Of) || test.Of == "" && f.Instance != "" {
				t.Fatalf("the first finding is %s of %q, want %s of %q", f.ID, f.Instance, test.ID, test.Of)
			}
			if f.AtStart || f.Since.Compare(d.Start.Add((diagnosistest.FaultStep-1)*diagnosistest.Interval)) < 0 {
				t.Errorf("it is true since %v, before the fault", f.Since)
			}
			switch {
			case test.Culprit == "" && len(f.Takers) > 0:
				t.Errorf("taken by %+v, want nobody", f.Takers)
			case test.Culprit != "" && (len(f.Takers) == 0 || !strings.Contains(f.Takers[0].Instance, test.Culprit)):
				t.Errorf("taken by %+v, want %s first", f.Takers, test.Culprit)
			case test.Culprit == "culprit" && f.Takers[0].Kind == "process":
				if s := f.Takers[0]; s.PID != 4711 || s.Instance != "/usr/bin/culprit --fast" || s.User != "mallory" || s.CGroup != "/user.slice/culprit.scope" {
					t.Errorf("taken by %+v", s)
				}
			}
			for id := range strings.FieldsSeq(test.Effects) {
				i := slices.IndexFunc(d.Findings, func(f diagnosis.Finding) bool { return f.ID == id })
				if i < 0 || d.Findings[i].Cause < 0 {
					t.Errorf("%s is not found as an effect", id)
				}
			}
			if d.Findings[0].ID != "cpu.one" && d.Compared == nil {
				t.Error("nothing was compared")
			}
		})
	}
}

// TestSound expects no finding in recordings of sound hosts.
func TestSound(t *testing.T) {
	for _, test := range diagnosistest.SoundHosts() {
		t.Run(test.Name, func(t *testing.T) {
			d := diagnose(t, diagnosistest.New(t).Write(test.Change))
			for i := range d.Findings {
				t.Errorf("%s: %s", d.Findings[i].ID, d.Findings[i].Text)
			}
			if d.Checked < 35 {
				t.Errorf("%d rules are checked; unchecked: %+v", d.Checked, d.Unchecked)
			}
		})
	}
}

// TestRootTakesNothing stages faults for a client that sees no processes. The control group of the whole host is not a culprit.
func TestRootTakesNothing(t *testing.T) {
	groups := 0
	for _, test := range diagnosistest.Faults() {
		d := diagnose(t, diagnosistest.New(t).Fault(test.Change), func(cfg *diagnosis.Config) {
			cfg.Hidden = func(name string, _ pcp.Desc) bool { return strings.HasPrefix(name, "proc.") }
		})
		for i := range d.Findings {
			for _, sh := range d.Findings[i].Takers {
				if sh.Kind == "cgroup" {
					groups++
				}
				if sh.Kind == "cgroup" && sh.Instance == "/" {
					t.Errorf("%s: %s is taken by the root", test.Name, d.Findings[i].ID)
				}
			}
		}
	}
	if groups == 0 {
		t.Error("no control group takes anything")
	}
}
