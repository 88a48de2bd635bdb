package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEnviron(t *testing.T) {
	home := t.TempDir()
	conf := filepath.Join(home, "pcp.conf")
	write := func(path, text string) {
		t.Helper()
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(conf, "PCP_VAR_DIR=/var/other\nOTHER=x\nPCP_BIN_DIR="+home+"\nPCP_BAD-NAME=x\n")
	write(filepath.Join(home, ".pcp", "pcp.conf"), "PCP_VAR_DIR=/var/mine\nMINE=y\nSET=z\n")
	c := New(env("PCP_CONF", conf, "HOME", home, "SET", "here", "PATH", "/bin", "PCP_USER", "me"))
	got := c.Environ()
	for _, want := range []string{"PCP_VAR_DIR=/var/other", "MINE=y", "PCP_ENV_DONE=y", "PCP_LOG_DIR=/var/log/pcp"} {
		if !slices.Contains(got, want) {
			t.Errorf("Environ() lacks %q: %q", want, got)
		}
	}
	for _, bad := range []string{"OTHER=x", "SET=z", "PCP_BAD-NAME=x", "PCP_VAR_DIR=/var/mine", "PCP_USER=pcp"} {
		if slices.Contains(got, bad) {
			t.Errorf("Environ() has %q", bad)
		}
	}
	path := strings.Split(strings.TrimPrefix(got[len(got)-1], "PATH="), ":")
	if !slices.Contains(path, home) || path[len(path)-1] != "/bin" {
		t.Errorf("Environ() ends with the path %q, want %s in it and /bin last", path, home)
	}

	// Without a file scripts must not assume that it was read.
	if got := New(env("PCP_CONF", "/no/such", "PATH", "")).Environ(); slices.Contains(got, "PCP_ENV_DONE=y") {
		t.Errorf("without pcp.conf: %q", got)
	}
}
