package archivecmd

import (
	"context"
	"os"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/tool/cli"
)

// Command is "pcp archive".
var Command = &cli.Command{
	Name:     "archive",
	Group:    "Archives",
	Summary:  "list, verify, repair and convert archives",
	Synopsis: "ls | verify | repair | convert [options] archive...",
	Options: []cli.Option{
		cli.Heading("Options, after the command; each command has its own, see \"pcp archive ls -?\""),
		cli.OptHelp,
	},
	Run: run,
}

var commands = []*cli.Command{lsCommand, verifyCommand, repairCommand, convertCommand}

func run(ctx context.Context, env *cli.Env) int {
	sub := *env
	if len(env.Args) > 0 && !strings.HasPrefix(env.Args[0], "-") {
		c := cli.Find(commands, "archive "+env.Args[0])
		if c == nil {
			return env.Fatalf("unknown command %q; there are ls, verify, repair and convert", env.Args[0])
		}
		sub.Name, sub.Command, sub.Args = "pcp "+c.Name, c, env.Args[1:]
		return c.Run(ctx, &sub)
	}
	o := cli.ParseArgs(&sub, cli.ParseConfig{POSIX: true})
	if !o.Errors() {
		o.WantUsage()
	}
	status, _ := o.Done()
	return status
}

// archives finds the archives that arguments name: an archive, one of its files,
// or a directory of archives. Without arguments it is the directory at hand.
func archives(args []string) (list []string, err error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		st, err := os.Stat(arg)
		if err != nil || !st.IsDir() {
			list = append(list, arg)
			continue
		}
		in, err := directory(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, in...)
	}
	return list, nil
}

// directory returns the base names of the archives in a directory.
func directory(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	seen := make(map[string]bool)
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if !ok || e.IsDir() {
			continue
		}
		// A file that ends in a number may be anything.
		if part != "meta" && part != "index" {
			continue
		}
		if !seen[base] {
			seen[base] = true
			list = append(list, join(dir, base))
		}
	}
	return list, nil
}

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// failed says what went wrong, with all that is known about it.
func failed(env *cli.Env, err error) int { return env.Fatalf("%s", errText(err)) }

// errText is the text of an error for people: our errors tell file and offset.
func errText(err error) string { return strings.TrimPrefix(err.Error(), "./") }
