package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/performancecopilot/speed/v4"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/mmv"
)

func TestMain(m *testing.M) {
	os.Exit(private(func(string) int { return m.Run() }))
}

// TestSpeedFile reads files of speed, of version 1 and 2.
func TestSpeedFile(t *testing.T) {
	dir := os.Getenv("MMVBENCH_DIR")
	for version, long := range map[int]string{1: "instance", 2: "an instance whose name is too long for a record of the first version"} {
		c, err := speed.NewPCPClient("speedfile")
		if err != nil {
			t.Fatal(err)
		}
		count, err := speed.NewPCPCounter(7, "a.count", "short", "a longer help text")
		if err != nil {
			t.Fatal(err)
		}
		gauge, err := speed.NewPCPGauge(0, "a.gauge")
		if err != nil {
			t.Fatal(err)
		}
		text, err := speed.NewPCPSingletonMetric("hello", "a.text", speed.StringType, speed.DiscreteSemantics, speed.OneUnit)
		if err != nil {
			t.Fatal(err)
		}
		vec, err := speed.NewPCPCounterVector(map[string]int64{"one": 1, long: 0}, "a.vec")
		if err != nil {
			t.Fatal(err)
		}
		c.MustRegister(count)
		c.MustRegister(gauge)
		c.MustRegister(text)
		c.MustRegister(vec)
		c.MustStart()
		count.MustInc(42)
		gauge.MustSet(-1.5)
		vec.MustInc(9, long)

		path := filepath.Join(dir, "mmv", "speedfile")
		f, err := mmv.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		fd, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, raw, err := f.ReadValues(fd, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f.Version != version || len(f.Problems) > 0 || f.Process != os.Getpid() {
			t.Errorf("version %d, problems %v, process %d", f.Version, f.Problems, f.Process)
		}
		got := map[string]any{}
		for _, m := range f.Metrics {
			for _, v := range m.Values {
				name := m.Name
				for _, d := range f.InDoms {
					for _, in := range d.Instances {
						if d.Serial == m.InDom && in.Inst == v.Inst {
							name += "[" + in.Name + "]"
						}
					}
				}
				switch r := raw[v.Index]; m.Type {
				case mmv.TypeDouble:
					got[name] = math.Float64frombits(r.Bits)
				case mmv.TypeString:
					got[name], err = f.ReadText(fd, v.Index)
				default:
					got[name] = int(r.Bits)
				}
			}
			if m.Name == "a.count" && (m.OneLine != "short" || m.Help != "a longer help text" || m.Sem != pcp.SemCounter) {
				t.Errorf("%+v", m)
			}
		}
		want := map[string]any{"a.count": 49, "a.gauge": -1.5, "a.text": "hello", "a.vec[one]": 1, "a.vec[" + long + "]": 9}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("version %d: %v\n%s", version, err, d)
		}
		fd.Close()
		c.MustStop()
	}
}

// TestMeasure runs each measurement once, so that they do not rot.
func TestMeasure(t *testing.T) {
	if err := measure(t.Output(), os.Getenv("MMVBENCH_DIR"), 1, 1000, regexp.MustCompile("")); err != nil {
		t.Fatal(err)
	}
}
