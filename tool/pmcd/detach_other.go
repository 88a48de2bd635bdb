//go:build !unix

package pmcd

import (
	"os"

	"github.com/go-pcp/pcp/tool/cli"
)

// detach refuses: only Unix has daemons of this kind.
func detach(env *cli.Env) int {
	return env.Fatalf("becoming a daemon is not supported on this system; use -f")
}

// settle has nothing to do: there are no daemons.
func settle(*os.File) error { return nil }
