package cli

import (
	"context"
	"path/filepath"

	"github.com/go-pcp/pcp/internal/console"
)

// UsersPath returns the path of the collector's own file of accounts:
// PCP_USERS_PATH, or by default the file users next to pmcd.conf.
func (e *Env) UsersPath() string {
	if path := e.Getenv("PCP_USERS_PATH"); path != "" {
		return path
	}
	return filepath.Join(filepath.Dir(e.Config().Get("PCP_PMCDCONF_PATH")), "users")
}

// Ask asks the user at the terminal, whatever the standard streams are. The
// answer to a secret question is not shown. If there is no terminal, Ask prints
// an error and the answer is empty; it is also empty if PCP_CONSOLE is "none".
// PCP_CONSOLE can name another terminal, or a file with the answer.
func (e *Env) Ask(ctx context.Context, prompt string, secret bool) (string, error) {
	return console.Ask(ctx, e.Getenv("PCP_CONSOLE"), prompt, secret, e.Notify, e.FlushOut)
}

// Notify prints a message as pmNotifyErr(3) does, with a level such as "Warning".
func (e *Env) Notify(level, msg string) { e.program().Notify(level, msg) }
