package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/agents/nsedit"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

var linksCommand = &cli.Command{
	Name:     "links",
	Group:    cli.Administer,
	Summary:  "create links with the classic names of the commands",
	Synopsis: "[options] directory",
	Doc: `Creates a symbolic link to this program in a directory for each classic name of a command, and one
called pcp. The link pminfo runs the command info, with the options and output of the C tool.
Existing links are replaced; any other file of such a name is an error.`,
	Examples: []cli.Example{
		{Line: `pcp links ~/bin`, Text: `make the links`},
		{Line: `pcp links -l`, Text: `list the names`},
	},
	DieOnSignal: true,
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'l', Long: "list", Help: "only list the classic names"},
			{Short: 't', Long: "target", Arg: "FILE", Help: "what the links point to [this program]"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: makeLinks,
}

// makeLinks makes a symbolic link for each command that has a classic name. It
// replaces links, and refuses to replace anything else.
func makeLinks(_ context.Context, env *cli.Env) int {
	list := false
	target := ""
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "list":
			list = true
		case "target":
			target = arg
		default:
			return false
		}
		return true
	}})
	if list == (len(o.Args) == 1) || len(o.Args) > 1 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if list {
		for _, name := range linkNames(env.Commands) {
			fmt.Fprintln(env.Stdout, name)
		}
		return 0
	}
	if target == "" {
		self, err := os.Executable()
		if err != nil {
			return env.Fatalf("%v", err)
		}
		target = self
	}
	dir := o.Args[0]
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return env.Fatalf("%v", err)
	}
	self := target
	if !filepath.IsAbs(self) {
		self = filepath.Join(dir, self)
	}
	for _, name := range linkNames(env.Commands) {
		path := filepath.Join(dir, name)
		if same(path, self) {
			continue
		}
		if err := replaceLink(target, path); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	return 0
}

// same reports whether two paths lead to one place.
func same(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// linkNames returns the names of links: pcp, and the classic names of commands
// except those that "pcp ns scripts" makes.
func linkNames(commands []*cli.Command) []string {
	names := []string{"pcp"}
	for _, c := range commands {
		if c.Link != "" && !nsedit.IsScript(c.Link) {
			names = append(names, c.Link)
		}
	}
	return names
}

func replaceLink(target, path string) error {
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&os.ModeSymlink == 0 {
			return fmt.Errorf("%s exists and is no link", path)
		}
		if old, err := os.Readlink(path); err == nil && old == target {
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return os.Symlink(target, path)
}
