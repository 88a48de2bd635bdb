package linux

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/pmda"
)

// A fakeHost is a collector whose helper returns err, or otherwise 7.
type fakeHost struct{ err error }

func (h fakeHost) ProcessIDIn(string) (int, error) { return 7, h.err }

func TestBuiltinHelper(t *testing.T) {
	f := func(host any, wantPID int, wantErr error) {
		t.Helper()
		vars := map[string]string{"PCP_CONF": os.DevNull, "PCP_VAR_DIR": filepath.Join(t.TempDir(), "none")}
		a, err := Builtin().Open(builtin.Env{Config: config.New(func(name string) string { return vars[name] }), Host: host})
		if err != nil {
			t.Fatal(err)
		}
		pid, err := a.(*Agent).helper().ProcessID("box")
		if !errors.Is(err, wantErr) || err == nil && pid != wantPID {
			t.Errorf("with host %v: ProcessID = %d, %v, want %d, %v", host, pid, err, wantPID, wantErr)
		}
	}
	f(fakeHost{}, 7, nil)
	f(fakeHost{pcp.ErrNoContainer}, 0, pcp.ErrNoContainer)
	f(fakeHost{pcp.ErrNotConn}, 0, pcp.ErrNotConn) // of the helper of the installation
	f("nothing that could be asked", 0, pcp.ErrNotConn)
	f(nil, 0, pcp.ErrNotConn)
}

// TestBuiltinAccess checks that the option of pmdalinux and the variable give all
// clients everything.
func TestBuiltinAccess(t *testing.T) {
	f := func(want bool, variable string, options ...string) {
		t.Helper()
		vars := map[string]string{"PCP_CONF": os.DevNull, "LINUX_ACCESS": variable}
		a, err := Builtin().Open(builtin.Env{Config: config.New(func(name string) string { return vars[name] }), Options: options})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.(*Agent).host.trusts(new(pmda.Client)); got != want {
			t.Errorf("LINUX_ACCESS=%q and options %q: trusts = %v, want %v", variable, options, got, want)
		}
	}
	f(false, "")
	f(true, "1")
	f(true, "", "no-access-checks")
}
