package ieconf

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A printer writes the output of commands. On a terminal it stops after each
// screenful.
type printer struct {
	w     io.Writer
	begin string // what goes to the beginning of the line
	pages bool
	rows  func() int
	key   func(prompt string) (byte, error) // waits for a key
	lines int                               // since the last stop
	skip  bool                              // the user wants no more of this
}

// minRows is the height of a screen at least.
const minRows = 24

func (p *printer) init(env *cli.Env) { p.w, p.begin, p.rows = env.Stdout, env.Own("\r"), env.Rows }

const (
	shortPrompt = "more? (h=help) "
	longPrompt  = "[q or n to stop, y or <space> to go on, <enter> to step] more? "
)

// page makes the printer stop after each screenful.
func (p *printer) page(env *cli.Env, in *os.File) {
	p.pages = true
	p.key = func(prompt string) (byte, error) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return 0, err
		}
		defer term.Restore(int(in.Fd()), old)
		fmt.Fprintf(p.w, "%s%s%s%s", p.begin, strings.Repeat(" ", len(longPrompt)), p.begin, prompt)
		env.FlushOut()
		var b [1]byte
		if _, err := in.Read(b[:]); err != nil {
			return 0, err
		}
		return b[0], nil
	}
}

// start begins the output of a command.
func (p *printer) start() { p.lines, p.skip = 0, false }

func (p *printer) printf(format string, args ...any) {
	if p.skip {
		return
	}
	if p.pages {
		rows := minRows
		if p.rows != nil {
			rows = max(rows, p.rows())
		}
		if p.lines >= rows-1 {
			p.more(rows)
		}
		if p.skip {
			return
		}
	}
	text := fmt.Sprintf(format, args...)
	p.lines += strings.Count(text, "\n")
	io.WriteString(p.w, text)
}

// more asks whether to continue.
func (p *printer) more(rows int) {
	prompt := shortPrompt
	for {
		c, err := p.key(prompt)
		if err != nil {
			p.skip = true
			break
		}
		switch c {
		case 'n', 'q', 3, 4: // ctrl-C and ctrl-D, too
			p.skip = true
		case 'y', ' ':
			p.lines = 0
		case '\r', '\n':
			p.lines = rows
		default:
			prompt = longPrompt
			continue
		}
		break
	}
	fmt.Fprintf(p.w, "%s%s%s", p.begin, strings.Repeat(" ", len(longPrompt)), p.begin)
}

// errorf prints an error, as one of a command on a terminal, and of the program otherwise.
func (t *tool) errorf(format string, args ...any) {
	if t.out.skip {
		return
	}
	text := fmt.Sprintf(format, args...)
	if t.out.pages {
		fmt.Fprintf(t.env.Stdout, "  Error - %s\n", text)
	} else {
		fmt.Fprintf(t.env.Stderr, "%s: error - %s\n", t.env.ProgName(), text)
	}
	t.out.lines++
}
