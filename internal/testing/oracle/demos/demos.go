// Package demos compiles the C programs of the Programmer's Guide for tests: those that
// the pcp package installs with their source, and testdata/guide.c, which has what the guide
// shows in fragments.
//
//	cmd := exec.Command(demos.Build(t, "pmclient"), "-h", host)
package demos

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

const (
	demosDir = "/usr/share/pcp/demos"
	pmdasDir = "/var/lib/pcp/pmdas"
)

//go:embed testdata/guide.c
var guide string

//go:embed testdata/hurry.h
var hurry string

// A program is a program in C.
type program struct {
	dir   string // of its source, "" for guide.c
	libs  []string
	hurry bool   // its pauses are short
	names string // specification of names in dir for pmgenmap, which writes pmnsmap.h
	with  string // a header in dir
	edit  []string
}

// programs returns the table of programs, by the names of their sources without .c.
func programs() map[string]program {
	api, trace := []string{"-lpcp"}, []string{"-lpcp", "-lpcp_trace", "-lm", "-lpthread"}
	return map[string]program{
		"guide":       {libs: []string{"-lpcp_import", "-lpcp"}},
		"pmclient":    {dir: demosDir + "/pmclient", libs: api, names: "pmnsmap.spec"},
		"pmclient_fg": {dir: demosDir + "/pmclient", libs: api},
		// 6.0.3 ships it with a call that lacks an argument.
		"procmemstat": {
			dir: demosDir + "/procmemstat", libs: api, names: "pmnsmap.spec",
			edit: []string{"&scaleunits, &scalemult)", "&scaleunits, &scalemult, &(char *){NULL})"},
		},
		"app1":     {dir: demosDir + "/trace", libs: trace, hurry: true},
		"app2":     {dir: demosDir + "/trace", libs: trace, hurry: true},
		"app3":     {dir: demosDir + "/trace", libs: trace, hurry: true},
		"pmtrace":  {dir: demosDir + "/trace", libs: trace},
		"acme":     {dir: demosDir + "/mmv", libs: []string{"-lpcp_mmv", "-lpcp"}},
		"mmvdump":  {dir: demosDir + "/mmv", libs: api},
		"txmon":    {dir: pmdasDir + "/txmon", libs: []string{"-lpcp_pmda", "-lpcp"}, with: "txmon.h"},
		"txrecord": {dir: pmdasDir + "/txmon", libs: api, with: "txmon.h"},
	}
}

// Build compiles a program and returns its path. Pairs of strings replace text in its source and
// headers. Without a compiler, the headers or the source, the test is skipped, or fails in CI.
// The result is kept in the user's cache directory, unless text was replaced.
func Build(t testing.TB, name string, replace ...string) string {
	t.Helper()
	oracle.Require(t)
	p, ok := programs()[name]
	if !ok {
		t.Fatalf("no program %q", name)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		oracle.Missing(t, "no C compiler")
	}
	if _, err := os.Stat("/usr/include/pcp/pmapi.h"); err != nil {
		oracle.Missing(t, "no headers of libpcp: "+err.Error())
	}
	edit := strings.NewReplacer(append(p.edit, replace...)...)
	files := map[string]string{name + ".c": guide, "hurry.h": hurry}
	for _, file := range []string{name + ".c", p.with, p.names} {
		if p.dir == "" || file == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.dir, file))
		if err != nil {
			oracle.Missing(t, err.Error())
		}
		files[file] = edit.Replace(string(text))
	}
	hash := sha256.New()
	for _, file := range []string{name + ".c", p.with, p.names, "hurry.h"} {
		fmt.Fprintf(hash, "%s\x00%s\x00", file, files[file])
	}
	fmt.Fprint(hash, p.libs, p.hurry)
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	final := filepath.Join(cache, "go-pcp-oracle", fmt.Sprintf("%s-%x", name, hash.Sum(nil)[:8]))
	if len(replace) > 0 {
		final = filepath.Join(t.TempDir(), name)
	}
	if _, err := os.Stat(final); err == nil {
		return final
	}
	must(t, os.MkdirAll(filepath.Dir(final), 0o755))
	dir, err := os.MkdirTemp(filepath.Dir(final), name)
	must(t, err)
	defer os.RemoveAll(dir)
	for file, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	if p.names != "" {
		must(t, os.WriteFile(filepath.Join(dir, "pmnsmap.h"), nameMap(t, files[p.names]), 0o644))
	}
	args := []string{"-w", "-O2", "-I/usr/include/pcp", "-I.", "-I" + p.dir, `-DVERSION="1"`, "-o", name, name + ".c"}
	if p.hurry {
		args = append([]string{"-include", "hurry.h"}, args...)
	}
	cmd := exec.Command(cc, append(args, p.libs...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	// Another test may have been faster: the results are the same.
	must(t, os.Rename(filepath.Join(dir, name), final))
	return final
}

// nameMap returns the header that pmgenmap makes of a specification of names.
func nameMap(t testing.TB, spec string) []byte {
	t.Helper()
	// pmgenmap does not read the conditions of the C preprocessor; one specification has some.
	var names []string
	other := false
	for line := range strings.Lines(spec) {
		switch {
		case strings.HasPrefix(line, "#ifdef"):
			other = !strings.Contains(line, "linux")
		case strings.HasPrefix(line, "#endif"):
			other = false
		case !other:
			names = append(names, line)
		}
	}
	out := oracle.RunStdin(t, strings.Join(names, ""), "pmgenmap")
	if out.Exit != 0 {
		t.Fatalf("pmgenmap: %+v", out)
	}
	return []byte(out.Stdout)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
