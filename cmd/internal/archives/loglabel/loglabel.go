package loglabel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/debug"
)

// Command is pmloglabel.
var Command = &cli.Command{
	Name:     "loglabel",
	Link:     "pmloglabel",
	Group:    cli.Record,
	Summary:  "check and change the labels of an archive",
	Synopsis: "[options] archive",
	Doc: `Checks the labels at the beginning of each file of an archive, and changes them: host, process, time
zone and version.`,
	Examples: []cli.Example{
		{Line: `pcp loglabel -l 20261121`, Text: `show the label`},
		{Line: `pcp loglabel -h db1.example.com 20261121`, Text: `correct the name of the host`},
	},
	SeeAlso: []string{"pmlogcheck(1)", "pcp-archive(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'h', Long: "host", Arg: "HOSTNAME", Help: "set the hostname for all files in archive"},
			{Short: 'l', Long: "label", Help: "dump the archive label"},
			{Short: 'L', Help: "more verbose form of label dump"},
			{Short: 'p', Long: "pid", Arg: "PID", Help: "set the logger process ID field for all files in archive"},
			{Short: 's', Help: "write the label sentinel values for all files in archive"},
			{Short: 'v', Long: "verbose", Help: "run in verbose mode, reporting on each stage of checking"},
			{Short: 'V', Long: "version", Arg: "NUM", Help: "write magic and version numbers for all files in archive"},
			{Short: 'Z', Long: "timezone", Arg: "TZ", Help: "set the timezone for all files in archive"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// Exit statuses.
const (
	badUsage  = 1
	corrupted = 2 // and still so
	notDone   = 3 // a label could not be written
)

// flags are the options of this tool.
type flags struct {
	env                     *cli.Env
	dump, dumpMore, verbose bool
	write                   bool
	host, zone              string
	setHost, setZone        bool
	pid, version            int
	debug                   *debug.Log
}

func (f *flags) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'h':
		f.host, f.setHost, f.write = arg, true, true
	case 'l':
		f.dump = true
	case 'L':
		f.dumpMore = true
	case 'p':
		f.pid, f.write = atoi(arg), true
	case 's':
		f.write = true
	case 'v':
		f.verbose = true
	case 'V':
		f.version, f.write = atoi(arg), true
		if archive.LabelSize(f.version) == 0 {
			fmt.Fprintf(f.env.Stderr, "%s: unknown version number (%s)\n", f.env.ProgName(), arg)
			o.WantUsage()
		}
	case 'Z':
		f.zone, f.setZone, f.write = arg, true, true
	default:
		return false
	}
	return true
}

// atoi is C's: the number that s begins with, 0 if there is none.
func atoi(s string) int {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && s[end] == '-') {
		end++
	}
	n, _ := strconv.ParseInt(s[:end], 10, 32)
	return int(n)
}

func run(_ context.Context, env *cli.Env) int {
	f := &flags{env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: f.own})
	if len(o.Args) != 1 && !o.WantsVersion() {
		o.Usagef("insufficient arguments")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	l := &labels{flags: f, out: env.Stdout, warn: !f.write || f.verbose}
	f.debug = o.DebugLog()
	defer env.FlushOut()
	return l.run(o.Args[0])
}

// labels are those of an archive.
type labels struct {
	*flags
	out    io.Writer
	warn   bool // report errors
	files  []file
	golden archive.Label // that all others should match
	have   bool          // golden is valid
	from   string        // which
	status int
}

// A file is a file of the archive.
type file struct {
	what string // its name in messages
	path string // without the suffix of a compressed one
	vol  int32
	size int // of its label, as far as known; 0 if there is no label
	have int // bytes read, at most one more than a label
}

func (l *labels) say(format string, args ...any) {
	if l.verbose {
		fmt.Fprintf(l.out, format+"\n", args...)
	}
}

// complain reports errors in labels.
func (l *labels) complain(format string, args ...any) {
	fmt.Fprintf(l.env.Stderr, format+"\n", args...)
	l.status = corrupted
}

func (l *labels) run(path string) int {
	l.say("Scanning for components of archive \"%s\"", path)
	set, err := archive.FindFiles(path)
	if path == "" {
		err = fs.ErrNotExist // as in this C tool, unlike others
	}
	if err != nil {
		fmt.Fprintf(l.env.Stderr, "%s: Cannot open archive \"%s\": %s\n", l.env.ProgName(), path, cli.ErrText(err))
		return badUsage
	}
	first, last := set.Numbers[0], set.Numbers[len(set.Numbers)-1]
	for n := first; n <= last; n++ {
		l.say("Checking label on data volume %d", n)
		name := "data volume " + strconv.Itoa(n)
		l.files = append(l.files, file{what: name, path: set.Base + "." + strconv.Itoa(n), vol: int32(n)})
		l.check(name)
	}
	if set.Index != "" {
		l.say("Checking label on temporal index")
		l.files = append(l.files, file{what: "temporal index", path: set.Base + ".index", vol: archive.VolIndex})
		l.check("temporal index")
	} else {
		l.say("No temporal index found")
	}
	l.say("Checking label on metadata volume")
	l.files = append(l.files, file{what: "metadata volume", path: set.Base + ".meta", vol: archive.VolMeta})
	l.check("metadata volume")
	if l.write {
		l.rewrite()
	}
	if l.dump || l.dumpMore {
		l.print(path)
	}
	return l.status
}

// check checks the label of the last of files.
func (l *labels) check(name string) {
	f := &l.files[len(l.files)-1]
	label, err := l.load(f)
	loaded := err
	if err == nil {
		err = label.wrong(f.vol)
	}
	if err != nil && l.warn {
		l.complain("Bad %s label: %s", name, cli.ErrText(err))
	}
	if !l.have {
		// Of bad labels the last is the most informative.
		l.golden, l.have, l.from = label.Label, err == nil, name
		return
	}
	if !l.warn {
		return
	}
	if loaded != nil {
		if _, err := l.load(f); err == nil { // as in C, one more try
			return
		}
		if !errors.Is(loaded, os.ErrNotExist) {
			fmt.Fprintf(l.env.Stderr, "%s: cannot load label record: %s\n", name, cli.ErrText(loaded))
		}
		return
	}
	g := &l.golden
	if label.Version != g.Version {
		l.complain("Mismatched version (%x/%x) between %s and %s", label.Version, g.Version, name, l.from)
	}
	if label.PID != g.PID {
		l.complain("Mismatched PID (%d/%d) between %s and %s", label.PID, g.PID, name, l.from)
	}
	if label.Host != g.Host {
		l.complain("Mismatched hostname (%s/%s) between %s and %s", label.Host, g.Host, name, l.from)
	}
	if label.TimeZone != g.TimeZone {
		l.complain("Mismatched timezone (%s/%s) between %s and %s", label.TimeZone, g.TimeZone, name, l.from)
	}
	if label.ZoneInfo != "" && g.ZoneInfo != "" && label.ZoneInfo != g.ZoneInfo {
		l.complain("Mismatched zoneinfo (%s/%s) between %s and %s", label.ZoneInfo, g.ZoneInfo, name, l.from)
	}
}

// A label, with the magic number that the C library checks separately.
type found struct {
	archive.Label
	magic uint32
	empty bool // nothing follows it
}

const magicNumber = 0x50052600

// load reads the label of a file.
func (c *labels) load(f *file) (l found, err error) {
	src, err := archive.OpenFile(f.path)
	if err != nil {
		return l, err
	}
	defer src.Close()
	src.TraceLabel(c.debug, f.vol)
	b := make([]byte, archive.LabelSize(archive.Version3)+1)
	n, err := src.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return l, err
	}
	b = b[:n]
	f.have = n
	for _, version := range []int{archive.Version2, archive.Version3} {
		if size := archive.LabelSize(version); word(b, 0) == uint32(size) || word(b, size-4) == uint32(size) {
			f.size = size
			break
		}
	}
	if l.magic = word(b, 4); len(b) >= 8 {
		binary.BigEndian.PutUint32(b[4:], magicNumber|l.magic&0xff)
	}
	l.Label, err = archive.DecodeLabel(b)
	if err != nil {
		l.Label = archive.Label{Version: int(l.magic & 0xff)}
		return l, err
	}
	l.empty = n == archive.LabelSize(l.Version)
	return l, nil
}

// word returns the number at an offset, 0 if b is shorter.
func word(b []byte, off int) uint32 {
	if off+4 > len(b) {
		return 0
	}
	return binary.BigEndian.Uint32(b[off:])
}

// wrong returns the errors that __pmLogChkLabel in the C library finds in the label of
// a file.
func (l *found) wrong(vol int32) error {
	switch {
	case l.magic&^0xff != magicNumber, l.Vol != vol:
		return pcp.ErrLabel
	case l.empty:
		return pcp.ErrNoData
	}
	return nil
}

// print prints the label.
func (l *labels) print(path string) {
	loc := l.env.Local()
	g := &l.golden
	host, zone := g.Host, g.TimeZone
	if !l.have && !l.write && g.Host == "" && g.PID == 0 {
		host, zone = "(null)", "(null)" // there is no label at all
	}
	fmt.Fprintf(l.out, "Log Label (Log Format Version %d)\nPerformance metrics from host %s\n", g.Version, host)
	fmt.Fprintf(l.out, "  commencing %s\n", l.day(g.Start, loc))
	if a, err := (archive.Options{Debug: l.debug}).Open(path); err != nil {
		fmt.Fprintf(l.out, "  ending     UNKNOWN (pmNewContext: %s)\n", cli.ErrText(err))
	} else {
		defer a.Close()
		if end, err := a.End(); err != nil {
			fmt.Fprintf(l.out, "  ending     UNKNOWN (pmGetArchiveEnd: %s)\n", cli.ErrText(err))
		} else {
			fmt.Fprintf(l.out, "  ending     %s\n", l.day(end, loc))
		}
	}
	if l.dumpMore {
		fmt.Fprintf(l.out, "Archive timezone: %s\nPID for pmlogger: %d\n", zone, g.PID)
	}
}

// day returns a date with milliseconds, or nanoseconds as PCP 7 prints them.
func (l *labels) day(t pcp.Timestamp, loc *time.Location) string {
	at := time.Unix(t.Sec, 0).In(loc)
	if l.env.Seven() {
		return fmt.Sprintf("%s.%09d %4.4s", at.Format("Mon Jan _2 15:04:05"), t.Nsec, at.Format("2006"))
	}
	return fmt.Sprintf("%s.%03d %4.4s", at.Format("Mon Jan _2 15:04:05"), t.Nsec/1000000, at.Format("2006"))
}
