package logsize

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Command is pmlogsize.
var Command = &cli.Command{
	Name:     "logsize",
	Link:     "pmlogsize",
	Group:    cli.SeePast,
	Summary:  "report the sizes of the parts of an archive",
	Synopsis: "[options] archive",
	Doc: `Prints the bytes that labels, descriptors, instance domains and values take in an archive, and with
-d the bytes of each metric.`,
	Examples: []cli.Example{
		{Line: `pcp logsize -d 20261121`, Text: `find the metrics that make an archive large`},
	},
	SeeAlso: []string{"pmlogreduce(1)", "pmdumplog(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'd', Long: "detail", Help: "detailed output (per metric and per indom)"},
			cli.OptDebug,
			{Short: 'r', Long: "replication", Help: "report replicated metric values and instances"},
			{Short: 'v', Long: "verbose", Help: "verbose output"},
			{Short: 'x', Long: "threshold", Arg: "thres", Help: "cull detailed report after thres % of space reported"},
			cli.OptHelp,
			cli.OptJSON,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A tool is one run.
type tool struct {
	env *cli.Env
	out *bufio.Writer

	detail, replication bool
	verbose             int
	line                *jsonFile // of the current file with --json, which writes no text
	threshold           int       // percent, -1 for none
	badThreshold        string

	// The archive of the previous volume, since several volumes belong to the same one.
	opened   string
	archive  *archive.Archive
	metadata *archive.Meta
}

func (t *tool) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'd':
		t.detail = true
	case 'r':
		t.detail, t.replication = true, true
	case 'v':
		t.verbose++
	case 'x':
		if t.threshold = atoi(arg); (t.threshold < 1 || t.threshold > 100) && t.badThreshold == "" {
			t.badThreshold = fmt.Sprintf("Bad arg for -x (%s): should be between 1 and 100\n", arg)
		}
	default:
		return false
	}
	return true
}

// atoi is C's: the number that s starts with, 0 if there is none.
func atoi(s string) int {
	s = ctext.TrimSpace(s)
	n := 0
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	n = ctext.Digits(s, n)
	v, err := strconv.ParseInt(s[:n], 10, 32)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return int(v)
}

// errGiveUp ends the run after the error has been reported.
var errGiveUp = errors.New("give up")

func run(_ context.Context, env *cli.Env) int {
	t := &tool{env: env, out: bufio.NewWriterSize(env.Stdout, 64<<10), threshold: -1}
	o := cli.ParseOptions(env, cli.ParseConfig{Own: t.own, Later: true, Archives: true})
	if o.JSON {
		t.line = new(jsonFile)
	}
	if t.badThreshold != "" {
		fmt.Fprint(env.Stderr, t.badThreshold)
		return 1
	}
	if len(o.Args) == 0 && !o.Errors() {
		fmt.Fprint(env.Stderr, "Error: no archive specified\n\n")
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	o.AddArchive(o.Args[0])
	o.End()
	if status, exit := o.Done(); exit {
		return status
	}
	defer t.forget()
	if t.line != nil {
		t.out = bufio.NewWriter(io.Discard)
	}
	for _, arg := range o.Args {
		if err := t.report(arg); err != nil {
			if !errors.Is(err, errGiveUp) {
				t.complain("%s: %s\n", env.ProgName(), cli.ErrText(err))
			}
			t.out.Flush()
			return 1
		}
	}
	if err := t.out.Flush(); err != nil {
		return env.OutputFailed(err)
	}
	return 0
}

// complain writes a message to standard error, after the output so far.
func (t *tool) complain(format string, args ...any) {
	t.out.Flush()
	t.env.FlushOut()
	fmt.Fprintf(t.env.Stderr, format, args...)
}

func (t *tool) giveUp(format string, args ...any) error {
	t.complain(format, args...)
	return errGiveUp
}

// report reports on a file, or on the files of an archive.
func (t *tool) report(arg string) error {
	if st, err := os.Stat(arg); err == nil && st.Mode().IsRegular() {
		return t.file(arg)
	}
	dir, base := filepath.Dir(arg), filepath.Base(arg)
	if t.verbose > 2 {
		t.complain("argbasename=\"%s\" len=%d\n", base, len(base))
	}
	d, err := os.Open(dir)
	if err != nil {
		return t.giveUp("Error: scandir(\"%s\", ...) failed: %s\n", dir, cli.ErrText(err))
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return t.giveUp("Error: scandir(\"%s\", ...) failed: %s\n", dir, cli.ErrText(err))
	}
	names = slices.DeleteFunc(slices.Insert(names, 0, ".", ".."), func(name string) bool { return !t.belongs(name, base) })
	if len(names) == 0 {
		return t.giveUp("Error: no PCP archive files match \"%s\"\n", arg)
	}
	slices.Sort(names)
	for _, name := range names {
		if dir != "." {
			name = dir + "/" + name
		}
		if err := t.file(name); err != nil {
			return err
		}
	}
	return nil
}

// belongs reports whether a file belongs to the archive base, and prints it with -vvv.
func (t *tool) belongs(name, base string) bool {
	stem, part, ok := archive.BaseName(name)
	why := ""
	switch {
	case len(name) < len(base)+1 || name[len(base)] != '.' || !ok:
		why = "not expected extension after basename"
	case stem != base:
		why = fmt.Sprintf("first %d chars not matched", len(base))
	case part != "meta" && part != "index" && (part == "" || part[0] < '0' || part[0] > '9'):
		why = "non-digit after basename"
	}
	if t.verbose > 2 {
		if why == "" {
			t.complain("d_name=\"%s\"? yes\n", name)
		} else {
			t.complain("d_name=\"%s\"? no (%s)\n", name, why)
		}
	}
	return why == ""
}

// file reports on one file.
func (t *tool) file(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return t.giveUp("%s: cannot stat file: %s\n", path, cli.ErrText(err))
	}
	f, err := archive.OpenFile(path)
	if err != nil {
		t.complain("%s: cannot open file: %s\n", path, cli.ErrText(err))
		return nil
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return t.giveUp("%s: cannot __pmFstat file: %s\n", path, cli.ErrText(err))
	}
	head := make([]byte, archive.LabelSize(archive.Version3))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		t.complain("%s: cannot load label record: %s\n", path, cli.ErrText(err))
		return nil
	}
	if n >= 8 {
		// Only the version counts, as for the C tool.
		copy(head[4:], "\x50\x05\x26")
	}
	label, err := archive.DecodeLabel(head[:n])
	if err != nil {
		t.complain("%s: cannot load label record: %s\n", path, cli.ErrText(err))
		return nil
	}
	fmt.Fprintf(t.out, "%s:", path)
	if size != st.Size() {
		fmt.Fprintf(t.out, " [compression reduces size below by about %s%%]", percent(size-st.Size(), size))
	}
	t.out.WriteByte('\n')
	p := &part{
		tool: t, path: path, size: size, version: label.Version,
		off: int64(archive.LabelSize(label.Version)), overhead: int64(archive.LabelSize(label.Version)),
	}
	p.r = bufio.NewReaderSize(io.NewSectionReader(f, p.off, math.MaxInt64-p.off), 256<<10)
	t.begin(path, size, st.Size(), label.Version)
	switch label.Vol {
	case archive.VolIndex:
		err = p.index()
	case archive.VolMeta:
		err = p.meta()
	default:
		err = p.data()
	}
	if err == nil {
		t.end()
	}
	return err
}

// percent returns n in percent of all, in C's float.
func percent(n, all int64) string {
	return decimal(100 * float32(n) / float32(all))
}

// decimal formats f like printf's %.0f.
func decimal(f float32) string {
	if f != f {
		return "-nan" // 0 divided by 0 in C
	}
	return string(ctext.AppendFloat(nil, float64(f), 'f', 0))
}

// A part is a file of an archive that is read sequentially.
type part struct {
	*tool
	path     string
	r        *bufio.Reader
	size     int64
	off      int64
	version  int
	overhead int64
	buf      []byte
}

// word reads a 32-bit word; ok is false at the end.
func (p *part) word() (int32, bool) {
	var b [4]byte
	n, err := io.ReadFull(p.r, b[:])
	p.off += int64(n)
	return int32(binary.BigEndian.Uint32(b[:])), err == nil
}

// bytes reads n bytes, fewer at the end, valid until the next call.
func (p *part) bytes(n int64) []byte {
	p.buf = p.buf[:0]
	for n > 0 {
		// Memory is only allocated for bytes that exist, whatever the length field.
		step := int(min(n, 1<<20))
		start := len(p.buf)
		p.buf = slices.Grow(p.buf, step)[:start+step]
		k, err := io.ReadFull(p.r, p.buf[start:])
		p.buf = p.buf[:start+k]
		p.off += int64(k)
		n -= int64(k)
		if err != nil {
			break
		}
	}
	return p.buf
}

// finish prints the remaining totals.
func (p *part) finish(accounted int64) {
	if p.line != nil {
		p.line.Overhead = p.overhead
	}
	fmt.Fprintf(p.out, "  overhead: %d bytes [%s%%]\n", p.overhead, percent(p.overhead, p.size))
	if rest := p.size - accounted - p.overhead; rest != 0 {
		fmt.Fprintf(p.out, "  unaccounted for: %d bytes\n", rest)
	}
}

// index reports on a temporal index.
func (p *part) index() error {
	entry := int64(20)
	if p.version >= archive.Version3 {
		entry = 32
	}
	var n, size int64
	for int64(len(p.bytes(entry))) == entry {
		n++
		size += entry
	}
	p.add("index", size, int(n))
	fmt.Fprintf(p.out, "  index: %d bytes [%s%%, %d entries]\n", size, percent(size, p.size), n)
	p.finish(size)
	return nil
}

// s returns the plural suffix.
func s(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// culled reports whether the listed share exceeds the limit of -x.
func (t *tool) culled(listed, all int64) bool {
	return t.threshold != -1 && 100*float32(listed)/float32(all) > float32(t.threshold)
}
