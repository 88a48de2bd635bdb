package xsos

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/testing/reporttest"
)

// host returns the metrics of a small host. Its values change in the second record.
func host() []reporttest.Metric {
	one := func(name, value string) reporttest.Metric {
		m := reporttest.Metric{Name: name, Type: pcp.TypeString, Value: func(int, string) string { return value }}
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			m.Type = pcp.TypeDouble
		}
		return m
	}
	set := func(name string, indom int, insts []string, values ...string) reporttest.Metric {
		m := reporttest.Metric{Name: name, InDom: indom, Insts: insts, Type: pcp.TypeString, Value: func(_ int, inst string) string {
			for i, s := range insts {
				if s == inst && i < len(values) {
					return values[i]
				}
			}
			return ""
		}}
		if _, err := strconv.ParseFloat(values[len(values)-1], 64); err == nil {
			m.Type = pcp.TypeDouble
		}
		return m
	}
	minutes := []string{"0", "1 minute", "2", "3", "4", "5 minute", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15 minute"}
	disks, mounts, cards := []string{"sda", "sdb"}, []string{"/dev/sda1", "tmpfs"}, []string{"lo", "eth0", "wlan0"}
	pids := []string{"000000 init", "000001 cellar --dry 50% $x", "000002 (gone)"}
	list := []reporttest.Metric{
		one("kernel.all.boottime", "1699900000"), one("mem.physmem", "8388608"), one("hinv.ncpu", "4"), one("hinv.pagesize", "4096"),
		one("kernel.uname.sysname", "Linux"), one("kernel.uname.release", "6.1"), one("kernel.uname.version", "#1 SMP"), one("kernel.uname.machine", "arm64"),
		one("kernel.uname.distro", "Debian 12"), one("kernel.all.uptime", "100000"), one("kernel.all.nusers", "1"), one("kernel.all.hz", "100"),
		one("kernel.all.running", "2"), one("kernel.all.nprocs", "190"),
		one("kernel.all.cpu.user", "300"), one("kernel.all.cpu.idle", "600"), one("kernel.all.cpu.steal", "100"),
		set("kernel.all.load", 1, minutes, "", "1", "", "", "", "0.5", "", "", "", "", "", "", "", "", "", "0.25"),

		one("mem.util.used", "6291456"), one("mem.util.bufmem", "1048576"), one("mem.util.cached", "2097152"), one("mem.util.dirty", "4194"),
		one("mem.util.available", "4194304"), one("mem.util.slab", "838861"), one("mem.util.hugepagesTotalBytes", "1073741824"), one("mem.util.hugepagesFreeBytes", "805306368"),
		one("mem.util.anonhugepages", "20480"), one("mem.vmmemctl.current", "1073741824"), one("mem.vmmemctl.target", "2147483648"),
		one("mem.util.swapTotal", "2097152"), one("mem.util.swapFree", "1572864"),

		set("disk.dev.capacity", 2, disks, "104857600", "5242880"),
		set("filesys.capacity", 3, mounts, "100000", "2000"), set("filesys.used", 3, mounts, "60000", "0"), set("filesys.avail", 3, mounts, "40000", "2000"),
		set("filesys.full", 3, mounts, "59.7", "0"), set("filesys.mountdir", 3, mounts, "/", "/run"),

		set("network.interface.in.bytes", 4, cards, "1", "10485760", "524288"), set("network.interface.in.packets", 4, cards, "1", "9000", "100"),
		set("network.interface.in.errors", 4, cards, "0", "1000", "0"), set("network.interface.in.drops", 4, cards, "0", "0", "3"),
		set("network.interface.out.bytes", 4, cards, "1", "20971520", "0"), set("network.interface.out.packets", 4, cards, "1", "5000", "0"),
		one("network.sockstat.total", "120"), one("network.sockstat.tcp.inuse", "7"),
		one("network.icmp.inerrors", "3"), one("network.tcp.timeouts", "44"),

		set("proc.psinfo.utime", 5, pids, "1000", "900000", "0"), set("proc.psinfo.stime", 5, pids, "500", "100000", "0"),
		set("proc.psinfo.sname", 5, pids, "S", "D", "Z"), set("proc.psinfo.psargs", 5, pids, "init", "cellar --dry 50% $x", "(gone)"),
		set("proc.psinfo.start_time", 5, pids, "1000", "90000000", "100000000"), set("proc.psinfo.threads", 5, pids, "1", "12", "1"),
		set("proc.psinfo.rss", 5, pids, "8192", "1048576", "0"), set("proc.psinfo.vsize", 5, pids, "16384", "2097152", "0"),
		set("proc.id.uid_nm", 5, pids, "root", "winemaker", "root"),
	}
	return list
}

// TestReport compares all sections with testdata, which UPDATE=1 writes.
func TestReport(t *testing.T) {
	base := reporttest.Record(t, time.Second, host()...)
	for name, args := range map[string][]string{
		"all": {"--all", "-x"}, "default": {"-x"}, "colors": {"--all"}, "bytes": {"-m", "-n", "-x", "-u", "bytes"}, "tera": {"-mnpx", "--units=t"},
	} {
		out, status := reporttest.Run(t, Command, base, args...)
		out = strings.ReplaceAll(out, "\x1b", "^[")
		golden := filepath.Join("testdata", name+".txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(out), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), out); status != 0 || d != "" {
			t.Errorf("%s: status %d:\n%s", name, status, d)
		}
	}
}

func TestMissing(t *testing.T) {
	base := reporttest.Record(t, time.Second, reporttest.Metric{Name: "mem.util.free"})
	if out, status := reporttest.Run(t, Command, base); status != 1 || out != "pcp-xsos: failed to retrieve all 28 metric values\n" {
		t.Errorf("status %d: %q", status, out)
	}
	base = reporttest.Record(t, time.Second, reporttest.Metric{Name: "mem.physmem"})
	out, status := reporttest.Run(t, Command, base, "--all", "-x")
	for _, want := range []string{"  Distro:   unknown\n", "  Boot time: unknown\n", "LoadAvg:  [0 CPU] unknown, unknown, unknown\n", "    0 disks, totalling 0 GiB (0 TiB)\n", "Ip6.InAddrErrors:                     unknown\n", "    0/0\n"} {
		if !strings.Contains(out, want) || status != 0 {
			t.Errorf("status %d, no %q in:\n%s", status, want, out)
		}
	}
	if out, status := reporttest.Run(t, Command, "nosuch"); status != 1 || !strings.Contains(out, "No such file or directory") {
		t.Errorf("status %d: %q", status, out)
	}
	if out, status := reporttest.Run(t, Command, base, "-x", "more"); status != 1 || !strings.HasPrefix(out, "pcp-xsos: Unknown argument: more\n") {
		t.Errorf("status %d: %q", status, out)
	}
}
