package diagnosis

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/go-pcp/pcp/derive"
)

// Limits of files of rules.
const (
	maxFileSize = 1 << 20
	maxFiles    = 100
	maxRules    = 1000
	maxList     = 20   // elements of a list in a rule
	maxText     = 2000 // bytes of a text or an expression
	maxDepth    = 10   // nesting of YAML, of which the format needs 5
)

// A Rule is a test of one resource.
type Rule struct {
	ID       string
	Resource string // cpu, memory, disk, ...
	Kind     string // utilisation, saturation or errors

	// Value are expressions of package derive: the first that the source has the metrics for is used. While are conditions: the
	// rule is only true where the first of them that the source has the metrics for is not 0. "always" is true.
	Value, While []string

	Above  bool          // whether Limit is exceeded by larger values
	Limit  float64       // from where on the rule is true
	Severe float64       // from where on it is an error
	Most   float64       // larger values are impossible and ignored; 0 means that there are none
	For    time.Duration // how long the rule must be true

	Unit   string // of the value in texts; "" means that of the expression
	Text   string // with {value}, {sum}, {limit} and {name}
	Name   string // a metric with readable names of the instances; "" for none
	Takers []Taker
	// Effects are the rules that may be true because of this one. A * at the end matches any text.
	Effects []string
	Next    string // a command that shows more, with {source}

	File string // where the rule is
	Line int
}

// A Taker is a way to find what takes a resource.
type Taker struct {
	Kind  string   // process, cgroup, device, interface, ...
	Value []string // as Rule.Value
	State string   // of a process, in place of a Value: the share of samples in which it is in this state
	Count string   // in place of a Value, a metric of texts: how many instances have the same text
	Rank  Rank
	Least float64 // smaller values are not listed
	Most  float64 // as Rule.Most
	Unit  string
	Line  int
}

// A Rank is the number by which the instances of a Taker are ranked.
type Rank string

// The ranks.
const (
	Mean   Rank = "mean"   // the average while the rule is true
	Peak   Rank = "peak"   // the largest value while the rule is true
	Growth Rank = "growth" // the growth from the first sample of the window until the rule is last true
)

//go:embed rules.yaml
var ownRules []byte

// ownFile is the name of the built-in rules in messages.
const ownFile = "built-in rules"

// A RuleError is a mistake in a file of rules.
type RuleError struct {
	File string
	Line int // 0 if it is not known
	Msg  string
}

// Error returns the message with the place.
func (e *RuleError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Rules returns the built-in rules, changed by those in the files *.yaml of some directories, in the order of their names. A rule
// replaces an earlier one with the same identifier. A directory that does not exist has no rules.
func Rules(dirs ...string) ([]*Rule, error) {
	list, err := parse(ownFile, ownRules)
	if err != nil {
		return nil, err
	}
	var s set
	s.add(list)
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		n := 0
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".yaml") || strings.HasPrefix(f.Name(), ".") {
				continue
			}
			if n++; n > maxFiles {
				return nil, fmt.Errorf("%s: more than %d files of rules", dir, maxFiles)
			}
			path := filepath.Join(dir, f.Name())
			text, err := readFile(path)
			if err != nil {
				return nil, err
			}
			if list, err = parse(path, text); err != nil {
				return nil, err
			}
			s.add(list)
		}
	}
	return s.rules()
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &RuleError{path, 0, "not a regular file"}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, &RuleError{path, 0, fmt.Sprintf("larger than %d bytes", maxFileSize)}
	}
	return text, nil
}

// A set is the rules of all files so far.
type set struct {
	list []*Rule
}

func (s *set) add(list []*Rule) {
	for _, r := range list {
		if i := slices.IndexFunc(s.list, func(o *Rule) bool { return o.ID == r.ID }); i >= 0 {
			s.list[i] = r
			continue
		}
		s.list = append(s.list, r)
	}
}

// rules returns the rules that are not switched off, and refuses effects that are causes of their causes.
func (s *set) rules() ([]*Rule, error) {
	list := slices.DeleteFunc(s.list, func(r *Rule) bool { return len(r.Value) == 0 })
	if len(list) > maxRules {
		return nil, &RuleError{list[maxRules].File, list[maxRules].Line, fmt.Sprintf("more than %d rules", maxRules)}
	}
	const (
		entered = 1 + iota
		left
	)
	state := make(map[*Rule]int)
	var path []*Rule
	var visit func(r *Rule) error
	visit = func(r *Rule) error {
		state[r] = entered
		path = append(path, r)
		for _, o := range list {
			if !r.causes(o.ID) {
				continue
			}
			switch state[o] {
			case entered:
				return cycle(append(path[slices.Index(path, o):], o))
			case 0:
				if err := visit(o); err != nil {
					return err
				}
			}
		}
		state[r], path = left, path[:len(path)-1]
		return nil
	}
	for _, r := range list {
		if state[r] == 0 {
			if err := visit(r); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// cycle returns the error for rules that are each an effect of the one before. The message has the place of a rule of the user, if there is one.
func cycle(list []*Rule) error {
	i := max(0, slices.IndexFunc(list, func(r *Rule) bool { return r.File != ownFile }))
	var ids []string
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return &RuleError{list[i].File, list[i].Line, "rules are effects of each other: " + strings.Join(ids, ", ")}
}

// causes reports whether the rule named is an effect of r.
func (r *Rule) causes(id string) bool {
	for _, e := range r.Effects {
		if prefix, any := strings.CutSuffix(e, "*"); e == id || any && strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

// parse reads the text of a file.
func parse(file string, text []byte) (list []*Rule, err error) {
	defer func() {
		if r := recover(); r != nil { // the decoder of YAML
			list, err = nil, &RuleError{file, 0, fmt.Sprintf("cannot be read: %v", r)}
		}
	}()
	if len(text) > maxFileSize {
		return nil, &RuleError{file, 0, fmt.Sprintf("larger than %d bytes", maxFileSize)}
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, yamlError(file, err)
	}
	if err := d.Decode(&more); err != io.EOF {
		return nil, &RuleError{file, more.Line, "more than one document"}
	}
	p := &parser{file: file}
	p.check(&doc, 0)
	if p.err == nil {
		p.mapping(doc.Content[0], map[string]func(*yaml.Node){
			"rules": func(n *yaml.Node) {
				for _, n := range p.sequence(n, maxRules) {
					if r := p.rule(n); p.err == nil {
						p.list = append(p.list, r)
					}
				}
			},
		})
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.list, nil
}

// yamlError turns "yaml: line 3: ..." into a RuleError.
func yamlError(file string, err error) error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if n, what, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(n); err == nil {
				return &RuleError{file, line, what}
			}
		}
	}
	return &RuleError{file, 0, msg}
}

// A parser reads one file. Its first error sticks.
type parser struct {
	file string
	list []*Rule
	err  error
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	if p.err == nil {
		p.err = &RuleError{p.file, n.Line, fmt.Sprintf(format, args...)}
	}
}

// check refuses aliases, which could expand to any amount of text, and deep nesting.
func (p *parser) check(n *yaml.Node, depth int) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		p.fail(n, "anchors and aliases are not supported")
	}
	if depth > maxDepth {
		p.fail(n, "nested too deeply")
	}
	for _, c := range n.Content {
		if p.err == nil {
			p.check(c, depth+1)
		}
	}
}

// mapping calls the function of each field of n.
func (p *parser) mapping(n *yaml.Node, fields map[string]func(*yaml.Node)) (has map[string]bool) {
	has = make(map[string]bool)
	if n.Kind != yaml.MappingNode {
		p.fail(n, "fields are expected, as in \"id: disk.busy\"")
		return has
	}
	for i := 0; i+1 < len(n.Content) && p.err == nil; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		fn := fields[key.Value]
		switch {
		case fn == nil:
			p.fail(key, "unknown field %q", key.Value)
		case has[key.Value]:
			p.fail(key, "field %q is repeated", key.Value)
		default:
			has[key.Value] = true
			fn(value)
		}
	}
	return has
}

func (p *parser) sequence(n *yaml.Node, most int) []*yaml.Node {
	switch {
	case n.Kind != yaml.SequenceNode:
		p.fail(n, "a list is expected")
	case len(n.Content) > most:
		p.fail(n, "a list of more than %d elements", most)
	default:
		return n.Content
	}
	return nil
}

func (p *parser) text(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null":
		p.fail(n, "a text is expected")
	case len(n.Value) > maxText:
		p.fail(n, "a text of more than %d bytes", maxText)
	case strings.ContainsFunc(n.Value, func(c rune) bool { return c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 }):
		p.fail(n, "a text with control characters")
	default:
		return strings.TrimSpace(strings.ReplaceAll(n.Value, "\n", " "))
	}
	return ""
}

// texts reads a text, or a list of them.
func (p *parser) texts(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode {
		return []string{p.text(n)}
	}
	var list []string
	for _, n := range p.sequence(n, maxList) {
		list = append(list, p.text(n))
	}
	return list
}

// always is a condition that is true in every source.
const always = "always"

// expressions reads expressions, of which it checks the syntax.
func (p *parser) expressions(n *yaml.Node, condition bool) []string {
	list := p.texts(n)
	for i, text := range list {
		if p.err != nil || condition && text == always {
			continue
		}
		var set derive.Set
		if err := set.Add("diagnose.test", text); err != nil {
			at := n
			if n.Kind == yaml.SequenceNode {
				at = n.Content[i]
			}
			msg := "wrong expression"
			if e, ok := errors.AsType[*derive.Error](err); ok && e.Msg != "" {
				msg = e.Msg
			}
			p.fail(at, "%s: %s", msg, text)
		}
	}
	if len(list) == 0 {
		p.fail(n, "no expression")
	}
	return list
}

func (p *parser) number(n *yaml.Node) float64 {
	text := p.text(n)
	v, err := strconv.ParseFloat(text, 64)
	if p.err == nil && (err != nil || math.IsNaN(v) || math.IsInf(v, 0)) {
		p.fail(n, "not a number: %q", text)
	}
	return v
}

func (p *parser) duration(n *yaml.Node) time.Duration {
	text := p.text(n)
	d, err := time.ParseDuration(text)
	if p.err == nil && (err != nil || d < 0 || d > 24*time.Hour) {
		p.fail(n, "not a time from 0s to 24h: %q", text)
	}
	return d
}

func (p *parser) oneOf(n *yaml.Node, of ...string) string {
	text := p.text(n)
	if p.err == nil && !slices.Contains(of, text) {
		p.fail(n, "%q is not one of %s", text, strings.Join(of, ", "))
	}
	return text
}

// identifiers match the identifiers of rules, and the names of resources.
var identifiers = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*$`) })

func (p *parser) identifier(n *yaml.Node) string {
	text := p.text(n)
	if p.err == nil && !identifiers().MatchString(text) {
		p.fail(n, "%q is not an identifier, such as disk.busy", text)
	}
	return text
}

// rule reads a rule.
func (p *parser) rule(n *yaml.Node) *Rule {
	r := &Rule{File: p.file, Line: n.Line}
	off, below := false, false
	has := p.mapping(n, map[string]func(*yaml.Node){
		"id":       func(n *yaml.Node) { r.ID = p.identifier(n) },
		"off":      func(n *yaml.Node) { off = p.oneOf(n, "true", "false") == "true" },
		"resource": func(n *yaml.Node) { r.Resource = p.identifier(n) },
		"kind":     func(n *yaml.Node) { r.Kind = p.oneOf(n, "utilisation", "saturation", "errors") },
		"value":    func(n *yaml.Node) { r.Value = p.expressions(n, false) },
		"while":    func(n *yaml.Node) { r.While = p.expressions(n, true) },
		"above":    func(n *yaml.Node) { r.Above, r.Limit = true, p.number(n) },
		"below":    func(n *yaml.Node) { below, r.Limit = true, p.number(n) },
		"severe":   func(n *yaml.Node) { r.Severe = p.number(n) },
		"most":     func(n *yaml.Node) { r.Most = p.number(n) },
		"for":      func(n *yaml.Node) { r.For = p.duration(n) },
		"unit":     func(n *yaml.Node) { r.Unit = p.text(n) },
		"text":     func(n *yaml.Node) { r.Text = p.text(n) },
		"name": func(n *yaml.Node) {
			if r.Name = p.text(n); p.err == nil && !slices.Equal(Metrics(r.Name), []string{r.Name}) {
				p.fail(n, "not the name of a metric: %q", r.Name)
			}
		},
		"next":    func(n *yaml.Node) { r.Next = p.text(n) },
		"effects": func(n *yaml.Node) { r.Effects = p.texts(n) },
		"takers": func(n *yaml.Node) {
			for _, n := range p.sequence(n, maxList) {
				r.Takers = append(r.Takers, p.taker(n))
			}
		},
	})
	if p.err != nil {
		return r
	}
	for _, field := range []string{"id", "resource", "kind", "value", "text"} {
		if !has[field] && (!off || field == "id") {
			p.fail(n, "a rule needs the field %q", field)
		}
	}
	switch {
	case off:
		r.Value = nil
	case r.Above == below:
		p.fail(n, "a rule needs one of the fields \"above\" and \"below\"")
	case !has["severe"]:
		r.Severe = math.Inf(1)
		if below {
			r.Severe = math.Inf(-1)
		}
	case r.Above && r.Severe < r.Limit || below && r.Severe > r.Limit:
		p.fail(n, "the field \"severe\" is on the wrong side of the limit")
	}
	if i := slices.IndexFunc(p.list, func(o *Rule) bool { return o.ID == r.ID }); i >= 0 {
		p.fail(n, "rule %s is in line %d too", r.ID, p.list[i].Line)
	}
	return r
}

func (p *parser) taker(n *yaml.Node) Taker {
	t := Taker{Rank: Mean, Line: n.Line}
	has := p.mapping(n, map[string]func(*yaml.Node){
		"kind":  func(n *yaml.Node) { t.Kind = p.identifier(n) },
		"value": func(n *yaml.Node) { t.Value = p.expressions(n, false) },
		"state": func(n *yaml.Node) { t.State = p.oneOf(n, "R", "S", "D", "T", "Z") },
		"count": func(n *yaml.Node) {
			if t.Count = p.text(n); p.err == nil && !slices.Equal(Metrics(t.Count), []string{t.Count}) {
				p.fail(n, "not the name of a metric: %q", t.Count)
			}
		},
		"rank":  func(n *yaml.Node) { t.Rank = Rank(p.oneOf(n, string(Mean), string(Peak), string(Growth))) },
		"least": func(n *yaml.Node) { t.Least = p.number(n) },
		"most":  func(n *yaml.Node) { t.Most = p.number(n) },
		"unit":  func(n *yaml.Node) { t.Unit = p.text(n) },
	})
	of := 0
	for _, field := range []string{"value", "state", "count"} {
		if has[field] {
			of++
		}
	}
	switch {
	case !has["kind"]:
		p.fail(n, "a taker needs the field \"kind\"")
	case of != 1:
		p.fail(n, "a taker needs one of the fields \"value\", \"state\" and \"count\"")
	}
	return t
}
