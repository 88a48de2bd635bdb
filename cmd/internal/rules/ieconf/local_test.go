package ieconf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/console"
	"github.com/go-pcp/pcp/internal/pmiestats"
)

// typed is a terminal at which somebody types lines.
type typed struct {
	lines []string
	end   error
}

func (l *typed) ReadLine(string) (string, error) {
	if len(l.lines) == 0 {
		return "", l.end
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	return line, nil
}

// session starts a tool with the rules of this program and a configuration in a directory of its own.
func session(t *testing.T, set func(*tool)) (tl *tool, out, errs *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	vars := map[string]string{"PCP_TMP_DIR": dir, "PCP_VAR_DIR": dir + "/var", "PCP_SYSCONF_DIR": dir + "/etc", "HOME": dir + "/home", "TZ": "UTC"}
	tl = &tool{
		ctx: t.Context(), path: filepath.Join(dir, "made", "conf"), hasPath: true,
		env: &cli.Env{Name: "pmieconf", Command: Command, Stdout: out, Stderr: errs, Getenv: func(name string) string { return vars[name] }},
	}
	if set != nil {
		set(tl)
	}
	tl.out.init(tl.env)
	if err := tl.start(); err != nil {
		t.Fatal(err)
	}
	return tl, out, errs
}

// TestDialogue types commands at a terminal.
func TestDialogue(t *testing.T) {
	tl, out, errs := session(t, nil)
	tl.user = true
	// A process uses the configuration.
	if err := os.MkdirAll(filepath.Dir(tl.path), 0o755); err != nil {
		t.Fatal(err)
	}
	stats := filepath.Join(tl.env.Getenv("PCP_TMP_DIR"), "pmie")
	if err := os.Mkdir(stats, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]string{fmt.Sprint(os.Getpid()): tl.path, "1": "/other", "nosuch": tl.path} {
		s := pmiestats.Stats{Config: config, Version: pmiestats.Version}
		if err := os.WriteFile(filepath.Join(stats, name), s.Append(nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tl.dialogue(&typed{lines: []string{"status", "list cpu.util threshold", "modify . threshold 77", "nonsense", "list \"", "a b c d e", "", "# nothing"}, end: io.EOF})
	pid := fmt.Sprint(os.Getpid())
	for _, want := range []string{
		"Updates will be made to " + tl.path + "\n", "\tthreshold = 90%\n", "pmie process (PID) using this file:  " + pid + "\n",
		"is in use by 1 running pmie process:\n\t" + pid + " \n  Restart this process", "kill -INT " + pid,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, want := range []string{"unrecognised command \"nonsense\"", "failed to parse argument 2", "too many arguments"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("no %q in\n%s", want, errs)
		}
	}
	conf, err := os.ReadFile(tl.path)
	if err != nil || !strings.Contains(string(conf), "// 1 cpu.util threshold = 77%\n") || tl.status != 0 {
		t.Errorf("status %d, %v, configuration:\n%s", tl.status, err, conf)
	}

	tl, _, _ = session(t, nil)
	if tl.dialogue(&typed{lines: []string{"enable all"}, end: console.ErrInterrupted}); tl.status != 130 {
		t.Errorf("after ctrl-C the status is %d, want 130", tl.status)
	}
	if _, err := os.Stat(tl.path); err == nil {
		t.Error("after ctrl-C there is a configuration")
	}
	tl, _, _ = session(t, nil)
	if tl.dialogue(&typed{lines: []string{"enable all", "abort", "list"}, end: io.EOF}); tl.status != 0 || !tl.done {
		t.Errorf("after abort the status is %d", tl.status)
	}
}

// TestInstalled lists the rules where others are installed: those replace the built-in rules of the same names, and pmieconf has no more.
func TestInstalled(t *testing.T) {
	for name, want := range map[string]bool{"pmieconf": false, "pcp ieconf": true} {
		tl, _, errs := session(t, func(tl *tool) {
			tl.env.Name = name
			dir := filepath.Join(tl.env.Getenv("PCP_VAR_DIR"), "config", "pmieconf")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			const text = "#pmieconf-rules 1\nrule cpu.util\n\tpredicate = \"1 > 2\"\n;\n"
			if err := os.WriteFile(filepath.Join(dir, "mine"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		})
		rules := make(map[string]string)
		for _, r := range tl.set.Rules() {
			rules[r.Name] = r.Predicate()
		}
		if _, ok := rules["service.redis_evictions"]; ok != want || rules["cpu.util"] != "1 > 2" || !want && len(rules) != 1 {
			t.Errorf("%s: %d rules, %q, %s", name, len(rules), rules["cpu.util"], errs)
		}
	}
}

// TestPages shows rules a screenful at a time.
func TestPages(t *testing.T) {
	tl, out, _ := session(t, nil)
	keys, prompts := "h y\rq", []string{}
	tl.out.pages = true
	tl.out.key = func(prompt string) (byte, error) {
		if keys == "" {
			return 0, errors.New("no more keys")
		}
		c := keys[0]
		keys = keys[1:]
		prompts = append(prompts, prompt)
		return c, nil
	}
	tl.out.start()
	tl.configure([]string{"help", "all"})
	// A page after 'h' and space, one after 'y', a line after enter, and no more after 'q'.
	if keys != "" || len(prompts) != 5 || prompts[0] != shortPrompt || prompts[1] != longPrompt {
		t.Errorf("keys %q are left after the prompts %q", keys, prompts)
	}
	if n := strings.Count(out.String(), "\n"); n < 3*(minRows-1) || n > 3*minRows+2 {
		t.Errorf("%d lines", n)
	}
	before := out.Len()
	tl.errorf("nobody wants this")
	if out.Len() != before {
		t.Error("an error is shown after 'q'")
	}
	tl.out.start()
	tl.configure([]string{"list", "nosuch"})
	if !strings.HasSuffix(out.String(), "  Error - no group or rule names match \"nosuch\"\n") {
		t.Errorf("no error at the end of\n%s", out)
	}
	tl.out.start()
	if tl.configure([]string{"list", "all"}); !tl.out.skip {
		t.Error("the output goes on without keys")
	}
}

// TestFiles has configurations that cannot be read or written, and rules exported.
func TestFiles(t *testing.T) {
	run := func(args ...string) (status int, out, errs string) {
		var o, e bytes.Buffer
		status = Command.Run(t.Context(), &cli.Env{
			Name: "pcp ieconf", Args: args, Command: Command, Stdin: strings.NewReader("list cpu.util threshold\n"), Stdout: &o, Stderr: &e,
			Getenv: func(name string) string { return "" },
		})
		return status, o.String(), e.String()
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	f := func(want string, status int, args ...string) {
		t.Helper()
		if got, out, errs := run(args...); got != status || !strings.Contains(out+errs, want) {
			t.Errorf("pcp ieconf %q = %d, want %d and %q:\n%s%s", args, got, status, want, out, errs)
		}
	}
	f("", 0, "--export", rules)
	f("cannot write the rules", 1, "--export", rules)
	f("threshold = 90%", 0, "-r", rules, "-f", filepath.Join(dir, "conf"))
	f("", 0, "-r", rules, "-f", filepath.Join(dir, "conf"), "-F")
	f("is not a rule customization file", 1, "-r", rules, "-f", dir, "list", "all")
	f("enabled rules:", 0, "-r", rules, "-f", "/dev/null", "status")
	f("", 0, "-r", rules, "-f", "/dev/null", "-F")
	f("a directory", 1, "-r", rules, "-f", filepath.Join(dir, "conf")+"/x", "-F")
	f("Commands:", 1, "--nosuch")
	f(" 12. abort", 0, "--help")
	link := filepath.Join(dir, "link")
	if err := os.Symlink("conf", link); err != nil {
		t.Fatal(err)
	}
	f("", 0, "-r", rules, "-f", link, "modify", "cpu.util", "threshold", "12")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	conf, err := os.ReadFile(filepath.Join(dir, "conf"))
	if err != nil || !strings.Contains(string(conf), "threshold = 12%") {
		t.Errorf("%v, configuration:\n%s", err, conf)
	}
	// A value with quotes and backslashes is read back.
	const odd = `say "yes" \n`
	f("", 0, "-r", rules, "-f", link, "modify", "global", "user_command", odd)
	f("user_command = \""+odd+"\"", 0, "-r", rules, "-f", link, "list", "global")
	f("It should be one line", 1, "-r", rules, "-f", link, "modify", "global", "user_command", "a\nb")
	// An action of the rule itself takes precedence, and undo restores the previous value.
	f("", 0, "-r", rules, "-f", link, "modify", "cpu.util", "syslog_action", "no")
	f("", 0, "-r", rules, "-f", link, "modify", "global", "delta", "7 min")
	f("", 0, "-r", rules, "-f", link, "undo", "global")
	conf, err = os.ReadFile(link)
	if err != nil || !strings.Contains(string(conf), "    > 12\n);\n") && !strings.Contains(string(conf), "> 12\n);\n") || strings.Contains(string(conf), "7 min") || !strings.Contains(string(conf), "delta = 2 min;") {
		t.Errorf("%v, configuration:\n%s", err, conf)
	}
}
