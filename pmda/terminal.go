package pmda

import (
	"cmp"
	"io"
	"os"

	"golang.org/x/term"
)

// OnTerminal reports whether standard input or output is a terminal and not a
// collector.
func (env Environment) OnTerminal() bool {
	return isTerminal(env.Stdin) || isTerminal(env.Stdout) || env.OutTerminal != nil && env.OutTerminal()
}

// isTerminal reports whether stream, a reader or a writer, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	// Fd would make a pipe block, so that it could not be closed during a read.
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && term.IsTerminal(int(f.Fd()))
}

// TerminalHelp explains to the user at a terminal the program called name and how
// to try it: "pcp agent test" with env.TestName, or name.
func (env Environment) TerminalHelp(name string) {
	io.WriteString(env.Stderr, name+": this is an agent, which a collector starts and talks to through pipes; to try it out: pcp agent test "+
		cmp.Or(env.TestName, name)+"\n")
}
