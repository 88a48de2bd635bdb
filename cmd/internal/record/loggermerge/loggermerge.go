package loggermerge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
)

// Command is pmlogger_merge.
var Command = &cli.Command{
	Name:     "logger-merge",
	Link:     "pmlogger_merge",
	Group:    cli.Record,
	Summary:  "merge the archives of a day",
	Synopsis: "[options] [input-basename ... output-name]",
	Doc: `Merges archives, by default those whose names start with today's date, into one of that name. An input may be a
pattern in quotes. With -f the inputs are removed afterwards.

The inputs are kept until the new archive has been read back and synced to the disk. After an
interruption, the next call in the same directory completes the merge or removes the incomplete
archive; --finish does only this.`,
	Examples: []cli.Example{
		{Line: `pcp logger-merge '20261121.??.??' 20261121`, Text: `merge the archives of a day`},
		{Line: `pcp logger-merge -N -f '20261121.??.??' 20261121`, Text: `only print what would be done`},
	},
	SeeAlso: []string{"pmlogextract(1)", "pmlogger_daily(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'f', Long: "force", Help: "remove input files after creating output files"},
			{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
			{Short: 'V', Long: "verbose", Help: "increase diagnostic verbosity"},
			{Short: 'E', Long: "expunge", Help: "expunge metrics with metadata mismatches between archives"},
			{Long: "finish", Help: "finish merges in this directory that were interrupted, and exit", Extra: true},
			cli.OptHelp,
		}
	},
	Run: run,
}

// A merger is a run of the command.
type merger struct {
	ctx context.Context
	env *cli.Env
	now time.Time

	force, showMe, verbose, expunge, finish bool

	fail func(step string) error // for tests: simulates a stop of the process at a step
}

func (m *merger) own(_ *cli.Options, opt *cli.Option, _ string) bool {
	switch {
	case opt.Short == 'f':
		m.force = true
	case opt.Short == 'N':
		m.showMe = true
	case opt.Short == 'V':
		m.verbose = true
	case opt.Short == 'E':
		m.expunge = true
	case opt.Long == "finish":
		m.finish = true
	default:
		return false
	}
	return true
}

func (m *merger) printf(format string, args ...any) { fmt.Fprintf(m.env.Stdout, format, args...) }

// complain prints a message of the program: on standard output, as the C script does.
func (m *merger) complain(format string, args ...any) {
	m.printf("%s: %s\n", m.env.ProgName(), fmt.Sprintf(format, args...))
}

func (m *merger) verbosef(format string, args ...any) {
	if m.verbose {
		m.printf(format, args...)
	}
}

func run(ctx context.Context, env *cli.Env) int {
	m := &merger{ctx: ctx, env: env, now: time.Now().In(env.Local())}
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: m.own})
	if len(o.Args) == 1 || m.finish && len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if m.finish {
		unlock, status := m.start(".")
		if status == 0 {
			unlock()
		}
		return status
	}
	today := m.now.Format("20060102")
	inputs, output := []string{today + ".??.??"}, today
	if n := len(o.Args); n > 0 {
		inputs, output = o.Args[:n-1], o.Args[n-1]
	}
	return m.merge(inputs, output)
}

// start locks a directory, and finishes interrupted merges in it.
func (m *merger) start(dir string) (unlock func(), status int) {
	unlock, err := fsdir.Lock(dir)
	if err != nil {
		m.complain("Error: cannot lock directory %q: %s", dir, cli.ErrText(err))
		return nil, 1
	}
	notes, err := finish(dir)
	for _, s := range notes {
		m.complain("Warning: %s", s)
	}
	if err != nil {
		m.complain("Error: %v", err)
		unlock()
		return nil, 1
	}
	return unlock, 0
}

func (m *merger) merge(patterns []string, output string) int {
	if !m.showMe {
		unlock, status := m.start(filepath.Dir(output))
		if status != 0 {
			return status
		}
		defer unlock()
	}
	inputs := expand(patterns)
	list, ok := m.check(inputs)
	for _, f := range []struct{ suffix, what string }{{".index", "index"}, {".meta", "meta"}, {".0", "volume 0"}} {
		if st, err := os.Stat(output + f.suffix); err == nil && st.Mode().IsRegular() {
			m.complain(`Error: "%s" file already exists for output archive "%s"`, f.what, output)
			ok = false
		}
	}
	if !ok {
		m.complain("These error(s) are fatal, no output archive has been created.")
		return 1
	}
	status := 0
	if len(list) == 0 {
		m.verbosef("No archives to be merged.\n")
	} else {
		m.verbosef("Input archives to be merged:\n")
		for _, input := range list {
			m.verbosef("\t%s%s\n", input, volumes(input))
		}
		if !m.extract(list, inputs, output) {
			m.force, status = false, 1
		}
	}
	if !m.force {
		return status
	}
	err := m.remove(inputs)
	if err == nil && !m.showMe {
		err = forget(output)
	}
	if err != nil {
		m.complain("Error: %v", err)
		return 1
	}
	return status
}

// expand returns the archives that patterns and names match, each once. Archives named
// like one of them with a number, as 20261121.10.00-01, belong to it.
func expand(patterns []string) (list []string) {
	for _, p := range patterns {
		for _, suffix := range []string{".meta*", "-*.meta*"} {
			for _, path := range glob(p + suffix) {
				base := path[:strings.LastIndex(path, ".meta")]
				if !slices.Contains(list, base) {
					list = append(list, base)
				}
			}
		}
	}
	return list
}

// glob returns the files that a shell pattern matches. It matches hidden files only if
// the pattern begins with a dot.
func glob(pattern string) (list []string) {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	found, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	hidden := strings.HasPrefix(filepath.Base(pattern), ".")
	for _, path := range found {
		if strings.HasPrefix(filepath.Base(path), ".") == hidden {
			list = append(list, path)
		}
	}
	return list
}

// suffixes are those of compressed files, in the order in which C looks for them.
var suffixes = []string{"", ".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// check looks for the files of the inputs, and returns those inputs that are not empty.
func (m *merger) check(inputs []string) (list []string, ok bool) {
	ok = true
	for _, input := range inputs {
		empty := 0
		for _, part := range []string{"index", "meta", "0"} {
			found := false
			for _, s := range suffixes {
				if st, err := os.Stat(input + "." + part + s); err == nil && st.Mode().IsRegular() {
					found = true
					if st.Size() == 0 {
						empty++
					}
					break
				}
			}
			switch {
			case found:
			case part == "index":
				m.complain(`Warning: "index" file missing for archive "%s"`, input)
				empty++
			case part == "meta":
				m.complain(`Error: "meta" file missing for archive "%s"`, input)
				ok = false
			default:
				m.complain(`Error: "volume 0" file missing for archive "%s"`, input)
				ok = false
			}
		}
		if empty == 3 {
			m.complain(`Warning: archive "%s" is empty and will be skipped`, input)
		} else {
			list = append(list, input)
		}
	}
	return list, ok
}

// volumes reports the number of volumes of an archive, if there are several.
func volumes(input string) string {
	f, err := archive.FindFiles(input)
	if err != nil || len(f.Numbers) < 2 {
		return ""
	}
	return fmt.Sprintf(" (%d volumes)", len(f.Numbers))
}

// extract makes the output archive, and reports whether it exists.
func (m *merger) extract(list, inputs []string, output string) bool {
	flag := ""
	var args []string
	if m.expunge {
		flag, args = "-x", []string{"-x"}
	}
	if m.showMe {
		m.printf("+ pmlogextract %s  %s %s\n", flag, strings.Join(list, " "), output)
		return true
	}
	var remove []string
	if m.force {
		remove = inputs
	}
	t := &transaction{ctx: m.ctx, output: output, fail: m.fail}
	err := t.run(remove, func(base string) error {
		named := &renamer{m.env.Stderr, base, output}
		status := m.env.Call(m.ctx, "pmlogextract", m.env.Stdout, named, append(append(args, list...), base)...)
		if status != 0 {
			return errExtract
		}
		if made, err := parts.Regular(base); err == nil {
			if from, err := archive.FindFiles(list[0]); err == nil {
				giveTo(from.Meta, made)
			}
		}
		return nil
	})
	made := err == nil
	if !made {
		if !errors.Is(err, errExtract) {
			m.complain("Error: %v", err)
		}
		dir, err := os.Getwd()
		if err != nil {
			dir = "?"
		}
		m.complain("Directory: %s", dir)
		m.complain("Failed: pmlogextract  %s %s", strings.Join(list, " "), output)
		m.complain("Trying to continue, although output archive may be corrupted.")
	}
	m.verbosef("Output archive files:\n")
	for _, suffix := range []string{".meta", ".index", ".0"} {
		if line, err := report.Listing(output+suffix, m.now); err == nil {
			m.verbosef("%s\n", line)
		} else {
			m.complain(`Error: file "%s" not created`, output+suffix)
			made = false
		}
	}
	return made
}

// A renamer replaces the archive's temporary name in messages with the user's name for
// it.
type renamer struct {
	w        io.Writer
	from, to string
}

func (r *renamer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(r.w, strings.ReplaceAll(string(b), r.from, r.to)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// step is called before each step at which a test may stop.
func (m *merger) step(name string) error {
	if m.fail != nil {
		return m.fail(name)
	}
	return m.ctx.Err()
}

// remove removes the inputs.
func (m *merger) remove(inputs []string) error {
	m.verbosef("Removing input archive files ")
	for _, input := range inputs {
		list, err := parts.Regular(input)
		if err != nil {
			return err
		}
		m.verbosef("%s", strings.Repeat(".", len(list)))
		if m.showMe {
			var index, meta, names []string
			for _, p := range list {
				switch {
				case strings.HasPrefix(p.Suffix, ".index"):
					index = append(index, p.Path)
				case p.Meta:
					meta = append(meta, p.Path)
				default:
					names = append(names, p.Path)
				}
			}
			m.printf("+ rm -f %s\n", strings.Join(slices.Concat(index, meta, names), " "))
			continue
		}
		if err := m.step("remove " + input); err != nil {
			return err
		}
		if err := parts.Remove(list); err != nil {
			return err
		}
	}
	m.verbosef(" done\n")
	return nil
}
