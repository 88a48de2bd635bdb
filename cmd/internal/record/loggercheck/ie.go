package loggercheck

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pmiestats"
	"github.com/go-pcp/pcp/internal/safefile"
)

// IECommand is pmie_check.
var IECommand = &cli.Command{
	Name:     "ie_check",
	Link:     "pmie_check",
	Group:    cli.Alert,
	Summary:  "start configured pmie processes that are not running",
	Synopsis: "[options]",
	Doc: `Reads the control files of pmie, the file pmie/control in PCP's configuration directory and those in
control.d next to it, and starts a pmie for each line without a running one. It creates the
directory of the log, lets pmieconf create missing rules, and waits until pmie has started. With -s
it stops the processes instead.

It logs to pmie/pmie_check.log in the directory for logs, and prints to standard output only with
-N. A file next to the log of a pmie, with the suffix .lock, prevents concurrent calls. It is
ignored if its process has ended or it is older than 30 minutes.

It only needs to write to these directories: with PCP_CONF, or the variables PCP_LOG_DIR,
PCP_TMP_DIR and PCP_PMIECONTROL_PATH, any user can manage their own processes. Commands in control
files are not run.`,
	Examples: []cli.Example{
		{Line: "pcp ie_check -N", Text: "only print what would be done"},
		{Line: "pcp ie_check -c ./control -l ./check.log", Text: "start the processes in your own control file"},
		{Line: "pcp ie_check -s -P", Text: "stop the primary pmie"},
	},
	SeeAlso: []string{"pmiectl(1)", "pmie(1)", "pmieconf(1)"},
	Options: func() []cli.Option { return slices.Concat(common(), []cli.Option{cli.OptHelp}) },
	Run:     func(ctx context.Context, env *cli.Env) int { return run(ctx, env, engine) },
}

// serveEngine looks for the pmie of a line, and starts or stops it.
func (t *task) serveEngine(ctx context.Context, start bool) {
	c := t.c
	t.log = unlinked(t.Dir)
	c.very("Check pmie -h %s -l %s ...", t.Host, t.log)
	if !t.enter(filepath.Dir(t.log)) {
		return
	}
	if !filepath.IsAbs(t.log) {
		t.log = filepath.Join(t.dir, filepath.Base(t.log))
	}
	if st, err := os.Stat(t.log); err == nil && st.Mode().IsRegular() && !c.dry {
		c.giveAway(t.log)
	}
	unlock, ok := t.lock(ctx, t.log+".lock")
	if !ok {
		return
	}
	defer unlock()
	pid := t.findEngine()
	if pid == 0 {
		c.very("No current pmie process exists for:")
	} else {
		c.very("Found pmie process %d monitoring:", pid)
	}
	c.very("    host = %s\n    log file = %s", t.Host, t.log)
	switch {
	case pid == 0 && start && !c.stop:
		t.startEngine(ctx)
	case pid != 0 && c.stop:
		t.end(pid)
	}
}

// unlinked returns a path with the links in its directory resolved, if the directory exists.
func unlinked(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil && path != "" {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// findEngine returns the process of the pmie, 0 if it does not run.
func (t *task) findEngine() int {
	c := t.c
	finder := c.env.Finder("pmie")
	entries, _ := os.ReadDir(c.maps)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 0 {
			continue
		}
		path := filepath.Join(c.maps, e.Name())
		p, _ := pmiestats.Read(path)
		log := unlinked(p.Log)
		if c.verbose > 1 {
			c.printf("... try %s: ", path)
		}
		switch {
		case log != t.log:
			c.very("different logfile, skip\n  %s differs to %s", log, t.log)
		case finder.Is(pid, "pmie"):
			c.very("pmie process %d identified, OK", pid)
			return pid
		default:
			c.very("pmie process %d not running, skip", pid)
		}
	}
	return 0
}

// startEngine starts the pmie of the line.
func (t *task) startEngine(ctx context.Context) {
	c := t.c
	t.configureEngine(ctx)
	args := []string{"-h", t.Host, "-l", t.log}
	if t.Primary {
		args = []string{"-F", "-P", "-l", t.log}
	}
	text := strings.Join(args, " ") + " " + t.Args
	args = append(append([]string{"-b"}, args...), t.args...)
	if c.verbose > 0 {
		t.restarting("")
	}
	socks := t.pmsocks(ctx)
	if t.Socks && socks == "" {
		c.printf("%s: Warning: no pmsocks available, would run without\n", c.prog)
	}
	if st, err := os.Stat(t.log); err == nil && st.Mode().IsRegular() {
		if c.dry {
			c.printf("+ mv -f %s %[1]s.prior\n", t.log)
		} else if err := os.Rename(t.log, t.log+".prior"); err != nil {
			c.printf("%s\n", cli.FileErrText(err))
		}
	}
	shown := filepath.Join(c.cfg.Get("PCP_BIN_DIR"), "pmie") + " -b " + text
	if socks != "" {
		shown = "pmsocks " + shown
	}
	if c.dry {
		if c.verbose > 0 {
			c.printf("\n")
		}
		c.printf("+ %s\n", shown)
		return
	}
	c.very("\n+ %s...", shown)
	p := &process{t: t, log: t.log, done: make(chan struct{})}
	p.start(ctx, socks, args, nil)
}

// engineAnswers reports whether the pmie has created its log and its file of counters.
func (p *process) engineAnswers(context.Context) bool {
	return exists(p.log) && exists(filepath.Join(p.t.c.maps, strconv.Itoa(p.pid)))
}

// configureEngine makes the rules of the line with pmieconf, or updates rules that pmieconf made.
func (t *task) configureEngine(ctx context.Context) {
	c := t.c
	name := t.option('c')
	if name == "" {
		return
	}
	if st, err := os.Stat(t.path(name)); (err != nil || !st.Mode().IsRegular()) && filepath.Base(name) == name {
		name = filepath.Join(c.cfg.Get("PCP_VAR_DIR"), "config", "pmie", name)
	}
	path := t.path(name)
	st, err := os.Stat(path)
	switch {
	case err != nil && c.dry:
		c.printf("+ %s -f %s -cF\n", filepath.Join(c.cfg.Get("PCP_BIN_DIR"), "pmieconf"), name)
	case err != nil:
		diag, err := t.pmieconf(ctx, path)
		if err != nil {
			t.warn("pmieconf failed to generate \"%s\"", name)
			c.printf("%s", diag)
			c.show(path)
			return
		}
		c.giveAway(path)
	case st.Mode().IsRegular():
		if made, ours := generated(path, "// pmieconf-pmie ", "// Auto-generated by pmieconf"); made && ours {
			if err := t.renew(ctx, path, name); err != nil {
				c.printf("%s: Warning: %s\n", c.prog, cli.FileErrText(err))
			}
		}
	}
}

// pmieconf makes or updates a file of rules; for the primary pmie it includes the rules that only
// apply to it.
func (t *task) pmieconf(ctx context.Context, path string) (diag string, err error) {
	diag, err = t.configurator(ctx, nil, "-f", path, "-cF")
	if err == nil && t.Primary {
		var text string
		text, _ = t.configurator(ctx, nil, "-f", path, "-c", "modify", "primary", "enabled", "yes")
		t.c.printf("%s", text)
	}
	return diag, err
}

// maxRules is the maximum size of a file of rules that is updated.
const maxRules = 16 << 20

func readRules(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err == nil && len(b) > maxRules {
		err = errors.New(path + ": too large")
	}
	return b, err
}

// renew updates rules that pmieconf has made.
func (t *task) renew(ctx context.Context, path, name string) error {
	c := t.c
	old, err := readRules(path)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", c.prog+"-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tmp := filepath.Join(dir, "rules")
	if err := os.WriteFile(tmp, old, 0o600); err != nil {
		return err
	}
	if diag, err := t.pmieconf(ctx, tmp); err != nil {
		t.warn("pmieconf failed to reconfigure \"%s\"", name)
		c.printf("%s", strings.ReplaceAll(diag, tmp, name))
		c.show(tmp)
		return nil
	}
	now, err := readRules(tmp)
	switch {
	case err != nil:
		return err
	case slices.Equal(rulesOf(old), rulesOf(now)):
	case !writable(path):
		t.warn("no write access to pmieconf file \"%s\", skip reconfiguration", name)
		c.list(path, name)
	default:
		c.loud("Reconfigured: \"%s\" (pmieconf)", name)
		if c.dry {
			c.printf("+ cp %s.tmp %[1]s\n", name)
			return nil
		}
		return safefile.ReplaceBytes(path, now, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1, Keep: true, Lenient: true})
	}
	return nil
}

// rulesOf returns the lines of rules except those with the time when pmieconf made them.
func rulesOf(b []byte) []string {
	var list []string
	for line := range bytes.Lines(b) {
		if !bytes.Contains(line, []byte("generated by pmieconf")) {
			list = append(list, string(line))
		}
	}
	return list
}
