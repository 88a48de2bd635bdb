package nsedit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
)

// LockCommand is lockpmns.
var LockCommand = &cli.Command{
	Name:     "ns lock",
	Link:     "lockpmns",
	Group:    cli.WriteAgent,
	Summary:  "lock a name space file before a change",
	Synopsis: "[file]",
	Options:  func() []cli.Option { return []cli.Option{cli.OptHelp} },
	Doc: `Creates the file FILE.lock, by default for $PCP_VAR_DIR/pmns/root. If it exists, the command waits
up to 100 seconds until it is removed or its process has ended; after that it continues without a
lock, and the exit status is 1. "pcp ns unlock" removes the lock.`,
	Examples:    []cli.Example{{Line: "pcp ns lock && pmnsadd clock.pmns; pcp ns unlock", Text: "add names under a lock"}},
	DieOnSignal: true,
	Run: func(ctx context.Context, env *cli.Env) int {
		path, status, exit := lockArg(env)
		if exit {
			return status
		}
		// The lock belongs to the script, which continues to run.
		if err := takeLock(ctx, path, os.Getppid(), lockPause, lockTries); err != nil {
			return lockFailed(env, path, err)
		}
		return 0
	},
}

// lockFailed reports why taking the lock failed.
func lockFailed(env *cli.Env, path string, err error) int {
	if errors.Is(err, errLocked) {
		fmt.Fprintf(env.Stdout, "%s: Warning: Unable to acquire lock (%s)\n                   after 120 seconds ... continuing anyway\n", env.ProgName(), path)
		return 1
	}
	return env.Fatalf("%s", cli.FileErrText(err))
}

// UnlockCommand is unlockpmns.
var UnlockCommand = &cli.Command{
	Name:        "ns unlock",
	Link:        "unlockpmns",
	Group:       cli.WriteAgent,
	Summary:     "unlock a name space file",
	Doc:         `Removes a lock of "pcp ns lock". The default is that of this machine's name space.`,
	Examples:    []cli.Example{{Line: "pcp ns unlock ./root", Text: "remove the lock of a file"}},
	Synopsis:    "[file]",
	Options:     func() []cli.Option { return []cli.Option{cli.OptHelp} },
	DieOnSignal: true,
	Run: func(_ context.Context, env *cli.Env) int {
		path, status, exit := lockArg(env)
		if exit {
			return status
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return env.Fatalf("%s", cli.FileErrText(err))
		}
		return 0
	},
}

// lockArg returns the path of the lock that the arguments name.
func lockArg(env *cli.Env) (path string, status int, exit bool) {
	o := cli.ParseArgs(env, cli.ParseConfig{})
	if len(o.Args) > 1 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return "", status, true
	}
	path = filepath.Join(pmnsDir(env), "root")
	if len(o.Args) == 1 {
		path = o.Args[0]
	}
	return path + ".lock", 0, false
}

// Time limit for a lock, as in the script of the C implementation.
const (
	lockPause = 5 * time.Second
	lockTries = 20
)

// errLocked is the error if another process holds a lock.
var errLocked = errors.New("locked")

// lockTag marks locks whose process may be checked. The scripts of the C implementation
// write the number of a process that has ended.
const lockTag = "pcp-ns"

// takeLock creates the file at path for a process. If it exists, it retries a number of
// times after a pause.
func takeLock(ctx context.Context, path string, pid int, pause time.Duration, tries int) error {
	for i := 0; ; i++ {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_, err = fmt.Fprintf(f, "%d %s\n", pid, lockTag)
			if err = errors.Join(err, f.Close()); err != nil {
				os.Remove(path)
			}
			return err
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if removed, err := removeStale(ctx, path); err != nil {
			return err
		} else if removed && i < tries {
			continue
		}
		if i >= tries {
			return errLocked
		}
		if !pacing.Sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
}

// removeStale removes a lock whose process has ended. If several processes try, one
// succeeds, and none removes the next lock.
func removeStale(ctx context.Context, path string) (bool, error) {
	if !stale(path) {
		return false, nil
	}
	unlock, err := alone(ctx, path)
	if err != nil {
		return false, err
	}
	defer unlock()
	return stale(path) && os.Remove(path) == nil, nil
}

// stale reports whether the process of a lock is known to have ended.
func stale(path string) bool {
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	number, tag, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 1 || tag != lockTag {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	err = p.Signal(syscall.Signal(0))
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}
