package logcompress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// DecompressCommand is pmlogdecompress.
var DecompressCommand = &cli.Command{
	Name:     "logdecompress",
	Link:     "pmlogdecompress",
	Group:    cli.Record,
	Summary:  "decompress the files of archives",
	Synopsis: "[options] archive ...",
	Doc: `Decompresses the files of archives, or single files: .xz, .lzma, .bz2, .bz, .gz, .z and .zst. Each file
replaces the compressed one after it was read back. With -t the archives stay as they are, and the
directory gets all files; those that are not compressed are linked, or copied. Existing files are
not overwritten. All commands read compressed archives, so this is rarely necessary.`,
	Examples: []cli.Example{
		{Line: `pcp logdecompress 20261121`, Text: `decompress an archive`},
		{Line: `pcp logdecompress -t /tmp 20261121`, Text: `create a copy that is not compressed`},
	},
	SeeAlso: []string{"pmlogcompress(1)", "pmlogcp(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'N', Long: "show-me", Help: "do nothing, but show what would be done"},
			{Short: 't', Long: "dir", Arg: "DIR", Help: "decompress into directory DIR"},
			{Short: 'V', Long: "verbose", Help: "increase verbosity"},
			cli.OptHelp,
		}
	},
	Run: decompress,
}

// A decompressor does the work.
type decompressor struct {
	ctx     context.Context
	env     *cli.Env
	dir     string // -t
	showMe  bool
	verbose bool
}

func (d *decompressor) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'N':
		d.showMe = true
	case 't':
		if st, err := os.Stat(arg); err != nil || !st.IsDir() {
			o.Usagef("-t: %s is not an existing directory", arg)
		}
		d.dir = arg
	case 'V':
		d.verbose = true
	default:
		return false
	}
	return true
}

func decompress(ctx context.Context, env *cli.Env) int {
	d := &decompressor{ctx: ctx, env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: d.own})
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	for _, arg := range o.Args {
		if err := d.argument(arg); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	return 0
}

func (d *decompressor) printf(format string, args ...any) {
	fmt.Fprintf(d.env.Stderr, format+"\n", args...)
}

// output returns the name of the new file for a file.
func (d *decompressor) output(path string) string {
	to := strings.TrimSuffix(path, packed(path))
	if d.dir != "" {
		to = filepath.Join(d.dir, filepath.Base(to))
	}
	return to
}

// argument decompresses what an argument names.
func (d *decompressor) argument(arg string) error {
	base, list, err := files(arg)
	if err != nil {
		return err
	}
	if base != "" && d.verbose {
		d.printf("archbase=%s", base)
	}
	if len(list) == 0 {
		d.printf("%s: Warning: no PCP archive files match \"%s\"", d.env.ProgName(), arg)
		return nil
	}
	n := 0
	made := make(map[string]bool)
	for _, path := range list {
		switch suffix := packed(path); {
		case suffix == "" && d.dir == "":
			made[path] = true
			continue
		case suffix == ".Z":
			return fmt.Errorf("%s: not supported: the format of compress(1)", path)
		case suffix != "":
			n++
		}
		to := d.output(path)
		if _, err := os.Lstat(to); err == nil || made[to] {
			return fmt.Errorf("%s exists and will not be clobbered", to)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		made[to] = true
	}
	if d.verbose {
		d.printf("%d of %d files in the archive are compressed", n, len(list))
	}
	if !d.showMe {
		dir := d.dir
		if dir == "" {
			dir = filepath.Dir(list[0])
			if err := written(list[0]); err != nil {
				return err
			}
		}
		unlock, err := janitor.Lock(dir)
		if err != nil {
			return err
		}
		defer unlock()
	}
	for _, path := range list {
		if err := d.file(path); err != nil {
			return err
		}
	}
	return nil
}

// file decompresses a file, or links or copies it to the directory.
func (d *decompressor) file(path string) error {
	to, what := d.output(path), "decompressed"
	switch suffix := packed(path); {
	case suffix == "" && d.dir == "":
		return nil
	case d.showMe && suffix == "":
		d.printf("+ ln %s %s", path, to)
		return nil
	case d.showMe:
		d.printf("+ %s %s", show(suffix, d.dir != ""), path)
		return nil
	case suffix != "":
		if err := janitor.Expand(d.ctx, path, to, d.dir != ""); err != nil {
			return err
		}
	default:
		var err error
		if what, err = d.duplicate(path, to); err != nil {
			return err
		}
	}
	if d.verbose {
		d.printf("%s: %s", to, what)
	}
	return nil
}

// show returns the command line that decompresses files with a suffix.
func show(suffix string, stdout bool) string {
	line, to := "xz --decompress", " --stdout"
	switch suffix {
	case ".lzma":
		line = "xz --decompress --format=lzma"
	case ".bz2", ".bz":
		line = "bzip2 --decompress"
	case ".gz", ".z":
		line = "gzip --decompress"
	case ".zst":
		line = "zstd --decompress --quiet"
		if !stdout {
			line += " --rm"
		}
	}
	if stdout {
		line += to
	}
	return line
}

// duplicate links a file, or copies it if that is not possible.
func (d *decompressor) duplicate(path, to string) (what string, err error) {
	if os.Link(path, to) == nil {
		return "linked", nil
	}
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return "", err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = d.ctx.Err()
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Chtimes(to, st.ModTime(), st.ModTime())
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(to))
	}
	return "copied", fsdir.Sync(filepath.Dir(to))
}
