package difftest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/randexpr"
	"github.com/go-pcp/pcp/pmapi"
)

const derivedConf = `# what the tools are asked for
d.sum = sample.long.one + sample.long.ten
d.sum(oneline) = eleven
d.sum(helptext) = "One
and ten"
d.bins = sample.bin * 2
d.one = sample.bin[bin-500] / 4
d.some = matchinst(!/[1-3]00/, sample.bin)
d.text = sample.string.hullo
d.stats.max = max(sample.bin)
d.stats.count = count(sample.bin)
d.rate = rate(sample.byte_ctr)
d.delta = delta(sample.bin)
d.lost = sample.nosuch + 1
d.wrong = sample.long.one + sample.string.hullo
sample.long.eleven = sample.long.one + sample.long.ten
sample.long.one = sample.long.ten
`

const derivedBad = `d.a = sample.long.one +
d.b = (sample.long.one
d.c sample.long.one
	d.d =	sample.long.one $ 2
d.e(oneline) = no
d.f = 1
d.f = 2
`

// TestDerived compares derived metrics of a collector and of a local context, and
// the messages about files.
func TestDerived(t *testing.T) {
	t.Parallel()
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample", "simple"}})
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	b := &bench{env: d.Env, names: map[string]string{
		"host": d.TCP, "defs": file("defs/one", derivedConf), "bad": file("bad", derivedBad), "dir": filepath.Join(dir, "defs"),
		"sample": "-L -K clear -K add,29," + d.PMDAs + "/sample/pmda_sample.so,sample_init -n " + d.PMNS,
		"empty":  file("empty", ""),
	}}
	defs := []string{"PCP_DERIVED_CONFIG={defs}"}
	b.table(t, []run{
		{cmd: "pminfo -h {host} -c {defs}"},
		{cmd: "pminfo -h {host} -c {defs} d"},
		{cmd: "pminfo -h {host} -c {defs} -dm d"},
		{cmd: "pminfo -h {host} -c {defs} -f d"},
		{cmd: "pminfo -h {host} -c {defs} -tT d sample.long"},
		{cmd: "pminfo -h {host} -c {defs} -s d.sum d.bins"},
		{cmd: "pminfo -h {host} -c {defs} -l d.sum d.bins"},
		{cmd: "pminfo -h {host} -c {defs} -v d"},
		{cmd: "pminfo -h {host} -c {defs} -f d.lost"},
		{cmd: "pminfo -h {host} -c {defs} -d d.wrong d.nosuch sample.long.eleven"},
		{cmd: "pminfo -h {host} -m d.sum d.lost sample.long.one", env: defs},
		{cmd: "pminfo -h {host} -f 511.0.3 511.0.1"},
		{cmd: "pminfo -h {host} -c {dir}:{bad} d"},
		{cmd: "pminfo -h {host} -c {defs}:/nosuch -f d.sum"},
		{cmd: "pminfo -h {host} -c {bad} d"},
		{cmd: "pminfo -h {host} -c {empty} d"},
		{cmd: "pminfo -h {host} d.sum", env: []string{"PCP_DERIVED_CONFIG=/nosuch:{defs}"}},
		{cmd: "pminfo -h {host} d.sum", env: []string{"PCP_DERIVED_CONFIG={dir}"}},
		{cmd: "pmprobe -h {host} -v d", env: defs},
		{cmd: "pmprobe -h {host} -I d.some d.one d.lost d.wrong", env: defs},
		{cmd: "pmprobe -h {host} --derived {defs} -v d.bins"},
		{cmd: "pmprobe -h {host} --derived /nosuch d.bins"},
		{cmd: "pmval -h {host} --derived {defs} -s 2 -t 0.1 -w 8 d.bins"},
		{cmd: "pmval -h {host} --derived {defs} -s 2 -t 0.1 -i bin-400,bin-500 d.some"},
		{cmd: "pmval -h {host} -s 2 -t 0.1 d.sum", env: defs},
		{cmd: "pmval -h {host} -s 1 d.lost", env: defs},
		{cmd: "pmval -h {host} -s 1 d.wrong", env: defs},
		{cmd: "pminfo {sample} -c {defs} d", noise: "helpless"},
		{cmd: "pminfo {sample} -c {defs} -fd d.sum d.bins d.some d.lost", noise: "helpless"},
		{cmd: "pmprobe {sample} -v d.stats", env: defs, noise: "helpless"},
	})
}

// TestDerivedRandom compares the output of pminfo, pmprobe and pmval for random
// definitions over constant metrics of one collector.
func TestDerivedRandom(t *testing.T) {
	t.Parallel()
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	c, err := pmapi.Dial(t.Context(), d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := randexpr.New(longtest.Seed(t), 300)
	for _, top := range []string{
		"sample.bin", "sample.part_bin", "sample.bogus_bin", "sample.long", "sample.ulong", "sample.longlong", "sample.ulonglong", "sample.float", "sample.double",
		"sample.string", "sample.aggregate", "hinv", "mem.physmem", "kernel.uname",
	} {
		for name, err := range c.Traverse(t.Context(), top) {
			if err != nil {
				t.Fatal(err)
			}
			// Metrics that change by themselves, or have no value: C prints one from memory that
			// was never written.
			// sample.ulonglong.bin counts the seconds.
			if strings.HasPrefix(name, "sample.ulonglong.bin") || strings.Contains(name, "bogus") && top != "sample.bogus_bin" || strings.Contains(name, "clock") || strings.Contains(name, "frequency_scaling") {
				continue
			}
			ids, err := c.LookupName(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			desc, err := c.LookupDesc(t.Context(), ids[0])
			if err != nil {
				continue
			}
			var insts []pcp.Instance
			if desc.InDom != pcp.InDomNull {
				if insts, err = c.GetInDom(t.Context(), desc.InDom); err != nil {
					t.Fatal(err)
				}
			}
			w.Add(name, desc, insts)
		}
	}
	dir := t.TempDir()
	b := &bench{env: d.Env, names: map[string]string{"host": d.TCP}}
	const each = 20
	var runs []run
	for file := range longtest.N(4, 80) {
		var text strings.Builder
		for i := range each {
			fmt.Fprintf(&text, "d.m%d = %s\n", i, w.Definition())
		}
		path := filepath.Join(dir, fmt.Sprint(file))
		if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s:\n%s", path, text.String())
		runs = append(runs, run{cmd: "pminfo -h {host} -c " + path + " -dmf d"}, run{cmd: "pmprobe -h {host} -I d", env: []string{"PCP_DERIVED_CONFIG=" + path}})
		for i := file % 4; i < each; i += 4 {
			runs = append(runs, run{cmd: fmt.Sprintf("pmval -h {host} --derived %s -s 2 -t 0.05 d.m%d", path, i)})
		}
	}
	b.table(t, runs)
}
