package getopt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/go-pcp/pcp/config"
)

// Messages collects the messages of a program to its user, until Flush writes all of
// them at once (pmprintf(3)). It is for one goroutine at a time.
type Messages struct {
	Name   string         // of the program
	Stderr io.Writer      // where Flush writes by default
	Config *config.Config // has PCP_STDERR and PCP_XCONFIRM_PROG

	text []byte
}

// Printf keeps a message for Flush, as pmprintf(3) does.
func (m *Messages) Printf(format string, args ...any) { m.text = fmt.Appendf(m.text, format, args...) }

// Errorf keeps the message "program: ..." and a newline for Flush.
func (m *Messages) Errorf(format string, args ...any) {
	m.text = append(m.text, m.Name+": "...)
	m.Printf(format, args...)
	m.text = append(m.text, '\n')
}

// Take returns and removes the messages that Printf and Errorf kept.
func (m *Messages) Take() []byte {
	text := m.text
	m.text = nil
	return text
}

// Kept returns the messages that Printf and Errorf kept. They are valid until the
// next call.
func (m *Messages) Kept() []byte { return m.text }

// Flush writes the messages that Printf kept (pmflush(3)): to standard error or, if the
// environment variable PCP_STDERR is set, at the end of the file that it names. If it is
// DISPLAY, Flush shows them in a window, by the program that PCP_XCONFIRM_PROG names in the
// environment or pcp.conf, and waits until the user has closed it. Where a file or the
// program cannot be used, Flush reports that and writes to standard error.
func (m *Messages) Flush() {
	text := m.Take()
	if len(text) == 0 {
		return
	}
	path := m.Config.Getenv("PCP_STDERR")
	switch {
	case path == "":
	case strings.EqualFold(path, "DISPLAY"):
		if m.confirm(string(text)) {
			return
		}
	default:
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err == nil {
			_, err = f.Write(text)
			err = errors.Join(err, f.Close())
		}
		if err == nil {
			return
		}
		fmt.Fprintf(m.Stderr, "pmflush: cannot append to file '%s' (from $PCP_STDERR): %s\n", path, ErrText(err))
	}
	m.Stderr.Write(text)
}

// slider is the length of a text from which on its window can be scrolled.
const slider = 80

// confirm shows text in a window, and reports whether there was a program for that.
func (m *Messages) confirm(text string) bool {
	program, ok := m.Config.Lookup("PCP_XCONFIRM_PROG")
	if !ok {
		fmt.Fprintf(m.Stderr, "%s: using stderr - no PCP_XCONFIRM_PROG\n", m.Name)
		return false
	}
	if _, err := os.Stat(program); err != nil {
		fmt.Fprintf(m.Stderr, "%s: using stderr - cannot access %s: %s\n", m.Name, program, ErrText(err))
		return false
	}
	args := []string{"-t", text, "-c", "-B", "OK", "-icon", "info"}
	if len(text) > slider {
		args = append(args, "-useslider")
	}
	args = append(args, "-header", "PCP Information")
	if !strings.Contains(program, "/") {
		program = "./" + program // as it was found
	}
	err := exec.Command(program, args...).Run()
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
		fmt.Fprintf(m.Stderr, "%s: cannot run %s: %s\n", m.Name, program, ErrText(err))
		return false
	}
	return true
}
