package ie

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// course is a way through true, false and unknown that has each step from one to another once.
const course = "TTFFUUTUF"

// truthSteps is for how many seconds the archives of the truth tables have values: the course for each
// of the other values, and back to its begin.
const truthSteps = 3*len(course) + 1

// truthArchives makes the archives h1, h2 and h3, of three hosts, and returns how pmie is given them:
//
//	a     has the course three times, shifted from host to host
//	b     is true for the first course, false for the second and unknown for the third
//	none  never has a value
//	p     has three instances and all their combinations, then none, then fewer, then others
//	q     has the same instances, all the time except for some moments
//	t, ts are strings, ts has the instances of q
//	void  has an instance domain, and never values
//	homeless has a metric that is not in the archive
//
// True is 1, false is 0, and where something is unknown there is no value.
func truthArchives(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for host := range 3 {
		name := fmt.Sprint("h", host+1)
		path := filepath.Join(dir, name)
		paths = append(paths, path)
		im, err := importer.Start(path, importer.Options{Host: name, TimeZone: "UTC", Version: 3})
		if err != nil {
			t.Fatal(err)
		}
		insts, nothing := pcp.NewInDom(200, 1), pcp.NewInDom(200, 2)
		id := make(map[string]pcp.PMID)
		for i, m := range []struct {
			name  string
			typ   pcp.Type
			indom pcp.InDom
		}{
			{"a", pcp.Type32, pcp.InDomNull},
			{"b", pcp.Type32, pcp.InDomNull},
			{"none", pcp.Type32, pcp.InDomNull},
			{"p", pcp.Type32, insts},
			{"q", pcp.Type32, insts},
			{"t", pcp.TypeString, pcp.InDomNull},
			{"ts", pcp.TypeString, insts},
			{"void", pcp.Type32, insts},
			{"homeless", pcp.Type32, nothing},
		} {
			if id[m.name], err = im.AddMetric(m.name, pcp.Desc{PMID: pcp.NewPMID(200, 0, i), Type: m.typ, InDom: m.indom, Sem: pcp.SemInstant}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			if err := im.AddInstance(insts, fmt.Sprint("i", i), int32(i)); err != nil {
				t.Fatal(err)
			}
		}
		for n := range truthSteps {
			if n > 0 {
				if err := im.PutMark(); err != nil { // else a value that is missing is that of before
					t.Fatal(err)
				}
			}
			res := &pcp.Result{Time: pcp.TimestampOf(time.Date(2024, 3, 5, 12, 0, n, 0, time.UTC))}
			one := func(name string, truth byte) {
				if truth == 'U' {
					res.AddSet(id[name])
					return
				}
				res.AddSet(id[name])
				v := pcp.Int32Value(0)
				if truth == 'T' {
					v = pcp.Int32Value(1)
				}
				v.Inst = pcp.InNull
				res.Add(v)
			}
			one("a", course[(n+4*host)%len(course)])
			one("b", "TFU"[n/len(course)%3])
			one("none", 'U')
			one("void", 'U')
			one("homeless", 'U')
			set := func(name string, bits int, has ...int32) {
				if len(has) == 0 {
					res.AddSet(id[name])
					return
				}
				res.AddSet(id[name])
				for _, i := range has {
					v := pcp.Int32Value(int32(bits >> i & 1))
					v.Inst = i
					res.Add(v)
				}
			}
			switch m := (n + 3*host) % truthSteps; {
			case m < 8:
				set("p", m, 0, 1, 2)
			case m < 10:
				set("p", 0)
			case m < 14:
				set("p", m, 0, 1)
			case m < 16:
				set("p", m, 1)
			case m < 20:
				set("p", m, 0, 1, 2, 3)
			default:
				set("p", 5*m, 0, 1, 2)
			}
			if n%11 == 6 {
				set("q", 0)
			} else {
				set("q", n/2+host, 0, 1, 2)
			}
			text := func(name string, n int, insts ...int32) {
				res.AddSet(id[name])
				for _, i := range insts {
					v := pcp.StringValue([]string{"x", "y", ""}[(n+int(i)+1)%3])
					v.Inst = i
					res.Add(v)
				}
			}
			if n%5 == 3 {
				res.AddSet(id["t"])
			} else {
				text("t", n, pcp.InNull)
			}
			text("ts", n/3, 0, 1, 2)
			if err := im.PutResult(res); err != nil {
				t.Fatal(err)
			}
		}
		if err := im.End(); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(paths, ",")
}

// Operands that have one truth value, several of instances, and others.
var (
	scalarTruths = []string{"a > 0", "b > 0", "true", "false", "none > 0"}
	setTruths    = []string{"p > 0", "q > 0", "(p > 0 && none > 0)", "(q > 0 || none > 0)", "p #'i0' #'i2' > 0", "void > 0"}
	otherTruths  = []string{"a :h1 :h2 :h3 > 0", "p :h1 :h2 > 0", "a @0..2 > 0", "p @0..1 > 0", "a @1 > 0", `ts == "x"`, `t == "x"`, "t > 0", "homeless > 0"}
	truths       = slices.Concat(scalarTruths, setTruths, otherTruths)
	quantifiers  = []string{"all_", "some_", "0%_", "1%_", "50%_", "67%_", "100%_"}
	domains      = []string{"inst", "host", "sample"}
	numbers      = []string{"a", "b", "none", "p", "q", "p #'i0'", "p #'i0' #'i2'", "a :h1 :h2 :h3", "a @0..2", "p @0..1", "a @1", "1", "(a + b)", "-a", "void"}
)

// coreTruths are the tables whose results are in testdata/truth.txt.
func coreTruths() (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, x := range truths {
		add("%s", x)
		add("! (%s)", x)
		add("rising (%s)", x)
		add("falling (%s)", x)
	}
	for _, op := range []string{"&&", "||"} {
		for _, x := range slices.Concat(scalarTruths, setTruths) {
			for _, y := range slices.Concat(scalarTruths, setTruths[:4]) {
				add("%s %s %s", x, op, y)
			}
		}
	}
	for _, q := range quantifiers {
		for _, x := range setTruths {
			add("%sinst (%s)", q, x)
		}
		add("%shost (%s)", q, otherTruths[0])
		add("%ssample (%s)", q, otherTruths[2])
	}
	for _, op := range []string{"==", "!=", "<", "<=", ">", ">="} {
		for _, y := range []string{"a", "b", "none"} {
			add("a %s %s", op, y)
		}
		add("p %s q", op)
		add("p %s b", op)
	}
	conditions := []string{"a > 0", "b > 0", "none > 0", "some_inst (p > 0)"}
	for _, x := range conditions {
		for _, y := range conditions {
			for _, rest := range []string{"", ` unknown -> print "~U"`, ` otherwise -> print "~O"`, ` unknown -> print "~U" otherwise -> print "~O"`} {
				add(`ruleset %s -> print "~1" else %s -> print "~2"%s`, x, y, rest)
			}
		}
	}
	return list
}

// moreTruths are the other tables: all operators over operands of all shapes.
func moreTruths() (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, op := range []string{"&&", "||"} {
		for _, x := range truths {
			for _, y := range truths {
				add("%s %s %s", x, op, y)
			}
		}
	}
	for _, d := range domains {
		for _, x := range truths {
			for _, q := range append(quantifiers, "count_") {
				add("%s%s (%s)", q, d, x)
			}
			add("rising some_%s (%s)", d, x)
			add("! all_%s (! (%s))", d, x)
			add("some_%s (rising (%s))", d, x)
			add("all_%s (falling (%s))", d, x)
		}
		for _, x := range numbers {
			for _, q := range []string{"sum_", "avg_", "min_", "max_"} {
				add("%s%s %s", q, d, x)
				add("%s%s %s > 0.5", q, d, x)
			}
		}
		for _, q := range []string{"all_", "some_", "50%_"} {
			for _, x := range setTruths {
				for _, y := range slices.Concat(setTruths, scalarTruths[:1], otherTruths[:3]) {
					add("%s%s (%s && %s)", q, d, x, y)
					add("%s%s (%s || %s)", q, d, y, x)
				}
			}
		}
	}
	for _, x := range truths {
		for _, m := range []string{"match_inst", "nomatch_inst"} {
			add(`%s "i[01]" (%s)`, m, x)
			add(`some_inst %s "i[12]" (%s)`, m, x)
		}
		add("rising (! (%s))", x)
	}
	for _, op := range []string{"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"} {
		for _, x := range numbers {
			for _, y := range numbers {
				add("%s %s %s", x, op, y)
			}
		}
	}
	for _, x := range numbers {
		add("rate %s", x)
		add("instant %s", x)
		add("-(%s)", x)
	}
	return list
}

// boundTruths are rules with actions, of which it matters for which hosts and instances they are true.
func boundTruths() (list []string) {
	add := func(x string) { list = append(list, x+` -> print "~%h %i %v,"`) }
	for _, x := range truths {
		add(x)
		for _, q := range quantifiers[:5] {
			for _, d := range domains {
				add(fmt.Sprintf("%s%s (%s)", q, d, x))
			}
		}
		add(fmt.Sprintf("a > 0 && some_inst (%s)", x))
		add(fmt.Sprintf("some_host (%s) || some_inst (q > 0)", x))
	}
	for _, x := range numbers {
		for _, q := range []string{"sum_inst", "max_inst", "min_sample", "max_host"} {
			add(fmt.Sprintf("%s %s > 0", q, x))
		}
	}
	return list
}

// A ruling is the result of evaluating rules.
type ruling struct {
	of     map[string]string // by rule: its value at each step, and its output
	said   string
	status int
	killed bool
}

var (
	ruleName = regexp.MustCompile(`\br\d+\b`)
	ruleDate = regexp.MustCompile(` \(... ... .. ..:..:.. ....\)|print ... ... .. ..:..:.. ....: `)
)

// rule has pmie evaluate rules over the archives.
func rule(t *testing.T, archives string, ours bool, env string, rules []string, args ...string) ruling {
	t.Helper()
	var text strings.Builder
	for i, r := range rules {
		fmt.Fprintf(&text, "r%d = %s;\n", i, strings.ReplaceAll(r, "~", fmt.Sprintf("r%d ", i)))
	}
	file := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	call := twin.Call{Tool: "pmie", Args: append(append([]string{"-z", "-t", "1sec"}, args...), "-a", archives, file), KillAfter: time.Minute, Env: []string{"MALLOC_PERTURB_=" + env}}
	res := call.Run(t, ours)
	res.Out = bytes.ReplaceAll(res.Out, []byte("(null)"), nil) // in place of no text
	r := ruling{of: make(map[string]string), said: strings.ReplaceAll(string(plain(res.Err)), file, "rules"), status: res.Status}
	r.killed = res.Status < 0 || bytes.Contains(res.Err, []byte("botch"))
	name := ""
	for line := range strings.Lines(string(res.Out)) {
		if n := ruleName.FindString(line); n != "" && !strings.HasPrefix(line, " ") {
			i, err := strconv.Atoi(n[1:])
			if err != nil || i >= len(rules) {
				t.Fatalf("output %q", line)
			}
			name = rules[i]
			line = strings.Replace(line, n, "", 1)
		}
		if line != "\n" {
			r.of[name] += ruleDate.ReplaceAllString(line, "")
		}
	}
	return r
}

// A quirk is a known difference of the real one for some rules.
type quirk struct {
	why   string
	page  string // the first words in docs/differences.md about it
	rules *regexp.Regexp
	args  string // "" if it shows with all

	crashes bool // it may end by a signal
}

var quirks = []*quirk{
	{
		why:   "the real one goes on for the second host where it was with the instances of the first",
		page:  "Aggregates and quantifiers of instances",
		rules: regexp.MustCompile(`_inst .*:h1`),
	},
	{
		why:   "of samples of several instances or hosts the real one has one value, and beside it memory that it has not written",
		page:  "An aggregate of samples has one value for each instance",
		rules: regexp.MustCompile(`_sample .*(\b[pq]|ts|:h1|void)\b`),
	},
	{
		why:   "the real one takes the first instance of a host that has none",
		page:  "An aggregate of hosts is unknown",
		rules: regexp.MustCompile(`^(sum|avg|min|max)_host (p|q|void)\b`), crashes: true,
	},
	{
		why:   "the real one uses values that it has freed",
		page:  "A rule of a ruleset that was not evaluated",
		rules: regexp.MustCompile(`^ruleset (a .* else a |b .* else b |.* else some_inst )`), crashes: true,
	},
	{
		why:   "the real one shows strings as numbers",
		page:  "A value that is a string is shown as such",
		rules: regexp.MustCompile(`\b(ts? == "x"|t > 0)`), args: "-W",
	},
	{
		why:   "the real one shows instances that are not there any more",
		page:  "Where instances of two metrics differ",
		rules: regexp.MustCompile(`[pq] > 0.* (&&|\|\|) |(&&|\|\|) .*[pq] > 0`), args: "-V", crashes: true,
	},
	{
		why:   "the real one writes to addresses that are none",
		page:  "Rules of constants that crash C",
		rules: regexp.MustCompile(`%_(host|sample) \((true|false)\)|^(sum|avg)_inst 1|^(true|false) (&&|\|\|) homeless`), crashes: true,
	},
}

// A trial compares the results of both for rules.
type trial struct {
	archives string
	quirks   map[*quirk]int // rules that they explained
}

// quirk returns the quirk that explains a difference, nil if there is none.
func (c *trial) quirk(rule string, args []string, crash bool) *quirk {
	for _, q := range quirks {
		if (q.crashes || !crash) && (q.args == "" || slices.Contains(args, q.args)) && q.rules.MatchString(rule) {
			c.quirks[q]++
			return q
		}
	}
	return nil
}

// same has both evaluate rules, and wants the same of each. Where the real one crashes, or its
// output differs, they evaluate fewer rules at a time, to find the rule at fault.
func (c *trial) same(t *testing.T, rules []string, args ...string) {
	t.Helper()
	want := rule(t, c.archives, false, "90", rules, args...)
	got := rule(t, c.archives, true, "90", rules, args...)
	if (want.killed || want.said != got.said) && len(rules) > 1 {
		c.same(t, rules[:len(rules)/2], args...)
		c.same(t, rules[len(rules)/2:], args...)
		return
	}
	if want.killed {
		if got.killed || c.quirk(rules[0], args, true) == nil {
			t.Errorf("%s: %s: the real one crashes, ours has status %d", args, rules[0], got.status)
		}
		return
	}
	again := rule(t, c.archives, false, "165", rules, args...)
	if want.said != got.said && c.quirk(rules[0], args, false) == nil {
		t.Errorf("messages: %s", twin.FirstDifference([]byte(want.said), []byte(got.said)))
	}
	if want.status != got.status {
		t.Errorf("status %d, want %d", got.status, want.status)
	}
	for _, r := range rules {
		w, g := want.of[r], got.of[r]
		if (w != g || w != again.of[r]) && c.quirk(r, args, false) == nil {
			t.Errorf("%s: %s\n%s", args, r, twin.FirstDifference([]byte(w), []byte(g)))
		}
	}
}

// TestTruthTables has both evaluate all operators, quantifiers and aggregates over operands of all shapes which are
// true, false and unknown, and go from each to each of the others.
func TestTruthTables(t *testing.T) {
	oracle.Require(t)
	c := &trial{archives: truthArchives(t), quirks: make(map[*quirk]int)}
	total := 0
	for _, part := range []struct {
		rules []string
		args  []string
	}{
		{slices.Concat(coreTruths(), moreTruths()), []string{"-v"}},
		{boundTruths(), []string{"-v"}},
		{boundTruths(), []string{"-W"}},
		{slices.Concat(coreTruths(), truths), []string{"-V"}},
	} {
		slices.Sort(part.rules)
		part.rules = slices.Compact(part.rules)
		for some := range slices.Chunk(part.rules, 400) {
			c.same(t, some, part.args...)
		}
		total += len(part.rules)
	}
	for _, q := range quirks {
		twin.Documented(t, q.why, q.page)
		if c.quirks[q] == 0 {
			t.Errorf("nothing shows that %s", q.why)
		}
	}
	differ := 0
	for _, n := range c.quirks {
		differ += n
	}
	t.Logf("%d rules at %d times; %d of them differ as documented", total, truthSteps, differ)
}

// TestTruthTablesFixed has ours evaluate the core of them, and wants the results of
// testdata/truth.txt. A line there has a rule and its value each second, with a sign for each truth
// value and its output in brackets.
func TestTruthTablesFixed(t *testing.T) {
	rules := coreTruths()
	slices.Sort(rules)
	rules = slices.Compact(rules)
	got := rule(t, truthArchives(t), true, "0", rules, "-v")
	if got.status != 0 {
		t.Fatalf("status %d: %s", got.status, got.said)
	}
	short := strings.NewReplacer("true", "T", "false", "F", "unknown", "U", " ", "", ":", "")
	printed := regexp.MustCompile(`(?m)^ (\w)\n: (.*)$`)
	var b bytes.Buffer
	for _, r := range rules {
		lines := printed.ReplaceAllString(got.of[r], ": $2[$1]")
		values := strings.Fields(short.Replace(lines))
		switch len(values) {
		case truthSteps:
		case 0:
			values = []string{"is a mistake, or a constant"}
		default:
			t.Errorf("%s: %d values: %s", r, len(values), lines)
		}
		fmt.Fprintf(&b, "%s\n\t%s\n", r, strings.Join(values, " "))
	}
	const path = "testdata/truth.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Error(twin.FirstDifference(want, b.Bytes()))
	}
}

// TestInstancesKept evaluates rules on single instances together with others, with the same results
// as alone; the real one does not request the first instance then.
func TestInstancesKept(t *testing.T) {
	archives := truthArchives(t)
	rules := []string{"p #'i0' > 0", "a > 0", "p #'i1' > 0", "b > 0", "q #'i2' > 0"}
	together := rule(t, archives, true, "90", rules, "-v")
	for _, r := range rules {
		alone := rule(t, archives, true, "90", []string{r}, "-v")
		if together.of[r] != alone.of[r] || !strings.Contains(alone.of[r], "true") || !strings.Contains(alone.of[r], "false") {
			t.Errorf("%s: %s", r, twin.FirstDifference([]byte(alone.of[r]), []byte(together.of[r])))
		}
	}
}
