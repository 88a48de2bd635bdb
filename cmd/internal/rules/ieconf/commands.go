package ieconf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmie/ieconf"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/internal/pmiestats"
)

// names are the commands in the order of their numbers, from 1.
var names = [...]string{"help", "rules", "groups", "status", "enable", "disable", "list", "modify", "undo", "verbose", "quit", "abort"}

// find returns the full name of a command that is given by number, name or first letter.
func find(word string) string {
	i := ctext.SkipSpace(word, 0)
	if end := ctext.Digits(word, i); end > i && end-i < 4 {
		n := 0
		for _, c := range word[i:end] {
			n = 10*n + int(c-'0')
		}
		if 0 < n && n <= len(names) {
			return names[n-1]
		}
	}
	if word == "?" {
		return "help"
	}
	for _, name := range names {
		if word == name || word == name[:1] {
			return name
		}
	}
	return ""
}

// configure does a command. Its success is t.status.
func (t *tool) configure(words []string) {
	word := ""
	if len(words) > 0 {
		word = words[0]
		words = words[1:]
	}
	ok := true
	switch name := find(word); name {
	case "help":
		ok = t.help(words)
	case "rules":
		ok = t.listRules(words)
	case "groups":
		ok = t.groups(words)
	case "status":
		ok = t.showStatus(words)
	case "verbose":
		ok = t.setVerbose(words)
	case "enable", "disable", "modify":
		ok = t.modify(name, words)
	case "list":
		ok = t.list(words)
	case "undo":
		ok = t.undo(words)
	case "quit":
		t.quit()
		return
	case "abort":
		t.done, t.status = true, 0
		return
	default:
		ok = t.failf("unrecognised command \"%s\" - try \"help\"", word)
	}
	// Only a command of the command line ends the program.
	if !ok {
		t.status = 1
	} else {
		t.status = 0
	}
}

func (t *tool) failf(format string, args ...any) bool {
	t.errorf(format, args...)
	return false
}

func (t *tool) tooMany(name string) bool {
	return t.failf("too many arguments for \"%s\" command", name)
}

// lookup returns the rules that a command is about.
func (t *tool) lookup(words []string) ([]*ieconf.Rule, bool) {
	if words[0] == "." {
		words[0] = t.previous
	}
	rules, err := t.set.Lookup(words[0])
	if err != nil {
		return nil, t.failf("%v", err)
	}
	return rules, true
}

// few checks how many arguments a command has: one or two.
func (t *tool) few(name string, words []string) bool {
	switch {
	case len(words) < 1:
		return t.failf("too few arguments for \"%s\" command", name)
	case len(words) > 2:
		return t.tooMany(name)
	}
	return true
}

func (t *tool) help(words []string) bool {
	if len(words) == 0 {
		fmt.Fprintln(t.env.Stdout, help)
		return true
	}
	if !t.few("help", words) {
		return false
	}
	rules, ok := t.lookup(words)
	if !ok {
		return false
	}
	for _, r := range rules {
		t.summary("  rule: ", r)
		if len(words) == 1 {
			t.helpText(r.Help)
		} else if !t.attribute(r, words[1], true) {
			ok = false
		}
	}
	t.previous = words[0]
	return ok
}

func (t *tool) list(words []string) bool {
	if !t.few("list", words) {
		return false
	}
	rules, ok := t.lookup(words)
	if !ok {
		return false
	}
	for i, r := range rules {
		if len(words) == 2 {
			t.summary("  rule: ", r)
			if !t.attribute(r, words[1], false) {
				ok = false
			}
			continue
		}
		if i > 0 {
			t.out.printf("\n")
		}
		t.rule(r)
	}
	t.previous = words[0]
	return ok
}

// summary prints a rule in one line. A rule without a summary is left out.
func (t *tool) summary(prefix string, r *ieconf.Rule) {
	if text, ok := t.set.Summary(r); ok {
		t.out.printf("%s%s  [%s]\n", prefix, r.Name, text)
	}
}

// textLines are the lines of a text except empty ones.
func textLines(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
}

func (t *tool) helpText(text string) {
	if text == "" {
		t.out.printf("  help: No help available.\n")
	}
	for i, line := range textLines(text) {
		if i == 0 {
			t.out.printf("  help: %s\n", line)
		} else {
			t.out.printf("\t%s\n", line)
		}
	}
}

func (t *tool) predicate(r *ieconf.Rule) {
	t.out.printf("\tpredicate = \n")
	for _, line := range textLines(r.Predicate()) {
		t.out.printf("\t  %s\n", line)
	}
}

// rule prints a rule with its variables.
func (t *tool) rule(r *ieconf.Rule) {
	t.summary("  rule: ", r)
	if r.Help != "" {
		t.helpText(r.Help)
	}
	global := t.set.Global()
	first := true
	if r != global {
		t.predicate(r)
		enabled, _ := r.Attribute(ieconf.Enabled)
		t.out.printf("  vars: enabled = %s\n", enabled)
		first = false
	}
	for _, v := range r.Vars() {
		if !v.Display {
			continue
		}
		prefix := "\t"
		if first {
			prefix, first = "  vars: ", false
		}
		t.out.printf("%s%s = %s\n", prefix, v.Name, v.Value())
	}
	if !t.verbose || r == global {
		return
	}
	for _, v := range global.Vars() {
		if r.Var(v.Name) == nil {
			t.out.printf("\t%s = %s (*)\n", v.Name, v.Value())
		}
	}
}

// attribute prints a variable or an attribute of a rule, or its help.
func (t *tool) attribute(r *ieconf.Rule, name string, help bool) bool {
	global := t.set.Global()
	a := ieconf.AttributeOf(name)
	switch {
	case a == ieconf.Predicate && r != global:
		t.predicate(r)
		return true
	case a == ieconf.Help:
		t.helpText(r.Help)
		return true
	case a != ieconf.NoAttribute && r != global:
		if help {
			t.out.printf("   var: %s\n  help: No help available.\n", name)
			return true
		}
		text, ok := r.Attribute(a)
		if !ok {
			text = "(null)" // as the C tool does
		}
		t.out.printf("\t%s = %s\n", name, text)
		return true
	}
	v := r.Var(name)
	if v == nil {
		v = global.Var(name)
	}
	switch {
	case v == nil:
		return t.failf("variable \"%s\" is undefined for rule %s", name, r.Name)
	case help:
		t.out.printf("   var: %s\n", name)
		t.helpText(v.Help)
	default:
		t.out.printf("\t%s = %s\n", name, v.Value())
	}
	return true
}

func (t *tool) undo(words []string) bool {
	if !t.few("undo", words) {
		return false
	}
	rules, ok := t.lookup(words)
	if !ok {
		return false
	}
	name := ""
	if len(words) == 2 {
		name = words[1]
	}
	for _, r := range rules {
		t.set.Undo(r, name)
	}
	t.previous, t.modified = words[0], true
	return true
}

func (t *tool) modify(command string, words []string) bool {
	want := 3
	if command != "modify" {
		want = 1
	}
	how := "many"
	if len(words) < want {
		how = "few"
	}
	switch {
	case want == 1 && len(words) > 0 && words[0] == "global":
		return t.failf("invalid argument - \"global\"")
	case len(words) != want:
		return t.failf("too %s arguments for \"%s\" command", how, command)
	case command == "enable":
		words = append(words, "enabled", "yes")
	case command == "disable":
		words = append(words, "enabled", "no")
	}
	if words[0] == "." {
		words[0] = t.previous
	}
	if a := ieconf.AttributeOf(words[1]); a != ieconf.NoAttribute && a != ieconf.Enabled {
		return t.failf("no change - variable \"%s\" is always readonly", words[1])
	}
	rules, ok := t.lookup(words)
	if !ok {
		return false
	}
	for _, r := range rules {
		if err := t.set.Modify(r, words[1], words[2]); err != nil {
			return t.failf("change aborted - %v", err)
		}
	}
	t.previous, t.modified = words[0], true
	return true
}

func (t *tool) groups(words []string) bool {
	if len(words) > 0 {
		return t.tooMany("groups")
	}
	last := ""
	for _, r := range t.set.Rules() {
		if group, _, ok := strings.Cut(r.Name, "."); ok && group != last {
			t.out.printf("  %s\n", group)
			last = group
		}
	}
	return true
}

func (t *tool) listRules(words []string) bool {
	which := func(*ieconf.Rule) bool { return true }
	switch {
	case len(words) > 1:
		return t.tooMany("rules")
	case len(words) == 0:
	case words[0] == "enabled":
		which = (*ieconf.Rule).Enabled
	case words[0] == "disabled":
		which = func(r *ieconf.Rule) bool { return !r.Enabled() }
	default:
		return t.failf("invalid argument for \"rules\" command")
	}
	for _, r := range t.set.Rules() {
		if which(r) {
			t.summary("  ", r)
		}
	}
	return true
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (t *tool) setVerbose(words []string) bool {
	switch {
	case len(words) == 0:
		fmt.Fprintf(t.env.Stdout, "  verbose:  %s\n", onOff(t.verbose))
	case len(words) > 1:
		return t.tooMany("verbose")
	case words[0] == "on", words[0] == "off":
		t.verbose = words[0] == "on"
	default:
		return t.failf("invalid argument, expected \"on\" or \"off\"")
	}
	return true
}

func (t *tool) showStatus(words []string) bool {
	if len(words) > 0 {
		return t.tooMany("status")
	}
	enabled := 0
	for _, r := range t.set.Rules() {
		if r.Enabled() {
			enabled++
		}
	}
	running := t.running()
	what := "processes (PIDs)"
	if len(running) == 1 {
		what = "process (PID)"
	}
	pids := " (none found)"
	if len(running) > 0 {
		pids = " " + strings.Join(running, " ")
	}
	fmt.Fprintf(t.env.Stdout, "  verbose:  %s\n  enabled rules:  %d of %d\n  pmie configuration file:  %s\n  pmie %s using this file: %s\n",
		onOff(t.verbose), enabled, len(t.set.Rules()), t.path, what, pids)
	return true
}

// running returns the numbers of the pmie processes that evaluate the configuration.
func (t *tool) running() []string {
	dir := filepath.Join(t.env.Config().Get("PCP_TMP_DIR"), "pmie")
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	files, _ := f.ReadDir(-1)
	var found []string
	for _, e := range files {
		if _, err := os.Stat("/proc/" + e.Name()); err != nil {
			continue // it has ended
		}
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() != pmiestats.Size {
			continue
		}
		b, err := os.ReadFile(path)
		var s pmiestats.Stats
		if err == nil && s.Decode(b) == nil && s.Config == t.path {
			found = append(found, e.Name())
		}
	}
	return found
}

// quit writes the changes, once, and ends the program.
func (t *tool) quit() {
	if t.done {
		return
	}
	t.done = true
	t.status = 0
	if !t.modified {
		return
	}
	if t.status = t.write(); t.status != 0 || !t.user {
		return
	}
	running := t.running()
	if len(running) == 0 {
		return
	}
	plural, these := "", "this process"
	if len(running) > 1 {
		plural, these = "es", "these processes"
	}
	pids := strings.Join(running, " ") + " "
	t.out.printf("  %s is in use by %d running pmie process%s:\n\t%s", t.path, len(running), plural, pids)
	t.out.printf("\n  Restart %s for the configuration change to take effect.", these)
	t.out.printf("\n  o  Use kill(1) to stop; e.g.\tkill -INT %s", pids)
	t.out.printf("\n  o  Refer to pmie_check(1) for a convenient mechanism for restarting pmie\n"+
		"     daemons launched under the control of %s/pmie/control;\n     e.g.\t%s/pmie_check -V\n",
		t.env.Config().Get("PCP_SYSCONF_DIR"), t.env.Config().Get("PCP_BINADM_DIR"))
}
