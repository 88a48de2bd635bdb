package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// maxAnswer is how long an answer at the console may be.
const maxAnswer = 1024

// UsersPath returns the path of the collector's own file of accounts:
// PCP_USERS_PATH, or by default the file users beside pmcd.conf.
func (e *Env) UsersPath() string {
	if path := e.Getenv("PCP_USERS_PATH"); path != "" {
		return path
	}
	return filepath.Join(filepath.Dir(e.Config().Get("PCP_PMCDCONF_PATH")), "users")
}

// Ask asks the user at the terminal, whatever the standard streams are. The
// answer to a secret question is not shown. If there is no terminal, Ask says so
// and the answer is empty; it is also empty if PCP_CONSOLE is "none". PCP_CONSOLE
// can name another terminal, or a file with the answer.
func (e *Env) Ask(ctx context.Context, prompt string, secret bool) (string, error) {
	path := cmp.Or(e.Getenv("PCP_CONSOLE"), "/dev/tty")
	if path == "none" {
		return "", nil
	}
	in, err := os.Open(path)
	if err != nil {
		e.Notify("Error", "opening input terminal for read")
		return "", nil
	}
	defer in.Close()
	fd := int(in.Fd())
	if !term.IsTerminal(fd) {
		return firstLine(in)
	}
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		e.Notify("Error", "opening output terminal for write")
		return "", nil
	}
	defer out.Close()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	e.FlushOut()
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

// guardTerminal makes a signal that ends the program first restore a terminal
// that shows what is typed. The function it returns undoes that.
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

// Notify prints a message as pmNotifyErr(3) does, with a level such as "Warning".
func (e *Env) Notify(level, msg string) {
	fmt.Fprintf(e.Stderr, "[%s] %s(%d) %s: %s\n",
		time.Now().In(e.Local()).Format("Mon Jan _2 15:04:05"), e.ProgName(), os.Getpid(), level, msg)
}
