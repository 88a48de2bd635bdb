package send

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

const goodTargets = `
remote_write:
  - url: https://prom.example.com/api/v1/write
    headers: {X-Scope-OrgID: web}
    authorization: {credentials_file: token}
    remote_timeout: 20s
    tls_config: {}
    protobuf_message: prometheus.WriteRequest
    write_relabel_configs:
      - {source_labels: [instname], regex: 'loop.*', action: drop}
      - {target_label: site, replacement: berlin}
      - {action: labeldrop, regex: instid}
      - {action: labelmap, regex: 'host(name)', replacement: 'node_$1'}
      - {source_labels: [__name__], regex: 'disk_dev_(.*)', target_label: __name__, replacement: 'disk_$1'}
  - name: nodes
    shards: [http://localhost:1, http://localhost:2, http://localhost:3]
    replicas: 2
    keep: [kernel, 'disk.*']
    drop: ['disk.*.total']
    basic_auth: {username: me, password_file: token}
`

func TestTargets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "targets.yml")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(text, refused string) []*Target {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := ReadTargets(path)
		if (err == nil) != (refused == "") || err != nil && (!strings.Contains(err.Error(), refused) || !strings.HasPrefix(err.Error(), path+": ")) {
			t.Errorf("%s: %v", text, err)
		}
		return list
	}
	list := f(goodTargets, "")
	if len(list) != 2 {
		t.Fatalf("%d targets", len(list))
	}
	cfg, err := list[0].config(list[0].URLs[0])
	if err != nil || cfg.Token != "s3cret" || cfg.Header.Get("X-Scope-OrgID") != "web" || cfg.Timeout != 20*time.Second || cfg.Version != remote.V1 || cfg.URL != "https://prom.example.com/api/v1/write" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if cfg, err := list[1].config(list[1].URLs[2]); err != nil || cfg.User != "me" || cfg.Password != "s3cret" || list[1].Replicas != 2 || list[1].Name != "nodes" {
		t.Errorf("%+v, %v", cfg, err)
	}
	one := &filter{rules: list[0].rules}
	g := func(f *filter, want string, labels ...string) {
		t.Helper()
		var in []remote.Label
		for i := 0; i < len(labels); i += 2 {
			in = append(in, remote.Label{Name: labels[i], Value: labels[i+1]})
		}
		out, key, ok := f.series(in)
		var words []string
		for _, l := range out {
			words = append(words, l.Name+"="+l.Value)
		}
		if got := strings.Join(words, " "); got != want || ok != (want != "") || ok && key != keyOf(out) {
			t.Errorf("%q: %q, %v, want %q", labels, got, ok, want)
		}
	}
	g(one, "__name__=disk_read hostname=www instname=sda node_name=www site=berlin", "__name__", "disk_dev_read", "hostname", "www", "instid", "0", "instname", "sda")
	g(one, "", "__name__", "disk_dev_read", "instname", "loop0")
	g(nil, "B=1 __name__=x", "__name__", "x", "B", "1")
	two := &filter{keep: list[1].keep, drop: list[1].drop}
	for name, want := range map[string]bool{"kernel.all.load": true, "kernel": true, "kernelx": false, "disk.dev.read": true, "disk.dev.total": false, "mem.free": false} {
		if two.metric(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}

	f("", "no target")
	f("remote_write: {}", "cannot unmarshal")
	f("remote_write: []", "no target")
	f("remote_write: [{}]", "target 1: either url or shards")
	f("remote_write: [{url: 'http://h', sahrds: []}]", "line 1: field sahrds not found")
	f("remote_write: [{url: 'http://me:pw@h'}]", "there are options for them")
	f("remote_write: [{url: 'http://h'}, {url: 'http://i'}]", `another target has the name "push"`)
	f("remote_write: [{url: 'http://h', replicas: 2}]", "replicas: 2")
	f("remote_write: [{url: 'http://h', remote_timeout: soon}]", `"soon" is not a time`)
	f("remote_write: [{url: 'http://h', protobuf_message: v3}]", `"v3" is neither`)
	f("remote_write: [{url: 'http://h', headers: {authorization: x}}]", "secrets in files")
	f("remote_write: [{url: 'http://h', headers: {'a b': x}}]", "name of a header")
	f("remote_write: [{url: 'http://h', authorization: {type: Digest}}]", "only Bearer")
	f("remote_write: [{url: 'http://h', basic_auth: {username: u}}]", "password_file")
	f("remote_write: [{url: 'http://h', bearer_token_file: token}]", "only over https")
	f("remote_write: [{url: 'https://h', bearer_token_file: none}]", "no such file")
	f("remote_write: [{url: 'https://h', tls_config: {key_file: k}}]", "needs cert_file")
	f("remote_write: [{url: 'https://h', tls_config: {ca_file: token}}]", "no certificate in it")
	f("remote_write: [{url: 'http://h', write_relabel_configs: [{action: hashmod}]}]", "modulus")
	f("remote_write: [{url: 'http://h', write_relabel_configs: [{action: explode}]}]", "unknown relabel action")
	f("remote_write: [{url: 'http://h', write_relabel_configs: [{regex: '('}]}]", "missing closing")
	f("remote_write: [{url: 'http://h', write_relabel_configs: [null]}]", "rule 1 is empty")
	f(strings.Repeat("#", maxTargetsFile+1), "larger than")
	if _, err := ReadTargets(path + "x"); err == nil {
		t.Error("a missing file")
	}
}

func TestMatch(t *testing.T) {
	f := func(pattern, name string, want bool) {
		t.Helper()
		if match(pattern, name) != want {
			t.Errorf("match(%q, %q) = %v", pattern, name, !want)
		}
	}
	f("a.b", "a.b", true)
	f("a.b", "a.b.c", true)
	f("a.b", "a.bc", false)
	f("a.*", "a.b.c", true)
	f("*.c", "a.b.c", true)
	f("*.c", "a.b.cd", false)
	f("a.?.c", "a.b.c", true)
	f("a.?.c", "a.bb.c", false)
	f("*b*b*", "abcb", true)
	f("*b*b*c", "abcb", false)
	f("*", "", true)
	f("?", "", false)
}

func FuzzTargets(f *testing.F) {
	f.Add([]byte(goodTargets))
	f.Add([]byte("remote_write: [{url: 'http://h', write_relabel_configs: [{regex: 'a*', action: keep}]}]"))
	f.Add([]byte("a: &a [x,x]\nremote_write: *a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseTargets(b, "/nonexistent")
		if err == nil && len(list) == 0 {
			t.Error("neither targets nor an error")
		}
		for _, one := range list {
			fl := &filter{rules: one.rules, keep: one.keep, drop: one.drop, shards: len(one.URLs), replicas: one.Replicas}
			fl.metric("a.b")
			fl.series([]remote.Label{{Name: nameLabel, Value: "a_b"}, {Name: "hostname", Value: "www"}})
		}
	})
}

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":1,"at":{"archive":"20261127.00.10","started":1,"sent":2},"safe":{"archive":"","started":0,"sent":-4611686018427387904,"whole":true}}`))
	f.Add([]byte(`{"version":1,"at":{"archive":"../x"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState(b)
		if err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "state")
		if err := s.write(path); err != nil {
			t.Fatal(err)
		}
		if got, ok, err := readState(path); err != nil || !ok || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v, want %+v: %v", got, s, err)
		}
	})
}
