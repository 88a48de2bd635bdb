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
