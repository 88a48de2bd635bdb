package interop

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmapi"
)

// TestJanitorArchives records, begins new archives, and compresses those that ended: the real tools
// read all of them as before, and join them.
func TestJanitorArchives(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
	c, err := pmapi.Dial(t.Context(), d.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	bases := []string{filepath.Join(dir, "one"), filepath.Join(dir, "three"), filepath.Join(dir, "two")}
	said := make(volumes, 100)
	r, err := pmlogger.New(t.Context(), c, pmlogger.Config{Archive: bases[0], Version: 2, Volume: pmlogger.Size{Samples: 4}, Size: pmlogger.Size{Samples: 30}, Log: said})
	if err != nil {
		t.Fatal(err)
	}
	const config = "log mandatory on once { sample.string }\nlog mandatory on every 20 msec { sample.seconds sample.bin sample.colour sample.dynamic.discrete }\n"
	if _, err := r.Configure(t.Context(), strings.NewReader(config), "config"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(t.Context()) }()
	for _, base := range []string{bases[2], bases[1]} {
		<-said // eight samples
		<-said
		var rotated error
		err := r.Call(t.Context(), func() { rotated = r.Rotate(context.WithoutCancel(t.Context()), base) })
		if err := errors.Join(err, rotated); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; !errors.Is(err, pmlogger.ErrSampleLimit) {
		t.Fatalf("the recorder ended with %v", err)
	}
	dumps := make(map[string]string)
	for _, base := range bases {
		if said := realTool(t, "pmlogcheck", base); said != "" {
			t.Errorf("pmlogcheck of %s: %s", filepath.Base(base), said)
		}
		dumps[base] = realTool(t, "pmdumplog", "-adils", base)
	}
	list, err := janitor.List(dir)
	if err != nil || len(list) != len(bases) {
		t.Fatalf("%d archives, %v", len(list), err)
	}
	for _, a := range list {
		made, err := janitor.CompressArchive(t.Context(), a, janitor.XZ, false)
		if err != nil || len(made) < 3 {
			t.Fatalf("%s: %q, %v", a.Base, made, err)
		}
		if got := realTool(t, "pmdumplog", "-adils", a.Base); got != dumps[a.Base] {
			t.Errorf("%s is another archive when it is compressed:\n%s", a.Base, twin.FirstDifference([]byte(dumps[a.Base]), []byte(got)))
		}
	}
	joined := filepath.Join(dir, "all")
	realTool(t, "pmlogextract", bases[0], bases[2], bases[1], joined)
	if dump := realTool(t, "pmdumplog", "-a", joined); strings.Contains(dump, "<mark>") {
		t.Error("archives that follow each other are joined with a mark")
	}
	if got := strings.Count(realTool(t, "pmdumplog", joined, "sample.seconds"), "sample.seconds"); got != 27 {
		t.Errorf("%d samples in the joined archive, want 27: 30 but for those taken once in each", got)
	}
}

// volumes is a log that reports new volumes.
type volumes chan struct{}

func (v volumes) Write(b []byte) (int, error) {
	if strings.HasPrefix(string(b), "New log volume") {
		v <- struct{}{}
	}
	return len(b), nil
}

// realTool runs a real tool, which must succeed, and returns its output.
func realTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out := oracle.Run(t, name, args...)
	if out.Exit != 0 {
		t.Fatalf("%s %q: status %d\n%s%s", name, args, out.Exit, out.Stdout, out.Stderr)
	}
	return out.Stdout + out.Stderr
}
