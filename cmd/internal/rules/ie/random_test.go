package ie

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// recordings are archives of the QA suite with metrics of different kinds, and how often
// rules are evaluated over them.
var recordings = []struct{ name, interval string }{
	{"20041125", "4min"},
	{"kenj-pc-1", "11min"},
	{"ok-mv-foo", "500msec"},
	{"ok-foo", "1sec"},
	{"moomba.pmkstat", "7sec"},
	{"bozo-disk", "20sec"},
	{"changeinst", "1sec"},
	{"naslog", "45sec"},
	{"mysql-1", "2sec"},
	{"babylon.percpu_v2", "40sec"},
}

// A gen makes rules about the metrics of an archive.
type gen struct {
	*rand.Rand
	host    string
	metrics []metric
}

type metric struct {
	name   string
	text   bool
	insts  []string
	plural bool
}

func (g *gen) pick(list ...string) string { return list[g.IntN(len(list))] }

// metricsOf lists metrics of an archive.
func metricsOf(t *testing.T, path string) (host string, list []metric) {
	t.Helper()
	ctx := context.Background()
	a, label := open(t, path)
	for name, err := range a.Traverse(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		ids, err := a.LookupName(ctx, name)
		if err != nil {
			continue
		}
		d, err := a.LookupDesc(ctx, ids[0])
		if err != nil {
			continue
		}
		m := metric{name: name, text: d.Type == pcp.TypeString, plural: d.InDom != pcp.InDomNull}
		if m.plural {
			insts, _ := a.GetInDomArchive(ctx, d.InDom)
			for _, inst := range insts[:min(4, len(insts))] {
				m.insts = append(m.insts, inst.Name)
			}
		}
		list = append(list, m)
	}
	return label.Host, list
}

// open opens an archive for the time of a test.
func open(t *testing.T, path string) (*pmapi.ArchiveContext, archive.Label) {
	t.Helper()
	a, err := pmapi.OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	label, err := a.Label(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return a, label
}

func (g *gen) metric(text bool) string {
	m := g.metrics[g.IntN(len(g.metrics))]
	for range 50 {
		if m.text == text {
			break
		}
		m = g.metrics[g.IntN(len(g.metrics))]
	}
	s := m.name
	if g.IntN(8) == 0 {
		s += " :'" + g.host + "'"
	}
	if len(m.insts) > 0 {
		// Each once: see namesTwice.
		for _, i := range g.Perm(len(m.insts))[:min(len(m.insts), g.IntN(3)*g.IntN(2))] {
			s += " #'" + m.insts[i] + "'"
		}
	}
	switch g.IntN(12) {
	case 0:
		s += fmt.Sprintf(" @%d", g.IntN(4))
	case 1:
		s += fmt.Sprintf(" @%d..%d", g.IntN(3), g.IntN(4))
	}
	return s
}

func (g *gen) unit() string {
	u := g.pick("", "", "", "byte", "Kbytes", "Mbyte", "sec", "msec", "count", "min", "hours", "Kcount", "nanosecond", "byte^2")
	if u != "" && g.IntN(3) == 0 {
		u += " / " + g.pick("sec", "second", "count", "msec", "min")
	}
	return u
}

func (g *gen) num() string {
	return strings.TrimSpace(g.pick("0", "1", "2", "0.5", ".25", "10", "100", "1e3", "3.75", "1024", "60") + " " + g.unit())
}

func (g *gen) domain() string { return g.pick("inst", "inst", "inst", "host", "sample") }

func (g *gen) arith(depth int) string {
	if depth <= 0 {
		return g.pick(g.metric(false), g.metric(false), g.num(), "$minute", "$day_of_week")
	}
	switch g.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("%s %s %s", g.arith(depth-1), g.pick("+", "-", "*", "/"), g.arith(depth-1))
	case 2:
		return "(" + g.arith(depth-1) + ")"
	case 3:
		// Of an aggregate with several values the real one negates the first.
		return "-" + strings.TrimLeft(g.pick(g.metric(false), "("+g.arith(depth-1)+" + 1)"), "-")
	case 4:
		if g.IntN(2) == 0 {
			return "rate " + g.metric(false) // of $minute it makes the real one use memory that it freed
		}
		return "instant " + g.arith(depth-1)
	case 5:
		// Over hosts that have no instances the real one reads beyond the values, and of
		// samples of several instances it takes the first.
		return g.pick("sum_", "avg_", "max_", "min_") + "inst " + g.metric(false)
	case 6:
		return "count_inst (" + g.logic(depth-1) + ")"
	default:
		return g.metric(false)
	}
}

func (g *gen) logic(depth int) string {
	if depth <= 0 {
		return g.pick("true", "false", g.metric(false)+" > "+g.num())
	}
	switch g.IntN(12) {
	case 0, 1:
		return g.logic(depth-1) + g.pick(" && ", " || ") + g.logic(depth-1)
	case 2:
		return "! " + g.logic(depth-1)
	case 3:
		return "(" + g.logic(depth-1) + ")"
	case 4:
		return g.pick("rising ", "falling ") + "(" + g.logic(depth-1) + ")"
	case 5:
		return g.pick("some_", "all_", "50 %_", "10%_") + g.domain() + " (" + g.logic(depth-1) + ")"
	case 6:
		return g.pick("match_inst", "nomatch_inst") + ` "` + g.pick("^[a-m]", "1", "cpu", "(x|s)", ".*", "[") + `" (` + g.logic(depth-1) + ")"
	case 7:
		if !slices.ContainsFunc(g.metrics, func(m metric) bool { return m.text }) {
			return g.logic(depth - 1)
		}
		return g.metric(true) + g.pick(" == ", " != ") + g.pick(`"x"`, `""`, g.metric(true))
	default:
		return g.arith(depth-1) + g.pick(" > ", " < ", " >= ", " <= ", " == ", " != ") + g.arith(depth-1)
	}
}

func (g *gen) action() string {
	text := `"` + g.pick("%h %i %v", "x", "busy: %i", "%v%%", " %c/%i", "$word", "") + `"`
	s := g.pick("print", "shell", "alarm", "syslog") + g.pick(" ", " ", " 2 min ") + text
	for range g.IntN(3) * g.IntN(2) {
		s += ` "` + g.pick("-p info", "-t tag", " [%i]", "and %h") + `"`
	}
	if g.IntN(5) == 0 {
		s += g.pick(" & ", " | ") + g.action()
	}
	return s
}

func (g *gen) rule() string {
	quantified := "some_inst (" + g.logic(2) + ")"
	return g.pick(quantified, quantified, g.logic(2)) + " -> " + g.action()
}

func (g *gen) statement() string {
	name := ""
	if g.IntN(4) == 0 {
		name = fmt.Sprintf("%s = ", g.pick("a", "b", "'my rule'", "limit", "word2"))
	}
	switch g.IntN(10) {
	case 0:
		return "word = " + g.pick(`"disk"`, `"it's"`, `""`)
	case 1:
		return "ruleset " + g.rule() + " else " + g.rule() + g.pick("", " unknown -> "+g.action(), " otherwise -> "+g.action())
	case 2, 3, 4:
		return name + g.rule()
	case 5, 6:
		return name + g.logic(2)
	case 7:
		return "// comment\n" + name + g.arith(2) + " /* and\nanother */"
	default:
		return name + g.arith(3)
	}
}

// damage makes mistakes in rules.
func (g *gen) damage(text string) string {
	for range 1 + g.IntN(3) {
		at := g.IntN(len(text) + 1)
		switch g.IntN(4) {
		case 0: // without a part
			to := min(len(text), at+1+g.IntN(6))
			text = text[:at] + text[to:]
		case 1:
			text = text[:at] + g.pick(";", "(", ")", "\"", "'", "->", "$", "%", "#", "@", ":", "..", "/", "&&", "&", "|", "else", "\\", "0", "-", "=", "^", "?", "/*", "$nothing ") + text[at:]
		case 2:
			words := strings.Fields(text)
			if len(words) > 1 {
				i, j := g.IntN(len(words)), g.IntN(len(words))
				words[i], words[j] = words[j], words[i]
			}
			text = strings.Join(words, " ")
		default:
			text = text[:at]
		}
	}
	return text
}

// vocabulary are words of the language.
var vocabulary = strings.Fields(`( ) -> & | && || ! < > <= >= == != + - * / = ; : # @ .. ^ $minute $word true false rising falling match_inst nomatch_inst
some_inst all_host 50 %_sample sum_inst avg_host max_sample count_inst rate instant ruleset else unknown otherwise print shell syslog alarm "x" "" 'a' hinv.ncpu
nosuch.metric 1 .5 1e3 Kbyte / sec delta } . { , ? [ ]`)

// muddle makes mistakes in rules, of whole words or of bytes.
func (g *gen) muddle(text string) string {
	words := strings.Fields(text)
	for range 1 + g.IntN(3) {
		i, word := g.IntN(len(words)), g.pick(vocabulary...)
		switch g.IntN(6) {
		case 0:
			words = slices.Delete(words, i, i+1)
		case 1:
			words = slices.Insert(words, i, word)
		case 2:
			words[i] = word
		case 3:
			words = slices.Insert(words, i, words[i])
		case 4:
			words[i] += word
		default:
			b := []byte(words[i])
			b[g.IntN(len(b))] = byte(1 + g.IntN(127)) // those beyond ASCII end a statement in C
			words[i] = string(b)
		}
		if len(words) == 0 {
			words = []string{word}
		}
	}
	return strings.Join(words, g.pick(" ", " ", "\n"))
}

// TestDamagedRules has both read rules with mistakes in them, and wants the same messages and status.
func TestDamagedRules(t *testing.T) {
	oracle.Require(t)
	twin.NeedSuite(t)
	seed := longtest.Seed(t)
	path := filepath.Join(twin.SuiteRoot, "archives", "babylon.percpu_v2")
	host, metrics := metricsOf(t, path)
	dir := t.TempDir()
	compared, bad := 0, 0
	for n := range longtest.N(200, 10000) {
		g := &gen{Rand: rand.New(rand.NewPCG(seed, uint64(n))), host: host, metrics: metrics}
		text := "word = \"w\";\n"
		for range 1 + g.IntN(3) {
			text += g.statement() + ";\n"
		}
		text = g.muddle(text)
		file := filepath.Join(dir, "rules")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		call := twin.Call{Tool: "pmie", Args: []string{"-C", "-a", path, file}, KillAfter: 20 * time.Second, Env: []string{"MALLOC_PERTURB_=90"}}
		want := call.Run(t, false)
		call.Env = []string{"MALLOC_PERTURB_=165"}
		again := call.Run(t, false)
		if want.Status < 0 || bytes.Contains(want.Err, []byte("botch")) || !bytes.Equal(plain(want.Err), plain(again.Err)) {
			continue // the real one crashed, gave up, or used memory that it has not written
		}
		if bytes.Contains(want.Err, []byte("\xff\xff")) || strings.Count(text, "'")%2 == 1 {
			continue // it read on behind the end
		}
		compared++
		if len(want.Err) > 0 {
			bad++
		}
		got := call.Run(t, true)
		if bytes.Contains(got.Err, []byte("it must be greater than 0")) {
			continue // the real one takes a delta of 0
		}
		if !bytes.Equal(plain(want.Err), plain(got.Err)) || !bytes.Equal(want.Out, got.Out) || want.Status != got.Status {
			t.Errorf("file %d, status %d, want %d:\n%s\n%s", n, got.Status, want.Status, text, twin.FirstDifference(plain(want.Err), plain(got.Err)))
		}
	}
	t.Logf("%d files compared, of which %d had mistakes", compared, bad)
	if compared < longtest.N(100, 5000) || bad < compared/2 {
		t.Error("too few")
	}
}

// plain removes times and processes from messages.
func plain(messages []byte) []byte {
	return stamp.ReplaceAll(messages, []byte("pmie"))
}

var (
	pointer    = regexp.MustCompile(`e-3[01]\d`)
	variable   = regexp.MustCompile(`\$(minute|day_of_week)`)
	mistake    = regexp.MustCompile(`(?m)^pmie: `)
	instance   = regexp.MustCompile(`#'[^']*'`)
	quantified = regexp.MustCompile(`(some|all|%)_host`)
	sampled    = regexp.MustCompile(`(some|all|%)_sample`)
	usage      = regexp.MustCompile(`(?s)Usage: .*`)
	stamp      = regexp.MustCompile(`\[[^]]*\] pmie\(\d+\)`)
)

// A span is when the records of an archive are.
type span struct{ first, last time.Time }

func spanOf(t *testing.T, path string) span {
	t.Helper()
	a, label := open(t, path)
	end, err := a.End(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return span{label.Start.Time().UTC(), end.Time().UTC()}
}

// when returns a time of a window, as -S and the like take it.
func (g *gen) when(s span) string {
	whole := s.last.Sub(s.first)
	some := time.Duration(g.Float64() * 1.1 * float64(whole))
	switch g.IntN(8) {
	case 0:
		return "@" + s.first.Add(some).Format("Mon Jan _2 15:04:05 2006")
	case 1:
		return "@" + s.first.Add(some).Format("15:04:05.000")
	case 2:
		return "@" + s.first.Add(some).Format(g.pick("15:04", "Jan _2", "2006-01-02 15:04:05", "Monday"))
	case 3:
		return fmt.Sprintf("-%dsec", int(some.Seconds()))
	case 4:
		return g.pick("nonsense", "@99:99", "", "5 apples", "-", "@", "1 hour 2 hour")
	case 5:
		return fmt.Sprintf("+%.3f min", some.Minutes())
	default:
		return fmt.Sprintf("%dmsec", some.Milliseconds())
	}
}

// mentionsText reports whether rules are about a metric of strings.
func (g *gen) mentionsText(rules string) bool {
	return slices.ContainsFunc(g.metrics, func(m metric) bool { return m.text && strings.Contains(rules, m.name) })
}

// namesTwice reports whether rules name an instance twice. The real one then asks for it twice, and
// may not find the value of another.
func namesTwice(rules string) bool {
	seen := make(map[string]bool)
	for _, name := range instance.FindAllString(rules, -1) {
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// forgets reports whether rules name an instance, a metric without instances and another instance, in this order. The real one
// then does not ask for the first one any more.
func (g *gen) forgets(rules string) bool {
	first := instance.FindStringIndex(rules)
	if first == nil {
		return false
	}
	for _, m := range g.metrics {
		if _, after, found := strings.Cut(rules[first[1]:], m.name); found && !m.plural && instance.MatchString(after) {
			return true
		}
	}
	return false
}

// A line is a command line, and what belongs to it.
type line struct {
	args, env []string
	stdin     string
}

// line draws a command line for a file of rules over an archive.
func (g *gen) line(path, file, text, interval string, s span) line {
	var l line
	add := func(args ...string) { l.args = append(l.args, args...) }
	if mode := g.pick("-v", "-v", "-V", "-W", "-X", "-q", "-C", "-vq", "-Wv", "-eV", ""); mode != "" {
		add(mode)
	}
	add("-a", path)
	step := interval
	if d, err := pcptime.ParseInterval(interval); err == nil && g.IntN(3) == 0 {
		step = fmt.Sprintf(g.pick("%.3f", "%.2fsec", "+%.1fsecs", " %.3f seconds"), d.Seconds()*(0.9+g.Float64()))
	}
	if g.IntN(50) == 0 {
		step = g.pick("x", "-1", "1 fortnight", "")
	}
	add("-t", step)
	for _, opt := range []string{"-S", "-T", "-O", "-A"} {
		switch {
		case g.IntN(4) > 0:
		case opt == "-A":
			add(opt, g.pick("1sec", "1min", "10min", "1hour", "x"))
		default:
			add(opt, g.when(s))
		}
	}
	switch g.IntN(6) {
	case 0:
		add("-z")
	case 1:
		add("-Z", g.pick("UTC", "EST5EDT", "Asia/Tokyo", "XYZ-3:30", ""))
	}
	for _, opt := range [][]string{{"-b"}, {"-f"}, {"-e"}, {"-H"}, {"-P"}, {"-q"}, {"-U", "nobody"}, {"-j", "/nonexistent"}, {"--timestamp"}} {
		if g.IntN(8) == 0 {
			add(opt...)
		}
	}
	if g.IntN(30) == 0 && step == interval { // else it is chance which mistake is found first
		add(g.pick("-F", "-h", "-a"), path) // none of them may be there as well
	}
	for _, v := range []string{"PCP_COUNTER_WRAP=", "TZ=EST5EDT", "PCP_TZ=UTC"} {
		if g.IntN(8) == 0 {
			l.env = append(l.env, v)
		}
	}
	switch g.IntN(8) {
	case 0:
		add("-c", file)
	case 1:
		l.stdin = text
	case 2, 3:
		add("-d", file)
		if !strings.Contains(text, "syslog") { // of its strings the real one shows the first
			l.stdin = g.pick("l\n", "") + g.pick("v\n", "")
		}
		if !strings.Contains(text, "ruleset") { // behind the end, a rule that was not looked at has older values in the real one
			l.stdin += g.pick("T 1hour\n", "")
		}
		l.stdin += "r\n" + g.pick("q\n", "")
	case 4:
		add(file, file)
	default:
		add(file)
	}
	return l
}

// TestRandomRules has both evaluate rules of all kinds over archives, sound ones and such with
// mistakes, with options of all kinds, and wants the same values, actions, messages and status.
func TestRandomRules(t *testing.T) {
	oracle.Require(t)
	twin.NeedSuite(t)
	files := longtest.N(12, 100)
	seed := longtest.Seed(t)
	for i, r := range recordings {
		path := filepath.Join(twin.SuiteRoot, "archives", r.name)
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			host, metrics := metricsOf(t, path)
			recorded := spanOf(t, path)
			compared := 0
			for n := range files {
				g := &gen{Rand: rand.New(rand.NewPCG(seed, uint64(1000*i+n))), host: host, metrics: metrics}
				text := "word = \"w\";\n"
				for range 1 + g.IntN(5) {
					text += g.statement() + ";\n"
				}
				if n%3 == 2 {
					text = g.damage(text)
				}
				file := filepath.Join(t.TempDir(), "rules")
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				l := g.line(path, file, text, r.interval, recorded)
				args := l.args
				call := twin.Call{Tool: "pmie", Args: args, Stdin: l.stdin, KillAfter: 20 * time.Second, Env: append(l.env, "MALLOC_PERTURB_=90")}
				want, got := call.Run(t, false), call.Run(t, true)
				call.Env[len(l.env)] = "MALLOC_PERTURB_=165"
				if again := call.Run(t, false); !bytes.Equal(want.Out, again.Out) || !bytes.Equal(plain(want.Err), plain(again.Err)) {
					continue // it depends on memory that the real one has not written
				}
				if want.Status < 0 || want.Status == 1 && bytes.Contains(want.Err, []byte("botch")) || bytes.Contains(slices.Concat(want.Out, want.Err), []byte("\xff\xff")) {
					continue // the real one crashed, gave up, or read on behind the end
				}
				for _, b := range []*[]byte{&want.Out, &want.Err} {
					*b = bytes.ReplaceAll(*b, []byte("(null)"), nil) // in place of no text
				}
				if slices.Contains(args, "-d") {
					for _, b := range []*[]byte{&want.Out, &got.Out, &want.Err, &got.Err} {
						*b = bytes.ReplaceAll(*b, []byte(` ""`), []byte(" ")) // empty strings of rules, which the real one does not show
					}
				}
				want.Err, got.Err = usage.ReplaceAll(want.Err, []byte("Usage")), usage.ReplaceAll(got.Err, []byte("Usage")) // help texts are our own
				if pointer.Match(want.Out) || pointer.Match(want.Err) {
					continue // a string that the real one shows as a number
				}
				if bytes.Contains(want.Err, []byte("unknown archive")) && strings.Count(text, "'")%2 == 1 {
					continue // a host behind whose name the real one read on
				}
				// With a mistake the real one frees the variables of the statement, which others
				// use: its behaviour then differs from file to file.
				freed := mistake.Match(want.Err) && variable.MatchString(text)
				if r.name == "changeinst" && sampled.MatchString(text) {
					continue // where instances change, the real one has not written the memory that it takes for samples
				}
				if namesTwice(text) || g.forgets(text) || g.mentionsText(text) && quantified.MatchString(text) {
					continue // see docs/differences.md
				}
				compared++
				why := ""
				switch {
				case !freed && !bytes.Equal(plain(want.Err), plain(got.Err)):
					why = "messages: " + twin.FirstDifference(plain(want.Err), plain(got.Err))
				case !freed && !bytes.Equal(want.Out, got.Out):
					why = "output: " + twin.FirstDifference(want.Out, got.Out)
				case want.Status != got.Status:
					why = fmt.Sprintf("status %d, want %d", got.Status, want.Status)
				default:
					continue
				}
				t.Errorf("file %d: %q of\n%s\n%s", n, args, text, why)
			}
			if t.Logf("%d of %d files compared", compared, files); compared < files/2 {
				t.Error("too few")
			}
		})
	}
}
