package agentadmin

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

var (
	//go:embed proc/pcp.env
	envScript string
	//go:embed proc/pmdaproc.sh
	procScript string
)

// scriptMark marks the files that "pcp agent scripts" creates and may replace.
const scriptMark = `# Made by "pcp agent scripts", which replaces it when it is called again.`

var scriptsCommand = &cli.Command{
	Name:     "agent scripts",
	Summary:  "create the files that Install and Remove scripts of agents need",
	Synopsis: "[-t target]",
	Examples: []cli.Example{
		{Line: "pcp agent scripts", Text: "support Install scripts on a host without the C implementation"},
		{Line: "PCP_DIR=$HOME/pcp pcp agent scripts", Text: "do the same in your own directory"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 't', Long: "target", Arg: "FILE", Help: "the program that does the work [this program]"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Doc: `Writes $PCP_DIR/etc/pcp.env and $PCP_SHARE_DIR/lib/pmdaproc.sh, which Install and Remove scripts
source. It also creates the links of "pcp ns scripts", and in $PCP_BINADM_DIR the classic names of
commands that are missing there and in $PCP_BIN_DIR. If another program created one of the two
files, nothing is changed.`,
	DieOnSignal: true,
	Run:         runScripts,
}

func runScripts(ctx context.Context, env *cli.Env) int {
	target, status, exit := cli.ParseTarget(env)
	if exit {
		return status
	}
	cfg := env.Config()
	if err := cfg.Err(); err != nil {
		return env.Fatalf("%v", err)
	}
	files := []struct{ path, text string }{
		{filepath.Join(cmp.Or(env.Getenv("PCP_DIR"), "/"), "etc", "pcp.env"), envScript},
		{filepath.Join(cfg.Get("PCP_SHARE_DIR"), "lib", "pmdaproc.sh"), procScript},
	}
	for _, f := range files {
		if err := replaceable(f.path); err != nil {
			return env.Fatalf("%s", cli.FileErrText(err))
		}
	}
	for _, f := range files {
		text := strings.ReplaceAll(f.text, "#@MARK@", scriptMark)
		text = strings.ReplaceAll(text, "@PCP@", shellQuote(target))
		err := safefile.MkdirAll(filepath.Dir(f.path), 0o755, nil)
		if err == nil {
			err = writeWhole(f.path, []byte(text), false)
		}
		if err != nil {
			return env.Fatalf("%s", cli.FileErrText(err))
		}
		fmt.Fprintln(env.Stdout, f.path)
	}
	if status, out := call(ctx, env, "ns scripts", "-t", target); status != 0 {
		fmt.Fprint(env.Stderr, out)
		return status
	}
	n, err := linkCommands(ctx, env, target, cfg.Get("PCP_BIN_DIR"), cfg.Get("PCP_BINADM_DIR"))
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	if n > 0 {
		fmt.Fprintf(env.Stdout, "%s: %s made\n", cfg.Get("PCP_BINADM_DIR"), count(n, "link"))
	}
	return 0
}

// replaceable returns an error unless the file at path is ours.
func replaceable(path string) error {
	text, err := readLimited(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !bytes.Contains(text, []byte("\n"+scriptMark+"\n")):
		return fmt.Errorf("%s is there and not of this program; nothing is changed", path)
	}
	return nil
}

// linkCommands creates links in dir for the classic names of commands that are in
// neither directory, and returns their number.
func linkCommands(ctx context.Context, env *cli.Env, target, bin, dir string) (n int, err error) {
	status, names := call(ctx, env, "links", "-l")
	if status != 0 {
		return 0, errors.New(names)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for name := range strings.FieldsSeq(names) {
		if _, err := os.Stat(filepath.Join(bin, name)); err == nil {
			continue
		}
		err := os.Symlink(target, filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return n, err
		}
		if err == nil {
			n++
		}
	}
	return n, nil
}

// call runs another command of this program by its name and returns its exit status and
// output.
func call(ctx context.Context, env *cli.Env, name string, args ...string) (status int, out string) {
	c := cli.Find(env.Commands, name)
	if c == nil {
		return 1, fmt.Sprintf("this program has no command %s\n", name)
	}
	var b bytes.Buffer
	e := *env
	e.Name, e.Args, e.Command = name, args, c
	if name == c.Name {
		e.Name = "pcp " + name
	}
	e.Stdin, e.Stdout, e.Stderr = strings.NewReader(""), &b, &b
	status = c.Run(ctx, &e)
	return status, b.String()
}

// shellQuote quotes s as a single shell word.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
