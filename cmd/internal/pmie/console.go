package pmie

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/go-pcp/pcp/internal/daemonlog"
)

// A console takes the output and the messages of an engine.
type console struct {
	name     string // of the program
	out, err io.Writer
	buf      []byte // output that is not written yet
	failure  error  // what stopped the engine
}

// fail stops the Engine for an error that affects all rules.
func (c *console) fail(err error) {
	if c.failure == nil {
		c.failure = err
	}
}

// errorf reports an error, unless an earlier error has stopped the Engine.
func (c *console) errorf(format string, args ...any) {
	if c.failure == nil {
		c.flush()
		fmt.Fprintf(c.err, format, args...)
	}
}

// flush writes the output of an evaluation so far: the lines of one evaluation are written
// together, unless a message comes between them.
func (c *console) flush() {
	if len(c.buf) > 0 {
		c.out.Write(c.buf)
		c.buf = c.buf[:0]
	}
}

// notify writes a message in the format of a daemon's log.
func (c *console) notify(level slog.Level, text string) {
	c.flush()
	fmt.Fprintln(c.err, daemonlog.Line(c.name, level, strings.TrimSuffix(text, "\n")))
}
