package proc_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/proc"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmda"
)

// TestOracleShapes compares all metrics of a tree of odd processes, first complete, then with
// damaged files. For damaged files the real agent reports values of other processes; ours reports no
// error.
func TestOracleShapes(t *testing.T) {
	n := longtest.N(150, 5000)
	for _, damage := range []bool{false, true} {
		t.Run(fmt.Sprintf("damage=%t", damage), func(t *testing.T) {
			dir, damaged := proc.WriteShapes(t, n, damage, rand.New(rand.NewPCG(longtest.Seed(t), 1)))
			c, names, ids := startReal(t, "PROC_STATSPATH="+dir)
			a := proc.New(proc.Config{Root: dir})
			compared := 0
			for i, id := range ids {
				name := strings.TrimPrefix(names[i], "hot")
				if mistakes[name] != "" || strings.HasSuffix(name, "_nm") || name == "proc.id.container" || !strings.HasPrefix(name, "proc.") {
					continue // as in TestOracleTree
				}
				if damage && strings.HasPrefix(name, "proc.runq.") {
					continue // counts the damaged too
				}
				want, got := fetchReal(t, c, a, id), fetch(t, a, id)
				whole := func(inst int32, _ string) bool { return damaged[inst] }
				maps.DeleteFunc(want, whole)
				maps.DeleteFunc(got, whole)
				compared += len(want)
				bad := 0
				for inst := range want {
					if got[inst] != want[inst] {
						if bad++; bad < 4 {
							t.Errorf("%s of %d is %q, want %q", names[i], inst, got[inst], want[inst])
						}
					}
				}
				for inst := range got {
					if _, ok := want[inst]; !ok {
						if bad++; bad < 4 {
							t.Errorf("%s of %d is %q, want none", names[i], inst, got[inst])
						}
					}
				}
			}
			if compared < 100*n/2 {
				t.Errorf("only %d values could be compared", compared)
			}
			indom := pcp.NewInDom(proc.Domain, 9)
			insts, err := a.Instances(pmda.WithClient(t.Context(), me), indom)
			if err != nil {
				t.Fatal(err)
			}
			want, err := c.GetInDom(t.Context(), indom)
			if err != nil {
				t.Fatal(err)
			}
			wanted := make(map[int32]string)
			for _, inst := range want {
				wanted[inst.Inst] = inst.Name
			}
			for _, inst := range insts {
				if !damaged[inst.Inst] && wanted[inst.Inst] != inst.Name {
					t.Errorf("instance %d is %q, want %q", inst.Inst, inst.Name, wanted[inst.Inst])
				}
			}
			if len(insts) != len(want) {
				t.Errorf("%d instances, want %d", len(insts), len(want))
			}
		})
	}
}
