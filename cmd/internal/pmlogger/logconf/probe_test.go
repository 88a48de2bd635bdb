package logconf

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/pmapi"
)

// recordedContext opens an archive with a number, a string and a metric with two instances.
func recordedContext(t *testing.T) *pmapi.Context {
	t.Helper()
	im, err := importer.Start(filepath.Join(t.TempDir(), "archive"), importer.Options{Host: "cellar", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	metric := func(name string, spec importer.Spec) importer.Metric {
		m, err := im.NewMetric(name, spec)
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	number := metric("a.number", importer.Spec{Type: pcp.TypeDouble})
	text := metric("a.text", importer.Spec{Type: pcp.TypeString})
	set := metric("a.set", importer.Spec{Type: pcp.TypeU32, InDom: im.NewInDom()})
	for i := range 3 {
		number.PutDouble(12.5)
		text.PutString("hello world")
		for k, name := range []string{"one", "two"} {
			inst, err := set.Instance(name)
			if err != nil {
				t.Fatal(err)
			}
			inst.PutInt(int64(10 * (k + 1)))
		}
		if err := im.Write(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	a, err := pmapi.OpenArchive(im.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a.Context
}

// TestConditions evaluates conditions with the values of an archive.
func TestConditions(t *testing.T) {
	f := func(condition string, want bool) {
		t.Helper()
		c := recordedContext(t)
		tree := fstest.MapFS{"g": {Data: []byte(head + "probe " + condition + " ? include : exclude\n\tx\n")}}
		warned := ""
		text, err := Generate(t.Context(), c, tree, Config{Warn: func(msg string) { warned += msg }})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "\n#+ g:y:default:\n"); got != want || got == strings.Contains(string(text), "\n#+ g:x::\n") {
			t.Errorf("%s: included is %v\n%s%s", condition, got, warned, text)
		}
	}
	f("a.number exists", true)
	f("a.other exists", false)
	f("a exists", false)
	f("a.number values", true)
	f("a.number == 12.5", true)
	f("a.number != 12.5", false)
	f("a.number > 12", true)
	f("a.number > 12.5", false)
	f("a.number >= 0x1p3", true)
	f("a.number < nan", false)
	f("a.number != nan", true)
	f("a.number <= 12.5", true)
	f("a.number == 12.5x", true) // not a number: as in C
	f("a.number ~ ^12[.]5", true)
	f("a.number !~ ^12[.]5", false)
	f("a.number ~ (", true) // not a valid expression: as in C
	f("a.text ~ wor+ld$", true)
	f(`a.text ~ \w+`, true)
	f("a.text ~ xyz", false)
	f("a.text == hello", false)
	f("a.text > hello", true)
	f("a.text <= hello", false)
	f("a.set == 20", true) // some instance matches
	f("a.set == 15", false)
	f("a.set < 15", true)
	f("a.set > 20", false)
	f("a.set !~ 10", true)
	f("a.set ~ 30", false)
}

// TestInclude checks that available groups are included, and no others.
func TestInclude(t *testing.T) {
	tree := fstest.MapFS{
		"available": {Data: []byte(head + "probe a.number exists ? available : exclude\n\ta.number\n")},
		"other":     {Data: []byte(head + "probe a.number exists ? available : exclude\n\ta.text\n")},
		"absent":    {Data: []byte(head + "probe a.other exists ? available : exclude\n\ta.other\n")},
		"wrong":     {Data: []byte(head + "probe a.number exists ? available : exclude\n\ta.set\n")},
	}
	warned := ""
	text, err := Generate(t.Context(), recordedContext(t), tree, Config{
		Include: map[string]string{"available": "5 minutes", "absent": "5 minutes", "wrong": "5 parsecs"},
		Warn:    func(msg string) { warned += msg },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n#+ available:y:5 minutes:\n", "log advisory on 5 minutes {\n\ta.number\n}", "\n#+ other:n:default:\n", "\n#+ absent:x::\n", "\n#+ wrong:n:default:\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(warned, "wrong: ") || strings.Count(warned, "\n") != 1 {
		t.Errorf("warnings: %q", warned)
	}
}
