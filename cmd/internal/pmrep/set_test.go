package pmrep_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/pmapi"
)

// recordAll writes an archive of five samples, a second apart, of a counter of disks, a number of processes, memory and a
// text. The disk sdb has no value in the second sample.
func recordAll(t *testing.T) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "archive")
	im, err := importer.Start(path, importer.Options{Host: "app1", TimeZone: "UTC"})
	must(err)
	disks, procs := pcp.NewInDom(60, 1), pcp.NewInDom(3, 9)
	add := func(name string, d pcp.Desc) {
		d.PMID = pcp.NewPMID(60, 0, len(name))
		_, err := im.AddMetric(name, d)
		must(err)
	}
	add("disk.read", pcp.Desc{Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: disks, Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}})
	add("proc.threads", pcp.Desc{Type: pcp.TypeU32, Sem: pcp.SemInstant, InDom: procs})
	add("mem.free", pcp.Desc{Type: pcp.TypeU64, Sem: pcp.SemInstant, InDom: pcp.InDomNull, Units: pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}})
	add("uname", pcp.Desc{Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: pcp.InDomNull})
	for i, name := range []string{"sda", "sdb"} {
		must(im.AddInstance(disks, name, int32(i)))
	}
	for i, name := range []string{"000001 /sbin/init", "000020 /bin/bash", "000300 sshd: root"} {
		must(im.AddInstance(procs, name, []int32{1, 20, 300}[i]))
	}
	for n := range 5 {
		must(im.PutValue("disk.read", "sda", fmt.Sprint(2048*n)))
		if n != 1 {
			must(im.PutValue("disk.read", "sdb", fmt.Sprint(10*n*n)))
		}
		for i, name := range []string{"000001 /sbin/init", "000020 /bin/bash", "000300 sshd: root"} {
			must(im.PutValue("proc.threads", name, fmt.Sprint((i+1)*10-n)))
		}
		must(im.PutValue("mem.free", "", fmt.Sprint(1024*(n+1))))
		must(im.PutValue("uname", "", "Linux"))
		must(im.Write(time.Unix(1_700_000_000+int64(n), 0)))
	}
	must(im.End())
	return path
}

// Lines collects the samples as lines; it is a Writer.
type lines struct {
	set  *pmrep.Set
	list []string
}

// WriteSample appends the line of a sample: the values of each metric, with their instances.
func (l *lines) WriteSample(s *pmrep.Sample) error {
	var b strings.Builder
	for i, m := range l.set.Metrics {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(m.Label)
		for _, v := range s.Results[i] {
			name, _, _ := strings.Cut(v.Name, " ")
			fmt.Fprintf(&b, " %s%s", strings.TrimLeft(name+"=", "="), v.Value)
		}
		b.WriteString(strings.TrimRight(" "+m.Unit, " "))
	}
	l.list = append(l.list, b.String())
	return nil
}

// report returns the lines of the specified metrics.
func report(t *testing.T, path string, o pmrep.Options, loop pmrep.Loop, specs ...string) ([]string, error) {
	t.Helper()
	metrics, err := conf.New(conf.PmrepKeys()).Select(specs, true)
	if err != nil {
		t.Fatal(err)
	}
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := pmrep.New(t.Context(), a.Context, metrics, o)
	if err != nil {
		a.Close()
		return nil, err
	}
	defer set.Close()
	start := pcp.Timestamp{Sec: 1_700_000_000}
	if err := a.SetMode(t.Context(), pmapi.ModeForw, &start, 0); err != nil {
		t.Fatal(err)
	}
	w := &lines{set: set}
	err = loop.Run(t.Context(), set, w)
	return w.list, err
}

// TestUnknownFirst requires the lines of unknown metrics before the error of a later metric, as in PCP 7.
func TestUnknownFirst(t *testing.T) {
	_, err := report(t, recordAll(t), pmrep.Options{Seven: true, Instances: []string{"("}}, pmrep.Loop{}, "none.a", "disk.read", "none.b")
	const unknown = "Unknown metric none.a (PM_ERR_NAME Unknown metric name).\n"
	if err == nil || !strings.HasPrefix(err.Error(), unknown+"Invalid regex '('") || strings.Contains(err.Error(), "none.b") {
		t.Errorf("%v, want %q and the error of the expression", err, unknown)
	}
}

// TestSet samples an archive with options.
func TestSet(t *testing.T) {
	path := recordAll(t)
	two := pmrep.Loop{Limited: true, Samples: 2}
	f := func(o pmrep.Options, loop pmrep.Loop, specs, want string) {
		t.Helper()
		got, err := report(t, path, o, loop, strings.Fields(specs)...)
		text := strings.Join(got, "\n")
		if err != nil {
			text += "error: " + err.Error()
		}
		if text != strings.TrimSpace(want) {
			t.Errorf("%s %+v:\n%s\nwant\n%s", specs, o, text, want)
		}
	}
	f(pmrep.Options{}, pmrep.Loop{}, "mem.free disk.read", `
m.free 1024 Kbyte; d.read Kbyte/s
m.free 2048 Kbyte; d.read sda=2.048000e+03 Kbyte/s
m.free 3072 Kbyte; d.read sda=2.048000e+03 Kbyte/s
m.free 4096 Kbyte; d.read sda=2.048000e+03 sdb=5.000000e+01 Kbyte/s
m.free 5120 Kbyte; d.read sda=2.048000e+03 sdb=7.000000e+01 Kbyte/s
`)
	f(pmrep.Options{Raw: true}, two, "disk.read", `
d.read sda=0 sdb=0 Kbyte
d.read sda=2048 Kbyte
`)
	f(pmrep.Options{Native: true}, two, "disk.read mem.free", `
d.read sda=0 sdb=0 Kbyte; m.free 1024 Kbyte
d.read sda=2048 Kbyte; m.free 2048 Kbyte
`)
	f(pmrep.Options{SpaceScale: "MB"}, two, "mem.free,free uname", `
free 1.000000e+00 MB; uname "Linux"
free 2.000000e+00 MB; uname "Linux"
`)
	f(pmrep.Options{SpaceScale: "MB"}, two, "mem.free,free,,byte", `
free 1.048576e+06 byte
free 2.097152e+06 byte
`)
	f(pmrep.Options{OmitFlat: true}, two, "mem.free proc.threads", `
p.threads 000001=10 000020=20 000300=30
p.threads 000001=9 000020=19 000300=29
`)
	f(pmrep.Options{Instances: []string{"sdb"}}, two, "disk.read,,,,raw mem.free", `
d.read sdb=0 Kbyte; m.free 1024 Kbyte
d.read Kbyte; m.free 2048 Kbyte
`)
	f(pmrep.Options{Instances: []string{"bash", "300"}}, two, "proc.threads", `
p.threads 000020=20 000300=30
p.threads 000020=19 000300=29
`)
	f(pmrep.Options{Instances: []string{".*sbin.*"}, LiveFilter: true}, two, "proc.threads", `
p.threads 000001=10
p.threads 000001=9
`)
	f(pmrep.Options{Rank: 2}, two, "proc.threads", `
p.threads 000300=30 000020=20
p.threads 000300=29 000020=19
`)
	f(pmrep.Options{Rank: -1}, two, "proc.threads", `
p.threads 000001=10
p.threads 000001=9
`)
	f(pmrep.Options{Limit: 15}, two, "proc.threads", `
p.threads 000020=20 000300=30
p.threads 000020=19 000300=29
`)
	f(pmrep.Options{LimitForce: -15}, two, "proc.threads", `
p.threads 000001=10
p.threads 000001=9
`)
	f(pmrep.Options{Rank: 1, Predicate: []string{"proc.threads"}}, two, "proc.threads mem.free", `
p.threads 000300=30; m.free 1024 Kbyte
p.threads 000300=29; m.free 2048 Kbyte
`)
	f(pmrep.Options{Derived: "my.sum = mem.free + mem.free"}, two, "my.sum", `
m.sum 2048 Kbyte
m.sum 4096 Kbyte
`)
	f(pmrep.Options{}, pmrep.Loop{Limited: true}, "mem.free", "")
	f(pmrep.Options{}, pmrep.Loop{Finish: pcp.Timestamp{Sec: 1_700_000_001}}, "mem.free", `
m.free 1024 Kbyte
m.free 2048 Kbyte
`)

	f(pmrep.Options{}, two, "no.such", "error: Invalid metric no.such (PM_ERR_NAME Unknown metric name).")
	f(pmrep.Options{IgnoreUnknown: true}, two, "no.such mem.free", `
m.free 1024 Kbyte
m.free 2048 Kbyte
`)
	f(pmrep.Options{LeafOnly: true}, two, "mem", "error: Invalid metric mem (PM_ERR_NONLEAF Metric name is not a leaf in PMNS).")
	f(pmrep.Options{Instances: []string{"nosuch"}}, two, "disk.read", "error: No matching instances found.")
	f(pmrep.Options{Instances: []string{"("}}, two, "disk.read", "error: Invalid regex '(': missing ), unterminated subpattern at position 2.")
	f(pmrep.Options{SpaceScale: "nosuch"}, two, "mem.free", "error: PM_ERR_CONV Impossible value or scale conversion unrecognized or duplicate base unit: nosuch.")
	f(pmrep.Options{Predicate: []string{"mem.free"}, Rank: 1}, two, "mem.free", "error: Predicate metric must have instances.")
	f(pmrep.Options{Predicate: []string{"no.such"}, Rank: 1}, two, "mem.free", "error: Invalid metric no.such (PM_ERR_NAME Unknown metric name).")
	f(pmrep.Options{Derived: "my.sum"}, two, "my.sum", `
error: Failed to register derived metric:
Invalid syntax (expected metric=expression).
`)
	f(pmrep.Options{Derived: "./file"}, two, "mem.free", `
error: Failed to load derived metric definitions from file './file':
PM_ERR_NYI Functionality not yet implemented.
`)
}
