package up

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
)

// TestFleet shows the recorders of --fleet only to the user with the token.
func TestFleet(t *testing.T) {
	dir, shared := tempDir(t), t.TempDir()
	store, err := share.OpenStore(shared, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := share.WriteStatus(t.Context(), store, &share.Status{ID: "one", Time: time.Now(), Hosts: []share.Host{{Name: "alpha", Last: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	out, stop := start(t, map[string]string{"HOME": dir, "PCP_RUN_DIR": dir}, "--port", "0", "--dir", dir, "--web-port", "0", "--no-record", "--fleet", shared)
	defer stop()
	page, token := pageAndToken(t, out)
	read := func(token string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"fleet/hosts", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %s, %v", resp.Status, b, err)
		}
		return string(b)
	}
	if body := read(token); !json.Valid([]byte(body)) || !strings.Contains(body, `"alpha"`) || !strings.Contains(body, `"one"`) {
		t.Errorf("with the token: %s", body)
	}
	if body := read(""); strings.Contains(body, "alpha") || strings.Contains(body, `"one"`) {
		t.Errorf("without the token: %s", body)
	}
}
