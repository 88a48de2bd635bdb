package atop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
)

// longOptions are the options of PCP, which have no short form here.
func longOptions() []cli.Option {
	return []cli.Option{
		{Long: "hotproc", Help: "use the pmdaproc(1) hotproc metrics"},
		{Long: "align", Arg: "TIME", Help: "align sample times on natural boundaries"},
		{Long: "archive", Arg: "FILE", Help: "metrics source is a PCP log archive"},
		{Long: "debug", Arg: "DBG"},
		{Long: "host", Arg: "HOST", Help: "metrics source is PMCD on host"},
		{Long: "start", Arg: "TIME", Help: "start of the time window"},
		{Long: "samples", Arg: "N", Help: "terminate after this many samples"},
		{Long: "finish", Arg: "TIME", Help: "end of the time window"},
		{Long: "interval", Arg: "DELTA", Help: "sampling interval"},
		{Long: "timezone", Arg: "TZ", Help: "set reporting timezone"},
		{Long: "hostzone", Help: "set reporting timezone to local time of metrics source"},
		{Long: "version", Help: "display version number and exit"},
		{Short: '?', Long: "help", Help: "show this usage message and exit"},
	}
}

// The options of archives have the letters of atop.
var (
	readOption  = cli.Option{Short: 'r', Arg: "FILE", Help: "read an archive: its path, or a date as YYYYMMDD, or y[y..]"}
	beginOption = cli.Option{Short: 'b', Arg: "TIME", Help: "begin to show data from this date or time"}
	endOption   = cli.Option{Short: 'e', Arg: "TIME", Help: "finish to show data after this date or time"}
)

// longUsage returns the lines of the usage messages for the long options.
func longUsage() string {
	var b strings.Builder
	for _, o := range longOptions() {
		switch {
		case o.Help == "", o.Long == "help":
		case o.Arg == "":
			fmt.Fprintf(&b, "\t  --%s\t%s\n", o.Long, o.Help)
		default:
			fmt.Fprintf(&b, "\t  --%s %s\t%s\n", o.Long, o.Arg, o.Help)
		}
	}
	return b.String()
}

// arguments are the arguments of both commands besides their flags.
type arguments struct {
	env    *cli.Env
	o      *source.Options
	raw    bool // archives are read
	usage  bool // C prints the usage message and stops
	broken bool // a message is printed; C stops
	last   bool // nothing is left to do: the version was printed
	hot    bool
}

// stopped reports whether C would ignore the remaining options.
func (a *arguments) stopped(o *cli.Options) bool {
	return a.usage || a.broken || a.last || a.o == nil && o.Errors()
}

// at returns a time in the @ form of PCP's options.
func at(spec string) *string {
	spec = "@" + spec
	return &spec
}

// numeric reports whether s has only digits, as C requires.
func numeric(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// trailing reads the arguments after the options: the interval and the number of samples. Without
// them it returns false.
func (a *arguments) trailing(o *cli.Options) bool {
	if len(o.Args) == 0 {
		return false
	}
	d, err := pcptime.ParseInterval(o.Args[0])
	if err != nil {
		a.env.Errorf("%s option not in pmParseInterval(3) format:\n%s", o.Args[0], strings.TrimSuffix(err.Error(), "\n"))
		a.env.Printf("\n")
		o.WantUsage()
	}
	o.Interval = d
	if len(o.Args) > 1 {
		n, err := strconv.Atoi(o.Args[1])
		if !numeric(o.Args[1]) || err != nil || n < 1 {
			a.usage = true
			return true
		}
		o.Samples = n
	}
	return true
}

// fromMidnight selects today's recording of this host's pmlogger.
func fromMidnight(o *cli.Options, now time.Time) {
	when := now.Format("@ 2006-01-02 00:00:00")
	o.Start, o.Origin = &when, &when
}

// readArchive adds the archive of -r: its name, that of a folio, or a day.
func (a *arguments) readArchive(ctx context.Context, o *cli.Options, name string) {
	a.raw = true
	if name == "" {
		fromMidnight(o, time.Now().In(a.env.Local()))
		return
	}
	opener := source.New(a.env, o)
	if c, err := opener.OpenArchive(name); err == nil {
		c.Close()
		o.AddArchive(name)
		return
	}
	for _, folio := range []string{name, filepath.Join(name, filepath.Base(name)+".folio")} {
		if f, err := os.Open(folio); err == nil {
			f.Close()
			o.AddArchiveFolio(folio)
			return
		}
	}
	host := ""
	if len(o.Hosts) > 0 {
		host = o.Hosts[0]
	} else if h, err := os.Hostname(); err == nil {
		host = h
	}
	dir := filepath.Join(a.env.Config().Get("PCP_LOG_DIR"), "pmlogger", host)
	switch {
	case looksLikeDay(name):
		o.AddArchive(filepath.Join(dir, name))
	case strings.Trim(name, "y") == "":
		day := time.Now().In(a.env.Local()).Add(-time.Duration(len(name)) * 24 * time.Hour)
		o.AddArchive(filepath.Join(dir, day.Format("20060102")))
	default:
		a.env.Fatalf("cannot find archive from \"%s\"", name)
		a.broken = true
	}
}

// looksLikeDay reports whether a name is a date as 20260102.
func looksLikeDay(s string) bool {
	return len(s) == 8 && numeric(s) && s[0] == '2' && s[4] <= '1' && s[6] <= '3'
}

// getoptArchive reports whether the environment names an archive.
func getoptArchive(env *cli.Env) bool {
	for _, name := range []string{"PCP_ARCHIVE", "PCP_ARCHIVE_LIST", "PCP_FOLIO"} {
		if env.IsSet(name) && strings.TrimSpace(env.Getenv(name)) != "" {
			return true
		}
	}
	return false
}

// parse reads the options and arguments of a command. It calls alone if there are no arguments, and fail if C prints
// the usage message. It returns the exit status if the command is done.
func (a *arguments) parse(own func(*cli.Options, *cli.Option, string) bool, alone func(), fail func() int) (status int, stop bool) {
	a.o = source.Parse(a.env, cli.ParseConfig{Archives: true, Later: true, Own: own})
	switch {
	case a.last:
		return 0, true
	case a.broken:
		return 1, true
	case a.o.WantsVersion():
		status, _ := a.o.Done()
		return status, true
	case a.o.Errors() && a.env.Classic() && unknownOption(a.o.Program().Messages.Kept()):
		a.o.Program().Messages.Take() // C does not print these errors
		return fail(), true
	case a.o.WantsHelp() && !a.env.Classic():
		a.env.Help(a.env.Command)
		return 0, true
	}
	if a.usage { // C has stopped at an option
		return fail(), true
	}
	if !a.trailing(a.o.Options) {
		alone()
	}
	if a.usage {
		if a.env.Classic() {
			a.o.Program().Messages.Take() // C does not print them
		}
		return fail(), true
	}
	if !a.o.Errors() {
		a.o.End()
	}
	if a.o.Errors() {
		a.env.Flush()
		return fail(), true
	}
	return 0, false
}

// unknownOption reports whether messages are about an unknown option or its use, at which C stops.
func unknownOption(messages []byte) bool {
	for _, words := range []string{"invalid option --", "unrecognized option", "is ambiguous", "doesn't allow an argument", "requires an argument"} {
		if bytes.Contains(messages, []byte(words)) {
			return true
		}
	}
	return false
}

// common handles the options that both commands have. It reports whether it handled opt, and returns the result of an
// option handler.
func (a *arguments) common(ctx context.Context, o *cli.Options, opt *cli.Option, arg string) (mine, done bool) {
	switch {
	case a.stopped(o):
		return true, true
	case opt.Long == "hotproc":
		a.hot = true // pcp-atopsar does not use it, as in C
		return true, true
	case opt.Long == "help":
		a.usage = true
		return a.env.Classic(), true
	case opt.Long != "":
		return false, true
	}
	switch opt.Short {
	case 'r':
		a.readArchive(ctx, o, arg)
	case 'b':
		o.Start = at(arg)
	case 'e':
		o.Finish = at(arg)
	default:
		return false, false
	}
	return true, true
}

// engine makes an engine that takes samples, at the interval every unless the options
// have one.
func (a *arguments) engine(v view, every time.Duration) *engine {
	e := &engine{env: a.env, v: v, raw: a.raw || a.o.FromArchive(), every: every}
	if a.o.Interval > 0 {
		e.every = a.o.Interval
	}
	return e
}
