package dstat

import (
	"fmt"
	"io"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A terminal is the destination of a report: a terminal or a substitute.
type terminal struct {
	is  bool
	env *cli.Env
}

func newTerminal(env *cli.Env) terminal {
	return terminal{env.OutTerminal != nil && env.OutTerminal(), env}
}

// size returns height and width.
func (t terminal) size() (rows, cols int) {
	if !t.is || t.env.Rows == nil || t.env.Columns == nil {
		return 25, 80
	}
	return t.env.Rows(), t.env.Columns()
}

// colorful reports whether the terminal has colours, and prints a message if that is
// unknown.
func (t terminal) colorful() bool {
	if !t.is {
		return false
	}
	term := t.env.Getenv("TERM")
	dirs := terminfoDirs(t.env.Getenv)
	text, err := readTerminfo(dirs, term)
	if err != nil {
		if term != "" && !anyTerminfo(dirs) {
			return term != "dumb" // no terminal descriptions are installed
		}
		t.env.FlushOut()
		fmt.Fprintf(t.env.Stderr, "Color support is disabled as curses does not find terminal \"%s\".", orNone(term))
		return false
	}
	n, ok := terminfoNumber(text, maxColors)
	return ok && n >= 0
}

// orNone formats a variable as Python prints it.
func orNone(s string) string {
	if s == "" {
		return "None"
	}
	return s
}

// setTitle sets the window title of a terminal to the command, where C programs do so.
func (t terminal) setTitle(w io.Writer, host, command string) {
	term := t.env.Getenv("TERM")
	shell := t.env.Getenv("SHELL")
	if shell == "" {
		shell = t.env.Getenv("XTERM_SHELL")
	}
	if !t.is || shell != "/bin/bash" || !strings.HasPrefix(term, "xterm") && !strings.HasPrefix(term, "screen") {
		return
	}
	host, _, _ = strings.Cut(host, ".")
	fmt.Fprintf(w, "%s(%s@%s) %s%s", t.env.Own("\033]0;"), userName(t.env.Getenv), host, command, t.env.Own("\007"))
}

// terminfoDirs lists the directories of terminal descriptions.
func terminfoDirs(getenv func(string) string) []string {
	var dirs []string
	if dir := getenv("TERMINFO"); dir != "" {
		dirs = append(dirs, dir)
	}
	home := getenv("HOME")
	if u, err := user.Current(); home == "" && err == nil {
		home = u.HomeDir
	}
	if home != "" {
		dirs = append(dirs, filepath.Join(home, ".terminfo"))
	}
	return append(dirs, "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo")
}
