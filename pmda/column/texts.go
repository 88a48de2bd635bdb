package column

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// textWidth is how long the lines of help texts are at most, in bytes, if no word is
// longer.
const textWidth = 79

// texts is the parsed form of Config.Texts. The syntax is in the documentation of
// Config.
type texts struct {
	exact map[string]*entry // by name, or "indom:SERIAL"
	globs []*entry
	adds  []*entry
	words []word
}

// An entry is a text for the names that match.
type entry struct {
	line    int
	glob    string
	oneLine string
	field   string
	help    []string // paragraphs
	used    bool
}

// A word is a variable whose text differs from name to name.
type word struct {
	name, glob, text string
	line             int
}

// parseTexts reads the form of Config.Texts.
func parseTexts(s string) (*texts, error) {
	t := &texts{exact: make(map[string]*entry)}
	var current []*entry // that the next lines belong to
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			for _, e := range current {
				e.help = append(e.help, strings.Join(paragraph, " "))
			}
			paragraph = nil
		}
	}
	n := 0
	for line := range strings.Lines(s) {
		n++
		line = strings.TrimSpace(line)
		mark, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch mark {
		case "@", "@+":
			end()
			pattern, oneLine, _ := strings.Cut(rest, " ")
			names, err := expand(pattern)
			if err == nil && pattern == "" {
				err = errors.New("no name")
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			current = nil
			for _, name := range names {
				e := &entry{line: n, glob: name, oneLine: strings.TrimSpace(oneLine)}
				current = append(current, e)
				switch {
				case mark == "@+":
					t.adds = append(t.adds, e)
				case strings.Contains(name, "*"):
					t.globs = append(t.globs, e)
				case t.exact[name] != nil:
					return nil, fmt.Errorf("line %d: %s has a text in line %d", n, name, t.exact[name].line)
				default:
					t.exact[name] = e
				}
			}
		case "%":
			end()
			current = nil
			f := strings.SplitN(rest, " ", 3)
			if len(f) < 2 {
				return nil, fmt.Errorf("line %d: a word needs a name and a pattern", n)
			}
			f = append(f, "") // the text may be empty
			globs, err := expand(f[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			for _, glob := range globs {
				t.words = append(t.words, word{name: f[0], glob: glob, text: strings.TrimSpace(f[2]), line: n})
			}
		case "=":
			for _, e := range current {
				e.field = rest
			}
		case "":
			end()
		default:
			if line[0] == '#' {
				continue
			}
			if current == nil {
				return nil, fmt.Errorf("line %d: text that belongs to no name", n)
			}
			paragraph = append(paragraph, line)
		}
	}
	end()
	return t, nil
}

// expand returns the expansions of a pattern with {a,b}.
func expand(pattern string) ([]string, error) {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}, nil
	}
	choice, after, ok := strings.Cut(rest, "}")
	if !ok {
		return nil, fmt.Errorf("%s: { without }", pattern)
	}
	tails, err := expand(after)
	if err != nil {
		return nil, err
	}
	var all []string
	for c := range strings.SplitSeq(choice, ",") {
		for _, tail := range tails {
			all = append(all, before+c+tail)
		}
	}
	return all, nil
}

// matches reports whether a pattern, in which * matches any text, matches name.
func matches(glob, name string) bool {
	head, rest, ok := strings.Cut(glob, "*")
	if !ok {
		return glob == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	for {
		part, tail, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, rest = name[i+len(part):], tail
	}
}

// of returns the entry for a name, nil if there is none.
func (t *texts) of(name string) *entry {
	e := t.exact[name]
	for i := 0; e == nil && i < len(t.globs); i++ {
		if matches(t.globs[i].glob, name) {
			e = t.globs[i]
		}
	}
	if e != nil {
		e.used = true
	}
	return e
}

// say returns text with the words replaced that are defined for name.
func (t *texts) say(text, name string) (string, error) {
	if !strings.Contains(text, "$") {
		return text, nil
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "$")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		n := 0
		for n < len(rest) && 'a' <= rest[n] && rest[n] <= 'z' {
			n++
		}
		found := false
		for i := range t.words {
			if w := &t.words[i]; w.name == rest[:n] && matches(w.glob, name) {
				b.WriteString(w.text)
				found = true
				break
			}
		}
		if !found {
			return "", fmt.Errorf("$%s has no meaning for %s", rest[:n], name)
		}
		text = rest[n:]
	}
}

// wrap breaks a paragraph into lines.
func wrap(b *strings.Builder, paragraph string) {
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	column := 0
	for w := range strings.FieldsSeq(paragraph) {
		switch {
		case column == 0:
		case column+1+len(w) > textWidth:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(w)
		column += len(w)
	}
}

// readTexts reads Config.Texts when a text is first asked for.
func (a *Agent) readTexts() (*texts, error) {
	if a.texts == nil {
		t, err := parseTexts(a.cfg.Texts)
		if err != nil {
			return nil, fmt.Errorf("%s: help texts: %w", a.cfg.Name, err)
		}
		a.texts = t
	}
	return a.texts, nil
}

// A help is the texts of a metric or an instance domain.
type help struct{ oneLine, long, origin string }

// describe composes the texts of a name. The arguments after name are from the tables.
func (a *Agent) describe(name, oneLine, long, origin string) (help, error) {
	t, err := a.readTexts()
	if err != nil {
		return help{}, err
	}
	h := help{oneLine: oneLine, origin: origin}
	var b strings.Builder // from t
	add := func(e *entry) {
		for _, p := range e.help {
			var said string
			if said, err = t.say(p, name); err != nil {
				return
			}
			wrap(&b, said)
		}
		if e.field != "" && err == nil {
			h.origin, err = t.say(e.field, name)
		}
	}
	if e := t.of(name); e != nil && long == "" {
		add(e)
		if h.oneLine == "" && err == nil {
			h.oneLine, err = t.say(e.oneLine, name)
		}
	}
	for _, e := range t.adds {
		if err == nil && matches(e.glob, name) {
			e.used = true
			add(e)
		}
	}
	if err != nil {
		return help{}, fmt.Errorf("%s: help texts: %w", a.cfg.Name, err)
	}
	if b.Len() > 0 && h.origin != "" {
		wrap(&b, "Source: "+h.origin)
	}
	h.long = long
	if b.Len() > 0 && long != "" {
		h.long += "\n\n"
	}
	h.long += b.String()
	return h, nil
}

func (a *Agent) helpOf(m *metric) (help, error) {
	s := a.sources[m.source]
	origin := s.Name
	switch {
	case m.Field != "":
		origin += ", " + m.Field
	case m.Key != "" && m.Key[0] != '=':
		origin += ", " + m.Key
	}
	return a.describe(m.Name, m.Help, m.Long, origin)
}

func (a *Agent) helpOfInDom(d *InDom) (help, error) {
	return a.describe(fmt.Sprintf("indom:%d", d.Serial), d.Help, d.Long, "")
}

// Text implements pmda.Texter.
func (a *Agent) Text(_ context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	var h help
	var err error
	if kind&pcp.TextInDom != 0 {
		d := a.indom(pcp.InDom(ident))
		if d == nil {
			return "", fmt.Errorf("%s: text of instance domain %v: %w", a.cfg.Name, pcp.InDom(ident), pcp.ErrText)
		}
		h, err = a.helpOfInDom(d)
	} else {
		m := a.metric(pcp.PMID(ident))
		if m == nil {
			return "", fmt.Errorf("%s: text of metric %v: %w", a.cfg.Name, pcp.PMID(ident), pcp.ErrText)
		}
		h, err = a.helpOf(m)
	}
	if err != nil {
		return "", err
	}
	text := h.oneLine
	if kind&pcp.TextHelp != 0 && (h.long != "" || kind&pcp.TextDirect != 0) {
		text = h.long
	}
	if text == "" {
		return "", pcp.ErrText
	}
	return text, nil
}

// Origin implements pmda.Originator: it returns the file with the values of a metric and
// their place in it, such as "/proc/meminfo, MemFree", or "" if there is no such metric.
func (a *Agent) Origin(id pcp.PMID) string {
	m := a.metric(id)
	if m == nil {
		return ""
	}
	h, err := a.helpOf(m)
	if err != nil {
		return ""
	}
	return h.origin
}

var _ pmda.Originator = (*Agent)(nil)

// CheckTexts is for the tests of an agent that has Config.Texts. It returns the mistakes
// there: a metric or instance domain without one of the two texts, or an entry that
// matches nothing. A text in the tables counts, and an instance domain with a text of one line
// there needs no other.
func (a *Agent) CheckTexts() error {
	if _, err := a.readTexts(); err != nil {
		return err
	}
	var errs []error
	check := func(name string, h help, err error) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case h.oneLine == "":
			errs = append(errs, fmt.Errorf("%s has no one-line text, in Texts or as Help in a table", name))
		case h.long == "":
			errs = append(errs, fmt.Errorf("%s has no help text, in Texts or as Long in a table", name))
		}
	}
	for i := range a.metrics {
		m := &a.metrics[i]
		h, err := a.helpOf(m)
		check(m.Name, h, err)
	}
	for _, d := range a.indoms {
		h, err := a.helpOfInDom(d)
		if err == nil && h.long == "" && d.Help != "" {
			continue // clients get the one line in its place
		}
		check(fmt.Sprintf("indom:%d", d.Serial), h, err)
	}
	unused := func(e *entry) {
		if !e.used {
			errs = append(errs, fmt.Errorf("line %d: %s is for nothing", e.line, e.glob))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.texts.exact)) {
		unused(a.texts.exact[name])
	}
	for _, e := range slices.Concat(a.texts.globs, a.texts.adds) {
		unused(e)
	}
	return errors.Join(errs...)
}
