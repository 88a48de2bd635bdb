package metricset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmrep"
	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcptime"
	"github.com/go-pcp/pcp/pmapi"
)

// A Program describes one of these programs, apart from its table of options.
type Program struct {
	// Paths are the possible paths of its configuration, of which the first existing one is read;
	// $HOME and $PCP_SYSCONF_DIR are expanded. Embedded, if it is not nil, has files with the
	// metricsets that the configuration lacks, unless -c names it.
	Paths    []string
	Embedded fs.FS

	Keys     []string      // settings that it has
	Ignored  []string      // settings of others, which metricsets may have
	Defaults conf.Settings // "interval" must be one of them

	// Own is called first for each option, and reports whether it has handled it.
	Own func(r *Report, opt *cli.Option, arg string) bool

	// Parser reads the definitions of metrics in metricsets.
	Parser conf.Parser
	// NoMetrics allows calls without metrics.
	NoMetrics bool
	// FirstLabels is that of pmrep.Options.
	FirstLabels bool
}

// PmrepPaths returns the paths of a program's own configuration, and of pmrep's after them.
func PmrepPaths(name string) []string {
	paths := []string{
		"./" + name + ".conf", "$HOME/." + name + ".conf", "$HOME/.pcp/" + name + ".conf",
	}
	dirs := []string{"$PCP_SYSCONF_DIR/" + name + "/" + name + ".conf", "$PCP_SYSCONF_DIR/" + name}
	if name != "pmrep" {
		// As in C the directory of the program is first, and pmrep's files are
		// last.
		dirs = append(dirs, PmrepPaths("pmrep")...)
	}
	return append(paths, dirs...)
}

// A Report is one run of a program.
type Report struct {
	Env      *cli.Env
	Options  *source.Options
	Settings conf.Settings
	Config   *conf.Config

	Instances []string // of -i
	Check     bool     // -C
	Metrics   []conf.Metric

	// Context and Archive are set by Connect, with the name of the source.
	Context *pmapi.Context
	Archive bool
	Source  string

	Set *pmrep.Set // set by Resolve
	Times

	// Silent means that nothing is printed to standard output while the metrics are
	// sampled.
	Silent bool

	// Interpolated is false if an archive must be reported as it was recorded. Programs set it
	// before Resolve.
	Interpolated bool

	p      *Program
	config string // the path of the configuration
	named  bool   // by -c
	exit   error  // why an option ended the program
	opts   pmrep.Options
}

// Start reads the configuration and the options of a program. It returns an error for [Exit], which
// may already have been printed.
func Start(env *cli.Env, p *Program) (*Report, error) {
	r := &Report{Env: env, p: p, Settings: make(conf.Settings), Times: Times{Runtime: -1}, Interpolated: true}
	for name, value := range p.Defaults {
		r.Settings[name] = value
	}
	if err := r.findConfig(); err != nil {
		return nil, err
	}
	if err := r.read(r.config, true); err != nil {
		return nil, err
	}
	if err := r.addEmbedded(); err != nil {
		return nil, err
	}
	wrong := r.fromFiles()
	first := r.config
	r.Options = source.Parse(env, cli.ParseConfig{Archives: true, Later: true, HighRes: true, Own: r.own})
	if r.exit != nil {
		return nil, r.exit
	}
	if wrong {
		r.Options.WantUsage()
	}
	if status, exit := r.Options.Done(); exit {
		return nil, &exitError{status}
	}
	if r.config != first {
		if err := r.read(r.config, false); err != nil {
			return nil, err
		}
	}
	return r, r.selectMetrics()
}

// An exitError ends the program, with no further message.
type exitError struct{ status int }

func (e *exitError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// findConfig finds the configuration: by -c, which the Python programs look for before they read options.
func (r *Report) findConfig() error {
	home, sys := r.Env.Getenv("HOME"), r.Env.Config().Get("PCP_SYSCONF_DIR")
	paths := slices.Clone(r.p.Paths)
	for i, p := range paths {
		paths[i] = strings.ReplaceAll(strings.ReplaceAll(p, "$HOME", home), "$PCP_SYSCONF_DIR", sys)
	}
	r.config = conf.Find(paths...)
	args := r.Env.Args
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-?" || arg == "--help" || arg == "-V" || arg == "--version":
			r.config = ""
			return nil
		case arg == "-c" || arg == "--config":
			if i++; i == len(args) {
				return nil
			}
			r.config, r.named = args[i], true
		case strings.HasPrefix(arg, "-c"):
			r.config, r.named = arg[len("-c"):], true
		default:
			continue
		}
		if err := conf.Check(r.config); err != nil {
			return err
		}
	}
	return nil
}

// read reads the files of a configuration, with settings if these are to have effect.
func (r *Report) read(config string, settings bool) error {
	r.Config = conf.New(r.p.Keys, r.p.Ignored...)
	r.Config.Parser = r.p.Parser
	list, err := conf.Files(config)
	if err != nil {
		return &conf.Error{Text: osError(err, config)}
	}
	for _, name := range list {
		if err := r.Config.ReadFile(name); err != nil {
			return err
		}
		if !settings {
			continue
		}
		if err := r.Config.Apply(r.Settings, name, r.sections()...); err != nil {
			return err
		}
	}
	return nil
}

// sections returns the metricsets that the arguments name, in any position.
func (r *Report) sections() []string {
	var names []string
	for _, arg := range r.Env.Args {
		if name, ok := strings.CutPrefix(arg, ":"); ok {
			names = append(names, name)
		}
	}
	return names
}

// addEmbedded adds the metricsets that arguments name and only the files in the program have, with their settings.
func (r *Report) addEmbedded() error {
	missing := slices.DeleteFunc(r.sections(), r.Config.Has)
	if r.p.Embedded == nil || r.named || len(missing) == 0 {
		return nil
	}
	list, err := fs.Glob(r.p.Embedded, "*.conf")
	if err != nil {
		return err
	}
	embedded := conf.New(r.p.Keys, r.p.Ignored...)
	for _, name := range list {
		b, err := fs.ReadFile(r.p.Embedded, name)
		if err != nil {
			return err
		}
		if err := embedded.Read(name, string(b)); err != nil {
			return err
		}
	}
	for _, name := range missing {
		if err := embedded.Apply(r.Settings, name, name); err != nil {
			return err
		}
		r.Config.Take(embedded, name)
	}
	return nil
}

// osError is an error of the system as Python words it.
func osError(err error, name string) string {
	text := cli.ErrText(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "[Errno 2] " + text + ": " + pytext.Repr(name)
	case errors.Is(err, fs.ErrPermission):
		return "[Errno 13] " + text + ": " + pytext.Repr(name)
	}
	return text + ": " + pytext.Repr(filepath.Clean(name))
}

// fromFiles takes over the settings of files that are not texts, and reports whether some are wrong. As in C the
// messages have another name, since the program has no name until options are read.
func (r *Report) fromFiles() (wrong bool) {
	if list := r.Settings["instances"]; list != "" {
		r.Instances = strings.Split(list, ",")
	}
	if text := r.Settings["interval"]; text != "" {
		d, err := pcptime.ParseInterval(text)
		if err != nil {
			r.Env.Printf("pcp: interval argument not in pmParseHighResInterval(3) format:\n%v\n", err)
			wrong = true
		}
		r.Interval = d
	}
	if text := r.Settings["samples"]; text != "" {
		n, ok := pytext.Int(text)
		if !ok || n < 0 {
			r.Env.Printf("pcp: sample count must be a positive numeric argument\n")
			wrong = true
		}
		r.Samples = int(min(max(n, 0), 1<<31-1))
	}
	return wrong
}

// selectMetrics finds out which metrics are asked for.
func (r *Report) selectMetrics() error {
	if len(r.Options.Args) == 0 && !r.p.NoMetrics {
		r.Env.FlushOut()
		fmt.Fprintln(r.Env.Stderr, "No metrics specified.")
		r.Options.WantUsage()
		status, _ := r.Options.Done()
		return &exitError{status}
	}
	var err error
	if r.Metrics, err = r.Config.Select(r.Options.Args, r.Settings.Is1("globals")); err != nil {
		return err
	}
	if len(r.Metrics) == 0 && !r.p.NoMetrics {
		return &conf.Error{Text: "No metrics specified."}
	}
	r.Settings["derived"] = conf.Formulas(r.Settings["derived"], r.Metrics)
	return nil
}
