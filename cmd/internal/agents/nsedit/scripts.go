package nsedit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/stdpmid"
)

// IsScript reports whether link is the name of a command that is a script in the C
// implementation and not in a directory for programs.
func IsScript(link string) bool {
	for _, s := range scripts {
		if s.link == link {
			return true
		}
	}
	return false
}

// scripts are those commands, and the directory in which Install scripts call them.
var scripts = []struct{ setting, below, link string }{
	{"PCP_VAR_DIR", "pmns", "Rebuild"},
	{"PCP_VAR_DIR", "pmns", "Make.stdpmid"},
	{"PCP_SHARE_DIR", "lib", "ReplacePmnsSubtree"},
	{"PCP_SHARE_DIR", "lib", "lockpmns"},
	{"PCP_SHARE_DIR", "lib", "unlockpmns"},
}

var scriptsCommand = &cli.Command{
	Name:     "ns scripts",
	Group:    cli.WriteAgent,
	Summary:  "create links for the scripts that Install scripts call",
	Synopsis: "[-t target]",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptTarget,
			cli.OptHelp,
		}
	},
	Doc: `Creates Rebuild and Make.stdpmid in $PCP_VAR_DIR/pmns, and lockpmns, unlockpmns and
ReplacePmnsSubtree in $PCP_SHARE_DIR/lib. It also creates stdpmid.pcp, PCP's domain numbers of
agents, and stdpmid in $PCP_VAR_DIR/pmns. Existing files, except links to such a program, are not
changed, so nothing changes on a host with the C implementation.`,
	Examples:    []cli.Example{{Line: "pcp ns scripts", Text: "create the links, on a machine without the C implementation"}},
	DieOnSignal: true,
	Run:         runScripts,
}

func runScripts(_ context.Context, env *cli.Env) int {
	target, status, exit := cli.ParseTarget(env)
	if exit {
		return status
	}
	cfg := env.Config()
	for _, s := range scripts {
		dir := filepath.Join(cfg.Get(s.setting), s.below)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return env.Fatalf("%s", cli.FileErrText(err))
		}
		path := filepath.Join(dir, s.link)
		switch st, err := os.Lstat(path); {
		case errors.Is(err, fs.ErrNotExist):
			if err := os.Symlink(target, path); err != nil {
				return env.Fatalf("%s: %s", path, cli.ErrText(err))
			}
			fmt.Fprintf(env.Stdout, "%s\n", path)
		case err != nil:
			return env.Fatalf("%s", cli.FileErrText(err))
		case st.Mode().Type() == fs.ModeSymlink && samePath(path, target):
		default:
			fmt.Fprintf(env.Stdout, "%s: is there already, and stays\n", path)
		}
	}
	if err := installTable(env); err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	return 0
}

// installTable writes the table of domain numbers, if there is none, and makes stdpmid.
func installTable(env *cli.Env) error {
	dir := pmnsDir(env)
	path := filepath.Join(dir, sourceFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := writeFile(path, []byte(stdpmid.Source())); err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "%s\n", path)
	}
	if _, err := os.Lstat(filepath.Join(dir, "stdpmid")); errors.Is(err, fs.ErrNotExist) {
		return makeStdPMID(dir)
	}
	return nil
}

func samePath(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
