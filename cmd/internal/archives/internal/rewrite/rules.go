package rewrite

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/hashorder"
)

// A Config configures how rules are read.
type Config struct {
	// Version is that of the new archive, 0 for that of the old one.
	Version int

	// Rescale makes each change of units convert the values, if the dimension
	// stays the same. Otherwise only changes that request it do.
	Rescale bool

	// KeepSets leaves a label that gets another name or value in its set, as PCP 7 does with values, and adds new
	// labels to the sets that exist. Otherwise they get sets of their own, as in 6.0.3, and readers find only one
	// of the two.
	KeepSets bool

	// Seven has messages and summaries in the words of PCP 7.
	Seven bool

	// Check returns a line for each mistake in a new descriptor, which begins with Warning or
	// Error. Nil permits any descriptor.
	Check func(*pcp.Desc) []string

	// Warn is called for each warning. Nil drops them.
	Warn func(Warning)

	// Progress, if not nil, is called from time to time with the time of a record of the
	// old archive.
	Progress func(at pcp.Timestamp)

	// Debug logs for -D value the converted values and their results, for -D appl1 the changes of metrics, instances and help texts.
	// Nil prints nothing.
	Debug *debug.Log

	// Zone is the time zone of the times in a [ValueError]. Nil is UTC.
	Zone *time.Location

	// Verbose adds warnings: about rules that change nothing, and those for metrics,
	// instances and texts that the archive does not have.
	Verbose bool
}

// A Warning is an oddity of rules that can still be used.
type Warning struct {
	File string
	Line int
	Text string
}

// String returns the warning with its place, "file:line: text".
func (w Warning) String() string { return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Text) }

// An Error is an error in rules.
type Error struct {
	File string
	Line int // 0: the error is not in one place
	Text string
}

// Error returns the text with its place, "file[line]: text".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s[%d]: %s", e.File, e.Line, e.Text)
}

// maxMessage is the maximum length of a message: longer ones are cut, as in the C tool.
const maxMessage = 255

func message(format string, args ...any) string {
	s := fmt.Sprintf(format, args...)
	return s[:min(len(s), maxMessage)]
}

// MaxRules is the limit on the length of a file of rules.
const MaxRules = 64 << 20

// Rules are changes to an archive. They are for one goroutine.
type Rules struct {
	a       *archive.Archive
	meta    *archive.Meta
	cfg     Config
	version int

	global  global
	indoms  []*indomSpec  // the C tool walks all these lists from the end
	metrics []*metricSpec //
	texts   []*textSpec
	labels  []*labelSpec

	byInDom  map[pcp.InDom]*indomSpec
	byMetric map[pcp.PMID]*metricSpec

	tables *tables
	file   string // current file, or the last one
	line   int
}

// New returns empty rules for an archive.
func New(a *archive.Archive, cfg Config) *Rules {
	r := &Rules{
		a: a, meta: a.Meta(), cfg: cfg, version: cmp.Or(cfg.Version, a.Meta().Label().Version),
		byInDom: make(map[pcp.InDom]*indomSpec), byMetric: make(map[pcp.PMID]*metricSpec),
	}
	return r
}

// warn reports a warning.
func (r *Rules) warn(format string, args ...any) {
	if r.cfg.Warn != nil {
		r.cfg.Warn(Warning{r.file, r.line, message(format, args...)})
	}
}

// note reports a warning if Config.Verbose is set.
func (r *Rules) note(format string, args ...any) {
	if r.cfg.Verbose {
		r.warn(format, args...)
	}
}

// stop ends Parse or Resolve with an error.
func (r *Rules) stop(format string, args ...any) {
	panic(&Error{r.file, r.line, message(format, args...)})
}

// contradiction is stop for an error of all rules together.
func (r *Rules) contradiction(format string, args ...any) {
	panic(&Error{r.file, 0, message(format, args...)})
}

// stopped makes an error of the panic of stop.
func stopped(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	default:
		panic(e)
	}
}

type global struct {
	host, timeZone, zoneInfo string
	features                 uint32
	sec, nsec                int64

	setHost, setTimeZone, setZoneInfo, setFeatures, setTime bool
}

func (g *global) any() bool {
	return g.setHost || g.setTimeZone || g.setZoneInfo || g.setFeatures || g.setTime
}

// shift adds the change of time to a time.
func (g *global) shift(t pcp.Timestamp) pcp.Timestamp {
	// A change of less than a second back has no effect: the sign is that of the seconds.
	switch {
	case !g.setTime || g.sec == 0:
		return t
	case g.sec > 0:
		t.Sec += g.sec
		t.Nsec += int32(g.nsec)
	default:
		t.Sec += g.sec
		t.Nsec -= int32(g.nsec)
	}
	if t.Nsec >= 1e9 {
		t.Sec++
		t.Nsec -= 1e9
	} else if t.Nsec < 0 {
		t.Sec--
		t.Nsec += 1e9
	}
	return t
}

// An instChange is a change to an instance.
type instChange struct {
	inst    int32
	name    string
	newInst int32
	newName string

	setInst, setName, deleted bool
}

func (c *instChange) changed() bool { return c.setInst || c.setName || c.deleted }

func (c *instChange) result() (int32, string) {
	inst, name := c.inst, c.name
	if c.setInst {
		inst = c.newInst
	}
	if c.setName {
		name = c.newName
	}
	return inst, name
}

// An indomSpec is a change to an instance domain.
type indomSpec struct {
	old, new  pcp.InDom
	duplicate bool
	insts     []instChange // all that it ever had

	// Made by Rewrite, of instances whose numbers or names change.
	byInst    map[int32]int
	renumbers bool // some change their numbers, or are removed
}

func (s *indomSpec) changesInsts() bool {
	return slices.ContainsFunc(s.insts, func(c instChange) bool { return c.changed() })
}

// An output selects one of several values for a metric without instances.
type output int

const (
	outputAll output = iota
	outputFirst
	outputLast
	outputOne
	outputMin
	outputMax
	outputSum
	outputAvg
)

// Parts that a metricSpec changes.
const (
	metricPMID = 1 << iota
	metricName
	metricType
	metricInDom
	metricSem
	metricUnits
	metricDelete
	metricRescale
	metricValue
)

// A metricSpec is a change to a metric.
type metricSpec struct {
	name, newName string
	old, new      pcp.Desc
	flags         int
	output        output
	oneInst       int32
	newInst       *int32 // its number in the new instance domain, if a rule changes it there
	oneName       string
	named         bool // oneName is the instance
	insts         *indomSpec
	values        []replacement
}

// A replacement is a change of strings.
type replacement struct {
	pattern, with string
	re            *regexp.Regexp
}

// Parts that a textSpec changes.
const (
	textIdent = 1 << iota
	textText
	textDelete
)

// A textSpec is a change to a help text.
type textSpec struct {
	kind            pcp.TextKind
	ident, newIdent uint32
	text, newText   string
	flags           int
	insts           bool // instances of the domain change
}

// Parts that a labelSpec changes.
const (
	labelIdent = 1 << iota
	labelName
	labelInst
	labelValue
	labelDelete
	labelNew
)

// A labelSpec is a change to labels.
type labelSpec struct {
	level           pcp.LabelFlags
	ident, newIdent uint32
	inst, newInst   int32
	name, value     string // as JSON; "" for all
	newName         string
	newValue        string
	newSet          pcp.LabelSet
	flags           int
	insts           bool
}

// fromLast walks a list as the C tool does, which puts new entries in front.
func fromLast[T any](list []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range slices.Backward(list) {
			if !yield(v) {
				return
			}
		}
	}
}

// indom returns the spec of an instance domain, a new one if there is none. It is nil
// if the archive does not have it.
func (r *Rules) indom(id pcp.InDom, quiet bool) *indomSpec {
	if s := r.byInDom[id]; s != nil {
		return s
	}
	list, _ := r.meta.Lifetimes(id)
	if list == nil {
		err := pcp.ErrInDomLog
		if id == pcp.InDomNull {
			err = pcp.ErrInDom
		}
		if !quiet {
			r.note("Instance domain %s: %s", id, err.Error())
		}
		return nil
	}
	s := &indomSpec{old: id, new: id, insts: make([]instChange, len(list))}
	for i, l := range list {
		s.insts[i] = instChange{inst: l.Inst, name: l.Name}
	}
	r.indoms = append(r.indoms, s)
	r.byInDom[id] = s
	return s
}

// metric returns the spec of a metric, as indom does.
func (r *Rules) metric(id pcp.PMID) *metricSpec {
	if s := r.byMetric[id]; s != nil {
		return s
	}
	names := r.meta.Names(id)
	if len(names) == 0 {
		r.note("Metric %s pmNameID: %s", id, pcp.ErrPMID.Error())
		return nil
	}
	desc, err := r.meta.Desc(id)
	if err != nil {
		r.note("Metric %s: pmLookupDesc: %s", id, pcp.Code(err).Error())
		return nil
	}
	s := &metricSpec{name: names[0], old: desc, new: desc}
	r.metrics = append(r.metrics, s)
	r.byMetric[id] = s
	return s
}

// text returns the spec of a help text, as indom does. If given, the text must have
// these words.
func (r *Rules) text(kind pcp.TextKind, ident uint32, given string, isGiven bool) *textSpec {
	for s := range fromLast(r.texts) {
		if s.kind == kind && s.ident == ident && (!isGiven || s.text == given) {
			return s
		}
	}
	if !isGiven {
		var err error
		if given, err = r.meta.Text(kind, ident); err != nil {
			if kind&pcp.TextPMID != 0 {
				r.note("Text %s: pmLookupText: %s", pcp.PMID(ident), pcp.Code(err).Error())
			} else {
				r.note("Text %s: pmLookupInDomText: %s", pcp.InDom(ident), pcp.Code(err).Error())
			}
			return nil
		}
	}
	s := &textSpec{kind: kind, ident: ident, newIdent: ident, text: given}
	r.texts = append(r.texts, s)
	return s
}

// label returns the spec of labels, as indom does; instName, if not nil, is the
// instance.
func (r *Rules) label(level pcp.LabelFlags, ident uint32, inst int32, instName *string, name, value string) *labelSpec {
	if instName != nil {
		list, _ := r.meta.Lifetimes(pcp.InDom(ident))
		if list == nil {
			r.note("Instance domain %s: %s", pcp.InDom(ident), pcp.ErrInDomLog.Error())
			return nil
		}
		i := slices.IndexFunc(list, func(l archive.Lifetime) bool { return sameInstName(l.Name, *instName) })
		if i < 0 {
			r.note("Instance domain %s: no instance \"%s\" found", pcp.InDom(ident), *instName)
			return nil
		}
		inst = list[i].Inst
	}
	for s := range fromLast(r.labels) {
		if s.level == level && s.ident == ident && (inst == -1 || inst == s.inst) &&
			(name == "" || s.name == name) && (value == "" || s.value == value) {
			return s
		}
	}
	return r.newLabelSpec(level, ident, inst, name, value)
}

func (r *Rules) newLabelSpec(level pcp.LabelFlags, ident uint32, inst int32, name, value string) *labelSpec {
	s := &labelSpec{level: level, ident: ident, newIdent: ident, inst: inst, newInst: inst, name: name, value: value}
	r.labels = append(r.labels, s)
	return s
}

// sameInstName reports whether two names of instances are the same up to a space.
func sameInstName(a, b string) bool {
	return a != "" && b != "" && firstWord(a) == firstWord(b)
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// Changes reports whether the rules change anything in this archive.
func (r *Rules) Changes() bool {
	if r.global.any() {
		return true
	}
	for _, s := range r.indoms {
		if s.new != s.old || s.changesInsts() {
			return true
		}
	}
	return slices.ContainsFunc(r.metrics, func(s *metricSpec) bool { return s.flags != 0 || s.insts != nil }) ||
		slices.ContainsFunc(r.labels, func(s *labelSpec) bool { return s.flags != 0 || s.insts }) ||
		slices.ContainsFunc(r.texts, func(s *textSpec) bool { return s.flags != 0 || s.insts })
}

// Tables are in the order of the C tool's hash tables, which decides the first
// change of a rule for many.
type tables struct {
	metrics []pcp.PMID
	indoms  []pcp.InDom
	texts   []textKeys
	labels  []labelKeys
}

type textKeys struct {
	kind   pcp.TextKind
	idents []uint32
}

type labelKeys struct {
	level  pcp.LabelFlags
	idents []uint32
}

// table returns the tables of the archive.
func (r *Rules) table() *tables {
	if r.tables != nil {
		return r.tables
	}
	t := new(tables)
	r.tables = t
	var keys []uint32
	for _, d := range r.meta.Descs() {
		keys = append(keys, uint32(d.PMID))
	}
	for _, k := range inHashOrder(keys) {
		t.metrics = append(t.metrics, pcp.PMID(k))
	}
	keys = keys[:0]
	for _, id := range r.meta.InDoms() {
		keys = append(keys, uint32(id))
	}
	for _, k := range inHashOrder(keys) {
		t.indoms = append(t.indoms, pcp.InDom(k))
	}
	texts, labels := newGroups(), newGroups()
	if mr, c, err := r.a.OpenMeta(); err == nil {
		defer c.Close()
		for {
			rec, err := mr.Next()
			if err != nil {
				break // Rewrite returns the error
			}
			switch rec.Type {
			case archive.MetaText:
				texts.add(uint32(rec.TextKind), rec.Ident)
			case archive.MetaLabelV2, archive.MetaLabel:
				ident := rec.Ident
				if rec.Level.Level() == pcp.LabelContext {
					ident = uint32(pcp.PMIDNull)
				}
				labels.add(uint32(rec.Level.Level()), ident)
			}
		}
	}
	for kind, idents := range texts.all() {
		t.texts = append(t.texts, textKeys{pcp.TextKind(kind), idents})
	}
	for level, idents := range labels.all() {
		t.labels = append(t.labels, labelKeys{pcp.LabelFlags(level), idents})
	}
	return t
}

func inHashOrder(keys []uint32) []uint32 {
	list := make([]uint32, 0, len(keys))
	for _, i := range hashorder.Of(keys) {
		list = append(list, keys[i])
	}
	return list
}

// Groups collect keys in the order of their first use, each once.
type groups struct {
	order  []uint32
	idents map[uint32][]uint32
	seen   map[[2]uint32]bool
}

func newGroups() *groups {
	return &groups{idents: make(map[uint32][]uint32), seen: make(map[[2]uint32]bool)}
}

func (g *groups) add(group, ident uint32) {
	if g.seen[[2]uint32{group, ident}] {
		return
	}
	g.seen[[2]uint32{group, ident}] = true
	if g.idents[group] == nil {
		g.order = append(g.order, group)
	}
	g.idents[group] = append(g.idents[group], ident)
}

// all returns the groups with their keys, both in the order of a hash table.
func (g *groups) all() iter.Seq2[uint32, []uint32] {
	return func(yield func(uint32, []uint32) bool) {
		for _, group := range inHashOrder(g.order) {
			if !yield(group, inHashOrder(g.idents[group])) {
				return
			}
		}
	}
}

// Parse adds the rules of a file. After an error the rules must not be used.
func (r *Rules) Parse(file string, text []byte) (err error) {
	defer stopped(&err)
	r.file, r.line = file, 1
	if len(text) > MaxRules {
		r.stop("more than %d bytes of rules", MaxRules)
	}
	p := &parser{Rules: r}
	p.lex = lexer{src: string(text), line: 1, seven: r.cfg.Seven, fail: func(format string, args ...any) {
		r.line = p.lex.line
		r.stop(format, args...)
	}}
	p.rules()
	return nil
}

// ParseFrom is Parse for a reader.
func (r *Rules) ParseFrom(file string, rd io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(rd, MaxRules+1))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return r.Parse(file, b)
}
