package importcmd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// sarDocuments are small ones, as versions of sadf write them, and some that are wrong.
var sarDocuments = []string{
	sarHead + `<timestamp date="2026-01-01" time="10:00:00" utc="1" interval="60">
<cpu-load><cpu number="all" user="1.5" nice="0.00" system="2.25" iowait="0,50" steal="0.00" idle="95.75"/><cpu number="0" usr="3" sys="4" irq="1" soft="2" guest="0" idle="90"/></cpu-load>
<process-and-context-switch per="second" proc="1" cswch="652.10"/><interrupts><int-global per="second"><irq intr="sum" value="230.46"/></int-global></interrupts>
<swap-pages per="second" pswpin="0.00" pswpout="1.00"/><paging per="second" pgpgin="0.1" pgpgout="8.82" fault="49.50" majflt="0" pgfree="94.19"/>
<io per="second"><tps>3</tps><io-reads rtps="1.00" bread="17.0">1</io-reads><io-writes wtps="2" bwrtn="3"/></io>
<memory per="second" unit="kB"><memfree>100</memfree><memused>200</memused><dirty>5</dirty></memory>
<kernel dentunusd="1" file-nr="2" inode-nr="3" pty-nr="4"/><queue runq-sz="1" plist-sz="2" ldavg-1="0.1" ldavg-5="0.2" ldavg-15="0.3"/>
<disk per="second"><disk-device dev="8-0" tps="1" rd_sec="3" wr_sec="5" avgrq-sz="1" avgqu-sz="2" await="3" svctm="4" util-percent="50"/></disk>
<network per="second"><net-device iface="lo"><net-dev rxpck="1" txpck="2" rxkB="3" txkB="4"/><net-edev rxerr="1" txerr="2" coll="3"/></net-device><net-dev iface="eth0" rxpck="1"/></network>
<filesystems><filesystem fsname="/dev/sda1" MBfsfree="10" MBfsused="20" Ifree="30" Iused="40"/><filesystem fsname="/dev/sda1" MBfsfree="10" MBfsused="20" Ifree="30" Iused="40"/></filesystems>
</timestamp>
<timestamp date="2026-1-1" time="10-01-00"><queue ldavg-1="1"/><novelty/></timestamp>` + sarTail,
	sarHead + `<timestamp date="2026-01-01" time="10:00:00"><queue ldavg-1="1"/></timestamp><timestamp date="2025-01-01" time="10:00:00"><queue ldavg-1="1"/></timestamp>` + sarTail,
	sarHead + `<timestamp date="2026-01-01"></timestamp>` + sarTail, "<a", "<a></b>", "", "<?xml version='1.0' encoding='ISO-8859-1'?>\n<x y='\xe9'/>", sarHead,
}

const (
	sarHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE Configure PUBLIC "DTD v2.19 sysstat //EN"
"http://pagesperso-orange.fr/sebastien.godard/sysstat-2.19.dtd">
<sysstat><sysdata-version>2.19</sysdata-version><host nodename="cellar"><number-of-cpus>2</number-of-cpus><statistics>
`
	sarTail = `</statistics></host></sysstat>`
)

// iostatReports are small ones in each form.
var iostatReports = []string{
	iostatReport("01/02/26", []string{"01/02/26 10:00:00", "01/02/26 10:00:05"}, cpuPart, "Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn\nsda               0.52         8.84         7.78         44         39\n"),
	iostatReport("2026-02-01", []string{"2026-02-01T10:00:00+1000", "2026-02-01T10:00:05+1000"}, cpuPart, "Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd\nvda               1.00         2.00         3.00         4.00         10         15         20\n"),
	iostatReport("2026-02-01", []string{"2026-02-01 10:00:00", "2026-02-01 10:00:05"}, "", "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\nsda 1 2 3 4 5 6 7 8 9 10 11 12 13\n"),
	iostatReport("02/01/2026", []string{"Time: 11:59:55 PM", "Time: 12:00:05 AM"}, cpuPart, "Device:         rrqm/s   wrqm/s   r/s   w/s   rsec/s   wsec/s avgrq-sz avgqu-sz await  svctm  %util\nsda 1 2 3 4 5 6 7 8 9 10 11\n"),
	iostatReport("02/01/2026", []string{"02/01/2026 11:59:55 PM", "02/02/2026 12:00:05 AM"}, cpuPart, "Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  %rrqm  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util\nsda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"),
	iostatReport("2026-02-01", nil, "", "Device             tps    MB_read/s    MB_wrtn/s    MB_read    MB_wrtn\nsda               1.00         2.00         3.00         20         30\n"),
	iostatReport("2026-02-01", nil, cpuPart, ""),
	iostatReport("2026-02-01", []string{"2026-02-01T10:00:00Z"}, "", "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\nvda 1 2 3 4 5 6 3 8 9 10 9 12 13 14 15 16 17 18 19 20 21 22\n"),
	"", "\n\n\n\n", "Linux 1 (h)  01/01/26  _x_\n\nDevice: tps\n", "Linux 1 (h)  01/01/26  _x_\n\n01/01/26 00:00:00\n01/01/26 00:00:01\n",
}

const cpuPart = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          85.38    0,50   14.62    0.00    0.00    0.00\n"

// iostatReport returns three reports with the same parts.
func iostatReport(date string, stamps []string, parts ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Linux 6.1 (cellar) \t%s \t_x86_64_\t(2 CPU)\n", date)
	for i := range 3 {
		b.WriteString("\n")
		if stamps != nil {
			fmt.Fprintln(&b, stamps[min(i, len(stamps)-1)])
		}
		for _, part := range parts {
			if part != "" {
				b.WriteString(part + "\n")
			}
		}
	}
	return b.String()
}

// both runs a real importer and ours, with the same arguments and the archive at the end,
// and compares the archives, except for the process number.
func both(t *testing.T, tool, ours string, args ...string) {
	t.Helper()
	oracle.Require(t)
	if oracle.Path(tool) == "" {
		oracle.Missing(t, tool+" is not installed")
	}
	dir := t.TempDir()
	theirs, mine := filepath.Join(dir, "theirs"), filepath.Join(dir, "mine")
	real := oracle.RunEnv(t, []string{"PCP_ARCHIVE_VERSION=3"}, tool, append(args, theirs)...)
	out, status := run("", map[string]string{"PCP_ARCHIVE_VERSION": "3"}, append(append([]string{ours}, args...), mine)...)
	if real.Exit != 0 || status != 0 {
		t.Fatalf("%s: exit %d: %s%s; ours: exit %d: %s", tool, real.Exit, real.Stdout, real.Stderr, status, out)
	}
	pid := regexp.MustCompile(`(?m)^PID for pmlogger: .*$`)
	dump := func(base string) string {
		d := oracle.Run(t, "pmdumplog", "-z", "-a", base)
		if d.Exit != 0 {
			t.Fatalf("pmdumplog: %s", d.Stderr)
		}
		return pid.ReplaceAllString(d.Stdout, "")
	}
	if got, want := dump(mine), dump(theirs); got != want {
		t.Errorf("%s %v: pmdumplog -a shows another archive\n%s", tool, args, firstDifference(got, want))
	}
	for _, suffix := range []string{".0", ".meta", ".index"} {
		got, err1 := os.ReadFile(mine + suffix)
		want, err2 := os.ReadFile(theirs + suffix)
		if err1 != nil || err2 != nil || len(got) < 16 || len(got) != len(want) {
			t.Fatalf("%s %v: %s of %d and %d bytes: %v, %v", tool, args, suffix, len(got), len(want), err1, err2)
		}
		copy(got[8:12], want[8:12]) // process number
		if !bytes.Equal(got, want) {
			t.Errorf("%s %v: %s differs", tool, args, suffix)
		}
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %q, theirs %q", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, theirs %d", len(x), len(y))
}

// sadist is the folder of the QA suite with data to import.
const sadist = "/var/lib/pcp/testsuite/sadist/"

// suiteFile returns a file of the QA suite, unpacked if it is packed.
func suiteFile(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.Stat(sadist + name); err == nil {
		return sadist + name
	}
	text, err := exec.Command("xz", "-dc", sadist+name+".xz").Output()
	if err != nil {
		oracle.Missing(t, "the QA suite has no "+name+", or there is no xz")
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSarOracle(t *testing.T) {
	oracle.Require(t)
	for i, s := range sarDocuments[:1] {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.xml", i))
		if err := os.WriteFile(path, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
		both(t, "sar2pcp", "sar", path)
	}
	for _, name := range []string{"859117-rhel5.xml", "891688-dash-time.xml", "csb6-rhel6.xml", "smash-rhel5.xml", "smash-rhel6.xml"} {
		both(t, "sar2pcp", "sar", suiteFile(t, name))
	}
	if _, err := exec.LookPath("sadf"); err != nil {
		oracle.Missing(t, "sadf is not installed")
	}
	both(t, "sar2pcp", "sar", suiteFile(t, "sa-sysstat-12.0.6"))
	if !longtest.Enabled() {
		return
	}
	for _, version := range []string{"9.0.4", "9.1.7", "10.0.5", "10.2.0", "11.0.1", "11.1.5", "11.2.0", "11.5.7"} {
		text, err := exec.Command("sadf", "-c", suiteFile(t, "sa-sysstat-"+version)).Output()
		if err != nil || len(text) == 0 {
			t.Logf("sadf -c cannot convert the file of version %s: %v", version, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "sa")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		both(t, "sar2pcp", "sar", path)
	}
}

func TestIostatOracle(t *testing.T) {
	oracle.Require(t)
	for _, name := range []string{
		"iostat", "iostat-c", "iostat-d", "iostat-d-k", "iostat-d-m", "iostat-p-ALL", "iostat-t", "iostat-t.ISO", "iostat-t-x-bud",
		"iostat-x", "iostat-z", "iostat-z-p-ALL",
	} {
		for _, args := range [][]string{nil, {"-V", "2"}, {"-V3", "-Z", "+1030"}, {"-S", "22:59:58", "-t", "3", "-Z", "-0500"}} {
			both(t, "iostat2pcp", "iostat", append(args, suiteFile(t, name))...)
		}
	}
}

func TestMRTGOracle(t *testing.T) {
	oracle.Require(t)
	path := filepath.Join(t.TempDir(), "gate.log")
	var b strings.Builder
	fmt.Fprintln(&b, "1767264000 123456789012 987654321098")
	for i := range 600 {
		fmt.Fprintln(&b, 1767264000-300*i, 12345*i%999983, 1<<40+i, 20000, 2<<40)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, zone := range []string{"UTC", "EST5EDT", "AEST-10"} {
		both(t, "mrtg2pcp", "mrtg", "gate.example.com", "eth0", zone, path)
	}
}
