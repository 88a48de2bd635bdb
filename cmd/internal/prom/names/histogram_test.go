package names

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParseRange(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		name string
		want Range
		ok   bool
	}{
		{"0-1", Range{0, 1}, true},
		{"4-7", Range{4, 7}, true},
		{"1-1", Range{1, 1}, true},
		{"1024-inf", Range{1024, inf}, true},
		{"-inf--1", Range{-inf, -1}, true},
		{"-8--5", Range{-8, -5}, true},
		{"-8-5", Range{-8, 5}, true},
		{"-inf-inf", Range{-inf, inf}, true},
		{"9007199254740992-inf", Range{1 << 53, inf}, true},
		{name: "7-4"},
		{name: ""},
		{name: "-"},
		{name: "1"},
		{name: "1-"},
		{name: "-1"},
		{name: "a-b"},
		{name: "1-2-3"},
		{name: "sda1-2"},
		{name: "1.5-2"},
		{name: "+1-2"},
		{name: "1-+2"},
		{name: "inf-inf"},
		{name: "1 - 2"},
		{name: "1--inf"},
		{name: "0-9007199254740993"},
		{name: "0-99999999999999999999"},
		{name: "2024-01-02"},
	} {
		got, ok := ParseRange(c.name)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("ParseRange(%q) = %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestHistogram(t *testing.T) {
	f := func(instances, bounds string) *Histogram {
		t.Helper()
		h := NewHistogram(slices.Values(strings.Fields(instances)))
		got := ""
		if h != nil {
			got = strings.Join(h.Bounds, " ")
		}
		if got != bounds {
			t.Errorf("%q: bounds %q, want %q", instances, got, bounds)
		}
		return h
	}
	f("", "")
	f("0-1", "")
	f("0-1 0-1", "")
	f("0-1 sda", "")
	f("0-1 1-2", "")
	f("0-5 1-2", "")
	f("0-1048575 1048576-inf", "1.048575e+06 +Inf")
	f("-inf--1 0-0", "-1 0 +Inf")
	h := f("4-7 0-1 2-3 4-7", "1 3 7 +Inf")
	counts := h.Start(make([]float64, 1, 9))
	h.Add(counts, "4-7", 5)
	h.Add(counts, "0-1", 2)
	h.Add(counts, "8-15", 100) // is new, and not of the histogram
	h.Cumulate(counts)
	if want := []float64{2, 2, 7, 7}; !slices.Equal(counts, want) {
		t.Errorf("counts %v, want %v", counts, want)
	}
	if counts = h.Start(counts); !slices.Equal(counts, make([]float64, 4)) {
		t.Errorf("counts at the start: %v", counts)
	}
}

// FuzzParseRange parses any names: ranges that it accepts make histograms.
func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"0-1", "-inf--1", "1024-inf", "1-2-3", "", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r, ok := ParseRange(name)
		if !ok {
			return
		}
		if !(r.Low <= r.High) || math.IsNaN(r.High) {
			t.Fatalf("%q: %v", name, r)
		}
		again, ok := ParseRange(strings.Replace(boundText(r.Low)+"-"+strings.TrimPrefix(boundText(r.High), "+"), "Inf", "inf", 2))
		if !strings.ContainsAny(boundText(r.Low)+boundText(r.High), "e") && (!ok || again != r) {
			t.Fatalf("%q: %v, then %v", name, r, again)
		}
	})
}
