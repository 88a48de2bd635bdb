// Package lock is pmlock: it makes a file that must not be there yet.
//
//	while ! pmlock -v /var/log/pcp/pmlogger/lock; do pmsleep 0.1; done
package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmlock.
var Command = &cli.Command{
	Name:     "lock",
	Link:     "pmlock",
	Group:    cli.Scripts,
	Summary:  "create a lock file for a script unless it exists",
	Synopsis: "[-v,--verbose] file",
	Doc: `Creates an empty file without any permissions. The exit status is 0 on success, and 1 if the file
exists or cannot be created, so only one of several concurrent calls succeeds. The owner of the lock
removes the file when done. It takes one option, as the first argument: -v or --verbose prints the
reason of a failure.`,
	Examples:    []cli.Example{{Line: "pcp lock ./lock", Text: "take a lock for the following commands of a script"}},
	SeeAlso:     []string{"pmlogger_check(1)"},
	DieOnSignal: true,
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	args, verbose := env.Args, false
	if len(args) > 0 && (args[0] == "-v" || args[0] == "--verbose") {
		args, verbose = args[1:], true
	}
	if len(args) == 1 && args[0] == "--help" && !env.Classic() {
		env.Help(env.Command)
		return 0
	}
	if len(args) != 1 || args[0] == "-?" || args[0] == "--help" {
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	f, err := os.OpenFile(args[0], os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0)
	if err == nil {
		f.Close()
		return 0
	}
	if !verbose {
		return 1
	}
	if dir := filepath.Dir(args[0]); errors.Is(err, fs.ErrPermission) && !writable(dir) {
		fmt.Fprintf(env.Stdout, "%s: Directory not writable\n", dir)
	} else {
		fmt.Fprintf(env.Stdout, "%s: %s\n", args[0], cli.ErrText(err))
	}
	return 1
}
