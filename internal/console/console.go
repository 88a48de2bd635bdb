package console

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// maxAnswer is how long an answer at the console may be.
const maxAnswer = 1024

// Ask asks the user at the terminal, regardless of the standard streams. The answer to a
// secret question is not shown. If there is no terminal, Ask reports that by notify and the
// answer is empty. It is also empty if path, which is that of PCP_CONSOLE, is "none"; else
// path can name another terminal, or a file with the answer. Ask calls flush before it prints.
func Ask(ctx context.Context, path, prompt string, secret bool, notify func(level, msg string), flush func() error) (string, error) {
	path = cmp.Or(path, "/dev/tty")
	if path == "none" {
		return "", nil
	}
	in, err := os.Open(path)
	if err != nil {
		notify("Error", "opening input terminal for read")
		return "", nil
	}
	defer in.Close()
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		return firstLine(in)
	}
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		notify("Error", "opening output terminal for write")
		return "", nil
	}
	defer out.Close()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	flush()
	io.WriteString(out, prompt)
	if !secret {
		return firstLine(in)
	}
	defer guardTerminal(fd, out)()
	answer, err := term.ReadPassword(fd)
	io.WriteString(out, "\n")
	if err == nil && len(answer) > maxAnswer {
		err = errors.New("answer is too long")
	}
	return string(answer), err
}

// guardTerminal makes a signal that ends the program first restore the echo of
// the terminal. The function it returns undoes that.
func guardTerminal(fd int, out io.Writer) func() {
	state, err := term.GetState(fd)
	if err != nil {
		return func() {}
	}
	sigs := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case sig := <-sigs:
			term.Restore(fd, state)
			io.WriteString(out, "\n")
			signal.Reset(sig)
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				p.Signal(sig)
			}
		case <-done:
		}
	}()
	return func() {
		signal.Stop(sigs)
		close(done)
	}
}

// firstLine reads a line, and reads as little as possible beyond it.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxAnswer+1)).ReadString('\n')
	switch {
	case len(line) > maxAnswer:
		return "", errors.New("answer is too long")
	case err != nil && err != io.EOF:
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
