package rep_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/reports/rep"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

func TestMain(m *testing.M) { twin.Main(m, rep.Command, rep.CSVCommand) }

// An input is an archive of the suite and the metrics to request.
type input struct {
	name  string
	specs []string
	insts []string
}

var inputs = []input{
	{"20180415.09.16", []string{"disk.all.blkwrite", "mem.physmem", "mem.util.vmallocChunk", "mem.zoneinfo.nr_inactive_file", "mem.zoneinfo.nr_writeback_temp", "network.icmp.inechos", "network.interface.in.fifo", "network.tcp.sackreorder"}, []string{"DMA::node0", "Normal::node0", "lo", ".*", "[a-z].*"}},
	{"pcp-dstat", []string{"disk.dev.w_avg_rqsz", "event.missed", "kernel.all.sysfork", "mem.vmstat.pgmajfault", "mem.vmstat.pgscan_direct_dma32", "mem.vmstat.pgscan_kswapd_movable", "network.tcpconn.syn_recv", "nfs3.server.calls"}, []string{"vda", ".*", "[a-z].*"}},
	{"rep", []string{"event.flags", "hinv.cpu.bogomips", "hinv.cpu.clock", "hinv.machine", "hinv.ncpu", "kernel.all.lastpid", "network.tcpconn.close", "proc.psinfo.age"}, []string{"cpu0", ".*", "[a-z].*"}},
	{"sample-labels", []string{"event.flags", "pmcd.pid", "pmcd.pmlogger.archive", "pmcd.pmlogger.host", "pmcd.pmlogger.port", "pmcd.seqnum", "sample.colour", "sample.mirage"}, []string{"440875", "blue", "green", ".*", "[a-z].*"}},
	{"rank-pred", []string{"disk.dev.read", "disk.dev.write", "event.flags", "event.missed", "kernel.pernode.cpu.sys", "kernel.pernode.cpu.user", "mem.util.used"}, []string{"cpu0", "cpu1", "cpu2", ".*", "[a-z].*"}},
	{"pcp-pidstat", []string{"kernel.all.cpu.idle", "kernel.all.cpu.user", "kernel.all.cpu.vuser", "kernel.cpu.util.sys", "kernel.uname.machine", "kernel.uname.sysname", "mem.physmem", "pmcd.pmlogger.host"}, []string{"13421", ".*", "[a-z].*"}},
	{"procpid-encode", []string{"event.flags", "event.missed", "pmcd.pmlogger.archive", "pmcd.pmlogger.host", "pmcd.pmlogger.port"}, []string{"31857", ".*", "[a-z].*"}},
	{"value-test", []string{"event.flags", "event.missed", "kernel.all.uptime", "kernel.uname.release", "sample.float.one"}, []string{".*", "[a-z].*"}},
	{"ok-mv-bigbin", []string{"event.flags", "pmcd.pmlogger.archive", "pmcd.pmlogger.port", "sample.bin", "sample.colour", "sample.milliseconds", "sampledso.colour", "sampledso.milliseconds"}, []string{"19112", "bin-100", "bin-200", ".*", "[a-z].*"}},
	{"ok-foo", []string{"event.missed", "pmcd.pmlogger.host", "pmcd.pmlogger.port", "sample.bin", "sample.colour", "sample.drift", "sample.lights", "sample.seconds"}, []string{"5403", "bin-100", "bin-200", ".*", "[a-z].*"}},
	{"dyninsts", []string{"disk.dev.read", "disk.dev.write", "event.flags", "event.missed", "mem.util.free", "mem.util.used"}, []string{"sda", "sdb", "sdc", ".*", "[a-z].*"}},
	{"changeinst", []string{"event.missed", "hinv.ncpu", "irix.network.interface.total.packets", "pmcd.pmlogger.port", "sample.bin", "sample.drift", "sample.milliseconds", "sample.seconds"}, []string{"1318", "1342", "1368", ".*", "[a-z].*"}},
	{"pcp-mpstat", []string{"hinv.cpu.online", "hinv.ncpu", "kernel.percpu.interrupts.line25", "kernel.percpu.interrupts.line8", "kernel.percpu.softirqs.HI", "kernel.percpu.softirqs.NET_RX", "kernel.uname.release", "pmcd.pmlogger.host"}, []string{"3753", "cpu0", "cpu1", ".*", "[a-z].*"}},
	{"mark_no_mark_1", []string{"hinv.cpu.flags", "hinv.cpu.model_name", "hinv.cpu.online", "hinv.cpu.stepping", "hinv.node.online", "hinv.physmem", "simple.now", "simple.time.user"}, []string{"cpu0", "cpu1", "cpu2", ".*", "[a-z].*"}},
	{"tzchange-10-a", []string{"event.flags", "event.missed", "pmcd.pmlogger.archive", "pmcd.pmlogger.host", "pmcd.pmlogger.port", "sample.drift"}, []string{"23913", ".*", "[a-z].*"}},
	{"pcp-zeroconf", []string{"disk.dm.read_bytes", "hinv.map.scsi", "network.icmp.outtimeexcds", "nfsclient.ops.secinfo.queue", "nfsclient.ops.symlink.ntrans", "nfsclient.options.rsize", "nfsclient.xprt.hardway", "xfs.perdev.btree.alloc_blocks.insrec"}, []string{"/dev/mapper/shack-root", "/snazzy/scan", "scsi0:0:0:0 Direct-Access", ".*", "[a-z].*"}},
	{"gap", []string{"hinv.ncpu", "pmcd.pdu_in.auth", "pmcd.pdu_in.instance_req", "pmcd.pdu_in.profile", "pmcd.pdu_in.total", "pmcd.pmlogger.archive", "sample.bin", "sample.dupnames.two.bin"}, []string{"20314", "20377", "bin-100", ".*", "[a-z].*"}},
	{"simple-nvme", []string{"disk.dev.r_avg_rqsz", "disk.dev.read_bytes", "disk.dev.total_bytes", "disk.dev.write_bytes", "event.missed", "pmcd.pmlogger.archive", "pmcd.pmlogger.host", "pmcd.pmlogger.port"}, []string{"57023", "sda", "sdb", ".*", "[a-z].*"}},
	{"cgroups-units", []string{"cgroup.blkio.all.io_merged.sync", "cgroup.blkio.all.io_queued.write", "cgroup.blkio.all.io_service_bytes.sync", "cgroup.blkio.all.io_service_time.total", "cgroup.memory.stat.inactive_file", "cgroup.memory.stat.total.rss_huge", "pmcd.pmlogger.archive", "pmcd.pmlogger.host"}, []string{"/", "/libvirt", "/libvirt/lxc", ".*", "[a-z].*"}},
	{"omnibus_v2", []string{"sample.proc.ordinal", "sample.proc.exec", "sample.colour", "sample.string.hullo", "sample.dupnames.two.write_me", "pmcd.pmlogger.archive"}, []string{"0007 /usr/bin/waldo", "bozo", "7", "red", ".*"}},
	{"binning", []string{"pmcd.pmlogger.port", "sample.milliseconds", "sample.bin"}, []string{"1106", "9461", "bin-100", ".*"}},
	{"pcp-ss", []string{"pmcd.seqnum", "network.persocket.segs_in", "network.persocket.uid", "network.persocket.recvq", "network.persocket.skmem.fwd_alloc"}, []string{"tcp/10.0.0.10:33256", ".*:33256", "tcp.*"}},
	{"multi", []string{"mem.util.free", "kernel.all.load", "disk.dev.read", "network.interface.in.bytes", "mem.util.inactive_file"}, []string{"1 minute", "sda", "lo", ".*"}},
	{"uwrap", []string{"event.flags", "event.missed", "pmcd.pmlogger.archive", "pmcd.pmlogger.host", "pmcd.pmlogger.port", "sample.wrap.ulong"}, []string{"31262", ".*", "[a-z].*"}},
}

// pieces are options with generators of their arguments, drawn more or less often.
var pieces = []string{
	"-H", "-U", "--no-inst-info", "-G", "-p", "-p", "-p", "-r", "-R", "-I", "-I", "-5", "-j", "-n", "-v", "-m", "-g", "-1", "-1", "-7", "-x", "-k", "-u", "-d",
	"-J 1", "-J 2", "-J -2", "-2", "-3", "-8 1", "-8 10", "-9 5", "-9 -3", "-w 5", "-w 12", "-W 3", "-W 9", "-P 0", "-P 1", "-0 5", "-0 x",
	"-l |", "-l :", "-l _", "-E 2", "-E auto", "-X col", "-X longer-label", "-X", "-f %H.%M", "-f %d%b%f", "-f %s", "-q count x 10^2", "-Q count", "-b MB", "-B KB",
	"-y min", "-Y msec", "-o csv", "-o csv", "-o csv", "-o stdout", "-4 update", "-4 abort", "-t 2", "-t 10", "-t 1min",
	"-S +1", "-S @00:00", "-T +30sec", "-T -1", "-O +5", "-A 5sec", "-Z UTC", "-Z EST5EDT", "-Z Asia/Kolkata", "-z", "-C", "-D appl1", "--include-texts",
	"-e x.y=kernel.all.load*2", "-e x.y=rate(disk.all.read)", "-e x.y=METRIC", "-e x.y=rate(METRIC)", "-e x.y=instant(METRIC)", "-e x.y=METRIC>3",
	"-e x.y=1;z.w=2", "-e x.y=count(METRIC)", "-e x.y=delta(METRIC)", "-e x.y=novalue()", "-N METRIC", "-6 METRIC", "-6 -METRIC", "-F out", "-s 3 -T @00:00",
	"-8 -5", "-P 15", "-0 20", "-l {", "-l \\t", "-l %", "-f %G %V %u %w", "-f %c %z %f", "-f %Q", "-A 1min", "-O @00:00", "-O -0", "-S -5", "-T -1min",
	"-i \"a b\",'c'", "-b 1024byte", "--width=7", "--timestamp-format=%s", "-a omnibus_v2", "-Z NST+3:30", "-s 0", "-t 0.001",
}

// wrong are options that are mistakes.
var wrong = []string{
	"-J x", "-8 x", "-w x", "-0 x", "-E x", "-b foo", "-e a.b=", "-T @", "-F /nosuch/x", "-F /tmp", "-h localhost", "-s 2.5", "-A x", "-O x", "-4 foo", "-t x", "-S bad", "--nosuch", "-e x.y", "-e a.b=1+", "-o foo", "-c /nosuch", "-i (", "-P -1", "-M",
}

// line draws a command line, and a configuration for it, "" if there is none.
func line(r *rand.Rand, dir string) (args []string, config string) {
	in := inputs[r.IntN(len(inputs))]
	args = []string{"-a", filepath.Join(dir, in.name)}
	if r.IntN(3) > 0 {
		args = append(args, "-s", fmt.Sprint(1+r.IntN(6)))
	} else {
		args = append(args, "-T", "+40sec")
	}
	for range r.IntN(6) {
		opt, arg, has := strings.Cut(pieces[r.IntN(len(pieces))], " ")
		arg = strings.ReplaceAll(arg, "METRIC", in.specs[r.IntN(len(in.specs))])
		switch {
		case opt == "-a": // several
			args = append(args, opt, filepath.Join(dir, arg))
		case strings.Contains(arg, " -"):
			args = append(append(args, opt), strings.Fields(arg)...)
		case has || opt == "-X":
			args = append(args, opt, arg)
		default:
			args = append(args, opt)
		}
	}
	if r.IntN(8) == 0 {
		args = append(args, strings.SplitN(wrong[r.IntN(len(wrong))], " ", 2)...)
	}
	if r.IntN(3) == 0 {
		args = append(args, "-i", in.insts[r.IntN(len(in.insts))])
	}
	spec := func() string {
		s := in.specs[r.IntN(len(in.specs))]
		if r.IntN(3) > 0 {
			return s
		}
		fields := []string{"", "label", "a longer label"}
		s += "," + fields[r.IntN(len(fields))]
		if inst := in.insts[r.IntN(len(in.insts))]; r.IntN(2) == 0 && !strings.Contains(inst, ",") {
			s += "," + inst
		} else {
			s += ","
		}
		for _, choose := range [][]string{{"", "KB", "MB", "s", "min", "count x 10^3"}, {"", "raw", "x"}, {"", "7", "12"}, {"", "1", "2"}, {"", "3", "-4"}} {
			k := 0
			if r.IntN(4) == 0 {
				k = r.IntN(len(choose))
			}
			s += "," + choose[k]
		}
		return s
	}
	if r.IntN(6) == 0 {
		views := []string{":vmstat", ":sar", ":sar-u-ALL", ":iostat-dktx", ":mpstat", ":pidstat", ":vmstat-a", ":nosuch", ":sar-b", ":collectl-sd", ":proc-cpu"}
		args = append(args, views[r.IntN(len(views))])
	}
	specs := 1 + r.IntN(3)
	if r.IntN(4) == 0 {
		config = drawConfig(r, in)
		args = append(args, "-c", "my.conf", ":set")
		if r.IntN(2) == 0 {
			args = append(args, ":other")
		}
		specs = r.IntN(2)
	}
	for range specs {
		args = append(args, spec())
	}
	if slices.Contains(args, "-u") || strings.Contains(config, "interpol = no") {
		// See lostSet: together with other metrics its records come and go.
		instead := strings.NewReplacer("event.flags", "pmcd.pmlogger.host", "event.missed", "pmcd.pmlogger.port")
		for i := range args {
			args[i] = instead.Replace(args[i])
		}
		config = instead.Replace(config)
	}
	return args, config
}

// object matches an object as Python prints it, with an address that varies.
var object = regexp.MustCompile(` <pcp\.pmapi\.[^>]*>`)

// lostSet is the C library's message when it reads values that it has freed: with only event.flags and event.missed, of
// the records of an archive.
const lostSet = "__pmLogFetch: missing pmDesc for pmID"

// nested is our message about a derived metric of derived metrics, which has no values in version 6.
const nested = ": Illegal nested derived metric"

// warning matches a warning of Python about an expression.
var warning = regexp.MustCompile(`(?m)^.*FutureWarning.*\n.*\n`)

// same returns the difference between two results, "" if there is none. If Python gives up with a traceback, only
// its earlier output must be the same: ours must continue or report why not.
func same(call twin.Call, want, got twin.Result) string {
	what := fmt.Sprintf("%s %q", call.Tool, call.Args)
	wantErr := warning.ReplaceAllString(object.ReplaceAllString(string(want.Err), ""), "")
	switch {
	case strings.Contains(wantErr, "Traceback"), want.Status == -1: // or a crash
		if got.Status == 2 || got.Status == -1 || strings.Contains(string(got.Err), "panic") {
			return fmt.Sprintf("%s: status %d: %s", what, got.Status, got.Err)
		}
		return ""
	case strings.Contains(wantErr, lostSet) && strings.HasPrefix(string(got.Out), string(want.Out)) && got.Status == 0:
		return ""
	case got.Status == 1 && strings.Contains(string(got.Err), nested):
		return ""
	}
	switch {
	case string(want.Out) != string(got.Out):
		return what + ": output differs: " + twin.FirstDifference(want.Out, got.Out)
	case wantErr != string(got.Err):
		return fmt.Sprintf("%s: messages differ:\n%s\nours:\n%s", what, want.Err, got.Err)
	case want.Status != got.Status:
		return fmt.Sprintf("%s: status %d, want %d", what, got.Status, want.Status)
	}
	return ""
}

// TestRandomLines runs both with command lines drawn at random, right and wrong, over archives of the suite.
func TestRandomLines(t *testing.T) {
	twin.NeedSuite(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 17))
	dir := filepath.Join(twin.SuiteRoot, "archives")
	n, reports := longtest.N(40, 500), 0
	for range n {
		args, config := line(r, dir)
		call := twin.Call{Tool: "pmrep", Args: args, KillAfter: time.Minute, Dir: t.TempDir()}
		if config != "" {
			if err := os.WriteFile(filepath.Join(call.Dir, "my.conf"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(call.Dir, "out")
		want := call.Run(t, false)
		wantFile, wantErr := os.ReadFile(file)
		os.Remove(file)
		if want.Status == 0 && len(want.Out)+len(wantFile) > 50 {
			reports++
		}
		got := call.Run(t, true)
		gotFile, gotErr := os.ReadFile(file)
		d := same(call, want, got)
		if d == "" && want.Status != -1 && !strings.Contains(string(want.Err), lostSet) && (string(wantFile) != string(gotFile) || (wantErr == nil) != (gotErr == nil)) {
			d = fmt.Sprintf("%s %q: the file differs: %s", call.Tool, call.Args, twin.FirstDifference(wantFile, gotFile))
		}
		if d != "" {
			t.Errorf("%s\n%s", d, config)
		}
	}
	t.Logf("%d of %d lines print a report", reports, n)
	if reports < n/3 {
		t.Errorf("only %d of %d lines print a report", reports, n)
	}
}
