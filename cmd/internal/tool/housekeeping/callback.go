package housekeeping

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Unquote removes the quotes around a word of a control file.
func Unquote(s string) string {
	for _, q := range []string{`"`, `'`} {
		if t, ok := strings.CutPrefix(s, q); ok {
			if t, ok := strings.CutSuffix(t, q); ok {
				return t
			}
		}
	}
	return s
}

// Program returns the first word of a command line.
func Program(line string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return name
}

// callbackEnd is how long a callback that is interrupted may take to end.
const callbackEnd = 5 * time.Second

// Callback runs a command line that a user has configured, with one more argument and
// with these variables in its environment. It is for a shell, as in the C implementation, and
// the one thing here for which there must be one. It returns the exit status.
func Callback(ctx context.Context, env *cli.Env, out io.Writer, environ []string, line, arg string) (status int, err error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line+` "$1"`, "sh", arg)
	cmd.Env = append(cmd.Environ(), environ...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = callbackEnd
	err = cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}
