package atop

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
)

// domains are the instance domains of the fixture, by the prefixes of metric names.
var domains = []struct {
	prefix string
	names  []string
	ids    []int32
}{
	{"kernel.percpu.", []string{"cpu0", "cpu1"}, []int32{0, 1}},
	{"hinv.cpu.", []string{"cpu0", "cpu1"}, []int32{0, 1}},
	{"hinv.map.cpu_node", []string{"cpu0", "cpu1"}, []int32{0, 1}},
	{"perfevent.", []string{"cpu0", "cpu1"}, []int32{0, 1}},
	{"disk.dev.", []string{"sda", "sdb-with-a-long-name"}, []int32{0, 1}},
	{"disk.dm.", []string{"vg-root"}, []int32{0}},
	{"disk.md.", []string{"md0"}, []int32{0}},
	{"network.interface.", []string{"lo", "eth0"}, []int32{0, 1}},
	{"infiniband.", []string{"mlx4_0:1"}, []int32{0}},
	{"nfsclient.", []string{"/mnt", "/a/path/that/is/longer/than/thirty/eight/columns"}, []int32{0, 1}},
	{"mem.numa.", []string{"node0"}, []int32{0}},
	{"sysfs.module.", nil, nil},
	{"resctrl.", []string{"mon_L3_00", "mon_L3_01"}, []int32{0, 1}},
	{"sysfs.", []string{"node0"}, []int32{0}},
	{"kernel.pernode.", []string{"node0"}, []int32{0}},
	{"nvidia.proc.", []string{"700 postmaster -D /data", "701 worker"}, []int32{700, 701}},
	{"nvidia.numcards", nil, nil},
	{"nvidia.", []string{"gpu0", "gpu1"}, []int32{0, 1}},
	{"acct.", []string{"4711 gone", "4712 killed"}, []int32{4711, 4712}},
	{"proc.", []string{"1 /sbin/init splash", "700 postmaster -D /data", "701 worker", "702 (kworker)"}, []int32{1, 700, 701, 702}},
	{"kernel.all.load", []string{"1 minute", "5 minute", "15 minute"}, []int32{1, 5, 15}},
	{"kernel.all.pressure.", []string{"10 second", "1 minute", "5 minute"}, []int32{10, 60, 300}},
	{"nfs.server.", []string{"read", "write"}, []int32{6, 8}},
	{"nfs3.server.", []string{"read", "write"}, []int32{6, 7}},
	{"nfs.client.", []string{"read", "write"}, []int32{6, 8}},
}

// texts are the metrics with strings, by the suffixes of their names.
var texts = map[string]func(inst int32) string{
	"psinfo.cmd": func(inst int32) string {
		return map[int32]string{1: "init", 700: "postmaster", 701: "worker", 702: "kworker"}[inst]
	},
	"psinfo.sname":          func(inst int32) string { return map[int32]string{1: "S", 700: "R", 701: "D", 702: "Z"}[inst] },
	"psinfo.psargs":         func(inst int32) string { return fmt.Sprintf("/usr/libexec/task-%d -x", inst) },
	"zswap.enabled":         func(int32) string { return "Y" },
	"psinfo.wchan_s":        func(int32) string { return "do_epoll_wait" },
	"psinfo.cgroups":        func(inst int32) string { return fmt.Sprintf(":/system.slice/unit-%d.service", inst) },
	"id.container":          func(inst int32) string { return map[int32]string{701: "0123456789ab"}[inst] },
	"nfsclient.export":      func(inst int32) string { return fmt.Sprintf("server:/export/%d", inst) },
	"nvidia.cardname":       func(int32) string { return "GeForce 9" },
	"nvidia.busid":          func(inst int32) string { return fmt.Sprintf("0000:0%d:00.0", inst) },
	"kernel.uname.release":  func(int32) string { return "6.1.0" },
	"kernel.uname.version":  func(int32) string { return "#1 SMP" },
	"kernel.uname.machine":  func(int32) string { return "x86_64" },
	"kernel.uname.nodename": func(int32) string { return "cellar.example.com" },
}

// numbers are metrics that do not change.
var numbers = map[string]int64{
	"kernel.all.hz": 100, "hinv.pagesize": 4096, "kernel.all.pid_max": 32768, "kernel.all.boottime": 1709500000,
	"acct.psinfo.btime": 1709640001, "acct.psinfo.etime": 2, "proc.psinfo.nice": 0, "proc.psinfo.policy": 1,
	"network.interface.baudrate": 125000000, "network.interface.duplex": 1, "network.interface.type": 1,
	"network.interface.virtual": 0, "network.interface.wireless": 0, "hinv.map.cpu_node": 0, "nvidia.numcards": 2,
	"hinv.cpu.frequency_scaling.count": 0, "hinv.cpu.frequency_scaling.time": 0, "hinv.cpu.frequency_scaling.max": 3000, "hinv.cpu.clock": 2400,
	"proc.psinfo.threads": 2, "nvidia.proc.all.gpulist": 3, "nvidia.proc.all.running": 1, "infiniband.port.rate": 40000, "infiniband.port.linkwidth": 4,
	"nfsclient.age": 5000,
}

// fixture makes an archive of a host with some of all resources shown, and returns its name.
func fixture(t testing.TB) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "cellar")
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC", Version: 3})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	once, often := sample.Recorded(false, true)
	begin := time.Date(2024, 3, 5, 12, 0, 0, 0, time.UTC)
	type series struct {
		name   string
		domain int
		text   func(int32) string
	}
	var all []series
	used := make(map[int]bool)
	for i, name := range slices.Concat(once, often) {
		s := series{name: name, domain: -1}
		for d := range domains {
			if strings.HasPrefix(name, domains[d].prefix) && !(strings.Contains(name, "pressure") && strings.HasSuffix(name, ".total")) {
				s.domain = d
				break
			}
		}
		if s.domain >= 0 && domains[s.domain].names == nil || strings.HasPrefix(name, "kernel.all.cpu.") {
			s.domain = -1
		}
		desc := pcp.Desc{PMID: pcp.NewPMID(60, i/1000, i%1000), Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		for end, text := range texts {
			if strings.HasSuffix(name, end) {
				s.text, desc.Type = text, pcp.TypeString
			}
		}
		if strings.HasSuffix(name, "_nm") {
			s.text, desc.Type = func(inst int32) string { return fmt.Sprintf("user%d", inst) }, pcp.TypeString
		}
		if name == "kernel.all.load" || name == "resctrl.llc.occupancy" {
			desc.Type = pcp.TypeFloat
		}
		if s.domain >= 0 {
			desc.InDom = pcp.NewInDom(60, s.domain)
		}
		_, err := im.AddMetric(name, desc)
		must(err)
		if d := s.domain; d >= 0 && !used[d] {
			used[d] = true
			for j, inst := range domains[d].ids {
				must(im.AddInstance(desc.InDom, domains[d].names[j], inst))
			}
		}
		all = append(all, s)
	}
	for n := range 6 {
		for _, s := range all {
			put := func(inst int32, name string) {
				value := ""
				if s.text != nil {
					value = s.text(inst)
				} else if s.name == "resctrl.llc.occupancy" {
					value = "0.25"
				} else if v, ok := numbers[s.name]; ok {
					value = fmt.Sprint(v)
				} else {
					value = fmt.Sprint(number(s.name, inst, n))
				}
				must(im.PutValue(s.name, name, value))
			}
			if s.domain < 0 {
				put(0, "")
				continue
			}
			for j, inst := range domains[s.domain].ids {
				if inst == 701 && n == 3 { // it comes and goes
					continue
				}
				put(inst, domains[s.domain].names[j])
			}
		}
		must(im.Write(begin.Add(time.Duration(n) * time.Second)))
	}
	must(im.End())
	return base
}

// number is the value of a metric in the nth sample.
func number(name string, inst int32, n int) int64 {
	switch {
	case strings.HasSuffix(name, "psinfo.pid"), strings.HasSuffix(name, "psinfo.tgid"):
		if inst == 702 && strings.HasSuffix(name, "tgid") {
			return 700 // a thread
		}
		return int64(inst)
	case strings.HasSuffix(name, "start_time"):
		return int64(inst) * 1000
	case strings.HasSuffix(name, "vsize"), strings.HasSuffix(name, "rss"):
		return int64(inst) * int64(10+n)
	case inst == 1: // it does nothing
		return 7
	}
	h := fnv.New32a()
	fmt.Fprint(h, name, inst)
	per := int64(h.Sum32() % 1000)
	if strings.Contains(name, "bytes") {
		per *= 4096
	}
	return per * int64(n+1)
}
