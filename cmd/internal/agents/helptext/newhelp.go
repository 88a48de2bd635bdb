package helptext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/helpfile"
	"github.com/go-pcp/pcp/internal/safefile"
)

// NewCommand is newhelp.
var NewCommand = &cli.Command{
	Name:     "newhelp",
	Link:     "newhelp",
	Group:    cli.WriteAgent,
	Summary:  "create the help text files of an agent",
	Synopsis: "[options] [file ...]",
	Doc: `Creates the files of help texts of an agent, NAME.dir and NAME.pag, from a text with an entry for
each metric.`,
	Examples: []cli.Example{
		{Line: `pcp newhelp -n root -o help ./help.txt`, Text: `create help.dir and help.pag`},
	},
	SeeAlso: []string{"chkhelp(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			cli.OptDebug,
			cli.OptNameSpace,
			cli.OptHelp,
			cli.Heading("Output options"),
			{Short: 'o', Long: "output", Arg: "FILE", Help: "base name for output files"},
			{Short: 'V', Long: "verbose", Help: "verbose/diagnostic output"},
			{Short: 'v', Long: "version", Arg: "N", Help: "deprecated (only version 2 format supported)"},
		}
	},
	DieOnSignal: true,
	Run:         runNew,
}

// newOptions are the arguments of newhelp.
type newOptions struct {
	names, output string
	verbose       bool
}

func runNew(_ context.Context, env *cli.Env) int {
	var n newOptions
	o := cli.ParseArgs(env, cli.ParseConfig{Own: n.own})
	if _, exit := o.Done(); exit {
		return 2
	}
	tree, err := loadNames(env, n.names)
	if err != nil {
		return fail(env, "%v", err)
	}
	c := &helpfile.Compiler{Lookup: lookup(tree), Program: env.ProgName(), Verbose: n.verbose, Stderr: env.Stderr}
	files := o.Args
	if len(files) == 0 {
		files = []string{""} // standard input
	}
	for i, name := range files {
		if err := n.add(env, c, name, i == 0); err != nil {
			if i > 0 { // the C tool has written its output so far
				_ = writeOutput(n.output+".pag", c.Pag())
			}
			fmt.Fprintln(env.Stderr, err)
			return 2
		}
	}
	for _, f := range []struct {
		suffix string
		data   []byte
	}{{".pag", c.Pag()}, {".dir", c.Dir()}} {
		if err := writeOutput(n.output+f.suffix, f.data); err != nil {
			return fail(env, "fopen(\"%s\", ...) failed: %s", n.output+f.suffix, cli.ErrText(err))
		}
	}
	return int(c.Status())
}

// fail is Env.Fatalf with newhelp's exit status.
func fail(env *cli.Env, format string, args ...any) int {
	env.Fatalf(format, args...)
	return 2
}

// own takes an option.
func (n *newOptions) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'n':
		n.names = arg
	case 'o':
		n.output = arg
	case 'V':
		n.verbose = true
	case 'v':
		if o.Number(opt, arg, math.MinInt, "numeric") != 2 {
			o.Usagef("deprecated option - only version 2 is supported")
		}
	default:
		return false
	}
	return true
}

// add compiles one source, "" for standard input. The first source determines the name
// of the output, which must be writable before anything is read.
func (n *newOptions) add(env *cli.Env, c *helpfile.Compiler, name string, first bool) error {
	in, title := env.Stdin, "<stdin>"
	if name != "" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%s: %s", name, cli.ErrText(err))
		}
		defer f.Close()
		in, title = f, name
		if n.output == "" {
			n.output = name
		}
	} else if n.output == "" {
		return fmt.Errorf("%s: need either a -o option or a filename argument to name the output file", env.ProgName())
	}
	if first {
		path := n.output + ".pag"
		if err := writeOutput(path, nil); err != nil {
			return fmt.Errorf("%s: fopen(\"%s\", ...) failed: %s", env.ProgName(), path, cli.ErrText(err))
		}
	}
	return readErr(c.Add(in, title))
}

// writeOutput writes an output file. Install scripts run newhelp as root, in
// directories that others may write to.
func writeOutput(path string, data []byte) error {
	f, created, err := safefile.OpenAppend(path, 0, 0o666)
	if err != nil {
		return err
	}
	if st, serr := f.Stat(); !created && serr == nil && st.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// readErr hides a read error that the C library takes for the end of the file: that of
// a directory.
func readErr(err error) error {
	if err == nil || err == io.EOF || pcp.Code(err) == eisdir {
		return nil
	}
	return err
}

// eisdir is the error of reading a directory.
const eisdir = pcp.Error(-21)
