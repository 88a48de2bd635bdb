package nsedit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// ReplaceCommand is ReplacePmnsSubtree.
var ReplaceCommand = &cli.Command{
	Name:     "ns replace",
	Link:     "ReplacePmnsSubtree",
	Group:    cli.WriteAgent,
	Summary:  "replace a subtree of a name space file",
	Synopsis: "[-n namespace] pmns-subtree replacement-file",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'n', Arg: "namespace", Help: "the file to change [default $PCP_VAR_DIR/pmns/root]"},
			cli.OptHelp,
		}
	},
	Doc: `Removes the names at and below pmns-subtree and adds those of the replacement file, which has the
format of pmnsadd and is then moved next to the name space, under the name of the subtree. After an
error nothing is changed.`,
	Examples:    []cli.Example{{Line: "pcp ns replace sample sample.pmns", Text: "replace all names below sample"}},
	DieOnSignal: true,
	Run:         runReplace,
}

func runReplace(ctx context.Context, env *cli.Env) int {
	path := filepath.Join(pmnsDir(env), "root")
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		if opt.Short != 'n' {
			return false
		}
		if path = arg; arg == "" {
			o.Usagef("-n requires a namespace")
		}
		return true
	}})
	if len(o.Args) != 2 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	subtree, file := o.Args[0], o.Args[1]
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return env.Fatalf("namespace doesn't exist: %s", path)
	}
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return env.Fatalf("can't read replacement namespace subtree file for %s: %s", subtree, file)
	}
	lock := path + ".lock"
	if err := takeLock(ctx, lock, os.Getpid(), lockPause, lockTries); err != nil {
		if status := lockFailed(env, lock, err); ctx.Err() != nil || err != errLocked {
			return status
		}
	}
	defer os.Remove(lock)
	unlock, err := alone(ctx, path)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	defer unlock()
	if err := replaceSubtree(ctx, env, path, subtree, file); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// replaceSubtree makes the new name space in a separate directory and installs it in
// one step.
func replaceSubtree(ctx context.Context, env *cli.Env, path, subtree, file string) error {
	tree, err := load(env, path, true)
	if err != nil {
		return err
	}
	_ = tree.Remove(subtree) // it may be new
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s", cli.FileErrText(err))
	}
	dir, err := os.MkdirTemp("", "pmnsreplace.")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	whole := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(whole, connect(text), 0o600); err != nil {
		return err
	}
	next, err := load(env, whole, true)
	if err != nil {
		return err
	}
	if err := tree.Overlay(next, nil); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := replace(path, tree); err != nil {
		return err
	}
	// As the script does, so that it is found when the next one is made.
	if err := writeFile(filepath.Join(filepath.Dir(path), subtree), text); err != nil {
		return err
	}
	return os.Remove(file)
}
