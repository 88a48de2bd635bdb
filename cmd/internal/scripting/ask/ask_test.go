package ask

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// call runs a command by its classic name, or by that of pcp, with the terminal at a path.
func call(t *testing.T, console, name string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	env := &cli.Env{
		Name: name, Program: "pcp", Args: args, Stdin: strings.NewReader("from\nstdin\n"), Stdout: &o, Stderr: &e,
		Getenv: func(name string) string {
			if name == "PCP_CONSOLE" {
				return console
			}
			return ""
		},
	}
	for _, c := range []*cli.Command{ConfirmCommand, MessageCommand, Command} {
		if c.Link == name || "pcp "+c.Name == name {
			env.Command = c
		}
	}
	status = env.Command.Run(t.Context(), env)
	return status, o.String(), e.String()
}

// TestAnswers has the answers in a file.
func TestAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers")
	f := func(answers string, wantStatus int, wantOut, wantErr, name string, args ...string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(answers), 0o600); err != nil {
			t.Fatal(err)
		}
		status, out, errs := call(t, path, name, args...)
		if status != wantStatus || out != wantOut || errs != wantErr {
			t.Errorf("%s %q, %q: %d %q %q, want %d %q %q", name, args, answers, status, out, errs, wantStatus, wantOut, wantErr)
		}
	}
	yesNo := []string{"-t", "Really?", "-b", "No", "-B", "Yes", "-icon", "question"}
	f("\n", 0, "Yes\n", "", "pmconfirm", yesNo...)
	f("1\n", 0, "No\n", "", "pmconfirm", yesNo...)
	f("n\n", 0, "No\n", "", "pmconfirm", yesNo...)
	f("YES\n", 0, "Yes\n", "", "pcp confirm", yesNo...)
	f("\n", 0, "", "", "pmmessage", yesNo...)
	f("", 0, "", "", "pmconfirm", yesNo...) // closed
	f("maybe\n", 1, "", "pmconfirm: There is no button maybe.\n", "pmconfirm", yesNo...)
	f("\n", 0, "Continue\n", "", "pmconfirm", "some", "text", "-b", "Other")
	f("\n", 0, "Continue\n", "", "pmconfirm", "-b", "", "-t", "x")
	f("\n", 0, "only\n", "", "pmconfirm", "-b", "only", "-t", "x")
	f("\n", 1, "", "pmconfirm: There is no default button.\n", "pmconfirm", "-b", "one", "-b", "two")
	f("st\n", 1, "", "pmconfirm: More than one button begins with st.\n", "pmconfirm", "-b", "stop", "-b", "start")

	// Exit statuses, of which only those without a number count on.
	list := []string{"-buttons", "Retry:2,Stop,,Other", "-default", "Stop", "-center", "What now?"}
	f("\n", 101, "", "", "pmmessage", list...)
	f("r\n", 2, "", "", "pmmessage", list...)
	f("3\n", 102, "Other\n", "", "pmmessage", append([]string{"-print"}, list...)...)
	f("3\n", 102, "", "", "pmquery", append([]string{"-noprint"}, list...)...)
	f("\n", 101, "Stop\n", "", "pcp ask", "--buttons=Retry:2,Stop", "--default=Stop")

	host := []string{"-input", "-b", "Cancel", "-B", "OK", "-header", "Remote"}
	f("moomba\n\n", 0, "moomba\n", "", "pmquery", host...)
	f("moomba\nc\n", 0, "Cancel\n", "", "pmquery", host...)
	f("\n\n", 0, "localhost\n", "", "pmquery", append(host, "-t", "localhost")...)
	f("a\n\nb\n.\n\n", 0, "a\n\nb\n", "", "pmquery", append(host, "-t", "x", "-t", "y")...)
	f("\n\n", 0, "from\nstdin\n", "", "pmquery", append(host, "-file", "-")...)
	f("typed\n", 0, "typed\n", "", "pmquery", "-input")

	f("\n", 0, "OK\n", "pmconfirm: -font has no effect in a terminal\npmconfirm: -nearmouse has no effect in a terminal\n",
		"pmconfirm", "-font", "fixed", "-nearmouse", "-exclusive", "-useslider", "-noframe", "-B", "OK", "-t", "x")
}

func TestMistakes(t *testing.T) {
	usage := "Usage: pmquery [options] [message...]\n"
	f := func(want string, args ...string) {
		t.Helper()
		if status, out, errs := call(t, "none", "pmquery", args...); status != 1 || out != "" || errs != want {
			t.Errorf("%q: %d %q %q, want 1 and %q", args, status, out, errs, want)
		}
	}
	f("pmquery: the -b option requires an argument\n"+usage, "-b")
	f("pmquery: unknown icon type - none\n"+usage, "-icon", "none")
	f("pmquery: '0' is not a positive non-zero timeout\n"+usage, "-timeout", "0")
	f("pmquery: '1s' is not a positive non-zero timeout\n"+usage, "-timeout", "1s")
	f("pmquery: the -file and -t options are incompatible\n"+usage, "-t", "x", "-file", "x")
	f("pmquery: the -useslider and -noslider options are incompatible\n"+usage, "-noslider", "-useslider")
	f("pmquery: -buttons: Yes: not an exit status from 0 to 255: 256\n"+usage, "-buttons", "Yes:256")
	f("pmquery: open /no/such: no such file or directory\n", "-file", "/no/such")
	f("pmquery: no terminal to ask in: PCP_CONSOLE is none\n", "-t", "x", "-timeout", "10")
	f(usage, "-?")

	// Only the classic names take an unknown option for a message.
	status, out, errs := call(t, "none", "pcp ask", "-buton", "x")
	if status != 1 || out != "" || !strings.HasPrefix(errs, "pcp ask: unknown option -buton; a message that begins with a dash follows --\n") {
		t.Errorf("pcp ask -buton: %d %q %q", status, out, errs)
	}
	if status, out, _ := call(t, "none", "pcp ask", "--help"); status != 0 || !strings.Contains(out, "--timeout") {
		t.Errorf("pcp ask --help: %d %q", status, out)
	}
}

func TestLayout(t *testing.T) {
	f := func(args []string, want string) {
		t.Helper()
		q, err := parse(args, true, true)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, "\n"+strings.Join(q.layout(q.message, 30), "\n")+"\n"); diff != "" {
			t.Errorf("%q: -want +got\n%s", args, diff)
		}
	}
	f([]string{"-t", "Disk full", "-icon", "warning", "-header", "Now"}, `
+-warning: Now-+
| Disk full    |
+--------------+
`)
	f([]string{"-c", "-t", "Löschen?", "-t", "a\x1b[31mred"}, `
        +-Query-----+
        | Löschen?  |
        | a?[31mred |
        +-----------+
`)
	f([]string{"-noframe", "A sentence that is longer than the terminal is wide, and averylongwordthatisnotbroken"}, `
Query
A sentence that is longer
than the terminal is wide,
and
averylongwordthatisnotbroken
`)
}

// FuzzParse parses any arguments, separated by NUL, and lays the question out.
func FuzzParse(f *testing.F) {
	f.Add("-t\x00text\x00-b\x00No\x00-B\x00Yes", 80)
	f.Add("-buttons\x00a:1,b,:3,c:\x00-default\x00b\x00--header=x\x00message", 1)
	f.Add("--\x00-x\x00\xff", 0)
	f.Fuzz(func(t *testing.T, args string, columns int) {
		for _, lax := range []bool{false, true} {
			q, err := parse(strings.Split(args, "\x00"), true, lax)
			if err != nil {
				continue
			}
			if len(q.buttons) == 0 || q.preferred >= len(q.buttons) {
				t.Fatalf("%q: %d buttons, default %d", args, len(q.buttons), q.preferred)
			}
			for _, line := range q.layout(q.message, columns) {
				if strings.ContainsAny(line, "\x1b\n\r") {
					t.Fatalf("%q: %q", args, line)
				}
			}
		}
	})
}
