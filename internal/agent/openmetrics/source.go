package openmetrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/openmetrics"
)

// A source is a file of the folder: a URL or a script. One goroutine at a time reads it, and only this
// goroutine uses the fields that mu does not guard and changes those that it guards, which it therefore reads without mu.
type source struct {
	a       *Agent
	name    string // as part of the names of metrics
	cluster int
	path    string
	dir     string // the folder of sources that contains it
	script  bool

	url     *urlFile
	info    fs.FileInfo // of the file when url was read
	scanner *openmetrics.Scanner
	inflate *inflater
	series  []series
	index   map[string]int32 // of series, made when one is not where it was
	gen     uint32
	lines   comments
	strayed bool // series were not where they were in the text before
	back    values
	lost    int   // samples of this reading that are beyond the limits
	held    int64 // bytes that are kept of it, guarded by the budget

	mu       sync.Mutex
	shown    *urlFile // url, for labels
	items    *numbering
	metrics  map[string]*metric
	byItem   map[int32]*metric
	owners   []owner // of slots
	front    values
	stats    stats
	complain string // the last logged problem

	run     chan struct{} // closed when the reading that runs ends; nil if none runs
	first   chan struct{} // closed when the first one has ended
	found   time.Time     // when the file was seen first
	tried   time.Time     // when the last reading began
	slow    bool          // it timed out
	gone    bool          // the file has gone
	changed bool          // the file has changed: read it again for its names
	listed  fs.FileInfo   // of the file when the folder was read
}

// stats are what the control metrics have of a source.
type stats struct {
	calls        uint64
	fetch, parse time.Duration
	status       string
	code         int32
}

// A series is a name with labels as the text has it. Mostly only values change in a text,
// so the series that followed the last time is tried first for the next line.
type series struct {
	key  string
	next int32 // in source.series; -1 if unknown
	slot int32 // -1: not wanted
	gen  uint32
	pos  int32 // in the text
	kind pcp.Type
}

// An owner is what a slot is the value of.
type owner struct {
	m    *metric
	inst int32
}

// values are the values of one reading, by slot.
type values struct {
	bits  []uint64
	state []valueState
	texts map[int32]string
	held  int64 // bytes of texts
	any   bool
}

type valueState uint8

const (
	absent valueState = iota
	present
	unreadable // not of the metric's type
	tooLarge   // for the metric's type
)

func (s *source) resetBack() {
	v, slots := &s.back, len(s.owners)
	s.a.budget.give(&s.held, v.held)
	v.held = 0
	for len(v.bits) < slots {
		v.bits, v.state = append(v.bits, 0), append(v.state, absent)
	}
	clear(v.state)
	clear(v.texts)
	v.any = false
}

// Errors of samples. As in Python, the first one ends the reading of the text.
var (
	errNoPCPName = errors.New("the PCP comment has no name")
	errShortPCP  = errors.New("the PCP comment needs a name, a type, an instance domain, semantics and units")
	errNoValue   = errors.New("the value is missing")
)

// read reads the source once.
func (s *source) read(ctx context.Context) {
	start := time.Now()
	s.resetBack()
	s.lost = 0
	got, err := s.transfer(ctx)
	timed := errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err)
	if s.strayed {
		s.a.keep(s)
	}
	if err != nil {
		s.resetBack()
	}

	s.mu.Lock()
	s.front, s.back = s.back, s.front
	s.slow = timed
	st := &s.stats
	st.calls++
	st.parse += got.parse
	if err == nil {
		st.status, st.code = "success", got.code
		var full *memoryError
		if errors.As(got.bad, &full) {
			st.status = got.bad.Error()
		}
		st.fetch += time.Since(start) - got.parse
	} else {
		st.status, st.code = "failed to fetch URL or execute script "+s.path+": "+err.Error(), got.code
	}
	say := ""
	switch {
	case err != nil:
		say = err.Error()
	case got.bad != nil:
		say = got.bad.Error()
	case s.lost > 0:
		say = fmt.Sprintf("%d samples are beyond the limits", s.lost)
	}
	again := say == s.complain
	s.complain = say
	s.mu.Unlock()

	s.a.total(func(t *stats) {
		t.calls++
		t.parse += got.parse
		if err == nil {
			t.fetch += time.Since(start) - got.parse
		}
	})
	if say != "" && !again && ctx.Err() != context.Canceled {
		s.a.log.Warn("source cannot be read completely", "source", s.name, "file", s.path, "err", say)
	}
	s.debug("read", "code", got.code, "bytes", got.bytes, "samples", got.samples, "err", say)
}

func (s *source) debug(msg string, attrs ...any) {
	if s.a.debug.Load() != 0 {
		s.a.log.Info(msg, append([]any{"source", s.name}, attrs...)...)
	}
}

// An outcome is the result of a reading.
type outcome struct {
	code    int32 // of HTTP
	parse   time.Duration
	bytes   int64
	samples int
	bad     error // why it was not read to the end
}

// parse reads the text, and sets back. Only what keeps the text from coming is an error; a bad line ends the reading.
func (s *source) parse(r io.Reader, out *outcome) error {
	t := &timed{r: r}
	if s.scanner == nil {
		s.scanner = openmetrics.NewScanner(t, s.a.limits)
	} else {
		s.scanner.Reset(t)
	}
	start := time.Now()
	s.gen++
	s.strayed = false
	s.lines.reset()
	last := int32(-1)
	for s.scanner.Next() {
		line := s.scanner.Line()
		if line[0] == '#' {
			if !s.lines.read(line) {
				out.bad = fmt.Errorf("line %d: %w", s.scanner.Number(), errNoPCPName)
				break
			}
			continue
		}
		s.lines.used = true
		at, n, err := s.locate(line, last, int32(out.samples))
		if err == nil {
			err = s.store(at, line[n:])
		}
		if err != nil {
			out.bad = fmt.Errorf("line %d: %w", s.scanner.Number(), err)
			break
		}
		last = at
		out.samples++
	}
	out.bytes = s.scanner.Size()
	err := s.scanner.Err()
	if out.parse = time.Since(start) - t.spent; out.parse < 0 {
		out.parse = 0
	}
	if s.strayed {
		s.relabel()
	}
	s.prune()
	s.scanner.Reset(nil)
	return err
}

// timed measures how long reads take.
type timed struct {
	r     io.Reader
	spent time.Duration
}

func (t *timed) Read(b []byte) (int, error) {
	start := time.Now()
	n, err := t.r.Read(b)
	t.spent += time.Since(start)
	return n, err
}

// locate finds the series that a line begins with, and how long its name and labels are. Last is that of
// the line before, -1 if this is the first.
func (s *source) locate(line []byte, last, pos int32) (at int32, n int, err error) {
	expect := int32(0)
	if last >= 0 {
		expect = s.series[last].next
	}
	if expect >= 0 && int(expect) < len(s.series) && begins(line, s.series[expect].key) {
		s.series[expect].gen, s.series[expect].pos = s.gen, pos
		return expect, len(s.series[expect].key), nil
	}
	if n, err = openmetrics.SeriesLen(line); err != nil {
		return 0, 0, err
	}
	if s.index == nil {
		s.index = make(map[string]int32, len(s.series))
		for i := range s.series {
			s.index[s.series[i].key] = int32(i)
		}
	}
	at, ok := s.index[string(line[:n])]
	if !ok {
		if at, err = s.introduce(line[:n], line[n:]); err != nil {
			return 0, 0, err
		}
	}
	s.strayed = true
	s.series[at].gen, s.series[at].pos = s.gen, pos
	if last >= 0 {
		s.series[last].next = at
	}
	return at, n, nil
}

// relabel gives each metric the labels of its last sample.
func (s *source) relabel() {
	last := make(map[*metric]int32)
	for i := range s.series {
		sr := &s.series[i]
		if sr.gen != s.gen || sr.slot < 0 {
			continue
		}
		m := s.owners[sr.slot].m
		if at, ok := last[m]; !m.singular && (!ok || s.series[at].pos < sr.pos) {
			last[m] = int32(i)
		}
	}
	for m, at := range last {
		if key := s.series[at].key; m.labelled != key {
			m.labelled = key
			if parsed, _, err := openmetrics.ParseSeries([]byte(key), false); err == nil {
				s.mu.Lock()
				s.slot(&parsed)
				s.mu.Unlock()
			}
		}
	}
}

// begins reports whether a line begins with a series that is written as key.
func begins(line []byte, key string) bool {
	if len(line) <= len(key) || string(line[:len(key)]) != key {
		return false
	}
	if key[len(key)-1] == '}' && strings.IndexByte(key, '{') > 0 {
		return true
	}
	rest := line[len(key):]
	if rest[0] != ' ' && rest[0] != '\t' {
		return false
	}
	rest = bytes.TrimLeft(rest, " \t\v\f\r")
	return len(rest) > 0 && rest[0] != '{'
}

// store takes in a value.
func (s *source) store(at int32, rest []byte) error {
	word, _ := openmetrics.Field(rest)
	if len(word) == 0 {
		return errNoValue
	}
	sr := &s.series[at]
	if sr.slot < 0 {
		return nil
	}
	b := &s.back
	b.any = true
	state := present
	switch sr.kind {
	case pcp.TypeDouble:
		v := pcp.Value{}
		if f, ok := openmetrics.ParseFloat(word); ok {
			v = pcp.DoubleValue(f)
		} else {
			state = unreadable
		}
		b.bits[sr.slot] = v.Bits()
	case pcp.TypeString:
		if b.texts == nil {
			b.texts = make(map[int32]string)
		}
		if err := s.a.budget.take(&s.held, int64(len(word))); err != nil {
			return err
		}
		b.held += int64(len(word))
		b.texts[sr.slot] = strings.ToValidUTF8(string(word), "\ufffd")
	default:
		var v pcp.Value
		v, state = number(word, sr.kind)
		b.bits[sr.slot] = v.Bits()
	}
	b.state[sr.slot] = state
	return nil
}

// number returns a value of a type other than double and string.
func number(word []byte, t pcp.Type) (pcp.Value, valueState) {
	if t == pcp.TypeFloat {
		if f, ok := openmetrics.ParseFloat(word); ok {
			return pcp.FloatValue(float32(f)), present
		}
		return pcp.Value{}, unreadable
	}
	text := strings.TrimPrefix(string(word), "+")
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		switch t {
		case pcp.TypeU64:
			return pcp.Uint64Value(u), present
		case pcp.TypeU32:
			return pcp.Uint32Value(uint32(u)), present // a number too large wraps, as in Python
		}
	}
	i, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return pcp.Value{}, tooLarge
	case err != nil:
		return pcp.Value{}, unreadable
	case t == pcp.TypeU64:
		return pcp.Uint64Value(uint64(i)), present
	case t == pcp.TypeU32:
		return pcp.Uint32Value(uint32(i)), present
	case t == pcp.Type64:
		return pcp.Int64Value(i), present
	case i != int64(int32(i)):
		return pcp.Value{}, tooLarge
	}
	return pcp.Int32Value(int32(i)), present
}

// refreshConfig reads the file again if it has changed.
func (s *source) refreshConfig() error {
	info, err := os.Stat(s.path)
	if err != nil || s.script {
		return err
	}
	if s.info != nil && info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size() && os.SameFile(info, s.info) && time.Since(info.ModTime()) > settleTime {
		return nil
	}
	b, err := readFile(s.path, maxURLFile)
	if err != nil {
		return err
	}
	if s.url != nil && s.info != nil && string(b) == s.url.text {
		s.info = info
		return nil
	}
	u, problems, err := parseURLFile(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	for _, p := range problems {
		s.a.log.Warn("line of a file is ignored", "file", s.path, "err", p)
	}
	u.text = string(b)
	s.url, s.info = u, info
	for i := range s.series {
		s.a.budget.give(&s.held, costOf(s.series[i].key))
	}
	s.series, s.index = nil, nil // other filters may apply
	s.mu.Lock()
	s.shown = u
	s.mu.Unlock()
	return nil
}

func readFile(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", path, limit)
	}
	return b, err
}

// openRegular opens a file that is not a device or FIFO, which could make the reader wait.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !strings.HasPrefix(filepath.Clean(path), "/proc/") {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return os.OpenFile(path, os.O_RDONLY|nonBlock, 0)
}

// fetch appends the values of a metric.
func (s *source) fetch(id pcp.PMID, profile *pcp.Profile, res *pcp.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.byItem[int32(id.Item())]
	if m == nil || m.hidden {
		res.AddError(id, pcp.ErrPMID)
		return
	}
	res.AddSet(id)
	var only pcp.ProfileInDom
	all := true
	if profile != nil && !m.singular {
		only = profile.InDom(m.desc.InDom)
		all = profile.IsAll()
	}
	found := false
	status := pcp.Error(0)
	for inst, slot := range m.slots {
		if slot < 0 || int(slot) >= len(s.front.state) || s.front.state[slot] == absent {
			if m.singular || all || only.Includes(int32(inst)) {
				status = pcp.ErrInst
			}
			continue
		}
		found = true
		if !m.singular && !all && !only.Includes(int32(inst)) {
			continue
		}
		switch s.front.state[slot] {
		case unreadable:
			status = pcp.ErrAgain
			continue
		case tooLarge:
			status = errInvalid
			continue
		}
		var v pcp.Value
		if m.text {
			v = pcp.StringValue(s.front.texts[slot])
		} else {
			v = pcp.RawValue(m.desc.Type, s.front.bits[slot])
		}
		if m.singular {
			v = v.WithInst(pcp.InNull)
		} else {
			v = v.WithInst(int32(inst))
		}
		res.Add(v)
	}
	if set := &res.Sets[len(res.Sets)-1]; len(set.Values) == 0 {
		if !found {
			status = pcp.ErrAgain
		}
		set.Err = status
	}
}

// errInvalid is EINVAL.
const errInvalid = pcp.Error(-22)

// sortedLabels returns labels sorted by name.
func sortedLabels(m map[string]string) (list []openmetrics.Label) {
	for name, value := range maps.All(m) {
		list = append(list, openmetrics.Label{Name: name, Value: value})
	}
	return list
}
