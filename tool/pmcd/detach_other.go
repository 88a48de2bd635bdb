//go:build !unix

package pmcd

import "github.com/go-pcp/pcp/tool/cli"

// detach refuses: only Unix has daemons of this kind.
func detach(env *cli.Env) int {
	return env.Fatalf("becoming a daemon is not supported on this system; use -f")
}
