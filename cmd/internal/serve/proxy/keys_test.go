package proxy

import (
	"errors"
	"fmt"
	"os"
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
}

// TestKeysLater starts pmproxy before its key server. With options there are no series meanwhile; with a configuration, which names one
// also where none is installed, there are those of archives.
func TestKeysLater(t *testing.T) {
	keystest.Require(t)
	dir := t.TempDir()
	im, err := importer.Start(filepath.Join(dir, "now"), importer.Options{Host: "this", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("some.metric", importer.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.PutUint(7); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(im.Write(time.Now().Add(-time.Minute)), im.End()); err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(oracle.FreePort(t))
	query := "/series/query?expr=some.metric[samples:1]"
	named, log := start(t, dir, nil, "-r", port)
	if _, body := get(t, named+query); !strings.Contains(body, "the key server does not answer; it is tried again") {
		t.Errorf("before the key server starts: %s", body)
	}
	file := filepath.Join(t.TempDir(), "pmproxy.conf")
	if err := os.WriteFile(file, []byte("[redis]\nservers = localhost:"+port+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, otherLog := start(t, dir, nil, "-c", file)
	has := func(url string) func() bool {
		return func() bool {
			_, body := get(t, url+query)
			return strings.Contains(body, `"value":"7"`)
		}
	}
	await(t, has(other), otherLog.String)
	if !strings.Contains(log.String(), "localhost:"+port+": the key server does not answer") {
		t.Errorf("the log is %s", log)
	}
	if !strings.Contains(otherLog.String(), "series are read from archives until the key server answers") {
		t.Errorf("the log is %s", otherLog)
	}
	keystest.StartAt(t, port)
	await(t, has(named), log.String)
	for _, l := range []fmt.Stringer{log, otherLog} {
		await(t, func() bool { return strings.Contains(l.String(), "series are kept in the key server") }, l.String)
	}
	await(t, has(other), otherLog.String)
}
