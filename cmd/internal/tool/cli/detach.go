package cli

import (
	"errors"
	"os"

	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
)

// Detach starts this program again with the same arguments, as a daemon: in a session of
// its own and away from the terminal. It returns the exit status of this process; with
// wait, once the daemon is ready (package detach).
func Detach(env *Env, wait bool) int {
	err := detach.Start(detach.Config{Stderr: os.Stderr, Wait: wait}) // until it runs, see detach.Settle
	switch {
	case errors.Is(err, detach.ErrUnsupported):
		return env.Fatalf("%v; use -f", err)
	case err != nil:
		return env.Fatalf("cannot become a daemon: %s", ErrText(err))
	}
	return 0
}
