package chart

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHosts serves the hosts of -H beside that of -h, and no others.
func TestHosts(t *testing.T) {
	socket, other := collector(t), collector(t)
	home := t.TempDir()
	file := filepath.Join(home, "hosts")
	if err := os.WriteFile(file, []byte("# the second one\nunix:"+other+" # here\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	address, stop := start(t, map[string]string{"HOME": home}, "-h", "unix:"+socket, "-H", file, "--no-open", "test.a")
	defer stop()
	for host, want := range map[string]int{"unix:" + other: 200, "192.0.2.1": 400, "unix:" + other + "x": 400} {
		if n, body := get(t, address, "/pmapi/fetch?names=test.a&hostspec="+url.QueryEscape(host), true); n != want {
			t.Errorf("%s: %d %s", host, n, body)
		}
	}
}

// TestLocal serves the agents of this process.
func TestLocal(t *testing.T) {
	address, stop := start(t, map[string]string{"HOME": t.TempDir()}, "-L", "-K", "clear", "-K", "add,30,/none/pmda_sample.so,sample_init", "--no-open", "sampledso.long.one")
	defer stop()
	for range 2 {
		if n, body := get(t, address, "/pmapi/fetch?names=sampledso.long.one", true); n != 200 || !strings.Contains(body, `"value":1}`) {
			t.Errorf("%d %s", n, body)
		}
	}
	if n, body := get(t, address, "/recordings", true); n != 200 || !strings.Contains(body, `"recordings":[]`) {
		t.Errorf("%d %s", n, body)
	}
}

// FuzzHosts reads any text as the file of -H, and checks the limits.
func FuzzHosts(f *testing.F) {
	for _, s := range []string{"www\nlocalhost:44399 # x\n", "a b\n", "#\n", "unix:/run/pcp/pmcd.socket\npcp://x", "\x00\n", strings.Repeat("a\n", maxHosts+1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := parseHosts("hosts", text)
		if err != nil {
			return
		}
		names := slices.Sorted(maps.Keys(hosts))
		if len(names) == 0 || len(names) > maxHosts {
			t.Errorf("%q: %d hosts", text, len(names))
		}
	})
}
