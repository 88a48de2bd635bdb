//go:build !unix

package cli

import "os"

// Detach refuses: only Unix has daemons of this kind.
func Detach(env *Env) int {
	return env.Fatalf("becoming a daemon is not supported on this system; use -f")
}

// DetachUntilReady refuses too.
func DetachUntilReady(env *Env) int { return Detach(env) }

// TellReady has nothing to do: there are no daemons.
func TellReady(*Env) {}

// Settle has nothing to do: there are no daemons.
func Settle(*os.File) error { return nil }
