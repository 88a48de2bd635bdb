package agentcmd

import (
	"os"
	"testing"
)

func TestConfigOption(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if got := configOption(args); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	f("")
	f("", "pmcd", "-A", "-f")
	f("/x", "pmcd", "-c", "/x", "-f")
	f("/x", "pmcd", "-f", "-c/x")
	f("/x", "pmcd", "--config=/x")
	f("/y", "pmcd", "-c", "/x", "--config", "/y")
	f("", "pmcd", "-c")
}

func TestCollectorConfig(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30, os.Getpid()} {
		if got := collectorConfig(pid); got != "" {
			t.Errorf("process %d: %q", pid, got)
		}
	}
}
