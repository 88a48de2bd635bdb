package loggerrewrite

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmlogger_rewrite.
var Command = &cli.Command{
	Name:     "logger-rewrite",
	Link:     "pmlogger_rewrite",
	Group:    cli.Record,
	Summary:  "rewrite archives in place by rules",
	Synopsis: "[options] archive ...",
	Doc: `Changes archives by rules, like "pcp logrewrite -i", and compresses compressed archives again. An
argument is an archive, one of its files, or a directory, which includes its subdirectories. Damaged
archives and those that a running pmlogger writes are not changed.

The exit status is 0 even if some archives were not changed, and 4 if the arguments are wrong.`,
	Examples: []cli.Example{
		{Line: `pcp logger-rewrite -c fix.conf /var/log/pcp/pmlogger/web7`, Text: `change all archives of a host`},
		{Line: `pcp logger-rewrite -N -c fix.conf 20261121`, Text: `only print what would be done`},
	},
	SeeAlso: []string{"pmlogrewrite(1)", "pmlogger_daily(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "[pmlogrewrite] config file/dir"},
			{Short: 'd', Long: "desperate", Help: "[pmlogrewrite] desperate, save output archive even after error"},
			{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
			{Short: 's', Long: "scale", Help: "[pmlogrewrite] do scale conversion"},
			{Short: 'V', Long: "verbose", Help: "increase diagnostic verbosity"},
			{Short: 'v', Help: "[pmlogrewrite] increased diagnostic verbosity"},
			{Short: 'w', Long: "warnings", Help: "[pmlogrewrite] emit warnings"},
			cli.OptHelp,
		}
	},
	Run: run,
}

// aborted is the exit status for wrong arguments, and for a call that was interrupted.
const aborted = 4

// A rewriter is a run of the command.
type rewriter struct {
	ctx context.Context
	env *cli.Env

	verbose int
	showMe  bool
	args    []string // for pmlogrewrite
	shown   []string // the same, as -N shows them
}

func (r *rewriter) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		r.args, r.shown = append(r.args, "-c", arg), append(r.shown, `-c "`+arg+`"`)
	case 'd', 's', 'v', 'w':
		flag := "-" + string(opt.Short)
		r.args, r.shown = append(r.args, flag), append(r.shown, flag)
	case 'N':
		r.showMe = true
	case 'V':
		r.verbose++
	default:
		return false
	}
	return true
}

// say prints a line.
func (r *rewriter) say(format string, args ...any) { fmt.Fprintf(r.env.Stdout, format+"\n", args...) }

// verbosef prints a line if -V was given level times.
func (r *rewriter) verbosef(level int, format string, args ...any) {
	if r.verbose >= level {
		r.say(format, args...)
	}
}

func run(ctx context.Context, env *cli.Env) int {
	r := &rewriter{ctx: ctx, env: env, args: []string{"-iq"}, shown: []string{"-iq"}}
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: r.own})
	if len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if status != 0 {
			status = aborted
		}
		return status
	}
	list := r.archives(r.files(o.Args))
	if len(list) == 0 {
		r.verbosef(1, "Warning: no PCP archives found")
		return 0
	}
	for _, base := range list {
		if ctx.Err() != nil {
			return aborted
		}
		if r.showMe {
			r.say("+ check %s not active and OK", base)
			r.say("+ pmlogrewrite %s %s", strings.Join(r.shown, " "), base)
			continue
		}
		r.rewrite(base)
	}
	return 0
}

// archiveFile matches the files of archives in a directory.
const archiveFile = `(\.meta|\.index|\.[0-9][0-9]*)($|(\.xz|\.lzma|\.bz2|\.bz|\.gz|\.Z|\.z|\.zst)$)`

// files replaces directories by the files of archives in them and below.
func (r *rewriter) files(args []string) (list []string) {
	match := regexp.MustCompile(archiveFile)
	for _, arg := range args {
		st, err := os.Stat(arg)
		if err != nil || !st.IsDir() {
			list = append(list, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				r.say("Warning: %s: %s", path, cli.ErrText(err))
				return nil
			}
			name := e.Name()
			if e.Type().IsRegular() && !strings.HasPrefix(name, ".") && match.MatchString(name) {
				list = append(list, join(arg, path))
			}
			return r.ctx.Err()
		})
		if err != nil {
			r.say("Warning: %s: %s", arg, cli.ErrText(err))
		}
	}
	return list
}

// join returns a path that WalkDir found below dir as find(1) prints it.
func join(dir, path string) string {
	if rel, err := filepath.Rel(filepath.Clean(dir), path); err == nil {
		return strings.TrimSuffix(dir, "/") + "/" + rel
	}
	return path
}

// suffixes are those of compressed files, in the order in which C looks for them.
var suffixes = []string{".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// archives returns the base names of the archives that files belong to, each once.
func (r *rewriter) archives(files []string) (list []string) {
	for _, file := range files {
		base := r.base(file)
		if base == "" {
			continue
		}
		if file != base {
			r.verbosef(2, "suffix stripping: arg: %s -> %s", file, base)
		}
		switch {
		case slices.Contains(list, base):
			r.verbosef(2, "%s: duplicate, already in archives list", base)
		case r.showMe || isArchive(base):
			list = append(list, base)
		}
	}
	return list
}

// base returns the base name of the archive that an argument means, "" if it means none.
func (r *rewriter) base(file string) string {
	plain := file
	for _, s := range suffixes {
		if p, ok := strings.CutSuffix(file, s); ok {
			plain = p
			break
		}
	}
	if dir, name := filepath.Split(plain); name != "" {
		if base, _, ok := archive.BaseName(name); ok && base != "" {
			return dir + base
		}
	}
	if metadata(plain) == "" {
		r.verbosef(1, "Warning: %s: not a PCP archive name", file)
		return ""
	}
	return plain
}

// metadata returns the path of the metadata of an archive, "" if there are none.
func metadata(base string) string {
	for _, s := range append([]string{""}, suffixes...) {
		if st, err := os.Stat(base + ".meta" + s); err == nil && st.Mode().IsRegular() {
			return base + ".meta" + s
		}
	}
	return ""
}

// isArchive reports whether the metadata begin with a label.
func isArchive(base string) bool {
	path := metadata(base)
	if path == "" {
		return false
	}
	f, err := archive.OpenFile(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [7]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return false
	}
	// The length of the label of version 3 or 2, and PM_LOG_MAGIC without the version.
	return bytes.Equal(b[:], []byte{0, 0, 3, 0x28, 0x50, 5, 0x26}) || bytes.Equal(b[:], []byte{0, 0, 0, 0x84, 0x50, 5, 0x26})
}

// rewrite changes one archive, unless it is in use or damaged.
func (r *rewriter) rewrite(base string) {
	a, err := archive.Open(base)
	if err != nil {
		// The script asks twice: once for the process, once for the reason.
		for range 2 {
			r.env.Call(r.ctx, "pmdumplog", r.env.Stdout, r.env.Stderr, "-L", base)
		}
		r.say("Botch: cannot get pmlogger PID from label record for %s", base)
		return
	}
	pid := fmt.Sprint(a.Label().PID)
	a.Close()
	var out bytes.Buffer
	r.env.Call(r.ctx, "pmprobe", &out, r.env.Stderr, "-I", "pmcd.pmlogger.port")
	if strings.Contains(out.String(), `"`+pid+`"`) {
		r.verbosef(1, "Warning: skip archive %s, pmlogger PID %s is still running", base, pid)
		return
	}
	out.Reset()
	if status := r.env.Call(r.ctx, "pmlogcheck", &out, &out, "-w", base); status != 0 {
		why := fmt.Sprintf(" (pmlogcheck exit status=%d)", status)
		if out.Len() > 0 {
			why = ""
			if r.verbose > 0 {
				r.env.Stdout.Write(out.Bytes())
			}
		}
		r.say("Warning: %s: bad archive%s, rewriting skipped", base, why)
		return
	}
	before, err := sums(base)
	if err != nil {
		r.say("Warning: %s: %s, rewriting skipped", base, cli.FileErrText(err))
		return
	}
	r.env.FlushOut()
	r.env.Call(r.ctx, "pmlogrewrite", r.env.Stdout, r.env.Stderr, append(r.args, base)...)
	after, err := sums(base)
	if err != nil {
		r.say("Warning: %s: %s", base, cli.FileErrText(err))
		return
	}
	r.recompress(before, after)
}
