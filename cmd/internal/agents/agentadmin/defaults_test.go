package agentadmin

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestScriptDefaults compares the variables set for Install scripts by our pmdaproc.sh
// with those of the real one. Its manual documents other delays, and a text protocol
// that was removed long ago.
func TestScriptDefaults(t *testing.T) {
	oracle.Require(t)
	real, err := os.ReadFile("/usr/share/pcp/lib/pmdaproc.sh")
	if err != nil {
		oracle.Missing(t, err.Error())
	}
	ours, err := os.ReadFile("proc/pmdaproc.sh")
	if err != nil {
		t.Fatal(err)
	}
	assigned := func(text []byte, name string) string {
		m := regexp.MustCompile(`(?m)^`+name+`=(.*)$`).FindAllSubmatch(text, -1)
		if len(m) != 1 {
			t.Errorf("%s is set %d times", name, len(m))
			return ""
		}
		return strings.Trim(string(m[0][1]), `'"`)
	}
	for _, name := range []string{
		"dso_opt", "perl_opt", "python_opt", "daemon_opt", "socket_inet_def", "ipc_prot", "forced_restart",
		"check_delay", "signal_delay", "args", "pmns_source", "pmns_dupok", "help_source",
	} {
		if got, want := assigned(ours, name), assigned(real, name); got != want {
			t.Errorf("%s=%s, theirs is %s", name, got, want)
		}
	}
}
