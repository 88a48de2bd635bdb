package proxy

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/keys/keystest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestKeys serves series of a key server, and copies the archives of this host into it.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	im, err := importer.Start(filepath.Join(dir, "now"), importer.Options{Host: "this", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"some.metric", "proc.metric"} {
		m, err := im.NewMetric(name, importer.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.PutUint(7); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Write(time.Now().Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	server := keystest.Start(t)
	url, errs := start(t, dir, nil, "-r", server.Port)
	await(t, func() bool {
		_, body := get(t, url+"/series/query?expr=some.metric[samples:1]")
		return strings.Contains(body, `"value":"7"`)
	}, errs.String)
	if _, body := get(t, url+"/series/metrics"); strings.Contains(body, "proc.metric") {
		t.Errorf("an excluded metric is loaded: %s", body)
	}
	if n, err := server.Do(t, "DBSIZE").AsInt64(); err != nil || n == 0 {
		t.Errorf("%d keys, %v", n, err)
	}
	// Without a key server that answers, series are those of archives.
	other, log := start(t, dir, nil, "-r", fmt.Sprint(oracle.FreePort(t)))
	await(t, func() bool {
		_, body := get(t, other+"/series/query?expr=some.metric[samples:1]")
		return strings.Contains(body, `"value":"7"`)
	}, log.String)
	if !strings.Contains(log.String(), "does not answer") {
		t.Errorf("the log does not tell: %s", log)
	}
}
