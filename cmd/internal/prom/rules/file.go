package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/go-pcp/pcp/cmd/internal/prom/store"
)

// Limits of a file.
const (
	MaxFile  = 16 << 20 // bytes
	MaxRules = 10_000
	MaxExpr  = 64 << 10 // bytes of an expression
	MaxText  = 16 << 10 // bytes of a label or an annotation, before and after it is expanded
	maxErrs  = 100      // mistakes that are reported
)

// A File is a file of rules.
type File struct {
	Name   string
	groups []*group
}

// Rules returns the number of rules.
func (f *File) Rules() int {
	n := 0
	for _, g := range f.groups {
		n += len(g.rules)
	}
	return n
}

// Groups returns the number of groups.
func (f *File) Groups() int { return len(f.groups) }

// A Mistake is a mistake in a file.
type Mistake struct {
	File string
	Line int // 0 if it is not known
	Err  error
}

func (m *Mistake) Error() string {
	if m.Line == 0 {
		return fmt.Sprintf("%s: %v", m.File, m.Err)
	}
	return fmt.Sprintf("%s:%d: %v", m.File, m.Line, m.Err)
}

func (m *Mistake) Unwrap() error { return m.Err }

// Is reports whether a text is a file of rules of Prometheus: whether its first line of YAML is "groups:". Such a text is not a file of
// rules of pmie.
func Is(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff")))
		if len(line) == 0 || line[0] == '#' || bytes.Equal(line, []byte("---")) {
			continue
		}
		return groupsLine().Match(line)
	}
	return false
}

var groupsLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\{\s*)?["']?groups["']?\s*:`) })

// ReadFile reads a file. The error has all mistakes, each with file and line.
func ReadFile(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(name, text)
}

// Parse reads the text of a file. The error has all mistakes, each with file and line.
func Parse(name string, text []byte) (file *File, err error) {
	if len(text) > MaxFile {
		return nil, &Mistake{File: name, Err: fmt.Errorf("more than %d bytes", MaxFile)}
	}
	p := limitedParser{store.NewParser()}
	list, errs := decode(text, p)
	if len(errs) > 0 {
		return nil, mistakes(name, text, errs)
	}
	file = &File{Name: name}
	n := 0
	for i := range list.Groups {
		g, err := newGroup(name, &list.Groups[i], p)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		file.groups = append(file.groups, g)
		n += len(g.rules)
	}
	if n > MaxRules {
		errs = append(errs, fmt.Errorf("%d rules, more than %d", n, MaxRules))
	}
	if len(errs) > 0 {
		return nil, mistakes(name, text, errs)
	}
	return file, nil
}

// mistakes returns errors as one, sorted by their lines.
func mistakes(name string, text []byte, errs []error) error {
	var list []*Mistake
	for _, err := range errs {
		list = append(list, newMistake(name, text, err))
	}
	slices.SortStableFunc(list, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Err.Error(), b.Err.Error()))
	})
	list = slices.CompactFunc(list, func(a, b *Mistake) bool { return a.Error() == b.Error() }) // the text is decoded twice
	all := make([]error, 0, len(list))
	for i, m := range list {
		if i == maxErrs {
			all = append(all, fmt.Errorf("%s: %d more", name, len(list)-maxErrs))
			break
		}
		all = append(all, m)
	}
	return errors.Join(all...)
}

// Positions in messages of decode ("12:5: ") and of the decoder of YAML ("yaml: line 12: ").
var (
	atNode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+):(\d+): (0:0: )?`) })
	atYAML = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)^yaml: (?:unmarshal errors:\n\s*)?line (\d+): (.*)$`)
	})
)

func newMistake(name string, text []byte, err error) *Mistake {
	m := &Mistake{File: name, Err: err}
	message := err.Error()
	if at := atNode().FindStringSubmatch(message); at != nil {
		m.Line, _ = strconv.Atoi(at[1])
		m.Err = errors.New(message[len(at[0]):])
	} else if at := atYAML().FindStringSubmatch(message); at != nil {
		m.Line, _ = strconv.Atoi(at[1])
		m.Err = errors.New(strings.Join(strings.Fields(at[2]), " "))
	}
	if m.Line > 0 {
		return m
	}
	if of := (*ruleError)(nil); errors.As(err, &of) {
		m.Line = lineOf(text, of.name)
	}
	return m
}

// lineOf returns the line where the rule of a name begins, 0 if it is not found.
func lineOf(text []byte, name string) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		field := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(line)), "- "))
		for _, key := range []string{"alert:", "record:"} {
			if rest, ok := strings.CutPrefix(field, key); ok && name != "" && strings.Trim(strings.TrimSpace(rest), `"'`) == name {
				return n
			}
		}
	}
	return 0
}

// A limitedParser refuses expressions that are too long or too deep for the recursion of the engine.
type limitedParser struct{ parser.Parser }

// ParseExpr implements [parser.Parser].
func (p limitedParser) ParseExpr(text string) (parser.Expr, error) {
	if len(text) > MaxExpr {
		return nil, fmt.Errorf("the expression has %d bytes, more than %d", len(text), MaxExpr)
	}
	if !store.Flat(text) {
		return nil, fmt.Errorf("the expression has more than %d operators and parentheses", store.MaxNesting)
	}
	return p.Parser.ParseExpr(text)
}

func newGroup(file string, from *groupText, p parser.Parser) (*group, error) {
	g := &group{name: from.Name, file: file, interval: time.Duration(from.Interval), limit: from.Limit}
	if from.QueryOffset != nil {
		g.offset = time.Duration(*from.QueryOffset)
	}
	if g.interval < 0 || g.interval > 0 && g.interval < time.Millisecond {
		return nil, fmt.Errorf("group %q: the interval %v is not possible", g.name, from.Interval)
	}
	if g.limit < 0 {
		return nil, fmt.Errorf("group %q: the limit %d is not possible", g.name, g.limit)
	}
	for i := range from.Rules {
		r, err := newRule(from, &from.Rules[i], p)
		if err != nil {
			name := from.Rules[i].Alert + from.Rules[i].Record
			return nil, &ruleError{group: from.Name, n: i + 1, name: name, err: err}
		}
		g.rules = append(g.rules, r)
	}
	g.before = make([]map[string]labels.Labels, len(g.rules))
	return g, nil
}

func newRule(of *groupText, from *ruleText, p parser.Parser) (*rule, error) {
	x, err := p.ParseExpr(from.Expr)
	if err != nil {
		return nil, err
	}
	r := &rule{
		name: from.Alert, alerting: from.Alert != "", expr: from.Expr, query: x.String(), hold: time.Duration(from.For), keep: time.Duration(from.KeepFiringFor),
		labels: labels.FromMap(merged(of.Labels, from.Labels)), annotations: labels.FromMap(from.Annotations), health: unknown, active: map[uint64]*Alert{},
	}
	if !r.alerting {
		r.name = from.Record
	}
	if len(r.name) > MaxText {
		return nil, fmt.Errorf("a name of %d bytes, more than %d", len(r.name), MaxText)
	}
	for _, set := range []labels.Labels{r.labels, r.annotations} {
		err = errors.Join(err, set.Validate(func(l labels.Label) error { return checkText(l.Name, l.Value) }))
	}
	return r, err
}

// merged returns the labels of a group and of a rule, which count more.
func merged(group, rule map[string]string) map[string]string {
	all := make(map[string]string, len(group)+len(rule))
	for _, from := range []map[string]string{group, rule} {
		for name, value := range from {
			all[name] = value
		}
	}
	return all
}

// checkText returns an error for a label or annotation that is too long.
func checkText(name, text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("%s: %d bytes, more than %d", name, len(text), MaxText)
	}
	return nil
}

// A ruleError is an error of a rule, in the form of Prometheus.
type ruleError struct {
	group string
	n     int
	name  string
	err   error
	at    []*yaml.Node // whose positions begin the message
}

func (e *ruleError) Error() string {
	message := fmt.Sprintf("group %q, rule %d, %q: %v", e.group, e.n, e.name, e.err)
	for _, n := range slices.Backward(e.at) {
		message = fmt.Sprintf("%d:%d: %s", n.Line, n.Column, message)
	}
	return message
}

func (e *ruleError) Unwrap() error { return e.err }
