package difftest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/version"
)

// debugTools are the tools that take -D, or read PCP_DEBUG, each with arguments
// that need no collector.
var debugTools = []string{
	"chkhelp", "dbpmda -f -n {ns}", "newhelp -n {ns}", "pmcd -D nosuch", "pmcd_wait -h nosuch. -t 1",
	"pmconfig PCP_DIR", "pmcpp {ns}", "pmdate %Y", "pmdbg 1", "pmdumplog -l {a}/ok-foo", "pmerr 12345",
	"pmevent -s 1 -a {a}/eventrec sample.event.records", "pmgetopt -- x", "pmhostname localhost",
	"pminfo -f -a {a}/ok-foo", "pmlogcheck {a}/ok-foo", "pmlogextract -s 1 {a}/ok-foo out",
	"pmloglabel -l {a}/ok-foo", "pmlogmv", "pmlogpaste nosuch", "pmlogreduce -s 1 {a}/ok-foo out",
	"pmlogsize {a}/ok-foo", "pmlogsummary {a}/ok-foo", "pmnsdel -n {ns} nosuch", "pmnsmerge {ns} out",
	"pmprobe -v -a {a}/ok-foo", "pmsleep 0", "pmstat -a {a}/ok-foo -s 1", "pmstore",
	"pmval -s 1 -a {a}/ok-foo sample.bin",
}

// Arguments of -D. For the silent ones no C tool prints anything, so that
// nothing may differ; for the others the C tools print traces that ours may
// lack, so that only the exit status must be the same.
var (
	silentDebug = []string{"", "0", "dev2", "SEARCH,Series", "search,", "268435456", "4294967296", "-0,dev2", " 0", "+0"}
	wrongDebug  = []string{
		"nosuch", ",", ",pdu", "pdu,,fetch", "pdu fetch", " pdu", "pdu ", "0x1", "1x", "1e1", "--1", "-", "+", " ",
		"1,nosuch", "all,nosuch", "pdu,1,x", "alll", "al", "1 ",
	}
	noisyDebug = []string{
		"pdu", "1", "pdu,1", "1,2", "010", " 1", "+1", "-2", "\t1", "99999999999", "-99999999999999999999", "fetch,PROFILE",
		"appl0", "appl0,appl1,appl2", "desperate", "pmapi,context", "deprecated", "log,logmeta", "tls",
	}
)

// TestDebugOptions compares tools with debug options.
func TestDebugOptions(t *testing.T) {
	t.Parallel()
	b := archiveBench(t)
	b.names["ns"] = b.names["names"]
	for _, cmd := range debugTools {
		t.Run(cmd, func(t *testing.T) {
			args := words(t, b.expand(cmd))
			tool, args := args[0], args[1:]
			// One tool of each of the ways in which options are read gets all.
			full := os.Getenv("PCP_SUITE") != "" || slices.Contains([]string{"pminfo", "pmdbg", "pmlogreduce"}, tool)
			for k, list := range [][]string{silentDebug, wrongDebug, noisyDebug} {
				for i, spec := range list {
					if i%4 > 0 && !full {
						continue
					}
					loud := k == 2 && tool != "pmdbg"
					b.sameDebug(t, tool, nil, append([]string{"-D", spec}, args...), loud)
					if i%8 == 0 {
						b.sameDebug(t, tool, []string{"PCP_DEBUG=" + spec}, args, loud)
					}
				}
			}
		})
	}
}

// sameDebug compares the results of a tool, but if it is loud only the exit
// status.
func (b *bench) sameDebug(t *testing.T, tool string, env, args []string, loud bool) {
	t.Helper()
	want, got := b.exec(t, sideC, tool, env, args), b.exec(t, sideOurs, tool, env, args)
	if got.status != want.status {
		t.Errorf("%s %s %q: exit status %d, want %d\n%s", env, tool, args, got.status, want.status, got.stderr)
	}
	if loud {
		return
	}
	if d := cmp.Diff(normal(want), normal(got)); d != "" {
		t.Errorf("%s %s %q (-theirs +ours):\n%s", env, tool, args, d)
	}
}

var repeatedError = regexp.MustCompile(`(Error: \$PCP_DEBUG=.* is not valid, ignored\n)(?:Error: \$PCP_DEBUG=.* is not valid, ignored\n)+`)

var collectorLine = regexp.MustCompile(`\[\w{3} \w{3} .*\] pmcd\(\d+\)`)

// normal is a result without the parts that are never the same.
func normal(r result) string {
	s := fmt.Sprintf("%s--\n%s", r.stdout, r.stderr)
	for _, name := range []string{"notice", "clock"} {
		s = noises[name].find.ReplaceAllString(s, noises[name].with)
	}
	// Each process that a C tool starts prints this once more.
	s = collectorLine.ReplaceAllString(s, "pmcd")
	s = repeatedError.ReplaceAllString(s, "$1")
	return strings.ReplaceAll(s, "6.0.3", version.Number)
}
