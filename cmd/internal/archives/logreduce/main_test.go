package logreduce

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
)

func TestMain(m *testing.M) { twin.Main(m, Command) }

// runTool runs our tool or the real one in dir; the output archive is out.
func runTool(t *testing.T, ours bool, dir string, env []string, args ...string) twin.Made {
	t.Helper()
	return twin.Call{Tool: "pmlogreduce", Args: args, Dir: dir, Env: env}.Make(t, ours)
}

// suiteDir is the directory of archives of the installed QA suite.
var suiteDir = filepath.Join(twin.SuiteRoot, "archives")

// compare runs both tools and returns which of stdout, stderr, status and files differ,
// "" if none do.
func compare(t *testing.T, env []string, args ...string) string {
	t.Helper()
	return twin.CompareMade(t, twin.Call{Tool: "pmlogreduce", Args: args, Env: env}, excused)
}

// excused reports whether the real tool gives up for a reason of its own.
func excused(want, got twin.Made) bool {
	// It seeks back to the end of the last interval, through an index that names
	// offsets beyond the end of the file. We stay there.
	return want.Status == 1 && got.Status == 0 && bytes.Contains(want.Err, []byte("doscan: Error: pmFetch failed: Corrupted record"))
}
