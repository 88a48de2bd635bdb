package sending

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func TestOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "targets.yml")
	if err := os.WriteFile(file, []byte("remote_write: [{name: a, url: 'http://h:1'}, {url: 'http://i'}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(targets int, refused string, args ...string) {
		t.Helper()
		var set Options
		for i := 0; i < len(args); i += 2 {
			if !set.Own(&cli.Option{Long: args[i]}, args[i+1]) {
				t.Errorf("%s is not an option", args[i])
			}
		}
		list, err := set.Targets()
		if len(list) != targets || set.Any() != (len(args) > 0) || (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: %d targets, %v", args, len(list), err)
		}
	}
	f(0, "")
	f(2, "", "remote-write", "http://h", "remote-write", "http://i:8428/api/v1/write")
	f(3, "", "remote-write", "http://h", "remote-write-config", file)
	f(0, "is named twice", "remote-write", "http://h", "remote-write", "http://h")
	f(0, "--remote-write: the URL of a server is", "remote-write", "h:80")
	f(0, "no such file", "remote-write-config", file+"x")
	if new(Options).Own(&cli.Option{Long: "other"}, "") {
		t.Error("it takes other options")
	}
	for _, row := range Rows(true) {
		if !row.Extra || !new(Options).Own(&row, "x") {
			t.Errorf("%+v", row)
		}
	}
}

func TestEngine(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(refused string, settings map[string]string, args ...string) {
		t.Helper()
		var e Engine
		for i := 0; i < len(args); i += 2 {
			if !e.Own(nil, &cli.Option{Long: args[i]}, args[i+1]) {
				t.Errorf("%s is not an option", args[i])
			}
		}
		err := e.Settings(settings)
		if err == nil {
			c, derr := e.Dial("test", nil)
			if err = derr; err == nil {
				c.Close()
			}
		}
		if (err == nil) != (refused == "") || err != nil && (!strings.Contains(err.Error(), refused) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%q %v: %v, want %q", args, settings, err, refused)
		}
	}
	f("", nil, "engine", "http://localhost:1,http://localhost:2", "engine-token", token)
	f("only over https", nil, "engine", "http://h:1", "engine-token", token)
	f("--engine-password: open", nil, "engine", "http://localhost:1", "engine-password", token+"x", "engine-user", "me")
	f("--engine-token: open", nil, "engine", "http://localhost:1", "engine-token", token+"x")
	f("--engine-cert: ", nil, "engine", "http://localhost:1", "engine-cert", token)
	f("--engine-user and --engine-password belong together", nil, "engine", "http://localhost:1", "engine-user", "me")
	f("engine.token: open", map[string]string{"engine": "http://localhost:1", "engine.token": token + "x"})
	f("--engine: an address is missing", nil, "engine", "http://a,,http://b")
	f("engine: an address is missing", map[string]string{"engine": "http://a,"})
	f("65535", nil, "engine", "http://localhost:99999")
	f("65535", nil, "engine", "http://:80")
	f("", map[string]string{"engine": "http://localhost:1", "engine.token": token})
	f("only over https", map[string]string{"engine": "http://h:1", "engine.token": token})
	f("engine.color: no such setting", map[string]string{"engine": "http://localhost:1", "engine.color": "red"})
	f("named twice", nil, "engine", "http://h:1", "engine", "http://h:1")
	for _, row := range EngineRows(true) {
		if !row.Extra || row.Help == "" || !new(Engine).Own(nil, &row, "X: y") {
			t.Errorf("%+v", row)
		}
	}
	for _, name := range []string{"retry", "engine-retry", "token", "engine-x"} {
		if new(Engine).Own(nil, &cli.Option{Long: name}, "x") {
			t.Errorf("%s is an option", name)
		}
	}
}
