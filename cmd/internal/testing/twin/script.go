package twin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/version"
)

// A Transcript runs scripts whose file "want" holds the output of a series of
// invocations, as printed by the C tools:
//
//	fixture small                    make archives of the table fixtures here
//	mask '\d\d:\d\d' TIME            replace this in all that follows
//	try pminfo -f -a small           run a tool and record its result
//	try PCP_ARCHIVE=small pminfo     the same with a variable in its environment
//	differs 'version' pminfo -V      the same where ours differs on purpose
//	show out.txt                     note the contents of a file
//	cmp screen want                  compare all that was noted
//
// Ours are run on each machine. Where the real PCP is installed its tools run the same
// scripts, so that the files stay true.
type Transcript struct {
	Theirs bool // run the C tools
}

// screen is the file with the recorded output.
const screen = "screen"

// elsewhere are C programs that are in none of the directories that oracle looks in.
var elsewhere = map[string]string{
	"mmvdump":  "/usr/lib/pcp/pmdas/mmv/mmvdump",
	"Rebuild":  "/usr/lib/pcp/pmns/Rebuild",
	"lockpmns": "/usr/share/pcp/lib/lockpmns", "unlockpmns": "/usr/share/pcp/lib/unlockpmns",
}

// places are the settings that lead away from the machine's own files.
var places = [][2]string{
	{"PCP_VAR_DIR", "var"},
	{"PCP_RUN_DIR", "run"},
	{"PCP_LOG_DIR", "log"},
	{"PCP_ARCHIVE_DIR", "log/pmlogger"},
	{"PCP_TMP_DIR", "tmp"},
	{"PCP_TMPFILE_DIR", "tmp"},
	{"PCP_SYSCONF_DIR", "etc"},
	{"PCP_PMCDCONF_PATH", "pmcd.conf"},
}

// Setup gives a script an environment in which nothing of the machine counts: the
// settings, directories and the socket of PCP are below $WORK.
func (tr Transcript) Setup(env *testscript.Env) error {
	var text strings.Builder
	if tr.Theirs {
		real, err := os.ReadFile("/etc/pcp.conf")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(real)) {
			name, _, _ := strings.Cut(line, "=")
			if !slices.ContainsFunc(places, func(p [2]string) bool { return p[0] == name }) {
				text.WriteString(line)
			}
		}
	}
	for _, p := range places {
		path := filepath.Join(env.WorkDir, p[1])
		fmt.Fprintf(&text, "%s=%s\n", p[0], path)
		if strings.HasSuffix(p[0], "_DIR") {
			if err := os.MkdirAll(path, 0o777); err != nil {
				return err
			}
		}
	}
	path := filepath.Join(env.WorkDir, "pcp.conf")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		return err
	}
	for _, v := range oracle.Env() {
		name, value, _ := strings.Cut(v, "=")
		if name != "PATH" || tr.Theirs {
			env.Setenv(name, value)
		}
	}
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("PCP_CONF", path)
	env.Setenv("PCP_DIR", "")
	env.Setenv("PMCD_SOCKET", filepath.Join(env.WorkDir, "nosocket"))
	env.Setenv("PMCD_PORT", "1")     // nothing listens there
	pcp, err := exec.LookPath("pcp") // testscript.Main puts all links there
	if err != nil {
		return err
	}
	env.Setenv("TOOLS", filepath.Dir(pcp))
	env.Values[masksKey{}] = &[]mask{
		{regexp.MustCompile(regexp.QuoteMeta("version " + version.Number)), "version 6.0.3"},
	}
	return nil
}

// A mask replaces parts that change each time.
type mask struct {
	find *regexp.Regexp
	with string
}

type masksKey struct{}

// Commands returns the commands of scripts.
func (tr Transcript) Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"fixture": fixture,
		"mask":    addMask,
		"try":     tr.try,
		"differs": tr.differs,
		"show":    show,
	}
}

// fixture makes archives in the current directory.
func fixture(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		build, ok := fixtures()[name]
		if !ok {
			ts.Fatalf("no fixture is named %q", name)
		}
		ts.Check(build(ts.MkAbs(name)))
	}
}

func addMask(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mask regexp replacement")
	}
	masks := ts.Value(masksKey{}).(*[]mask)
	*masks = append(*masks, mask{regexp.MustCompile("(?m)" + args[0]), args[1]})
}

// try records the result of a tool.
func (tr Transcript) try(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: try tool [argument...]")
	}
	note(ts, line(args)+"\n"+execute(ts, tr.Theirs, args))
}

// differs is try where ours differs from the C tool on purpose.
func (tr Transcript) differs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: differs name tool [argument...]")
	}
	name, args := args[0], args[1:]
	if differences[name].why == "" {
		ts.Fatalf("no difference is named %q", name)
	}
	ours := execute(ts, false, args)
	if tr.Theirs && ours == execute(ts, true, args) {
		ts.Fatalf("difference %q has gone: use try\n%s", name, ours)
	}
	note(ts, line(args)+"\n# differs: "+name+"\n"+ours)
}

// execute runs a tool and returns its standard output, its standard error with a
// mark before each line, and its exit status unless that is 0.
func execute(ts *testscript.TestScript, theirs bool, args []string) string {
	n := slices.IndexFunc(args, func(a string) bool { return !strings.Contains(a, "=") })
	if n < 0 {
		ts.Fatalf("no tool")
	}
	settings, tool, args := args[:n], args[n], args[n+1:]
	path := oracle.Path(tool)
	if !theirs {
		var err error
		path, err = exec.LookPath(filepath.Join(ts.Getenv("TOOLS"), tool))
		ts.Check(err)
	} else if path == "" {
		path = elsewhere[tool]
	}
	if path == "" {
		ts.Fatalf("real PCP has no %s", tool)
	}
	if theirs { // some never end where ours refuse
		path, args = "/usr/bin/timeout", slices.Concat([]string{"20", path}, args)
	}
	if len(settings) > 0 {
		path, args = "/usr/bin/env", slices.Concat(settings, []string{path}, args)
	}
	status := 0
	if err := ts.Exec(path, args...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	text := lines("", ts.ReadFile("stdout")) + lines("2> ", ts.ReadFile("stderr"))
	if status != 0 {
		text += fmt.Sprintf("[status %d]\n", status)
	}
	return text
}

// lines puts a mark before each line.
func lines(prefix, text string) string {
	if text == "" {
		return ""
	}
	if !strings.HasSuffix(text, "\n") {
		text += "[no newline]\n"
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "Usage:") {
			b.WriteString(prefix + "[usage]\n") // our words, and its
			break
		}
		if strings.HasPrefix(l, "-- ") {
			l = "\\" + l // else it would begin a file of the script
		}
		b.WriteString(prefix + l)
	}
	return b.String()
}

// line is a command as one would type it.
func line(args []string) string {
	words := []string{"$"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " '\"*?[]{}#;&|\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// note adds to the screen, with an empty line before it.
func note(ts *testscript.TestScript, text string) {
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	for _, m := range *ts.Value(masksKey{}).(*[]mask) {
		text = m.find.ReplaceAllString(text, m.with)
	}
	f, err := os.OpenFile(filepath.Join(ts.Getenv("WORK"), screen), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	ts.Check(err)
	_, err = f.WriteString(text + "\n")
	ts.Check(err)
	ts.Check(f.Close())
}

// show notes the contents of files.
func show(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		b, err := os.ReadFile(ts.MkAbs(name))
		text := lines("", string(b))
		if err != nil {
			text = "[not there]\n"
		}
		note(ts, "$ cat "+name+"\n"+text)
	}
}
