package difftest

import (
	"bytes"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestTools compares our tools with the C tools. It is the table that a new
// option goes into.
func TestTools(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, group := range []struct {
		name string
		runs []run
	}{
		{"options", optionRuns},
		{"hosts", hostRuns},
		{"pminfo", infoRuns},
		{"pmprobe", probeRuns},
		{"pmval", valRuns},
		{"pmevent", eventRuns},
		{"pmstore", storeRuns},
		{"pmstat", statRuns},
		{"local contexts", localRuns},
		{"traces", traceRuns},
		{"pmerr", errRuns},
		{"pmhostname", hostnameRuns},
		{"pmcd_wait", waitRuns},
	} {
		t.Run(group.name, func(t *testing.T) { b.table(t, group.runs) })
	}
}

// TestTimeouts compares the messages about a collector that does not answer.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	oracle.Require(t)
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	d.Signal(t, sigStop)
	t.Cleanup(func() { d.Signal(t, sigCont) })
	b := &bench{
		env:   append(d.Env, "PMCD_REQUEST_TIMEOUT=1", "PMCD_CONNECT_TIMEOUT=1"),
		names: map[string]string{"host": d.TCP},
	}
	// The C tools wait for ten seconds whatever the environment has. More
	// clients would not fit in the backlog of the collector.
	for _, r := range []run{
		{cmd: "pminfo -h {host} -f sample.bin"},
		{cmd: "pmstore -h {host} sample.write_me 1"},
	} {
		t.Run(r.cmd, func(t *testing.T) {
			t.Parallel()
			b.try(t, r)
		})
	}
}

// TestCollectorEnds compares the tools when the collector goes away after they
// have printed some values.
func TestCollectorEnds(t *testing.T) {
	t.Parallel()
	oracle.Require(t)
	// The real pmval keeps its output to a pipe until it ends. stdbuf(1)
	// prevents that.
	lines, _ := filepath.Glob("/usr/lib*/coreutils/libstdbuf.so")
	if len(lines) == 0 {
		t.Skip("SKIPPED: there is no stdbuf(1)")
	}
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample"}})
	for _, r := range []struct {
		run
		lines int // lines printed when the collector ends
	}{
		{run{cmd: "pmval -h {host} -t 1 sample.long.one"}, 7},
		{run{cmd: "pmstat -h {host} -s 3 -t 1", noise: "clock numbers"}, 4},
		{run{cmd: "pmstat -h {host} -h {host} -s 3 -t 1", noise: "clock numbers"}, 5},
	} {
		b := &bench{env: slices.Concat(d.Env, []string{"LD_PRELOAD=" + lines[0], "_STDBUF_O=L"}), names: map[string]string{"host": d.TCP}}
		b.meanwhile = func() (func(out []byte), func()) {
			stop := sync.OnceFunc(func() { d.Stop(t) })
			return func(out []byte) {
					if bytes.Count(out, []byte("\n")) >= r.lines {
						stop()
					}
				}, func() {
					stop()
					d.Start(t)
				}
		}
		t.Run(r.cmd, func(t *testing.T) { b.try(t, r.run) })
	}
}

// optionRuns test the options that all tools share.
var optionRuns = []run{
	{cmd: "pminfo -?"},
	{cmd: "pminfo --help"},
	{cmd: "pmprobe -?"},
	{cmd: "pmval -?"},
	{cmd: "pmstore -?"},
	{cmd: "pmstat -?"},
	{cmd: "pminfo -V", diff: "version"},
	{cmd: "pminfo --version", diff: "version"},
	{cmd: "pminfo -V -q", diff: "version"},
	{cmd: "pmprobe -d"},
	{cmd: "pmprobe --version", diff: "version"},
	{cmd: "pmval -V", diff: "version"},
	{cmd: "pmstore -V", diff: "version"},
	{cmd: "pmstat -V", diff: "version"},
	{cmd: "pminfo -q"},
	{cmd: "pminfo -fq sample.bin"},
	{cmd: "pminfo --bogus"},
	{cmd: "pminfo --bogus=1 -q"},
	{cmd: "pminfo --ho"},
	{cmd: "pminfo --d sample.bin"},
	{cmd: "pminfo --desc=3"},
	{cmd: "pminfo --host"},
	{cmd: "pminfo --batch"},
	{cmd: "pminfo -b"},
	{cmd: "pminfo -h"},
	{cmd: "pminfo --fetc sample.bin"},
	{cmd: "pminfo sample.bin -f"},
	{cmd: "pminfo -fm sample.bin -d sample.lights"},
	{cmd: "pminfo -m -- -f"},
	{cmd: "pminfo - sample.bin"},
	{cmd: "pminfo -mfb3 sample.bin"},
	{cmd: "pminfo sample.bin -f", env: []string{"POSIXLY_CORRECT=1"}},
	{cmd: "pmstore sample.write_me 3 -F"},
	{cmd: "pminfo -D nosuch"},
	{cmd: "pminfo -D pdu,nosuch"},
	{cmd: "pmhostname -D dev1 localhost"},
	{cmd: "pminfo -D , sample.bin"},
	{cmd: "pminfo -D 0 sample.bin"},
	{cmd: "pminfo -z sample.bin"},
	{cmd: "pminfo -z -Z UTC sample.bin"},
	{cmd: "pminfo -Z UTC -z sample.bin"},
	{cmd: "pminfo -O 1 sample.bin"},
	{cmd: "pminfo -h {host} -O 1 sample.bin"},
	{cmd: "pmval -S 10 sample.bin"},
	{cmd: "pmval -A 10 sample.bin"},
	{cmd: "pmval -S 10 -s x sample.bin"},
	{cmd: "pmval -g -p 4 sample.bin"},
	{cmd: "pmval -p 4 -g sample.bin"},
	{cmd: "pmval -s x sample.bin"},
	{cmd: "pmval -s -1 sample.bin"},
	{cmd: "pmval -s 1x sample.bin"},
	{cmd: "pmval -t 1foo sample.bin"},
	{cmd: "pmval -t '' sample.bin"},
	{cmd: "pmval -t -1 sample.bin"},
	{cmd: "pmval -t '1 min 2 x' sample.bin"},
	{cmd: "pmval -s 0 -t '1 hour 30 min' sample.bin"},
	{cmd: "pminfo -a /nonexistent sample.bin"},
	{cmd: "pminfo -a x -h y sample.bin"},
	{cmd: "pminfo -h x -a y sample.bin"},
	{cmd: "pmval -a /nonexistent sample.bin"},
	{cmd: "pmprobe -a /nonexistent"},
	{cmd: "pmstat -a /nonexistent"},
	{cmd: "pminfo -L sample.bin", env: []string{"PMNS_DEFAULT=/nonexistent"}},
	{cmd: "pmstore -L sample.write_me 1", env: []string{"PMNS_DEFAULT=/nonexistent"}},
	{cmd: "pminfo -K clear sample.bin"},
	{cmd: "pminfo -c /nonexistent sample.bin"},
	{cmd: "pmval --derived=/nonexistent sample.bin"},
	{cmd: "pminfo -n /nonexistent sample.bin"},
	{cmd: "pminfo -n /nonexistent -q"},
	{cmd: "pminfo -n {badns}"},
	{cmd: "pminfo -N {dupns}"},
	{cmd: "pminfo -n {dupns} a"},
	{cmd: "pminfo -n {dupns} -m a b tree"},
	{cmd: "pminfo -n {dupns} -f"},
	{cmd: "pminfo -n {dupns} 1.1.1 29.0.6 1.1.2"},
	{cmd: "pmprobe -n {dupns} -v tree"},
	{cmd: "pmval -n {dupns} -s 1 tree.c"},
	{cmd: "pmstore -n {pmns} sample.write_me 3", prep: "pmstore sample.write_me 2"},
	{cmd: "pminfo -f sample.bin", env: []string{"PCP_HOST={host}"}},
	{cmd: "pminfo -f sample.bin", env: []string{"PCP_HOST={dead}"}},
	{cmd: "pminfo -h {host} -f sample.bin", env: []string{"PCP_HOST={dead}"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_SAMPLES=1"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_SAMPLES=x"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_INTERVAL=10 msec"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_INTERVAL=10 m s"}},
	{cmd: "pminfo -m a", env: []string{"PCP_NAMESPACE={dupns}"}},
	{cmd: "pminfo -m a", env: []string{"PCP_UNIQNAMES={dupns}"}},
	{cmd: "pminfo sample.bin", env: []string{"PCP_DEBUG=nosuch"}},
	{cmd: "pminfo -f sample.bin", env: []string{"PCP_DEBUG=config", "PCP_HOST={host}"}},
	{cmd: "pmval -s 1 sample.bin", env: []string{"PCP_TIMEZONE=EST5EDT"}},
	{cmd: "pmval -s 1 sample.bin", env: []string{"PCP_TIMEZONE=UTC", "PCP_HOSTZONE=1"}},
	{cmd: "pminfo -q", env: []string{"PCP_STDERR=messages"}},
	{cmd: "pminfo -q", env: []string{"PCP_STDERR=/nonexistent/x"}},
}

// hostRuns are about the source of metrics.
var hostRuns = []run{
	{cmd: "pminfo -h {host} sample.bin"},
	{cmd: "pminfo -h {unix} sample.bin"},
	{cmd: "pminfo -h local: -f sample.bin"},
	{cmd: "pminfo -h pcp://{host} sample.bin"},
	{cmd: "pminfo -h localhost:{port} sample.bin"},
	{cmd: "pminfo -h localhost:1,{port} sample.bin"},
	{cmd: "pminfo -h {dead} sample.bin"},
	{cmd: "pmprobe -h {dead} sample.bin"},
	{cmd: "pmval -h {dead} sample.bin"},
	{cmd: "pmstore -h {dead} sample.write_me 1"},
	{cmd: "pmstat -h {dead}"},
	{cmd: "pminfo -h no.such.host.invalid sample.bin"},
	{cmd: "pmval -h no.such.host.invalid sample.bin"},
	{cmd: "pminfo -h unix:/nonexistent sample.bin"},
	{cmd: "pminfo -h '' sample.bin"},
	{cmd: "pminfo -h : sample.bin"},
	{cmd: "pminfo -h a:b:c sample.bin"},
	{cmd: "pmprobe -h localhost:abc sample.bin"},
	{cmd: "pmval -h localhost:abc sample.bin"},
	{cmd: "pminfo -h x -h y sample.bin"},
	{cmd: "pminfo -h {closed} pmcd.version"},
	{cmd: "pmprobe -h {closed} pmcd.version"},
	{cmd: "pmval -h {closed} pmcd.version"},
	{cmd: "pmstore -h {closed} pmcd.version 1"},
	{cmd: "pmstat -h {closed}"},
	{cmd: "pmstore -h {readonly} sample.write_me 1"},
	{cmd: "pmprobe -h {readonly} -v sample.bin"},
	{cmd: "pmval -h {readonly} -x 1 sample.write_me"},
	{cmd: "pminfo --container=nosuch -f pmcd.numagents"},
	{cmd: "pminfo --container=no/such sample.bin", diff: "container names"},
	{cmd: "pminfo sample.bin", env: []string{"PMCD_SOCKET=/nonexistent", "PMCD_PORT=1"}},
	{cmd: "pminfo sample.bin", env: []string{"PMCD_SOCKET=/nonexistent", "PMCD_PORT=1,{port}"}},
	{cmd: "pminfo -h {host} sample.bin", env: []string{"PMCD_CONNECT_TIMEOUT=x"}, noise: "notice"},
	{cmd: "pminfo -h {host} sample.bin", env: []string{"PMCD_CONNECT_TIMEOUT=-1"}, noise: "notice"},
	{cmd: "pminfo -h {host} sample.bin", env: []string{"PMCD_REQUEST_TIMEOUT=x"}, noise: "notice"},
	{cmd: "pminfo -h {host} sample.bin", env: []string{"PMCD_REQUEST_TIMEOUT=2.5"}},
	{cmd: "pmstat -s 1 -t 0.1", env: []string{"PMCD_SOCKET=/nonexistent", "PMCD_PORT=1", "PMNS_DEFAULT={pmns}"}, noise: "clock numbers helpless"},
}

var waitRuns = []run{
	{cmd: "pmcd_wait -?"},
	{cmd: "pmcd_wait x"},
	{cmd: "pmcd_wait -t x"},
	{cmd: "pmcd_wait"},
	{cmd: "pmcd_wait -v -h {host}"},
	{cmd: "pmcd_wait -h {dead} -t 1"},
	{cmd: "pmcd_wait -v -h {dead} -t 1"},
	{cmd: "pmcd_wait -v -h {dead} -t 2.7"},
	{cmd: "pmcd_wait -v -h unix:/no/such/socket -t 1"},
	{cmd: "pmcd_wait -v -h {closed} -t 1"},
	{cmd: "pmcd_wait -v -h no.such.host.invalid -t 1"},
}
