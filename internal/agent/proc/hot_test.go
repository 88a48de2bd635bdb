package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

func TestPredicate(t *testing.T) {
	s := &subject{uid: 7, gid: 8, uname: "ada", gname: "users", fname: "sh", psargs: "sh -c x", ctxswitch: 5, cpuburn: 0.5, virtualsize: 10}
	for text, want := range map[string]bool{
		"true": true, "false": false, "!false": true, "uid == 7 && gid == 9": false, "uid == 7 || gid == 9": true,
		`uname == "ada"`: true, `uname != "ada"`: false, `psargs ~ /-c/`: true, `psargs !~ /-c/`: false, "cpuburn > 0.4": true,
		"cpuburn > .4 && ctxswitch >= 5 && virtualsize <= 10": true, "true || false && false": true, "(true || false) && false": false,
		`psargs ~ /\(x\|y\)$/`: true, `psargs ~ /(x|y)$/`: false, "# nothing\nVersion 1.0 uid < 8": true,
	} {
		p, err := parsePredicate(text)
		if err != nil || p == nil || p.test(s) != want {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for text, want := range map[string]string{
		"uid ==":                   "line 1: the end instead of a value",
		"\n\nuid = 1":              "line 3: illegal character '='",
		"Version 3 true":           `version "3", not 1.0`,
		"color == 1":               `"color" is not a variable`,
		`uid == "x"`:               "== cannot compare",
		"true true":                `"true" after the predicate`,
		"(true":                    "the end instead of )",
		"psargs ~ /[/":             "pattern",
		strings.Repeat("(", 1000):  "levels",
		strings.Repeat("!", 1000):  "levels",
		strings.Repeat(" ", 1<<20): "more than",
		`"never ends`:              "without an end",
	} {
		if p, err := parsePredicate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, %v, want %q", text, p, err, want)
		}
	}
	if p, err := parsePredicate(" # nothing\n"); p != nil || err != nil {
		t.Errorf("empty: %v, %v", p, err)
	}
}

// TestHot measures processes of a tree over intervals of its own clock.
func TestHot(t *testing.T) {
	tr := newTree(t)
	tr.write("proc/stat", "cpu  1 2 3 10000 5\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 1\n")
	a := New(Config{Root: tr.dir})
	now := time.Unix(1000, 0)
	a.hot.now = func() time.Time { return now }
	if got := get(t, a, root, "hotproc.nprocs")[-1]; got != "0" {
		t.Errorf("%s hot processes without a predicate", got)
	}
	if err := store(t, a, root, "hotproc.control.config", pcp.StringValue(`cpuburn > 0.2`)); err != nil {
		t.Fatal(err)
	}
	if err := store(t, a, root, "hotproc.control.refresh", pcp.Uint32Value(4)); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, root, "hotproc.nprocs")[-1]; got != "0" {
		t.Errorf("%s hot processes before anything is measured", got)
	}
	// Process 77 uses two seconds of four.
	tr.write("proc/77/stat", strings.Replace(statLine(77, "busy", "R", 0, 4000), " 125 126 ", " 225 226 ", 1))
	tr.write("proc/stat", "cpu  1 2 3 10400 5\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 1\n")
	now = now.Add(3 * time.Second)
	if got := get(t, a, root, "hotproc.nprocs")[-1]; got != "0" {
		t.Errorf("%s hot processes before the interval is over", got)
	}
	now = now.Add(time.Second)
	for name, want := range map[string]map[int32]string{
		"hotproc.nprocs":                     {-1: "1"},
		"hotproc.psinfo.cmd":                 {77: `"busy"`},
		"hotproc.psinfo.utime":               {77: "2250"},
		"hotproc.predicate.cpuburn":          {77: "5.000000e-01"},
		"hotproc.predicate.virtualsize":      {77: "4000"},
		"hotproc.total.cpuburn":              {-1: "5.000000e-01"},
		"hotproc.total.cpuidle":              {-1: "1.000000e+00"},
		"hotproc.total.cpuother.transient":   {-1: "5.000000e-01"},
		"hotproc.total.cpuother.not_cpuburn": {-1: "0.000000e+00"},
		"hotproc.total.cpuother.percent":     {-1: "5.000000e+01"},
		"hotproc.control.config":             {-1: `"(cpuburn > 0.200000)"`},
		"hotproc.control.config_gen":         {-1: "1"},
		"hotproc.control.refresh":            {-1: "4"},
	} {
		if got := get(t, a, root, name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if err := store(t, a, root, "hotproc.control.config", pcp.StringValue("uid = 1")); !errors.Is(err, pcp.ErrBadStore) {
		t.Errorf("a wrong predicate: %v", err)
	}
	if got := get(t, a, root, "hotproc.nprocs")[-1]; got != "1" {
		t.Errorf("%s hot processes after a wrong predicate", got)
	}
	if err := store(t, a, root, "hotproc.control.config", pcp.StringValue("")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, root, "hotproc.nprocs")[-1]; got != "0" || get(t, a, root, "hotproc.control.config_gen")[-1] != "0" {
		t.Errorf("%s hot processes without a predicate", got)
	}
	if err := store(t, a, client(5, 5), "hotproc.control.config", pcp.StringValue("true")); !errors.Is(err, pcp.ErrPermission) {
		t.Errorf("a predicate of another user: %v", err)
	}
}

func TestHotConfig(t *testing.T) {
	tr := newTree(t)
	path := filepath.Join(tr.dir, "hotproc.conf")
	cfg := Config{Root: tr.dir, HotConfig: []string{filepath.Join(tr.dir, "none"), path}}
	tr.write("hotproc.conf", "Version 1.0\nuname == \"ada\"\n")
	a := New(cfg)
	if got := get(t, a, root, "hotproc.control.config")[-1]; got != `"(uname == "ada")"` {
		t.Errorf("predicate %s", got)
	}
	if got := get(t, a, root, "hotproc.psinfo.pid"); len(got) != 6 {
		t.Errorf("hot are %v", got)
	}
	tr.write("hotproc.conf", "uid == 1\n")
	if err := store(t, a, root, "hotproc.control.reload_config", pcp.Uint32Value(1)); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, root, "hotproc.control.config")[-1]; got != `"(uid == 1)"` {
		t.Errorf("predicate %s", got)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := store(t, a, root, "hotproc.control.reload_config", pcp.Uint32Value(1)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that all may write: %v", err)
	}
}
