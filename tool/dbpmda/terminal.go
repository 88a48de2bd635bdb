package dbpmda

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/tool/cli"
)

// terminal returns a reader of lines with editing and history if standard
// input is a terminal, else nil.
func terminal(env *cli.Env) lineReader {
	f, ok := env.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &editor{fd: int(f.Fd()), term: term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{f, unbuffered{env}}, "")}
}

// unbuffered is a writer to standard output that keeps nothing back.
type unbuffered struct{ env *cli.Env }

func (u unbuffered) Write(b []byte) (int, error) {
	n, err := u.env.Stdout.Write(b)
	if err == nil {
		err = u.env.FlushOut()
	}
	return n, err
}

// An editor edits lines on a terminal, which is in raw mode only meanwhile.
type editor struct {
	fd   int
	term *term.Terminal
}

func (e *editor) ReadLine(prompt string) (string, error) {
	old, err := term.MakeRaw(e.fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(e.fd, old)
	if width, height, err := term.GetSize(e.fd); err == nil && width > 0 {
		e.term.SetSize(width, height)
	}
	e.term.SetPrompt(prompt)
	return e.term.ReadLine()
}
