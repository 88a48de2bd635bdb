package agentadmin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/daemon/hangup"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/pmcd/conf"
)

// views are the suffixes of files for charts, which are installed in a directory of
// that name below $PCP_VAR_DIR/config.
var views = []string{"pmchart", "kmchart", "pmview"}

// install is pmdaInstall.
func (p *procedure) install(ctx context.Context) error {
	if p.v["domain"] == "" {
		return p.sayf("Botch: must call pmdaSetup before pmdaInstall")
	}
	kind, err := p.kind()
	if err != nil {
		return err
	}
	line, err := p.line(kind)
	if err != nil {
		return err
	}
	if _, ok := languageOf(kind); !ok {
		if err := p.make(ctx, "Installing files ...", "install"); err != nil {
			return err
		}
	}
	if err := p.help(ctx); err != nil {
		return err
	}
	if err := p.checkNames(ctx); err != nil {
		return err
	}
	if err := p.addNames(ctx); err != nil {
		return err
	}
	for _, v := range views {
		if err := p.addViews(v); err != nil {
			return err
		}
	}
	p.printf("Terminate PMDA if already installed ...\n")
	if _, err := p.cull(ctx); err != nil {
		return err
	}
	log := filepath.Join(p.cfg.Get("PCP_LOG_DIR"), "pmcd", p.v["iam"]+".log")
	if err := os.Rename(log, log+".prev"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.printf("Updating the PMCD control file, and notifying PMCD ...\n")
	c, err := readConf(p.cfg.Get("PCP_PMCDCONF_PATH"))
	if err != nil {
		return err
	}
	spec := specOf(line)
	if spec == nil {
		return fmt.Errorf("%s: a collector cannot read this line: %s", c.path, line)
	}
	before := c.text()
	c.insert(line)
	if err := c.check(before, *spec, true); err != nil {
		return err
	}
	if err := c.write(); err != nil {
		return err
	}
	running, err := p.tell(ctx)
	if err != nil {
		return err
	}
	if running && p.is("forced_restart") {
		p.printf("The collector has read its files again; to restart it, as forced_restart asks, is not supported.\n")
	}
	if !running {
		p.printf("The collector is not running: agent %s starts when it does.\n", p.v["iam"])
		return nil
	}
	return p.appeared(ctx)
}

// kind asks how to run the agent: "daemon", "dso", "perl" or "python".
func (p *procedure) kind() (string, error) {
	var list []string
	for _, k := range []string{"daemon", "python", "perl", "dso"} {
		if p.is(k + "_opt") {
			list = append(list, k)
		}
	}
	switch {
	case len(list) == 0:
		return "", p.sayf(`Botch: must set at least one of $dso_opt, $perl_opt, $python_opt or $daemon_opt to "true"`)
	case p.is("daemon_opt") && !p.is("pipe_opt") && !p.is("socket_opt"):
		return "", p.sayf(`Botch: must set at least one of $pipe_opt or $socket_opt to "true"`)
	}
	kind, all := list[0], strings.Join(list, " or ")
	if len(list) > 1 {
		var err error
		kind, err = p.choose(list, fmt.Sprintf("Must choose one of %s, please try again", all), "Install %s as a %s agent? [%s] ", p.v["iam"], all, kind)
		if err != nil {
			return "", err
		}
	}
	if l, ok := languageOf(kind); ok {
		if err := p.useScript(l); err != nil {
			return "", err
		}
	}
	p.set("pmda_type", kind)
	return kind, nil
}

// line returns the agent's line of pmcd.conf.
func (p *procedure) line(kind string) (string, error) {
	b := fmt.Appendf(nil, "%s\t%s\t", p.v["iam"], p.v["domain"])
	if kind == "dso" {
		if _, ok := agent.ForDSO(p.v["dso_entry"], p.v["dso_name"]); !ok {
			return "", p.sayf("Error: a shared object (%s) is not supported: %s is not built in", p.v["dso_name"], p.v["iam"])
		}
		b = append(conf.AppendField(append(b, "dso\t"...), p.v["dso_entry"]), '\t')
		return string(append(conf.AppendField(b, p.v["dso_name"]), '\n')), nil
	}
	if l, ok := languageOf(kind); ok {
		b = append(append(append(b, "pipe\t"...), p.v["ipc_prot"]...), '\t')
		b = append(conf.AppendField(b, p.interpreter(l)), ' ')
		return string(append(conf.AppendField(b, p.scriptOf(l)), '\n')), nil
	}
	how, option, err := p.channel()
	if err != nil {
		return "", err
	}
	b = append(append(b, how...), '\t')
	b = conf.AppendField(b, filepath.Join(p.v["pmda_dir"], p.v["pmda_name"]))
	if d := p.env.Getenv("PCP_DEBUG"); d != "" {
		b = append(append(b, " -D"...), d...)
	}
	b = append(b, " -d "+p.v["domain"]...)
	for _, s := range []string{option, p.v["args"]} {
		if s != "" {
			b = append(append(b, ' '), s...)
		}
	}
	return string(append(b, '\n')), nil
}

// channel asks how the collector reaches the daemon. It returns the corresponding
// fields of pmcd.conf and option of the agent.
func (p *procedure) channel() (how, option string, err error) {
	kind := "pipe"
	if p.is("socket_opt") {
		kind = "socket"
	}
	if p.is("pipe_opt") && p.is("socket_opt") {
		kind, err = p.choose([]string{"pipe", "socket"}, `Must choose one of "pipe" or "socket", please try again`,
			"PMCD should communicate with the %s daemon via a pipe or a socket? [pipe] ", p.v["iam"])
	}
	p.set("ipc_type", kind)
	if kind == "pipe" || err != nil {
		return "pipe\t" + p.v["ipc_prot"], "", err
	}
	var family string
	for family == "" {
		family, err = p.choose([]string{"Internet", "IPv6", "Unix"}, `Must choose one of "Unix" or "Internet", please try again`,
			"Use Internet, IPv6 or Unix domain sockets? [Internet] ")
		if err != nil {
			return "", "", err
		}
		if family == "Unix" {
			path, err := p.ask("Unix FIFO name? ")
			if err != nil || path != "" {
				path = string(conf.AppendField(nil, path))
				return "socket\tunix " + path, "-u " + path, err
			}
			p.printf("Must provide a name, please try again\n")
			family = ""
		}
	}
	port, err := p.ask("Internet port number or service name? [%s] ", p.v["socket_inet_def"])
	if err != nil && err != io.EOF {
		return "", "", err
	}
	if port == "" {
		port = p.v["socket_inet_def"]
	}
	if family == "IPv6" {
		return "socket\tipv6 " + port, "-6 " + port, nil
	}
	return "socket\tinet " + port, "-i " + port, nil
}

// make runs make if there is a makefile.
func (p *procedure) make(ctx context.Context, say, goal string) error {
	if !slices.ContainsFunc([]string{"GNUmakefile", "makefile", "Makefile"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(p.v["pmda_dir"], name))
		return err == nil
	}) {
		return nil
	}
	p.printf("%s\n", say)
	command := strings.Fields(p.cfg.Get("PCP_MAKE_PROG"))
	if len(command) == 0 {
		command = []string{"make"}
	}
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], goal)...)
	cmd.Dir, cmd.Stderr = p.v["pmda_dir"], p.env.ChildStderr()
	if goal == "install" {
		cmd.Stdout = p.env.Stdout
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("\"%s %s\": %w", strings.Join(command, " "), goal, err)
	}
	return nil
}

// help compiles the agent's help text, with its domain in place of the symbol.
func (p *procedure) help(ctx context.Context) error {
	path := p.path(p.v["help_source"])
	text, err := readLimited(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	symbol := regexp.MustCompile(`(?m)^@ ` + regexp.QuoteMeta(p.v["SYMDOM"]) + `\.`)
	text = symbol.ReplaceAll(text, []byte("@ "+p.v["domain"]+"."))
	_, files := p.sources()
	names, clean, err := p.names(files...)
	if err != nil {
		return err
	}
	defer clean()
	source := filepath.Join(filepath.Dir(names), "help")
	if err := os.WriteFile(source, text, 0o600); err != nil {
		return err
	}
	if status, out := call(ctx, p.env, "newhelp", "-n", names, "-o", path, source); status != 0 || out != "" {
		p.printf("%s", out) // as newhelp in a script, whose status is ignored
	}
	return nil
}

// path returns the path of a file of the agent.
func (p *procedure) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.v["pmda_dir"], name)
}

// names creates a file with the names of the sources as a complete name space, in its
// own directory, which clean removes.
func (p *procedure) names(sources ...string) (path string, clean func(), err error) {
	var text []byte
	for _, s := range sources {
		t, err := p.source(s)
		if err != nil {
			return "", nil, err
		}
		text = append(append(text, t...), '\n')
	}
	dir, err := os.MkdirTemp("", "pcp-agent.")
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "names")
	if !bytes.Contains(text, []byte("{")) { // names of the top, such as "simple 253:*:*"
		text = append(append([]byte("root {\n"), text...), "}\n"...)
	} else if !regexp.MustCompile(`(?m)^root\s*\{`).Match(text) {
		var tops []string
		for _, m := range regexp.MustCompile(`(?m)^\s*([A-Za-z][A-Za-z0-9_]*)[\w.]*\s*\{`).FindAllSubmatch(text, -1) {
			if top := string(m[1]); !slices.Contains(tops, top) {
				tops = append(tops, top)
			}
		}
		text = append([]byte("root {\n\t"+strings.Join(tops, "\n\t")+"\n}\n"), text...)
	}
	return path, func() { os.RemoveAll(dir) }, os.WriteFile(path, text, 0o600)
}

// source reads a file of names, with the domain in place of the symbol.
func (p *procedure) source(name string) ([]byte, error) {
	text, err := readLimited(p.path(name))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		b.Write(bytes.Replace(line, []byte(p.v["SYMDOM"]+":"), []byte(p.v["domain"]+":"), 1))
	}
	return b.Bytes(), nil
}

// sources returns the names to add to the name space and their files.
func (p *procedure) sources() (names, files []string) {
	names = strings.Fields(p.v["pmns_name"])
	for _, n := range names {
		file := p.v["pmns_source"]
		if len(names) > 1 && n != p.v["iam"] {
			file += "." + n
		}
		files = append(files, file)
	}
	return names, files
}

// checkNames rejects unreadable names before anything is changed.
func (p *procedure) checkNames(ctx context.Context) error {
	names, files := p.sources()
	if len(names) == 0 {
		return p.sayf("Botch: $pmns_name is empty")
	}
	for i, file := range files {
		if strings.Contains(names[i], "/") {
			return p.sayf("Error: %q cannot be the name of a metric", names[i])
		}
		text, err := p.source(file)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte("#include")) || bytes.HasPrefix(bytes.TrimSpace(text), []byte("root")) {
			continue // it is read when it is added
		}
		path, clean, err := p.names(file)
		if err != nil {
			return err
		}
		option := "-N"
		if p.is("pmns_dupok") {
			option = "-n"
		}
		status, out := call(ctx, p.env, "pminfo", option, path)
		clean()
		if status != 0 {
			p.printf("%sError: PMDA's PMNS is bad\n", out)
			if strings.Contains(out, "Duplicate metric") {
				p.printf("Hint: set pmns_dupok=true in the PMDA's Install script if duplicate names are\n      expected in the PMNS\n")
			}
			return errSaid
		}
	}
	return nil
}

// lock locks the name space.
func (p *procedure) lock(ctx context.Context) (unlock func()) {
	if status, out := call(ctx, p.env, "lockpmns", p.v["namespace"]); status != 0 {
		p.printf("%s", out)
	}
	return func() { call(context.WithoutCancel(ctx), p.env, "unlockpmns", p.v["namespace"]) }
}

// addNames replaces the agent's names in the name space.
func (p *procedure) addNames(ctx context.Context) error {
	path := p.v["namespace"]
	defer p.lock(ctx)()
	p.printf("Updating the Performance Metrics Name Space (PMNS) ...\n")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if status, out := call(ctx, p.env, "Rebuild", "-us"); status != 0 {
			return p.sayf("%s%s: cannot Rebuild the PMNS for \"%s\"", out, p.v["prog"], path)
		}
	}
	names, files := p.sources()
	for i, n := range names {
		if _, err := p.delete(ctx, n); err != nil {
			return err
		}
		text, err := p.source(files[i])
		if err != nil {
			return err
		}
		file := filepath.Join(filepath.Dir(path), n)
		if err := writeWhole(file, text, false); err != nil {
			return err
		}
		if status, out := call(ctx, p.env, "pmnsadd", "-n", path, file); status != 0 {
			return p.sayf("%s%s: failed to add the PMNS entries for \"%s\" ...", out, p.v["prog"], n)
		}
	}
	return nil
}

// delete removes a name from the name space, if it exists.
func (p *procedure) delete(ctx context.Context, name string) (was bool, err error) {
	status, out := call(ctx, p.env, "pmnsdel", "-n", p.v["namespace"], name)
	switch {
	case status == 0:
		return true, nil
	case strings.Contains(out, `Error: metricpath "`+name+`" not defined`):
		return false, nil
	}
	return false, p.sayf("%s: failed to delete \"%s\" from the PMNS\n%s", p.v["prog"], name, strings.TrimRight(out, "\n"))
}

// viewFiles returns the agent's files with views of a kind, and their destinations.
func (p *procedure) viewFiles(kind string) (dir string, list []placed, err error) {
	dir = filepath.Join(p.cfg.Get("PCP_VAR_DIR"), "config", kind)
	entries, err := os.ReadDir(p.v["pmda_dir"])
	for _, e := range entries {
		if base, ok := strings.CutSuffix(e.Name(), "."+kind); ok && base != "" && !e.IsDir() {
			list = append(list, placed{from: p.path(e.Name()), to: filepath.Join(dir, base)})
		}
	}
	return dir, list, err
}

func (p *procedure) addViews(kind string) error {
	dir, list, err := p.viewFiles(kind)
	if err != nil || len(list) == 0 {
		return err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		p.printf("Skip installing %s view(s) ... no \"%s\" directory\n", kind, dir)
		return nil
	}
	p.printf("Installing %s view(s) ...\n", kind)
	for _, f := range list {
		if err := f.install(); err != nil {
			return err
		}
	}
	return nil
}

// cull removes agents with the name or the domain from pmcd.conf, and makes the
// collector end them. It returns their number.
func (p *procedure) cull(ctx context.Context) (n int, err error) {
	c, err := readConf(p.cfg.Get("PCP_PMCDCONF_PATH"))
	if err != nil {
		return n, err
	}
	iam, domain := p.v["iam"], p.v["domain"]
	for i := 0; i < len(c.lines); {
		s := c.lines[i].spec
		if s == nil || c.lines[i].disabled || s.Name != iam && strconv.Itoa(s.Domain) != domain {
			i++
			continue
		}
		if s.Name != iam || strconv.Itoa(s.Domain) != domain {
			p.env.FlushOut()
			fmt.Fprintf(p.env.Stderr, "Warning: %s: agent %s with domain %d gives way to agent %s with domain %s\n", c.path, s.Name, s.Domain, iam, domain)
		}
		before := c.text()
		c.lines = slices.Delete(c.lines, i, i+1)
		if i < c.access {
			c.access--
		}
		if err := c.check(before, *s, false); err != nil {
			return n, err
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	if err := c.write(); err != nil {
		return n, err
	}
	_, err = p.tell(ctx)
	return n, err
}

// tell makes the collector reread its files, and waits until it has begun.
func (p *procedure) tell(ctx context.Context) (running bool, err error) {
	before, err := p.hangups(ctx)
	if err != nil {
		return false, nil
	}
	if err := hangup.Collector(filepath.Join(p.cfg.Get("PCP_RUN_DIR"), "pmcd.pid")); err != nil {
		return true, fmt.Errorf("the collector was not signalled: %w", err)
	}
	for try := 0; try < tellTries; try++ {
		if n, err := p.hangups(ctx); err == nil && n > before {
			return true, p.pause(ctx, "signal_delay")
		}
		if !pacing.Sleep(ctx, tellPause) {
			return true, context.Cause(ctx)
		}
	}
	return true, errors.New("the collector does not confirm the signal")
}

// Time limit for the collector to count a signal.
const (
	tellTries = 100
	tellPause = 50 * time.Millisecond
)

// pause sleeps for the number of seconds in a variable of the script.
func (p *procedure) pause(ctx context.Context, name string) error {
	seconds, err := strconv.ParseFloat(p.v[name], 64)
	if err != nil || !(seconds >= 0 && seconds <= 3600) {
		return fmt.Errorf("%s must be a number of seconds, not %q", name, p.v[name])
	}
	if !pacing.Sleep(ctx, time.Duration(seconds*float64(time.Second))) {
		return context.Cause(ctx)
	}
	return nil
}

// hangups returns the number of signals that the collector has received.
func (p *procedure) hangups(ctx context.Context) (uint32, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	c, err := p.o.Dial(ctx, p.o.Host())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ids, err := c.LookupName(ctx, "pmcd.sighups")
	if err != nil {
		return 0, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return 0, err
	}
	if len(res.Sets[0].Values) != 1 {
		return 0, pcp.ErrValue
	}
	return res.Sets[0].Values[0].As(pcp.TypeU32).Uint32(), nil
}

// option returns the options that make a tool use the name space of the script.
func (p *procedure) option() []string {
	if p.v["namespace"] == filepath.Join(p.cfg.Get("PCP_VAR_DIR"), "pmns", "root") {
		return nil
	}
	return []string{"-n", p.v["namespace"]}
}

// appeared counts the agent's metrics and values.
func (p *procedure) appeared(ctx context.Context) error {
	if !p.is("do_check") {
		return nil
	}
	if s, err := strconv.ParseFloat(p.v["check_delay"], 64); err == nil && int(s) > 5 {
		p.printf("Wait %s seconds for the %s agent to initialize ...\n", p.v["check_delay"], p.v["iam"])
	}
	if err := p.pause(ctx, "check_delay"); err != nil {
		return err
	}
	names, _ := p.sources()
	for _, n := range names {
		p.printf("Check %s metrics have appeared ... ", n)
		_, out := call(ctx, p.env, "pmprobe", append(append([]string{"-i"}, p.option()...), n)...)
		p.printf("%s\n", summary(out, n))
		if p.is("verbose") {
			p.printf("pminfo output ...\n%s", out)
		}
	}
	return nil
}

// summary counts the metrics and values in the output of pmprobe -i.
func summary(out, name string) string {
	warnings, metrics, values := 0, 0, 0
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[0], name) {
			warnings++
			continue
		}
		metrics++
		if n, err := strconv.Atoi(words[1]); err != nil || n < 0 {
			warnings++
		} else {
			values += n
		}
	}
	text := fmt.Sprintf("%d metrics and %d values", metrics, values)
	if warnings > 0 {
		text = fmt.Sprintf("%d warnings, %s", warnings, text)
	}
	return text
}

// remove is pmdaRemove.
func (p *procedure) remove(ctx context.Context) error {
	if p.v["domain"] == "" {
		return p.sayf("Botch: must call pmdaSetup before pmdaRemove")
	}
	gone, err := p.removeNames(ctx)
	if err != nil {
		return err
	}
	p.printf("Updating the PMCD control file, and notifying PMCD ...\n")
	n, err := p.cull(ctx)
	if err == nil && n == 0 && gone { // else it has been notified
		_, err = p.tell(ctx)
	}
	if err != nil {
		return err
	}
	if err := p.make(ctx, "Removing files ...", "clobber"); err != nil {
		p.printf("%s: %v\n", p.v["prog"], err) // the agent has been removed anyway
	}
	for _, v := range views {
		_, list, err := p.viewFiles(v)
		if err != nil {
			return err
		}
		for _, f := range list {
			if kept, err := f.remove(); err != nil {
				return err
			} else if kept {
				p.printf("%s has been changed, and is kept\n", f.to)
			}
		}
	}
	if !p.is("do_check") {
		return nil
	}
	names, _ := p.sources()
	for _, n := range names {
		p.printf("Check %s metrics have gone away ... ", n)
		if status, out := call(ctx, p.env, "pminfo", "-n", p.v["namespace"], n); status == 0 {
			p.printf("Arrgh, something has gone wrong!\n%s", out)
			return errSaid
		}
		p.printf("OK\n")
	}
	return nil
}

// removeNames removes the agent's names from the name space, and reports whether there
// were any.
func (p *procedure) removeNames(ctx context.Context) (gone bool, err error) {
	defer p.lock(ctx)()
	p.printf("Culling the Performance Metrics Name Space ...\n")
	names, _ := p.sources()
	for _, n := range names {
		p.printf("%s ... ", n)
		was, err := p.delete(ctx, n)
		switch {
		case err != nil:
			return gone, err
		case !was:
			p.printf("not found in Name Space, this is OK\n")
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(p.v["namespace"]), n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gone, err
		}
		gone = true
		p.printf("done\n")
	}
	return gone, nil
}
