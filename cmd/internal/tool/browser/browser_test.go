package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func testEnv(vars map[string]string) *cli.Env {
	return &cli.Env{Name: "pcp chart", Getenv: func(name string) string { return vars[name] }}
}

// programs makes a directory of programs that do nothing.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	dir := programs(t, "browse")
	for _, c := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"PATH": dir}, "[]"},
		{map[string]string{"PATH": dir, "BROWSER": "missing"}, "[]"},
		{map[string]string{"PATH": dir, "BROWSER": "browse %s"}, "[]"},
		{map[string]string{"PATH": dir, "BROWSER": "browse"}, fmt.Sprintf("[%s/browse]", dir)},
	} {
		if got := fmt.Sprint(find(testEnv(c.vars))); got != c.want {
			t.Errorf("%v: %s, want %s", c.vars, got, c.want)
		}
	}
}
