package logrewrite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// archives are the archives of the QA suite for which rules are generated: of both
// versions, with labels, help texts, deltas, events, several volumes, compressed.
var archives = []string{
	"sample-labels", "sample-secs", "ok-foo", "ok-mv-bar", "omnibus_v3", "mirage-1", "pcp-free", "all-ubuntu", "bozo-disk",
	"chartqa1", "dyninsts-1", "eventrec-1", "interp1", "labels-1", "label-help-text", "multi", "pmcd-pids", "proc-hotproc",
	"rep", "sgi", "viewqa1", "vldb-disks", "20130706", "moomba.pmkstat", "smart", "fixstamp", "reduce-1", "reduce-gap",
	"webalizer", "bigace_v2", "bigace_v3", "bug1044", "kenj-pc-1", "naslog", "gap", "anon-sa", "pcp-mpstat", "pcp-zeroconf",
	"value-test", "ok-bar", "diff1", "nano_stamps", "qa-shping.1", "volume1", "interp0", "arch_maxtext", "exit", "irix-6.5.26",
}

// sources returns the bases of archives of the suite, 20 at most, and of some made here.
func sources(t *testing.T) []string {
	t.Helper()
	twin.NeedSuite(t)
	var list []string
	for _, name := range archives {
		base := filepath.Join(twin.SuiteRoot, "archives", name)
		a, err := archive.Open(base)
		if err != nil {
			continue
		}
		a.Close()
		if n, _ := archive.FileSize(base + ".meta"); n < 200<<10 && size(base) < 2<<20 && len(list) < 20 {
			list = append(list, base)
		}
	}
	if len(list) < 15 {
		t.Fatalf("only %d of the archives are there", len(list))
	}
	for _, version := range []int{archive.Version2, archive.Version3} {
		base := filepath.Join(t.TempDir(), fmt.Sprint("cellar", version))
		makeCellar(t, base, version, 60)
		list = append(list, base)
	}
	return list
}

// size returns the length of all files of an archive.
func size(base string) (n int64) {
	list, _ := filepath.Glob(base + ".*")
	for _, p := range list {
		if st, err := os.Stat(p); err == nil {
			n += st.Size()
		}
	}
	return n
}

// compare runs both tools with rules and returns the differences.
func compare(t *testing.T, rules string, args ...string) string {
	t.Helper()
	if rules != "" {
		path := filepath.Join(t.TempDir(), "rules")
		if err := os.WriteFile(path, []byte(rules), 0o666); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"-c", path}, args...)
	}
	c := twin.Call{Tool: "pmlogrewrite", Args: append(slices.Clone(args), "out"), Env: []string{"TZ=UTC"}}
	c.Dir = t.TempDir()
	dirC := c.Dir
	want := c.Make(t, false)
	c.Dir = t.TempDir()
	got := c.Make(t, true)
	if want.Status < 0 || want.Status >= 128 {
		return "" // a signal ended it
	}
	var diff []string
	differ := func(what string, a, b []byte) {
		if !bytes.Equal(a, b) {
			diff = append(diff, fmt.Sprintf("%s:\n%s\nours:\n%s", what, a, b))
		}
	}
	differ("stdout", want.Out, got.Out)
	differ("stderr", firstLines(want.Err), firstLines(got.Err))
	if want.Status != got.Status {
		diff = append(diff, fmt.Sprintf("status %d, ours %d", want.Status, got.Status))
	}
	if want.Status == 0 && !sameFiles(want, got) {
		a, b := dump(t, dirC), dump(t, c.Dir)
		if !bytes.Equal(a, b) {
			diff = append(diff, "the dump: "+firstDifference(a, b))
		} else if len(want.Files) != len(got.Files) {
			diff = append(diff, "the files")
		}
	}
	return strings.Join(diff, "\n")
}

// firstLines removes the record that the C tool prints when a value cannot be converted,
// which contains addresses.
func firstLines(b []byte) []byte {
	head, rest, ok := bytes.Cut(b, []byte("__pmResult dump"))
	if !ok {
		head, rest, ok = bytes.Cut(b, []byte("pmResult dump"))
	}
	if i := bytes.Index(rest, []byte("\nArchive ")); ok && i >= 0 {
		return append(slices.Clone(head), rest[i+1:]...)
	}
	return b
}

func sameFiles(a, b twin.Made) bool {
	if len(a.Files) != len(b.Files) {
		return false
	}
	for name, x := range a.Files {
		if !bytes.Equal(x, b.Files[name]) {
			return false
		}
	}
	return true
}

// dump returns the full output of pmdumplog for an archive.
func dump(t *testing.T, dir string) []byte {
	t.Helper()
	c := twin.Call{Tool: "pmdumplog", Args: []string{"-z", "-a", "-e", "-h", "out"}, Dir: dir}
	r := c.Run(t, false)
	return append(r.Out, r.Err...)
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n%s\nours\n%s", i+1, strings.Join(x[i:min(i+5, len(x))], "\n"), strings.Join(y[i:min(i+5, len(y))], "\n"))
		}
	}
	return fmt.Sprintf("%d lines, ours %d", len(x), len(y))
}

// TestRules compares the effects of generated rules, valid and broken.
func TestRules(t *testing.T) {
	list := sources(t)
	r := rand.New(rand.NewPCG(longtest.Seed(t), 17))
	failures := 0
	n := longtest.N(150, 2000)
	for i := range n {
		base := list[i%len(list)]
		a, err := archive.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		g := newGenerator(r, a)
		rules := g.rules()
		a.Close()
		if i%3 == 2 {
			rules = broken(r, rules)
		}
		args := []string{base}
		for _, opt := range []string{"-w", "-v", "-s", "-C", "-q"} {
			if r.IntN(3) == 0 {
				args = append([]string{opt}, args...)
			}
		}
		if a.Version() == archive.Version2 && r.IntN(3) == 0 {
			args = append([]string{"-V", "3"}, args...)
		}
		if diff := compare(t, rules, args...); diff != "" {
			t.Errorf("%d: %q: %s\nrules:\n%s", i, args, diff, rules)
			if failures++; failures == 5 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d sets of rules", n)
}

// TestInstalled compares the effects of the rules installed with PCP.
func TestInstalled(t *testing.T) {
	list := sources(t)
	oracle.Require(t)
	files, _ := filepath.Glob("/var/lib/pcp/config/pmlogrewrite/*.conf")
	if len(files) == 0 {
		t.Skip("SKIPPED: no rules are installed")
	}
	for i, base := range list {
		if i >= longtest.N(8, len(list)) {
			break
		}
		args := []string{"-w", "-v"}
		for _, f := range files {
			args = append(args, "-c", f)
		}
		if diff := compare(t, "", append(args, base)...); diff != "" {
			t.Errorf("%s: %s", base, diff)
		}
	}
}

// A generator generates rules for an archive.
type generator struct {
	*rand.Rand
	a     *archive.Archive
	ids   []pcp.PMID
	names []string
	times bool // a change of time is as in C
	star  bool // there was a rule for 1.*, which the C tool remembers for null too
	empty bool // there is an empty help text, which the C tool replaces with the one-line text
	b     strings.Builder
}

func newGenerator(r *rand.Rand, a *archive.Archive) *generator {
	g := &generator{Rand: r, a: a, times: true}
	for _, d := range a.Meta().Descs() {
		g.ids = append(g.ids, d.PMID)
	}
	for name := range a.Meta().NamesInOrder() {
		g.names = append(g.names, name)
	}
	g.empty = slices.ContainsFunc(a.Meta().Texts(), func(x archive.Text) bool { return x.Text == "" })
	if mr, c, err := a.OpenMeta(); err == nil {
		for {
			rec, err := mr.Next()
			if err != nil {
				break
			}
			// The C tool shifts a time once for each record before it.
			if rec.Time.Compare(a.Label().Start) > 0 || rec.Type == archive.MetaInDomDelta {
				g.times = false
			}
		}
		c.Close()
	}
	return g
}

func pick[T any](g *rand.Rand, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) chance(n int) bool { return g.IntN(n) == 0 }

func (g *generator) printf(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }

func (g *generator) rules() string {
	g.printf("# made up\n")
	for range 1 + g.IntN(4) {
		switch k := g.IntN(12); {
		case k == 0:
			g.global()
		case k < 4:
			g.indom()
		case k < 9:
			g.metric()
		case k == 9:
			g.text()
		default:
			g.label()
		}
	}
	return g.b.String()
}

func (g *generator) global() {
	g.printf("global {\n")
	for _, i := range g.Perm(5)[:1+g.IntN(3)] {
		switch i {
		case 0:
			g.printf("  hostname -> %s\n", pick(g.Rand, "web7", "web-7.example.com", "10.0.0.7", g.a.Label().Host+"x", "7"))
		case 1:
			g.printf("  %s -> \"%s\"\n", pick(g.Rand, "tz", "timezone", "TimeZone"), pick(g.Rand, "UTC", "EST5EDT", g.a.Label().TimeZone))
		case 2:
			g.printf("  zoneinfo -> \":Europe/Vienna\"\n")
		case 3:
			g.printf("  features -> %s\n", pick(g.Rand, "0", "bits(31)"))
		case 4:
			if g.times {
				g.printf("  time -> %s\n", pick(g.Rand, "+1:00:00", "-23:59:59.999", "10", "1:30", "2:61", "-0.25", "+75.5", "0"))
			}
		}
	}
	g.printf("}\n")
}

func (g *generator) someInDom() pcp.InDom {
	list := g.a.Meta().InDoms()
	if len(list) == 0 || g.chance(12) {
		return pcp.NewInDom(1+g.IntN(500), g.IntN(100))
	}
	return pick(g.Rand, list...)
}

func printable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' })
}

func (g *generator) indom() {
	id := g.someInDom()
	star := g.chance(6)
	if star {
		g.star = true
		g.printf("indom %d.* {\n", id.Domain())
	} else {
		g.printf("indom %s {\n", id)
	}
	insts, _ := g.a.Meta().Lifetimes(id)
	for _, i := range g.Perm(len(insts))[:min(len(insts), g.IntN(4))] {
		in := insts[i]
		switch k := g.IntN(5); {
		case k == 0 && printable(in.Name):
			g.printf("  iname \"%s\" -> %s\n", in.Name, pick(g.Rand, "DELETE", "\"other\"", fmt.Sprintf("\"new-%d\"", i), "\""+in.Name+"\""))
		case k == 1:
			g.printf("  inst %d -> delete\n", in.Inst)
		case k == 2 && printable(in.Name):
			word, _, _ := strings.Cut(in.Name, " ")
			g.printf("  iname \"%s\" -> \"%s two words\"\n", word, word)
		case k == 3 && g.chance(5):
			g.printf("  inst %d -> %d\n", in.Inst, in.Inst)
		default:
			g.printf("  inst %d -> %d\n", in.Inst, 1_000_000+i)
		}
	}
	if g.chance(4) {
		g.printf("  inst 987654 -> 1\n")
	}
	if !star && g.chance(3) {
		// The C tool builds the duplicate domain from changes of the first.
		records := 0
		for range g.a.Meta().History(id) {
			records++
		}
		duplicate := pick(g.Rand, "", "duplicate ", "DUPLICATE ")
		if records > 1 {
			duplicate = ""
		}
		g.printf("  indom -> %s%s\n", duplicate, pick(g.Rand, "499.7", fmt.Sprint(id.Domain(), ".", id.Serial()+1), id.String()))
	}
	g.printf("}\n")
}

func (g *generator) someMetric() (pcp.PMID, string) {
	if len(g.ids) == 0 || g.chance(15) {
		return pcp.NewPMID(1+g.IntN(500), 0, 1), "no.such.metric"
	}
	id := pick(g.Rand, g.ids...)
	if names := g.a.Meta().Names(id); len(names) > 0 {
		return id, names[0]
	}
	return id, "x"
}

func (g *generator) metric() {
	id, name := g.someMetric()
	desc, _ := g.a.Meta().Desc(id)
	star := 0
	switch k := g.IntN(10); {
	case k == 0:
		star = 1
		g.printf("metric %d.%d.* {\n", id.Domain(), id.Cluster())
	case k == 1:
		star = 2
		g.printf("metric %d.*.* {\n", id.Domain())
	case k < 5:
		g.printf("metric %s {\n", id)
	default:
		g.printf("Metric %s {\n", name)
	}
	if g.chance(8) {
		g.printf("  delete\n}\n")
		return
	}
	types := []string{"32", "u32", "64", "U64", "float", "DOUBLE"}
	for _, i := range g.Perm(7)[:1+g.IntN(3)] {
		switch i {
		case 0:
			if g.empty {
				continue
			}
			to := []string{fmt.Sprintf("%d.%d.%d", 1+g.IntN(500), g.IntN(4000), g.IntN(1000)), id.String()}
			if star > 0 || g.chance(5) {
				to = []string{"497.*.*", "497.33.*"}
			}
			g.printf("  pmid -> %s\n", pick(g.Rand, to...))
		case 1:
			if star == 0 {
				g.printf("  name -> %s\n", pick(g.Rand, "new.name", name, "other.x-y", pick(g.Rand, append(g.names, "q")...)))
			}
		case 2:
			g.printf("  type -> %s\n", pick(g.Rand, types...))
		case 3:
			g.printf("  type if %s -> %s\n", pick(g.Rand, append(types, strings.ToLower(desc.Type.String()))[:6]...), pick(g.Rand, types...))
		case 4:
			g.printf("  sem -> %s\n", pick(g.Rand, "counter", "INSTANT", "discrete"))
		case 5:
			u := desc.Units
			space := []string{"BYTE", "KBYTE", "MBYTE", "GBYTE", "0"}[g.IntN(5)]
			time := []string{"NSEC", "MSEC", "SEC", "HOUR", "0"}[g.IntN(5)]
			if g.chance(4) {
				u.DimTime--
			}
			g.printf("  units -> %d,%d,+%d,%s,%s,%s %s\n", u.DimSpace, u.DimTime, max(u.DimCount, 0), space, time, pick(g.Rand, "0", "ONE", "3"), pick(g.Rand, "", "rescale"))
		case 6:
			g.metricInDom(desc)
		}
	}
	g.printf("}\n")
}

func (g *generator) metricInDom(desc pcp.Desc) {
	null := "null"
	if g.star {
		null = "496.2"
	}
	g.printf("  indom -> %s", pick(g.Rand, null, null, g.someInDom().String(), "496.1"))
	insts, _ := g.a.Meta().Lifetimes(desc.InDom)
	if len(insts) > 0 && g.chance(2) {
		in := pick(g.Rand, insts...)
		if printable(in.Name) && g.chance(2) {
			g.printf(" output iname \"%s\"", in.Name)
		} else {
			g.printf(" output inst %d", in.Inst)
		}
	} else if g.chance(2) {
		g.printf(" output %s", pick(g.Rand, "first", "last", "min", "MAX", "sum", "avg", "inst 77", "iname \"nobody\""))
	}
	g.printf("\n")
}

func (g *generator) text() {
	id, name := g.someMetric()
	kinds := pick(g.Rand, "", "oneline", "help", "*", "help oneline")
	if g.empty {
		kinds = "oneline"
	}
	if g.chance(3) {
		in := g.someInDom()
		g.printf("text indom %s %s { %s }\n", in, kinds, pick(g.Rand, "delete", "text -> \"new words\"", "indom -> 499.7", ""))
		return
	}
	what := pick(g.Rand, name, id.String(), fmt.Sprintf("%d.*.*", id.Domain()), fmt.Sprintf("%d.%d.*", id.Domain(), id.Cluster()))
	g.printf("text metric %s %s { %s }\n", what, kinds, pick(g.Rand, "delete", "text -> \"new\nwords \\\"of wisdom\\\"\"", "metric -> 495.*.*", "metric -> 495.1.2", ""))
}

func (g *generator) label() {
	id, name := g.someMetric()
	in := g.someInDom()
	var head, own string
	switch g.IntN(6) {
	case 0:
		head, own = "context", "delete"
	case 1:
		head, own = fmt.Sprintf("domain %d", id.Domain()), "domain -> 494"
	case 2:
		head, own = fmt.Sprintf("cluster %d.%s", id.Domain(), pick(g.Rand, "*", fmt.Sprint(id.Cluster()))), "cluster -> 494.3"
	case 3:
		head, own = "item "+pick(g.Rand, name, id.String(), fmt.Sprintf("%d.*.*", id.Domain())), "item -> 494.3.2"
	case 4:
		head, own = "indom "+pick(g.Rand, in.String(), fmt.Sprintf("%d.3", in.Domain())), "indom -> 494.3"
	default:
		head, own = "instances "+in.String(), pick(g.Rand, "instance -> 5000", "delete")
		head += pick(g.Rand, "", " *", fmt.Sprintf(" %d", g.IntN(5)))
	}
	names := []string{"hostname", "domainname", "agent", "machineid", "groupid", "userid", "units", "device_type", "nobody"}
	clause := pick(g.Rand, own, "delete", `new "colour" "red"`, `new "depth" -7`, `new "deep" {}`, `label -> "other"`, `value -> "12"`, `value -> true`, "")
	if !strings.HasPrefix(clause, "new") && g.chance(2) && !strings.HasPrefix(head, "instances") {
		head += ` "` + pick(g.Rand, names...) + `"`
		if g.chance(4) {
			head += ` "x86_64"`
		}
	}
	g.printf("label %s { %s }\n", head, clause)
}

// broken inserts mistakes into rules.
func broken(r *rand.Rand, rules string) string {
	words := strings.Fields(rules)
	for range 1 + r.IntN(2) {
		i := r.IntN(len(words))
		switch r.IntN(5) {
		case 0:
			words = slices.Delete(words, i, i+1)
		case 1:
			words = slices.Insert(words, i, pick(r, "{", "}", "->", "-", "delete", "metric", "indom", "text", "label", "global", "9.9.9.9", "512.1.1", "1.5000.1",
				"1.1.2000", "0.1", "1.9999999", "\"", "\"\"", "foo", "1", "1.", "@", "(", ",", "output", "units", "rescale", "if", "null", "*", "é", "99999999999999999999"))
		case 2:
			words[i] = words[i][:r.IntN(len(words[i])+1)]
		case 3:
			k := r.IntN(len(words))
			words[i], words[k] = words[k], words[i]
		case 4:
			words = slices.Insert(words, i, words[i])
		}
		if len(words) == 0 {
			return ""
		}
	}
	var b strings.Builder
	for _, w := range words {
		b.WriteString(w)
		b.WriteString(pick(r, " ", " ", "\n"))
	}
	return b.String()
}

// makeCellar writes an archive of all sorts of metrics, labels and texts.
func makeCellar(t testing.TB, base string, version, n int) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	start := pcp.Timestamp{Sec: 1700000000}
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{Version: version, PID: 1, Start: start, Host: "cellar", TimeZone: "UTC"}})
	must(err)
	indom := pcp.NewInDom(245, 1)
	types := []pcp.Type{pcp.Type32, pcp.TypeU32, pcp.Type64, pcp.TypeU64, pcp.TypeFloat, pcp.TypeDouble, pcp.TypeString}
	var ids []pcp.PMID
	for i, typ := range types {
		for k, in := range []pcp.InDom{pcp.InDomNull, indom} {
			d := pcp.Desc{PMID: pcp.NewPMID(245, k, i), Type: typ, InDom: in, Sem: pcp.SemInstant}
			if typ != pcp.TypeString {
				d.Units = pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)
			}
			must(w.Desc(d, fmt.Sprintf("cellar.%s.%s", []string{"one", "many"}[k], strings.ToLower("t"+typ.String()))))
			must(w.Text(pcp.TextPMID|pcp.TextOneLine, uint32(d.PMID), "what it is"))
			ids = append(ids, d.PMID)
		}
	}
	must(w.Text(pcp.TextInDom|pcp.TextHelp, uint32(indom), "bottles\nin racks"))
	for level, ident := range map[pcp.LabelFlags]uint32{pcp.LabelContext: uint32(pcp.PMIDNull)} {
		s, err := pcp.ParseLabels(`{"hostname":"cellar","groupid":7,"agent":"cellar"}`, level)
		must(err)
		must(w.Labels(start, level, ident, []pcp.LabelSet{s}))
	}
	for i, level := range []pcp.LabelFlags{pcp.LabelDomain, pcp.LabelCluster, pcp.LabelItem, pcp.LabelInDom} {
		ident := []uint32{245, uint32(pcp.NewPMID(245, 1, 0)), uint32(ids[1]), uint32(indom)}[i]
		s, err := pcp.ParseLabels(`{"agent":"cellar","units":"l","groupid":[1,2]}`, level)
		must(err)
		must(w.Labels(start, level, ident, []pcp.LabelSet{s}))
	}
	var sets []pcp.LabelSet
	for inst := range int32(3) {
		s, err := pcp.ParseLabels(fmt.Sprintf(`{"agent":"cellar","units":%d}`, inst), pcp.LabelInstances)
		must(err)
		s.Inst = inst
		sets = append(sets, s)
	}
	must(w.Labels(start, pcp.LabelInstances, uint32(indom), sets))
	names := []string{"red wine", "white", "rose", "port"}
	var res pcp.Result
	for i := range n {
		at := start
		at.Sec += int64(10 * i)
		count := 3
		if i > n/2 {
			count = 4
		}
		var list []pcp.Instance
		for k := range count {
			list = append(list, pcp.Instance{Inst: int32(k), Name: names[k]})
		}
		must(w.InDom(at, indom, list))
		res.Reset()
		res.Time = at
		for k, id := range ids {
			typ := types[k/2]
			values := 1
			if k%2 == 1 {
				values = count
			}
			res.AddSet(id)
			set := &res.Sets[len(res.Sets)-1]
			set.ValFmt = valueFormatOf(typ)
			for inst := range values {
				x := int64((i*37+inst*11)%100) - 20
				v := pcp.StringValue(fmt.Sprint("bottle ", x))
				switch typ {
				case pcp.TypeFloat:
					v = pcp.FloatValue(float32(x) / 3)
				case pcp.TypeDouble:
					v = pcp.DoubleValue(float64(x) / 7)
				case pcp.Type32:
					v = pcp.Int32Value(int32(x))
				case pcp.TypeU32:
					v = pcp.Uint32Value(uint32(x + 20))
				case pcp.Type64:
					v = pcp.Int64Value(x)
				case pcp.TypeU64:
					v = pcp.Uint64Value(uint64(x + 20))
				}
				number := int32(inst)
				if values == 1 {
					number = pcp.InNull
				}
				res.Add(v.WithInst(number))
			}
		}
		must(w.WriteResult(&res))
	}
	must(w.Close())
}

func valueFormatOf(t pcp.Type) pcp.ValFmt {
	if t.InSitu() {
		return pcp.ValInSitu
	}
	return pcp.ValDPtr
}
