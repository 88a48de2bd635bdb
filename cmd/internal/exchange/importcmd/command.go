package importcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// Command is "pcp import".
var Command = &cli.Command{
	Name:     "import",
	Group:    cli.Export,
	Summary:  "create an archive from data of other programs",
	Synopsis: "csv | sar | iostat | mrtg | prometheus | vllmbench | guidellm [options] file ... archive",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Doc: `Each format has its own command. If a file cannot be imported completely, no archive is created, and
the message has the number of the wrong line.

Five of them are also called sar2pcp, iostat2pcp, mrtg2pcp, vllmbench2pcp and guidellm2pcp. They take
the same arguments as in the C implementation, and create the same archives.`,
	Examples: []cli.Example{
		{Line: "pcp import csv rooms.csv rooms", Text: "create the archive rooms from a table"},
		{Line: "pcp import sar /var/log/sysstat/sa22 monday", Text: "create the archive monday from a file of sar"},
	},
	SeeAlso:     []string{"pmval(1)", "pmdumplog(1)"},
	Sub:         []*cli.Command{CSVCommand, SarCommand, IostatCommand, MRTGCommand, PrometheusCommand, VLLMCommand, GuideLLMCommand},
	DieOnSignal: true,
	Run:         cli.Run,
}

// CSVCommand is "pcp import csv".
var CSVCommand = &cli.Command{
	Name:     "import csv",
	Group:    cli.Export,
	Summary:  "create an archive from a table",
	Synopsis: "[options] file archive",
	Doc: `
The file is a table: a header with the names of metrics, and a row for each time. A name may have an
instance in brackets, and type, semantics and units in parentheses: net.in[eth0] (u64 counter byte).
Missing attributes are derived from the values.`,
	Examples: []cli.Example{
		{Line: "pcp import csv rooms.csv rooms", Text: "create the archive rooms from a table with a column called time"},
		{Line: "pcp import csv --append today.csv rooms", Text: "add a table with later times to the archive"},
		{Line: "pcp import csv -t when -f '%d.%m.%Y %H:%M' rooms.csv rooms", Text: "set the column and format of times"},
		{Line: "pcp import csv -m 'disk.*=u64 counter' -m disk.read=KB disks.csv disks", Text: "set types and units of metrics"},
		{Line: "pcp val -a rooms temperature", Text: "show the result"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("General options"),
			{Short: 'h', Long: "host", Arg: "HOST", Help: "host that the data are of [this host]"},
			{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "time zone of the host, and of times without a zone [TZ]"},
			{Long: "archive-version", Arg: "N", Help: "version of the archive, 2 or 3 [PCP_ARCHIVE_VERSION]"},
			{Long: "append", Help: "add to the archive if there is one"},
			cli.OptVersion,
			cli.OptHelp,
			cli.Heading("Reading options"),
			{Short: 'd', Long: "delimiter", Arg: "CHAR", Help: "character between fields [the first of , ; tab | in the header]"},
			{Short: 't', Long: "time", Arg: "COLUMN", Help: "column with the time, by name or number [the first that is called so, else 1]"},
			{Short: 'f', Long: "format", Arg: "FORMAT", Help: "format of the time: strftime(3)'s, or epoch, epoch_ms, epoch_us, epoch_ns [found out]"},
			{Long: "missing", Arg: "TEXT", Help: "what a field without a value has, also more than once [nothing]"},
			cli.Heading("Metric options"),
			{Short: 'm', Long: "metric", Arg: "GLOB=SPEC", Help: "type, semantics and units of metrics, as in (...) in the header"},
			{Short: 'i', Long: "indom", Arg: "GLOB=D.S", Help: "instance domain of metrics"},
			{Short: 'p', Long: "prefix", Arg: "NAME", Help: "put this and a dot before the names of metrics"},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(_ context.Context, env *cli.Env) int {
	j := &job{env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: j.own})
	switch {
	case o.WantsVersion() || o.Errors():
	case len(o.Args) != 2:
		o.Usagef("a file and an archive are needed")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	j.file, j.archive = o.Args[0], o.Args[1]
	err := j.findStored()
	if err == nil {
		j.loc, err = completeOptions(env, &j.opt, j.zone)
	}
	if err != nil {
		return env.Fatalf("%v", err)
	}
	if err := j.run(); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// takeLabel takes an option for a field of the archive's label, or --append, and reports whether it is
// such an option.
func takeLabel(o *cli.Options, opt *cli.Option, arg string, label *importer.Options, zone *string) bool {
	switch opt.Long {
	case "host":
		label.Host = arg
	case "timezone":
		*zone = arg
	case "archive-version":
		if arg != "2" && arg != "3" {
			o.Usagef("--archive-version must be 2 or 3, not %s", arg)
			break
		}
		label.Version = int(arg[0] - '0')
	case "append":
		label.Append = true
	default:
		return false
	}
	return true
}

// takeAppend returns a function that takes the option --append.
func takeAppend(label *importer.Options) func(*cli.Options, *cli.Option, string) bool {
	return func(_ *cli.Options, opt *cli.Option, _ string) bool {
		if opt.Long != "append" {
			return false
		}
		label.Append = true
		return true
	}
}

// own takes an option.
func (j *job) own(o *cli.Options, opt *cli.Option, arg string) bool {
	if takeLabel(o, opt, arg, &j.opt, &j.zone) {
		return true
	}
	switch opt.Long {
	case "delimiter":
		if arg == `\t` {
			arg = "\t"
		}
		r, n := utf8.DecodeRuneInString(arg)
		if n == 0 || n != len(arg) || r == utf8.RuneError || r == '"' || r == '\r' || r == '\n' {
			o.Usagef("-d %q: one character is needed", arg)
			break
		}
		j.comma = r
	case "time":
		j.timeColumn = arg
	case "format":
		var err error
		if j.parseTime, err = timeParser(arg); err != nil {
			o.Usagef("-f %s: %v", arg, err)
		}
	case "missing":
		j.missing = append(j.missing, arg)
	case "metric":
		glob, text, err := globAndValue(arg)
		var s spec
		if err == nil {
			s, err = parseSpec(text)
		}
		if err != nil {
			o.Usagef("-m %s: %v", arg, err)
			break
		}
		j.specs = append(j.specs, globSpec{glob, s})
	case "indom":
		glob, text, err := globAndValue(arg)
		var d globInDom
		if err == nil {
			d.glob = glob
			d.indom, err = parseInDom(text)
		}
		if err != nil {
			o.Usagef("-i %s: %v", arg, err)
			break
		}
		j.indoms = append(j.indoms, d)
	case "prefix":
		if clean := cleanName(arg); clean != arg || arg == "" {
			o.Usagef("-p %s: not the name of metrics", arg)
			break
		}
		j.prefix = arg
	default:
		return false
	}
	return true
}

// completeOptions sets the version that all tools of this host write, unless an option
// sets another, and the time zone, which it returns.
func completeOptions(env *cli.Env, opt *importer.Options, zone string) (*time.Location, error) {
	if opt.Version == 0 {
		var err error
		if opt.Version, err = defaultVersion(env); err != nil {
			return nil, err
		}
	}
	if err := volumeSize(env, opt); err != nil {
		return nil, err
	}
	if zone != "" {
		opt.TimeZone = zone
		return pcptime.Zone(zone), nil
	}
	opt.TimeZone = env.Getenv("TZ")
	return env.Local(), nil
}

// volumeSize sets the maximum length of volumes that PCP_LOGIMPORT_MAXLOGSZ has, if it is set.
func volumeSize(env *cli.Env, opt *importer.Options) error {
	text := env.Getenv("PCP_LOGIMPORT_MAXLOGSZ")
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return fmt.Errorf("PCP_LOGIMPORT_MAXLOGSZ is %q, must be a number of bytes", text)
	}
	opt.VolumeBytes = n
	return nil
}

// defaultVersion returns the version that all tools of this host write.
func defaultVersion(env *cli.Env) (int, error) {
	cfg := env.Config()
	if err := cfg.Err(); err != nil {
		return 0, err
	}
	switch text := cfg.Get("PCP_ARCHIVE_VERSION"); text {
	case "2":
		return archive.Version2, nil
	case "3", "":
		return archive.Version3, nil
	default:
		return 0, fmt.Errorf("PCP_ARCHIVE_VERSION is %q, must be 2 or 3", text)
	}
}

// input opens the file so that it can be read twice: data from a pipe is kept
// in a temporary file.
func (j *job) input() (io.ReadSeeker, func(), error) {
	var in io.Reader = j.env.Stdin
	if j.file != "-" {
		f, err := os.Open(j.file)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %s", j.file, cli.ErrText(err))
		}
		if info, err := f.Stat(); err == nil && info.IsDir() {
			f.Close()
			return nil, nil, fmt.Errorf("%s: Is a directory", j.file)
		}
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			return f, func() { f.Close() }, nil
		}
		defer f.Close()
		in = f
	}
	tmp, err := os.CreateTemp("", "pcp-import")
	if err != nil {
		return nil, nil, err
	}
	os.Remove(tmp.Name()) // it goes with us
	if _, err := io.Copy(tmp, in); err != nil {
		tmp.Close()
		return nil, nil, err
	}
	if _, err := tmp.Seek(0, io.SeekStart); err != nil {
		tmp.Close()
		return nil, nil, err
	}
	return tmp, func() { tmp.Close() }, nil
}

var errNoValue = errors.New("no value at all")
