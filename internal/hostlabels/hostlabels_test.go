package hostlabels

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestContext(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"labels/b": `{"site":"north","x":1}`, "labels/a": `{"x":2}`, "labels/optional/c": `{"note":"y"}`,
		"labels/.hidden": `{"z":1}`, "labels/odd": `{`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	h := Host{Name: "wallaby", Domain: "local", Machine: "abc"}
	f := func(site *Site, container, uid, gid, want string) {
		t.Helper()
		set, err := Context(h, site, container, uid, gid)
		if err != nil || set.JSON != want {
			t.Errorf("%s, %v, want %s", set.JSON, err, want)
		}
	}
	none := ReadSite("", log)
	f(none, "", "", "", `{"domainname":"local","hostname":"wallaby","machineid":"abc"}`)
	f(none, "box", "7", "8", `{"container":"box","domainname":"local","groupid":8,"hostname":"wallaby","machineid":"abc","userid":7}`)
	f(ReadSite(dir, log), "", "", "", `{"domainname":"local","hostname":"wallaby","machineid":"abc","note":"y","site":"north","x":1}`)
	if err := os.WriteFile(filepath.Join(dir, "labels.conf"), []byte("[global]\nmachineid_hash = sha256\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	set, err := Context(h, ReadSite(dir, log), "", "", "")
	if err != nil || !strings.Contains(set.JSON, `"machineid_sha256":"ba7816bf`) || strings.Contains(set.JSON, `"abc"`) {
		t.Errorf("%s, %v", set.JSON, err)
	}
}

func TestReadHost(t *testing.T) {
	if h := ReadHost("/"); h.Name == "" || h.Domain == "" || h.Machine == "" {
		t.Errorf("%+v", h)
	}
}
