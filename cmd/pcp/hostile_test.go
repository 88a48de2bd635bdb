//go:build unix

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/mmv"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// hostile is the end of each text of the hostile sources: it would set the title, fill the
// clipboard, move the cursor, switch character sets, reverse text. It has no blank, as blanks
// separate the names of instances.
const hostile = "\x1b]0;PWNED\a\x1b]52;c;UFdORUQ=\a\x1b[77;77H\u009b78;78H\x9b79;79H\x0e\b\r\x7f\u202e\xff~"

// effects must not reach a terminal. No command sends them itself.
var effects = []string{"\x1b]0;PWNED", "\x1b]52", "\x1b[77;77H", "\u009b", "\x0e", "\x7f", "\u202e", "\xff"}

// seen is the visible form of hostile on a terminal.
const seen = "?]0;PWNED?"

// sequence is a sequence of a terminal; style only sets colours and the like.
var (
	sequence = regexp.MustCompile("\x1b(\\[[0-9;?<>=]*[ -/]*[@-~]|\\][^\a\x1b]*(\a|\x1b\\\\)|[PX^_][^\x1b]*\x1b\\\\|[ -/]*[0-~])?")
	style    = regexp.MustCompile("^\x1b\\[[0-9;]*m$")
)

// drawing are the commands that send more than colours: they draw on the screen, or have lines
// edited.
var drawing = map[string]bool{"top": true, "atop": true, "dstat": true, "dbpmda": true, "lc": true, "ie": true, "ieconf": true, "replay": true, "time": true}

// TestHostileTerminal starts every command on a terminal, with a collector, archives, files and arguments whose texts are sequences of
// terminals. The output has only the sequences that the command itself sends. A new
// command is tested without a line here, unless it draws.
func TestHostileTerminal(t *testing.T) {
	h := newHostile(t)
	shown := make(map[string]bool)
	runs := 0
	var mu sync.Mutex
	slots := make(chan struct{}, 8)
	var all sync.WaitGroup
	done := make(map[string]bool)
	each(commands(), func(c *cli.Command) {
		if done[c.Name] {
			return
		}
		done[c.Name] = true
		for _, args := range h.lines(c) {
			all.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				began := time.Now()
				out := h.run(t, patience, strings.Fields(c.Name), args)
				for _, e := range effects {
					if i := strings.Index(out, e); i >= 0 {
						t.Errorf("pcp %s %q: the terminal gets %q in %q", c.Name, args, e, out[max(0, i-60):min(len(out), i+60)])
						break
					}
				}
				for _, s := range sequence.FindAllString(out, -1) {
					if !drawing[c.Name] && !style.MatchString(s) {
						t.Errorf("pcp %s %q: the terminal gets %q", c.Name, args, s)
						break
					}
				}
				if show := os.Getenv("PCP_TEST_SHOW"); show != "" && (show == "all" || c.Name == show) {
					t.Logf("pcp %s %q: %v\n%q", c.Name, args, time.Since(began), out)
				}
				if !drawing[c.Name] && strings.Contains(out, "\b") {
					t.Errorf("pcp %s %q: the terminal gets a backspace", c.Name, args)
				}
				mu.Lock()
				defer mu.Unlock()
				runs++
				if !strings.Contains(strings.Join(args, " "), hostile) && shows(c, out) {
					shown[c.Name] = true
				}
			})
		}
	})
	all.Wait()
	t.Logf("%d runs; something hostile of a source is shown by %q", runs, slices.Sorted(maps.Keys(shown)))
	each(commands(), func(c *cli.Command) {
		if !slices.Contains(mustShow, c.Name) || shown[c.Name] {
			return
		}
		// The machine may be busy: try again, without a short limit.
		var last string
		for _, args := range h.lines(c) {
			if strings.Contains(strings.Join(args, " "), hostile) {
				continue
			}
			if last = h.run(t, time.Minute, strings.Fields(c.Name), args); shows(c, last) {
				return
			}
		}
		t.Errorf("pcp %s shows nothing of the hostile sources, so that it is not tested; at last it printed\n%q", c.Name, last)
	})
}

// mustShow are commands that show texts of the sources, which proves that the test can fail.
var mustShow = []string{
	"info", "val", "rep", "dumptext", "probe", "ps", "pidstat", "top", "atop", "dstat", "summary", "dumplog", "logsummary", "loglabel",
	"iostat", "mmvdump", "search", "archive ls", "agent list", "ie", "event",
}

// shows reports whether the output to the terminal has a text of the sources.
func shows(c *cli.Command, out string) bool {
	return strings.Contains(out, seen) || c.Name == "top" && strings.Contains(out, "]0;PWNED")
}

// A hostileWorld is the environment of the commands.
type hostileWorld struct {
	dir      string // with all files
	socket   string
	archives []string
	metrics  map[string][]string // of an archive; "": of the collector
	texts    []string            // other files
	vars     []string
}

func newHostile(t *testing.T) *hostileWorld {
	h := &hostileWorld{dir: t.TempDir(), archives: []string{"machine", "procs", "site", "events"}, texts: []string{"mmv", "text"}, metrics: make(map[string][]string)}
	h.metrics[""] = []string{"sample.string.hullo", "sample.colour", "pmcd.hostname", "proc.psinfo.cmd"}
	raw := t.TempDir()
	for _, name := range h.archives {
		twin.Fixture(t, name, filepath.Join(raw, name))
		metrics, err := twist(filepath.Join(raw, name), filepath.Join(h.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		h.metrics[name] = metrics
	}
	if err := hostileMMV(filepath.Join(h.dir, "mmv")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "text"), []byte(hostile+"\n[set"+hostile+"]\nx"+hostile+" = y"+hostile+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "rules"), []byte("delta = 0.1 sec;\nsome_inst sample.colour > 0 -> print \"%h %i %v\";\nsome_inst disk.dev.read > -1 -> print \"%h %i\";\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	h.socket = hostileCollector(t)
	h.vars = append(covered(), "PCP_CONF="+h.conf(t), "HOME="+h.dir, "PATH="+h.dir+"/none", "TMPDIR="+h.dir, "TERM=xterm", "SHELL=/bin/bash", "LANG=C.UTF-8", "TZ=UTC",
		"PMCD_SOCKET="+h.socket, "PMCD_PORT=1", "PCP_CONSOLE=none", "PCP_DERIVED_CONFIG=", "XDG_STATE_HOME="+h.dir, "XDG_RUNTIME_DIR="+h.dir,
		"PCP_TXMON_KEY=805306369")
	// A process with a hostile name.
	sleep := &exec.Cmd{Path: "/bin/sleep", Args: []string{"sleep" + hostile, "600"}}
	if err := sleep.Start(); err == nil {
		t.Cleanup(func() {
			sleep.Process.Kill()
			sleep.Wait()
		})
	}
	return h
}

// conf writes a pcp.conf that is independent of this machine.
func (h *hostileWorld) conf(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	c := config.New(func(name string) string {
		if name == "PCP_CONF" {
			return os.DevNull
		}
		return ""
	})
	for _, name := range []string{
		"PCP_ETC_DIR", "PCP_SYSCONF_DIR", "PCP_SYSCONFIG_DIR", "PCP_BIN_DIR", "PCP_BINADM_DIR", "PCP_LIB_DIR", "PCP_SHARE_DIR", "PCP_VAR_DIR", "PCP_PMDAS_DIR",
		"PCP_PMDASADM_DIR", "PCP_RUN_DIR", "PCP_LOG_DIR", "PCP_ARCHIVE_DIR", "PCP_TMP_DIR", "PCP_TMPFILE_DIR", "PCP_RC_DIR", "PCP_PMCDCONF_PATH", "PCP_PMCDOPTIONS_PATH",
		"PCP_PMLOGGERCONTROL_PATH", "PCP_PMIECONTROL_PATH", "PCP_SYSTEMDUNIT_DIR", "PCP_SASLCONF_DIR", "PCP_TLSCONF_PATH",
	} {
		b.WriteString(name + "=" + h.dir + "/root" + cmp.Or(c.Get(name), "/"+name) + "\n")
	}
	path := filepath.Join(h.dir, "pcp.conf")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines returns the arguments for a command, according to its options and its synopsis.
func (h *hostileWorld) lines(c *cli.Command) [][]string {
	has := func(long string) bool {
		return slices.ContainsFunc(c.OptionList(), func(o cli.Option) bool { return o.Long == long })
	}
	var few []string
	if has("samples") {
		few = append(few, "--samples=2")
	}
	live := few
	if has("interval") {
		live = append(few[:len(few):len(few)], "--interval=0.1")
	}
	metrics := func(of string) []string {
		switch list := h.metrics[of]; {
		case !strings.Contains(c.Synopsis, "metric"), len(list) == 0:
			return nil
		case !strings.Contains(c.Synopsis, "..."):
			return list[:1]
		default:
			return list
		}
	}
	lines := [][]string{
		{},
		{"x" + hostile},
		{"-Z" + hostile, "--" + hostile + "=" + hostile, hostile},
	}
	switch {
	case has("host") || strings.Contains(c.Synopsis, "[host"):
		lines = append(lines, slices.Concat(live, metrics("")), slices.Concat([]string{"--host=" + "no" + hostile}, few))
	case has("samples"), has("interval"):
		lines = append(lines, live)
	}
	lines = append(lines, special[c.Name]...)
	archives := h.archives
	if !longtest.Enabled() {
		archives = archives[:2] // enough for almost all commands that take archives
	}
	for _, a := range archives {
		if has("archive") {
			lines = append(lines, slices.Concat([]string{"--archive=" + a}, few, metrics(a)))
		} else if c.Through() { // it takes its source from pcp
			lines = append(lines, slices.Concat([]string{"PCP_ARCHIVE=" + a}, few))
		} else if !has("host") && strings.Contains(c.Synopsis, "archive") {
			lines = append(lines, []string{a}, []string{a, "out" + a}, []string{"-a", a})
		}
	}
	if len(lines) == 3 && c.Synopsis != "" {
		for _, f := range append(h.texts, h.archives[0]) {
			lines = append(lines, []string{f})
		}
	}
	return lines
}

// special are lines in addition to those that all commands get.
var special = map[string][][]string{
	"info":        {{"-dfmtTlIx"}, {"-dfmtTlxa", "events"}},
	"probe":       {{"-I", "sample.colour"}},
	"loglabel":    {{"-lL", "machine"}},
	"search":      {{"uptime"}},
	"ie":          {{"-T0.5", "-c", "rules"}, {"-a", "machine", "-c", "rules"}},
	"ps":          {{"-e", "-o", "pid,args,cmd"}},
	"archive ls":  {{"-l", "."}},
	"pidstat":     {{"-l", "-s", "2", "-t", "0.1"}},
	"top":         {{"--once"}, {"sample.colour"}},
	"atop":        {{"-c", "0.1", "3"}},
	"dstat":       {{"--dbg", "0.1", "2"}, {"--list"}},
	"alerts test": {{"-a", "machine", "rules"}},
	"agent list":  {{"-v"}},
	"summary":     {{"-P"}},
	"dumplog":     {{"-adilmst", "machine"}},
	"logsummary":  {{"-ablmMsSxzF", "machine"}},
	"rep":         {{"-w", "60", "-s", "1", "sample.colour"}}, // other commands rename the archives meanwhile
	"replay":      {{"info"}, {"ps"}},
	"help":        {{"info"}},
}

// patience is the time that a command gets that does not end by itself.
const patience = time.Second

// run runs a command on a terminal, and returns its output. The first of args may be a setting of
// the environment. A command that has not ended after a time is stopped; with a longer time than
// usual, also once it has shown something hostile.
func (h *hostileWorld) run(t *testing.T, wait time.Duration, name, args []string) string {
	t.Helper()
	vars := h.vars
	if len(args) > 0 && strings.HasPrefix(args[0], "PCP_") {
		vars, args = append(vars[:len(vars):len(vars)], args[0]), args[1:]
	}
	cmd := exec.Command(program(t), slices.Concat(name, args)...)
	cmd.Dir, cmd.Env = h.dir, vars
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	defer f.Close()
	stop := func() {
		io.WriteString(f, "\x04") // the end of the input, for commands that read it
		cmd.Process.Signal(syscall.SIGTERM)
	}
	end := time.AfterFunc(wait, stop)
	defer end.Stop()
	kill := time.AfterFunc(wait+20*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	var out []byte
	b := make([]byte, 4096)
	for err == nil {
		var n int
		n, err = f.Read(b)
		if out = append(out, b[:n]...); wait > patience && bytes.Contains(out, []byte("]0;PWNED")) {
			stop()
		}
	}
	if perr := (*fs.PathError)(nil); err != io.EOF && !(errors.As(err, &perr) && perr.Err == syscall.EIO) { // which is the end of it
		t.Errorf("pcp %s %q: %v", name, args, err)
	}
	cmd.Wait()
	return string(out)
}

// hostileCollector starts a collector of this machine that adds the hostile text to every text.
func hostileCollector(t *testing.T) (socket string) {
	t.Helper()
	var specs []pmcd.AgentSpec
	for _, name := range []string{"pmcd", "linux", "proc", "sample", "simple"} {
		b, ok := agent.Named(name)
		if !ok {
			t.Fatalf("no agent %s", name)
		}
		specs = append(specs, pmcd.AgentSpec{Name: name, Domain: b.Domain, Open: func(s *pmcd.Server) (pmda.Agent, error) {
			a, err := b.Open(builtin.Env{Host: s.Host(), Version: "test", Options: []string{"no-access-checks"}})
			if err != nil {
				return nil, err
			}
			return &twisted{a}, nil
		}})
	}
	specs = append(specs, pmcd.AgentSpec{Name: "odd", Domain: oddDomain, Agent: &oddAgent{
		names: []string{"x" + hostile}, insts: []pcp.Instance{{Inst: 0, Name: hostile}},
	}})
	dir, err := os.MkdirTemp("", "pcp") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server, err := pmcd.New(pmcd.Config{Agents: specs, Listeners: []net.Listener{l}, HostName: "host" + hostile})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("collector: %v", err)
		}
		os.RemoveAll(dir)
	})
	return socket
}

// A twisted agent adds the hostile text to every text of another one.
type twisted struct{ pmda.Agent }

func (a *twisted) Instances(ctx context.Context, indom pcp.InDom) ([]pcp.Instance, error) {
	list, err := a.Agent.Instances(ctx, indom)
	return twistInstances(list), err
}

func twistInstances(list []pcp.Instance) []pcp.Instance {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name += hostile
	}
	return list
}

func (a *twisted) Fetch(ctx context.Context, req *pmda.FetchRequest) error {
	n := len(req.Result.Sets)
	err := a.Agent.Fetch(ctx, req)
	twistValues(req.Result.Sets[n:])
	return err
}

func twistValues(sets []pcp.ValueSet) {
	for _, set := range sets {
		for i, v := range set.Values {
			if v.Type() == pcp.TypeString {
				set.Values[i] = pcp.BytesValue(pcp.TypeString, append(bytes.Clone(v.Bytes()), hostile...)).WithInst(v.Inst)
			}
		}
	}
}

func (a *twisted) Text(ctx context.Context, ident uint32, kind pcp.TextKind) (string, error) {
	if t, ok := a.Agent.(pmda.Texter); ok {
		if s, err := t.Text(ctx, ident, kind); err == nil {
			return s + hostile, nil
		}
	}
	return hostile, nil
}

func (a *twisted) Labels(context.Context, uint32, pcp.LabelFlags) ([]pcp.LabelSet, error) {
	set, err := hostileLabels(0)
	return []pcp.LabelSet{set}, err
}

func hostileLabels(flags pcp.LabelFlags) (pcp.LabelSet, error) {
	return pcp.ParseLabels(`{"odd":"a\u001b]0;PWNED\u0007`+"\u009b78;78H\u202e"+`"}`, flags)
}

func (a *twisted) NameSpace() *pmns.Tree {
	if n, ok := a.Agent.(pmda.NameSpacer); ok {
		return n.NameSpace()
	}
	return nil
}

func (a *twisted) Refresh(ctx context.Context, ids []pcp.PMID) error {
	if r, ok := a.Agent.(pmda.Refresher); ok {
		return r.Refresh(ctx, ids)
	}
	return nil
}

func (a *twisted) Attribute(ctx context.Context, client *pmda.Client, key pmda.AttrKey, value string) error {
	if r, ok := a.Agent.(pmda.AttributeReceiver); ok {
		return r.Attribute(ctx, client, key, value)
	}
	return nil
}

// twist copies an archive and adds the hostile text to every text, and invalid names of metrics. It
// returns the names of some metrics with texts or instances.
func twist(from, to string) (metrics []string, err error) {
	a, err := archive.Open(from)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	m, label := a.Meta(), a.Label()
	label.Host += hostile
	label.TimeZone = "UTC"
	w, err := archive.Create(to, archive.WriterConfig{Label: label})
	if err != nil {
		return nil, err
	}
	for i, d := range m.Descs() {
		names := m.Names(d.PMID)
		if len(metrics) < 4 && (d.Type == pcp.TypeString || d.Type == pcp.TypeEvent || d.Type == pcp.TypeHighResEvent || d.InDom != pcp.InDomNull) {
			metrics = append(metrics, names[0])
		}
		if i == 0 {
			names = append(slices.Clone(names), "odd."+hostile)
		}
		err = errors.Join(err, w.Desc(d, names...))
		err = errors.Join(err, w.Text(pcp.TextOneLine|pcp.TextPMID, uint32(d.PMID), hostile), w.Text(pcp.TextHelp|pcp.TextPMID, uint32(d.PMID), hostile))
	}
	type domain struct {
		indom pcp.InDom
		rec   archive.InDomRecord
	}
	var domains []domain
	for _, indom := range m.InDoms() {
		for rec := range m.History(indom) {
			domains = append(domains, domain{indom, archive.InDomRecord{Time: rec.Time, Instances: twistInstances(rec.Instances)}})
		}
	}
	slices.SortStableFunc(domains, func(a, b domain) int { return a.rec.Time.Compare(b.rec.Time) })
	for _, d := range domains {
		err = errors.Join(err, w.InDom(d.rec.Time, d.indom, d.rec.Instances))
	}
	set, lerr := hostileLabels(pcp.LabelContext)
	err = errors.Join(err, lerr, w.Labels(label.Start, pcp.LabelContext, uint32(pcp.PMIDNull), []pcp.LabelSet{set}))
	for res, rerr := range a.Records(label.Start, archive.Forward) {
		if rerr != nil {
			return nil, errors.Join(err, rerr)
		}
		twistValues(res.Sets)
		err = errors.Join(err, w.WriteResult(res))
	}
	return metrics, errors.Join(err, w.Close())
}

// hostileMMV writes a file of memory-mapped values.
func hostileMMV(path string) error {
	dir, name := filepath.Split(path)
	r, err := mmv.New(name, mmv.Options{Dir: dir, Cluster: 321})
	if err != nil {
		return err
	}
	d := r.InDom(mmv.InDomDef{OneLine: hostile, Help: hostile, Instances: []string{"a" + hostile}})
	r.CounterVec(mmv.Metric{Name: "count", InDom: d, OneLine: hostile, Help: hostile}).With("a" + hostile).Inc()
	if err := r.Err(); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}
