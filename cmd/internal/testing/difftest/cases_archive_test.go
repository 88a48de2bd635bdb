package difftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// suiteDir is where Debian's package pcp-testsuite has the archives of PCP's QA.
const suiteDir = "/var/lib/pcp/testsuite"

// archiveBench needs no collector, only archives.
func archiveBench(t *testing.T) *bench {
	t.Helper()
	oracle.Require(t)
	if _, err := os.Stat(filepath.Join(suiteDir, "archives")); err != nil {
		t.Skip("SKIPPED: the QA suite of PCP is not installed: ", err)
	}
	b := &bench{names: map[string]string{"in": t.TempDir()}}
	file := func(name, text string) {
		path := filepath.Join(b.names["in"], name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		b.names[name] = path
	}
	b.names["a"] = filepath.Join(suiteDir, "archives")
	b.names["bad"] = filepath.Join(suiteDir, "badarchives")
	file("folio", "PCPFolio\nVersion: 1\n# a comment\nCreated: today\nArchive: gonzo "+b.names["a"]+"/ok-foo\n")
	file("twofolio", "PCPFolio\nVersion: 1\nArchive:\tx\t"+b.names["a"]+"/tzchange-10-a\nArchive: x "+b.names["a"]+"/tzchange-10-b\n")
	file("relfolio", "PCPFolio\nVersion: 1\nArchive: gonzo nosuch\n")
	file("nofolio", "PCP\nVersion: 1\n")
	file("oldfolio", "PCPFolio\nVersion: 2\n")
	file("shortfolio", "PCPFolio\n")
	file("emptyfolio", "")
	file("nohostfolio", "PCPFolio\nVersion: 1\nArchive:\n")
	file("nopathfolio", "PCPFolio\nVersion: 1\n\nArchive: host\n")
	file("names", "root {\n sample\n}\nsample {\n bin 29:0:6\n none 29:0:999\n ours 29:0:5\n}\n")
	return b
}

// TestArchives compares tools that read archives.
func TestArchives(t *testing.T) {
	t.Parallel()
	b := archiveBench(t)
	for _, group := range []struct {
		name string
		runs []run
	}{
		{"pminfo", archiveInfoRuns},
		{"pmprobe", archiveProbeRuns},
		{"pmval", archiveValRuns},
		{"windows", windowRuns},
		{"pmevent", archiveEventRuns},
		{"pmstat", archiveStatRuns},
		{"open", openRuns},
	} {
		t.Run(group.name, func(t *testing.T) { b.table(t, group.runs) })
	}
}

var archiveInfoRuns = []run{
	{cmd: "pminfo -a {a}/ok-foo"},
	{cmd: "pminfo -a ''"},
	{cmd: "pminfo -n '' -a {a}/ok-foo"},
	{cmd: "pmdumplog ''"},
	{cmd: "pmloglabel -l ''"},
	{cmd: "pmval -Z '' -s '' -a {a}/ok-foo sample.bin"},
	{cmd: "pmevent -Z '' -s 1 -a {a}/eventrec sample.event.records"},
	{cmd: "pmstat -Z '' -t x -a {a}/ok-foo"},
	{cmd: "pmval -t x sample.bin"},
	{cmd: "pmval -Z UTC -a {a}/20180606 -s 1 -i 1 kernel.all.load"},
	{cmd: "pmval -Z UTC -a {a}/20180606 -s 1 -i 1x kernel.all.load", diff: "first word"},
	{cmd: "pmlogcheck -Z '' -m {a}/ok-foo"},
	{cmd: "pmlogextract -Z '' -v '' {a}/ok-foo out"},
	{cmd: "pmlogreduce -Z '' -s '' {a}/ok-foo out"},
	{cmd: "pmprobe -F -a {a}/ok-foo nosuch sample.bin]"},
	{cmd: "pmprobe -F -a {a}/ok-foo nosuch"},
	{cmd: "pmprobe -d -a {a}/ok-foo"},
	{cmd: "pminfo -f -a {a}/ok-foo"},
	{cmd: "pminfo -dfmtT -a {a}/ok-foo", noise: "texts"},
	{cmd: "pminfo -dfmMtTI -a {a}/mmv.help.meta", noise: "texts"},
	{cmd: "pminfo -tT -a {a}/sample-labels", noise: "texts"},
	{cmd: "pminfo -fl -a {a}/sample-labels"},
	{cmd: "pminfo -s -a {a}/sample-labels"},
	{cmd: "pminfo -sl -a {a}/sample-labels sample.mirage sample.colour"},
	{cmd: "pminfo -l -a {a}/ok-foo sample.bin"},
	{cmd: "pminfo -lT -a {a}/sample-labels 29.1 29.3"},
	{cmd: "pminfo -x -a {a}/eventrec"},
	{cmd: "pminfo -x -a {a}/eventrec-old"},
	{cmd: "pminfo -x -a {a}/omnibus_v3 sampledso"},
	{cmd: "pminfo -v -a {a}/ok-foo"},
	{cmd: "pminfo -v -a {a}/late"},
	{cmd: "pminfo -f -b 3 -a {a}/gap2"},
	{cmd: "pminfo -F -a {a}/ok-foo sample.bin"},
	{cmd: "pminfo -f -z -a {a}/ok-foo sample.bin"},
	{cmd: "pminfo -f -Z EST5EDT -a {a}/ok-foo sample.bin"},
	{cmd: "pminfo -f -z -Z UTC -a {a}/ok-foo sample.bin"},
	{cmd: "pminfo -f -O 3 -a {a}/ok-foo"},
	{cmd: "pminfo -f -O '' -a {a}/ok-foo"},
	{cmd: "pminfo -f -S '' -a {a}/ok-foo"},
	{cmd: "pminfo -f -A '' -a {a}/ok-foo"},
	{cmd: "pmval -A '' sample.bin"},
	{cmd: "pmval -O '' -s 2 -a {a}/ok-foo sample.bin"},
	{cmd: "pmprobe -a {a}/ok-foo -O '' -a {a}/ok-foo"},
	{cmd: "pmdumplog -S '' {a}/ok-foo"},
	{cmd: "pmlogsummary -S '' {a}/ok-foo"},
	{cmd: "pminfo -f -O -2 -a {a}/ok-foo"},
	{cmd: "pminfo -f -O @18:34:36 -a {a}/ok-foo"},
	{cmd: "pminfo -f -O 1hour -a {a}/ok-foo"},
	{cmd: "pminfo -f -O 5x -a {a}/ok-foo"},
	{cmd: "pminfo -f -O 'last week' -a {a}/ok-foo"},
	{cmd: "pminfo -f -a {a}/ok-foo nosuch sample.bin sample.no"},
	{cmd: "pminfo -f -a {a}/ok-foo 29.0.6 29.2 1.2.3"},
	{cmd: "pminfo -m -a {a}/dupname-a"},
	{cmd: "pminfo -f -a {a}/dupname-b"},
	{cmd: "pminfo -d -a {a}/bigace_v2"},
	{cmd: "pminfo -f -a {a}/541380_v2"},
	{cmd: "pminfo -f -a {a}/babylon.pmview_v2 disk kernel.all"},
	{cmd: "pminfo -dm -n {names} -a {a}/ok-foo"},
	{cmd: "pminfo -n {names} -a {a}/ok-foo"},
	{cmd: "pminfo -f -n {names} -a {a}/ok-foo sample.ours sample.none"},
	{cmd: "pminfo -f -a {a}/multi sample hinv"},
	{cmd: "pminfo -f -a {a}/tzchange-10-a,{a}/tzchange-10-b"},
	{cmd: "pminfo -f -a {a}/tzchange-10-a -a {a}/tzchange-10-b -a {a}/tzchange-10-a"},
	{cmd: "pminfo -f -a {a}/value-test"},
	{cmd: "pminfo -fL -a {a}/ok-foo hinv.ncpu", env: []string{"PMNS_DEFAULT=/nonexistent"}},
}

var archiveProbeRuns = []run{
	{cmd: "pmprobe -a {a}/ok-foo"},
	{cmd: "pmprobe -a {a}/ok-foo sample.bin nosuch sample"},
	{cmd: "pmprobe -v -a {a}/ok-foo"},
	{cmd: "pmprobe -v -b 1 -a {a}/eventrec"},
	{cmd: "pmprobe -i -a {a}/ok-foo"},
	{cmd: "pmprobe -I -a {a}/ok-foo"},
	{cmd: "pmprobe -iI -a {a}/changeinst"},
	{cmd: "pmprobe -f -I -a {a}/changeinst"},
	{cmd: "pmprobe -f -i -a {a}/dyninsts"},
	{cmd: "pmprobe -f -iI -a {a}/procsched"},
	{cmd: "pmprobe -f -a {a}/ok-foo"},
	{cmd: "pmprobe -F -a {a}/ok-foo sample.bin nosuch"},
	{cmd: "pmprobe -F -a {a}/ok-foo nosuch"},
	{cmd: "pmprobe -V -a {a}/ok-foo sample.bin"},
	{cmd: "pmprobe -v -O 4 -a {a}/ok-foo"},
	{cmd: "pmprobe -v -O -1 -z -a {a}/ok-foo"},
	{cmd: "pmprobe -v -O x -a {a}/ok-foo"},
	{cmd: "pmprobe -v -Z Asia/Tokyo -a {a}/eventrec"},
	{cmd: "pmprobe -v -a {a}/sample_expr"},
	{cmd: "pmprobe -v -n {names} -a {a}/ok-foo"},
	{cmd: "pmprobe -v -a {a}/omnibus_v2"},
	{cmd: "pmprobe -I -a {a}/omnibus_v3"},
}

var archiveValRuns = []run{
	{cmd: "pmval -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -a {a}/ok-foo sample.lights"},
	{cmd: "pmval -a {a}/ok-foo -s 3 sample.drift"},
	{cmd: "pmval -a {a}/ok-foo -s 0 sample.drift"},
	{cmd: "pmval -a {a}/ok-foo -s 100 sample.colour"},
	{cmd: "pmval -a {a}/ok-foo nosuch"},
	{cmd: "pmval -a {a}/ok-foo sample"},
	{cmd: "pmval -a {a}/ok-foo"},
	{cmd: "pmval -t 0.3 -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -t 0.3 -f 3 -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -t 0.3 -f 0 -r -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -f 30 -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -w 4 -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -w 1 -t 0.7 -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -w 4 -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -w 8 -X -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -X -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -XX -a {a}/omnibus_v3 sample.bin"},
	{cmd: "pmval -XXX -z -t 0.1 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -z -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -Z Europe/Berlin -X -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -i bin-100,bin-900 -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -i bin-900 -i 'bin-100 bin-900' -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -i nosuch -a {a}/ok-foo sample.bin"},
	{cmd: "pmval -i x -a {a}/ok-foo sample.drift"},
	{cmd: "pmval {a}/ok-foo/sample.bin[bin-300]"},
	{cmd: "pmval {a}/ok-foo/sample.drift[x]"},
	{cmd: "pmval -s 2 {a}/ok-foo/sample.bin"},
	{cmd: "pmval -a {a}/ok-bar {a}/ok-foo/sample.bin"},
	{cmd: "pmval -U {a}/ok-foo sample.seconds"},
	{cmd: "pmval -U {a}/ok-foo -r sample.seconds"},
	{cmd: "pmval -U {a}/ok-foo -X sample.bin"},
	{cmd: "pmval -U {a}/ok-foo -s 3 -t 5 sample.bin"},
	{cmd: "pmval -U {a}/ok-foo -S 3 -T -2 sample.colour"},
	{cmd: "pmval -U {a}/gap2 pmcd.pdu_in.total"},
	{cmd: "pmval -U {a}/pmiostat_mark hinv.ncpu"},
	{cmd: "pmval -U {a}/mark-bug pmcd.pmlogger.port"},
	{cmd: "pmval -U x -h y sample.bin"},
	{cmd: "pmval -a x -U y sample.bin"},
	{cmd: "pmval -r -t 2 -a {a}/gap sample.milliseconds"},
	{cmd: "pmval -t 2 -a {a}/gap2 pmcd.pdu_in.total"},
	{cmd: "pmval -t 1 -a {a}/mark-bug pmcd.pmlogger.port"},
	{cmd: "pmval -t 30 -a {a}/pmiostat_mark disk.dev.read"},
	{cmd: "pmval -t 30 -a {a}/pmiostat_mark disk.dev.read", env: []string{"PCP_IGNORE_MARK_RECORDS="}},
	{cmd: "pmval -t 30 -a {a}/pmiostat_mark disk.dev.read", env: []string{"PCP_IGNORE_MARK_RECORDS=1sec"}},
	{cmd: "pmval -t 5 -a {a}/wrap sample.wrap.long"},
	{cmd: "pmval -t 7 -a {a}/kenj-pc-2 sample.wrap.ulong"},
	{cmd: "pmval -t 7 -a {a}/kenj-pc-2 sample.wrap.ulong", env: []string{"PCP_COUNTER_WRAP="}},
	{cmd: "pmval -t 7 -a {a}/kenj-pc-2 sample.wrap.ulonglong"},
	{cmd: "pmval -r -t 7 -a {a}/kenj-pc-2 sample.wrap.ulonglong", env: []string{"PCP_COUNTER_WRAP=1"}},
	{cmd: "pmval -t 20 -a {a}/changeinst sample.bin"},
	{cmd: "pmval -a {a}/dyninsts -t 1 disk.dev.read"},
	{cmd: "pmval -t 5 -a {a}/mirage-3 sample.mirage"},
	{cmd: "pmval -t 10 -a {a}/moomba.client kernel.all.load"},
	{cmd: "pmval -t 1hour -s 4 -a {a}/20180127 kernel.all.load"},
	{cmd: "pmval -t 25day -s 3 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -t 0.0005 -s 3 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -t 1.535 -s 3 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -t 0 -s 3 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -t 1 -a {a}/reduce-1 sample.aggregate.hullo"},
	{cmd: "pmval -d -t 0.01 -s 3 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -d -g -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -x 3 -s 2 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -v -s 2 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -s 4 -n {names} -a {a}/ok-foo sample.ours"},
	{cmd: "pmval -t 1 -a {a}/tzchange-10-a,{a}/tzchange-10-b -s 3 kernel.all.load"},
	{cmd: "pmval -t 60 -a {a}/multi -s 30 kernel.all.load"},
	{cmd: "pmval -U {a}/multi -s 30 kernel.all.cpu.user"},
	{cmd: "pmval -s 4 sample.bin", env: []string{"PCP_ARCHIVE={a}/ok-foo"}},
	{cmd: "pmval -s 4 sample.bin", env: []string{"PCP_ARCHIVE_LIST={a}/ok-foo"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_ARCHIVE={a}/ok-foo", "PCP_HOST=x"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_ARCHIVE={a}/ok-foo", "PCP_START_TIME=3", "PCP_FINISH_TIME=-1", "PCP_HOSTZONE="}},
	{cmd: "pmval sample.bin", env: []string{"PCP_ARCHIVE={a}/ok-foo", "PCP_ORIGIN=2", "PCP_ALIGN_TIME=1", "PCP_SAMPLES=2"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_ARCHIVE={a}/ok-foo", "PCP_ORIGIN_TIME=2", "PCP_INTERVAL=2", "PCP_TIMEZONE=EST5EDT"}},
	{cmd: "pmval sample.bin", env: []string{"PCP_ARCHIVE="}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={folio}"}},
	{cmd: "pmval -s 2 kernel.all.load", env: []string{"PCP_FOLIO={twofolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={relfolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={nofolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={oldfolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={shortfolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={emptyfolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={nohostfolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO={nopathfolio}"}},
	{cmd: "pmval -s 2 sample.bin", env: []string{"PCP_FOLIO=/nonexistent"}},
	{cmd: "pmval --archive-folio {folio} sample.bin"},
}

// windowRuns are about -S, -T, -A and -O.
var windowRuns = []run{
	{cmd: "pmval -S 3 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S -3 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S @18:34:36.5 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S '@Thu Aug  6 18:34:36 1998' -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S '1998-08-06 18:34:36' -T '1998-08-06 18:34:38' -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S 1hour -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S 100000000000 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -T 3 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -T -3 -t 0.5 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -T 3 -s 10 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -T 200720072007 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S 5 -T 2 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -O 4 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -O -4 -S 1 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -O -2 -T -1 -a {a}/ok-foo sample.seconds"},
	{cmd: "pmval -A 1 -X -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -A 2 -O 1 -X -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -A 1min -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -A 0 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -A x -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S 3x -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -T '1 min 3 foo' -z -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -O @1:2:3:4 -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S @Feb -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -S @Thu -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -z -S @06:34:36pm -a {a}/ok-foo sample.colour"},
	{cmd: "pmval -Z UTC -S @18:34:36 -a {a}/ok-foo sample.colour", env: []string{"TZ=EST5EDT"}},
	{cmd: "pmval -S @14:34:36 -a {a}/ok-foo sample.colour", env: []string{"TZ=EST5EDT"}},
	{cmd: "pmval -S 1.123456789 -t 0.123456789 -X -s 5 -a {a}/ok-foo sample.drift"},
	{cmd: "pmval -XX -S 1.000000001 -s 3 -a {a}/omnibus_v3 sample.bin"},
}

var archiveEventRuns = []run{
	{cmd: "pmevent -a {a}/eventrec sample.event.records"},
	{cmd: "pmevent -X -a {a}/eventrec sample.event.records"},
	{cmd: "pmevent -z -s 2 -a {a}/eventrec sample.event.records"},
	{cmd: "pmval -a {a}/eventrec -i bogus sample.event.records"},
	{cmd: "pmval -U {a}/eventrec -r sample.event.records"},
	{cmd: "pmevent -S 3 -T -1 -a {a}/eventrec sample.event.records"},
	{cmd: "pmevent -v -a {a}/omnibus_v2 sampledso.event.records"},
	{cmd: "pmevent -XX -a {a}/omnibus_v3 sampledso.event.highres_records"},
	{cmd: "pmevent -t 2 -a {a}/eventrec sample.colour"},
}

var archiveStatRuns = []run{
	{cmd: "pmstat -a {a}/20071023-08-06-36"},
	{cmd: "pmstat -a {a}/20071023-08-06-36 -T 1min -t 5"},
	{cmd: "pmstat -a {a}/20071023-08-06-36 -x -t 10 -s 5"},
	{cmd: "pmstat -a {a}/20071023-08-06-36 -s 2 -T 1min"},
	{cmd: "pmstat -a {a}/pcp-vmstat -t 1 -s 30"},
	{cmd: "pmstat -a {a}/pcp-vmstat -S 10 -A 5 -t 5 -x -Z EST5EDT -s 3", noise: "clock"},
	{cmd: "pmstat -P -t 0.01 -a {a}/pcp-vmstat -s 3"},
	{cmd: "pmstat -a {a}/pcp-mpstat -a {a}/pcp-vmstat -l -t 1h -s 2", noise: "clock"},
	{cmd: "pmstat -a {a}/pcp-vmstat -a {a}/viewqa1 -t 10 -s 3", noise: "clock"},
	{cmd: "pmstat -a {a}/viewqa1 -a {a}/viewqa2 -a {a}/viewqa1 -xl -t 10 -s 3 -z"},
	{cmd: "pmstat -a {a}/viewqa1 -O 3min -t 10 -s 3", noise: "clock"},
	{cmd: "pmstat -a {a}/ok-foo"},
	{cmd: "pmstat -a {a}/ok-foo -a {a}/viewqa1 -s 2", noise: "clock"},
	{cmd: "pmstat -a {a}/viewqa1 -a {a}/nosuch -s 2"},
	{cmd: "pmstat -a {a}/viewqa1 -T x"},
	{cmd: "pmstat -a {a}/viewqa1 -h localhost"},
	{cmd: "pmstat -s 2", env: []string{"PCP_ARCHIVE_LIST={a}/viewqa1,{a}/viewqa2"}},
	{cmd: "pmstat -s 2", env: []string{"PCP_ARCHIVE={a}/viewqa1"}},
	{cmd: "pmstat -P -s 1"},
	{cmd: "pmstat -z -a {a}/moomba.client -t 1min -s 3", noise: "clock"},
}

// openRuns are about archives that cannot be opened, or not well.
var openRuns = []run{
	{cmd: "pminfo -a {a}/nosuch"},
	{cmd: "pmprobe -a {a}/nosuch"},
	{cmd: "pmval -a {a}/nosuch sample.bin"},
	{cmd: "pmval -U {a}/nosuch sample.bin"},
	{cmd: "pmstat -a {a}/nosuch"},
	{cmd: "pminfo -a ''"},
	{cmd: "pminfo -a /"},
	{cmd: "pminfo -a {a}/ok-foo.meta sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo.0 sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo.index sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo.1 sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo, sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo,{a}/nosuch sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo,{a}/viewqa1 sample.bin"},
	{cmd: "pminfo -a {a}/ok-foo,{a}/ok-bigbin sample.bin"},
	{cmd: "pmval -a {a}/ok-foo,{a}/viewqa1 sample.bin"},
	{cmd: "pminfo -f -a {bad}/empty"},
	{cmd: "pmval -a {bad}/empty sample.bin"},
	{cmd: "pminfo -a {bad}/badlabel-0"},
	{cmd: "pminfo -a {bad}/badlabel-1"},
	{cmd: "pmval -a {bad}/badlabel-2 sample.bin"},
	{cmd: "pminfo -f -a {bad}/badlen-0"},
	{cmd: "pmval -a {bad}/badlen-3 sample.seconds"},
	{cmd: "pmval -U {bad}/badlen-8 sample.seconds"},
	{cmd: "pminfo -f -a {bad}/badlog-1"},
	{cmd: "pmval -a {bad}/badlog-4 sample.bin"},
	{cmd: "pminfo -a {bad}/badmeta-1"},
	{cmd: "pminfo -dm -a {bad}/badmeta-3"},
	{cmd: "pmprobe -a {bad}/badmeta-5"},
	{cmd: "pminfo -a {bad}/bozo.client"},
	{cmd: "pminfo -a {bad}/err_v1"},
	{cmd: "pmval -a {bad}/ok-truncbin -t 5 sample.bin"},
	{cmd: "pminfo -f -a {bad}/corrupted_labelset"},
	{cmd: "pmstat -a {bad}/err_v1"},
	{cmd: "pmval -z -a {bad}/babylon.percpu kernel.percpu.cpu.user"},
	{cmd: "pmprobe -f -I -a {a}/20101004-trunc"},
	{cmd: "pmval -a {a}/20101004-trunc -t 10 -s 5 kernel.all.load"},
}
