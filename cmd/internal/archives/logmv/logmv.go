package logmv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmlogmv.
var Command = &cli.Command{
	Name:     "logmv",
	Link:     "pmlogmv",
	Group:    cli.Record,
	Summary:  "rename an archive",
	Synopsis: "[options] oldname newname",
	Doc: `Renames all files of an archive, in an order that leaves one complete archive after an interruption.
Existing files are not overwritten.`,
	Examples: []cli.Example{
		{Line: `pcp logmv 20261121 before-upgrade`, Text: `give an archive another name`},
		{Line: `pcp logmv -N 20261121 before-upgrade`, Text: `only print what would be done`},
	},
	SeeAlso: []string{"pmlogcp(1)", "pmlogls(1)"},
	Options: options,
	Run:     func(ctx context.Context, env *cli.Env) int { return run(ctx, env, move) },
}

// CopyCommand is pmlogcp.
var CopyCommand = &cli.Command{
	Name:     "logcp",
	Link:     "pmlogcp",
	Group:    cli.Record,
	Summary:  "copy an archive",
	Synopsis: "[options] oldname newname",
	Doc:      `Copies all files of an archive. Existing files are not overwritten.`,
	Examples: []cli.Example{
		{Line: `pcp logcp 20261121 /mnt/usb/20261121`, Text: `copy an archive`},
	},
	SeeAlso: []string{"pmlogmv(1)", "pmlogls(1)"},
	Options: options,
	Run:     func(ctx context.Context, env *cli.Env) int { return run(ctx, env, duplicate) },
}

// ListCommand is pmlogls.
var ListCommand = &cli.Command{
	Name:     "logls",
	Link:     "pmlogls",
	Group:    cli.Record,
	Summary:  "list the files of an archive",
	Synopsis: "[options] srcname",
	Doc:      `Lists the files of an archive.`,
	Examples: []cli.Example{
		{Line: `pcp logls 20261121`, Text: `list the files`},
		{Line: `tar cf a.tar $(pcp logls 20261121)`, Text: `pack an archive`},
	},
	SeeAlso: []string{"pmlogmv(1)", "pmlogcp(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'V', Long: "verbose", Help: "increase diagnostic verbosity"},
			cli.OptHelp,
		}
	},
	Run: func(ctx context.Context, env *cli.Env) int { return run(ctx, env, list) },
}

func options() []cli.Option {
	return []cli.Option{
		cli.Heading("Options"),
		cli.OptDebug,
		{Short: 'c', Long: "checksum", Help: "checksum all source and destintion files when copying"},
		{Short: 'f', Long: "force", Help: "force changes, even if they look unsafe"},
		{Short: 'N', Long: "showme", Help: "perform a dry run, showing what would be done"},
		{Short: 'V', Long: "verbose", Help: "increase diagnostic verbosity"},
		cli.OptHelp,
	}
}

// A mode is one of the three tools.
type mode int

const (
	move mode = iota
	duplicate
	list
)

// A mover does the work.
type mover struct {
	mode
	checksum, force, showMe bool
	seven                   bool // PCP_COMPAT is 7
	verbose                 int

	ctx     context.Context
	env     *cli.Env
	old     string // base names
	new     string
	made    []string // files to remove on failure
	summing bool     // the use of checksums has been reported
	link    func(src, dst string) error

	progress *cli.Progress // of the copies
}

func (m *mover) own(_ *cli.Options, opt *cli.Option, _ string) bool {
	switch opt.Short {
	case 'c':
		m.checksum = true
	case 'f':
		m.force = true
	case 'N':
		m.showMe = true
	case 'V':
		m.verbose++
	default:
		return false
	}
	return true
}

func (m *mover) printf(format string, args ...any) {
	m.progress.Clear()
	fmt.Fprintf(m.env.Stdout, format+"\n", args...)
}

// complain writes a message of the program, after the output so far.
func (m *mover) complain(format string, args ...any) {
	m.progress.Clear()
	m.env.FlushOut()
	fmt.Fprintf(m.env.Stderr, m.env.ProgName()+": "+format+"\n", args...)
}

func run(ctx context.Context, env *cli.Env, what mode) int {
	m := &mover{mode: what, ctx: ctx, env: env, link: os.Link, seven: env.Seven()}
	if m.seven && what != list {
		c := *env.Command
		c.Synopsis = "[options] srcname dstname"
		env.Command = &c
	}
	o := cli.ParseOptions(env, cli.ParseConfig{Own: m.own})
	want := 2
	if what == list {
		want = 1
	}
	if len(o.Args) != want && !o.WantsVersion() {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	a, err := archive.Open(o.Args[0])
	if err != nil {
		if what != list || m.verbose > 0 {
			m.complain("Cannot open archive \"%s\": %s", o.Args[0], cli.ErrText(err))
		}
		return 1
	}
	vols := a.Volumes()
	m.old = a.Path()
	a.Close()
	if m.seven {
		m.old = strings.TrimPrefix(m.old, "./")
	}
	parts := make([]string, 0, len(vols)+2)
	for n := vols[0]; n <= vols[len(vols)-1]; n++ {
		parts = append(parts, strconv.Itoa(n))
	}
	parts = append(parts, "index", "meta")
	if what == list {
		m.list(parts)
		return 0
	}
	m.new = o.Args[1]
	if st, err := os.Stat(m.new); err == nil && st.IsDir() {
		m.new = filepath.Join(m.new, filepath.Base(m.old))
	}
	if !m.force && !m.safeNames() {
		return 1
	}
	if !m.all(parts) {
		m.undo()
		return 1
	}
	if what == move {
		m.remove(parts)
	}
	return 0
}

// shellChars are characters that a name must not have, since scripts pass names to the
// shell.
const shellChars = " $?*[(|;&<>"

// shellChars7 are those that PCP 7 refuses in addition, in both names.
const shellChars7 = "`{}\\!\n\t"

// safeNames reports whether the new name is safe, with PCP_COMPAT=7 also the old one, and complains if not.
func (m *mover) safeNames() bool {
	if !m.seven {
		return m.safe("newname", m.new, shellChars)
	}
	return m.safe("dstname", m.new, shellChars+shellChars7) && m.safe("srcname", m.old, shellChars+shellChars7)
}

func (m *mover) safe(what, name, unsafe string) bool {
	for _, c := range unsafe {
		if strings.ContainsRune(name, c) {
			m.complain("%s (%s) unsafe [shell metacharacter '%c']", what, name, c)
			return false
		}
	}
	return true
}

// list writes the names of the files.
func (m *mover) list(parts []string) {
	for _, part := range parts {
		if src, _, ok := m.find(m.old, part); ok {
			m.printf("%s", strings.TrimPrefix(src, "./"))
		}
	}
}

// suffixes are those of compressed files, in the order in which C looks for them.
var suffixes = []string{"", ".xz", ".lzma", ".bz2", ".bz", ".gz", ".Z", ".z", ".zst"}

// find returns the file of a part of an archive, and its suffix.
func (m *mover) find(base, part string) (path, suffix string, ok bool) {
	for _, s := range suffixes {
		path := base + "." + part + s
		if _, err := os.Stat(path); err == nil {
			return path, s, true
		}
	}
	return "", "", false
}

// all makes all new files.
func (m *mover) all(parts []string) bool {
	m.progress = cli.NewProgress(m.env, m.env.ProgName(), m.size(parts))
	defer m.progress.Clear()
	for _, part := range parts {
		if m.ctx.Err() != nil {
			m.caught()
			return false
		}
		src, suffix, ok := m.find(m.old, part)
		if !ok {
			if m.verbose > 1 || part == "meta" && m.verbose > 0 {
				m.complain("Warning: source file %s.%s not found", m.old, part)
			}
			continue
		}
		if !m.one(src, m.new+"."+part+suffix) {
			return false
		}
	}
	if m.showMe {
		return true
	}
	if err := fsdir.Sync(filepath.Dir(m.new)); err != nil {
		m.complain("%s: %s", filepath.Dir(m.new), cli.ErrText(err))
		return false
	}
	if m.ctx.Err() != nil {
		m.caught()
		return false
	}
	return true
}

// size returns the number of bytes read to copy all files.
func (m *mover) size(parts []string) int64 {
	var size int64
	for _, part := range parts {
		if src, _, ok := m.find(m.old, part); ok {
			if st, err := os.Stat(src); err == nil {
				size += st.Size()
			}
		}
	}
	if m.checksum {
		size *= 2
	}
	return size
}

// one makes one new file.
func (m *mover) one(src, dst string) bool {
	if _, err := os.Lstat(dst); err == nil {
		m.complain("%s: already exists", dst)
		return false
	}
	if m.showMe {
		what := "ln"
		switch {
		case m.mode == duplicate:
			what = "cp"
		case m.seven:
			what = "ln-or-cp"
		}
		m.printf("+ %s %s %s", what, src, dst)
		return true
	}
	if m.mode == move {
		err := m.link(src, dst)
		if err == nil {
			m.made = append(m.made, dst)
			if m.verbose > 0 {
				m.printf("link %s -> %s", src, dst)
			}
			return true
		}
		if !mustCopy(err) {
			m.complain("link %s -> %s failed: %s", src, dst, cli.ErrText(err))
			return false
		}
	}
	return m.copy(src, dst)
}

// remove removes the old files. From here the work cannot be undone, so a signal does
// not stop it.
func (m *mover) remove(parts []string) {
	for _, part := range parts {
		src, _, ok := m.find(m.old, part)
		switch {
		case !ok:
		case m.showMe:
			m.printf("+ rm %s", src)
		default:
			if m.verbose > 0 {
				m.printf("remove %s", src)
			}
			if err := os.Remove(src); err != nil {
				m.complain("unlink %s failed: %s", src, cli.ErrText(err))
			}
		}
	}
}

// caught reports the signal.
func (m *mover) caught() {
	m.env.FlushOut()
	n := syscall.SIGINT
	if cause := context.Cause(m.ctx); cause != nil && strings.HasPrefix(cause.Error(), syscall.SIGTERM.String()) {
		n = syscall.SIGTERM
	}
	fmt.Fprintf(m.env.Stderr, "Caught signal %d\n", n)
	m.verbose = 1
}

// undo removes the new files, in the order in which C does: metadata, index,
// volumes.
func (m *mover) undo() {
	var vols, rest []string
	for _, path := range m.made {
		if _, part, _ := archive.BaseName(path); part == "meta" || part == "index" {
			rest = append([]string{path}, rest...)
		} else {
			vols = append(vols, path)
		}
	}
	for _, path := range append(rest, vols...) {
		if m.verbose > 0 {
			m.printf("cleanup: remove %s", path)
		}
		if err := os.Remove(path); err != nil {
			m.complain("unlink %s failed: %s", path, cli.ErrText(err))
		}
	}
}
