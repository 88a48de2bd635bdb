package twin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// program is our program as built for users, for tests that run many tools, or
// daemons.
var program struct {
	wanted bool // TestMain is Built
	once   sync.Once
	dir    string // with links of all classic names in it
	err    error
}

// Built is a TestMain for tests that run the whole program, as built for users. It
// is built when a test first needs it.
func Built(m *testing.M) {
	program.wanted = true
	status := m.Run()
	if program.dir != "" {
		os.RemoveAll(program.dir)
	}
	os.Exit(status)
}

// Tool returns the path of a tool of ours, or as "pcp" that of the program itself, in
// tests whose TestMain is [Built].
func Tool(t testing.TB, name string) string {
	t.Helper()
	if !program.wanted {
		t.Fatal("TestMain is not twin.Built")
	}
	program.once.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "twin"); program.err == nil {
			program.err = build(program.dir)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return filepath.Join(program.dir, name)
}

// build builds our program in a directory, with links of all its classic names
// next to it.
func build(dir string) error {
	pcp := filepath.Join(dir, "pcp")
	for _, cmd := range []*exec.Cmd{
		exec.Command("go", "build", "-o", pcp, "github.com/go-pcp/pcp/cmd/pcp"),
		exec.Command(pcp, "links", dir),
	} {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}
