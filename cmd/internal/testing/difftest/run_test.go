package difftest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/google/go-cmp/cmp"
)

// A result is the result of a tool.
type result struct {
	stdout, stderr string
	status         int // -1 if a signal ended it
}

// A run is one line of the table.
type run struct {
	cmd   string   // with quotes as in a shell; see expand for {names}
	env   []string // more environment
	prep  string   // a command of the C tools, run before each of the two
	noise string   // names of noises, with spaces between
	diff  string   // name of a difference
	file  string   // file of {in} that is copied to the working directory as root
	shows string   // file in the working directory that is compared too
}

// A bench is where the runs take place.
type bench struct {
	env   []string
	names map[string]string // the values of {names} in a command

	// meanwhile is called before each run, and returns a function that watches
	// the output of the run, and one to call after it. It may be nil.
	meanwhile func() (watch func(out []byte), after func())
}

// expand replaces {host}, {dead} and so on.
func (b *bench) expand(s string) string {
	for name, value := range b.names {
		s = strings.ReplaceAll(s, "{"+name+"}", value)
	}
	return s
}

// The side of a tool.
const (
	sideC    = false
	sideOurs = true
)

// exec runs a tool in a directory of its own.
func (b *bench) exec(t *testing.T, whose bool, tool string, env, args []string) result {
	t.Helper()
	return b.execIn(t, t.TempDir(), whose, tool, env, args)
}

// execIn is exec in a given directory.
func (b *bench) execIn(t *testing.T, dir string, whose bool, tool string, env, args []string) result {
	t.Helper()
	call := twin.Call{Tool: tool, Args: args, Dir: dir, Env: slices.Concat(b.env, env)}
	if b.meanwhile != nil {
		var after func()
		call.Watch, after = b.meanwhile()
		defer after()
	}
	return resultOf(call.Run(t, whose))
}

func resultOf(r twin.Result) result { return result{string(r.Out), string(r.Err), r.Status} }

// words splits a command at spaces outside quotes.
func words(t *testing.T, s string) []string {
	t.Helper()
	var list []string
	var word strings.Builder
	in, quote := false, rune(0)
	for _, c := range s {
		switch {
		case quote == 0 && c == ' ':
			if in {
				list = append(list, word.String())
				word.Reset()
				in = false
			}
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		default:
			word.WriteRune(c)
		}
		in = true
	}
	if quote != 0 {
		t.Fatalf("%s: open quote", s)
	}
	if in {
		list = append(list, word.String())
	}
	return list
}

// try runs a line of the table with both tools and compares.
func (b *bench) try(t *testing.T, r run) {
	t.Helper()
	for _, problem := range b.differ(t, r) {
		t.Error(problem)
	}
}

// differ runs a line of the table and returns the differences.
func (b *bench) differ(t *testing.T, r run) (problems []string) {
	t.Helper()
	errorf := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	args := words(t, b.expand(r.cmd))
	tool, args := args[0], args[1:]
	env := make([]string, len(r.env))
	for i, e := range r.env {
		env[i] = b.expand(e)
	}
	var got [2]result
	for i, whose := range []bool{sideC, sideOurs} {
		if r.prep != "" {
			prep := words(t, b.expand(r.prep))
			if p := b.exec(t, sideC, prep[0], nil, prep[1:]); p.status != 0 {
				t.Fatalf("%s: %+v", r.prep, p)
			}
		}
		dir := t.TempDir()
		b.copyIn(t, r, dir)
		got[i] = b.execIn(t, dir, whose, tool, env, args)
		if r.shows != "" {
			text, err := os.ReadFile(filepath.Join(dir, r.shows))
			got[i].stdout += fmt.Sprintf("%s, missing %v:\n%s", r.shows, err != nil, text)
		}
	}
	want, ours := got[0], got[1]
	if r.diff != "" {
		d, ok := differences[r.diff]
		if !ok {
			t.Fatalf("no difference is named %q", r.diff)
		}
		if want == ours {
			errorf("difference %q has gone (%s): take it out of the table", r.diff, d.why)
		}
		want = d.ours(want)
		want.stderr = strings.ReplaceAll(want.stderr, "$TOOL", tool)
	}
	for _, name := range strings.Fields(r.noise) {
		n, ok := noises[name]
		if !ok {
			t.Fatalf("no noise is named %q", name)
		}
		for _, s := range []*string{&want.stdout, &want.stderr, &ours.stdout, &ours.stderr} {
			*s = n.find.ReplaceAllString(*s, n.with)
		}
	}
	if d := cmp.Diff(want.stdout, ours.stdout); d != "" {
		errorf("standard output (-theirs +ours):\n%s", d)
	}
	if d := cmp.Diff(want.stderr, ours.stderr); d != "" {
		errorf("standard error (-theirs +ours):\n%s", d)
	}
	if want.status != ours.status {
		errorf("exit status %d, want %d\n%s%s", ours.status, want.status, ours.stdout, ours.stderr)
	}
	return problems
}

// copyIn puts the file that a run wants where it runs.
func (b *bench) copyIn(t *testing.T, r run, dir string) {
	t.Helper()
	if r.file == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(b.names["in"], r.file))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "root"), text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// table runs lines as subtests.
func (b *bench) table(t *testing.T, runs []run) {
	for _, r := range runs {
		name := strings.Join(append(append([]string{}, r.env...), r.cmd), " ")
		t.Run(name, func(t *testing.T) { b.try(t, r) })
	}
}

// newBench starts collectors that allow all, no changes, and nothing, and finds a
// port without a listener.
func newBench(t *testing.T) *bench {
	t.Helper()
	oracle.Require(t)
	b := &bench{}
	all := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "sample", "simple"}})
	readOnly := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}, Access: "disallow \"*\" : store;\n"})
	closed := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd"}, Access: "disallow \"*\" : all;\n"})
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	b.env = all.Env
	so, err := filepath.EvalSymlinks(all.PMDAs + "/sample/pmda_sample.so")
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Dir(filepath.Dir(so)) // agents
	b.names = map[string]string{
		"host":     all.TCP,
		"port":     fmt.Sprint(all.Port),
		"unix":     all.Unix,
		"readonly": readOnly.TCP,
		// Not by TCP: the C collector resets the connections that it refuses,
		// and its reason may be lost.
		"closed": closed.Unix,
		"dead":   fmt.Sprintf("127.0.0.1:%d", deadPort(t)),
		"pmns":   all.PMNS,
		// Agents for local contexts: the only ones, which those in pmcd.conf
		// are not to hide.
		"sample": "-L -K clear -K add,29," + all.PMDAs + "/sample/pmda_sample.so,sample_init -n " + all.PMNS,
		"mmv":    "-L -K clear -K add,70," + installed + "/mmv/pmda_mmv.so,mmv_init -n " + file("mmvns", "root {\n mmv 70:*:*\n}\n"),
		"plain":  "-L -n " + all.PMNS,
		"linux":  "-L -K clear -K add,60," + all.PMDAs + "/linux/pmda_linux.so,linux_init -n " + all.PMNS,
		"dupns":  file("dupns", "root {\n a 1:1:1\n b 1:1:1\n tree\n}\ntree {\n c 29:0:6\n}\n"),
		"badns":  file("badns", "root {\n a\n"),
		"hosts":  file("hosts", "# two times the same\n"+all.TCP+"\n\n  "+all.Unix+" # here\n"),
	}
	return b
}

func TestMain(m *testing.M) { twin.Built(m) }

// deadPort returns a port that no program can listen on for now: it is bound.
func deadPort(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fd)
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte(net.IPv4(127, 0, 0, 1).To4())}); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return sa.(*syscall.SockaddrInet4).Port
}
