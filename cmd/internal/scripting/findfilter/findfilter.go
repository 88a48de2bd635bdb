// Package findfilter is find-filter: of the paths on standard input it prints those of
// files that changed before or after a time.
//
//	find /var/log/pcp -type f | find-filter mtime +3:12
package findfilter

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Command is find-filter.
var Command = &cli.Command{
	Name:     "find-filter",
	Link:     "find-filter",
	Group:    cli.Scripts,
	Summary:  "select files by modification time, to the minute",
	Synopsis: "[options] <predicate>",
	Options:  func() []cli.Option { return []cli.Option{cli.Heading("Options"), {Short: 'v', Help: "verbose"}} },
	Doc: `Reads paths, one on each line, and prints those of files that match the predicate: mtime (last
write) or ctime (last change), and an age. +D:H:M is more than D days, H hours and M minutes ago,
-D:H:M at most that; hours and minutes are optional. Missing files are skipped, and reported with
-v.`,
	Examples: []cli.Example{
		{Line: "find . -type f | pcp find-filter mtime +3", Text: "files written more than three days ago"},
		{Line: "find . -type f | pcp find-filter ctime -0:2", Text: "files changed in the last two hours"},
	},
	SeeAlso: []string{"find(1)"},
	Run:     run,
}

const usage = `
options:
  -v                 verbose

<predicate> is one of the following:
  ctime <timespec>   filter on a file's ctime
  mtime <timespec>   filter on a file's mtime
and <timespec> is one of the following:
  +D[:H[:M]]         file's time is > specified days, hours and minutes ago
  -D[:H[:M]]         file's time is <= specified days, hours and minutes ago
`

// maxPath is how long a line may be.
const maxPath = 64 << 10

// run reads its arguments as find-filter does, for which only the first can be an
// option: others may begin with a minus.
func run(ctx context.Context, env *cli.Env) int {
	args := env.Args
	if !env.Classic() && len(args) > 0 && (args[0] == "--help" || args[0] == "-?") {
		env.Help(env.Command)
		return 0
	}
	verbose := len(args) > 0 && args[0] == "-v"
	if verbose {
		args = args[1:]
	}
	if len(args) < 2 || args[0] != "ctime" && args[0] != "mtime" {
		fmt.Fprintf(env.Stderr, "Usage: %s %s%s", env.ProgName(), env.Command.Synopsis, usage)
		return 1
	}
	now := time.Now()
	spec, err := parse(args[1])
	if err != nil {
		return env.Fatalf("Error: %v", err)
	}
	f := &filter{env: env, ctime: args[0] == "ctime", before: spec.before, now: now, stamp: now.Add(-spec.ago).Truncate(time.Microsecond), verbose: verbose}
	r := bufio.NewReaderSize(env.Stdin, maxPath)
	for ctx.Err() == nil {
		line, err := r.ReadSlice('\n')
		path := strings.TrimSuffix(string(line), "\n")
		switch {
		case err != nil && err != io.EOF:
			if errors.Is(err, bufio.ErrBufferFull) {
				return env.Fatalf("a path of more than %d bytes", maxPath)
			}
			return env.Fatalf("reading paths: %v", err)
		case err == io.EOF && path == "":
			return 0
		}
		if f.chooses(path) {
			fmt.Fprintln(env.Stdout, path)
		}
		if err == io.EOF {
			return 0
		}
	}
	return 1
}

// A filter is a parsed predicate.
type filter struct {
	env        *cli.Env
	ctime      bool
	before     bool
	now, stamp time.Time
	verbose    bool
}

// chooses reports whether to print a file.
func (f *filter) chooses(path string) bool {
	t, err := changed(path, f.ctime)
	if err != nil {
		if f.verbose {
			f.env.FlushOut()
			fmt.Fprintf(f.env.Stderr, "%s: stat() failed: %s\n", path, cli.ErrText(err))
		}
		return false
	}
	t = t.Truncate(time.Microsecond)
	if f.verbose {
		f.env.FlushOut()
		seconds := func(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }
		fmt.Fprintf(f.env.Stderr, "%s: me: %s (now-%.6f) timespec: %s\n", path, seconds(t), f.now.Sub(t).Seconds(), seconds(f.stamp))
	}
	return t.Before(f.stamp) == f.before
}

// A spec is a time in the past: +D:H:M or -D:H:M.
type spec struct {
	before bool
	ago    time.Duration
}

// maxDays is the maximum age of a time, some 270 years.
const maxDays = 100_000

// parse reads a spec. Errors have the words of the C tool.
func parse(text string) (spec, error) {
	var s spec
	if text == "" || text[0] != '+' && text[0] != '-' {
		return s, fmt.Errorf("expect '+' or '-' to start timespec, not '%s' in \"%s\"", first(text), text)
	}
	s.before = text[0] == '+'
	rest := text[1:]
	for i, unit := range []struct {
		name   string
		length time.Duration
		limit  int
		behind string
	}{{"days", 24 * time.Hour, maxDays, "days"}, {"hours", time.Hour, 23, "days and hours"}, {"minutes", time.Minute, 59, ""}} {
		if rest == "" {
			return s, fmt.Errorf("missing number of %s in timespec \"%s\"", unit.name, text)
		}
		n, after, ok := integer(rest)
		switch {
		case !ok && i == 0:
			return s, fmt.Errorf("expect number of days not '%s' after %c in timespec\"%s\"", first(rest), text[0], text)
		case !ok:
			return s, fmt.Errorf("expect number of %s not '%s' in timespec \"%s\"", unit.name, first(rest), text)
		case n < 0 || n > unit.limit:
			return s, fmt.Errorf("number of %s '%d' is invalid in timespec \"%s\"", unit.name, n, text)
		}
		s.ago += time.Duration(n) * unit.length
		switch {
		case after == "":
			return s, nil
		case unit.behind == "":
			return s, fmt.Errorf("extra text after days, hours and minutes in timespec \"%s\"", text)
		case after[0] != ':':
			return s, fmt.Errorf("expect ':' not '%s' after %s in timespec \"%s\"", first(after), unit.behind, text)
		}
		rest = after[1:]
	}
	return s, nil
}

// first returns the first byte of s, a NUL if it is empty.
func first(s string) string {
	if s == "" {
		return "\x00"
	}
	return s[:1]
}

// integer reads a number, perhaps with a sign, at the beginning of s, as strtol does.
func integer(s string) (n int, rest string, ok bool) {
	start := ctext.SkipSpace(s, 0)
	i := start
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	end := ctext.Digits(s, i)
	if end == i {
		return 0, s, false
	}
	n, err := strconv.Atoi(s[start:end])
	if err != nil {
		n = maxDays + 1
	}
	return n, s[end:], true
}
