package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func TestWithHostRoot(t *testing.T) {
	good := t.TempDir()
	if err := os.MkdirAll(filepath.Join(good, "proc/1"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := func(setting, option, want, wantErr string) {
		t.Helper()
		vars := map[string]string{"PCP_CONF": os.DevNull, "PCP_HOST_ROOT": setting, "OTHER": "kept"}
		env, err := cli.WithHostRoot(&cli.Env{Getenv: func(name string) string { return vars[name] }}, option)
		if wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), wantErr) {
				t.Errorf("setting %q, option %q: %v, want %q", setting, option, err, wantErr)
			}
			return
		}
		if got := env.Config().Get("PCP_HOST_ROOT"); err != nil || got != want || env.Getenv("OTHER") != "kept" {
			t.Errorf("setting %q, option %q: %q, %v, want %q", setting, option, got, err, want)
		}
	}
	f("", "", "", "")
	f(good, "", good, "")
	f("", good, good, "")
	f("/none", good, good, "")
	f("", "host", "", "must be an absolute path")
	f(good, "/none", "", "/none/proc/1: no such file or directory; mount the root directory of the host at /none")
	f("/none", "", "", "/none/proc/1: no such file")
}
