package logreduce

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }

// runTool runs ours or the real one in dir; the output archive is out.
func runTool(t *testing.T, ours bool, dir string, env []string, args ...string) twin.Made {
	t.Helper()
	return twin.Call{Tool: "pmlogreduce", Args: args, Dir: dir, Env: env}.Make(t, ours)
}

// suiteDir is where the installed QA suite keeps archives.
var suiteDir = filepath.Join(twin.SuiteRoot, "archives")

// compare runs both tools and tells in which of stdout, stderr, status and files
// they differ, "" if in none.
func compare(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return twin.CompareMade(t, twin.Call{Tool: "pmlogreduce", Args: args, Env: env}, excused)
}

// excused tells where the real one gives up for a reason of its own.
func excused(want, got twin.Made) bool {
	// It goes back to where the last interval ended, by way of an index
	// that names places behind the end of the file. We stay there.
	return want.Status == 1 && got.Status == 0 && bytes.Contains(want.Err, []byte("doscan: Error: pmFetch failed: Corrupted record"))
}
