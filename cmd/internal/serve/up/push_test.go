package up

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/logger"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// startProxy serves pushed archives at an address until stop is called.
func startProxy(t *testing.T, address, dir, tokens string) (stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	h, err := logger.New(logger.Config{Dir: dir, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	s, err := pmproxy.New(pmproxy.Config{
		Listeners: []net.Listener{ln}, Handlers: map[string]http.Handler{"/logger/": h}, TokenFile: tokens, RequireAuth: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.Close()
	}
}

// TestPush runs pcp up with --push twice, with a pmproxy that is away during most of the first run. All archives
// arrive, with all of their bytes.
func TestPush(t *testing.T) {
	dir, to, address := tempDir(t), t.TempDir(), freePort(t)
	tokens, token := filepath.Join(to, "tokens"), filepath.Join(to, "token")
	for _, path := range []string{tokens, token} {
		if err := os.WriteFile(path, []byte("host 0123456789abcdef push=* quota=1gb\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--port", "0", "--dir", dir, "--no-web", "--no-processes", "--push", "http://127.0.0.1:1,http://" + address, "--push-token-file", token}
	vars := map[string]string{"HOME": dir, "PCP_RUN_DIR": dir}
	out, stop := start(t, vars, args...)
	if want := "pushes   to http://127.0.0.1:1, http://" + address + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	await.Until(t, "an attempt to push", func() bool { return strings.Contains(out.String(), "is tried again later") })
	stop()
	stopProxy := startProxy(t, address, filepath.Join(to, "pushed"), tokens)
	_, stop = start(t, vars, args...)
	list := func(pattern string) []string {
		l, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	await.Until(t, "two archives", func() bool { return len(list(filepath.Join(to, "pushed/*/*.0"))) == 2 })
	stop()
	stopProxy()
	want, got := list(filepath.Join(dir, "pmlogger/*/*.0*")), list(filepath.Join(to, "pushed/*/*.0"))
	want = slices.DeleteFunc(want, func(path string) bool {
		_, part, _ := archive.BaseName(path)
		return part != "0"
	})
	if len(want) != 2 || len(got) != 2 {
		t.Fatalf("archives %v, pushed %v", want, got)
	}
	size := func(path string) int64 {
		n, err := archive.FileSize(path)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range want {
		if size(want[i]) != size(got[i]) {
			t.Errorf("%s has %d bytes, %s %d", want[i], size(want[i]), got[i], size(got[i]))
		}
	}
}
