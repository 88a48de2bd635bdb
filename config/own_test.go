package config

import "testing"

func TestOwnSocket(t *testing.T) {
	f := func(want string, vars map[string]string) {
		t.Helper()
		if got := New(func(name string) string { return vars[name] }).OwnSocket(); got != want {
			t.Errorf("%v: %q, want %q", vars, got, want)
		}
	}
	f("/home/ada/.local/state/pcp/pmcd.socket", map[string]string{"HOME": "/home/ada"})
	f("/var/ada/pcp/pmcd.socket", map[string]string{"HOME": "/home/ada", "XDG_STATE_HOME": "/var/ada"})
	f("/home/ada/.local/state/pcp/pmcd.socket", map[string]string{"HOME": "/home/ada", "XDG_STATE_HOME": "relative"})
	f("", nil)
	f("", map[string]string{"HOME": "relative"})
	for _, name := range []string{"PMCD_PORT", "PMCD_SOCKET", "PMCD_HOST"} {
		f("", map[string]string{"HOME": "/home/ada", name: "x"})
	}
}
