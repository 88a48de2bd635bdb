package ie

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/wire"
)

// summaryArchive makes an archive of six seconds with metrics of several units.
func summaryArchive(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	im, err := importer.Start(path, importer.Options{Host: "here", TimeZone: "UTC", Version: 3})
	if err != nil {
		t.Fatal(err)
	}
	insts := pcp.NewInDom(200, 1)
	for i := range 3 {
		if err := im.AddInstance(insts, fmt.Sprint("i", i), int32(i)); err != nil {
			t.Fatal(err)
		}
	}
	type metric struct {
		name  string
		typ   pcp.Type
		indom pcp.InDom
		sem   pcp.Sem
		units pcp.Units
	}
	metrics := []metric{
		{"in.bytes", pcp.TypeU64, pcp.InDomNull, pcp.SemCounter, pcp.NewUnits(1, 0, 0, pcp.SpaceKByte, 0, 0)},
		{"in.ops", pcp.TypeU32, insts, pcp.SemCounter, pcp.NewUnits(0, 0, 1, 0, 0, 0)},
		{"in.busy", pcp.TypeDouble, pcp.InDomNull, pcp.SemCounter, pcp.NewUnits(0, 1, 0, 0, pcp.TimeMsec, 0)},
		{"in.age", pcp.TypeDouble, insts, pcp.SemInstant, pcp.NewUnits(0, 1, 0, 0, pcp.TimeHour, 0)},
		{"in.size", pcp.TypeU32, pcp.InDomNull, pcp.SemDiscrete, pcp.NewUnits(1, 0, 0, pcp.SpaceMByte, 0, 0)},
		{"in.millions", pcp.TypeFloat, pcp.InDomNull, pcp.SemInstant, pcp.NewUnits(0, 0, 1, 0, 0, 6)},
		{"in.name", pcp.TypeString, pcp.InDomNull, pcp.SemDiscrete, pcp.Units{}},
		{"in.none", pcp.Type32, pcp.InDomNull, pcp.SemInstant, pcp.Units{}},
	}
	for i, m := range metrics {
		if _, err := im.AddMetric(m.name, pcp.Desc{PMID: pcp.NewPMID(200, 0, i), Type: m.typ, InDom: m.indom, Sem: m.sem, Units: m.units}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 6 {
		res := &pcp.Result{Time: pcp.TimestampOf(time.Date(2024, 3, 5, 12, 0, n, 0, time.UTC))}
		for i, m := range metrics {
			res.AddSet(pcp.NewPMID(200, 0, i))
			number := float64((i + 2) * n * n)
			add := func(inst int32) {
				switch m.typ {
				case pcp.TypeU64:
					res.Add(pcp.Uint64Value(uint64(number)).WithInst(inst))
				case pcp.TypeU32:
					res.Add(pcp.Uint32Value(uint32(number)).WithInst(inst))
				case pcp.TypeDouble:
					res.Add(pcp.DoubleValue(number / 8).WithInst(inst))
				case pcp.TypeFloat:
					res.Add(pcp.FloatValue(float32(number)).WithInst(inst))
				case pcp.TypeString:
					res.Add(pcp.StringValue(fmt.Sprint("n", n/3)).WithInst(inst))
				}
			}
			switch {
			case m.indom == pcp.InDomNull:
				add(pcp.InNull)
			case n == 4: // values are missing
			default:
				for inst := range int32(3) {
					number += float64(inst)
					add(inst)
				}
			}
		}
		if err := im.PutResult(res); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	return path
}

// summaryRules are rules by name. Truth values are 1 and 0 in ours; in C they are
// arbitrary bytes of memory.
var summaryRules = []struct {
	name, text string
	truth      bool
}{
	{"counter", "in.bytes", false},
	{"counters", "in.ops", false},
	{"one", "in.ops #i1", false},
	{"total", "sum_inst in.ops", false},
	{"mean", "avg_inst in.age", false},
	{"most", "max_inst in.age", false},
	{"least", "min_inst (in.age * 2)", false},
	{"fewer", "in.size - 3 Mbytes", false},
	{"product", "in.size * in.bytes", false},
	{"quotient", "in.bytes / in.ops #i0", false},
	{"share", "in.busy / (1 second / second)", false},
	{"perSecond", "in.size / 5 seconds", false},
	{"inverse", "3 Kbytes / in.size", false},
	{"squared", "in.busy * in.age #i0 * in.millions", false},
	{"negative", "-in.millions", false},
	{"plain", "in.millions", false},
	{"rateOf", "rate in.size", false},
	{"now", "instant in.bytes", false},
	{"nows", "instant sum_inst in.ops", false},
	{"count", "count_inst (in.age > 2 hours)", false},
	{"part", "count_inst (in.age > 2 hours) / count_inst (in.age >= 0)", false},
	{"none", "in.none", false},
	{"sumOfNone", "in.none + in.size", false},
	{"zero", "in.size / 0", false},
	{"timed", "in.size * $delta", false},
	{"host", "sum_host in.size :here", false},
	{"some", "some_inst in.age > 3 hours", true},
	{"all", "all_inst in.age > 3 hours", true},
	{"above", "in.size > 30 Mbytes", true},
	{"not", "! (in.size > 30 Mbytes)", true},
	{"both", "in.size > 30 Mbytes && in.millions > 100000000 count", true},
	{"unclear", "in.none > 3", true},
	{"named", `in.name == "n0"`, true},
	{"rises", "rising in.size > 30 Mbytes", true},
	{"half", "50 %_inst in.age > 2 hours", true},
}

// summaryNames writes a name space with the names of the rules, and of the metrics of the archive, and
// returns its path.
func summaryNames(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("root {\n\tout\n\tin\n}\nin {\n\tother 200:9:9\n}\nout {\n")
	for i, r := range summaryRules {
		fmt.Fprintf(&b, "\t%s 400:1:%d\n", r.name, i)
	}
	b.WriteString("}\n")
	path := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// summaryFile writes all rules into a file.
func summaryFile(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, r := range summaryRules {
		fmt.Fprintf(&b, "out.%s = %s;\n", r.name, r.text)
	}
	path := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A published is the output of pmie -x.
type published struct {
	Descs   []pcp.Desc
	Results [][]pcp.ValueSet
}

// readPublished decodes the output of pmie -x: descriptors first.
func readPublished(t testing.TB, out []byte) (p published) {
	t.Helper()
	r := wire.NewReader(bytes.NewReader(out))
	for {
		h, body, err := r.Next()
		if err == io.EOF {
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		pdu, err := wire.Decode(h, bytes.Clone(body))
		if err != nil {
			t.Fatal(err)
		}
		switch pdu := pdu.(type) {
		case *wire.Desc:
			if p.Results != nil {
				t.Error("a descriptor after a result")
			}
			p.Descs = append(p.Descs, pdu.Desc)
		case *wire.Result:
			if pdu.Time != (pcp.Timestamp{}) {
				t.Errorf("a result of %v, want no time", pdu.Time)
			}
			p.Results = append(p.Results, pdu.Sets)
		default:
			t.Errorf("a PDU of type %v", h.Type)
		}
	}
}

// number returns the value of a set, NaN if it has no values.
func number(vs pcp.ValueSet) (f float64, err pcp.Error) {
	if vs.Err != 0 || len(vs.Values) == 0 {
		return math.NaN(), vs.Err
	}
	return vs.Values[0].Double(), 0
}

// TestAgentTwin has the real pmie -x and ours write the same rules.
func TestAgentTwin(t *testing.T) {
	oracle.Require(t)
	call := twin.Call{
		Tool: "pmie", Args: []string{"-x", "-t", "1sec", "-a", summaryArchive(t), summaryFile(t)},
		Env: []string{"PMNS_DEFAULT=" + summaryNames(t)}, KillAfter: time.Minute,
	}
	want, got := call.Run(t, false), call.Run(t, true)
	if got.Status != want.Status {
		t.Fatalf("status %d, want %d\n%s\nreal:\n%s", got.Status, want.Status, got.Err, want.Err)
	}
	if diff := cmp.Diff(said(want.Err), said(got.Err)); diff != "" {
		t.Errorf("messages (-real, +ours):\n%s", diff)
	}
	real, ours := readPublished(t, want.Out), readPublished(t, got.Out)
	if len(real.Descs) != len(summaryRules) || len(real.Results) != 6 {
		t.Fatalf("the real one: %d descriptors, %d results\n%s", len(real.Descs), len(real.Results), want.Err)
	}
	unknowns := 0
	for i, r := range summaryRules {
		if unknown := pcp.NewUnits(0, 0, -1, 0, 0, 7); real.Descs[i].Units == unknown {
			unknowns++ // two counts, whose units C does not know
			real.Descs[i].Units = pcp.Units{}
		}
		if ours.Descs[i] != real.Descs[i] {
			t.Errorf("%s: descriptor %v, want %v", r.text, ours.Descs[i], real.Descs[i])
		}
	}
	if unknowns != 1 {
		t.Errorf("%d rules have no units in C, want one", unknowns)
	}
	if len(ours.Results) != len(real.Results) {
		t.Fatalf("%d results, want %d", len(ours.Results), len(real.Results))
	}
	values := 0
	for n := range real.Results {
		for i, r := range summaryRules {
			g, gotErr := number(ours.Results[n][i])
			w, wantErr := number(real.Results[n][i])
			if r.truth && wantErr == 0 {
				switch math.Float64bits(w) & 0xff { // the first byte of three-valued logic
				case 0:
					w = 0
				case 1:
					w = 1
				default:
					w = math.NaN()
				}
			}
			if g == g {
				values++
			}
			if gotErr != wantErr || g != w && (g == g || w == w) {
				t.Errorf("%s, evaluation %d: %v %v, want %v %v", r.text, n, g, gotErr, w, wantErr)
			}
		}
	}
	if values < 100 {
		t.Errorf("%d values only", values)
	}
	// Metrics without truth values are the same to the last byte, except for the
	// sender.
	var b strings.Builder
	for _, r := range summaryRules {
		if !r.truth && r.name != "part" {
			fmt.Fprintf(&b, "out.%s = %s;\n", r.name, r.text)
		}
	}
	if err := os.WriteFile(call.Args[len(call.Args)-1], []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	want, got = call.Run(t, false), call.Run(t, true)
	if diff := cmp.Diff(anonymous(t, want.Out), anonymous(t, got.Out)); diff != "" {
		t.Errorf("(-real, +ours):\n%s", diff)
	}
}

// anonymous returns a dump of PDUs from which their senders are gone.
func anonymous(t testing.TB, out []byte) []string {
	t.Helper()
	var list []string
	for len(out) > 0 {
		h, ok := wire.ParseHeader(out)
		if !ok || int(h.Len) > len(out) || h.Len < wire.HeaderSize {
			t.Fatalf("%d bytes are no PDU", len(out))
		}
		list = append(list, fmt.Sprintf("%v %x", h.Type, out[wire.HeaderSize:h.Len]))
		out = out[h.Len:]
	}
	return list
}

var ownProcess = regexp.MustCompile(`(?m)^\[.*\] pmie\(\d+\)`)

func said(b []byte) string { return string(ownProcess.ReplaceAll(b, []byte("pmie"))) }

// TestAgentBytes has ours write two rules, byte for byte.
func TestAgentBytes(t *testing.T) {
	dir := t.TempDir()
	rules, names := filepath.Join(dir, "rules"), filepath.Join(dir, "names")
	for path, text := range map[string]string{
		rules: "out.total = sum_inst in.ops;\nout.some = some_inst in.age > 3 hours;\n",
		names: "root {\n\tout\n}\nout {\n\ttotal 400:1:3\n\tsome 400:1:4\n}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	call := twin.Call{
		Tool: "pmie", Args: []string{"-x", "-q", "-t", "1sec", "-T", "1sec", "-a", summaryArchive(t), rules},
		Env: []string{"PMNS_DEFAULT=" + names}, KillAfter: time.Minute,
	}
	r := call.Run(t, true)
	if r.Status != 0 || len(r.Err) != 0 {
		t.Errorf("status %d: %s", r.Status, r.Err)
	}
	want := []string{
		// pmid indom... the type double, no instances, instant, count / sec
		"DESC 6400040300000005ffffffff000000030f103000",
		"DESC 6400040400000005ffffffff0000000300000000",
		// no time, two sets: a rate needs two values; false is 0
		"RESULT 000000000000000000000002" + "64000403ffffcfc1" + "640004040000000100000001ffffffff0000000d" + "0500000c0000000000000000",
		"RESULT 000000000000000000000002" + "640004030000000100000001ffffffff00000010" + "640004040000000100000001ffffffff00000013" +
			"0500000c4022000000000000" + "0500000c0000000000000000",
	}
	if diff := cmp.Diff(want, anonymous(t, r.Out)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

// TestAgentMistakes compares the messages about rules that cannot be metrics.
func TestAgentMistakes(t *testing.T) {
	names := summaryNames(t)
	archive := summaryArchive(t)
	for _, tt := range []struct {
		rules string
		args  []string
		names string
		said  string // of ours, where C crashes or prints something else
	}{
		{rules: "out.one = in.size > 3 -> print \"x\";"},
		{rules: "out.one = print \"x\";\nout.total = in.size;"},
		{rules: "out.one = print \"x\" & print \"y\";\nout.total = in.size;"},
		{rules: "out.one = print \"x\" | print \"y\";"},
		{rules: "out.one = shell \"x\"; out.one = syslog \"x\"; out.total = alarm \"x\"; out.mean = syslog \"x\";"},
		{rules: "in.size > 3;\nout.total = in.size;"},
		{rules: "in.size > 3 -> print \"x\";"},
		{rules: "out.one = in.size > ;"},
		{rules: "in.size > ;"},
		{rules: "7;"},
		{rules: "out.one = 7;"},
		{rules: ""},
		{rules: "elsewhere = in.size;"},
		{rules: "out = in.size;"},
		{rules: "out.one = in.size;", names: "/nonexistent"},
		{rules: "out.one = print \"x\";", args: []string{"-C"}},
		{rules: "out.one = in.size; elsewhere = in.size;", args: []string{"-C"}},
		{rules: "out.one = in.size;", args: []string{"-b"}},
		{rules: "out.one = ruleset in.size > 3 -> print \"x\";\nout.total = in.size;", said: "operator ruleset not allowed in agent mode"},
	} {
		t.Run("", func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rules")
			if err := os.WriteFile(path, []byte(tt.rules), 0o644); err != nil {
				t.Fatal(err)
			}
			if tt.names == "" {
				tt.names = names
			}
			call := twin.Call{
				Tool: "pmie", Args: append(tt.args, "-x", "-t", "1sec", "-a", archive, path),
				Env: []string{"PMNS_DEFAULT=" + tt.names}, KillAfter: time.Minute,
			}
			got := call.Run(t, true)
			if tt.said != "" {
				if !strings.Contains(string(got.Err), tt.said) {
					t.Errorf("%s: said %q, want %q", tt.rules, got.Err, tt.said)
				}
				return
			}
			oracle.Require(t)
			want := call.Run(t, false)
			usage := func(b []byte) string { first, _, _ := strings.Cut(said(b), "Usage:"); return first }
			if diff := cmp.Diff(usage(want.Err), usage(got.Err)); diff != "" {
				t.Errorf("%s: (-real, +ours):\n%s", tt.rules, diff)
			}
			if got.Status != want.Status {
				t.Errorf("%s: status %d, want %d", tt.rules, got.Status, want.Status)
			}
			if diff := cmp.Diff(anonymous(t, want.Out), anonymous(t, got.Out)); diff != "" {
				t.Errorf("%s: (-real, +ours):\n%s", tt.rules, diff)
			}
		})
	}
}

// TestAgentSpecial looks at values that C does not have: it crashes, or writes arbitrary memory.
func TestAgentSpecial(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	rules := "out.one = $minute;\nout.named = in.name;\nout.now = in.size @1;\nout.most = max_sample in.size @0..2;\n"
	if err := os.WriteFile(path, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	call := twin.Call{
		Tool: "pmie", Args: []string{"-x", "-Z", "UTC", "-t", "1sec", "-a", summaryArchive(t), path},
		Env: []string{"PMNS_DEFAULT=" + summaryNames(t)}, KillAfter: time.Minute,
	}
	r := call.Run(t, true)
	p := readPublished(t, r.Out)
	if len(p.Descs) != 4 || len(p.Results) != 6 {
		t.Fatalf("%d descriptors, %d results: %s", len(p.Descs), len(p.Results), r.Err)
	}
	for i, want := range []pcp.Type{pcp.TypeDouble, pcp.TypeNoSupport, pcp.TypeDouble, pcp.TypeDouble} {
		if p.Descs[i].Type != want {
			t.Errorf("rule %d has type %v, want %v", i, p.Descs[i].Type, want)
		}
	}
	size := func(n int) float64 { return float64(6*n*n) * (1 << 20) }
	for n, sets := range p.Results {
		for i, want := range []float64{0, math.NaN(), size(n - 1), size(n)} {
			if i == 2 && n < 1 || i == 3 && n < 2 {
				want = math.NaN()
			}
			if got, _ := number(sets[i]); got != want && (got == got || want == want) {
				t.Errorf("rule %d, evaluation %d: %v, want %v", i, n, got, want)
			}
		}
	}
}

// TestAgentPipe has the reader go away, and not read: the process ends in both cases.
func TestAgentPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	names := summaryNames(t)
	var b strings.Builder
	for _, r := range summaryRules {
		fmt.Fprintf(&b, "out.%s = $minute + %d;\n", r.name, len(b.String()))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	start := func(t *testing.T) (out *os.File, errs *bytes.Buffer, signal func(os.Signal), ended chan int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		call := twin.Call{
			Tool: "pmie", Args: []string{"-x", "-U", me.Username, "-h", "127.0.0.1", "-t", "1msec", path}, Env: []string{"PMNS_DEFAULT=" + names, "PCP_TMP_DIR=" + t.TempDir()},
			Stdin: "never read",
		}
		cmd := call.Command(ctx, t, true)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		errs = new(bytes.Buffer)
		cmd.Stdout, cmd.Stderr = w, errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		t.Cleanup(func() { r.Close() })
		ended = make(chan int, 1)
		go func() {
			cmd.Wait()
			ended <- cmd.ProcessState.ExitCode()
		}()
		return r, errs, func(sig os.Signal) { cmd.Process.Signal(sig) }, ended
	}
	t.Run("gone", func(t *testing.T) {
		out, errs, signal, ended := start(t)
		var one [1]byte
		if _, err := io.ReadFull(out, one[:]); err != nil {
			t.Fatalf("%v: %s", err, errs)
		}
		signal(syscall.SIGHUP) // is ignored
		out.Close()
		if status := <-ended; status != 0 {
			t.Errorf("status %d, want 0", status)
		}
		if want := "Error: __pmSendResult to summary agent failed: Broken pipe\n"; !strings.Contains(errs.String(), want) {
			t.Errorf("said %q, want %q", errs, want)
		}
	})
	t.Run("full", func(t *testing.T) {
		out, errs, signal, ended := start(t)
		var some [4096]byte
		if _, err := io.ReadFull(out, some[:]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // likely the pipe is full by then; if it is not, the test passes as well
		signal(syscall.SIGTERM)
		if status := <-ended; status != 0 {
			t.Errorf("status %d, want 0\n%s", status, errs)
		}
	})
}

// TestAgentNameSpace names the metrics and the rules in a file, and the time zone reported where it
// does not come between PDUs. C cannot do either.
func TestAgentNameSpace(t *testing.T) {
	dir := t.TempDir()
	rules, names := filepath.Join(dir, "rules"), filepath.Join(dir, "names")
	for path, text := range map[string]string{
		rules: "out.total = in.large;\n",
		names: "root {\n\tout\n\tin\n}\nin {\n\tlarge 200:0:4\n}\nout {\n\ttotal 400:1:3\n}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := twin.Call{Tool: "pmie", Args: []string{"-x", "-z", "-n", names, "-t", "1sec", "-a", summaryArchive(t), rules}, KillAfter: time.Minute}.Run(t, true)
	p := readPublished(t, r.Out)
	if len(p.Descs) != 1 || p.Descs[0].PMID != pcp.NewPMID(400, 1, 3) || len(p.Results) != 6 {
		t.Fatalf("%v: %s", p, r.Err)
	}
	if v, err := number(p.Results[2][0]); v != 24<<20 {
		t.Errorf("%v %v, want %v", v, err, 24<<20)
	}
	if !strings.Contains(string(r.Err), "timezone set to local timezone from ") {
		t.Errorf("said %q", r.Err)
	}
}
