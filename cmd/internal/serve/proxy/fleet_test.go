package proxy

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
)

// TestServeRecorders shows the recorders of --fleet beside the hosts of archives.
func TestServeRecorders(t *testing.T) {
	dir := t.TempDir()
	store, err := share.OpenStore(dir, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if err := share.WriteStatus(t.Context(), store, &share.Status{ID: "one", Time: time.Now(), Hosts: []share.Host{{Name: "alpha", Last: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	url, _ := start(t, t.TempDir(), nil, "--host", "127.0.0.1:1", "--fleet", dir, "-f")
	if _, body := get(t, url+"/fleet/hosts?count"); !strings.Contains(body, `"count":1,`) {
		t.Errorf("the number of hosts: %s", body)
	}
	status, body := get(t, url+"/fleet/hosts")
	var a struct {
		Hosts     []string
		Recording struct{ Owner []string }
	}
	if err := json.Unmarshal([]byte(body), &a); status != 200 || err != nil || len(a.Hosts) != 1 || a.Hosts[0] != "alpha" || len(a.Recording.Owner) != 1 || a.Recording.Owner[0] != "one" {
		t.Errorf("%d %s", status, body)
	}
}
