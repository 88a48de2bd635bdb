package recorded

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func testEnv(vars map[string]string) *cli.Env {
	return &cli.Env{Getenv: func(name string) string { return vars[name] }}
}

// TestDirs follows the environment.
func TestDirs(t *testing.T) {
	env := testEnv(map[string]string{"PCP_ARCHIVE_DIR": "/a", "PCP_LOG_DIR": "/l", "XDG_STATE_HOME": "/s"})
	if got, want := Dirs(env, true), []string{"/a", "/l/pmproxy", "/s/pcp/pmlogger"}; !slices.Equal(got, want) {
		t.Errorf("Dirs: %q, want %q", got, want)
	}
	if got := Dirs(env, false); len(got) != 2 {
		t.Errorf("Dirs of a daemon: %q", got)
	}
}

// TestList keeps a list for each server.
func TestList(t *testing.T) {
	home := t.TempDir()
	env := testEnv(map[string]string{"HOME": home})
	l := ListOf(env, DefaultServer)
	if got := l.Paths(); got != nil {
		t.Errorf("at first: %q", got)
	}
	before := l.Stamp()
	for _, path := range []string{"/x/a", "/x/b", "/x/a"} {
		if err := l.Add(path); err != nil {
			t.Fatal(err)
		}
	}
	if now := l.Stamp(); now == before || now != l.Stamp() {
		t.Error("the stamp does not tell what changed")
	}
	if got := ListOf(env, "").Paths(); !slices.Equal(got, []string{"/x/a", "/x/b"}) {
		t.Errorf("Paths: %q", got)
	}
	other := ListOf(env, Server("[::1]/..", "7000"))
	if got := other.Paths(); got != nil {
		t.Errorf("of another server: %q", got)
	}
	if dir := filepath.Dir(other.Index()); dir != filepath.Join(home, ".cache", "pcp") || other.Index() == l.Index() {
		t.Errorf("Index: %s, %s", other.Index(), l.Index())
	}
	if err := l.Add("a\nb"); err == nil || !strings.Contains(err.Error(), "new line") {
		t.Errorf("Add: %v", err)
	}
	// A line truncated while it was written does not count.
	f, err := os.OpenFile(filepath.Join(home, ".cache", "pcp", "series.paths"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("/y")
	f.Close()
	if got := l.Paths(); len(got) != 2 {
		t.Errorf("with a line that was cut: %q", got)
	}
	nowhere := ListOf(testEnv(nil), "x:1")
	if nowhere.Index() != "" || nowhere.Paths() != nil || nowhere.Add("/x") == nil {
		t.Error("there is a list without a home")
	}
}

// TestServer fills in defaults.
func TestServer(t *testing.T) {
	for _, c := range [][3]string{{"", "", DefaultServer}, {"127.0.0.1", "", DefaultServer}, {"", "7000", "localhost:7000"}, {"::2", "1", "[::2]:1"}} {
		if got := Server(c[0], c[1]); got != c[2] {
			t.Errorf("Server(%q, %q) = %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
