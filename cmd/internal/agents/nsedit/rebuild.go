package nsedit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/daemon/hangup"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pmns"
)

// RebuildCommand is Rebuild.
var RebuildCommand = &cli.Command{
	Name:     "ns rebuild",
	Link:     "Rebuild",
	Group:    cli.WriteAgent,
	Summary:  "merge the names of the installed agents into the name space",
	Synopsis: "[-nosuv] [-C dir]",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			optDir,
			{Short: 'd'},
			{Short: 'n', Help: "dry run: print what would be done"},
			{Short: 'o', Help: "take the names of agents that are not in pmcd.conf as well"},
			{Short: 's', Help: "silent: only set the exit status"},
			{Short: 'u', Help: "first remove the names of the files root_NAME from root, after an upgrade"},
			{Short: 'v', Help: "print the steps"},
			{Short: '?', Help: "show this message"},
		}
	},
	Doc: `Merges the file root with each file root_NAME next to it whose agent NAME is in pmcd.conf. If names
or PMIDs change, the old file is kept as root.prev, and the collector is signalled to read the new
one. stdpmid is also created again.`,
	Examples: []cli.Example{
		{Line: "pcp ns rebuild -v", Text: "rebuild the name space of this machine"},
		{Line: "pcp ns rebuild -n", Text: "only print what would be done"},
	},
	SeeAlso:     []string{"pmnsmerge(1)", "PMNS(5)"},
	DieOnSignal: true,
	Run:         runRebuild,
}

// A rebuild holds the options of Rebuild.
type rebuild struct {
	env                                *cli.Env
	dir                                string
	dry, all, silent, upgrade, verbose bool
	trace                              bytes.Buffer // printed at the end, with -v or after a failure
}

func runRebuild(ctx context.Context, env *cli.Env) int {
	r := &rebuild{env: env, dir: workDir(env, "Rebuild")}
	p := getopt.New(env.Command.OptionList(), env.Args)
	p.POSIX = true
	usage := false
	for opt, arg := range p.All() {
		if opt == nil {
			fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), p.Problem())
			usage = true
			continue
		}
		switch opt.Short {
		case 'C':
			r.dir = arg
		case 'd':
			fmt.Fprintf(env.Stdout, "%s: Warning: -d deprecated, duplicate PMNS names allowed by default\n", env.ProgName())
		case 'n':
			r.dry = true
			fmt.Fprintf(env.Stdout, "%s: Warning: dry run, no changes will be made\n", env.ProgName())
		case 'o':
			r.all = true
		case 's':
			r.silent = true
		case 'u':
			r.upgrade = true
		case 'v':
			r.verbose = true
		case '?':
			fmt.Fprint(env.Stdout, getopt.Usage(env.ProgName(), env.Command.Synopsis, env.Command.OptionList()))
			return 0
		}
	}
	if usage || len(p.Args()) > 0 {
		fmt.Fprint(env.Stderr, getopt.Usage(env.ProgName(), env.Command.Synopsis, env.Command.OptionList()))
		return 1
	}
	err := r.run(ctx)
	if err != nil || r.verbose {
		env.Stdout.Write(r.trace.Bytes())
	}
	if err != nil {
		if !r.silent {
			env.FlushOut()
			fmt.Fprintf(env.Stderr, "%s: %v\n", env.ProgName(), err)
		}
		return 1
	}
	return 0
}

// say prints a line of the report, at once in a dry run.
func (r *rebuild) say(format string, args ...any) {
	switch {
	case r.silent:
	case r.dry:
		fmt.Fprintf(r.env.Stdout, format+"\n", args...)
	default:
		fmt.Fprintf(&r.trace, format+"\n", args...)
	}
}

func (r *rebuild) run(ctx context.Context) error {
	here, err := filepath.Abs(r.dir)
	if err != nil {
		return err
	}
	r.dir = here
	root := filepath.Join(here, "root")
	if !r.dry {
		if st, err := os.Stat(here); err != nil || !st.IsDir() || !writableDir(here) {
			return fmt.Errorf("cannot write in directory %s, run it as \"root\"?", here)
		}
		lock := root + ".lock"
		if err := takeLock(ctx, lock, os.Getpid(), lockPause, lockTries); err != nil {
			if !errors.Is(err, errLocked) {
				return fmt.Errorf("%s", cli.FileErrText(err))
			}
			lockFailed(r.env, lock, err)
		}
		defer os.Remove(lock)
		unlock, err := alone(ctx, root)
		if err != nil {
			return err
		}
		defer unlock()
	}
	r.say("Rebuilding the Performance Metrics Name Space (PMNS) in %s ...", here)
	tree, had, err := r.base(root)
	if err != nil {
		return err
	}
	files, err := r.mergeList(here)
	if err != nil {
		return err
	}
	old := metricsOf(tree)
	if err := r.merge(tree, files); err != nil {
		//lint:ignore ST1005 the message of the C script, in whole lines
		return fmt.Errorf("pmnsmerge failed: %w\n         \"root\" has not been changed.", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.upgrade && had { // compare the file
		if was, err := load(r.env, root, true); err == nil {
			old = metricsOf(was)
		}
	}
	switch changed := !maps.EqualFunc(old, metricsOf(tree), slices.Equal[[]pcp.PMID]); {
	case !changed && had:
		r.say("%s: PMNS is unchanged.", r.env.ProgName())
	case r.dry:
		r.say("+ mv root.new root")
	default:
		if err := r.install(root, tree, had); err != nil {
			return err
		}
	}
	if r.dry {
		return nil
	}
	os.Remove(filepath.Join(here, "root.bin")) // which older versions had
	os.Remove(filepath.Join(here, ".NeedRebuild"))
	if err := makeStdPMID(here); err != nil {
		return fmt.Errorf("stdpmid: %w", err)
	}
	return nil
}

// base returns the current name space, less the names that -u removes, and whether
// there was one.
func (r *rebuild) base(root string) (tree *pmns.Tree, had bool, err error) {
	st, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && st.Mode().IsRegular() && st.Size() == 0:
		if r.dry {
			r.say("+ create empty root PMNS ...")
		}
		return pmns.New(), false, nil
	case err != nil:
		return nil, false, fmt.Errorf("%s", cli.FileErrText(err))
	}
	if tree, err = load(r.env, root, true); err != nil {
		return nil, false, err
	}
	if !r.upgrade {
		return tree, true, nil
	}
	r.say("%s: PCP upgrade processing for \"root\" PMNS changes ...", r.env.ProgName())
	gone := []string{"pagebuf", "origin"}
	if !r.configured("proc") {
		gone = append(gone, "proc", "cgroup")
	}
	names, err := rootFiles(filepath.Dir(root))
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		sub, err := load(r.env, filepath.Join(filepath.Dir(root), name), true)
		if err != nil {
			return nil, false, err
		}
		children, _ := sub.Children("")
		for _, c := range children {
			gone = append(gone, c.Name)
		}
	}
	for _, name := range gone {
		_ = tree.Remove(name)
	}
	return tree, true, nil
}

// rootFiles returns the files of the agents in dir, sorted.
func rootFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s", cli.FileErrText(err))
	}
	var names []string
	for _, e := range entries {
		if agent, ok := strings.CutPrefix(e.Name(), "root_"); ok && agent != "" && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// mergeList returns the files to merge: those of agents in pmcd.conf, unless -o asks
// for all.
func (r *rebuild) mergeList(dir string) ([]string, error) {
	names, err := rootFiles(dir)
	if err != nil {
		return nil, err
	}
	var paths []string
	list := []string{"root"}
	for _, name := range names {
		agent := strings.TrimPrefix(name, "root_")
		if !r.all && !r.configured(agent) {
			if r.verbose && !r.silent {
				fmt.Fprintf(r.env.Stdout, "Warning: skipping root_%s as %s PMDA is not in pmcd.conf\n", agent, agent)
			}
			continue
		}
		paths, list = append(paths, filepath.Join(dir, name)), append(list, name)
	}
	r.say("%s: merging the following PMNS files: ", r.env.ProgName())
	if r.dry {
		r.say("    %s", strings.Join(list, " "))
	} else {
		r.say("%s", strings.Join(list, " "))
	}
	return paths, nil
}

// maxConf is the maximum number of bytes read from pmcd.conf.
const maxConf = 1 << 20

// configured reports whether an agent has a line in pmcd.conf.
func (r *rebuild) configured(agent string) bool {
	text, err := readSome(r.env.Config().Get("PCP_PMCDCONF_PATH"), maxConf)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(agent)); ok && len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
			return true
		}
	}
	return false
}

// merge merges the files into tree, in the order of pmnsmerge.
func (r *rebuild) merge(tree *pmns.Tree, paths []string) error {
	sorted, err := sortFiles(paths)
	if err != nil {
		return err
	}
	for _, f := range sorted {
		if r.verbose && !r.silent {
			fmt.Fprintf(r.env.Stdout, "%s:\n", f.name)
		}
		sub, err := load(r.env, f.name, true)
		if err != nil {
			return err
		}
		err = tree.Overlay(sub, func(name string, kept, ignored pcp.PMID) {
			if !r.silent {
				fmt.Fprintf(r.env.Stderr, "%s: Warning: performance metric \"%s\" has multiple PMIDs.\n... using PMID %v and ignoring PMID %v\n",
					r.env.ProgName(), name, idText(kept), ignored)
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

// metricsOf returns all names with their PMIDs.
func metricsOf(t *pmns.Tree) map[string][]pcp.PMID {
	all := make(map[string][]pcp.PMID, t.Len())
	for name, id := range t.All() {
		all[name] = append(all[name], id)
	}
	return all
}

// install installs the new name space. There is a name space at all times.
func (r *rebuild) install(root string, next *pmns.Tree, had bool) error {
	if had {
		text, err := os.ReadFile(root)
		if err == nil {
			err = writeFile(root+".prev", text)
		}
		if err != nil {
			return fmt.Errorf("%s", cli.FileErrText(err))
		}
		if err := replace(root, next); err != nil {
			return err
		}
		r.say("%s: PMNS \"%s\" updated.", r.env.ProgName(), root)
		r.say("... previous version saved as \"%s.prev\"", root)
	} else {
		var text bytes.Buffer
		if _, err := next.WriteTo(&text); err != nil {
			return err
		}
		if err := writeFile(root, text.Bytes()); err != nil {
			return fmt.Errorf("%s", cli.FileErrText(err))
		}
		r.say("%s: new PMNS \"%s\" created.", r.env.ProgName(), root)
	}
	if !samePath(filepath.Dir(root), pmnsDir(r.env)) {
		return nil // no collector uses it
	}
	if err := hangup.Collector(filepath.Join(r.env.Config().Get("PCP_RUN_DIR"), "pmcd.pid")); err != nil {
		r.say("%s: no collector is signalled: %v", r.env.ProgName(), err)
	}
	return nil
}

// writableDir reports whether files can be created in dir.
func writableDir(dir string) bool {
	f, err := os.CreateTemp(dir, ".rebuild.*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}
