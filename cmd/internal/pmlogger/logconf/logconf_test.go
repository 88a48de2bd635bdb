package logconf

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/conf"
)

// load creates a Set of files, given by name and text, and returns the warnings too.
func load(t *testing.T, cfg Config, files ...string) (*Set, *strings.Builder) {
	t.Helper()
	var warnings strings.Builder
	cfg.Warn = func(msg string) { warnings.WriteString(msg) }
	tree := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		tree[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	s, err := Load(tree, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.Rules()
	return s, &warnings
}

const head = "#pmlogconf-setup 2.0\n"

func TestGroupFile(t *testing.T) {
	s, warnings := load(t, Config{Dir: "/groups"}, "a/b", head+strings.ReplaceAll(`
# a comment
ident	what it is
  ident   and more
delta   10 minutes_
probe	some.metric   values   ?  include :   available

	one.metric	[ red  green ]
two.metric # as it is
   #not a comment
last`, "_", "  "), ".hidden", head+"force include\n", "v1.0", head+"force include\n", "README", "read me\n")
	if got := warnings.String(); got != "" {
		t.Errorf("warnings: %s", got)
	}
	if len(s.Groups()) != 1 {
		t.Fatalf("%d groups, want 1", len(s.Groups()))
	}
	g := s.Groups()[0]
	want := &Group{Tag: "a/b", Ident: "what it is and more", Metrics: []string{"one.metric\t[ red  green ]", "two.metric # as it is", "#not a comment", "last"}}
	if d := cmp.Diff([]any{want.Tag, want.Ident, want.Metrics}, []any{g.Tag, g.Ident, g.Metrics}); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if g.Delta() != "10 minutes  " || g.metric != "some.metric" || g.style != styleValues || g.ifTrue != Include || g.ifFalse != Available {
		t.Errorf("delta %q, probe %q %v ? %v : %v", g.Delta(), g.metric, g.style, g.ifTrue, g.ifFalse)
	}
}

func TestVersion(t *testing.T) {
	f := func(first string, want bool) {
		t.Helper()
		_, err := parseGroup([]byte(first+"force include\n"), "x")
		if (err == nil) != want {
			t.Errorf("%q: %v, want it taken: %v", first, err, want)
		}
	}
	f("#pmlogconf-setup 2.0\n", true)
	f("#pmlogconf-setup 1.0\n", true)
	f("#pmlogconf-setup 2.7\n", true)
	f("#pmlogconf-setup2.0 ", true)
	f("#pmlogconf-setup 3.1\n", false)
	f("#pmlogconf-setup 4294967298.1\n", true) // as an unsigned int
	f("#pmlogconf-setup 99999999999999999999.1\n", false)
	f("#pmlogconf-setup -2.1\n", false)
	f("#pmlogconf-setup 2\n", false)
	f("#pmlogconf 2.0\n", false)
	f("", false)
}

func TestRules(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		s, warnings := load(t, Config{Dir: "/d"}, "g", head+text+"\n")
		if got := warnings.String(); got != want {
			t.Errorf("%q: warnings %q, want %q", text, got, want)
		}
		if valid := want == "" || strings.Contains(want, "ignoring"); s.Groups()[0].valid != valid {
			t.Errorf("%q: valid is %v", text, !valid)
		}
	}
	f("probe a.b", "")
	f("probe a.b exists", "")
	f("probe a.b == 1 ? exclude : include", "")
	f("force exclude", "")
	f("force sometimes", "Error: /d/g force state \"sometimes\" not recognized\n")
	f("", "Warning: /d/g neither \"probe\" nor \"force\" control lines ... use \"force available\"\n")
	f("force include\nprobe a", "Warning: /d/g \"probe\" and \"force\" control lines ... ignoring \"force\\n")
	f("probe a = 1", "Error: /d/g condition operator \"= 1\" not recognized\n")
	f("probe a >=", "Error: /d/g missing condition operand after >= operator\n")
	f("probe a exists ! include", "Error: /d/g expected \"?\" after condition, found \"! include\"\n")
	f("probe a exists ? never : exclude", "Error: /d/g condition true state \"never : exclude\" not recognized\n")
	f("probe a exists ? include exclude", "Error: /d/g missing \":\" in state rule at \"exclude\"\n")
	f("probe a exists ? include :", "Error: /d/g missing false state\n")
	f("probe a exists ? include : never", "Error: /d/g condition false state \"never\" not recognized\n")
	f("probe a exists ? include : exclude or not", "Error: /d/g extra state rule components: \"or not\"\n")
}

func TestFill(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		var got []string
		for line := range fill(text, 10, 15) {
			got = append(got, line)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got)\n%s", text, d)
		}
	}
	f("")
	f("   ")
	f("short", "short")
	f("  one two three four", "one two three", "four")
	f("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmno", "pqrstuvwxyz")
	f("a\nb\nc", "a\nb\nc")
}

// TestReadKeepsUsersPart checks that the user's part of a configuration is preserved, whatever it contains.
func TestReadKeepsUsersPart(t *testing.T) {
	const mine = "# DO NOT UPDATE THE FILE ABOVE THIS LINE\nlog mandatory on 1 sec { a.b }\n\x00\xff\r\n\n#+ x:y::\n[access]\nallow * : all;"
	s, warnings := load(t, Config{Dir: "/d", File: "f"}, "b", head+"ident new\nforce include\n\tb.c\n")
	const old = "#pmlogconf 2.0\n# my header\n#+ groupdir /other\n#\n" +
		"#+ b:y:default:\n## old\nlog mandatory on default {\n\tx.y\n}\n#----\n" +
		"#+ gone:y:5 sec:\n## it has\n## two lines\nlog advisory on 5 sec {\n\tgone.a\n}\n#----\n"
	if err := s.Read(strings.NewReader(old + mine)); err != nil {
		t.Fatal(err)
	}
	const wantWarnings = "Warning: using base directory for group files from command line (/d) which is different from that in f (/other)\n" +
		"Warning: cannot find group file (gone): no change is possible\n"
	if d := cmp.Diff(wantWarnings, warnings.String()); d != "" {
		t.Errorf("warnings (-want +got)\n%s", d)
	}
	const want = "#pmlogconf 2.0\n# my header\n#+ groupdir /other\n#\n" +
		"#+ b:y:default:\n## new\nlog mandatory on default {\n\tb.c\n}\n#----\n" +
		"#+ gone:y:default:\n## it has two lines\nlog advisory on default {\n\tgone.a\n}\n#----\n" + mine
	if d := cmp.Diff(want, string(s.Update())); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if !s.Changed() {
		t.Error("nothing changed")
	}
}

func TestReadMistakes(t *testing.T) {
	s, warnings := load(t, Config{Dir: "/d", File: "f"}, "b", head+"force available\n")
	if err := s.Read(strings.NewReader("#+ :y::\n#+ b:maybe::\n#+ b:y:10 parsecs:\n#----\n")); err != nil {
		t.Fatal(err)
	}
	want := "missing tag for group at line 1 of f\nmissing state for b at line 2 of f\nignoring b logging interval \"10 parsecs\" on line 3 of f: "
	if got := warnings.String(); !strings.HasPrefix(got, want) {
		t.Errorf("warnings %q, want %q…", got, want)
	}
	if g := s.Groups()[0]; g.Saved != Include || g.saved != nil {
		t.Errorf("state %v, delta %v", g.Saved, g.saved)
	}
}

func TestDialogue(t *testing.T) {
	files := []string{
		"a", head + "ident first\nprobe x\n\ta.one\n\ta.two\n", "b", head + "ident second\nprobe x\ndelta once\n\tb.one\n",
		"c", head + "force include\n\tc.one\n",
	}
	f := func(in, want string) {
		t.Helper()
		s, _ := load(t, Config{}, files...)
		var out bytes.Buffer
		if err := (&Dialogue{In: bufio.NewReader(strings.NewReader(in)), Out: &out}).Run(s); err != nil {
			t.Fatal(err)
		}
		states := ""
		for _, g := range s.Groups() {
			states += " " + g.Tag + "=" + g.Saved.String() + "," + g.Delta()
		}
		if d := cmp.Diff(want, out.String()+states); d != "" {
			t.Errorf("%q (-want +got)\n%s", in, d)
		}
	}
	const a, b = "\nGroup: first\nLog this group? [n] ", "\nGroup: second\nLog this group? [n] "
	f("", a+b+" a=available,default b=available,once c=unset,default")
	f("y\n5 min\nq\n", a+"Logging interval? [default] "+b+". a=include,5 min b=unset,once c=unset,default")
	f("m\n/b.o\ny\nfoo\n\n", a+"Metrics in this group (a):\n    a.one\n    a.two\n"+a+"Searching for \"b.o\"\n"+b+"Logging interval? [once] "+
		"Error: logging interval must be of the form \"once\" or \"default\" or \"<integer> <scale>\",where <scale> is one of \"sec\", \"secs\", \"min\",\"mins\", etc ... try again\n"+
		"Logging interval? [once] "+" a=unset,default b=include,default c=unset,default")
	f("/no\nx\nn\nq\n", a+"Searching for \"no\"\n not found.\nContinue searching from start of the file? [y] "+
		"Error: you must answer \"y\" or \"n\" ... try again\nContinue searching from start of the file? [y] "+a+".. a=unset,default b=unset,once c=unset,default")
}

// documented returns the metrics listed in the pages about agents.
func documented(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../../../docs/metrics/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	var names []string
	name := regexp.MustCompile(`(?m)^## (\S+)$`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			names = append(names, strings.ReplaceAll(m[1], `\`, ""))
		}
	}
	return names
}

// The groups of this project name existing metrics, and no metric is recorded twice.
func TestBuiltin(t *testing.T) {
	names := documented(t)
	known := func(m string) bool {
		return m == "mmv" || m == "openmetrics" || m == "opentelemetry" || m == "perfevent.hwcounters" || slices.ContainsFunc(names, func(n string) bool { return n == m || strings.HasPrefix(n, m+".") })
	}
	var warnings strings.Builder
	s, err := Load(Builtin(), Config{Dir: DefaultDir, Warn: func(msg string) { warnings.WriteString(msg) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Rules()
	if warnings.Len() > 0 {
		t.Errorf("warnings:\n%s", &warnings)
	}
	files := 0
	fs.WalkDir(Builtin(), ".", func(_ string, e fs.DirEntry, _ error) error {
		if !e.IsDir() {
			files++
		}
		return nil
	})
	if len(s.Groups()) != files || files < 60 {
		t.Errorf("%d groups in %d files", len(s.Groups()), files)
	}
	where := map[string]string{}
	for _, g := range s.Groups() {
		if g.Ident == "" || len(g.Metrics) == 0 || !g.valid || checkDelta(g.Delta()) != nil {
			t.Errorf("%s: ident %q, %d metrics, delta %s", g.Tag, g.Ident, len(g.Metrics), g.Delta())
		}
		if g.hasMetric && !known(g.metric) {
			t.Errorf("%s: no page has the metric %s, which is probed", g.Tag, g.metric)
		}
		for _, m := range g.Metrics {
			if !known(m) {
				t.Errorf("%s: no page has the metric %s", g.Tag, m)
			}
			for other, tag := range where {
				if other == m || strings.HasPrefix(m, other+".") || strings.HasPrefix(other, m+".") {
					if m != "hinv.ncpu" && tag != g.Tag {
						t.Errorf("%s: %s is recorded by %s too, as %s", g.Tag, m, tag, other)
					}
				}
			}
			where[m] = g.Tag
		}
		g.final = Include
	}
	// All of it together is a valid configuration.
	var all bytes.Buffer
	for _, g := range s.Groups() {
		s.write(&all, g)
	}
	c, err := conf.Read(&all, "builtin", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, g := range c.Groups {
		for _, m := range g.Metrics {
			got[m.Name] = true
		}
	}
	for m, tag := range where {
		if !got[m] {
			t.Errorf("%s: %s is not in the configuration", tag, m)
		}
	}
}

// TestAdd adds groups to others, whose tags and metrics win.
func TestAdd(t *testing.T) {
	file := func(metrics ...string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("#pmlogconf-setup 2.0\nident it\nforce available\n\t" + strings.Join(metrics, "\n\t") + "\n")}
	}
	s, err := Load(fstest.MapFS{"a/tree": file("redis"), "a/leaf": file("mem.util.free [ one ]", "hinv.ncpu # text")}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Add(fstest.MapFS{
		"a/tree": file("same.tag"), "below": file("new.one", "redis.clients"), "above": file("mem"), "equal": file("hinv.ncpu"),
		"new": file("new.two", "mem.util.freed"), "newer": file("new.two"),
	})
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, g := range s.Groups() {
		tags = append(tags, g.Tag)
	}
	if d := cmp.Diff([]string{"a/leaf", "a/tree", "new", "newer"}, tags); d != "" {
		t.Error(d)
	}
}

// The time for descriptions of very many lines and configurations with very many groups does not grow
// quadratically.
func TestLargeFiles(t *testing.T) {
	s, _ := load(t, Config{}, "g", head+strings.Repeat("ident\n", 170000)+"force include\n")
	if got := len(s.Groups()[0].Ident); got != 169999 {
		t.Errorf("a description of %d bytes", got)
	}
	var b strings.Builder
	const n = 200000
	for i := range n {
		b.WriteString("#+ t" + strconv.Itoa(i) + ":n::\n## \n## \n#----\n")
	}
	b.WriteString("#+ u:n::\n" + strings.Repeat("## \n", n))
	if err := s.Read(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	if got := len(s.Groups()); got != n+2 {
		t.Errorf("%d groups", got)
	}
}

func FuzzGroup(f *testing.F) {
	f.Add([]byte(head + "ident a\nprobe b.c == 1 ? include : exclude\ndelta 1 sec\n\td.e [ f ]\n"))
	f.Add([]byte(head + "force include"))
	f.Add([]byte("#pmlogconf-setup 1.0\nprobe\nident\nforce\ndelta\n\x00\n\t"))
	f.Add([]byte(head + "probe a ~ [ ? available : available\n" + strings.Repeat("x", 2000)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := LoadGroup(bytes.NewReader(text), "fuzz", Config{Dir: "/d"})
		if err != nil {
			return
		}
		s.Rules()
		s.Evaluate()
		s.Report(io.Discard, "all", true, true)
		s.New(nil)
	})
}

// FuzzRead checks that written configurations are read back correctly.
func FuzzRead(f *testing.F) {
	f.Add([]byte("#pmlogconf 2.0\n#+ groupdir /d\n#\n#+ g:y:default:\n## text\nlog advisory on default {\n\ta.b\n}\n#----\n# DO NOT UPDATE THE FILE ABOVE THIS LINE\nmine"))
	f.Add([]byte("#+ g:x::\n#----\n#+ h:n:1 sec:\n## a\n## b\n"))
	f.Add([]byte("#+ :\n#+ a:b:c:d:e\n#+ g:y:once\n}\n\x00\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) []byte {
			s, err := Load(fstest.MapFS{"g": {Data: []byte(head + "ident it\nforce available\n\tx.y\n")}}, Config{Dir: "/d"})
			if err != nil {
				t.Fatal(err)
			}
			s.Rules()
			if err := s.Read(bytes.NewReader(text)); err != nil {
				t.Skip()
			}
			return s.Update()
		}
		once := read(text)
		if i := bytes.Index(text, []byte("\n"+tailLine)); i >= 0 && !bytes.HasSuffix(once, text[i+1:]) {
			t.Errorf("the user's part changed:\n%q\n%q", text[i+1:], once)
		}
		// Groups without a file lose their interval the first time; after that nothing changes.
		twice := read(once)
		if thrice := read(twice); !bytes.Equal(twice, thrice) {
			t.Errorf("not stable:\n%s", cmp.Diff(string(twice), string(thrice)))
		}
	})
}
