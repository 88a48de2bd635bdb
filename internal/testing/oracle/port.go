package oracle

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// FreePort returns a TCP port for a program that cannot choose a free one: no
// program listens on it, the kernel does not hand it out, and until the test
// ends FreePort returns it to no other test, of this process or another.
func FreePort(t testing.TB) int {
	t.Helper()
	first, last := portRange()
	for range 1000 {
		port := first + rand.IntN(last-first+1)
		claim, ok := claimPort(port)
		if !ok {
			continue
		}
		// On all addresses, of both families where there are two.
		ln, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			claim.Close()
			continue
		}
		ln.Close()
		t.Cleanup(func() { claim.Close() })
		return port
	}
	t.Fatalf("found no free port in %d..%d", first, last)
	return 0
}

// portRange returns where to look: outside of the ports that the kernel gives
// to connections, which could take one before the program listens.
func portRange() (first, last int) {
	low, high := 32768, 60999
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(text), &low, &high)
	}
	switch {
	case low > 21000:
		return 20000, low - 1
	case high < 64000:
		return high + 1, 65535
	}
	return 20000, 32767
}

// claimPort locks the file that represents a port; the lock ends with the file or
// the process.
func claimPort(port int) (*os.File, bool) {
	dir := filepath.Join(os.TempDir(), "go-pcp-test-ports")
	if err := os.Mkdir(dir, 0o777); err == nil {
		os.Chmod(dir, 0o777) // for users of all names
	}
	f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, false
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, false
	}
	return f, true
}
