package rules

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"

	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// A theirError is a mistake in a rule that package rulefmt found.
type theirError struct {
	message string
	rule    error
}

func (e theirError) Error() string { return e.message }
func (e theirError) Unwrap() error { return e.rule }

// theirs returns the mistakes that package rulefmt of Prometheus finds in a text, in our form.
func theirs(text []byte) (list *rulefmt.RuleGroups, found error) {
	defer func() {
		if r := recover(); r != nil {
			found = fmt.Errorf("panic: %v", r)
		}
	}()
	list, errs := rulefmt.Parse(text, false, model.UTF8Validation, limitedParser{store.NewParser()}, slog.New(slog.DiscardHandler))
	if list == nil {
		errs = errs[:1] // it decodes a text twice; the second error is the first one with other names of types
	}
	for i, err := range errs {
		message := err.Error()
		if of := (*rulefmt.Error)(nil); errors.As(err, &of) {
			errs[i] = theirError{message, &ruleError{name: of.RuleName}}
		} else {
			errs[i] = errors.New(strings.NewReplacer("rulefmt.ruleGroups", "rulefmt.RuleGroups", "rulefmt.RuleGroupNode", "rulefmt.RuleGroup", "rulefmt.RuleNode", "rulefmt.Rule").Replace(message))
		}
	}
	if len(errs) == 0 {
		return list, nil
	}
	return list, mistakes("f.yml", text, errs)
}

// TestDecodeLikePrometheus compares the accepted files, and mistakes with their lines, with package rulefmt: for good files, and for files
// with random damage.
func TestDecodeLikePrometheus(t *testing.T) {
	node, err := os.ReadFile("testdata/node.yml")
	if err != nil {
		t.Fatal(err)
	}
	const small = `# rules
groups:
- name: g
  interval: 1m
  query_offset: 5s
  limit: 10
  labels: {team: a}
  rules:
  - alert: A
    expr: kernel_all_load > 1
    for: 5m
    keep_firing_for: 1m
    labels:
      severity: page
    annotations:
      summary: "{{ $labels.instance }} has {{ $value | humanize }}"
  - record: a:b
    expr: sum(kernel_all_load)
    labels: &l
      x: "1"
- name: h
  rules:
  - record: c
    labels: *l
    expr: |
      1 +
        2
`
	compare := func(text string) (good bool) {
		t.Helper()
		wantList, want := theirs([]byte(text))
		var got error
		list, errs := decode([]byte(text), limitedParser{store.NewParser()})
		if len(errs) > 0 {
			got = mistakes("f.yml", []byte(text), errs)
		}
		switch {
		case got != nil && want != nil && strings.HasPrefix(want.Error(), "panic: "):
		case fmt.Sprint(got) != fmt.Sprint(want):
			t.Errorf("%s\ngot  %v\nwant %v", text, got, want)
		case got == nil:
			good = true
			if got, want := fmt.Sprintf("%+v", *list), fmt.Sprintf("%+v", *wantList); offset(got) != offset(want) {
				t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
			}
		}
		return good
	}
	for _, text := range []string{"", "groups:\n", "groups: []\n", "x: 1\n", "- a\n", small, string(node), small + "---\ngroups: 1\n", "groups:\n- name: g\n  rules: [null]\n"} {
		compare(text)
	}
	words := []string{
		"groups:", "- name: g", "- alert: B", "record: x{}", "record: a b", "expr: 1 +", "expr: ''", "alert: ''", "name: ''", "labels: {__name__: x}", "labels: {'': x}",
		"labels: 5", "annotations: {a: '{{ if }}'}", "labels: {a: '{{ nothing }}'}", "annotations: {'': a}", "for: 1x", "for: 5m", "keep_firing_for: 1h", "interval: -1s", "limit: a", "rules: {}", "nothing: 1",
		"&a", "*b", "{", "]", "\t", "|", "? x", "!!int x", "<<: {expr: 2}", "\"\\xff\"", "annotations: {a: \"\\xff\"}",
	}
	r := rand.New(rand.NewPCG(1, 2))
	good := 0
	for range 3000 {
		lines := strings.Split(small, "\n")
		for range 1 + r.IntN(3) {
			i, j := r.IntN(len(lines)), r.IntN(len(lines))
			word := words[r.IntN(len(words))]
			indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " "))]
			switch r.IntN(7) {
			case 0:
				lines[i] = "" // deleted
			case 1:
				lines[i], lines[j] = lines[j], lines[i]
			case 2:
				lines[i] = " " + lines[i]
			case 3:
				lines[i] = strings.TrimPrefix(lines[i], "  ")
			case 4:
				lines[i] = indent + word
			case 5:
				lines[i] += "\n" + indent + word
			case 6:
				key, _, _ := strings.Cut(lines[i], ":")
				_, value, _ := strings.Cut(word, ":")
				lines[i] = key + ":" + value
			}
		}
		if compare(strings.Join(lines, "\n")) {
			good++
		}
	}
	if good < 300 || good > 2700 {
		t.Errorf("%d of 3000 damaged files are accepted", good)
	}
}

// offset removes the address of a group's offset from a text.
func offset(text string) string {
	before, rest, ok := strings.Cut(text, "QueryOffset:")
	if !ok {
		return text
	}
	_, rest, _ = strings.Cut(rest, " ")
	return before + offset(rest)
}
