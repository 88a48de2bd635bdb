package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"kernel.all.load", "kernel.all.cpu.user", "mem.util.free", "hinv.ncpu"}
	for name, want := range map[string]string{
		"kernel.all.laod":        "kernel.all.load",
		"kernel.all.lod":         "kernel.all.load",
		"kernel.all.cpu.usr":     "kernel.all.cpu.user",
		"hinv.ncpus":             "hinv.ncpu",
		"memutil.fre":            "mem.util.free",
		"nothing.like.it":        "",
		"":                       "",
		strings.Repeat("x", 999): "",
	} {
		if got := Nearest(name, slices.Values(names)); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}
