package rule

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)

// A loaded is a metric of a case, with its samples.
type loaded struct {
	desc    pcp.Desc
	series  *eval.Series
	insts   []pcp.Instance
	samples [][]string // for each instance; "_" is no value
}

// A record is what a case has loaded. It is the Source of its expressions.
type record struct {
	metrics map[string]*loaded
	samples int
}

// load reads a line of samples: a metric, words about it, an instance and the values.
//
//	load disk.busy counter sec #sda : 10 20 _ 40
func (r *record) load(line string) error {
	about, values, ok := strings.Cut(line, ":")
	words := strings.Fields(about)
	if !ok || len(words) == 0 {
		return fmt.Errorf("%q has no metric or no samples", line)
	}
	m := r.metrics[words[0]]
	if m == nil {
		m = &loaded{desc: pcp.Desc{PMID: pcp.NewPMID(60, 0, len(r.metrics)), Type: pcp.TypeDouble, Sem: pcp.SemInstant, InDom: pcp.InDomNull}}
		r.metrics[words[0]] = m
	}
	inst := pcp.Instance{Inst: pcp.InNull}
	for _, word := range words[1:] {
		switch {
		case word == "counter":
			m.desc.Sem = pcp.SemCounter
		case word == "u32":
			m.desc.Type = pcp.TypeU32
		case word == "string":
			m.desc.Type = pcp.TypeString
		case word == "Kbyte":
			m.desc.Units = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
		case strings.HasPrefix(word, "#"):
			inst = pcp.Instance{Inst: int32(len(m.insts)), Name: word[1:]}
			m.desc.InDom = pcp.NewInDom(60, 1)
		default:
			return fmt.Errorf("%q: unknown word %q", line, word)
		}
	}
	m.insts = append(m.insts, inst)
	m.samples = append(m.samples, strings.Fields(values))
	r.samples = max(r.samples, len(m.samples[0]))
	return nil
}

// Metrics returns a metric of the record, which may not be in it.
func (r *record) Metrics(name string, _, insts []string) []*eval.Metric {
	return []*eval.Metric{{Name: name, Host: "here", Count: eval.None, Named: len(insts), Names: slices.Clone(insts), Insts: make([]int32, len(insts))}}
}

// Describe gives a metric its metadata.
func (r *record) Describe(m *eval.Metric) bool {
	l := r.metrics[m.Name]
	if l == nil {
		return false
	}
	m.Desc, m.Ready, m.Conv = l.desc, true, eval.Canonical(l.desc.Units)
	switch {
	case m.Desc.InDom == pcp.InDomNull:
		m.Count = 1
	case m.Named == 0:
		for _, inst := range l.insts {
			m.Insts, m.Names = append(m.Insts, inst.Inst), append(m.Names, inst.Name)
		}
		m.Count = len(m.Insts)
	default:
		for i, name := range m.Names {
			m.Insts[i] = l.insts[slices.IndexFunc(l.insts, func(inst pcp.Instance) bool { return inst.Name == name })].Inst
		}
		m.Count = m.Named
	}
	if m.Desc.Sem == pcp.SemCounter {
		m.Last = make([]float64, m.Count)
	}
	if l.series == nil {
		l.series = &eval.Series{ID: m.Desc.PMID, Type: m.Desc.Type, Conv: m.Conv}
	}
	m.Attach(l.series)
	return true
}

// fetch gives all series the values of the nth sample, ten seconds after the one before.
func (r *record) fetch(t *testing.T, n int) {
	for _, m := range r.metrics {
		if m.series == nil {
			continue // no expression has it
		}
		set := &pcp.ValueSet{PMID: m.desc.PMID}
		for i, inst := range m.insts {
			if n >= len(m.samples[i]) || m.samples[i][n] == "_" {
				continue
			}
			v := pcp.StringValue(m.samples[i][n])
			if m.desc.Type != pcp.TypeString {
				f, err := strconv.ParseFloat(m.samples[i][n], 64)
				if err != nil {
					t.Fatal(err)
				}
				if v = pcp.DoubleValue(f); m.desc.Type == pcp.TypeU32 {
					v = pcp.Uint32Value(uint32(f))
				}
			}
			v.Inst = inst.Inst
			set.Values = append(set.Values, v)
		}
		m.series.Set, m.series.Have = nil, false
		if len(set.Values) > 0 {
			m.series.Arrive(set, 1000+10*float64(n))
		}
	}
}

// value returns the newest values of x: "1,2", or "?" if there are none.
func value(x *eval.Expr) string {
	if x.Valid == 0 {
		return "?"
	}
	var list []string
	for i := range x.Span {
		switch {
		case x.Truths != nil:
			list = append(list, [...]string{"false", "true", "unknown"}[x.Truth(0)[i]])
		case x.Texts != nil:
			list = append(list, x.Strs(0)[i])
		default:
			list = append(list, strconv.FormatFloat(x.Numbers(0)[i], 'g', 6, 64))
		}
	}
	return strings.Join(list, ",")
}

// evaluate returns the value of an expression for each sample. If it is planned, a plan is made as soon as possible, for
// a second expression that is the same, too.
func (r *record) evaluate(t *testing.T, text string, planned bool) (values []string) {
	t.Helper()
	for _, m := range r.metrics {
		m.series = nil
	}
	var said strings.Builder
	p := New(Config{Program: "test", Errorf: func(format string, args ...any) { fmt.Fprintf(&said, format, args...) }, Source: r})
	p.SetTime(10, time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC))
	var rules []*eval.Expr
	for p.Begin("case", []byte(text+";"+text+";")); p.More(); {
		if x := p.Next(); x != nil {
			rules = append(rules, eval.NewExpr(eval.OpRule, x.X, nil, eval.None, eval.None, eval.None, 1, eval.SemTruth))
		}
	}
	if len(rules) != 2 || said.Len() > 0 {
		t.Fatalf("%s: %d rules, said %q", text, len(rules), &said)
	}
	ev := eval.Evaluator{Names: func(m *eval.Metric) map[int32]string {
		names := make(map[int32]string)
		for _, inst := range r.metrics[m.Name].insts {
			names[inst.Inst] = inst.Name
		}
		return names
	}}
	var plan *eval.Plan
	plans := 0
	for n := range r.samples {
		r.fetch(t, n)
		if plan != nil && !plan.Holds() {
			plan = nil
		}
		if plan == nil && planned && n > 0 {
			if plan = eval.NewPlan(rules); plan != nil {
				plans++
			}
		}
		if plan != nil {
			plan.Run(&ev)
		}
		var both []string
		for _, x := range rules {
			if plan == nil {
				ev.Run(x.Arg1)
			} else {
				x.Arg1.Store()
			}
			both = append(both, value(x.Arg1))
		}
		if both[0] != both[1] {
			t.Errorf("%s: sample %d is %s and %s", text, n, both[0], both[1])
		}
		values = append(values, both[0])
	}
	if planned && plans == 0 {
		t.Errorf("%s: no plan was made", text)
	}
	return values
}

// TestCases evaluates the expressions in testdata/cases, each rule alone and by a plan. UPDATE=1 writes the values.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := &record{metrics: make(map[string]*loaded)}
			var out strings.Builder
			expression, want := "", ""
			finish := func() {
				if expression == "" {
					return
				}
				for _, planned := range []bool{false, true} {
					got := strings.Join(r.evaluate(t, expression, planned), " ")
					if os.Getenv("UPDATE") != "" && !planned {
						want = got
					}
					if got != want {
						t.Errorf("%s, planned %t:\n\tis   %s\n\twant %s", expression, planned, got, want)
					}
				}
				fmt.Fprintf(&out, "\t%s\n", want)
				expression, want = "", ""
			}
			for in := bufio.NewScanner(strings.NewReader(string(text))); in.Scan(); {
				line := in.Text()
				switch verb, rest, _ := strings.Cut(line, " "); {
				case strings.HasPrefix(line, "\t"):
					want = strings.TrimSpace(line)
					continue
				case verb == "load":
					finish()
					if err := r.load(rest); err != nil {
						t.Fatal(err)
					}
				case verb == "eval":
					finish()
					expression = rest
				default:
					finish()
				}
				fmt.Fprintln(&out, line)
			}
			finish()
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
