package pmapi

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOwnSocket checks in which order a collector of this machine is looked for, and that sockets of others do not
// count.
func TestOwnSocket(t *testing.T) {
	dir, err := os.MkdirTemp("", "own") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	own := filepath.Join(dir, "own")
	ln, err := net.Listen("unix", own)
	if err != nil {
		t.Skipf("SKIPPED: no Unix sockets here: %v", err)
	}
	defer ln.Close()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	f := func(spec, path string, want ...string) {
		t.Helper()
		var tried []string
		d := Dialer{Socket: "/system", OwnSocket: path, DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			tried = append(tried, address)
			return nil, refused
		}}
		if _, err := d.Dial(t.Context(), spec); !errors.Is(err, refused) {
			t.Errorf("%s: %v", spec, err)
		}
		if !slices.Equal(tried, want) {
			t.Errorf("%s, own socket %s: tried %q, want %q", spec, path, tried, want)
		}
	}
	f("local:", own, "/system", own, "localhost:44321")
	f("local:", "", "/system", "localhost:44321")
	f("local:", filepath.Join(dir, "nothing"), "/system", "localhost:44321")
	f("local:", file, "/system", "localhost:44321")
	f("local:", link, "/system", "localhost:44321")
	f("local:/other", own, "/other", "localhost:44321")
	f("unix:", own, "/system")
	f("localhost", own, "localhost:44321")
	if os.Geteuid() != 0 {
		t.Log("not root: a socket of another user is not tried out")
		return
	}
	if err := os.Chown(own, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	f("local:", own, "/system", "localhost:44321")
}
