package dumplog

import (
	"slices"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/hashorder"
)

func TestOrder(t *testing.T) {
	keys := make([]uint32, 50)
	for i := range keys {
		keys[i] = uint32(i) * 2654435761
	}
	order := func(compat string) []int {
		env := &cli.Env{Name: "pmdumplog", Getenv: func(name string) string {
			if name == "PCP_COMPAT" {
				return compat
			}
			return ""
		}}
		return (&dumper{env: env}).inOrder(keys)
	}
	sorted := order("7")
	if len(sorted) != len(keys) || !slices.IsSortedFunc(sorted, func(i, j int) int { return int(int64(keys[i]) - int64(keys[j])) }) {
		t.Errorf("PCP_COMPAT=7: %v", sorted)
	}
	if got, want := order(""), hashorder.Of(keys); !slices.Equal(got, want) || slices.Equal(got, sorted) {
		t.Errorf("%v, want %v", got, want)
	}
}
