package loggerdaily

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// parse reads the options. wrong is the error in one of them, which the caller prints on
// standard output as the script does.
func (d *daily) parse(env *cli.Env) (o *cli.Options, wrong string) {
	fail := func(format string, args ...any) {
		if wrong == "" {
			wrong = "Error: " + fmt.Sprintf(format, args...)
		}
	}
	exclusive := func(other bool, a, b string) {
		if other {
			fail("%s and %s are mutually exclusive", a, b)
		}
	}
	var ignored []string
	env2 := func(value, opt, name, inEnv string) string {
		if inEnv != "" && inEnv != value {
			ignored = append(ignored, fmt.Sprintf("Warning: -%s value (%s) ignored because $%s (%s) set in environment", opt, value, name, inEnv))
			return ""
		}
		return value
	}
	o = cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'c':
			d.control = arg
		case 'D':
			d.noReport = true
		case 'E':
			d.expunge = true
		case 'f':
			d.force = true
		case 'k':
			if d.cullAfter = arg; !validAge(arg) {
				fail("-k value (%s) must be number, time, \"forever\" or \"never\"", arg)
			}
		case 'K':
			exclusive(d.poll, "-p", "-K")
			d.compressOnly = true
		case 'l':
			d.logFile, d.syslog = arg, false
		case 'm':
			d.mail = arg
		case 'M':
			exclusive(d.rewriteAll, "-R", "-M")
			d.noMerge, d.noRewrite = true, true
		case 'N':
			d.showMe, d.syslog = true, false
			d.flags = append(d.flags, "-N")
		case 'o':
			d.yesterday = true
		case 'p':
			exclusive(d.compressOnly, "-K", "-p")
			d.poll = true
		case 'r':
			exclusive(d.rewriteAll, "-R", "-r")
			d.noRewrite = true
		case 'R':
			exclusive(d.noRewrite, "-r", "-R")
			d.rewriteAll = true
		case 's':
			n, err := strconv.ParseInt(arg, 10, 64)
			if err != nil || n < 0 || strings.Trim(arg, "0123456789") != "" {
				fail("-s value (%s) must be numeric", arg)
			}
			d.rollAt = n
		case 't':
			n, err := strconv.Atoi(arg)
			if err != nil || n < 0 || n > maxDays {
				fail("-t value (%s) must be a number of days", arg)
			}
			d.trace, d.verbose = n, 2
			d.flags = append(d.flags, "-V", "-V")
		case 'V':
			d.verbose++
			d.flags = append(d.flags, "-V")
		case 'x':
			if d.after = env2(arg, "x", "PCP_COMPRESSAFTER", d.envAfter); d.after != "" && !validAge(arg) {
				fail("-x value (%s) must be number, time, \"forever\" or \"never\"", arg)
			}
		case 'X':
			d.compress = env2(arg, "X", "PCP_COMPRESS", d.envCompress)
		case 'Y':
			d.regex = env2(arg, "Y", "PCP_COMPRESSREGEX", d.envRegex)
		case 'Z':
			d.reexec = reexecForce
		case 'z':
			d.reexec = reexecSkip
		default:
			return false
		}
		return true
	}})
	if len(o.Args) > 0 {
		o.WantUsage()
	}
	for _, s := range ignored {
		fmt.Fprintln(env.Stdout, s)
	}
	return o, wrong
}

// maxDays is the maximum age, some 270 years.
const maxDays = 100_000

// validAge reports whether a limit is a time, or means no limit.
func validAge(s string) bool {
	_, ok := age(s)
	return ok || unlimited(s)
}

// unlimited reports whether a limit means no limit.
func unlimited(s string) bool { return s == "forever" || s == "never" }

// age reads a time of the form DD[:HH[:MM]].
func age(s string) (time.Duration, bool) {
	var total time.Duration
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	for i, unit := range []struct {
		length time.Duration
		limit  int
	}{{24 * time.Hour, maxDays}, {time.Hour, 23}, {time.Minute, 59}} {
		if i == len(parts) {
			break
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || n > unit.limit || parts[i][0] == '+' {
			return 0, false
		}
		total += time.Duration(n) * unit.length
	}
	return total, true
}

// ageText formats an age in words.
func ageText(s string) string {
	var n [3]int
	for i, p := range strings.SplitN(s, ":", 3) {
		n[i], _ = strconv.Atoi(p)
	}
	var list []string
	for i, unit := range []string{"day", "hour", "minute"} {
		switch {
		case n[i] == 1:
			list = append(list, "1 "+unit)
		case n[i] > 1 || i == 0 && n[1] == 0 && n[2] == 0:
			list = append(list, fmt.Sprintf("%d %ss", n[i], unit))
		}
	}
	if len(list) == 3 {
		return list[0] + ", " + list[1] + " and " + list[2]
	}
	return strings.Join(list, " and ")
}
