package pmns

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
)

// badFiles has the messages of pminfo of PCP 6.0.3 about each text under the name
// F. TestOracleErrors checks that.
var badFiles = []struct{ name, text, want string }{
	{
		"badclu", "root {\n\tfoo 5:4096:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal cluster field in PMID\n    foo 5:4096:3\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"baddom", "root {\n\tfoo 511:2:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal domain field in PMID\n    foo 511:2:3\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"baddyn", "root {\n\tfoo 511:*:*\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal domain field in dynamic PMID\n    foo 511:*:*\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"badinc", "#include \"nosuch\"\nroot {\n\tfoo 1:2:3\n}\n",
		"pmcpp: F[1]: #include \"nosuch\"\npmcpp: Error: Cannot open file for #include\nError Parsing ASCII PMNS: pmcpp returned non-zero exit status\n",
	},
	{
		"baditem", "root {\n\tfoo 5:2:1024\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal item field in PMID\n    foo 5:2:1024\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"badpmid", "root {\n\tfoo 5:2\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal PMID\n    foo 5:2\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"badpmid2", "root {\n\tfoo 5:*:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal PMID\n    foo 5:*:3\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"badpmid4", "root {\n\tfoo *:*:*\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Illegal PMID\n    foo *:*:*\n        ^\n[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n        ^\n        ^\n",
	},
	{
		"badpmid6", "root {\n\tfoo 1:2:3:4:5\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n    foo 1:2:3:4:5\n        ^\n",
	},
	{
		"badtok", "root {\n\tfoo-bar 1:2:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME or }\n    foo-bar 1:2:3\n    ^\n",
	},
	{
		"badtok2", "root {\n\tfoo  -x\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n    foo -x\n        ^\n",
	},
	{
		"badtok3", "root {\n\tfoo 1:2:3 4:5:6\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME or }\n    foo 1:2:3 4:5:6\n              ^\n",
	},
	{
		"closeb", "}\n",
		"[F:1] Error Parsing ASCII PMNS: Expected NAME or PATH\n    }\n    ^\n",
	},
	{
		"cpp2", "#define X 5\n#ifdef X\nroot {\n\tfoo Y:2:3\n}\n#endif\n",
		"[F:4] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n    foo Y:2:3\n        ^\n",
	},
	{
		"dig", "9x {\n a 1:2:3\n}\n",
		"[F:1] Error Parsing ASCII PMNS: Expected NAME or PATH\n    9x {\n    ^\n",
	},
	{
		"dupname", "root {\n\tfoo 1:2:3\n\tfoo 1:2:4\n}\n",
		"[F:4] Error Parsing ASCII PMNS: Duplicate name \"foo\" in subtree for \"root\"\n\n    Duplicate name \"foo\" in subtree for \"root\"\n    ^\n",
	},
	{
		"empty", "",
		"Error Parsing ASCII PMNS: No name space entry for \"root\"\n",
	},
	{
		"eofmid3", "root {\n foo\n",
		"Error Parsing ASCII PMNS: Cannot find definition for non-terminal node \"foo\" in name space\n",
	},
	{
		"hash", "root {\n# foo\n\tfoo 1:2:3\n}\n",
		"[F:1] Error Parsing ASCII PMNS: Illegal line number control number\n    # foo\n         ^\n",
	},
	{
		"hashline", "root {\n# 10 \"xx\"\n\tfoo bad-\n}\n",
		"[xx:10] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n    foo bad-\n        ^\n",
	},
	{
		"lbrace3", "root {\n\tfoo {\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME, PMID or }\n    foo {\n        ^\n",
	},
	{
		"multiroot", "root {\n\tfoo 1:2:3\n}\nroot {\n\tx 1:1:1\n}\n",
		"Error Parsing ASCII PMNS: Multiple name space entries for \"root\"\n",
	},
	{
		"nobrace", "root\n\tfoo 1:2:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: { expected\n    foo 1:2:3\n    ^\n",
	},
	{
		"noroot", "foo {\n\tbar 1:2:3\n}\n",
		"Error Parsing ASCII PMNS: No name space entry for \"root\"\n",
	},
	{
		"noroot2", "root {\n\tfoo\n}\n",
		"Error Parsing ASCII PMNS: Cannot find definition for non-terminal node \"foo\" in name space\n",
	},
	{
		"orphan", "root {\n\tfoo 1:2:3\n}\nbar {\n\tx 1:1:1\n}\nbar.y {\n z 1:1:2\n}\n",
		"Error Parsing ASCII PMNS: Disconnected subtree (\"bar.y\") in name space\nError Parsing ASCII PMNS: Disconnected subtree (\"bar\") in name space\n",
	},
	{
		"pathdots", "root {\n a\n}\na..b {\n}\na. {\n}\n",
		"Error Parsing ASCII PMNS: Cannot find definition for non-terminal node \"a\" in name space\n",
	},
	{
		"pathin", "root {\n\tfoo.bar 1:2:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME or }\n    foo.bar 1:2:3\n    ^\n",
	},
	{
		"seenhash", "root {\n\tfoo\n}\nfoo {\n}\nroot2 {\n}\n",
		"Error Parsing ASCII PMNS: Disconnected subtree (\"root2\") in name space\n",
	},
	{
		"startbrace", "{\n\tfoo 1:2:3\n}\n",
		"[F:1] Error Parsing ASCII PMNS: Expected NAME or PATH\n    {\n    ^\n",
	},
	{
		"trailspace", "root {\n x 1:2:3 \n -- \n}\n",
		"[F:3] Error Parsing ASCII PMNS: Expected NAME or }\n    -- \n    ^\n",
	},
	{
		"us", "root {\n _x 1:2:3\n}\n",
		"[F:2] Error Parsing ASCII PMNS: Expected NAME or }\n    _x 1:2:3\n    ^\n",
	},

	{
		"longline", "root {\n\t" + strings.Repeat("a", 300) + " 1:2:3\n}\n",
		"[F:1] Error Parsing ASCII PMNS: Absurdly long line, cannot recover\n    " + strings.Repeat("a", 255) + "\n         ^\n",
	},
	{
		"longspace", "root {\n\t" + strings.Repeat("a", 100) + strings.Repeat(" ", 300) + "1:2:3\n}\n",
		"[F:1] Error Parsing ASCII PMNS: Absurdly long line, cannot recover\n    " +
			strings.Repeat("a", 100) + strings.Repeat(" ", 155) + "\n         ^\n",
	},
}

// inDir changes to a new directory with a file F.
func inDir(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("F", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestErrors(t *testing.T) {
	for _, f := range badFiles {
		t.Run(f.name, func(t *testing.T) {
			inDir(t, f.text)
			_, err := Load("F", true)
			var pe *ParseError
			if !errors.As(err, &pe) || !errors.Is(err, pcp.ErrPMNS) {
				t.Fatalf("Load = %v, want a ParseError of %v", err, pcp.ErrPMNS)
			}
			if pe.Diagnostic != f.want {
				t.Errorf("Diagnostic:\n%s\nwant:\n%s", pe.Diagnostic, f.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Error() = %q, want one line", err)
			}
		})
	}
}

// TestOracleErrors compares badFiles with the real pminfo.
func TestOracleErrors(t *testing.T) {
	pminfo := realTool(t, "pminfo")
	for _, f := range badFiles {
		t.Run(f.name, func(t *testing.T) {
			inDir(t, f.text)
			var stderr bytes.Buffer
			cmd := exec.Command(pminfo, "-n", "F", "-m", "x")
			cmd.Stderr = &stderr
			if err := cmd.Run(); err == nil {
				t.Fatal("pminfo accepts the file")
			}
			got, _, ok := strings.Cut(stderr.String(), "pminfo: Cannot load namespace")
			if !ok || got != f.want {
				t.Errorf("pminfo says:\n%s\nwant:\n%s", stderr.String(), f.want)
			}
		})
	}
}

func realTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("real PCP is not installed: %v", err)
	}
	return path
}

func TestDuplicateID(t *testing.T) {
	inDir(t, "root {\n\tfoo 1:2:3\n\tmany 4:*:*\n\tmore 4:*:*\n\tsub\n}\nsub {\n\tbar 1:2:3\n}\n")
	tree, err := Load("F", true)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := tree.Names(pcp.NewPMID(1, 2, 3)); err != nil || strings.Join(names, " ") != "sub.bar foo" {
		t.Errorf("Names = %q, %v", names, err)
	}
	_, err = Load("F", false)
	var pe *ParseError
	want := "Error Parsing ASCII PMNS: Duplicate metric id (1.2.3) in name space for metrics \"sub.bar\" and \"foo\"\n\n"
	if !errors.As(err, &pe) || pe.Diagnostic != want {
		t.Fatalf("Load with dupOK false = %v, want %q", err, want)
	}
	cmd := exec.Command(realTool(t, "pminfo"), "-N", "F")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("pminfo -N says %q, want %q", out, want)
	}
}

func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none")
	_, err := Load(path, true)
	var pe *ParseError
	if !errors.As(err, &pe) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("Load(%s) = %v", path, err)
	}
	if want := "Error Parsing ASCII PMNS: Cannot open \"" + path + "\"\n"; pe.Diagnostic != want {
		t.Errorf("Diagnostic = %q, want %q", pe.Diagnostic, want)
	}
	_, err = Load(dir, true)
	want := "pmcpp: " + dir + ":\npmcpp: Error: No such file or directory\n" +
		"Error Parsing ASCII PMNS: pmcpp returned non-zero exit status\n"
	if !errors.As(err, &pe) || pe.Diagnostic != want {
		t.Errorf("Load(%s) = %v, want %q", dir, err, want)
	}
}

// TestHarmless has files that look wrong but that the C library accepts.
func TestHarmless(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		inDir(t, text)
		tree, err := Load("F", true)
		if err != nil {
			t.Errorf("Load of %q: %v", text, err)
			return
		}
		var got []string
		for name, id := range tree.All() {
			got = append(got, name+"="+id.String())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("Load of %q has %q, want %q", text, s, want)
		}
	}
	f("root\n", "")
	f("root {\n}\n", "")
	f("root {\n foo 1:2:3\n", "foo=1.2.3")
	f("root {\n foo 1:2:3\n}", "foo=1.2.3")
	f("root { foo 1:2:3 bar 1:2:4 }\n", "foo=1.2.3 bar=1.2.4")
	f("root {\n\tfoo  1 : 2 : 3\n\tbar 5: *:*\n}\n", "foo=1.2.3 bar=5.*.*")
	f("root {\n foo 1:2:3:4\n}\n", "foo=1.2.3")
	f("root {\n foo 5\n}\n", "foo=5.*.*")
	f("root {\n a\n}\na {\n}\n", "")
	f("root {\n x 510:4095:1023\n y 0:0:0\n}\n", "x=510.4095.1023 y=0.0.0")
	f("/* a */ root { /* b\n c */ foo 1:2:3 }\n", "foo=1.2.3")
	f("#define D 7\nroot {\n foo D:2:3\n bar D:*:*\n}\n", "foo=7.2.3 bar=7.*.*")
	f("b {\n c 1:1:1\n}\nroot {\n a 1:1:2\n b\n}\n", "a=1.1.2 b.c=1.1.1")
}

func TestLimits(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, err := Parse(strings.NewReader(text), "F", true)
		if !errors.Is(err, pcp.ErrPMNS) || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse of %.60q... = %v, want %q", text, err, want)
		}
	}
	deep := "root {\n a\n}\n"
	for path := "a"; len(path) < 250; path += ".a" {
		deep += path + " {\n a\n}\n"
	}
	f(deep, `Cannot find definition`)
	f("root {\n x 1:2:99999999999999999999\n}\n", "Illegal item field")
	f("root {\n x 99999999999999999999:*:*\n}\n", "Illegal domain field in dynamic PMID")
}

// TestStdPMID loads a file of names that includes stdpmid without an installed name space.
func TestStdPMID(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "root")
	if err := os.WriteFile(path, []byte("#include <stdpmid>\nroot {\n\tmem\tLINUX:1:2\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	l := Loader{IncludeDirs: []string{filepath.Join(dir, "none")}}
	tree, err := l.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := tree.Lookup("mem"); err != nil || id != pcp.NewPMID(60, 1, 2) {
		t.Errorf("mem is %v, %v, want 60.1.2", id, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stdpmid"), []byte("#define LINUX 61\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if tree, err = l.Load(path); err != nil {
		t.Fatal(err)
	}
	if id, err := tree.Lookup("mem"); err != nil || id != pcp.NewPMID(61, 1, 2) {
		t.Errorf("with a file stdpmid mem is %v, %v, want 61.1.2", id, err)
	}
}
