package conf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
)

const sample = `# a comment
[options]
width = 9
header: no
interval = 2s

[global]
kernel.all.load = ,,,,4
[set]
width = 012
timestamp = yes
disk.dev.read = reads,"sd.*",,raw,8,2,-100
x = foo.bar
  ; within a value
x.label = "%%busy"
x.formula = 100 *
   ( a

   + b, c )
x.instances = 'one'
mem.util.free = %(width)s
`

func Example() {
	c := conf.New(conf.PmrepKeys())
	if err := c.Read("a.conf", "[vm]\nkernel.all.intr = intr,,,,6\nmem.util.free = free,,MB,,6\n"); err != nil {
		fmt.Println(err)
	}
	list, err := c.Select([]string{":vm", "disk.all.total,,,,raw"}, true)
	for _, m := range list {
		fmt.Printf("%s label %q unit %q type %q\n", m.Name, m.Label, m.Unit, m.Type)
	}
	fmt.Println(err)
	// Output:
	// kernel.all.intr label "intr" unit "" type ""
	// mem.util.free label "free" unit "MB" type ""
	// disk.all.total label "" unit "" type "raw"
	// <nil>
}

func TestConfig(t *testing.T) {
	c := conf.New(conf.PmrepKeys())
	if err := c.Read("a.conf", sample); err != nil {
		t.Fatal(err)
	}
	s := conf.Settings{"header": "1", "width": "0"}
	if err := c.Apply(s, "a.conf", "set"); err != nil {
		t.Fatal(err)
	}
	want := conf.Settings{"header": "0", "width": "12", "interval": "2s", "timestamp": "1"}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	list, err := c.Select([]string{"disk.dev.read,again", ":set", "disk.dev.read,last"}, true)
	if err != nil {
		t.Fatal(err)
	}
	wantList := []conf.Metric{
		{Name: "kernel.all.load", Width: "4"},
		{Name: "disk.dev.read", Label: "reads", Instances: []string{"sd.*"}, Type: "raw", Width: "8", Precision: "2", Limit: "-100"},
		{Name: "foo.bar", Label: "%busy", Formula: "100 *\n( a\n\n+ b, c )", Instances: []string{"'one'"}},
		{Name: "mem.util.free", Label: "012"},
	}
	if d := cmp.Diff(wantList, list); d != "" {
		t.Error(d)
	}
	if got := conf.Formulas(";y=1", list); got != ";y=1;foo.bar=100 *\n( a\n\n+ b, c )" {
		t.Errorf("Formulas: %q", got)
	}
}

// TestBad checks the messages about invalid files.
func TestBad(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\n":                       "Failed to read configuration file 'f', line 1:\nFile contains no section headers.\nfile: 'f', line: 1\n'a = 1\\n'",
		"[a]\n[a]\n":                    "Failed to read configuration file 'f', line 2:\nWhile reading from 'f' [line  2]: section 'a' already exists",
		"[a]\nb=1\nb=2\n":               "Failed to read configuration file 'f', line 3:\nWhile reading from 'f' [line  3]: option 'b' in section 'a' already exists",
		"[a]\nb\nc\n":                   "Failed to read configuration file 'f', line 2:\nSource contains parsing errors: 'f'\n\t[line  2]: 'b\\n'\n\t[line  3]: 'c\\n'",
		"[options]\nnosuch = 1\n":       "Failed to read configuration file 'f':\nUnknown option nosuch in [options].",
		"[options]\nwidth =\n":          "Failed to read configuration file 'f':\nNo value set for option width in [options].",
		"[global]\nwidth = 1\n":         "Failed to read configuration file 'f':\nSection [global] contains options.",
		"[global]\na.b =\n":             "Failed to read configuration file 'f':\nNo value set for a.b in [global].",
		"[set]\na.b =\n":                "Failed to read configuration file 'f':\nNo value set for a.b in [set].",
		"[set]\na.label = x\n":          "Failed to read configuration file 'f':\nUndeclared metric key a.",
		"[set]\na = b\na.label.b = x\n": "Failed to read configuration file 'f':\ntoo many values to unpack (expected 2).",
		"[set]\na.b = %\n":              "Failed to read configuration file 'f':\nvalue of a.b in [set]: '%' must be followed by '%' or '(', found: '%'.",
		"[set]\na = %(b)s\nb = %(a)s\n": "Failed to read configuration file 'f':\nvalue of a in [set]: more than 10 values within one another.",
		"[other]\n":                     "Metricset definition ':set' not found.",
		// Mistakes in settings are reported first, and in [global] its own lines before those of [DEFAULT].
		"[set]\na = %(b)s\n[options]\nn=1\n":              "Failed to read configuration file 'f':\nUnknown option n in [options].",
		"[DEFAULT]\na.b=\n[global]\nwidth=1\n[set]\n":     "Failed to read configuration file 'f':\nSection [global] contains options.",
		"[set]\n\xc3\xa9=1\na=\xe2\x82(\n":                "Failed to read configuration file 'f':\n'utf-8' codec can't decode bytes in position 13-14: invalid continuation byte.",
		"a=\xc0\xaf":                                      "Failed to read configuration file 'f':\n'utf-8' codec can't decode byte 0xc0 in position 2: invalid start byte.",
		"#" + strings.Repeat("\u00e9", 8192) + "\xf0\x9f": "Failed to read configuration file 'f':\n'utf-8' codec can't decode bytes in position 0-1: unexpected end of data.",
		"[DEFAULT]\nx=1\n[set]\na=%(y)s":                  "Failed to read configuration file 'f':\nvalue of a in [set]: y is not set.",
	} {
		c := conf.New(conf.PmrepKeys())
		err := c.Read("f", text)
		if err == nil {
			err = c.Apply(conf.Settings{}, "f", "set")
		}
		if err == nil {
			_, err = c.Select([]string{":set"}, true)
		}
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestParseMetric(t *testing.T) {
	f := func(spec string, want conf.Metric) {
		t.Helper()
		if d := cmp.Diff(want, conf.ParseMetric(spec)); d != "" {
			t.Errorf("%s: %s", spec, d)
		}
	}
	f("a.b", conf.Metric{Name: "a.b"})
	f("a.b,l", conf.Metric{Name: "a.b", Label: "l"})
	f("a.b,,sda", conf.Metric{Name: "a.b", Instances: []string{"sda"}})
	f("a.b,,'1 minute',MB,,7", conf.Metric{Name: "a.b", Instances: []string{"1 minute"}, Unit: "MB", Width: "7"})
	f(`a.b,,"'x','y'",MB,raw,7,2,9`, conf.Metric{Name: "a.b", Instances: []string{"x", "y"}, Unit: "MB", Type: "raw", Width: "7", Precision: "2", Limit: "9"})
	f("a.b,,'x','y',MB", conf.Metric{Name: "a.b", Instances: []string{"x", "y"}, Unit: "MB"})
	f("a.b,it's", conf.Metric{Name: "a.b", Label: "it's"})
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.conf", "a.conf", "c.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := conf.Files(dir)
	if want := []string{filepath.Join(dir, "a.conf"), filepath.Join(dir, "b.conf")}; err != nil || !cmp.Equal(files, want) {
		t.Errorf("Files = %q, %v", files, err)
	}
	if got := conf.Find(filepath.Join(dir, "no"), dir); got != dir {
		t.Errorf("Find = %q", got)
	}
	if err := conf.Check(filepath.Join(dir, "no")); err == nil || !strings.HasSuffix(err.Error(), ":\nNo such file or directory.") {
		t.Errorf("Check: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample, ":set")
	f.Add("[DEFAULT]\na=%(b)s\nb=%(a)s\n[x]\nc.d=,\n", ":x")
	f.Add("[x]\na=b\na.formula=,,\na.unit=\"\n a.b.c=1", "a,'b,c")
	f.Fuzz(func(t *testing.T, text, arg string) {
		c := conf.New(conf.PmrepKeys())
		if c.Read("f", text) != nil {
			return
		}
		_ = c.Apply(conf.Settings{}, "f", strings.TrimPrefix(arg, ":"))
		for _, name := range c.Metricsets() {
			_, _ = c.Metricset(name)
		}
		_, _ = c.Select([]string{arg}, true)
	})
}
