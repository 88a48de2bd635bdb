package interop

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// groups are the metrics that our agents have in common with the real ones,
// and sample, which is the real agent on both sides.
var groups = []string{
	"kernel.all", "kernel.percpu.cpu", "kernel.uname", "mem", "swap", "disk.dev", "disk.all",
	"disk.partitions", "network.interface", "filesys", "hinv", "pmcd", "simple", "sample",
}

// TestClientsAgree reads each collector with every client: the descriptions of
// metrics are the same, and so are constant values.
func TestClientsAgree(t *testing.T) {
	theirs, ours := startBoth(t)
	for _, c := range []collector{theirs, ours} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			settled(t, func(errorf func(string, ...any)) {
				real := realTools.see(t, c, groups...)
				mine := ourTools.see(t, c, groups...)
				python := seePython(t, c, groups...)
				for _, name := range sortedNames(real) {
					want := real[name]
					got, ok := mine[name]
					if !ok {
						errorf("%s: the real pminfo shows it, ours does not", name)
						continue
					}
					compareDesc(errorf, name+" by our pminfo", got, want)
					compareInsts(errorf, name+" by our pminfo", got, want)
					p, ok := python[name]
					if !ok {
						errorf("%s: the real pminfo shows it, Python does not", name)
						continue
					}
					want.Type = shortType(want.Type)
					if want.Units == "none" { // pminfo's word for no units
						want.Units = ""
					}
					if want.Sem == "" { // pminfo's word for no semantics
						want.Sem = "???"
					}
					// The one has "60.3 0xf000003", the other "60.3".
					want.InDom, _, _ = strings.Cut(want.InDom, " ")
					p.InDom, _, _ = strings.Cut(p.InDom, " ")
					compareDesc(errorf, name+" by Python", p, want)
				}
				for _, name := range sortedNames(mine) {
					if _, ok := real[name]; !ok {
						errorf("%s: our pminfo shows it, the real one does not", name)
					}
				}
			})
		})
	}
}

// TestCollectorsAgree compares the two collectors, field by field, values
// included. The real one is read before and after ours, so that a counter of
// ours must be between two of theirs.
func TestCollectorsAgree(t *testing.T) {
	theirs, ours := startBoth(t)
	settled(t, func(errorf func(string, ...any)) {
		before := realTools.see(t, theirs, groups...)
		mine := realTools.see(t, ours, groups...)
		after := realTools.see(t, theirs, groups...)
		values := 0
		for _, name := range sortedNames(before) {
			want := before[name]
			got, ok := mine[name]
			if !ok {
				if !noPools(name) {
					errorf("%s: our pmcd does not have it", name)
				}
				continue
			}
			compareDesc(errorf, name, got, want)
			if reason := valueOf(name).skip; reason != "" {
				continue
			}
			compareInsts(errorf, name, got, want)
			if (len(got.Insts) == 0) != (len(want.Insts) == 0) {
				errorf("%s: %d values and %q, want %d and %q", name, len(got.Insts), got.NoValues, len(want.Insts), want.NoValues)
			}
			for inst, v := range got.Insts {
				values++
				if why := plausible(name, want.Sem, want.Insts[inst], v, after[name].Insts[inst]); why != "" {
					errorf("%s[%s] = %s: %s", name, inst, v, why)
				}
			}
		}
		t.Logf("%d metrics, %d values compared", len(before), values)
	})
}

func compareDesc(errorf func(string, ...any), what string, got, want metric) {
	for _, f := range []struct{ field, got, want string }{
		{"PMID", got.PMID, want.PMID},
		{"type", got.Type, want.Type},
		{"indom", got.InDom, want.InDom},
		{"semantics", got.Sem, want.Sem},
		{"units", got.Units, want.Units},
	} {
		if f.got != f.want {
			errorf("%s: %s %q, want %q", what, f.field, f.got, f.want)
		}
	}
}

// unsteady reports whether a metric has other instances at every look.
func unsteady(name string) bool {
	return slices.ContainsFunc([]string{"pmcd.client.", "sample.scramble.", "sample.mirage"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// withoutUnsteady removes pminfo's output for such metrics.
func withoutUnsteady(out oracle.Output) oracle.Output {
	blocks := strings.Split(out.Stdout, "\n\n")
	out.Stdout = strings.Join(slices.DeleteFunc(blocks, func(b string) bool { return unsteady(strings.TrimPrefix(b, "\n")) }), "\n\n")
	return out
}

// compareInsts compares instance numbers and names, not values.
func compareInsts(errorf func(string, ...any), what string, got, want metric) {
	if unsteady(what) {
		return
	}
	for inst := range want.Insts {
		if _, ok := got.Insts[inst]; !ok {
			errorf("%s: no instance %q", what, inst)
		}
	}
	for inst := range got.Insts {
		if _, ok := want.Insts[inst]; !ok {
			errorf("%s: instance %q, which is not theirs", what, inst)
		}
	}
}

// A tolerance is the allowed difference between a value of ours and theirs.
type tolerance struct {
	skip     string  // why it is not compared
	relative float64 // of the larger
	absolute float64
}

// valueOf returns the tolerance for a metric by the longest prefix of its name.
func valueOf(name string) tolerance {
	best, tol := -1, tolerance{}
	for prefix, candidate := range tolerances {
		if len(prefix) > best && (name == prefix || strings.HasPrefix(name, prefix+".") || prefix == "") {
			best, tol = len(prefix), candidate
		}
	}
	return tol
}

// tolerances: a metric that is not named here is compared exactly if its
// semantics are discrete or it is text, must be between theirs before and
// theirs after if it is a counter, and within 10 % or 64 if it is instant.
var tolerances = map[string]tolerance{
	"":                          {relative: 0.10, absolute: 64},
	"mem":                       {relative: 0.10, absolute: 32 << 20},
	"pmcd":                      {skip: "each collector tells of itself"},
	"network.interface.type":    {skip: "the real agent says 0 when asked for speed or duplex too"},
	"network.interface.virtual": {skip: "the real agent says 0 when asked for speed or duplex too"},
	"sample":                    {skip: "one process of the real agent for each collector, each with a state of its own"},
	"simple":                    {skip: "counts its own fetches; compared by TestSameSession"},
}

// noPools matches metrics that have no values at our collector, which has no pools
// of buffers.
func noPools(name string) bool { return strings.HasPrefix(name, "pmcd.buf.") }

// plausible returns why v is not between before and after, "" if it does.
func plausible(name, sem, before, v, after string) string {
	a, ok1 := number(before)
	x, ok2 := number(v)
	b, ok3 := number(after)
	if !ok1 || !ok2 || !ok3 {
		if v != before && v != after {
			return fmt.Sprintf("want %s", before)
		}
		return ""
	}
	lo, hi := math.Min(a, b), math.Max(a, b)
	if x >= lo && x <= hi {
		return ""
	}
	if sem == "discrete" {
		return fmt.Sprintf("want %s", before)
	}
	tol := valueOf(name)
	slack := math.Max(tol.absolute, tol.relative*math.Max(math.Abs(lo), math.Abs(hi)))
	if sem == "counter" {
		// The two read the kernel at moments that another process separates.
		slack = math.Max(4, 0.01*math.Abs(hi))
	}
	if x < lo-slack || x > hi+slack {
		return fmt.Sprintf("theirs was %s before and %s after", before, after)
	}
	return ""
}
