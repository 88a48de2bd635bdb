package logdiff

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmdiff.
var Command = &cli.Command{
	Name:     "diff",
	Link:     "pmdiff",
	Group:    cli.SeePast,
	Summary:  "compare the averages of two archives",
	Synopsis: "[options] archive1 [archive2]",
	Doc: `Compares the averages of all metrics in two archives, or in two windows of one, and prints those that differ by more than a
factor, the largest change first.`,
	Examples: []cli.Example{
		{Line: `pcp diff -q 3 monday tuesday`, Text: `print what changed by more than a factor of 3`},
		{Line: `pcp diff -S @09:00 -T @10:00 -B @14:00 -E @15:00 20261121`, Text: `compare two hours of one archive`},
	},
	SeeAlso: []string{"pmlogsummary(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'd', Long: "keep", Help: "debug, keep intermediate files"},
			{Short: 'p', Long: "precision", Arg: "N", Help: "number of digits to display after the decimal point"},
			{Short: 'q', Long: "threshold", Arg: "N", Help: "change interesting threshold to be > N or < 1/N [N=2]"},
			{Long: "skip-missing", Help: "do not report metrics missing between the archives"},
			{Long: "skip-excluded", Help: "do not report the list of metrics being excluded"},
			cli.OptStart,
			cli.OptFinish,
			{Short: 'B', Long: "begin", Arg: "TIME", Help: "start time for second archive (optional)"},
			{Short: 'E', Long: "end", Arg: "TIME", Help: "end time for second archive (optional)"},
			{Short: 'x', Arg: "REGEX", Help: "egrep(1) pattern of metric(s) to be excluded"},
			{Short: 'X', Arg: "FILE", Help: "file containing egrep(1) patterns to exclude"},
			cli.OptTimeZone,
			cli.OptHostZone,
			cli.OptVersion,
			cli.OptHelp,
			cli.OptJSON,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A tool is one run.
type tool struct {
	ctx context.Context
	env *cli.Env

	keep, skipMissing, skipExcluded, version, json bool

	precision string // as given
	digits    int
	threshold float64

	zone    []string // options for pmlogsummary
	excl    []string // patterns of metrics to leave out
	exclude []*regexp.Regexp
	unread  []string // messages about files of patterns
	windows [2]window
}

// A window is the compared time window of an archive, as given.
type window struct{ start, finish string }

func (w window) String() string {
	if w.start == "" {
		w.start = "start"
	}
	if w.finish == "" {
		w.finish = "end"
	}
	return w.start + "-" + w.finish
}

func (t *tool) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'd':
		t.keep = true
	case 'V':
		t.version = true
	case 'p':
		t.precision, t.digits = arg, o.Number(opt, arg, math.MinInt, "numeric")
	case 'q':
		v, err := strconv.ParseFloat(strings.TrimSpace(arg), 64)
		if err != nil || !(v > 0) {
			o.Usagef("-q requires positive numeric argument")
		}
		t.threshold = v
	case 'S':
		t.windows[0].start = arg
	case 'T':
		t.windows[0].finish = arg
	case 'B':
		t.windows[1].start = arg
	case 'E':
		t.windows[1].finish = arg
	case 'x':
		t.excl = append(t.excl, strings.Split(arg, "\n")...)
	case 'X':
		b, err := os.ReadFile(arg)
		if err != nil {
			t.unread = append(t.unread, fmt.Sprintf("cat: %s: %s\n", arg, cli.ErrText(err)))
			break
		}
		if s := strings.TrimSuffix(string(b), "\n"); len(b) > 0 {
			t.excl = append(t.excl, strings.Split(s, "\n")...)
		}
	case 'z':
		t.zone = append(t.zone, "-z")
	case 'Z':
		t.zone = append(t.zone, "-Z", arg)
	case 0:
		switch opt.Long {
		case "skip-missing":
			t.skipMissing = true
		case "skip-excluded":
			t.skipExcluded = true
		default:
			return false
		}
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	t := &tool{ctx: ctx, env: env, threshold: 2, digits: 3, excl: []string{"^pmcd.pmlogger.port "}}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: t.own})
	t.json = o.JSON
	if t.version && !o.Errors() {
		fmt.Fprintf(env.Stdout, "%s version %s\n", env.ProgName(), env.Version)
		return 0
	}
	if (len(o.Args) < 1 || len(o.Args) > 2) && !o.Errors() {
		o.WantUsage()
	}
	if _, exit := o.Done(); exit {
		return 1 // even if the usage message was requested
	}
	for _, msg := range t.unread {
		fmt.Fprint(env.Stderr, msg)
	}
	for _, p := range t.excl {
		re, err := pattern(p)
		if err != nil {
			return env.Fatalf("pattern \"%s\": %v", p, err)
		}
		t.exclude = append(t.exclude, re)
	}
	if t.digits < 3 || t.digits > 15 {
		t.digits = 3
	}
	archives := [2]string{o.Args[0], o.Args[0]}
	if len(o.Args) == 2 {
		archives[1] = o.Args[1]
	}
	if err := t.compare(archives); err != nil {
		return env.Fatalf("%s", cli.ErrText(err))
	}
	return 0
}

// pattern compiles a pattern of egrep(1).
func pattern(p string) (*regexp.Regexp, error) {
	return regexp.Compile(strings.NewReplacer(`\\`, `\\`, `\<`, `\b`, `\>`, `\b`).Replace(p))
}

// compare prints the report.
func (t *tool) compare(archives [2]string) error {
	out := t.env.Stdout
	if t.json {
		out = io.Discard
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Directory: %s\n", dir)
	if !t.skipExcluded {
		fmt.Fprint(out, "Excluded metrics:\n")
		for _, p := range t.excl {
			fmt.Fprintf(out, "    %s\n", p)
		}
	}
	fmt.Fprintln(out)

	var lines [2][]string
	for i, a := range archives {
		w := t.windows[i]
		if i == 1 && w.start == "" {
			w.start = t.windows[0].start
		}
		if i == 1 && w.finish == "" {
			w.finish = t.windows[0].finish
		}
		text, warnings := t.summarise(a, w)
		lines[i] = t.tidy(text)
		if t.json {
			t.env.Stderr.Write(warnings)
		} else if len(warnings) > 0 {
			fmt.Fprintf(out, "Warnings from pmlogsummary ... %s\n%s\n", a, warnings)
		}
	}
	pairs, missing := join(lines[0], lines[1])
	if !t.skipMissing {
		for i, names := range missing {
			if len(names) == 0 {
				continue
			}
			fmt.Fprintf(out, "Missing from %s %s (not compared) ...\n", archives[i], t.windows[i])
			for _, n := range names {
				fmt.Fprintf(out, "    %s\n", n)
			}
			fmt.Fprintln(out)
		}
	}
	width := 12 + t.digits
	fmt.Fprintf(out, "Ratio Threshold: >= %.2f or <= %.3f\n", t.threshold, 1/t.threshold)
	fmt.Fprintf(out, "%s %s   Ratio  Metric-Instance\n", padLeft(filepath.Base(archives[0]), width), padLeft(filepath.Base(archives[1]), width))
	fmt.Fprintf(out, "%s %s\n", padLeft(t.windows[0].String(), width), padLeft(t.windows[1].String(), width))
	if t.json {
		t.writeJSON(pairs, missing)
	}
	report := t.report(pairs)
	for _, line := range report {
		fmt.Fprintln(out, line)
	}
	if t.keep {
		return t.save(lines, report)
	}
	return nil
}

// padLeft is printf's %*s, which counts bytes.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-len(s))) + s
}

// summarise runs pmlogsummary.
func (t *tool) summarise(archive string, w window) (out, warnings []byte) {
	args := []string{"-N"}
	if t.precision != "" {
		args = append(args, "-p", t.precision)
	}
	args = append(args, t.zone...)
	if w.start != "" {
		args = append(args, "-S", w.start)
	}
	if w.finish != "" {
		args = append(args, "-T", w.finish)
	}
	var stdout, stderr bytes.Buffer
	cmd := cli.Find(t.env.Commands, "pmlogsummary")
	if cmd == nil {
		return nil, []byte("pmlogsummary: not found\n")
	}
	cmd.Run(t.ctx, &cli.Env{
		Name: "pmlogsummary", Args: append(args, archive), Stdin: t.env.Stdin, Stdout: &stdout, Stderr: &stderr,
		Getenv: t.env.Getenv, LookupEnv: t.env.LookupEnv, Version: t.env.Version, Command: cmd, Commands: t.env.Commands,
	})
	return stdout.Bytes(), stderr.Bytes()
}

var insufficient = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\*.* - insufficient archive data.$`)
})

// tidy converts a summary to sorted lines "name|value", without excluded metrics.
func (t *tool) tidy(text []byte) []string {
	var lines []string
	for line := range strings.Lines(string(text)) {
		line = mark(strings.TrimSuffix(line, "\n"))
		switch {
		case insufficient().MatchString(line),
			strings.HasPrefix(line, "Note: timezone set to local timezone of host"),
			strings.Trim(line, " \t") == "",
			slices.ContainsFunc(t.exclude, func(re *regexp.Regexp) bool { return re.MatchString(line) }):
			continue
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b string) int {
		if c := strings.Compare(key(a), key(b)); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return lines
}

// mark replaces the blanks before the first number that no quote follows with a bar,
// and removes the text after the number.
func mark(line string) string {
	for i := strings.LastIndexByte(line, '"') + 1; i < len(line); i++ {
		if line[i] != ' ' {
			continue
		}
		start := i
		for i < len(line) && line[i] == ' ' {
			i++
		}
		if i == len(line) || line[i] < '0' || line[i] > '9' {
			continue
		}
		end := i
		for end < len(line) && (line[end] == '.' || '0' <= line[end] && line[end] <= '9') {
			end++
		}
		return line[:start] + "|" + line[i:end]
	}
	return line
}

// key returns the join key of a line.
func key(line string) string {
	k, _, _ := strings.Cut(line, "|")
	return k
}

// rest returns the rest of the line after the key, with the bar.
func rest(line string) string { return line[len(key(line)):] }

// join joins sorted lines as join(1) does, and returns the keys of lines missing in the
// first or the second.
func join(a, b []string) (pairs []string, missing [2][]string) {
	group := func(lines []string) int {
		n := 1
		for n < len(lines) && key(lines[n]) == key(lines[0]) {
			n++
		}
		return n
	}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && key(a[0]) < key(b[0]):
			missing[1] = append(missing[1], key(a[0]))
			a = a[1:]
		case len(a) == 0 || key(b[0]) < key(a[0]):
			missing[0] = append(missing[0], key(b[0]))
			b = b[1:]
		default:
			n, m := group(a), group(b)
			for _, x := range a[:n] {
				for _, y := range b[:m] {
					pairs = append(pairs, x+rest(y))
				}
			}
			a, b = a[n:], b[m:]
		}
	}
	return pairs, missing
}

// save saves intermediate results in the directory tmp.
func (t *tool) save(lines [2][]string, report []string) error {
	if err := os.MkdirAll("tmp", 0o777); err != nil {
		return err
	}
	for name, list := range map[string][]string{"exclude": t.excl, "1": lines[0], "2": lines[1], "out": report} {
		text := ""
		if len(list) > 0 {
			text = strings.Join(list, "\n") + "\n"
		}
		if err := os.WriteFile(filepath.Join("tmp", name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
