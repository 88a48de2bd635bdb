package logrewrite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/rewrite"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/desccheck"
	"github.com/go-pcp/pcp/debug"
)

// Command is pmlogrewrite.
var Command = &cli.Command{
	Name:     "logrewrite",
	Link:     "pmlogrewrite",
	Group:    cli.Record,
	Summary:  "change an archive by rules",
	Synopsis: "[options] input-archive [output-archive]",
	Doc: `Copies an archive with changes by rules: to host and time, names, numbers, types, units and
semantics of metrics, instance domains and instances, help texts and labels. Values are converted as
needed. Deleted items are not in the copy.

A file of rules has blocks such as

    global { hostname -> web7  time -> +1:00:00 }
    metric kernel.all.load { name -> system.load  type -> double }
    metric 60.2.* { pmid -> 70.2.* }
    metric mem.util.used { units -> 1,0,0,MBYTE,0,0 rescale }
    indom 60.1 { iname "sda" -> "disk0"  inst 1 -> delete }
    text metric mem.physmem help { text -> "all memory" }
    label context "groupid" { delete }

Rules about metrics, instances and texts that the archive does not have are skipped, with a warning
if -w is given.

With -i, the copy replaces the archive. The old files are kept under another name until all new ones
are in place; after an interruption, the next call with -i completes or undoes the change.`,
	Examples: []cli.Example{
		{Line: `pcp logrewrite -c fix.conf 20261121 fixed`, Text: `create a changed copy`},
		{Line: `pcp logrewrite -C -c fix.conf 20261121 fixed`, Text: `only print what would change`},
		{Line: `pcp logrewrite -V 3 20261121 new`, Text: `convert an archive of version 2 to version 3`},
		{Line: `pcp logrewrite -iq -c rules.d 20261121`, Text: `apply all rules of a directory, if any applies`},
	},
	SeeAlso: []string{"pmlogredact(1)", "pmlogextract(1)", "pmdumplog(1)"},
	Debug:   []string{"value", "log", "appl1", "appl3"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'c', Long: "config", Arg: "PATH", Help: "file or directory to load rules from"},
			{Short: 'C', Long: "check", Help: "parse config file(s) and quit (verbose warnings also)"},
			{Short: 'd', Long: "desperate", Help: "desperate, save output archive even after error"},
			{Short: 'i', Help: "rewrite in place, input-archive will be over-written"},
			{Short: 'q', Long: "quick", Help: "quick mode, no output if no change"},
			{Short: 's', Long: "scale", Help: "do scale conversion"},
			{Short: 'v', Long: "verbose", Help: "increased diagnostic verbosity"},
			{Short: 'V', Long: "version", Arg: "N", Help: "output archive in version N [2/3] format"},
			{Short: 'w', Long: "warnings", Help: "emit warnings [default is silence]"},
			cli.OptHelp,
			{Arg: "|", Help: "\noutput-archive is required unless -i is specified"},
		}
	},
	Run: run,
}

// A config is a file of rules.
type config struct {
	path string
	text []byte // if not nil, the file is not read
}

// A job is a rewrite of one archive.
type job struct {
	env       *cli.Env
	configs   []config
	check     bool // -C
	desperate bool
	inPlace   bool
	quick     bool
	rescale   bool
	verbose   int
	version   int
	warnings  bool
	in, out   string

	debug func(option string) bool // -D
	log   *debug.Log               // the same, for packages

	a *archive.Archive
	w *archive.Writer

	keepSets bool // of labels that change, as in PCP 7

	progress *cli.Progress
}

func (j *job) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		j.addConfig(o, arg)
	case 'C':
		j.check, j.verbose, j.warnings = true, 1, true
	case 'd':
		j.desperate = true
	case 'i':
		j.inPlace = true
	case 'q':
		j.quick = true
	case 's':
		j.rescale = true
	case 'v':
		j.verbose++
	case 'V':
		j.version, _ = cli.Atoi(arg)
		if j.version != archive.Version2 && j.version != archive.Version3 {
			o.Usagef("Error: unsupported version (%d) requested", j.version)
		}
	case 'w':
		j.warnings = true
	default:
		return false
	}
	return true
}

// addConfig adds a file of rules, or all files of a directory that are not hidden.
func (j *job) addConfig(o *cli.Options, path string) {
	st, err := os.Stat(path)
	if err != nil {
		o.Usagef("stat(%s) failed: %s", path, cli.ErrText(err))
		return
	}
	switch {
	case st.Mode().IsRegular():
		j.configs = append(j.configs, config{path: path})
	case st.IsDir():
		list, err := os.ReadDir(path)
		if err != nil {
			call := "opendir"
			if j.env.Seven() {
				call = "scandir"
			}
			o.Usagef("%s(%s) failed: %s", call, path, cli.ErrText(err))
			return
		}
		for _, e := range list {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			file := path + "/" + e.Name()
			st, err := os.Stat(file)
			if err != nil {
				o.Usagef("%s: %s", file, cli.ErrText(err))
			} else if st.Mode().IsRegular() {
				j.configs = append(j.configs, config{path: file})
			}
		}
	default:
		o.Usagef("Error: -c config %s is not a file or directory", path)
	}
}

// options7 gives options the texts of PCP 7.
func options7(list []cli.Option) []cli.Option {
	for i := range list {
		list[i].Help = strings.Replace(list[i].Help, "is required unless -i", "is required unless -C or -i", 1)
	}
	return list
}

func run(ctx context.Context, env *cli.Env) int {
	j := &job{env: env, keepSets: env.Seven() || !env.Classic()}
	if env.Seven() {
		c, list := *env.Command, env.Command.Options
		c.Options = func() []cli.Option { return options7(list()) }
		env.Command = &c
	}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: j.own})
	j.debug, j.log = o.Debugging, o.DebugLog()
	switch {
	case o.Errors():
	case j.inPlace && len(o.Args) == 1:
		j.in = o.Args[0]
	case !j.inPlace && len(o.Args) == 2:
		j.in, j.out = o.Args[0], o.Args[1]
	case !j.inPlace && j.check && env.Seven() && len(o.Args) == 1:
		j.in = o.Args[0]
	default:
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	return j.run(ctx)
}

// errExit ends the job with status 1 without a further message.
var errExit = errors.New("exit")

// run does the job and returns the exit status.
func (j *job) run(ctx context.Context) int {
	if j.inPlace && !j.check {
		unlock, err := fsdir.Lock(filepath.Dir(j.in))
		if err != nil {
			j.complain("Error: cannot open directory \"%s\" for reading: %s", filepath.Dir(j.in), cli.ErrText(err))
			return 1
		}
		defer unlock()
		if done, err := recoverArchive(baseOf(j.in)); err != nil {
			j.complain("Error: cannot put archive \"%s\" in order after an interruption: %v", j.in, err)
			return 1
		} else if done {
			j.complain("Warning: archive \"%s\" is restored after an interruption", j.in)
		}
	}
	a, err := archive.Open(j.in)
	if errors.Is(err, pcp.ErrFeature) {
		j.complain("Warning: archive \"%s\": unsupported feature bits, other errors may follow ...", j.in)
		a, err = archive.Options{AnyFeatures: true}.Open(j.in)
	}
	if errors.Is(err, pcp.ErrNoData) {
		j.complain("Warning: empty archive \"%s\" will be skipped", j.in)
		return 0
	}
	if err != nil {
		j.complain("Error: cannot open archive \"%s\": %s", j.in, cli.ErrText(err))
		return 1
	}
	j.a = a
	defer a.Close()
	if j.version == archive.Version2 && a.Meta().Label().Version == archive.Version3 {
		j.complain("Error: cannot create a v2 archive from v3 (%s)", j.in)
		return 1
	}
	rules, err := j.rules()
	if err != nil {
		if err != errExit {
			j.complain("%v", err)
		}
		return 1
	}
	if j.verbose > 0 {
		j.env.Stdout.Write(rules.AppendSummary(nil))
		j.env.FlushOut()
	}
	if j.check {
		return 0
	}
	if j.quick && !rules.Changes() {
		if j.debug("appl3") {
			fmt.Fprintln(j.env.Stderr, "Done, no rewriting required")
		}
		return 0
	}
	if err := j.rewrite(ctx, rules); err != nil {
		return 1
	}
	return 0
}

func (j *job) complain(format string, args ...any) {
	j.env.FlushOut()
	fmt.Fprintf(j.env.Stderr, "%s: %s\n", j.env.ProgName(), fmt.Sprintf(format, args...))
}

// rules reads all files of rules.
func (j *job) rules() (*rewrite.Rules, error) {
	start := j.a.Label().Start
	finish, endErr := j.a.End()
	if endErr == nil {
		j.progress = cli.NewProgress(j.env, j.env.ProgName(), 0)
	}
	var check func(*pcp.Desc) []string
	if j.env.Seven() {
		known := desccheck.Known(j.env.Config().Get("PCP_VAR_DIR"))
		check = func(d *pcp.Desc) []string { return desccheck.Check(d, known) }
	}
	rules := rewrite.New(j.a, rewrite.Config{
		Check: check, Version: j.version, Rescale: j.rescale, KeepSets: j.keepSets, Seven: j.env.Seven(), Verbose: j.warnings, Zone: j.env.Local(), Debug: j.log,
		Progress: func(at pcp.Timestamp) { j.progress.SetTime(at, start, finish) },
		Warn: func(w rewrite.Warning) {
			fmt.Fprintf(j.env.Stderr, "Warning [%s, line %d]\n%s\n", w.File, w.Line, w.Text)
		},
	})
	for _, c := range j.configs {
		if c.text == nil {
			f, err := os.Open(c.path)
			if err != nil {
				//lint:ignore ST1005 the words of the C tool
				return nil, fmt.Errorf("Cannot open config file \"%s\": %s", c.path, cli.ErrText(err))
			}
			if j.verbose > 1 {
				fmt.Fprintf(j.env.Stderr, "Start configfile: %s\n", c.path)
			}
			err = rules.ParseFrom(c.path, f)
			f.Close()
			if err != nil {
				return nil, j.ruleError(err)
			}
			continue
		}
		if j.verbose > 1 {
			fmt.Fprintf(j.env.Stderr, "Start configfile: %s\n", c.path)
		}
		if err := rules.Parse(c.path, c.text); err != nil {
			return nil, j.ruleError(err)
		}
	}
	if err := rules.Resolve(); err != nil {
		return nil, j.ruleError(err)
	}
	return rules, nil
}

// ruleError reports an error in rules as the C tool does.
func (j *job) ruleError(err error) error {
	e, ok := errors.AsType[*rewrite.Error](err)
	switch {
	case !ok:
		return err
	case e.Line == 0:
		fmt.Fprintf(j.env.Stderr, "Semantic error in configuration file (%s)\n%s\n", e.File, e.Text)
	default:
		fmt.Fprintf(j.env.Stderr, "Specification error in configuration file (%s)\n[line %d] %s\n", e.File, e.Line, e.Text)
	}
	return errExit
}

// bufferSize is the size of a write.
const bufferSize = 1 << 20

// rewrite makes the new archive, and with -i replaces the old one with it. It reports
// errors.
func (j *job) rewrite(ctx context.Context, rules *rewrite.Rules) error {
	base := j.out
	if j.inPlace {
		base = newBase(j.a.Path())
	}
	label := rules.Label()
	err := checkFree(base)
	var w *archive.Writer
	if err == nil {
		w, err = archive.Create(base, archive.WriterConfig{Label: label, ManualIndex: true, BufferBytes: bufferSize})
	}
	if err != nil {
		j.cannotCreate(base, label.Version, err)
		return err
	}
	j.w = w
	err = rules.Rewrite(ctx, w, func(s string) {
		j.progress.Clear()
		fmt.Fprintln(j.env.Stderr, s)
	})
	j.progress.Clear()
	if err == nil {
		if err = w.Close(); err != nil {
			j.complain("Error: %s", cli.FileErrText(err))
		}
	} else {
		j.explain(ctx, err)
	}
	if err != nil {
		j.abandon(base)
		return err
	}
	if !j.inPlace {
		return nil
	}
	path := j.a.Path()
	j.a.Close() // on systems that cannot replace open files
	if err := replaceArchive(path); err != nil {
		j.complain("Error: %s", cli.FileErrText(err))
		j.abandon(base)
		return err
	}
	return nil
}

// checkFree is archive.CheckFree, with the existing file that the C tool finds first.
// The C tool creates the volumes after the first one later, and notices an existing one
// only then.
func checkFree(base string) error {
	for _, suffix := range []string{".index", ".meta", ".0"} {
		if _, err := os.Stat(base + suffix); err == nil {
			return &fs.PathError{Op: "create", Path: base + suffix, Err: fs.ErrExist}
		}
	}
	return archive.CheckFree(base)
}

// cannotCreate reports why there is no new archive. The C tool keeps existing files.
func (j *job) cannotCreate(base string, version int, err error) {
	path := base + ".index"
	if perr, ok := errors.AsType[*fs.PathError](err); ok && (perr.Op == "create" || errors.Is(err, fs.ErrExist)) {
		path = perr.Path
	}
	j.env.FlushOut()
	if !errors.Is(err, fs.ErrExist) {
		j.env.Printf("__pmLogNewFile: failed to create \"%s\": %s\n", path, cli.ErrText(err))
	} else {
		j.env.Printf("__pmLogNewFile: \"%s\" already exists, not over-written\n", path)
	}
	j.env.Flush()
	_, part, _ := archive.BaseName(filepath.Base(path))
	if n, ok := cli.Atoi(part); ok && n > 0 {
		j.complain("__pmLogNewFile(%s,%d) Error: %s", base, n, cli.ErrText(err))
		return
	}
	j.complain("Error: __pmLogCreate(%s,v%d): %s", base, version, cli.ErrText(err))
}

// explain reports why the archive cannot be rewritten.
func (j *job) explain(ctx context.Context, err error) {
	if ctx.Err() != nil {
		j.complain("Error: interrupted")
		return
	}
	if bad, ok := errors.AsType[*rewrite.ReadError](err); ok {
		what, file := "__pmLogRead[log ", j.a.Path()+"."+strconv.Itoa(bad.Volume)
		if bad.Meta {
			what, file = "pmaGetLog[meta ", j.a.Path()+".meta"
		}
		size, _ := archive.FileSize(file)
		if j.debug("log") && !bad.Meta {
			j.cutRecord(bad, size)
		}
		j.complain("Error: %s%s]: %s", what, j.in, cli.ErrText(bad.Err))
		j.complain("Error occurred at byte offset %d into a file of %d bytes.", bad.Offset, size)
		if j.desperate {
			fmt.Fprintln(j.env.Stderr, "The last record, and the remainder of this file will not be processed.")
		}
		return
	}
	if bad, ok := errors.AsType[*rewrite.ValueError](err); ok {
		if strings.HasPrefix(bad.What, "Unable") {
			fmt.Fprintln(j.env.Stderr, bad.Error())
		} else {
			j.complain("%v", bad)
			j.env.Stderr.Write(bad.Record)
		}
		return
	}
	j.complain("Error: %v", err)
}

// cutRecord reports the size of a record truncated at the end of the volume, as the C
// library does with -D log.
func (j *job) cutRecord(bad *rewrite.ReadError, size int64) {
	f, err := j.a.OpenVolume(bad.Volume)
	if err != nil {
		return
	}
	defer f.Close()
	var head [4]byte
	if _, err := f.ReadAt(head[:], bad.Offset); err != nil {
		return
	}
	got, want := size-bad.Offset-4, int64(int32(binary.BigEndian.Uint32(head[:])))-8
	if got < want {
		fmt.Fprintf(j.env.Stderr, "Error: data fread got %d expected %d\n", got, want)
	}
}

// abandon removes the incomplete new archive, or keeps it with -d.
func (j *job) abandon(base string) {
	if j.desperate {
		j.w.Close()
		fmt.Fprintf(j.env.Stderr, "Archive \"%s\" creation truncated.\n", base)
		return
	}
	if !j.inPlace {
		fmt.Fprintf(j.env.Stderr, "Archive \"%s\" not created.\n", base)
	}
	j.w.Discard() // a missing file does not matter
}
