package helpfile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Limits of newhelp, in bytes: longer lines are split in two, and longer entries
// cut short, with a warning each.
const (
	MaxLine  = 127
	MaxEntry = 1024
)

// A Status is the outcome of a compilation. It is the exit status of newhelp.
type Status int

// Statuses, the worse one larger.
const (
	OK       Status = 0
	Warned   Status = 1
	Failed   Status = 2 // entries were left out
	blankSet        = " \t\n\v\f\r"
)

// A Compiler makes the two files of help text out of sources, byte for byte as
// newhelp(1) does, with its limits, warnings and oddities, which scripts know.
// Add the sources one after the other; then Dir and Pag return the contents of
// the files.
type Compiler struct {
	// Lookup returns the PMID of a metric's name. Names that it does not
	// know are tried as identifiers.
	Lookup func(name string) (pcp.PMID, error)
	// Program is the name that messages start with.
	Program string
	// Verbose adds warnings about entries without text to the messages, and
	// the names of the others.
	Verbose bool
	// Stderr takes the messages; nil discards them.
	Stderr io.Writer

	status Status
	line   int // continues from source to source
	name   string
	pag    []byte
	list   []index
}

// Status returns how the compilation went so far.
func (c *Compiler) Status() Status { return c.status }

// Pag returns the contents of the file .pag so far.
func (c *Compiler) Pag() []byte { return append([]byte(pagMagic), c.pag...) }

// Dir returns the contents of the file .dir so far, in the byte order of this
// host.
func (c *Compiler) Dir() []byte { return appendDir(nil, c.list) }

func (c *Compiler) say(format string, args ...any) {
	if c.Stderr != nil {
		fmt.Fprintf(c.Stderr, format, args...)
	}
}

// warn writes a message that begins with the place in the source.
func (c *Compiler) warn(s Status, format string, args ...any) {
	c.say("%s: [%s:%d] %s", c.Program, c.name, c.line, fmt.Sprintf(format, args...))
	if s == Failed || c.status == OK {
		c.status = s
	}
}

// Add compiles the source r, which is called name in messages. It returns only
// errors of reading.
func (c *Compiler) Add(r io.Reader, name string) error {
	c.name = name
	in := bufio.NewReader(r)
	var entry []byte
	const (
		outside = iota // before the first entry, or after one without a name
		inside
		full // of an entry that was cut short
	)
	state := outside
	for {
		part, err := readPart(in)
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.line++
		switch {
		case err == nil && len(part) > 0 && part[0] == '#':
			continue
		case err == io.EOF || len(part) > 0 && part[0] == '@':
			if len(entry) > 0 {
				c.entry(entry)
			}
			if err == io.EOF {
				return nil
			}
			entry = append([]byte(nil), bytes.TrimLeft(part[1:], blankSet)...)
			if state == full {
				entry = nil // the text after a truncated entry is lost
			}
			state = inside
			if len(entry) == 0 {
				if c.Verbose {
					c.warn(Warned, "null entry?\n")
				} else if c.status == OK {
					c.status = Warned
				}
				state = outside
				continue
			}
		case state == inside:
			entry = append(entry, part...)
		default:
			continue
		}
		if len(entry) > 0 && entry[len(entry)-1] != '\n' {
			entry = append(entry, '\n')
			c.warn(Warned, "long line split after ...\n%s", entry)
			c.line--
		}
		if len(entry) > MaxEntry {
			entry = append(entry[:MaxEntry-2:MaxEntry-2], '\n')
			c.warn(Warned, "entry truncated after ... %s", entry[MaxEntry-64:])
			state = full
		}
	}
}

// readPart reads up to MaxLine bytes of a line, with its newline if that is
// among them. Bytes after a NUL are lost.
func readPart(in *bufio.Reader) ([]byte, error) {
	var part []byte
	for len(part) < MaxLine {
		b, err := in.ReadByte()
		if err == io.EOF && len(part) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		part = append(part, b)
		if b == '\n' {
			break
		}
	}
	part, _, _ = bytes.Cut(part, []byte{0})
	return part, nil
}

// entry compiles one entry: its first line is name and one line.
func (c *Compiler) entry(text []byte) {
	first, help, _ := strings.Cut(strings.TrimRight(string(text), "\n")+"\n", "\n")
	name, oneline := first, ""
	if i := strings.IndexAny(first, blankSet); i >= 0 {
		name, oneline = first[:i], strings.TrimLeft(first[i+1:], blankSet)
	}
	id, ok := c.ident(name)
	if !ok {
		return
	}
	// Only the entry just before is compared, and only from the third on.
	if n := len(c.list); n > 1 && c.list[n-1].id == id {
		print := pcp.PMID(id).String()
		if id&inDomFlag != 0 {
			print = pcp.InDom(id &^ inDomFlag).String()
		}
		c.warn(Failed, "duplicate key (%s) entry abandoned\n", print)
		return
	}
	e := index{id: id}
	at := func() uint32 { return uint32(len(pagMagic) + len(c.pag)) }
	c.pag = fmt.Appendf(c.pag, "\n@ %s ", name)
	warned := false
	if oneline == "" && c.Verbose {
		c.warn(Warned, "%s: warning, null oneline\n", first)
		warned = true
	}
	e.oneLine = at()
	c.pag = append(append(c.pag, oneline...), 0)
	e.help = at()
	help = strings.TrimRight(help, "\n")
	if help == "" && c.Verbose {
		c.warn(Warned, "%s: warning, null help\n", first)
		warned = true
	}
	c.pag = append(append(c.pag, help...), 0)
	c.list = append(c.list, e)
	if c.Verbose && !warned {
		c.say("%s\n", name)
	}
}

// ident returns the identifier for a name, which is that of a metric, or one,
// two or three numbers.
func (c *Compiler) ident(name string) (id uint32, ok bool) {
	pmid, err := c.Lookup(name)
	if err == nil {
		if pmid == pcp.PMIDNull {
			c.warn(Failed, "%s: unknown metric, entry abandoned\n", name)
			return 0, false
		}
		return uint32(pmid), true
	}
	switch n := numbers(name); len(n) {
	case 3:
		return uint32(pcp.NewPMID(n[0], n[1], n[2])), true
	case 2:
		return uint32(pcp.NewInDom(n[0], n[1])) | inDomFlag, true
	}
	c.warn(Failed, "%s: %s, entry abandoned\n", name, pcp.Code(err).Error())
	return 0, false
}

// numbers returns up to three numbers with dots between them, as
// sscanf("%d.%d.%d") finds them at the start of s.
func numbers(s string) []int {
	var list []int
	for len(list) < 3 {
		i := 0
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		for i < len(s) && ctext.IsDigit(s[i]) {
			i++
		}
		n, err := strconv.Atoi(s[:i])
		if err != nil {
			break
		}
		list = append(list, n)
		if s = s[i:]; s == "" || s[0] != '.' {
			break
		}
		s = s[1:]
	}
	return list
}
