package main

import (
	"bufio"
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// An output buffers standard output as C's stdio does, so that what appears on
// a terminal, or in one file with standard error, is in the same order as with
// the C tools: by lines to a terminal, else in blocks.
type output struct {
	*bufio.Writer
	lines bool
}

func newOutput(f *os.File) output {
	fi, err := f.Stat()
	terminal := err == nil && fi.Mode()&os.ModeCharDevice != 0
	return output{bufio.NewWriterSize(f, 4096), terminal}
}

func (o output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err == nil && o.lines && bytes.IndexByte(b, '\n') >= 0 {
		err = o.Flush()
	}
	return n, err
}

func (o output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

func (o output) WriteByte(c byte) error {
	err := o.Writer.WriteByte(c)
	if err == nil && o.lines && c == '\n' {
		err = o.Flush()
	}
	return err
}

// terminalRows returns the height of the terminal that standard output is, or 0.
func terminalRows() int {
	ws, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Row)
}

// terminalColumns returns the width of the terminal that standard output is, or 0.
func terminalColumns() int {
	ws, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}

// outTerminal reports whether standard output is a terminal.
func outTerminal() bool {
	_, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// errTerminal reports whether standard error is a terminal.
func errTerminal() bool {
	_, err := unix.IoctlGetWinsize(int(os.Stderr.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
