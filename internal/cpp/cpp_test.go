package cpp

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A case is preprocessed as file F next to the files of helpers. Want is the
// output of pmcpp of PCP 6.0.3, stderr its standard error; TestOracle checks
// that.
type testCase struct {
	name, text, want, stderr string
	args                     []string
}

var helpers = map[string]string{
	"empty":    "",
	"one":      "one\n",
	"two":      "#include \"one\"\ntwo\n",
	"three":    "three\n#include <two>\n",
	"four":     "#include \"three\"\n",
	"self":     "#include \"self\"\n",
	"defs":     "#define A 1\n/* c */\n",
	"noend":    "x\ny",
	"sub/inc":  "in sub\n#include \"peer\"\n",
	"sub/peer": "peer\n",
	"peer":     "top peer\n",
	"comment":  "/* begins\n",
}

var cases = []testCase{
	{name: "plain", text: "a\n\n b \n", want: "# 1 \"F\"\na\n\n b \n"},
	{name: "empty", text: "", want: "# 1 \"F\"\n"},
	{name: "no newline", text: "a\nb", want: "# 1 \"F\"\na\n"},
	{name: "NUL", text: "a\x00b\nc\n\x00\nd\n\x00", want: "# 1 \"F\"\nac\nd\n"},
	{name: "NUL in a long line", text: "a\x00" + strings.Repeat("b", 300) + "c\nd\n", want: "# 1 \"F\"\na" + strings.Repeat("b", 47) + "c\nd\n"},
	{
		name: "comments", text: "a /* b */ c\n/* d\n e */ f\n/**/\ng /*\n h\n*/\n/* /* */ */\n",
		want: "# 1 \"F\"\na         c\n\n      f\n\ng\n\n\n         */\n",
	},
	{
		name: "macros", text: "#define A 1\n#define B_2 'x y'\n#define C \"\"\n#define D\nA B_2 AB A_ [C] D. xA\nA:*:*\n",
		want: "# 1 \"F\"\n\n\n\n\n1 x y AB A_ [] . xA\n1:*:*\n",
	},
	{name: "no rescan", text: "#define A B\n#define B A\nA B\n", want: "# 1 \"F\"\n\n\nB A\n"},
	{name: "undef", text: "#define A 1\n#undef A\n#undef Q\nA\n#define A 2\nA\n", want: "# 1 \"F\"\n\n\n\nA\n\n2\n"},
	{
		name: "ifdef", text: "#define A 1\n#ifdef A\nyes\n#endif\n#ifndef A\nno\n#define Z 1\n#endif\nZ\n",
		want: "# 1 \"F\"\n\n\nyes\n\n\n\n\n\nZ\n",
	},
	{name: "else", text: "#ifdef A\nno\n#include \"none\"\n#else\nyes\n#endif\nx\n", want: "# 1 \"F\"\n\n\n\n\nyes\n\nx\n"},
	{name: "not control", text: "# foo\n#foo\n#\n x#define A\n", want: "# 1 \"F\"\n# foo\n#foo\n#\n x#define A\n"},
	{name: "include", text: "a\n#include \"two\"\nb\n", want: "# 1 \"F\"\na\n# 1 \"two\"\n# 1 \"one\"\none\n# 2 \"two\"\ntwo\n# 3 \"F\"\nb\n"},
	{
		name: "include empty", text: "#include <empty>\n#include \"noend\"\nz\n",
		want: "# 1 \"F\"\n# 1 \"empty\"\n# 2 \"F\"\n# 1 \"noend\"\nx\n# 3 \"F\"\nz\n",
	},
	{name: "include defs", text: "#include \"defs\"\nA\n", want: "# 1 \"F\"\n# 1 \"defs\"\n\n\n# 2 \"F\"\n1\n"},
	{name: "include dir", text: "#include \"sub/inc\"\n", want: "# 1 \"F\"\n# 1 \"sub/inc\"\nin sub\n# 1 \"peer\"\ntop peer\n# 3 \"sub/inc\"\n# 2 \"F\"\n"},
	{
		name: "include -I", args: []string{"-I", "sub"}, text: "#include \"inc\"\n",
		want: "# 1 \"F\"\n# 1 \"sub/inc\"\nin sub\n# 1 \"peer\"\ntop peer\n# 3 \"sub/inc\"\n# 2 \"F\"\n",
	},
	{
		name: "depth", text: "#include \"four\"\n",
		want: "# 1 \"F\"\n# 1 \"four\"\n# 1 \"three\"\nthree\n# 1 \"two\"\n# 1 \"one\"\none\n# 2 \"two\"\ntwo\n# 3 \"three\"\n# 2 \"four\"\n# 2 \"F\"\n",
	},
	{
		name: "too deep", text: "#include \"self\"\n",
		want:   "# 1 \"F\"\n# 1 \"self\"\n# 1 \"self\"\n# 1 \"self\"\n# 1 \"self\"\n",
		stderr: "pmcpp: self[1]: #include \"self\"\npmcpp: Error: #include and/or #shell nesting too deep\n",
	},
	{
		name: "shell", text: "#shell 'echo a; echo b'\n#shell \"echo 'c'\"\nd\n",
		want: "# 1 \"F\"\n# 1 \"<shell>\"\na\nb\n# 2 \"F\"\n# 1 \"<shell>\"\nc\n# 3 \"F\"\nd\n",
	},
	{
		name: "shell fails", text: "#shell 'echo a; exit 3'\nb\n", want: "# 1 \"F\"\n# 1 \"<shell>\"\na\n# 2 \"F\"\nb\n",
		stderr: "Warning: #shell cmd returns 3 exit status\n",
	},
	{
		name: "shell killed", text: "#shell 'kill -9 $$'\nb\n", want: "# 1 \"F\"\n# 1 \"<shell>\"\n# 2 \"F\"\nb\n",
		stderr: "Warning: #shell cmd terminated by signal 9\n",
	},
	{name: "-P", args: []string{"-P"}, text: "a\n#include \"one\"\nb\n", want: "a\none\nb\n"},
	{name: "-D", args: []string{"-DA=1", "-D", "B"}, text: "A B.\n", want: "# 1 \"F\"\n1 .\n"},
	{
		name: "-s", args: []string{"-s"}, text: "# x /* y */\n%define A 1\n%include \"one\"\nA\n#define B 2\nB\n",
		want: "# 1 \"F\"\n# x /* y */\n\n# 1 \"one\"\none\n# 4 \"F\"\n1\n#define B 2\nB\n",
	},
	{
		name: "-r", args: []string{"-r"}, text: "#define A 1\nA #A #{A} x#A #AB #{A #{AB} ##A #\n#A\n",
		want: "# 1 \"F\"\n\nA 1 1 x1 #AB #{A #{AB} #1 #\n1\n",
	},
	{name: "-rs", args: []string{"-rs"}, text: "%define A 1\nA %A #A %{A}B\n", want: "# 1 \"F\"\n\nA 1 #A 1B\n"},

	{name: "no file", text: "a\n#include \"none\"\n", want: "# 1 \"F\"\na\n", stderr: "pmcpp: F[2]: #include \"none\"\npmcpp: Error: Cannot open file for #include\n"},
	{name: "bad include", text: "#include none\n", stderr: "pmcpp: F[1]: #include none\npmcpp: Error: Expected \" or < after #include\n", want: "# 1 \"F\"\n"},
	{name: "open include", text: "#include \"one>\n", stderr: "pmcpp: F[1]: #include \"one>\npmcpp: Error: Expected \" after file name\n", want: "# 1 \"F\"\n"},
	{name: "include extra", text: "#include \"one\" x\n", stderr: "pmcpp: F[1]: #include \"one\" x\npmcpp: Error: Unexpected extra text in #include line\n", want: "# 1 \"F\"\n"},
	{name: "bad shell", text: "#shell <x>\n", stderr: "pmcpp: F[1]: #shell <x>\npmcpp: Error: Expected \" or ' after #shell\n", want: "# 1 \"F\"\n"},
	{name: "open shell", text: "#shell 'x\n", stderr: "pmcpp: F[1]: #shell 'x\npmcpp: Error: Expected ' after command\n", want: "# 1 \"F\"\n"},
	{name: "no name", text: "#define\n", stderr: "pmcpp: F[1]: #define\npmcpp: Error: Missing macro name\n", want: "# 1 \"F\"\n"},
	{name: "bad name", text: "#define 1a x\n", stderr: "pmcpp: F[1]: #define 1a x\npmcpp: Error: Illegal character in macro name\n", want: "# 1 \"F\"\n"},
	{name: "parameters", text: "#define a(x) x\n", stderr: "pmcpp: F[1]: #define a(x) x\npmcpp: Error: Illegal character in macro name\n", want: "# 1 \"F\"\n"},
	{name: "open value", text: "#define a 'x\n", stderr: "pmcpp: F[1]: #define a 'x\npmcpp: Error: Unterminated value string in #define\n", want: "# 1 \"F\"\n"},
	{name: "extra", text: "#define a b c\n", stderr: "pmcpp: F[1]: #define a b c\npmcpp: Error: Unexpected extra text in a control line\n", want: "# 1 \"F\"\n"},
	{name: "redefinition", text: "#define a b\n#define a c\n", stderr: "pmcpp: F[2]: #define a c\npmcpp: Error: Macro redefinition\n", want: "# 1 \"F\"\n\n"},
	{name: "nested", text: "#ifdef a\n#ifndef b\n", stderr: "pmcpp: F[2]: #ifndef b\npmcpp: Error: Nested #ifdef or #ifndef\n", want: "# 1 \"F\"\n\n"},
	{name: "endif", text: "#endif\n", stderr: "pmcpp: F[1]: #endif\npmcpp: Error: No matching #ifdef or #ifndef for #endif\n", want: "# 1 \"F\"\n"},
	{name: "lone else", text: "x\n#else\n", stderr: "pmcpp: F[2]: #else\npmcpp: Error: No matching #ifdef or #ifndef for #else\n", want: "# 1 \"F\"\nx\n"},
	{name: "open if", text: "x\n#ifdef a\n", stderr: "pmcpp: F:\npmcpp: Error: End of input and no matching #endif for #ifdef or #ifndef at line 2\n", want: "# 1 \"F\"\nx\n\n"},
	{name: "open comment", text: "x\n/* a\n", stderr: "pmcpp: F:\npmcpp: Error: Comment at line 2 not terminated before end of file\n", want: "# 1 \"F\"\nx\n\n"},
	{name: "-s error", args: []string{"-s"}, text: "%include x\n", stderr: "pmcpp: F[1]: %include x\npmcpp: Error: Expected \" or < after %include\n", want: "# 1 \"F\"\n"},
}

func setUp(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	os.Mkdir("sub", 0o777)
	os.WriteFile("F", []byte(text), 0o666)
	for name, text := range helpers {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// ours runs our preprocessor with the arguments of pmcpp.
func ours(t *testing.T, c testCase) (stdout, stderr string) {
	var out, diag bytes.Buffer
	cfg := Config{Shell: Shell(&diag), Warn: func(m string) { diag.WriteString(m + "\n") }}
	markers := true
	var defs []string
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case a == "-I":
			i++
			cfg.IncludeDirs = append(cfg.IncludeDirs, c.args[i])
		case a == "-D":
			i++
			defs = append(defs, c.args[i])
		case a[1] == 'D':
			defs = append(defs, a[2:])
		default:
			markers = markers && !strings.Contains(a, "P")
			cfg.Percent = cfg.Percent || strings.Contains(a, "s")
			cfg.Restrict = cfg.Restrict || strings.Contains(a, "r")
		}
	}
	r, err := Open("F", cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, d := range defs {
		if err := r.Define(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Copy(&out, markers); err != nil {
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("Copy = %v, want an *Error", err)
		}
		diag.WriteString(e.Diagnostic())
	}
	return out.String(), diag.String()
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			setUp(t, c.text)
			stdout, stderr := ours(t, c)
			if stdout != c.want || stderr != c.stderr {
				t.Errorf("%q gives\n%q\n%q, want\n%q\n%q", c.text, stdout, stderr, c.want, c.stderr)
			}
		})
	}
}

func TestOracle(t *testing.T) {
	pmcpp := "/usr/lib/pcp/bin/pmcpp"
	if _, err := os.Stat(pmcpp); err != nil {
		t.Skipf("real PCP is not installed: %v", err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			setUp(t, c.text)
			cmd := exec.Command(pmcpp, append(c.args, "F")...)
			var out, diag bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &diag
			cmd.Run()
			if out.String() != c.want || diag.String() != c.stderr {
				t.Errorf("%q gives\n%q\n%q, want\n%q\n%q", c.text, out.String(), diag.String(), c.want, c.stderr)
			}
		})
	}
}

func TestNotSupported(t *testing.T) {
	r := NewReader(strings.NewReader("#shell 'echo x'\n"), "F", Config{})
	err := r.Copy(io.Discard, true)
	if err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("#shell without Config.Shell: %v", err)
	}
}

func TestLimits(t *testing.T) {
	big := strings.Repeat("x", MaxLine)
	f := func(text string) {
		t.Helper()
		err := NewReader(strings.NewReader(text), "F", Config{}).Copy(io.Discard, true)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Msg, "bytes") {
			t.Errorf("%.30q...: %v, want an error about bytes", text, err)
		}
	}
	f(big + "\n")
	f("#define A " + big[:1000] + "\n" + strings.Repeat("A ", MaxLine/2-1) + "\n")
}

// TestKilled checks that Close does not wait for a command that still runs.
func TestKilled(t *testing.T) {
	r := NewReader(strings.NewReader("#shell 'echo a; exec sleep 1000'\n"), "F", Config{Shell: Shell(nil)})
	for {
		l, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if string(l.Text) == "a" {
			break
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := r.Next(); err == nil {
		t.Error("Next after Close is without an error")
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.text), false, false)
		f.Add([]byte(c.text), true, true)
	}
	f.Fuzz(func(t *testing.T, text []byte, percent, restrict bool) {
		if bytes.Contains(text, []byte("include")) {
			t.Skip("would read files of this machine")
		}
		var out bytes.Buffer
		r := NewReader(bytes.NewReader(text), "F", Config{Percent: percent, Restrict: restrict})
		if err := r.Copy(&out, false); err != nil {
			return
		}
		if got, want := bytes.Count(out.Bytes(), []byte{'\n'}), bytes.Count(text, []byte{'\n'}); got != want && !bytes.Contains(text, []byte{0}) {
			t.Errorf("%d lines, want %d", got, want)
		}
	})
}

// TestBuiltin includes a missing file, and prefers an existing one.
func TestBuiltin(t *testing.T) {
	dir := t.TempDir()
	builtin := func(name string) (string, bool) { return "inside\n", name == "known" }
	f := func(text, want string) {
		t.Helper()
		r := NewReader(strings.NewReader(text), "F", Config{IncludeDirs: []string{dir}, Builtin: builtin})
		defer r.Close()
		var b strings.Builder
		err := r.Copy(&b, true)
		got := b.String()
		if err != nil {
			got += err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	f("#include <known>\nx\n", "# 1 \"F\"\n# 1 \"<known>\"\ninside\n# 2 \"F\"\nx\n")
	f("#include <other>\n", "# 1 \"F\"\nF:1: Cannot open file for #include")
	if err := os.WriteFile(filepath.Join(dir, "known"), []byte("outside\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f("#include <known>\nx\n", "# 1 \"F\"\n# 1 \""+dir+"/known\"\noutside\n# 2 \"F\"\nx\n")
}
