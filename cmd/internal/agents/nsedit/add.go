package nsedit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
)

// AddCommand is pmnsadd.
var AddCommand = &cli.Command{
	Name:     "nsadd",
	Link:     "pmnsadd",
	Group:    cli.WriteAgent,
	Summary:  "add the names of an agent to a name space file",
	Synopsis: "[-d] [-n namespace] file",
	Doc:      `Adds the names in a file to a name space file, like the Install script of an agent.`,
	Examples: []cli.Example{
		{Line: `pcp nsadd -n ./root ./mine.pmns`, Text: `add names to a name space in the current directory`},
	},
	SeeAlso: []string{"pmnsdel(1)", "pmnsmerge(1)", "PMNS(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			{Short: 'd'},
			{Short: 'n', Arg: "namespace"},
			{Short: '?'},
		}
	},
	Run: runAdd,
}

// runAdd parses its arguments as the script pmnsadd does: it prints the usage message
// on standard output, and a mistake in an option does not fail.
func runAdd(ctx context.Context, env *cli.Env) int {
	cfg := env.Config()
	path, ok := env.Getenv("PMNS_DEFAULT"), env.IsSet("PMNS_DEFAULT")
	if !ok {
		path = filepath.Join(cfg.Get("PCP_VAR_DIR"), "pmns", "root")
	}
	p := getopt.New(env.Command.OptionList(), env.Args)
	p.POSIX = true
	for opt, arg := range p.All() {
		switch {
		case opt == nil:
			fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), p.Problem())
			return usage(env, 0)
		case opt.Short == 'd':
			fmt.Fprintf(env.Stdout, "%s: Warning: -d deprecated, duplicate PMNS names allowed by default\n", env.ProgName())
		case opt.Short == 'n':
			path = arg
		default:
			return usage(env, 0)
		}
	}
	args := p.Args()
	if len(args) != 1 {
		return usage(env, 1)
	}
	if problem := check(path, args[0]); problem != "" {
		fmt.Fprintf(env.Stdout, "%s: %s\n", env.ProgName(), problem)
		return 1
	}
	status := add(ctx, env, cfg.Get("PCP_TMPFILE_DIR"), path, args[0])
	if status != 0 {
		env.FlushOut()
		fmt.Fprintf(env.Stdout, "%s: No changes have been made to the PMNS file \"%s\"\n", env.ProgName(), path)
	}
	return status
}

func usage(env *cli.Env, status int) int {
	fmt.Fprintf(env.Stdout, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
	return status
}

// check returns the reason why a file cannot be added to the name space at path.
func check(path, file string) (problem string) {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return fmt.Sprintf("cannot find PMNS file \"%s\"", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Sprintf("cannot open PMNS file \"%s\" for writing", path)
	}
	f.Close()
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return fmt.Sprintf("cannot find input file \"%s\"", file)
	}
	return ""
}

// add merges file into the name space at path.
func add(ctx context.Context, env *cli.Env, tmp, path, file string) int {
	unlock, err := alone(ctx, path)
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	defer unlock()
	text, err := os.ReadFile(file)
	if err != nil {
		return env.Fatalf("%s: %s", file, cli.ErrText(err))
	}
	dir, err := os.MkdirTemp(tmp, "pmnsadd.")
	if err != nil {
		return env.Fatalf("making a temporary directory: %s", cli.ErrText(err))
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o700) // the umask may have left less
	whole, merged := filepath.Join(dir, "tmp"), filepath.Join(dir, "new")
	if err := os.WriteFile(whole, connect(text), 0o600); err != nil {
		return env.Fatalf("%s: %s", whole, cli.ErrText(err))
	}
	os.Chmod(whole, 0o600)
	merge := *env
	merge.Name, merge.Command, merge.Args = MergeCommand.Link, MergeCommand, []string{"-f", path, whole, merged}
	if status := MergeCommand.Run(ctx, &merge); status != 0 {
		return status
	}
	tree, err := load(env, merged, true)
	if err == nil && ctx.Err() == nil {
		err = replaceOr(path, tree, `Error: cannot create output PMNS file "%s.new": %s`)
	}
	if err != nil { // in C, pmnsmerge writes the file
		return merge.Fatalf("%v", err)
	}
	if ctx.Err() != nil {
		return 1
	}
	return 0
}

// connect prepends the groups that lead from the root to the subtree text. The first
// group in text determines them.
func connect(text []byte) []byte {
	var base string
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("root {")) {
			return text
		}
		if words := bytes.Fields(line); base == "" && len(words) >= 2 && string(words[1]) == "{" {
			base = string(words[0])
		}
	}
	var b bytes.Buffer
	b.WriteString("root {\n")
	parts := strings.FieldsFunc(base, func(r rune) bool { return r == '.' })
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintf(&b, "%s {\n", strings.Join(parts[:i], "."))
		}
		fmt.Fprintf(&b, "\t%s\n}\n", part)
	}
	b.Write(text)
	return b.Bytes()
}
