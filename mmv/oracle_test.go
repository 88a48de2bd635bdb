package mmv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A script makes the same file with libpcp_mmv and with this package.
type script struct {
	cluster int
	flags   Flags
	inDoms  []InDomDef
	metrics []scriptMetric
	labels  []scriptLabel
	updates []string // lines of testdata/mmvmake.c
}

type scriptMetric struct {
	Metric
	typ   Type
	inDom int
}

type scriptLabel struct {
	level string // registry, indom, metric, instance
	id    int
	inst  int // its number and place
	Label
	json string // the value, in the form for the C library
	typ  int    // of it: 1 string 2 number 3 bool 4 null 5 array 6 map
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// c runs the script with libpcp_mmv. It returns the error.
func (s script) c(t *testing.T, path string) string {
	t.Helper()
	var b strings.Builder
	line := func(words ...any) {
		for i, w := range words {
			if i > 0 {
				b.WriteByte('\t')
			}
			fmt.Fprint(&b, w)
		}
		b.WriteByte('\n')
	}
	line("registry", path, s.cluster, uint32(s.flags))
	for _, d := range s.inDoms {
		line("indom", d.Serial, orDash(d.OneLine), orDash(d.Help))
		for i, name := range d.Instances {
			line("instance", d.Serial, i, name)
		}
	}
	for _, m := range s.metrics {
		u := m.Units
		serial := m.inDom
		if serial == 0 {
			serial = -1
		}
		line("metric", m.Name, max(m.Item, 0), int(m.typ), int(m.Sem), u.DimSpace, u.DimTime, u.DimCount,
			uint8(u.ScaleSpace), uint8(u.ScaleTime), int8(u.ScaleCount), serial, orDash(m.OneLine), orDash(m.Help))
	}
	for _, l := range s.labels {
		optional := 0
		if l.Optional {
			optional = 1
		}
		line("label", l.level, l.id, l.inst, l.Name, l.json, l.typ, optional)
	}
	line("start")
	for _, u := range s.updates {
		line(u)
	}
	cmd := exec.Command(mmvmake(t))
	cmd.Env = oracle.Env()
	cmd.Stdin = strings.NewReader(b.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mmvmake: %v\n%s", err, out)
	}
	return string(out)
}

// open runs the script with this package.
func (s script) open(t *testing.T, path string, fixed bool) *Registry {
	t.Helper()
	reg, err := New(path, Options{
		Cluster: s.cluster, Fixed: fixed, Persist: s.flags&FlagProcess == 0,
		NoPrefix: s.flags&FlagNoPrefix != 0, Sentinel: s.flags&FlagSentinel != 0, MaxValues: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	inDoms := map[int]*InDom{}
	for _, d := range s.inDoms {
		inDoms[d.Serial] = reg.InDom(d)
	}
	for _, m := range s.metrics {
		if m.inDom != 0 {
			m.InDom = inDoms[m.inDom]
			reg.ValueVec(m.Metric, m.typ)
		} else {
			reg.Value(m.Metric, m.typ)
		}
	}
	for _, l := range s.labels {
		var err error
		switch l.level {
		case "registry":
			err = reg.AddLabel(l.Label)
		case "indom":
			err = inDoms[l.id].AddLabel(l.Label)
		case "metric":
			for _, m := range s.metrics {
				if m.Item == l.id {
					err = reg.AddMetricLabel(m.Name, l.Label)
				}
			}
		case "instance":
			for _, d := range s.inDoms {
				if d.Serial == l.id {
					err = inDoms[l.id].AddInstanceLabel(d.Instances[l.inst], l.Label)
				}
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := reg.Start(); err != nil {
		t.Error(err)
	}
	for _, u := range s.updates {
		w := strings.Split(u, "\t")
		var x float64
		if w[0] != "string" {
			fmt.Sscan(w[len(w)-1], &x)
		}
		switch w[0] {
		case "inc":
			reg.Lookup(w[1], w[2]).Inc()
		case "add":
			reg.Lookup(w[1], w[2]).Add(x)
		case "set":
			reg.Lookup(w[1], w[2]).Set(x)
		case "fallback":
			reg.Lookup(w[1], w[2], w[3]).Add(x)
		case "string":
			reg.Lookup(w[1], w[2]).SetString(w[3])
		}
	}
	return reg
}

// mmvmake returns the path of the program, compiled once.
func mmvmake(t *testing.T) string {
	t.Helper()
	oracle.Require(t)
	if err := compileMake(); err != nil {
		t.Skipf("SKIPPED: no C compiler, or no headers of PCP: %v", err)
	}
	return makePath
}

// makePath is a path in a directory that TestMain makes and removes.
var makePath string

var compileMake = sync.OnceValue(func() error {
	out, err := exec.Command("cc", "-o", makePath, "testdata/mmvmake.c", "-lpcp_mmv", "-lpcp").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
})

// masked reads a file and clears the bytes that differ from run to run:
// generation numbers, the process, and the bytes that the C library leaves behind
// the end of labels.
func masked(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(f.Problems) > 0 {
		t.Errorf("%s: %v", path, f.Problems)
	}
	clear(b[hdrG1:hdrTOCs])
	clear(b[hdrProcess:hdrCluster])
	for i := range f.Labels {
		rec := b[len(b)-(len(f.Labels)-i)*labelSize:][:labelSize]
		clear(rec[12+len(f.Labels[i].JSON):])
	}
	return b
}

func long(s string, n int) string { return s + strings.Repeat("x", n-len(s)) }

func allTypes(inDom int) []scriptMetric {
	var ms []scriptMetric
	for i, typ := range []Type{TypeI32, TypeU32, TypeI64, TypeU64, TypeFloat, TypeDouble, TypeString, TypeElapsed, TypeNoSupport} {
		ms = append(ms, scriptMetric{Metric{
			Name: fmt.Sprintf("all.of%d", i), Item: i + 1, Sem: []pcp.Sem{pcp.SemCounter, pcp.SemInstant, pcp.SemDiscrete}[i%3],
			Units: pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceKByte, ScaleTime: pcp.TimeUsec},
		}, typ, inDom})
	}
	return ms
}

func scripts() map[string]script {
	acme := script{
		cluster: 321,
		inDoms: []InDomDef{{
			Serial: 61, OneLine: "Acme products", Help: "Most popular products of the Acme Corporation",
			Instances: []string{"Anvils", "Rockets", "Giant_Rubber_Bands"},
		}},
		metrics: []scriptMetric{
			{Metric{Name: "products.count", Item: 7, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, OneLine: "throughput", Help: "Products made."}, TypeU64, 61},
			{Metric{Name: "products.time", Item: 8, Sem: pcp.SemCounter, Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}, OneLine: "machine time"}, TypeU64, 61},
			{Metric{Name: "products.queuetime", Item: 10, Sem: pcp.SemCounter, Units: pcp.Units{DimTime: 1, ScaleTime: pcp.TimeUsec}, Help: "long only"}, TypeU64, 61},
		},
		updates: []string{
			"inc\tproducts.count\tAnvils", "add\tproducts.count\tRockets\t41.9", "set\tproducts.time\tAnvils\t123456789",
			"fallback\tproducts.count\tunknown\tGiant_Rubber_Bands\t3", "inc\tproducts.nothing\tAnvils", "inc\tproducts.count\tnobody",
		},
	}
	types := script{flags: FlagProcess | FlagSentinel, metrics: allTypes(0)}
	for _, m := range types.metrics {
		types.updates = append(types.updates, "set\t"+m.Name+"\t-\t40.5", "inc\t"+m.Name+"\t-", "add\t"+m.Name+"\t-\t2.75")
	}
	types.updates = append(types.updates, "add\tall.of0\t-\t-100", "add\tall.of2\t-\t-1e15", "add\tall.of7\t-\t-5000000")
	mixed := script{
		cluster: 4095, flags: FlagNoPrefix,
		inDoms: []InDomDef{{Serial: MaxSerial, Instances: []string{"b", "a b", "c"}}, {Serial: 3, OneLine: "empty"}, {Serial: 1, Help: "one", Instances: []string{"z"}}},
		metrics: append(allTypes(1), scriptMetric{Metric{Name: "single", Item: MaxItem, OneLine: "a"}, TypeU32, 0},
			scriptMetric{Metric{Name: "none", Item: 1000}, TypeU32, 3},
			scriptMetric{Metric{Name: "zero", Item: ItemZero, Help: long("h", 255)}, TypeDouble, MaxSerial}),
	}
	longInst, longMetric := acme, acme
	longInst.inDoms = []InDomDef{{Serial: 61, OneLine: "x", Instances: []string{"Anvils", long("i", 64), long("j", 255)}}}
	longMetric.metrics = append(allTypes(61), scriptMetric{Metric{Name: long("m.", 255), Item: 99, OneLine: "long"}, TypeString, 0}, acme.metrics[2])
	short := acme
	short.inDoms = []InDomDef{{Serial: 61, Instances: []string{long("i", 63)}}}
	short.metrics = []scriptMetric{{Metric{Name: long("m.", 63), Item: 1}, TypeI32, 61}}
	labels := acme
	labels.updates = nil
	labels.labels = []scriptLabel{
		{"registry", 321, 0, Label{Name: "team", Value: "web"}, `"web"`, 1},
		{"registry", 321, 0, Label{Name: "n_1", Value: 42, Optional: true}, `42`, 2},
		{"indom", 61, 0, Label{Name: "ok", Value: true}, `true`, 3},
		{"indom", 61, 0, Label{Name: "nothing", Value: nil}, `null`, 4},
		{"metric", 7, 0, Label{Name: "list", Value: []int{1, 2, 3}}, `[1,2,3]`, 5},
		{"metric", 8, 0, Label{Name: "map", Value: map[string]any{"a": map[string]any{"b": 1.5}}}, `{"a":{"b":1.5}}`, 6},
		{"instance", 61, 1, Label{Name: "tail", Value: "<&>", Optional: true}, `"<&>"`, 1},
		{"instance", 61, 2, Label{Name: "l", Value: strings.Repeat("x", 235)}, `"` + strings.Repeat("x", 235) + `"`, 1},
	}
	return map[string]script{
		"acme": acme, "types": types, "mixed": mixed, "long instance": longInst, "long metric": longMetric,
		"63 bytes": short, "labels": labels,
		"bare":   {metrics: []scriptMetric{{Metric{Name: "m", Item: 1, Sem: pcp.SemInstant}, TypeI64, 0}}},
		"string": {metrics: []scriptMetric{{Metric{Name: "s", Item: 1, Sem: pcp.SemDiscrete}, TypeString, 0}}},
	}
}

// TestOracleBytes compares files byte by byte with those of libpcp_mmv, after
// the same definitions and updates.
func TestOracleBytes(t *testing.T) {
	for name, s := range scripts() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if out := s.c(t, dir+"/c"); out != "" {
				t.Fatalf("libpcp_mmv: %s", out)
			}
			reg := s.open(t, dir+"/go", true)
			defer reg.Close()
			c, ours := masked(t, dir+"/c"), masked(t, dir+"/go")
			if !bytes.Equal(c, ours) {
				f, _ := Open(dir + "/c")
				g, _ := Open(dir + "/go")
				f.Generation, f.Process = g.Generation, g.Process
				i := 0
				for i < min(len(c), len(ours)) && c[i] == ours[i] {
					i++
				}
				t.Errorf("%d bytes, libpcp_mmv makes %d; the first difference is at %d\n%s", len(ours), len(c), i,
					cmp.Diff(f, g, cmp.AllowUnexported(File{})))
			}
			wantVersion := map[string]uint32{"long instance": 2, "long metric": 2, "labels": 3}[name]
			if got := binary.NativeEndian.Uint32(ours[hdrVersion:]); got != max(wantVersion, 1) {
				t.Errorf("version %d", got)
			}
		})
	}
}

// mmvdump returns the output of the real mmvdump.
func mmvdump(t *testing.T, path string) string {
	t.Helper()
	oracle.Require(t)
	for _, dir := range []string{"/usr/lib/pcp/pmdas/mmv", "/var/lib/pcp/pmdas/mmv", "/usr/libexec/pcp/pmdas/mmv"} {
		tool := dir + "/mmvdump"
		if _, err := os.Stat(tool); err != nil {
			continue
		}
		cmd := exec.Command(tool, path)
		cmd.Env = oracle.Env()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("mmvdump: %v\n%s", err, out)
		}
		return string(out)
	}
	t.Skip("SKIPPED: real PCP is not installed: no mmvdump")
	return ""
}

// TestOracleDump checks that the real mmvdump finds no errors in our files, and
// prints the same for a growing file as for that of libpcp_mmv.
func TestOracleDump(t *testing.T) {
	for name, s := range scripts() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if out := s.c(t, dir+"/c"); out != "" {
				t.Fatalf("libpcp_mmv: %s", out)
			}
			var says [3][]string
			for i, file := range []string{"c", "fixed", "grown"} {
				if i > 0 {
					defer s.open(t, dir+"/"+file, file == "fixed").Close()
				}
				for line := range strings.Lines(mmvdump(t, dir+"/"+file)) {
					line = strings.TrimSpace(line)
					if strings.Contains(line, "Bad") || strings.Contains(line, "annot") {
						t.Errorf("%s: %s", file, line)
					}
					// The lines about values, without their offsets.
					if before, after, ok := strings.Cut(line, "] "); ok && strings.Contains(line, " = ") && !strings.HasPrefix(after, "instance") {
						item, _, _ := strings.Cut(before, "/")
						if !strings.Contains(line, "all.of7") { // the time of an open section grows
							says[i] = append(says[i], item+" "+after)
						}
					}
				}
			}
			if len(says[0]) == 0 {
				t.Error("mmvdump shows no value")
			}
			for i := 1; i < 3; i++ {
				got := says[i]
				if i == 2 {
					// Values are in the order of their arrival.
					got = sorted(got)
					says[0] = sorted(says[0])
				}
				if d := cmp.Diff(says[0], got); d != "" {
					t.Errorf("-libpcp_mmv +ours:\n%s", d)
				}
			}
		})
	}
}

// TestOracleErrors compares the refused calls and their errors.
func TestOracleErrors(t *testing.T) {
	one := []scriptMetric{{Metric{Name: "m", Item: 1, Sem: pcp.SemCounter}, TypeU64, 0}}
	value := func(n int) scriptLabel {
		return scriptLabel{"registry", 0, 0, Label{Name: "n", Value: strings.Repeat("x", n)}, `"` + strings.Repeat("x", n) + `"`, 1}
	}
	f := func(name string, s script, want string) {
		t.Helper()
		dir := t.TempDir()
		if got := strings.TrimSpace(s.c(t, dir+"/c")); got != want {
			t.Errorf("%s: libpcp_mmv answers %q, want %q", name, got, want)
		}
		var sts pcp.Error
		reg, err := New(dir+"/go", Options{Fixed: true})
		if err != nil {
			t.Fatal(err)
		}
		inDoms := map[int]*InDom{}
		for _, d := range s.inDoms {
			inDoms[d.Serial] = reg.InDom(d)
		}
		for _, m := range s.metrics {
			reg.Value(m.Metric, m.typ)
		}
		err = reg.Start()
		if len(s.labels) > 0 {
			reg, _ = New(dir+"/go2", Options{Fixed: true})
			err = reg.AddLabel(s.labels[0].Label)
		}
		errors.As(err, &sts)
		code := 0
		if want != "" {
			fmt.Sscan(want[strings.LastIndexByte(want, ' ')+1:], &code)
		}
		if int(sts) != -code {
			t.Errorf("%s: %v, want errno %d", name, err, code)
		}
	}
	f("text of 255", script{metrics: []scriptMetric{{Metric{Name: "m", Item: 1, OneLine: long("t", 255)}, TypeU64, 0}}}, "")
	f("text of 256", script{inDoms: []InDomDef{{Serial: 1, OneLine: long("t", 256)}}, metrics: one}, "start 7")
	f("name of 255", script{metrics: []scriptMetric{{Metric{Name: long("m", 255), Item: 1}, TypeU64, 0}}}, "")
	f("name of 256", script{metrics: []scriptMetric{{Metric{Name: long("m", 256), Item: 1}, TypeU64, 0}}}, "start 7")
	f("no name", script{metrics: []scriptMetric{{Metric{Name: "", Item: 1}, TypeU64, 0}}}, "start 22")
	f("type -2", script{metrics: []scriptMetric{{Metric{Name: "m", Item: 1}, -2, 0}}}, "start 22")
	f("type 10", script{metrics: []scriptMetric{{Metric{Name: "m", Item: 1}, 10, 0}}}, "start 22")
	f("instance of 255", script{inDoms: []InDomDef{{Serial: 1, Instances: []string{long("t", 255)}}}, metrics: one}, "")
	f("instance of 256", script{inDoms: []InDomDef{{Serial: 1, Instances: []string{long("t", 256)}}}, metrics: one}, "start 7")
	f("label of 243", script{labels: []scriptLabel{value(235)}}, "")
	f("label of 245", script{labels: []scriptLabel{value(237)}}, "label 7")
	f("label name", script{labels: []scriptLabel{{"registry", 0, 0, Label{Name: "a-b", Value: 1}, "1", 2}}}, "label 22")
	f("label digit", script{labels: []scriptLabel{{"registry", 0, 0, Label{Name: "1b", Value: 1}, "1", 2}}}, "label 22")
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// TestOracleAgent has the real collector read a file while it grows.
func TestOracleAgent(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "mmv"}})
	ask := func(args ...string) string {
		t.Helper()
		out := oracle.RunEnv(t, d.Env, "pminfo", append([]string{"-h", d.TCP}, args...)...)
		return out.Stdout + out.Stderr
	}
	has := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	reg, err := New("acme", Options{
		Dir: d.Dir + "/tmp/mmv", Cluster: 321, MaxValues: 1000,
		Labels: []Label{{Name: "team", Value: "web"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	sold := reg.CounterVec(Metric{Name: "sold", Item: 7, OneLine: "things sold"})
	sold.WithLabels("Anvils", Label{Name: "weight", Value: 50}).Add(3)
	has(ask("-f", "-m", "-l", "mmv.acme"), "mmv.acme.sold PMID: 70.321.7", `inst [0 or "Anvils"] value 3`, `"team":"web"`, `"weight":50`)
	motto := reg.String(Metric{Name: "motto", Labels: []Label{{Name: "lang", Value: "en", Optional: true}}})
	for i := range 100 {
		sold.With(fmt.Sprintf("thing %d", i)).Add(uint64(i))
		motto.Set(fmt.Sprintf("motto %d", i))
	}
	has(ask("-f", "-l", "mmv.acme"), `inst [0 or "Anvils"] value 3`, `inst [100 or "thing 99"] value 99`, `value "motto 99"`, `"lang":"en"`)
	motto.Set("new")
	sold.With("Anvils").Inc()
	has(ask("-f", "mmv.acme"), `inst [0 or "Anvils"] value 4`, `value "new"`)
	reg.Close()
	if out := ask("mmv"); strings.Contains(out, "acme") {
		t.Errorf("after Close: %s", out)
	}
}

// TestOraclePython reads a file of the Python module.
func TestOraclePython(t *testing.T) {
	path := t.TempDir() + "/py"
	out := oracle.Python(t, nil, `
import sys, cmmv
from pcp import mmv
ms = [mmv.mmv_metric("a.count", 7, cmmv.MMV_TYPE_U64, 1, None, 61, "short"),
      mmv.mmv_metric("a.text", 8, cmmv.MMV_TYPE_STRING, 4, None)]
ind = mmv.mmv_indom(61, "things")
ind.set_instances([mmv.mmv_instance(0, "Anvils"), mmv.mmv_instance(5, "Rockets")])
v = mmv.MemoryMappedValues(sys.argv[1])
v.add_indoms([ind]); v.add_metrics(ms); v.start()
v.lookup_add("a.count", "Rockets", 12)
v.set_string(v.lookup_mapping("a.text", None), "hello")
`, path)
	if out.Exit != 0 {
		t.Fatalf("python: %s", out.Stderr)
	}
	if got := dump(t, path); !slices.Equal(got, []string{"a.count[Anvils] 0", "a.count[Rockets] 12", "a.text hello"}) {
		t.Errorf("%q", got)
	}
}
