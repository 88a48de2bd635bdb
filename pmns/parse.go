package pmns

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/cpp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// maxLine is the maximum length of a line in bytes, without its newline (linebuf in
// pmns.c).
const maxLine = 254

// A parser reads pmns(5): it first reads all subtrees in the order of the file,
// then joins them. Its messages are those of the C library, as scripts and tests
// look for them.
type parser struct {
	src interface {
		// Next returns the next line, or an error with or without one.
		Next() (cpp.Line, error)
	}

	file string
	line int    // 0: in no line
	text string // the part of the line for messages
	col  int    // start of the token in text, -1 for none

	rest  int    // where in text to look for the next token
	token string // the token itself
	id    pcp.PMID

	err *ParseError

	debug *debug.Log // trace of the input; may be nil
}

type kind int

const (
	end kind = iota
	tokName
	tokPath
	tokPMID
	tokOpen
	tokClose
	tokBogus
)

// A subtree is one name { ... } of the file.
type subtree struct {
	name  string
	nodes []declaration
	used  bool
}

type declaration struct {
	name string
	id   pcp.PMID // PMIDNull for an inner node
}

func newParser(file string) *parser { return &parser{file: file, col: -1} }

// fail records the error msg; later calls add to the first. It returns p.err with
// its cause, nil meaning pcp.ErrPMNS.
func (p *parser) fail(cause error, msg string) error {
	e := p.err
	if e == nil {
		if cause == nil {
			cause = pcp.ErrPMNS
		}
		e = &ParseError{File: p.file, Line: p.line, Msg: msg, Err: cause}
		p.err = e
	}
	var b strings.Builder
	b.WriteString(e.Diagnostic)
	if p.line > 0 {
		fmt.Fprintf(&b, "[%s:%d] ", p.file, p.line)
	}
	fmt.Fprintf(&b, "Error Parsing ASCII PMNS: %s\n", msg)
	if p.line > 0 {
		b.WriteString("    " + p.text)
		if !strings.HasSuffix(p.text, "\n") {
			b.WriteByte('\n')
		}
		if p.col >= 0 {
			// The caret replaces the line, so that the message of the token's
			// user shows it instead, as in C.
			p.text = caret(p.text, p.col)
			b.WriteString("    " + p.text)
		}
	}
	e.Diagnostic = b.String()
	return e
}

// failText is fail with a message that the C library writes over its line
// buffer, which is shown again.
func (p *parser) failText(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if len(msg) > maxLine+1 {
		msg = msg[:maxLine+1]
	}
	p.text = msg
	return p.fail(nil, msg)
}

// caret returns a line that points at a column of text.
func caret(text string, col int) string {
	b := make([]byte, 0, col+2)
	for i := 0; i < col; i++ {
		if i < len(text) && ctext.IsSpace(text[i]) {
			b = append(b, text[i])
		} else {
			b = append(b, ' ')
		}
	}
	return string(append(b, "^\n"...))
}

// preprocessorFailed records the error of the preprocessor.
func (p *parser) preprocessorFailed(err error) error {
	diag := err.Error() + "\n"
	first := &ParseError{File: p.file, Msg: err.Error(), Err: pcp.ErrPMNS}
	var ce *cpp.Error
	if errors.As(err, &ce) {
		diag = ce.Diagnostic()
		first.File, first.Line, first.Msg = ce.File, ce.Line, ce.Msg
	}
	first.Diagnostic = diag
	p.err, p.line = first, 0
	return p.fail(nil, "pmcpp returned non-zero exit status")
}

// nextLine makes the next line that is not blank the current one. It returns
// io.EOF at the end.
func (p *parser) nextLine() error {
	for {
		l, err := p.src.Next()
		if err == io.EOF {
			p.line = 0
			return io.EOF
		}
		if err != nil && err != errUnterminated {
			if _, ok := p.src.(*cpp.Reader); ok {
				return p.preprocessorFailed(err)
			}
			p.line = 0
			return p.fail(err, fmt.Sprintf("reading %q: %v", p.file, err))
		}
		if l.Marker {
			p.file, p.line = l.File, l.No-1
			continue
		}
		text := squeeze(l.Text)
		if len(l.Text) > maxLine || err == errUnterminated {
			// The contents of the C library's buffer at this point.
			n := min(len(l.Text), maxLine+1)
			text = squeeze(l.Text[:n])
			p.text = text + string(l.Text[min(len(text), n):n])
			return p.fail(nil, "Absurdly long line, cannot recover")
		}
		p.text = text + "\n"
		if strings.HasPrefix(text, "#") {
			if !p.marker(text) {
				return p.fail(nil, "Illegal line number control number")
			}
			continue
		}
		p.line++
		if text != "" {
			p.rest = 0
			return nil
		}
	}
}

// marker processes a line like # 12 "file".
func (p *parser) marker(text string) bool {
	num, file, ok := strings.Cut(strings.TrimLeft(text[1:], " \t"), " ")
	n, err := strconv.ParseInt(num, 10, 32)
	file = strings.TrimSpace(file)
	if !ok || err != nil || len(file) < 2 || file[0] != '"' {
		return false
	}
	p.file, p.line = strings.TrimSuffix(file[1:], `"`), int(n)-1
	return true
}

// squeeze makes each run of white space its first character, and drops it
// around colons and at both ends.
func squeeze(line []byte) string {
	b := make([]byte, 0, len(line))
	space := false
	for _, c := range line {
		if ctext.IsSpace(c) {
			if !space && len(b) > 0 && b[len(b)-1] != ':' {
				b = append(b, c)
				space = true
			}
			continue
		}
		if c == ':' && space {
			b = b[:len(b)-1]
		}
		b, space = append(b, c), false
	}
	return string(b)
}

// next reads a token. An error is p.err; io.EOF is not an error.
func (p *parser) next() (kind, error) {
	for {
		for p.rest < len(p.text) && ctext.IsSpace(p.text[p.rest]) {
			p.rest++
		}
		if p.rest < len(p.text) {
			break
		}
		if err := p.nextLine(); err == io.EOF {
			return end, nil
		} else if err != nil {
			return end, err
		}
	}
	p.col = p.rest
	for p.rest < len(p.text) && !ctext.IsSpace(p.text[p.rest]) {
		p.rest++
	}
	p.token = p.text[p.col:p.rest]
	switch {
	case p.token == "{":
		return tokOpen, nil
	case p.token == "}":
		return tokClose, nil
	case ctext.IsAlpha(p.token[0]):
		return nameKind(p.token), nil
	}
	id, ok, complaint := parsePMID(p.token)
	p.id = id
	switch {
	case complaint != "":
		p.fail(nil, complaint)
		return tokBogus, nil
	case !ok:
		return tokBogus, nil
	}
	return tokPMID, nil
}

// nameKind distinguishes a name from a path. A path with empty components passes
// here, and then fails as the path of no node.
func nameKind(s string) kind {
	k := tokName
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.':
			k = tokPath
		case c != '_' && !ctext.IsAlpha(c) && !ctext.IsDigit(c):
			return tokBogus
		}
	}
	return k
}

// parsePMID reads domain:cluster:item, or domain:*:* for a dynamic root. Ok is
// false if s does not look like a PMID at all.
func parsePMID(s string) (id pcp.PMID, ok bool, complaint string) {
	colons := 0
	for i := 0; i < len(s); i++ {
		if s[i] == ':' {
			colons++
		} else if s[i] != '*' && !ctext.IsDigit(s[i]) {
			return 0, false, ""
		}
	}
	if colons > 3 {
		return 0, false, ""
	}
	domain, rest := number(s)
	if cluster, rest2 := number(cutColon(rest)); cluster >= 0 && domain >= 0 {
		// Text after the third number is ignored, as in C.
		if item, _ := number(cutColon(rest2)); item >= 0 {
			switch {
			case domain > pcp.MaxAgentDomain:
				return 0, false, "Illegal domain field in PMID"
			case cluster > pcp.MaxCluster:
				return 0, false, "Illegal cluster field in PMID"
			case item > pcp.MaxItem:
				return 0, false, "Illegal item field in PMID"
			}
			return pcp.NewPMID(domain, cluster, item), true, ""
		}
	}
	if i := strings.IndexByte(s, ':'); i >= 0 && s[i+1:] != "*:*" || domain < 0 {
		return 0, false, "Illegal PMID"
	}
	if domain > pcp.MaxAgentDomain {
		return 0, false, "Illegal domain field in dynamic PMID"
	}
	return pcp.DynamicRoot(domain), true, ""
}

// cutColon returns the text after the colon at the beginning of s, or "".
func cutColon(s string) string {
	rest, _ := strings.CutPrefix(s, ":")
	if rest == s {
		return ""
	}
	return rest
}

// number returns the number at the beginning of s, or -1 if there is none. A
// number that overflows becomes another one, still too large for any use here.
func number(s string) (n int, rest string) {
	i := 0
	for i < len(s) && ctext.IsDigit(s[i]) {
		n = min(n*10+int(s[i]-'0'), 1<<20)
		i++
	}
	if i == 0 {
		return -1, s
	}
	return n, s[i:]
}

// tree reads the whole name space.
func (p *parser) tree(dupOK bool) (*Tree, error) {
	subtrees, err := p.subtrees()
	if err != nil {
		return nil, err
	}
	j := joiner{p: p, tree: New(), byName: make(map[string][]*subtree, len(subtrees)), dupOK: dupOK}
	p.line, p.col = 0, -1
	for _, s := range subtrees {
		j.byName[s.name] = append(j.byName[s.name], s)
	}
	if err := j.join(subtrees); err != nil {
		return nil, err
	}
	p.debug.Printf("Loaded ASCII PMNS\n")
	return j.tree, nil
}

// subtrees is the first pass.
func (p *parser) subtrees() ([]*subtree, error) {
	const (
		outside = iota
		named   // after the name of a subtree
		inside  // after { or a PMID
		node    // after the name of a node
	)
	var all []*subtree
	var cur *subtree
	nodes := 0
	state := outside
	for {
		k, err := p.next()
		if err != nil {
			return nil, err
		}
		if k == end {
			// The C library accepts an open subtree here.
			return all, p.unique(cur)
		}
		switch {
		case state == outside && (k == tokName || k == tokPath):
			cur = &subtree{name: p.token}
			all = append(all, cur)
			nodes++
			state = named
		case state == outside:
			return nil, p.fail(nil, "Expected NAME or PATH")
		case state == named && k == tokOpen:
			state = inside
		case state == named:
			return nil, p.fail(nil, "{ expected")
		case k == tokName:
			cur.nodes = append(cur.nodes, declaration{p.token, pcp.PMIDNull})
			nodes++
			state = node
		case k == tokClose:
			if err := p.unique(cur); err != nil {
				return nil, err
			}
			state = outside
		case state == node && k == tokPMID:
			cur.nodes[len(cur.nodes)-1].id = p.id
			if p.debug != nil {
				p.debug.Printf("pmLoadNameSpace: %s -> %v\n", cur.nodes[len(cur.nodes)-1].name, p.id)
			}
			state = inside
		case state == node:
			return nil, p.fail(nil, "Expected NAME, PMID or }")
		default:
			return nil, p.fail(nil, "Expected NAME or }")
		}
		if nodes > maxNodes {
			return nil, p.fail(nil, fmt.Sprintf("More than %d nodes", maxNodes))
		}
	}
}

// unique checks that no two nodes of a subtree have the same name.
func (p *parser) unique(s *subtree) error {
	if s == nil || len(s.nodes) < 2 {
		return nil
	}
	first := make(map[string]int, len(s.nodes))
	dup := len(s.nodes)
	for i, d := range s.nodes {
		if f, ok := first[d.name]; !ok {
			first[d.name] = i
		} else if f < dup {
			dup = f
		}
	}
	if dup == len(s.nodes) {
		return nil
	}
	return p.failText("Duplicate name \"%s\" in subtree for \"%s\"\n", s.nodes[dup].name, s.name)
}

// A joiner is the second pass.
type joiner struct {
	p      *parser
	tree   *Tree
	byName map[string][]*subtree // the last of each name counts
	dupOK  bool
}

func (j *joiner) take(name string) *subtree {
	all := j.byName[name]
	if len(all) == 0 {
		return nil
	}
	s := all[len(all)-1]
	j.byName[name] = all[:len(all)-1]
	s.used = true
	return s
}

func (j *joiner) join(all []*subtree) error {
	root := j.take("root")
	if root == nil {
		return j.p.failText(`No name space entry for "root"`)
	}
	if j.take("root") != nil {
		return j.p.failText(`Multiple name space entries for "root"`)
	}
	if err := j.attach(&j.tree.root, "", 1, root); err != nil {
		return err
	}
	var err error
	for i := len(all) - 1; i >= 0; i-- {
		if s := all[i]; !s.used {
			err = j.p.failText("Disconnected subtree (\"%s\") in name space", s.name)
		}
	}
	if err != nil || j.dupOK {
		return err
	}
	return j.noDuplicates(&j.tree.root, make(map[pcp.PMID]*node, len(j.tree.byID)))
}

func (j *joiner) attach(np *node, path string, depth int, s *subtree) error {
	for _, d := range s.nodes {
		full := d.name
		if path != "" {
			full = path + "." + d.name
		}
		if depth > maxDepth || len(full) > MaxName {
			return j.p.failText("Name too long or too deep in name space: \"%s\"", full)
		}
		c := j.tree.newChild(np, d.name, false)
		if d.id != pcp.PMIDNull {
			j.tree.setID(c, d.id)
			continue
		}
		sub := j.take(full)
		if sub == nil {
			return j.p.failText("Cannot find definition for non-terminal node \"%s\" in name space", full)
		}
		if err := j.attach(c, full, depth+1, sub); err != nil {
			return err
		}
	}
	return nil
}

// noDuplicates finds the first PMID in traversal order that has two names.
func (j *joiner) noDuplicates(np *node, seen map[pcp.PMID]*node) error {
	for k := np.first(); k != nil; k = k.next {
		if k.id == pcp.PMIDNull {
			if err := j.noDuplicates(k, seen); err != nil {
				return err
			}
			continue
		}
		if other := seen[k.id]; other != nil && !k.id.IsDynamicRoot() {
			return j.p.failText("Duplicate metric id (%s) in name space for metrics \"%s\" and \"%s\"\n", k.id, k.fullName(), other.fullName())
		}
		seen[k.id] = k
	}
	return nil
}
