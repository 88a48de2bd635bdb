package zfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/servicetest"
	"github.com/go-pcp/pcp/pmda/column"
)

// files are those of a machine with OpenZFS 2.0, in part.
var files = map[string]string{
	"arcstats":         "13 1 0x01 123 33456 4128374 92837423\nname                            type data\nhits                            4    1000\nl2_hits 4 7\narc_meta_used                   4    12345\nmemory_available_bytes          3    -4096\nmfu_ghost_hits 4 18446744073709551616\nc x\nsize 4 1 2\n",
	"dmu_tx":           "0 1 0x01 12 3264 1 2\nname type data\ndmu_tx_assigned 4 77\n",
	"dnodestats":       "dnode_hold_alloc_hits 4 5\n",
	"fm":               "erpt-dropped 4 3\n",
	"vdev_cache_stats": "hits 4 8\n", "zfetchstats": "hits 4 9\n",
	"zil":        "zil_itx_metaslab_slog_bytes 4 512\n",
	"tank/io":    "16 3 0x00 1 80 1 2\nnread    nwritten reads    writes   wtime    wlentime wupdate  rtime    rlentime rupdate  wcnt     rcnt\n8192 4096 2 1 10 20 30 40 50 60 0 1\n",
	"tank/state": "DEGRADED\n", "backup/state": "SUSPENDED\n", "new/guid": "1\n",
}

func newAgent(t testing.TB, dir string) *column.Agent {
	t.Helper()
	a, err := New(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestFacts(t *testing.T) {
	a := newAgent(t, t.TempDir())
	servicetest.Facts(t, a, "testdata/upstream.txt")
	agenttest.HelpTexts(t, a)
	if err := a.CheckTexts(); err != nil {
		t.Error(err)
	}
}

func TestValues(t *testing.T) {
	v := agenttest.Read(t, newAgent(t, agenttest.Tree(t, files)))
	for name, want := range map[string]string{
		"arc.hits": "map[:1000]", "arc.l2.hits": "map[:7]", "arc.meta_used": "map[:12345]", "arc.memory.available_bytes": "map[:0]", "arc.misses": "map[]", "arc.size": "map[]",
		"arc.c": "map[]", "dmu_tx.assigned": "map[:77]", "dnode.hold.alloc_hits": "map[:5]", "fm.erpt_dropped": "map[:3]", "vdev.cache.hits": "map[:8]",
		"zfetch.hits": "map[:9]", "zil.itx.metaslab.slog_bytes": "map[:512]", "abd.linear_cnt": "map[]",
		"pool.state": "map[backup:13 tank:2]", "pool.nread": "map[tank:8192]", "pool.rcnt": "map[tank:1]", "pool.rlentime": "map[tank:50]",
	} {
		if got := fmt.Sprint(v["zfs."+name]); got != want {
			t.Errorf("zfs.%s is %s, want %s", name, got, want)
		}
	}
}

// TestPools removes a pool, which keeps its number.
func TestPools(t *testing.T) {
	dir := agenttest.Tree(t, files)
	a := newAgent(t, dir)
	list := func() map[string]int32 {
		insts, err := a.Instances(t.Context(), pcp.NewInDom(Domain, 0))
		if err != nil {
			t.Fatal(err)
		}
		m := make(map[string]int32)
		for _, in := range insts {
			m[in.Name] = in.Inst
		}
		return m
	}
	before := list()
	if len(before) != 3 {
		t.Errorf("pools are %v", before)
	}
	if err := os.Rename(filepath.Join(dir, "tank"), filepath.Join(t.TempDir(), "tank")); err != nil {
		t.Fatal(err)
	}
	after := list()
	if len(after) != 2 || after["new"] != before["new"] || after["backup"] != before["backup"] {
		t.Errorf("pools are %v after %v", after, before)
	}
}

// FuzzFiles reads files of any bytes.
func FuzzFiles(f *testing.F) {
	for _, text := range files {
		f.Add([]byte(text))
	}
	f.Add([]byte("nread nread " + strings.Repeat("nread ", 100) + "\n1 2 3\n"))
	f.Add([]byte("hits 4 -1\nhits\nhits 4\n\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		layouts := make([]column.Layout, numBlocks)
		layouts[blockPools] = column.Layout{InDom: &column.InDom{}, Lists: true}
		blocks := column.NewBlocks(metrics(), layouts...)
		counters(b, blocks[blockARC])
		pools := blocks[blockPools]
		traffic(b, pools, pools.AddNamed(0, "tank"))
		if n := state(b); n > 5 && n != unknown {
			t.Errorf("state %d", n)
		}
	})
}
