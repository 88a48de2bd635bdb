package pmcd

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
)

// TestAgentEnv checks that agents get what pcp.conf has, and that the
// environment comes first.
func TestAgentEnv(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pcp.conf")
	if err := os.WriteFile(path, []byte("# a comment\nPCP_VAR_DIR=/var/lib/pcp\nPCP_TMP_DIR=/var/lib/pcp/tmp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"PCP_CONF": path, "PCP_TMP_DIR": "/elsewhere"}[name]
	}
	got := agentEnv(&cli.Env{Getenv: getenv}, config.New(getenv))
	if want := []string{"PCP_VAR_DIR=/var/lib/pcp"}; !slices.Equal(got, want) {
		t.Errorf("agentEnv = %q, want %q", got, want)
	}
}
