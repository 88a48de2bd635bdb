package proc

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/pmda/column"
)

func FuzzStat(f *testing.F) {
	f.Add([]byte(statLine(77, "a) R (b", "R", 34819, 4000)))
	f.Add([]byte("1 (x) S"))
	f.Add([]byte("1 ) ( S 1"))
	f.Add([]byte("1 (x) S 1 -2 18446744073709551616 -9223372036854775809"))
	f.Fuzz(func(t *testing.T, b []byte) {
		cells := make([]column.Cell, numStat)
		command, state, ok := parseStat(b, cells)
		if ok && (len(state) != 1 || !bytes.Contains(b, command)) {
			t.Errorf("command %q, state %q", command, state)
		}
		s := &statSource{processes: &processes{machine: &machine{hz: 100, page: 4096}}}
		s.convert(cells)
	})
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte("Uid:\t1\t2\t3\t4\nGid:\t1\nVmRSS:\t 8 kB\nVmSwap: 18446744073709551615\nNSpid:\t1\t2\nThreads:\n"))
	f.Add([]byte("Uid\nUid:\nSigPnd:\n:\n\x00"))
	p := newProcesses(New(Config{Root: f.TempDir()}).machine, filter{}, false)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := newStatusSource(p)
		for _, block := range s.source.Blocks {
			block.Add(1)
		}
		s.parse(b, 0)
		s.parse(b, 0)
		if v, ok := s.status.Get(0, statusReal); !ok {
			t.Errorf("memory in use is %d, %t", v, ok)
		}
	})
}

func FuzzGroups(f *testing.F) {
	f.Add([]byte("12:cpu,cpuacct:/a:b\n0::/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n"))
	f.Add([]byte(":\n::\n1:/"))
	f.Fuzz(func(t *testing.T, b []byte) {
		groups, container := parseGroups(nil, b)
		if len(groups) > len(b) || len(container) != 0 && len(container) != 64 {
			t.Errorf("groups %q, container %q", groups, container)
		}
	})
}

func FuzzAutogroup(f *testing.F) {
	f.Add([]byte("/autogroup-23 nice -3\n"))
	f.Add([]byte("/autogroup- nice"))
	f.Fuzz(func(_ *testing.T, b []byte) { parseAutogroup(b) })
}

func FuzzDrivers(f *testing.F) {
	f.Add([]byte("/dev/tty /dev/tty 5 0 system:/dev/tty\npty_slave /dev/pts 136 0-1048575 pty:slave\nx y 1 -\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range parseDrivers(b) {
			if d.name == "" && bytes.IndexByte(b, '/') < 0 {
				t.Errorf("driver %+v", d)
			}
		}
	})
}

func FuzzPredicate(f *testing.F) {
	f.Add(`(cpuburn > 0.5 || uid == 1000) && fname != "init" # why`)
	f.Add("Version 1.0\npsargs !~ /a\\(b\\|c\\)[]x]/")
	f.Add("!((")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePredicate(text)
		if err != nil || p == nil {
			return
		}
		p.test(&subject{uname: "root"})
		if again, err := parsePredicate(text); err != nil || again.text != p.text {
			t.Errorf("%q is %q, then %v, %v", text, p.text, again, err)
		}
	})
}

func FuzzNUMAMaps(f *testing.F) {
	f.Add([]byte("7f00 default heap anon=512 N0=512 kernelpagesize_kB=4\n7f10 stack N=1 Nx N99999999999999999999=1 N1=18446744073709551615\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for node := range parseNUMAMaps(b, 4096) {
			if node > maxNode {
				t.Errorf("node %d", node)
			}
		}
		if client, ok := drmClient(b); ok && len(client) < 2 {
			t.Errorf("client %q", client)
		}
	})
}

func FuzzMounts(f *testing.F) {
	f.Add([]byte("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\ncgroup2 /a\\040b cgroup2 rw 0 0\n"), []byte("#x\ncpu\t1\t2\t1\n"))
	f.Add([]byte("a b cgroup\n\ncgroup2  cgroup2 ,,\nx \\ cgroup ,\nx \\777\\04 cgroup2"), []byte("cpu 1 2\n 1 1 1 1\n"))
	f.Fuzz(func(t *testing.T, mounts, controllers []byte) {
		tr := tree{t, t.TempDir()}
		tr.write("proc/mounts", string(mounts))
		tr.write("proc/cgroups", string(controllers))
		a := New(Config{Root: tr.dir})
		for _, name := range []string{"cgroup.mounts.subsys", "cgroup.subsys.enabled"} {
			if n := get(t, a, root, strings.Replace(name, name[strings.LastIndexByte(name, '.'):], ".count", 1)); n[-1] != strconv.Itoa(len(get(t, a, root, name))) {
				t.Errorf("%s: %v", name, n)
			}
		}
	})
}

func FuzzUnescapeUnit(f *testing.F) {
	f.Add(`/a\x2db\x00\xzz\x`)
	f.Fuzz(func(t *testing.T, s string) {
		got := unescapeUnit(s)
		if len(got) > len(s) || strings.Count(got, "\x00") > strings.Count(s, "\x00") || !strings.Contains(s, `\`) && got != s {
			t.Errorf("%q is %q", s, got)
		}
	})
}

func FuzzPressure(f *testing.F) {
	f.Add([]byte("some avg10=0.12 avg60=1.00 avg300=99.99 total=345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551616\n"))
	f.Add([]byte("some avg10= avg60=1 avg300=x total=1\nfull\nsome avg10=1 avg60=1 avg300=1 total=-1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cells := make([]column.Cell, numPressure)
		parsePressure(text, cells)
		for first := 0; first < numPressure; first += numPressureKind {
			for i, c := range cells[first:][:numPressureKind] {
				if c.OK != cells[first].OK || c.OK && i < pressureTotal && math.Float32frombits(uint32(c.Bits)) < 0 {
					t.Errorf("column %d is %+v", first+i, c)
				}
			}
		}
	})
}

func FuzzIOStat(f *testing.F) {
	f.Add([]byte("8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6 cost.usage=7"))
	f.Add([]byte("4294967296:0 rbytes=1"))
	f.Add([]byte("8:0 rbytes= wbytes=2"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var values [len(ioKeys)]uint64
		if number, ok := parseIOStat(line, &values); ok && !bytes.Contains(line, []byte("dios=")) {
			t.Errorf("device %#x, values %v", number, values)
		}
	})
}

// FuzzBlkio also checks that the sums are those of the devices.
func FuzzBlkio(f *testing.F) {
	f.Add([]byte("8:0 Read 1\n8:0 Write 2\n8:0 Sync 3\n8:0 Async 4\n8:0 Total 5\n253:0 Total 6\nTotal 11\n"), []byte("   8       0 sda 1 2\n 253 0 dm-0 1\n"), false)
	f.Add([]byte("8:0 7\n253:0 8\n"), []byte(" 8 0 sda 1\n 8 0 sdb 1\n253 0 loop1 1\n"), true)
	f.Fuzz(func(t *testing.T, text, disks []byte, one bool) {
		g := newGroups(&machine{root: "/", hz: 100}, "")
		v := newDevices(g.machine)
		v.parse(disks)
		before := len(v.list)
		if v.parse(disks); len(v.list) != before || len(v.names) > before {
			t.Errorf("%d devices, then %d", before, len(v.list))
		}
		d := g.newDomain(blkioSerial, "blkio", "", "", "")
		x := &blkio{groupDomain: d, devices: v, pairs: newPairs(d, blkioDiskSerial, "", "device_name", "")}
		d.family("groups", blkioMetrics, make([]groupFile, len(blkioFiles))...)
		x.pairs.family("devices", blkioDeviceMetrics, numBlkio, nil, nil)
		file := &blkioFiles[0]
		if one {
			file = &blkioFiles[6]
		}
		of, alone, both := &group{name: "/"}, make([]uint64, numBlkio), make([]uint64, numBlkio)
		x.parse(text, file, alone, nil)
		x.pairs.reg.begin()
		x.parse(text, file, both, of)
		if !slices.Equal(alone, both) {
			t.Errorf("sums %v, with devices %v", alone, both)
		}
		if rows := x.pairs.block.Rows(); rows > len(v.names) {
			t.Errorf("%d rows of %d devices", rows, len(v.names))
		}
	})
}

// FuzzGroupFiles gives files of groups any contents.
func FuzzGroupFiles(f *testing.F) {
	f.Add([]byte("anon 1\nfile 18446744073709551615\n"))
	f.Add([]byte("-1\n"))
	f.Add([]byte("1 2 3 \n"))
	f.Add([]byte("\n0-3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g := newGroups(&machine{root: "/", hz: 100}, "")
		for _, file := range []groupFile{numberFile("x"), lineFile("x")} {
			b := column.NewBlocks(nil, column.Layout{Cols: 1})[0]
			file.parse(b, 0, text)
			if line := b.String(0, 0); bytes.IndexByte(line, '\n') >= 0 {
				t.Errorf("line %q", line)
			}
		}
		d := g.newDomain(memorySerial, "memory", "", "", "")
		family := d.family("memory", memoryMetrics, groupFile{name: "memory.stat"})
		b := family.Sources[1].Blocks[0]
		b.Add(0)
		keyedFile(b)(b, 0, text)
		for col, c := range b.Row(0) {
			if c.OK && c.Bits == noValue {
				t.Errorf("column %d has a value that stands for none", col)
			}
		}
	})
}
