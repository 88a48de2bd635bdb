package logbasename

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/debugname"
)

// Command is pmlogbasename.
var Command = &cli.Command{
	Name:     "logbasename",
	Link:     "pmlogbasename",
	Group:    cli.Record,
	Summary:  "print the base name of an archive",
	Synopsis: "filename",
	Doc: `Prints the base name of the archive that a file belongs to: the name without .meta, .index or the
number of a volume, and without the suffix of a compressed file. Any other name is printed
unchanged. A name that ends in a number, such as 20261121.10, is itself a base name if there is a
file of metadata for it.`,
	Examples: []cli.Example{
		{Line: `pcp logbasename /var/log/pcp/pmlogger/web7/20261121.0.xz`, Text: `print /var/log/pcp/pmlogger/web7/20261121`},
	},
	SeeAlso:     []string{"pmlogls(1)", "pcp-archive(5)"},
	Debug:       []string{"appl0", "appl1"},
	Options:     func() []cli.Option { return []cli.Option{cli.OptDebug} },
	DieOnSignal: true,
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	o := cli.ParseOptions(env, cli.ParseConfig{})
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	fmt.Fprintln(env.Stdout, base(o.Args[0], o.DebugLog()))
	return 0
}

// Base returns the base name of the archive to which a file belongs, or the name itself if it is that of no such file.
func Base(name string) string { return base(name, nil) }

// base is Base. With -D appl0 it logs the file of metadata that it finds, with -D appl1 those that are missing.
func base(name string, log *debug.Log) string {
	ext := filepath.Ext(name)
	if len(ext) > 1 && ctext.Digits(ext, 1) == len(ext) {
		for _, suffix := range []string{"", ".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"} {
			meta := name + ".meta" + suffix
			if _, err := os.Stat(meta); err == nil {
				if log.On(debugname.Appl0) {
					log.Printf("found %s\n", meta)
				}
				return name
			}
			if log.On(debugname.Appl1) {
				log.Printf("probe %s\n", meta)
			}
		}
	}
	if b, _, ok := archive.BaseName(name); ok {
		return b
	}
	return name
}
