package difftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/internal/oracle"
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
// what is said of files.
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
