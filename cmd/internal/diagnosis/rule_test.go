package diagnosis_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// user writes a file of rules.
func user(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const good = `rules:
- id: queue.long
  resource: queue
  kind: saturation
  value: shop.queue / shop.workers
  above: 10
  text: "{value} orders wait for each worker"
`

// TestUserRules adds, replaces and removes rules.
func TestUserRules(t *testing.T) {
	own, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	dir := user(t, good+`
- {id: disk.busy, off: true}
- {id: disk.slow, resource: disk, kind: saturation, value: disk.dev.inflight, above: 7, text: slow}
`)
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("no rules"), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := diagnosis.Rules(filepath.Join(dir, "missing"), dir)
	if err != nil {
		t.Fatal(err)
	}
	find := func(id string) *diagnosis.Rule {
		i := slices.IndexFunc(list, func(r *diagnosis.Rule) bool { return r.ID == id })
		if i < 0 {
			return nil
		}
		return list[i]
	}
	if len(list) != len(own) || find("queue.long") == nil || find("disk.busy") != nil {
		t.Errorf("%d rules with %v and %v, want %d", len(list), find("queue.long"), find("disk.busy"), len(own))
	}
	if r := find("disk.slow"); r == nil || r.Limit != 7 || r.Line != 10 || filepath.Base(r.File) != "own.yaml" {
		t.Errorf("disk.slow is %+v", r)
	}
}

// TestRuleErrors expects the file and the line of mistakes.
func TestRuleErrors(t *testing.T) {
	rule := func(change ...string) string { return strings.NewReplacer(change...).Replace(good) }
	for _, test := range []struct{ name, text, want string }{
		{"not YAML", "rules: [", "own.yaml:1: "},
		{"a list", "- a\n", "own.yaml:1: fields are expected"},
		{"unknown section", "rule: []\n", `own.yaml:1: unknown field "rule"`},
		{"unknown field", rule("above: 10", "over: 10"), `own.yaml:6: unknown field "over"`},
		{"repeated field", rule("above: 10", "above: 10\n  above: 11"), `own.yaml:7: `},
		{"no limit", rule("  above: 10\n", ""), `own.yaml:2: a rule needs one of the fields "above" and "below"`},
		{"two limits", rule("above: 10", "above: 10\n  below: 3"), `own.yaml:2: a rule needs one of the fields "above" and "below"`},
		{"no value", rule("  value: shop.queue / shop.workers\n", ""), `own.yaml:2: a rule needs the field "value"`},
		{"limit is text", rule("above: 10", "above: ten"), `own.yaml:6: not a number: "ten"`},
		{"limit is NaN", rule("above: 10", "above: .nan"), `own.yaml:6: not a number: ".nan"`},
		{"limit is NaN", rule("above: 10", "above: NaN"), `own.yaml:6: not a number: "NaN"`},
		{"severe below", rule("above: 10", "above: 10\n  severe: 5"), `own.yaml:2: the field "severe" is on the wrong side`},
		{"expression", rule("shop.queue / shop.workers", "shop.queue / / 2"), `own.yaml:5: `},
		{"expression of a list", rule("shop.queue / shop.workers", "\n  - shop.queue\n  - rate(shop.queue"), `own.yaml:7: `},
		{"no expression", rule("shop.queue / shop.workers", "[]"), `own.yaml:5: no expression`},
		{"kind", rule("kind: saturation", "kind: slow"), `own.yaml:4: "slow" is not one of utilisation`},
		{"identifier", rule("id: queue.long", "id: Queue long"), `own.yaml:2: "Queue long" is not an identifier`},
		{"duration", rule("above: 10", "above: 10\n  for: soon"), `own.yaml:7: not a time`},
		{"text with control characters", rule("orders wait", "\\e[31m"), "own.yaml:7: a text with control characters"},
		{"twice", good + strings.TrimPrefix(good, "rules:\n"), "own.yaml:8: rule queue.long is in line 2 too"},
		{"taker", rule("above: 10", "above: 10\n  takers:\n  - {kind: process}"), `own.yaml:8: a taker needs one of the fields`},
		{"taker of two", rule("above: 10", "above: 10\n  takers:\n  - {kind: process, state: D, value: a.b}"), `own.yaml:8: a taker needs one of the fields`},
		{"rank", rule("above: 10", "above: 10\n  takers:\n  - {kind: process, value: a.b, rank: most}"), `own.yaml:8: "most" is not one of`},
		{"alias", "rules:\n- &a {id: a, off: true}\n- *a\n", "own.yaml:2: anchors and aliases are not supported"},
		{"two documents", good + "---\nrules: []\n", "own.yaml:8: more than one document"},
		{"cycle", rule("above: 10", "above: 10\n  effects: [disk.busy]") + "- {id: pressure.io, resource: a, kind: errors, value: a.b, above: 1, text: a, effects: [queue.*]}\n", "own.yaml:"},
		{"own effect", rule("above: 10", "above: 10\n  effects: [queue.*]"), "own.yaml:2: rules are effects of each other: queue.long, queue.long"},
		{"large", "# " + strings.Repeat("a", 1<<20), "own.yaml: larger than 1048576 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := diagnosis.Rules(user(t, test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
	if list, err := diagnosis.Rules(user(t, "")); err != nil || len(list) == 0 {
		t.Errorf("an empty file: %d rules, %v", len(list), err)
	}
}

// FuzzRules reads files of rules.
func FuzzRules(f *testing.F) {
	f.Add(good)
	f.Add("rules:\n- &a [*a]\n")
	f.Add("rules: {id: !!null x}\n")
	f.Add("rules:\n- {id: a, takers: [{kind: b, state: D}], effects: [a*], value: '\"', above: 1e999}\n")
	f.Add("rules:\n- id: a\n  resource: b\n  kind: errors\n  value: [a.b, 'delta(a.b)']\n  while: always\n  below: 2\n  severe: 1\n  for: 3s\n  text: x\n  takers:\n  - {kind: c, count: d.e, rank: growth, least: 1, most: 2}\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := diagnosis.Parse("x.yaml", []byte(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.yaml:") {
				t.Errorf("%q: the error does not name the file: %v", text, err)
			}
			return
		}
		for _, r := range list {
			if r.ID == "" || r.Line == 0 || r.File != "x.yaml" {
				t.Errorf("%q: %+v", text, r)
			}
		}
	})
}

func TestMetrics(t *testing.T) {
	for expr, want := range map[string]string{
		`100 * rate(a.b) / (c.d_e.f + 1.5)`: "a.b c.d_e.f",
		`kernel.all.load["1 minute"] - a.b`: "kernel.all.load a.b",
		`rescale(a.b, "x.y") + a.b`:         "a.b",
		`matchinst(!/x.y/, a.b)`:            "a.b",
		`1.5e3`:                             "",
	} {
		if got := strings.Join(diagnosis.Metrics(expr), " "); got != want {
			t.Errorf("Metrics(%s) = %s, want %s", expr, got, want)
		}
	}
}

// TestPage expects the built-in rules in the table of docs/diagnose.md.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(testdir.Repo(t, "docs/diagnose.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Built-in rules")
	list, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		limit := "<"
		if r.Above {
			limit = ">"
		}
		row := fmt.Sprintf("| `%s` | `%s %s %s` |\n", r.ID, r.Value[0], limit, diagnosis.Format(r.Limit, r.Unit, pcp.Units{}))
		if !strings.Contains(table, row) {
			t.Errorf("docs/diagnose.md lacks the row\n%s", row)
		}
	}
	if n := strings.Count(table, "\n| `"); n != len(list) {
		t.Errorf("docs/diagnose.md has %d rules, and there are %d", n, len(list))
	}
}

// TestEffects expects that the rules named as effects exist.
func TestEffects(t *testing.T) {
	list, err := diagnosis.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		for _, e := range r.Effects {
			if !slices.ContainsFunc(list, func(o *diagnosis.Rule) bool {
				prefix, any := strings.CutSuffix(e, "*")
				return o.ID == e || any && strings.HasPrefix(o.ID, prefix)
			}) {
				t.Errorf("%s has the effect %s, which does not exist", r.ID, e)
			}
		}
		if len(r.Next) == 0 {
			t.Errorf("%s names no command", r.ID)
		}
	}
}
