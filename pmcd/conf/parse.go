package conf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/access"
)

// A File is the contents of a pmcd.conf.
type File struct {
	Agents []Agent
	Access *access.Rules // allow everything if there is no [access] section
}

// maxLine is how long a line of a pmcd.conf may be, with its continuations.
const maxLine = 2199

// An Error describes the mistakes in a pmcd.conf, in the lines that pmcd(1) logs
// about them.
type Error struct {
	Lines    []string
	Harmless bool // only warnings: a rule for a host without an address, or a rule that contradicts another, does not count
}

func (e *Error) Error() string { return strings.Join(e.Lines, "\n") }

// ReadFile reads the configuration at path, and the access rules that the file
// path with ".access" after it adds. Mistakes in them are an *[Error]. If only
// lines of agents are wrong, or the error is harmless, the rest of the file is
// returned with it.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	conf, confErr := Parse(f)
	if conf == nil {
		return nil, confErr
	}
	extra, err := os.Open(path + ".access")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return conf, confErr
	case err != nil:
		return nil, err
	}
	defer extra.Close()
	p := newParser("access", extra)
	p.special = true
	p.access(conf.Access)
	err = p.add(confErr, &conf)
	return conf, err
}

// add returns the error of a first file together with the parser's own. If that
// is more than warnings nothing is left of either file.
func (p *parser) add(first error, conf **File) error {
	err := p.done()
	if err == nil {
		return first
	}
	second := err.(*Error)
	if !second.Harmless {
		*conf = nil
	}
	if first == nil {
		return err
	}
	return &Error{
		Lines:    slices.Concat(first.(*Error).Lines, second.Lines),
		Harmless: first.(*Error).Harmless && second.Harmless,
	}
}

// Parse reads a configuration in the format of pmcd.conf:
//
//	name domain dso entry path
//	name domain pipe binary [notready] command argument...
//	name domain socket inet|ipv6|unix address [command argument...]
//	[access]
//	allow|disallow [hosts] host, ... : all [except ops] | fetch, store, maximum n connections ;
//
// Fields are separated by white space; "..." quotes a field, \" and \# are the
// characters themselves, # starts a comment and \ continues a line. See
// [ReadFile] for the error.
func Parse(r io.Reader) (*File, error) {
	return parseFile(r, &File{Access: new(access.Rules)})
}

// Check reads a configuration as [Parse] does, but looks up no hosts, which can
// take long. So File.Access is nil, and warnings of hosts without addresses are
// missing.
func Check(r io.Reader) (*File, error) {
	conf, err := parseFile(r, &File{Access: access.Unresolved()})
	if conf != nil {
		conf.Access = nil
	}
	return conf, err
}

// Lenient reads the agents of a configuration and uses as much of each line as
// it can, right or wrong, as libpcp does for local contexts. Fields missing from
// a line are zero.
func Lenient(r io.Reader) []Agent {
	p := newParser("pmcd", r)
	p.lenient = true
	conf := new(File)
	p.agents(conf)
	return conf.Agents
}

func parseFile(r io.Reader, conf *File) (*File, error) {
	p := newParser("pmcd", r)
	p.agents(conf)
	bad := p.mistakes
	if !p.eof() {
		p.accessSection(conf.Access)
	}
	if p.failed != nil || p.mistakes > bad {
		conf = nil
	}
	return conf, p.done()
}

// A parser scans and parses. Its state is that of the present token.
type parser struct {
	source  string // of messages
	in      *bufio.Reader
	atEnd   bool   // nothing is left to read
	line    string // rest of the line after the present token
	no      int
	tok     string // "" at the end of the file, "\n" at that of a line
	quoted  bool
	special bool // in access rules: , : ; [ ] are tokens, ends of lines are not
	lenient bool // agents count whose lines are wrong

	lines    []string // the messages
	mistakes int      // the number of lines that are not only warnings
	failed   error    // of the scanner; nothing more can be read
}

func newParser(source string, r io.Reader) *parser {
	return &parser{source: source, in: bufio.NewReader(r), line: "\n"}
}

// done returns the mistakes as an error.
func (p *parser) done() error {
	if p.failed != nil {
		p.mistakes++
		p.lines = append(p.lines, p.failed.Error(), p.source+" config: Can't continue, giving up")
	}
	if len(p.lines) == 0 {
		return nil
	}
	return &Error{Lines: p.lines, Harmless: p.mistakes == 0}
}

func (p *parser) errorf(format string, args ...any) {
	if p.failed != nil {
		return // it has enough
	}
	p.mistakes++
	p.lines = append(p.lines, fmt.Sprintf("%s config[line %d]: Error: "+format, append([]any{p.source, p.no}, args...)...))
}

func (p *parser) fail(format string, args ...any) {
	p.failed = fmt.Errorf("%s config[line %d]: Error: "+format, append([]any{p.source, p.no}, args...)...)
	p.tok, p.quoted = "", false
}

// readLine reads the next line with its continuations; it ends with "\n", and
// at the end of the file is "". The end counts as a separate line where it
// follows a newline.
func (p *parser) readLine() {
	p.line = ""
	if p.atEnd {
		return
	}
	for {
		text, err := p.readText()
		if err != nil && err != io.EOF {
			p.fail("%v", err)
			return
		}
		if err == io.EOF {
			p.atEnd = true
			if p.line += text; p.line != "" {
				p.line += "\n"
			}
			p.no++
			return
		}
		head, more := strings.CutSuffix(text, "\\\n")
		if !more {
			p.no++
			p.line += text
			return
		}
		p.line += head + " "
	}
}

// readText reads up to a newline, but not more than a line may have.
func (p *parser) readText() (string, error) {
	var b strings.Builder
	for {
		c, err := p.in.ReadByte()
		if err != nil {
			return b.String(), err
		}
		b.WriteByte(c)
		if c == '\n' {
			return b.String(), nil
		}
		if len(p.line)+b.Len() > maxLine {
			p.no++
			return "", fmt.Errorf("ridiculously long line (%d characters)", maxLine+1) // as C counts
		}
	}
}

// next moves to the next token.
func (p *parser) next() {
	for {
		if p.failed != nil {
			return
		}
		if p.line == "" || p.line == "\n" && p.tok == "\n" || p.line == "\n" && p.no == 0 {
			p.readLine()
			if p.failed != nil {
				return
			}
			if p.line == "" {
				p.tok, p.quoted = "", false
				return
			}
		}
		p.scan()
		if p.tok != "\n" || !p.special {
			return
		}
	}
}

// scan takes a token from p.line, which ends with "\n". That alone stays.
func (p *parser) scan() {
	p.quoted = false
	s := strings.TrimLeft(p.line, " \t\r\v\f")
	if s[0] == '\n' || s[0] == '#' {
		p.line, p.tok = "\n", "\n"
		return
	}
	if p.special && strings.IndexByte(",:;[]", s[0]) >= 0 {
		p.tok, p.line = s[:1], s[1:]
		return
	}
	var b strings.Builder
	i := 0
	if s[0] == '"' {
		p.quoted = true
		i++
	}
	for ; ; i++ {
		c := s[i]
		switch {
		case c == '\n' && p.quoted:
			p.fail("unterminated quoted string")
			return
		case c == '\\' && (s[i+1] == '"' || s[i+1] == '#'):
			i++
			b.WriteByte(s[i])
			continue
		case c == '"' && p.quoted:
			p.tok, p.line = b.String(), s[i+1:]
			return
		case !p.quoted && (c == '#' || strings.IndexByte(" \t\r\v\f\n", c) >= 0),
			!p.quoted && p.special && strings.IndexByte(",:;[]", c) >= 0:
			p.tok, p.line = b.String(), s[i:]
			return
		}
		b.WriteByte(c)
	}
}

// is reports whether the token is a keyword, in any case.
func (p *parser) is(word string) bool { return strings.EqualFold(p.tok, word) }

// eof reports whether there are no more tokens.
func (p *parser) eof() bool { return p.failed != nil || p.tok == "" && !p.quoted }

// ended reports whether the line has no more tokens.
func (p *parser) ended() bool { return p.tok == "\n" || p.eof() }

func (p *parser) number() (int, bool) {
	for _, c := range []byte(p.tok) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(p.tok)
	return n, err == nil
}

// agents parses up to the access section or the end.
func (p *parser) agents(conf *File) {
	p.next()
	for !p.eof() {
		if strings.HasPrefix(p.tok, "[") && !p.quoted {
			return
		}
		if p.tok != "\n" {
			if spec, ok := p.agent(conf.Agents); ok || p.lenient {
				conf.Agents = append(conf.Agents, spec)
			}
		}
		for p.failed == nil && !p.ended() {
			p.next()
		}
		p.next()
	}
}

func (p *parser) agent(have []Agent) (spec Agent, ok bool) {
	spec.Name = p.tok
	p.next()
	n, isNumber := p.number()
	if p.ended() || !isNumber {
		p.errorf("expected domain number for \"%s\" agent", spec.Name)
		return spec, false
	}
	if spec.Domain = n; n < 1 || n > pcp.MaxAgentDomain {
		p.errorf("Illegal domain number (%d) for \"%s\" agent", n, spec.Name)
		return spec, false
	}
	for _, other := range have {
		if other.Domain == spec.Domain {
			p.errorf("domain number for \"%s\" agent clashes with \"%s\" agent", spec.Name, other.Name)
			return spec, false
		}
	}
	p.next()
	switch {
	case p.is("dso"):
		return spec, p.dso(&spec)
	case p.is("socket"):
		return spec, p.socket(&spec)
	case p.is("pipe"):
		return spec, p.pipe(&spec)
	}
	p.errorf("expected `dso', `socket' or `pipe'")
	return spec, false
}

func (p *parser) dso(spec *Agent) bool {
	spec.Kind = DSO
	if p.next(); p.ended() {
		p.errorf("expected DSO entry point")
		return false
	}
	spec.Entry = p.tok
	if p.next(); p.ended() {
		p.errorf("expected DSO pathname")
		return false
	}
	spec.Path = p.tok
	if !strings.HasPrefix(spec.Path, "/") {
		p.errorf("path \"%s\" to PMDA is not absolute", spec.Path)
		return false
	}
	if p.next(); !p.ended() {
		p.errorf("too many parameters for DSO")
		return false
	}
	return true
}

func (p *parser) socket(spec *Agent) bool {
	spec.Kind = Socket
	p.next()
	switch {
	case p.is("inet"):
		spec.Network = "tcp4"
	case p.is("ipv6"):
		spec.Network = "tcp6"
	case p.is("unix"):
		spec.Network = "unix"
	default:
		p.errorf("expected socket address domain (`inet', `ipv6', or `unix')")
		return false
	}
	if p.next(); p.ended() {
		p.errorf("expected socket port name or number")
		return false
	}
	spec.Address = p.tok
	if _, isNumber := p.number(); spec.Network != "unix" && !isNumber {
		port, err := net.LookupPort("tcp", spec.Address)
		if err != nil {
			p.errorf("failed to get port number for port name %s", spec.Address)
			return false
		}
		spec.Address = strconv.Itoa(port)
	}
	p.next()
	spec.Args = p.command()
	return p.failed == nil
}

func (p *parser) pipe(spec *Agent) bool {
	spec.Kind = Pipe
	if p.next(); !p.is("binary") {
		p.errorf("pipe PDU type expected (`binary')")
		return false
	}
	for p.next(); p.is("notready"); p.next() {
		spec.NotReady = true
	}
	if p.ended() {
		p.errorf("command to create pipe agent expected.")
		return false
	}
	spec.Args = p.command()
	return p.failed == nil
}

// command takes the rest of the line.
func (p *parser) command() (args []string) {
	for ; p.failed == nil && !p.ended(); p.next() {
		args = append(args, p.tok)
	}
	return args
}

// accessSection parses the section that begins with "[access]", in one token or
// several.
func (p *parser) accessSection(a *access.Rules) {
	p.special = true
	head := p.tok
	// The line was read before brackets were special.
	rest, ok := strings.CutPrefix(head, "[")
	p.line = rest + p.line
	p.next()
	if !ok || !p.is("access") {
		p.errorf("\"access\" keyword expected")
		return
	}
	if p.next(); p.tok != "]" {
		p.errorf("']' expected")
		return
	}
	p.next()
	p.access(a)
}
