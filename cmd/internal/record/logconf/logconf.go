package logconf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/logconf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmapi"
)

// Command is pmlogconf.
var Command = &cli.Command{
	Name:     "logconf",
	Link:     "pmlogconf",
	Group:    cli.Record,
	Summary:  "create or change a configuration of pmlogger",
	Synopsis: "[options] configfile",
	Doc: `Creates a configuration of pmlogger (pcp logger) from groups of metrics that the collector has. An
existing configuration is changed: the command asks about each group, and shows the changes before
it writes them. With -c it asks nothing.

The groups are files in the directory $PCP_VAR_DIR/config/pmlogconf, including those of agents.
"pcp logconf" adds this program's own groups with metrics that no file there has, unless -d names the
directory. If it does not exist, all groups are this program's own.

The part after the line "DO NOT UPDATE THE FILE ABOVE THIS LINE" is kept unchanged.`,
	Examples: []cli.Example{
		{Line: `pcp logconf config.mine`, Text: `create a configuration, or change it interactively`},
		{Line: `pcp logconf -c -r -h web1 config.web1`, Text: `create the configuration for another host again, without questions`},
		{Line: `pcp logconf -v -s my/group`, Text: `try a group file`},
	},
	SeeAlso: []string{"pmlogger(1)", "pmcd(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.OptDebug,
			cli.OptHost,
			{Short: 'c', Help: "add message and timestamp (not for interactive use)"},
			{Short: 'g', Long: "group", Arg: "TAG", Help: "report the logging state for a specific metrics group"},
			{Short: 'd', Long: "groups", Arg: "DIR", Help: "specify path to the pmlogconf groups directory"},
			{Short: 'q', Long: "quiet", Help: "quiet, suppress logging interval dialog"},
			{Short: 'r', Long: "reprobe", Help: "every group reconsidered for inclusion in configfile"},
			{Short: 's', Long: "setup", Arg: "FILE", Help: "report default logging state for a group file"},
			{Short: 'v', Long: "verbose", Help: "increase diagnostic verbosity"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, &tool{kind: "pmlogger"}) },
}

type tool struct {
	env  *cli.Env
	kind string // whose configuration it is, "pmlogger" or "pmrep"
	dir  string // of the groups
	path string // of the configuration

	named bool // the directory, by an option

	auto, quick, verbose bool
	tag, setup           string
	hasTag, hasSetup     bool
	options              []string

	c *pmapi.Context
}

func (t *tool) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		t.auto = true
	case 'd':
		t.dir, t.named = arg, arg != ""
	case 'g':
		t.tag, t.hasTag = arg, true
	case 'o':
		t.options = append(t.options, arg)
	case 'q':
		t.quick = true
	case 'r': // every group is probed anyway
	case 's':
		t.setup, t.hasSetup = arg, true
	case 'v':
		t.verbose = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env, t *tool) int {
	t.env = env
	o := source.Parse(env, cli.ParseConfig{Own: t.own})
	autoClash := "Option -c cannot be used with -g,--group or -s,--setup"
	if t.pmrep() {
		autoClash = "Option -c cannot be used with -g,--group"
	}
	for _, clash := range []struct {
		both bool
		msg  string
	}{
		{t.auto && (t.hasTag || t.hasSetup), autoClash},
		{t.dir != "" && t.hasSetup, "Options -d,--groupdir and -s,--setup are mutually exclusive"},
		{t.hasTag && t.hasSetup, "Options -g,--group and -s,--setup are mutually exclusive"},
	} {
		if clash.both {
			env.Printf("%s\n", clash.msg)
			o.WantUsage()
		}
	}
	wrong := len(o.Args) != 1 && !t.hasSetup
	if wrong && !o.WantsVersion() {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if wrong && env.Classic() {
			return 1 // the C tool requires a file even with -V
		}
		return status
	}
	host := "local:"
	if len(o.Hosts) > 0 {
		host = o.Hosts[0]
	}
	c, err := o.Dial(ctx, host)
	if err != nil {
		if !env.Classic() {
			return o.CannotConnect(host, err)
		}
		return env.Fatalf("Cannot connect to pmcd on host \"%s\": %s", host, cli.ErrText(err))
	}
	defer c.Close()
	t.c = c
	if t.hasSetup {
		return t.checkGroup(ctx)
	}
	t.path = o.Args[0]
	return t.configure(ctx)
}

func (t *tool) pmrep() bool { return t.kind == "pmrep" }

// warn prints a message of the engine.
func (t *tool) warn(msg string) { fmt.Fprintf(t.env.Stderr, "%s: %s", t.name(), msg) }

// name is the name of this program in messages and configurations.
func (t *tool) name() string { return t.env.Name }

// reason is the text of an error of a file, as C prints it.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return cli.ErrText(pe.Err)
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return cli.ErrText(err)
	}
	return err.Error()
}

// checkGroup reports on one group file.
func (t *tool) checkGroup(ctx context.Context) int {
	f, err := os.Open(t.setup)
	if err != nil {
		return t.env.Fatalf("Cannot open pmlogconf configuration \"%s\": %s", t.setup, reason(err))
	}
	defer f.Close()
	tag := strings.TrimPrefix(t.setup, "/")
	s, err := logconf.LoadGroup(f, tag, logconf.Config{Warn: t.warn})
	switch {
	case errors.Is(err, syscall.EISDIR):
		s, err = logconf.LoadGroup(strings.NewReader(""), tag, logconf.Config{Warn: t.warn})
	case err != nil:
		return t.env.Fatalf("%v", err)
	}
	if len(s.Groups()) == 0 && err == nil {
		// The C tool's message for a file in another format, which lacks the name.
		t.warn("Warning: /(null) neither \"probe\" nor \"force\" control lines ... use \"force available\"\n")
	}
	if !s.Rules() {
		return 1
	}
	if err := s.Probe(ctx, t.c); err != nil {
		return t.env.Fatalf("%v", err)
	}
	s.Evaluate()
	s.Report(t.env.Stdout, "all", t.verbose, true)
	return 0
}

// groups opens the directory of groups, or its replacement.
func (t *tool) groups() (fs.FS, error) {
	if !t.named {
		t.dir = t.env.Config().Get("PCP_VAR_DIR") + "/config/pmlogconf"
	}
	info, err := os.Stat(t.dir)
	switch {
	case err == nil && !info.IsDir():
		err = syscall.ENOTDIR
	case !t.named && errors.Is(err, fs.ErrNotExist):
		return logconf.Builtin(), nil
	}
	if err != nil {
		return nil, err
	}
	return tree(t.dir), nil
}

// tree is a directory as a file system. Unlike that of package os, it accepts names that are not UTF-8.
type tree string

func (d tree) path(op, name string) (string, error) {
	if name == "" || strings.HasPrefix(name, "/") || strings.Contains("/"+name+"/", "/../") || strings.ContainsRune(name, 0) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return string(d) + "/" + name, nil
}

func (d tree) Open(name string) (fs.File, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

func (d tree) Stat(name string) (fs.FileInfo, error) {
	path, err := d.path("stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(path)
}

func (d tree) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}

// configure makes the configuration, or changes it.
func (t *tool) configure(ctx context.Context) int {
	groups, err := t.groups()
	if err != nil {
		return t.env.Fatalf("Cannot open pmlogconf groups path \"%s\": %s", t.dir, reason(err))
	}
	old, created, err := t.open()
	if err != nil {
		return t.env.Fatalf("Cannot open %s configuration \"%s\": %s", t.kind, t.path, reason(err))
	}
	status := t.work(ctx, groups, old)
	if created && (status != 0 || t.hasTag) {
		// Nothing was written into it.
		if info, err := os.Lstat(t.path); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			os.Remove(t.path)
		}
	}
	return status
}

// open returns the current configuration. If there is none, it creates an empty one, so that a failure
// shows before the user answers questions.
func (t *tool) open() (old []byte, created bool, err error) {
	flags := os.O_RDWR
	if t.hasTag {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(t.path, flags|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		created = true
		f, err = os.OpenFile(t.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, created, err
	case info.IsDir():
		return nil, false, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, false, safefile.ErrNotRegular
	case info.Size() > logconf.MaxConfig:
		return nil, false, syscall.EFBIG
	}
	old, err = io.ReadAll(f)
	return old, created, err
}

func (t *tool) work(ctx context.Context, groups fs.FS, old []byte) int {
	out := t.env.Stdout
	if len(old) == 0 {
		fmt.Fprintf(out, "Creating config file \"%s\" using default settings ...\n", t.path)
	}
	s, err := logconf.Load(groups, logconf.Config{
		Dir: t.dir, File: t.path, Auto: t.auto, Program: t.name(), Pmrep: t.pmrep(), Options: t.options, Warn: t.warn,
	})
	if err != nil {
		return t.env.Fatalf("Cannot open pmlogconf groups path \"%s\": %s", t.dir, reason(err))
	}
	if !t.named && !t.env.Classic() {
		if err := s.Add(logconf.Builtin()); err != nil {
			return t.env.Fatalf("%v", err)
		}
	}
	if err := s.Probe(ctx, t.c); err != nil {
		return t.env.Fatalf("%v", err)
	}
	s.Rules()
	if len(old) == 0 {
		return t.create(s)
	}
	return t.update(ctx, s, old)
}

func (t *tool) create(s *logconf.Set) int {
	out := t.env.Stdout
	if t.hasTag {
		s.Report(out, t.tag, t.verbose, false)
		return 0
	}
	text := s.New(func(g *logconf.Group) {
		if !t.auto && g.State() != logconf.Exclude && g.Found() {
			io.WriteString(out, ".")
		}
		if t.verbose {
			s.ReportGroup(out, g, true)
		}
	})
	// The mode is that of the C tool, regardless of the umask.
	if !t.replace(text, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}) {
		return 1
	}
	io.WriteString(out, "\n")
	return 0
}

// replace replaces the old configuration with a new one.
func (t *tool) replace(text []byte, how safefile.Replacement) bool {
	err := safefile.ReplaceBytes(t.path, text, how)
	if err == nil {
		return true
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Op == safefile.OpCreate {
		t.env.Fatalf("cannot create file %s.new: %s", t.path, reason(err))
	} else {
		t.env.Fatalf("cannot rename file %s.new to %s: %s", t.path, t.path, reason(err))
	}
	return false
}

func (t *tool) update(ctx context.Context, s *logconf.Set, old []byte) int {
	out := t.env.Stdout
	if err := s.Read(bytes.NewReader(old)); err != nil {
		return t.env.Fatalf("%s: %v", t.path, err)
	}
	if t.hasTag {
		s.Report(out, t.tag, t.verbose, false)
		return 0
	}
	d := &logconf.Dialogue{In: bufio.NewReader(&answers{ctx: ctx, env: t.env}), Out: out, Quick: t.quick}
	if !t.auto {
		if err := d.Run(s); err != nil {
			return t.interrupted(err)
		}
	}
	text := old
	if s.Changed() {
		text = s.Update()
	}
	if t.verbose {
		s.Report(out, "all", true, false)
	}
	if bytes.Equal(old, text) {
		io.WriteString(out, "\nNo changes\n")
		return 0
	}
	io.WriteString(out, "\nDifferences ...\n")
	if err := t.showDifferences(old, text); err != nil {
		return t.env.Fatalf("%s: %s", t.path, reason(err))
	}
	keep := true
	if !t.auto {
		var err error
		if keep, err = d.Confirm(); err != nil {
			return t.interrupted(err)
		}
	}
	if keep && !t.replace(text, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1, Keep: true, Lenient: true}) {
		return 1
	}
	return 0
}

// interrupted ends the program and leaves the configuration unchanged.
func (t *tool) interrupted(err error) int {
	if !errors.Is(err, context.Canceled) {
		return t.env.Fatalf("reading answers: %s", cli.ErrText(err))
	}
	io.WriteString(t.env.Stdout, "\n")
	return 1
}

// answers reads what the user types. Read returns when ctx is done, so that ctrl-C ends a question.
type answers struct {
	ctx context.Context
	env *cli.Env
}

func (a *answers) Read(b []byte) (int, error) {
	if err := a.env.FlushOut(); err != nil {
		return 0, err
	}
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	type read struct {
		b   []byte
		err error
	}
	// The buffer is not b, since an abandoned read may still complete.
	done := make(chan read, 1)
	size := len(b)
	go func() {
		buf := make([]byte, size)
		n, err := a.env.Stdin.Read(buf)
		done <- read{buf[:n], err}
	}()
	select {
	case r := <-done:
		return copy(b, r.b), r.err
	case <-a.ctx.Done():
		return 0, a.ctx.Err()
	}
}
