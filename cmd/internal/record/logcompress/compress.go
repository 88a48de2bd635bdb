package logcompress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/housekeeping"
)

// Command is pmlogcompress.
var Command = &cli.Command{
	Name:     "logcompress",
	Link:     "pmlogcompress",
	Group:    cli.Record,
	Summary:  "compress the files of archives",
	Synopsis: "[options] archive ...",
	Doc: `Compresses the metadata and the volumes of archives, or single files. xz and zstd are part of this
program; bzip2 and gzip are run if they are installed. Files below the minimum size stay as they
are, as does the index, and zstd is for large files. An archive that a recorder is writing is
refused. The compressed file replaces the other one after it was read back.

The variables PCP_COMPRESS_PROGS, PCP_COMPRESS_MIN_FILESIZE, PCP_COMPRESS_ZSTD_MIN_FILESIZE and
PCP_COMPRESS_XZ_ARGS (and _ZSTD_, _BZIP2_, _GZIP_) are read from the environment and from
pmlogcompress/defaults in $PCP_SYSCONF_DIR.`,
	Examples: []cli.Example{
		{Line: `pcp logcompress 20261121`, Text: `compress an archive`},
		{Line: `pcp logcompress -f zstd 20261121`, Text: `compress with zstd, whatever the sizes`},
		{Line: `pcp logcompress -NV -o space 20261121`, Text: `only find the program with the smallest result`},
	},
	SeeAlso: []string{"pmlogdecompress(1)", "pmlogger_daily(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'A', Long: "arg", Arg: "ARG", Help: "argument for compression program"},
			{Short: 'C', Long: "config", Arg: "FILE", Help: "alternate defaults configuration file"},
			{Short: 'c', Long: "command", Arg: "PROGLIST", Help: "candidate compression program(s)"},
			{Short: 'f', Long: "use", Arg: "PROG", Help: "use this compression program"},
			{Short: 'l', Long: "lower-limit", Arg: "LIMIT", Help: "do not compress files smaller than LIMIT bytes [4096]"},
			{Short: 'N', Long: "show-me", Help: "do nothing, but show what would be done"},
			{Short: 'o', Long: "optimize", Arg: "TYPE", Help: "choose the program that needs the least space or time"},
			{Short: 'V', Long: "verbose", Help: "increase verbosity"},
			{Short: 'Z', Long: "min-zstd-size", Arg: "MIN", Help: "minimum file size for compression with zstd [52428800]"},
			cli.OptHelp,
		}
	},
	Run: compress,
}

// programs are the compression programs that pmlogcompress knows.
var programs = []string{"zstd", "xz", "bzip2", "gzip"}

// A compressor does the work.
type compressor struct {
	ctx      context.Context
	env      *cli.Env
	settings settings
	conf     string // -C
	args     []string
	use      string // -f
	optimize string // -o
	showMe   bool
	verbose  int

	candidates []tool
	minimum    int64 // size of files
	zstd       int64 // minimum for zstd
}

// A tool is a compression program with its arguments.
type tool struct {
	name, args string
	how        *housekeeping.Compressor
}

func (c *compressor) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'A':
		c.args = append(c.args, arg)
	case 'C':
		c.conf = arg
	case 'c':
		if had := c.settings.command[varPrograms]; had != "" {
			arg = had + ":" + arg
		}
		c.settings.command[varPrograms] = arg
	case 'f':
		c.use = arg
	case 'l':
		c.size(o, varMinSize, "-l", arg)
	case 'N':
		c.showMe = true
	case 'o':
		if arg != "space" && arg != "time" {
			o.Usagef("-o option must be space or time")
		}
		c.optimize = arg
	case 'V':
		c.verbose++
	case 'Z':
		c.size(o, varZstdSize, "-Z", arg)
	default:
		return false
	}
	return true
}

// size sets a variable to an argument that must be a number.
func (c *compressor) size(o *cli.Options, name, opt, arg string) {
	if arg == "" || strings.Trim(arg, "0123456789") != "" {
		o.Usagef("%s value (%s) must be numeric", opt, arg)
	}
	c.settings.command[name] = arg
}

func compress(ctx context.Context, env *cli.Env) int {
	c := &compressor{ctx: ctx, env: env}
	c.settings = settings{env: env, command: make(map[string]string), info: func(format string, args ...any) {
		if c.verbose > 1 {
			c.printf(format, args...)
		}
	}}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: c.own})
	if c.optimize != "" && c.use != "" {
		o.Usagef("-f [%s] not allowed when compressing with -o", c.use)
	}
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if err := c.prepare(); err != nil {
		return env.Fatalf("%v", err)
	}
	for _, arg := range o.Args {
		if err := c.argument(arg); err != nil {
			return env.Fatalf("%v", err)
		}
	}
	return 0
}

func (c *compressor) printf(format string, args ...any) {
	fmt.Fprintf(c.env.Stderr, format+"\n", args...)
}

// infof prints a message of -V.
func (c *compressor) infof(format string, args ...any) {
	if c.verbose > 0 {
		c.printf("Info: "+format, args...)
	}
}

// prepare reads the settings and finds the programs.
func (c *compressor) prepare() (err error) {
	const wrong = "Error" // the C tool's word for mistakes in settings
	if err := c.settings.read(c.conf); err != nil {
		return fmt.Errorf("%s: %w", wrong, err)
	}
	if c.minimum, err = c.settings.size(varMinSize); err != nil {
		return fmt.Errorf("%s: %w", wrong, err)
	}
	if c.zstd, err = c.settings.size(varZstdSize); err != nil {
		return fmt.Errorf("%s: %w", wrong, err)
	}
	if c.use != "" {
		t, err := c.find(c.use)
		if err != nil || !slices.Contains(programs, c.use) {
			return fmt.Errorf("cannot find a compression program (%s)", c.use)
		}
		c.candidates = []tool{t}
		return nil
	}
	list := c.settings.get(varPrograms)
	for name := range strings.SplitSeq(list, ":") {
		if !slices.Contains(programs, name) {
			if name != "" {
				c.printf("%s: Warning: no clue how to deal with \"compression\" program %s", c.env.ProgName(), name)
			}
			continue
		}
		if t, err := c.find(name); err == nil {
			c.candidates = append(c.candidates, t)
		}
	}
	if len(c.candidates) == 0 {
		return fmt.Errorf("cannot find a compression program (tried %s)", list)
	}
	return nil
}

// find finds a program.
func (c *compressor) find(name string) (tool, error) {
	t := tool{name: name, args: strings.Join(c.args, " ")}
	if t.args == "" && slices.Contains(programs, name) {
		t.args = c.settings.get(argsVar(name))
	}
	var err error
	t.how, err = housekeeping.FindCompressor(c.env, strings.TrimSpace(name+" "+t.args))
	return t, err
}

// argument compresses what an argument names.
func (c *compressor) argument(arg string) error {
	base, list, err := files(arg)
	if err != nil {
		return err
	}
	if base != "" {
		c.infof("archbase=%s", base)
	}
	if len(list) == 0 {
		c.printf("%s: Warning: no PCP archive files match \"%s\"", c.env.ProgName(), arg)
		return nil
	}
	if !c.showMe {
		if err := written(list[0]); err != nil {
			return err
		}
		unlock, err := janitor.Lock(filepath.Dir(list[0]))
		if err != nil {
			return err
		}
		defer unlock()
	}
	chosen := ""
	if c.optimize != "" {
		if chosen, err = c.best(list); err != nil {
			return err
		}
	}
	for _, path := range list {
		if err := c.file(path, chosen); err != nil {
			return err
		}
	}
	return nil
}

// file compresses a file with the chosen program, or with the first suitable program if that is "".
func (c *compressor) file(path, chosen string) error {
	switch {
	case packed(path) != "":
		c.infof("%s: skipped, already compressed", path)
		return nil
	case strings.HasSuffix(path, ".index"):
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if st.Size() < c.minimum {
		c.infof("%s: skipped, size %d < limit %d", path, st.Size(), c.minimum)
		return nil
	}
	for _, t := range c.candidates {
		if chosen != "" && t.name != chosen {
			continue
		}
		if t.name == "zstd" && chosen == "" && c.use == "" && st.Size() < c.zstd {
			c.infof("%s: size %d too small for zstd", path, st.Size())
			continue
		}
		if c.showMe {
			c.printf("+ %s %s", strings.TrimSpace(t.name+" "+t.args), path)
			return nil
		}
		if err := t.how.Compress(c.ctx, path, c.env.Stderr); err != nil {
			return fmt.Errorf("%s: %s failed: %w", path, t.name, err)
		}
		c.infof("%s: compressed with %s", path, t.name)
		return nil
	}
	return nil
}

// best returns the candidate that needs the least space or time for the largest file.
func (c *compressor) best(list []string) (string, error) {
	path, size := "", int64(-1)
	for _, p := range list {
		if packed(p) != "" {
			c.infof("%s: skipped, already compressed", p)
			continue
		}
		st, err := os.Stat(p)
		if err != nil {
			return "", err
		}
		if n := st.Size(); n >= c.minimum && n > size {
			path, size = p, n
		}
	}
	if path == "" {
		c.infof("optimize: failed to find a candidate file")
		return "", nil
	}
	c.infof("%s: (%d bytes) selected as candidate for optimize measurements", path, size)
	chosen, least := "", int64(0)
	for _, t := range c.candidates {
		start := time.Now()
		n, err := t.how.Measure(c.ctx, path)
		if err != nil {
			if c.ctx.Err() != nil {
				return "", context.Cause(c.ctx)
			}
			c.infof("%s: optimize test with %s failed: %s", path, t.name, cli.ErrText(err))
			continue
		}
		took := time.Since(start).Milliseconds()
		c.infof("%s: %s size=%d time=%d", path, t.name, n, took)
		if c.optimize == "time" {
			n = took
		}
		if chosen == "" || n < least {
			chosen, least = t.name, n
		}
	}
	if chosen == "" {
		return "", fmt.Errorf("%s: no compression program succeeded", path)
	}
	c.infof("optimize: pick %s", chosen)
	return chosen, nil
}
