package man

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is "pcp man".
var Command = &cli.Command{
	Name:     "man",
	Group:    cli.Administer,
	Summary:  "write the manual pages of all commands and files",
	Synopsis: "[options] directory",
	Doc: `Writes the manual pages to man1 and man5 in a directory of manual pages. Each command has a page
under its classic name, or as pcp-NAME if it has no classic name, and pcp-NAME is always a name of
its page. Pages that it wrote earlier are replaced; any other page of such a name is an error.

The text is that of "pcp help NAME".`,
	Examples: []cli.Example{
		{Line: "pcp man ~/.local/share/man", Text: "install the pages for one user"},
		{Line: "pcp man --list", Text: "list the files that would be written"},
	},
	SeeAlso:     []string{"man(1)"},
	DieOnSignal: true,
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'l', Long: "list", Help: "only list the files"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

func run(_ context.Context, env *cli.Env) int {
	list := false
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		if opt.Long == "list" {
			list = true
			return true
		}
		return false
	}})
	if list == (len(o.Args) == 1) || len(o.Args) > 1 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	for _, f := range Files(env.Commands, env.Version) {
		if list {
			fmt.Fprintln(env.Stdout, f.Path)
			continue
		}
		path := filepath.Join(o.Args[0], f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return env.Fatalf("%v", err)
		}
		if old, err := os.ReadFile(path); err == nil && !bytes.Contains(old, []byte(marker)) {
			return env.Fatalf("%s exists and is not a page of this program", path)
		}
		if err := os.WriteFile(path, f.Text, 0o666); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	return 0
}
