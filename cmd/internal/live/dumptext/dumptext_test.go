package dumptext

import (
	"bytes"
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

var update = flag.Bool("update", false, "write the golden files")

// record writes an archive with a size, a counter of time, a counter that goes back, and a string.
func record(t *testing.T) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(base, importer.Options{Host: "cellar.example.com", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	disks := pcp.NewInDom(60, 1)
	must(im.AddInstance(disks, "sda", 0))
	must(im.AddInstance(disks, "007 nvme of a long name", 7))
	add := func(item int, name string, typ pcp.Type, sem pcp.Sem, indom pcp.InDom, u pcp.Units) {
		t.Helper()
		_, err := im.AddMetric(name, pcp.Desc{PMID: pcp.NewPMID(60, 0, item), Type: typ, InDom: indom, Sem: sem, Units: u})
		must(err)
	}
	add(1, "mem.free", pcp.TypeU64, pcp.SemInstant, pcp.InDomNull, pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte})
	add(2, "cpu.user", pcp.TypeU64, pcp.SemCounter, pcp.InDomNull, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec})
	add(3, "disk.dev.read", pcp.TypeU32, pcp.SemCounter, disks, pcp.Units{DimCount: 1})
	add(4, "host.name", pcp.TypeString, pcp.SemDiscrete, pcp.InDomNull, pcp.Units{})
	add(5, "some.very.long.name.of.a.metric", pcp.TypeDouble, pcp.SemInstant, pcp.InDomNull, pcp.Units{})
	reads := []string{"100", "160", "220", "20", "90"}
	for n := range 5 {
		must(im.PutValue("mem.free", "", []string{"1", "20", "300", "400000", "5000000"}[n]))
		must(im.PutValue("cpu.user", "", []string{"0", "5000", "12500", "22500", "22500"}[n]))
		must(im.PutValue("disk.dev.read", "sda", reads[n]))
		if n != 3 {
			must(im.PutValue("disk.dev.read", "007 nvme of a long name", "7"))
		}
		must(im.PutValue("host.name", "", []string{"cellar", "a", "the-name-of-a-host-of-a-name", "", "four"}[n]))
		must(im.PutValue("some.very.long.name.of.a.metric", "", []string{"-0.0001", "0.00456", "-12345.678", "1e15", "99.95"}[n]))
		must(im.Write(time.Unix(1_700_000_000+int64(n)*10, 0)))
	}
	must(im.End())
	return base
}

// dump runs the command in the directory of an archive a, and returns its output and its status.
func dump(t *testing.T, archive, in string, args ...string) (string, int) {
	t.Helper()
	t.Chdir(filepath.Dir(archive))
	var out, errs bytes.Buffer
	vars := map[string]string{"TZ": "UTC", "PCP_DERIVED_CONFIG": "", "PMCD_SOCKET": "/nonexistent", "PMCD_PORT": "1"}
	env := &cli.Env{
		Name: "pmdumptext", Args: args, Stdin: strings.NewReader(in), Stdout: &out, Stderr: &errs, Command: Command, Version: "1",
		Getenv:    func(name string) string { return vars[name] },
		LookupEnv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
	}
	status := Command.Run(context.Background(), env)
	return out.String() + errs.String(), status
}

// TestGolden has the report in all its forms. The suite's tests 1008 to 1012 show that they are
// those of the C program.
func TestGolden(t *testing.T) {
	golden, err := filepath.Abs("testdata/reports.txt")
	if err != nil {
		t.Fatal(err)
	}
	base := record(t)
	os.WriteFile(filepath.Join(filepath.Dir(base), "config"), []byte("# a comment\n\nmem.free 1024\ndisk.dev.read[sda] 2\n  cpu.user\nhost.name x\n"), 0o666)
	os.WriteFile(filepath.Join(filepath.Dir(base), "long"), []byte(strings.Repeat("x", 2000)+"\nmem.free"), 0o666)
	var got strings.Builder
	for _, line := range []string{
		"-a a mem cpu disk host.name some",
		"-a a -s 3 -t 10 -mu mem cpu disk some",
		"-a a -t 10 -i -mu mem cpu disk host.name some",
		"-a a -t 10 -H -s 2 mem cpu disk host.name",
		"-a a -t 10 -i -H -s 2 mem cpu disk host.name",
		"-a a -t 10 -M -s 2 mem disk",
		"-a a -t 10 -X -R 2 -s 4 mem disk",
		"-a a -t 10 -F some mem",
		"-a a -t 10 -G some mem",
		"-a a -t 10 -G -w 9 -N some mem",
		"-a a -t 10 -P 1 some",
		"-a a -t 10 -w 12 some host.name",
		"-a a -t 10 -w 4 host.name",
		"-a a -t 10 -r -mu cpu disk mem",
		"-a a -t 10 -o -d , -f %H:%M:%S mem",
		"-a a -t 10 -f  -U none -d \\n disk",
		"-a a -t 10 -d \\x -U - disk.dev.read[7]",
		"-a a -t 10 -Z EST5EDT mem",
		"-a a -t 10 -z -S +5 -T +25 -A 5 cpu",
		"-a a -t 10 -O +20 cpu",
		"-a a -t 10 -C -m mem",
		"-a a -t 10 -s 2 -m -c config",
		"-a a -t 10 -s 2 -m -c long",
		"-m -l -s 1 a/mem.free cellar.example.com:mem.free",
		"-a a -s 2 -t 10 -m --json disk host.name",
		"-a a nosuch",
		"-a a mem.free[x]",
		"-a a disk.dev.read[sdb] mem",
		"-a a -s 1 nosuch mem[",
		"-a a other:mem",
		"-a nosuch mem",
		"-a a,nosuch mem",
		"-h nosuch.invalid -a a mem",
		"-c config mem",
		"-c nosuch -a a",
		"-F -G", "-i -G", "-i -P 2", "-w 3 -P 2", "-P x", "-R 0", "-w 2", "-w 999999", "-d xx", "-x", "-h a -h b", "-a a -S foo mem", "-s x", "-a a -S @10:00 mem",
	} {
		out, status := dump(t, base, "mem.free\n", strings.Split(line, " ")...)
		out, _, _ = strings.Cut(out, "Usage:")
		got.WriteString("$ pmdumptext " + line + "\n" + out)
		if status != 0 {
			got.WriteString("[status " + string(rune('0'+status)) + "]\n")
		}
		got.WriteByte('\n')
	}
	if *update {
		os.MkdirAll(filepath.Dir(golden), 0o777)
		if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			t.Fatalf("line %d of %s:\n%q\nis not what is printed now; run with -update and look at the difference", i+1, golden, b[min(i, len(b)-1)])
		}
	}
}

// TestInput reads metrics from standard input.
func TestInput(t *testing.T) {
	out, status := dump(t, record(t), "mem.free\n#\ncpu.user", "-a", "a", "-s", "1")
	if want := "Tue Nov 14 22:13:20\t1024.000\t?\n"; out != want || status != 0 {
		t.Errorf("%q, status %d, want %q", out, status, want)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, " 0.00 "},
		{0.005, " 0.00 "},
		{0.0051, " 0.01 "},
		{99.95, "99.95 "},
		{99.96, " 0.10K"},
		{99950.5, " 0.10M"},
		{1e8, " 0.10G"},
		{1e11, " 0.10T"},
		{1e14, "  inf?"},
		{-0.001, " 0.00  "},
		{-9.99, "-9.99 "},
		{-10, "-0.01K"},
		{-1e13, " -inf?"},
		{math.NaN(), " 0.00  "},
	} {
		if got := format(c.f); got != c.want {
			t.Errorf("format(%v) = %q, want %q", c.f, got, c.want)
		}
	}
}

func TestGeneral(t *testing.T) {
	for _, c := range []struct {
		f         float64
		precision int
		want      string
	}{
		{0, 3, "0"},
		{10, 3, "10"},
		{1e6, 3, "1e+06"},
		{0.0001, 3, "0.0001"},
		{0.00001234, 3, "1.23e-05"},
		{123.456, 3, "123"},
		{1234.5, 3, "1.23e+03"},
		{-30303.03, 3, "-3.03e+04"},
		{9.999, 2, "10"},
		{math.Inf(1), 3, "inf"},
	} {
		if got := general(c.f, c.precision); got != c.want {
			t.Errorf("general(%v, %d) = %q, want %q", c.f, c.precision, got, c.want)
		}
	}
}

// FuzzConfig has any bytes read as a configuration.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"mem.free 2\n", "x[a,\"b]\" 3", "#\n\n]\n", strings.Repeat("y", 1500) + "\nz", "a/b:c[d\\] 1e999", "  \t\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var out bytes.Buffer
		env := &cli.Env{Name: "pmdumptext", Stdout: &out, Stderr: &out, Command: Command, Getenv: func(string) string { return "" }}
		d := &dumper{env: env, group: &group{env: env, sources: []*from{{source: "x"}}}}
		if wrong := d.config(context.Background(), "f", strings.NewReader(s)); wrong < 0 || len(d.metrics) > 0 {
			t.Errorf("%d lines wrong, %d metrics", wrong, len(d.metrics))
		}
	})
}
