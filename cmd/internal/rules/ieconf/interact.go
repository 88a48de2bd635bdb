package ieconf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-pcp/pcp/cmd/internal/pmie/ieconf"
	"github.com/go-pcp/pcp/internal/console"
)

// A lineReader reads whole lines from a terminal.
type lineReader interface {
	ReadLine(prompt string) (string, error)
}

// interact does the commands of standard input.
func (t *tool) interact() {
	e := console.NewEditor(t.env.Stdin, t.env.Editor())
	if e == nil {
		t.user = false
		t.commands(ieconf.NewScanner(bufio.NewReader(t.env.Stdin)))
		return
	}
	if in, ok := t.env.Stdin.(*os.File); ok && t.env.OutTerminal != nil && t.env.OutTerminal() {
		t.out.page(t.env, in)
	}
	t.dialogue(e)
}

// dialogue does the commands that a user types.
func (t *tool) dialogue(tty lineReader) {
	fmt.Fprintf(t.env.Stdout, "Updates will be made to %s\n", t.path)
	for !t.done && t.ctx.Err() == nil {
		t.out.start()
		fmt.Fprint(t.env.Stdout, "\n")
		t.env.FlushOut()
		line, err := tty.ReadLine(t.env.ProgName() + "> ")
		if errors.Is(err, console.ErrInterrupted) {
			t.status, t.done = 130, true // as if SIGINT had ended it
			return
		} else if err != nil {
			t.quit()
			return
		}
		// A line of its own has its end.
		t.command(ieconf.NewScanner(bytes.NewReader(append([]byte(line), '\n'))))
	}
}

// commands does the commands of a file.
func (t *tool) commands(s *ieconf.Scanner) {
	for !t.done && t.ctx.Err() == nil {
		t.command(s)
	}
}

// command does one command.
func (t *tool) command(s *ieconf.Scanner) {
	var words []string
	for len(words) < maxArgs {
		word, ok, err := s.Next()
		switch {
		case err == io.EOF:
			t.quit() // a line without an end is ignored
			return
		case err != nil:
			t.errorf("failed to parse argument %d correctly", len(words)+1)
			return
		case !ok:
			if len(words) > 0 {
				t.configure(words)
			}
			return
		}
		words = append(words, word)
	}
	t.errorf("too many arguments - try \"help\"")
	for {
		_, ok, err := s.Next()
		if err == io.EOF {
			t.quit()
		}
		if !ok {
			return
		}
	}
}
