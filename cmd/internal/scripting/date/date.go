package date

import (
	"context"
	"fmt"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is pmdate.
var Command = &cli.Command{
	Name:     "date",
	Link:     "pmdate",
	Group:    cli.Scripts,
	Summary:  "print a date relative to now",
	Synopsis: "{ +valueS | -valueS } ... format",
	Doc:      `Prints the date some seconds, minutes, hours, days, months or years before or after now, in a format of strftime.`,
	Examples: []cli.Example{
		{Line: `pcp date -1d %Y%m%d`, Text: `print yesterday's date in the format of archive names`},
	},
	DieOnSignal: true,
	Run: func(_ context.Context, env *cli.Env) int {
		env.Debug()
		return run(env, time.Now().In(env.Local()))
	},
}

const units = `
where the scale "S" is one of: S (seconds), M (minutes), H (hours), 
d (days), m (months) or y (years)
`

func usage(env *cli.Env) int {
	fmt.Fprintf(env.Stderr, "Usage: %s %s\n%s", env.ProgName(), env.Command.Synopsis, units)
	return 1
}

// run reads its arguments as pmdate does: the last one is the format, and those
// before it are offsets.
func run(env *cli.Env, now time.Time) int {
	if len(env.Args) == 0 || env.Args[0] == "-?" || env.Args[0] == "--help" {
		return usage(env)
	}
	last := len(env.Args) - 1
	months, years := 0, 0
	for _, arg := range env.Args[:last] {
		if arg == "" || arg[0] != '+' && arg[0] != '-' {
			return env.Fatalf("incorrect leading sign for offset (%s), must be \"+\" or \"-\"", arg)
		}
		n, scale := number(arg[1:])
		if arg[0] == '-' {
			n = -n
		}
		switch {
		case scale == "":
			return env.Fatalf("missing scale after offset (%s)", arg)
		case scale[0] == 'S':
			now = addSeconds(now, n)
		case scale[0] == 'M':
			now = addSeconds(now, n*60)
		case scale[0] == 'H':
			now = addSeconds(now, n*60*60)
		case scale[0] == 'd':
			now = addSeconds(now, n*24*60*60)
		case scale[0] == 'm':
			months += int(n)
		case scale[0] == 'y':
			years += int(n)
		case scale[0] == '?':
			return usage(env)
		default:
			return env.Fatalf("unknown scale after offset (%s)", arg)
		}
	}
	now = addMonths(now, years, months)
	format := env.Args[last]
	out := pcptime.Strftime(format, now)
	if out == "" || len(out) >= len(format)+room {
		return env.Fatalf("format too long")
	}
	fmt.Fprintln(env.Stdout, out)
	return 0
}

// room is by how much the output may be longer than the format.
const room = 256

func addSeconds(t time.Time, n int64) time.Time {
	return time.Unix(t.Unix()+n, int64(t.Nanosecond())).In(t.Location())
}

// addMonths keeps the time of day on the clock, except that a change to or
// from summer time moves it, as mktime(3) does if tm_isdst is kept.
func addMonths(t time.Time, years, months int) time.Time {
	if years == 0 && months == 0 {
		return t
	}
	u := time.Date(t.Year()+years, t.Month()+time.Month(months), t.Day(),
		t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
	if u.IsDST() != t.IsDST() {
		_, was := t.Zone()
		_, is := u.Zone()
		u = addSeconds(u, int64(is-was))
	}
	return u
}

// number reads a number as strtol(3) does, cut to 32 bits, and returns what
// follows it.
func number(s string) (n int64, rest string) {
	i := ctext.SkipSpace(s, 0)
	neg := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		neg = s[i] == '-'
		i++
	}
	start := i
	const most = 1<<63 - 1
	var u uint64
	for ; i < len(s) && ctext.IsDigit(s[i]); i++ {
		if u > (most-9)/10 {
			u = most
			continue
		}
		u = u*10 + uint64(s[i]-'0')
	}
	if i == start {
		return 0, s
	}
	n = int64(u)
	if neg {
		n = -n
	}
	return int64(int32(n)), s[i:]
}
