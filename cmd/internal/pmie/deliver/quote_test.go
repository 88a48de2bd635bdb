package deliver

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// intruders are values that would run a command, end a quote or leave a file behind if a shell interpreted
// them.
func intruders(t testing.TB) (list []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/intruders.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		s, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// shells are the POSIX shells of this machine.
func shells(t testing.TB) (list [][]string) {
	for _, s := range [][]string{{"sh"}, {"dash"}, {"bash", "--posix"}, {"bash"}, {"busybox", "sh"}, {"ksh"}, {"zsh", "--emulate", "sh"}} {
		if path, err := exec.LookPath(s[0]); err == nil {
			list = append(list, append([]string{path}, s[1:]...))
		}
	}
	if list == nil {
		t.Skip("SKIPPED: no shell")
	}
	return list
}

// some returns the shells for the nth case: one of them, or all in the long form.
func some(list [][]string, n int) [][]string {
	if longtest.Enabled() {
		return list
	}
	return list[n%len(list):][:1]
}

// obey runs a command in a shell in an empty directory, and fails if the directory is not empty
// afterwards.
func obey(t testing.TB, shell []string, command string) (out string, status int) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(shell[0], append(shell[1:len(shell):len(shell)], "-c", command)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=/home/no", "IFS=\t\n"}
	b, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	} else if ok {
		status = exit.ExitCode()
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 0 {
		t.Fatalf("%q: a value was run by %q: it made %v", command, shell[0], files)
	}
	return string(b), status
}

// withValue returns a command with a value where it has an @.
func withValue(command, value string) string {
	var b []byte
	for i, part := range strings.Split(command, "@") {
		if i > 0 {
			b = AppendQuoted(b, value)
		}
		b = append(b, part...)
	}
	return string(b)
}

// TestQuoted puts values into commands of the shell, which must treat them as text.
func TestQuoted(t *testing.T) {
	list, n := shells(t), 0
	for _, value := range intruders(t) {
		for command, want := range map[string]string{
			"printf '%s.' @":                                         "@.",
			"printf '%s.' '@'":                                       "@.",
			`printf '%s.' "@"`:                                       "@.",
			`printf '%s.' "it's @"`:                                  "it's @.",
			`printf '%s.' \"@`:                                       `"@.`,
			`printf '%s.' '"'@`:                                      `"@.`,
			`printf '%s.' 'it'\''s '@`:                               "it's @.",
			`printf '%s.' "$(printf '%s\n' @ end)"`:                  "@\nend.",
			`printf '%s.' "$(printf '%s\n' "@" end)"`:                "@\nend.",
			`printf '%s.' "$(printf '%s\n' "a$(printf ")" )" end)@"`: "a)\nend@.",
			`(printf '%s.' @)`:                                       "@.",
			`case "@" in nothing) printf no;; *) printf yes;; esac`:  "yes",
			`f() { printf '%s.' "$1@"; }; f @`:                       "@@.",
			"a#@; printf '%s.' @":                                    "@.",
			"x=@; printf '%s.' \"$x\"":                               "@.",
			`test -n "@" && printf '%s.' @'@'"@"`:                    "@@@.",
		} {
			n++
			for _, shell := range some(list, n) {
				out, _ := obey(t, shell, withValue(command, value))
				if strings.HasPrefix(command, "a#") && strings.Contains(value, "=") {
					continue // an assignment
				}
				if want := strings.ReplaceAll(want, "@", value); out != want {
					t.Errorf("%s: %s printed %q, want %q", shell[0], withValue(command, value), out, want)
				}
			}
		}
	}
}

// TestQuotedInDoubt puts values where no quoting keeps them from being interpreted. They lose the
// characters that could be.
func TestQuotedInDoubt(t *testing.T) {
	list, n := shells(t), 0
	for _, value := range intruders(t) {
		for _, command := range []string{
			"printf '%s.' `printf '%s' @`", "printf '%s.' `printf '%s' \"@\"`", "printf '%s.' \"`printf '%s' '@'`\"", "printf '%s.' \"`printf '%s' \"@\"`\"",
			"printf '%s.' `printf %s '@'`@", "true # @\ntrue", "true #'@'", "true;# \"@\"", "(true)#@\n", "true \\\n#@\n", "cat <<EOF\n@\nEOF\n", "cat <<'EOF'\n@\nEOF\n", "cat <<\\EOF\n'@'\nEOF",
			"printf '%s.' ${none:-@}", "printf '%s.' \"${none:-@}\"", "printf '%s.' $((1 + @))", "printf '%s.' \"$((@))\"", "printf '%s.' $'a@'", "printf '%s.' $@", "printf '%s.' \"$@\"", "printf '%s.' \\@",
			"printf '%s.' \"\\@\"", "x=$(case a in a) printf '%s' \"@\";; esac)", "x=\"$(case a in a) printf '%s' @;; esac)\"", "case a in a) printf '%s.' \"@\";; esac; printf '%s.' @", "((x = @))", "a) @", "printf '%s.' `printf '%s' a` @",
		} {
			n++
			for _, shell := range some(list, n) {
				obey(t, shell, withValue(command, value))
			}
		}
	}
	if got, want := withValue("echo `cat @`", "/var/log/a b;c$(d)-é"), "echo `cat /var/log/a_b_c__d_-é`"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// nested returns a command that prints its value, with quotes and substitutions around it, and its output.
func nested(rnd *rand.Rand, depth int) (command, prints string) {
	if depth == 0 {
		switch rnd.IntN(4) {
		case 0:
			return "printf '%s' @", "@"
		case 1:
			return "printf '%s' 'a @'", "a @"
		case 2:
			return `printf '%s' "b'@"`, "b'@"
		}
		return `printf '%s' \\@'"'"@"\'`, `\@"@'`
	}
	inner, text := nested(rnd, depth-1)
	switch rnd.IntN(5) {
	case 0:
		return "( " + inner + " )", text
	case 1:
		return `printf '%s' "$( ` + inner + `; printf .)@"`, text + ".@"
	case 2:
		return `{ ` + inner + `; printf "(%s" @; }`, text + "(@"
	case 3:
		return `printf '%s)' "x$(printf '%s' "` + "$( " + inner + "; printf .)" + `@")"'('`, "x" + text + ".@()"
	}
	return "if true; then " + inner + "; fi", text
}

// TestQuotedNested checks that values are text however deeply nested in a command.
func TestQuotedNested(t *testing.T) {
	values := intruders(t)
	rnd := rand.New(rand.NewPCG(longtest.Seed(t), 2))
	list := shells(t)
	for range longtest.N(300, 20000) {
		shell := list[rnd.IntN(len(list))]
		command, prints := nested(rnd, rnd.IntN(4))
		value := strings.TrimRight(values[rnd.IntN(len(values))], "\n") // a substitution removes those
		command = withValue(command, value)
		out, status := obey(t, shell, command)
		if want := strings.ReplaceAll(prints, "@", value); out != want || status != 0 {
			t.Errorf("%s: %s printed %q, %d, want %q", shell[0], command, out, status, want)
		}
	}
}

// FuzzQuoted puts any value into commands.
func FuzzQuoted(f *testing.F) {
	for _, value := range intruders(f) {
		f.Add(value)
	}
	shell := shells(f)[0]
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > 1<<12 {
			return
		}
		seen, _, _ := strings.Cut(value, "\x00")
		out, status := obey(t, shell, withValue(`printf '%s.' "$(printf '%s;' "@" '@' x@)" @x '@' "@"`, value))
		if want := strings.ReplaceAll("@;@;x@;.@x.@.@.", "@", seen); out != want || status != 0 {
			t.Fatalf("%q: %q, %d", value, out, status)
		}
		if line := Plain(value); strings.ContainsFunc(line, isControl) || len(line) > 4*(maxLog+3) {
			t.Fatalf("the system's log has %q of %q", line, value)
		}
		obey(t, shell, withValue("true `true @` # @", value))
		obey(t, shell, withValue("cat <<EOF\n@\nEOF\n", value))
	})
}
