package ieconf

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/pmie/ieconf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Command is pmieconf.
var Command = &cli.Command{
	Name:     "ieconf",
	Link:     "pmieconf",
	Group:    cli.Alert,
	Summary:  "show and change rules, and create a configuration of pmie",
	Synopsis: "[options] [ command [args...] ]",
	Doc: `Creates a configuration for pcp ie from rules that have names and variables. Rules can be enabled
and disabled, and the values of their variables changed, for all rules, a group or one rule. The
configuration records the changes; lines added at its end are kept.

A command is given as arguments. Without one, commands are read from standard input:

` + help + `

A command can be shortened to its first letter. "." means the argument of the last command. Changes are written at the end; without changes nothing is written, except with -F.

The rules are files in colon-separated directories: those of -r, of the variable PMIECONF_PATH, or $PCP_VAR_DIR/config/pmieconf. "pcp ieconf" adds the built-in rules whose names no file of the last has. If there is no such directory, all rules are built-in; --export writes them to a directory. The configuration is that of -f, or config.default in $PCP_SYSCONF_DIR/pmie for root and
~/.pcp/pmie/config.pmie for others.`,
	Examples: []cli.Example{
		{Line: `pcp ieconf rules`, Text: `list the rules, one a line`},
		{Line: `pcp ieconf list per_disk.util`, Text: `show a rule with its variables`},
		{Line: `pcp ieconf -f my.rules modify filesys.filling threshold 90`, Text: `change a value, and write the configuration`},
		{Line: `pcp ieconf -f my.rules -F && pcp ie my.rules`, Text: `write the unchanged configuration, and evaluate its rules`},
	},
	SeeAlso: []string{"pmie(1)", "pmlogconf(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Help: "an automated pmie configuration by the system"},
			{Short: 'F', Long: "force", Help: "force creation/update of pmie file, then exit"},
			{Short: 'f', Long: "config", Arg: "FILE", Help: "location of generated pmie configuration file"},
			{Short: 'r', Long: "rules", Arg: "PATH", Help: "path specifying groups of rule files"},
			{Short: 'v', Long: "verbose", Help: "increase level of diagnostics"},
			cli.OptHelp,
			{Long: "export", Arg: "DIR", Help: "write the rules of this program below DIR, then exit", Extra: true},
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// help lists the commands. Scripts and users know these lines.
const help = `  1. help  [ { . | all | global | <rule> | <group> } [<variable>] ]
               descriptive text on one or more variables or rules
  2. rules  [ enabled | disabled ]
               list of available, enabled, or disabled rules
  3. groups    list of available groups of rules
  4. status    print status information
  5. enable  { . | all | <rule> | <group> }
               switch evaluation on for given rule(s)
  6. disable  { . | all | <rule> | <group> }
               switch evaluation off for given rule(s)
  7. list  { . | all | global | <rule> | <group> } [<variable>]
               print values of variables for given rule(s)
  8. modify  { . | all | global | <rule> | <group> } <variable> <value>
               change the value of a rule variable
  9. undo  { . | all | global | <rule> | <group> } [<variable>]
               revert to default value of rule variable
 10. verbose  [ { on | off } ]
               change amount of info displayed ('*' denotes global variables)
 11. quit      save changes then exit
 12. abort     discard changes then exit`

// maxArgs is how many words a command line can have, and maxArg how long each is.
const (
	maxArgs = 5
	maxArg  = 1025
)

type tool struct {
	env *cli.Env
	ctx context.Context
	out printer
	set *ieconf.Set

	auto, force, verbose bool
	rules, export        string
	hasRules             bool

	path    string // of the configuration
	hasPath bool

	user     bool // a user may be typing commands
	modified bool
	previous string // the subject of the last command
	done     bool
	status   int
}

func (t *tool) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch {
	case opt.Short == 'c':
		t.auto = true
	case opt.Short == 'F':
		t.force = true
	case opt.Short == 'f':
		t.path, t.hasPath = arg, true
	case opt.Short == 'r':
		t.rules, t.hasRules = arg, true
	case opt.Short == 'v':
		t.verbose = true
	case opt.Long == "export":
		t.export = arg
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	t := &tool{env: env, ctx: ctx}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: t.own})
	args := o.Args
	if t.force && len(args) > 0 {
		env.Printf("%s: cannot use -F option with a command\n", env.ProgName())
		args = nil
		o.WantUsage()
	}
	if len(args) > maxArgs {
		env.Printf("%s: too many arguments\n", env.ProgName())
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		if o.Errors() && (env.Classic() || !o.WantsHelp()) {
			env.Printf("\nCommands:\n%s\n", help)
			env.Flush()
		}
		return status
	}
	for i, arg := range args {
		args[i] = arg[:min(len(arg), maxArg)]
	}
	if t.export != "" {
		return t.exportRules()
	}
	t.user = len(args) == 0 && !t.auto
	t.out.init(env)
	switch err := t.start(); {
	case err == errSaid:
		return 1
	case err != nil:
		return t.fatal(err)
	}
	if t.force {
		return t.write()
	}
	if len(args) == 0 && !t.auto {
		t.interact()
	} else if t.configure(args); t.status != 0 {
		return t.status
	}
	t.quit()
	return t.status
}

// errSaid is an error that was printed.
var errSaid = errors.New("")

func (t *tool) fatal(err error) int {
	t.errorf("%v", err)
	return 1
}

// reason is the text of an error of a file, as C prints it.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return cli.ErrText(err)
}

func (t *tool) exportRules() int {
	if err := os.CopyFS(t.export, ieconf.BuiltinRules()); err != nil {
		return t.env.Fatalf("cannot write the rules below %s: %v", t.export, err)
	}
	return 0
}

// start reads the rules, and the configuration if there is one.
func (t *tool) start() error {
	if err := t.locate(); err != nil {
		return err
	}
	path, builtin := t.rulePath()
	installed := !builtin && !t.hasRules && !t.env.IsSet("PMIECONF_PATH")
	cfg := ieconf.Config{
		Path: path, File: t.path, Auto: t.auto, Program: t.env.ProgName(), Zone: t.env.Local(),
		Warn: func(msg string) { fmt.Fprint(t.env.Stderr, msg) },
	}
	var err error
	if builtin {
		t.set, err = ieconf.Builtin(cfg)
	} else {
		t.set, err = ieconf.Load(path, cfg)
	}
	if err == nil && installed && !t.env.Classic() {
		err = t.set.AddBuiltin()
	}
	if err != nil {
		return err
	}
	text, err := t.read()
	if err != nil {
		return err
	}
	was, err := t.set.Read(text, func(was string) error {
		for name := range strings.SplitSeq(was, ":") {
			if _, err := os.Stat(name); name != "" && err != nil && !(builtin && name == path) {
				return fmt.Errorf("cannot access rules path component: \"%s\"", name)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case len(t.set.Rules()) == 0:
		fmt.Fprintf(t.env.Stderr, "%s: no rules were found using rule path: %s\n", t.env.ProgName(), path)
		return errSaid
	case was != path && !t.force:
		// The C tool warns of this only if it cannot write, too.
		if t.write() != 0 {
			return errSaid
		}
	}
	return nil
}

// rulePath returns where the rules are, and whether they are those of this program.
func (t *tool) rulePath() (path string, builtin bool) {
	if t.hasRules {
		return t.rules, false
	}
	if t.env.IsSet("PMIECONF_PATH") {
		return t.env.Getenv("PMIECONF_PATH"), false
	}
	path = t.env.Config().Get("PCP_VAR_DIR") + "/config/pmieconf"
	_, err := os.Stat(path)
	return path, errors.Is(err, fs.ErrNotExist)
}

// locate finds out which file the configuration is.
func (t *tool) locate() error {
	cfg := t.env.Config()
	switch {
	case os.Getuid() != 0:
		home := t.env.Getenv("HOME")
		if home == "" && !t.env.IsSet("HOME") {
			return errors.New("$HOME undefined in environment")
		}
		if !t.hasPath {
			t.path = home + "/.pcp/pmie/config.pmie"
		}
	case t.hasPath:
		real, err := t.realPath()
		if err != nil {
			return fmt.Errorf("failed to resolve realpath for %s: %s", t.path, reason(err))
		}
		t.path = real
	case t.auto:
		t.path = cfg.Get("PCP_VAR_DIR") + "/config/pmie/config.default"
	default:
		t.path = cfg.Get("PCP_SYSCONF_DIR") + "/pmie/config.default"
	}
	return nil
}

// realPath returns the path of the configuration without symbolic links, where that is there.
func (t *tool) realPath() (string, error) {
	path, err := filepath.Abs(t.path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// read returns the configuration, nothing if there is none.
func (t *tool) read() ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("cannot open %s: %s", t.path, reason(err))
	}
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return fail(err)
	case info.IsDir():
		return nil, fmt.Errorf("%s is not a rule customization file (bad header)", t.path)
	case !info.Mode().IsRegular():
		return nil, nil
	case info.Size() > ieconf.MaxConfig:
		return fail(syscall.EFBIG)
	}
	text, err := os.ReadFile(t.path)
	if err != nil {
		return fail(err)
	}
	return text, nil
}

// write writes the configuration, and prints its rules that are no longer defined.
func (t *tool) write() int {
	text, err := t.set.Generate()
	if err == nil {
		err = t.replace(text)
	}
	if err != nil {
		return t.fatal(err)
	}
	if real, err := filepath.EvalSymlinks(t.path); err == nil {
		if real, err = filepath.Abs(real); err == nil {
			t.path = real
		}
	}
	gone := t.set.NewlyDeprecated()
	if len(gone) == 0 {
		return 0
	}
	if t.user {
		t.out.printf("  Warning - some rules have been deprecated:\n")
	} else {
		t.out.printf("%s: some rules have been deprecated:\n", t.env.ProgName())
	}
	for _, d := range gone {
		t.out.printf("    %s (deprecated, %s)\n", d.Name, d.Reason)
	}
	t.out.printf("\n  See %s for details\n", t.path)
	return 0
}

// replace puts a new configuration in the place of the old one, in one step.
func (t *tool) replace(text []byte) error {
	dir := filepath.Dir(t.path)
	if info, err := os.Stat(dir); err != nil {
		os.MkdirAll(dir, 0o777) // if it fails, creating the file does too
	} else if !info.IsDir() {
		return fmt.Errorf("\"%s\" exists and is not a directory", dir)
	}
	fail := func(err error) error { return fmt.Errorf("cannot write file %s: %s", t.path, reason(err)) }
	f, err := os.OpenFile(t.path, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		if _, err := f.Write(text); err != nil {
			return fail(err)
		}
		return nil
	}
	err = safefile.ReplaceBytes(t.path, text, safefile.Replacement{Keep: true, Lenient: true, Follow: true, Uid: -1, Gid: -1})
	if pe, ok := errors.AsType[*fs.PathError](err); ok && pe.Op == safefile.OpCreate {
		// The directory is not writable, but the file is.
		if err = f.Truncate(0); err == nil {
			_, err = f.Write(text)
		}
	}
	if err != nil {
		return fail(err)
	}
	return nil
}
