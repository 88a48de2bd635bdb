package dstat

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// ours are the plugins of this program.
func ours(t testing.TB) *conf.Sections {
	t.Helper()
	all, err := define(place{builtinPlace, []file{{builtinPlace, builtin()}}})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBuiltinFormulas creates all of our own plugins: each line is valid, and so is each formula.
func TestBuiltinFormulas(t *testing.T) {
	all := ours(t)
	if n := len(all.Names()); n < 100 {
		t.Errorf("there are %d plugins", n)
	}
	for _, name := range all.Names() {
		p, err := newPlugin(all, name, &selection{})
		if err != nil {
			t.Error(err)
			continue
		}
		if len(p.metrics) == 0 {
			t.Errorf("%s has no metrics", name)
		}
		for _, m := range p.metrics {
			if len(m.formulas) != 1 || m.formulas[0] == "" {
				t.Errorf("%s has the formulas %q", m.name, m.formulas)
			}
		}
		if err := defineMetrics(&derive.Set{}, []*plugin{p}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// metricName finds the metrics in formulas.
var metricName = regexp.MustCompile(`[a-z]\w*(\.\w+)+`)

// machine writes an archive that has every metric of our own plugins, with five samples each second.
func machine(t *testing.T, base string) {
	t.Helper()
	im, err := importer.Start(base, importer.Options{Host: "barn", TimeZone: "UTC", Version: 3})
	if err != nil {
		t.Fatal(err)
	}
	all := ours(t)
	names := []string{"event.missed"}
	summed := make(map[string]bool)
	for _, name := range all.Names() {
		p, err := newPlugin(all, name, &selection{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.metrics {
			for _, name := range metricName.FindAllString(m.formulas[0], -1) {
				names = append(names, name)
				if strings.Contains(m.formulas[0], "sum("+name) || strings.Contains(m.formulas[0], "min("+name) {
					summed[name] = true
				}
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	several := regexp.MustCompile(`^(disk\.(dev|dm|md|partitions)|kernel\.percpu|kernel\.all\.(load|interrupts)|network\.interface|proc\.(psinfo|io|schedstat)|swapdev|gpfs|rpc\.server\.rpc\w+s|nfs\d)\.?`)
	counter := regexp.MustCompile(`cpu\.|(in|out)\.|(read|write)s?(_|$)|fsios|pages(in|out)|time$|pg|intr$|pswitch|calls|rpc|active$|pcount|run_delay|char$`)
	instances := func(name string) []string {
		switch {
		case strings.HasPrefix(name, "kernel.all.load"):
			return []string{"1 minute", "5 minute", "15 minute"}
		case strings.HasPrefix(name, "network."):
			return []string{"lo", "eth0"}
		case strings.HasPrefix(name, "proc."):
			return []string{"000001 init", "000700 postmaster", "004242 make"}
		case strings.HasPrefix(name, "nfs"):
			return strings.Split("read,write,readdir,other,filesystem,inode,getattr,setattr,create,link,remove,commit,getfh,putfh,savefh,restorefh,open,open_conf,close,access,lookup", ",")
		case strings.HasPrefix(name, "kernel.percpu"):
			return []string{"cpu0", "cpu1"}
		case strings.HasPrefix(name, "swapdev"):
			return []string{"/dev/sda3", "/dev/sdb3"}
		}
		return []string{"sda", "sdb"}
	}
	domains := make(map[string]pcp.InDom)
	for i, name := range names {
		d := pcp.Desc{PMID: pcp.NewPMID(60, i/1000, i%1000), Type: pcp.TypeDouble, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
		if counter.MatchString(name) {
			d.Sem = pcp.SemCounter
		}
		switch {
		case name == "proc.psinfo.cmd":
			d.Type, d.Sem = pcp.TypeString, pcp.SemInstant
		case regexp.MustCompile(`cpu\.|[us]time$|active$`).MatchString(name):
			d.Units = pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}
		case regexp.MustCompile(`^mem\.(phys|util)|_bytes$|rss$|^swapdev|^filesys`).MatchString(name):
			d.Units = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
		}
		if several.MatchString(name) || summed[name] {
			key := strings.Join(instances(name), ",")
			indom, ok := domains[key]
			if !ok {
				indom = pcp.NewInDom(60, len(domains))
				domains[key] = indom
				for n, inst := range instances(name) {
					err = errors.Join(err, im.AddInstance(indom, inst, int32(n+1)))
				}
			}
			d.InDom = indom
		}
		_, e := im.AddMetric(name, d)
		err = errors.Join(err, e)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	start := time.Date(2024, 3, 5, 12, 0, 0, 0, time.UTC)
	for n := range 6 {
		for i, name := range names {
			list := []string{""}
			if several.MatchString(name) || summed[name] {
				list = instances(name)
			}
			for k, inst := range list {
				text := fmt.Sprint(7*(i%13) + 11*k + 3*n + 5)
				switch {
				case name == "proc.psinfo.cmd":
					_, text, _ = strings.Cut(inst, " ")
				case name == "hinv.ncpu":
					text = "2"
				case name == "mem.physmem", name == "vfs.inodes.count":
					text = "8000123"
				case counter.MatchString(name):
					text = fmt.Sprint((i%17 + 9*k + 1) * 31 * n)
				}
				err = errors.Join(err, im.PutValue(name, inst, text))
			}
		}
		if err = errors.Join(err, im.Write(start.Add(time.Duration(n)*time.Second))); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
}

// dstat runs the command without installed plugins, and returns its output and status.
func dstat(t *testing.T, vars map[string]string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{
		Name: "pcp dstat", Program: "pcp", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Version: "test",
		Getenv: getenv(t, vars), Command: Command, Commands: []*cli.Command{Command},
	}
	status := Command.Run(t.Context(), env)
	return out.String(), status
}

// getenv is an environment independent of the machine.
func getenv(t *testing.T, vars map[string]string) func(string) string {
	empty := t.TempDir()
	return func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		return map[string]string{"TZ": "UTC", "PCP_CONF": os.DevNull, "PCP_SYSCONF_DIR": empty, "HOME": empty, "PCP_DERIVED_CONFIG": ""}[name]
	}
}

// TestBuiltinOfC runs the C program with our plugins, and compares its output.
func TestBuiltinOfC(t *testing.T) {
	oracle.Require(t)
	dir := t.TempDir()
	base := filepath.Join(dir, "barn")
	machine(t, base)
	if err := os.Mkdir(filepath.Join(dir, "dstat"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "dstat", "ours"), []byte(builtin()), 0o666); err != nil {
		t.Fatal(err)
	}
	// Python does not convert the colorstep of a metric that also has a printtype to a number.
	usable := slices.DeleteFunc(ours(t).Names(), func(name string) bool { return name == "zfs-arc" || name == "zfs-l2arc" })
	for names := range slices.Chunk(usable, 26) {
		call := twin.Call{Tool: "pcp-dstat", Env: []string{"PCP_ARCHIVE=" + base, "PCP_SYSCONF_DIR=" + dir, "HOME=" + dir}}
		for _, name := range names {
			call.Args = append(call.Args, "--"+name)
		}
		call.Args = append(call.Args, "1", "3")
		if !compare(t, call) {
			t.Errorf("%q prints no figures", call.Args)
		}
	}
}

// TestBuiltinReports compares the usual reports, and a report of each plugin, with
// testdata/builtin.txt. UPDATE=1 writes it.
func TestBuiltinReports(t *testing.T) {
	base := filepath.Join(t.TempDir(), "barn")
	machine(t, base)
	lines := [][]string{{"--list"}, {"-a", "1", "3"}, {"-v", "1", "3"}, {"-tcdngy", "--full", "2", "2"}, {"-a", "--color", "1", "2"}}
	for _, name := range ours(t).Names() {
		lines = append(lines, []string{"--" + name, "1", "2"})
	}
	var got strings.Builder
	for _, args := range lines {
		text, status := dstat(t, map[string]string{"PCP_ARCHIVE": base}, args...)
		if status != 0 {
			t.Errorf("%q: status %d: %s", args, status, text)
		}
		fmt.Fprintf(&got, "$ pcp dstat %s\n", strings.Join(args, " "))
		for row := range strings.Lines(text) {
			got.WriteString(strings.TrimRight(strings.ReplaceAll(row, "\033", "^["), " \n") + "\n")
		}
	}
	path := filepath.Join("testdata", "builtin.txt")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
