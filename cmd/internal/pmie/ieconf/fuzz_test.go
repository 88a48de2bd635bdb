package ieconf

import (
	"bytes"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// FuzzRules reads rule files. An accepted file makes a configuration or an error.
func FuzzRules(f *testing.F) {
	fs.WalkDir(BuiltinRules(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, err := fs.ReadFile(BuiltinRules(), path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
		return err
	})
	const globals = "#pmieconf-rules 1\nstring global.delta default=5;string global.holdoff default=0;print global.p default=\"$rule$^\";\n"
	f.Add(globals + "rule a.b default=\"$default$\" predicate=\"$x$\"; string x default=\"$x$$x$\";")
	f.Add(globals + "rule a.b enumerate=\"h h h i\" predicate=\"$h$ $i$\"; hostlist h default=\"a b c d e f g h\"; instlist i default=\"'x y\\\\' z\";")
	f.Add(globals + "rule a.b predicate=\"$u$$d$$p$\";unsigned u default=-1;double d default=1e999;percent p default=nan;")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := LoadFS(fstest.MapFS{"r": {Data: []byte(text)}, "global": {Data: []byte(globals)}}, Config{Now: time.Unix(0, 0)})
		if err != nil {
			return
		}
		for _, r := range s.Rules() {
			s.Summary(r)
			for _, v := range append(r.Vars(), s.Global().Vars()...) {
				v.Value()
			}
			if s.Modify(r, "enabled", "yes") != nil {
				t.Errorf("rule %q cannot be enabled", r.Name)
			}
		}
		s.Generate()
	})
}

// FuzzRead reads configurations. An accepted configuration that is written again is the same
// the next time.
func FuzzRead(f *testing.F) {
	made, err := Generate(Config{Now: time.Unix(0, 0), Zone: time.UTC})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(made)
	f.Add(append(bytes.Clone(made), "mine\n"...))
	const begin = "// pmieconf-pmie 1 " + DefaultPath + "\n"
	f.Add([]byte(begin + "// 1 cpu.util threshold = 50%\n// 0 global delta = \"5 \\\"min\\\\\"\n// 1 per_disk.util disks = \"a 'b c\"\n// 1 memory.exhausted enabled = no\n// end\n"))
	f.Add([]byte(begin + "// end\n//\n// 7 gone.rule\nx\n// 1 cpu.util\ny\n" + endLine + "mine"))
	f.Add([]byte("// pmieconf-pmie 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) ([]byte, error) {
			s, err := Builtin(Config{Now: time.Unix(0, 0), Zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Read(text, nil); err != nil {
				return nil, err
			}
			made, err := s.Generate()
			if err != nil {
				t.Fatalf("read, but not written: %v", err)
			}
			return made, nil
		}
		once, err := read(text)
		if err != nil {
			return
		}
		twice, err := read(once)
		if err != nil {
			t.Fatalf("%v\nin what was written:\n%s", err, once)
		}
		if !bytes.Equal(once, twice) {
			t.Fatalf("written once:\n%s\nand once more:\n%s", once, twice)
		}
	})
}

// TestLimits has rules and configurations that are too large.
func TestLimits(t *testing.T) {
	const globals = "#pmieconf-rules 1\nstring global.delta default=5;string global.holdoff default=0;\n"
	var deep strings.Builder
	deep.WriteString(globals + "rule a.b predicate=\"$v0$\";\n")
	for i := range 40 {
		deep.WriteString("string v" + strconv.Itoa(i) + " default=\"$v" + strconv.Itoa(i+1) + "$$v" + strconv.Itoa(i+1) + "$\";\n")
	}
	deep.WriteString("string v" + "40" + " default=" + strings.Repeat("x", 1000) + ";\n")
	words := strings.Repeat("w ", 1000)
	for name, text := range map[string]string{
		"more than 1048576 bytes":         globals + strings.Repeat("#\n", maxRuleFile),
		"more than 1000 variables":        globals + "rule a.b;" + strings.Repeat("string x;", maxVariables+1),
		"longer than 1048576 bytes":       deep.String(),
		"longer than 16777216 bytes":      globals + "rule a.b predicate=\"" + strings.Repeat("p", 900) + "$h$$i$\" enumerate=\"h i\";hostlist h default=\"" + words + "\";instlist i default=\"" + words + "\";",
		"expected: attribute value":       globals + "rule a.b default = " + strings.Repeat("x", maxToken+1),
		"rule name may not be \"global\"": globals + "rule global.x;",
	} {
		s, err := LoadFS(fstest.MapFS{"r": {Data: []byte(text)}}, Config{})
		if err == nil {
			_, err = s.Generate()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
	s, err := Builtin(Config{File: "conf"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(make([]byte, MaxConfig+1), nil); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a large configuration: %v", err)
	}
	if _, err := Load(t.TempDir()+"/nosuch", Config{}); err == nil || !strings.Contains(err.Error(), "cannot stat") {
		t.Errorf("no directory: %v", err)
	}
	loop, err := LoadFS(fstest.MapFS{"r": {Data: []byte(globals + "rule a.b default=\"$default$\" predicate=p;")}}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := loop.Summary(loop.Rules()[0]); ok {
		t.Errorf("a summary of itself is %q", text)
	}
}
