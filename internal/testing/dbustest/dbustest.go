// Package dbustest starts a message bus for tests.
package dbustest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/await"
)

// Start starts a message bus, which ends with the test, and returns its address. Without dbus-daemon
// it skips the test.
func Start(t *testing.T) string {
	t.Helper()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("SKIPPED: there is no dbus-daemon")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "bus.conf")
	if err := os.WriteFile(conf, []byte(`<busconfig><type>session</type><listen>unix:path=`+filepath.Join(dir, "bus")+`</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(daemon, "--config-file="+conf, "--nofork", "--print-address")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("SKIPPED: dbus-daemon does not run:", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); await.Exit(t, cmd) })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Skip("SKIPPED: dbus-daemon has no address:", err)
	}
	return strings.TrimSpace(address)
}
