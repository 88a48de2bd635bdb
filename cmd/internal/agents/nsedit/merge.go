package nsedit

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// MergeCommand is pmnsmerge.
var MergeCommand = &cli.Command{
	Name:     "nsmerge",
	Link:     "pmnsmerge",
	Group:    cli.WriteAgent,
	Summary:  "merge name space files",
	Synopsis: "[options] infile [...] outfile",
	Doc:      `Merges name space files into one, and refuses names and numbers that contradict each other.`,
	Examples: []cli.Example{
		{Line: `pcp nsmerge root_pmcd root_linux root`, Text: `merge two files into one`},
	},
	SeeAlso: []string{"pmnsadd(1)", "PMNS(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'a', Help: "process files in order, ignoring embedded _DATESTAMP control lines"},
			{Short: 'd', Long: "dupok", Help: "duplicate names for the same PMID are allowed [default]"},
			{Short: 'f', Long: "force", Help: "force overwriting of the output file if it exists"},
			{Short: 'x', Long: "nodups", Help: "duplicate names for the same PMID are not allowed"},
			{Short: 'v', Long: "verbose", Help: "verbose, echo input file names as processed"},
			cli.OptHelp,
		}
	},
	Run: runMerge,
}

func runMerge(ctx context.Context, env *cli.Env) int {
	verbose := 0
	var inOrder, force, unique bool
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Short {
		case 'a':
			inOrder = true
		case 'd':
			fmt.Fprintf(env.Stderr, "%s: Warning: -d deprecated, duplicate PMNS names allowed by default\n", env.ProgName())
			unique = false
		case 'f':
			force = true
		case 'x':
			unique = true
		case 'v':
			verbose++
		default:
			return false
		}
		return true
	}})
	if len(o.Args) < 2 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	in, out := o.Args[:len(o.Args)-1], o.Args[len(o.Args)-1]
	if _, err := os.Stat(out); err == nil && !force {
		return env.Fatalf("Error: output PMNS file %q already exists!\nYou must either remove it first, or use -f", out)
	}
	if ctx.Err() != nil { // from here on the file must be written completely
		return 1
	}
	f, err := openOutput(out, force)
	if err != nil {
		return env.Fatalf("Error: cannot create output PMNS file \"%s\": %s", out, reason(err))
	}
	defer f.Close()
	// All users may read a name space, regardless of the umask.
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		f.Chmod(0o644)
	}
	if !inOrder {
		sorted, err := sortFiles(in)
		if err != nil {
			return env.Fatalf("%v", err)
		}
		in = in[:0:0]
		for i, s := range sorted {
			if verbose > 1 {
				fmt.Fprintf(env.Stdout, "arg[%d] %s _DATESTAMP=%s\n", i, s.name, cmp.Or(s.stamp, "(null)"))
			}
			in = append(in, s.name)
		}
	}
	tree, err := mergeFiles(env, in, !unique, verbose > 0)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if _, err = tree.WriteTo(f); err == nil {
		err = f.Close()
	}
	if err != nil {
		return env.Fatalf("Error: cannot write output PMNS file %q: %s", out, cli.ErrText(err))
	}
	// Two names for a PMID may be from two files.
	if _, err := load(env, out, !unique); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// openOutput opens the output as safefile does, since Rebuild runs this as root. With
// force it removes an existing file or link, or truncates it if its directory is not
// writable; it does not change anything else.
func openOutput(path string, force bool) (*os.File, error) {
	if st, err := os.Lstat(path); force && err == nil && (st.Mode().IsRegular() || st.Mode()&fs.ModeSymlink != 0) {
		if f, err := safefile.Create(path, 0o644); err == nil {
			return f, nil
		}
	}
	f, created, err := safefile.OpenAppend(path, os.O_RDWR, 0o644)
	if err != nil || created {
		return f, err
	}
	if !force { // it has just come
		f.Close()
		return nil, fs.ErrExist
	}
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
		err = f.Truncate(0)
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// A stampedFile is an input with its _DATESTAMP, "" if it has no stamp.
type stampedFile struct{ name, stamp string }

// sortFiles sorts the files without a _DATESTAMP first, and then the others in the
// order of their stamps; the sort is stable.
func sortFiles(names []string) ([]stampedFile, error) {
	files := make([]stampedFile, len(names))
	for i, name := range names {
		stamp, err := dateStamp(name)
		if err != nil {
			//lint:ignore ST1005 the words of the C tool
			return nil, fmt.Errorf("Error: cannot open input PMNS file %q", name)
		}
		files[i] = stampedFile{name, stamp}
	}
	slices.SortStableFunc(files, func(a, b stampedFile) int { return cmp.Compare(a.stamp, b.stamp) })
	return files, nil
}

// dateStamp returns the value of the first #define of a name that begins with
// _DATESTAMP.
func dateStamp(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		rest, ok := strings.CutPrefix(in.Text(), "#define")
		if !ok {
			continue
		}
		rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " \t"), "_DATESTAMP")
		if !ok {
			continue
		}
		if words := strings.Fields(rest); len(words) > 0 {
			return words[0], nil
		}
		return "", nil
	}
	return "", nil
}
