package up

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/share"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// TestRegister runs pcp up with --register: the recorders of the fleet find it until it ends.
func TestRegister(t *testing.T) {
	dir, fleet := tempDir(t), t.TempDir()
	vars := map[string]string{"HOME": dir, "PCP_RUN_DIR": dir}
	out, stop := start(t, vars, "--port", "0", "--dir", dir, "--no-web", "--no-record", "--all", "--register", fleet, "--register-as", "www.example.com:44400")
	if want := "registers  www.example.com:44400 with " + fleet + "\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	store, err := share.OpenStore(fleet, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	r := share.Registry{Store: store}
	is := func(want string) func() bool {
		return func() bool {
			list, err := r.List(t.Context())
			return err == nil && strings.Join(list, " ") == want
		}
	}
	await.Until(t, "the registration", is("www.example.com:44400"))
	read := func() string {
		log, err := os.ReadFile(filepath.Join(dir, "pmcd.log"))
		if err != nil {
			t.Fatal(err)
		}
		return string(log)
	}
	await.Until(t, "a message in the log", func() bool { return strings.Contains(read(), "registered with the recorders of the fleet") })
	stop()
	if !is("")() {
		t.Error("the registration is still there")
	}
}

// TestRegistration checks the addresses that are registered.
func TestRegistration(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	env := &cli.Env{Getenv: func(string) string { return "" }}
	f := func(set settings, want string) {
		t.Helper()
		r, err := set.registration(env)
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%v, want %s", err, want)
		case err == nil && r.Address != want:
			t.Errorf("%s, want %s", r.Address, want)
		}
	}
	f(settings{register: "/fleet", port: 44321}, host)
	f(settings{register: "/fleet", port: 4000}, host+":4000")
	f(settings{register: "/fleet", port: 0}, "choose another with --register-as")
	f(settings{register: "/fleet", registerAs: "10.0.0.7"}, "10.0.0.7")
	f(settings{register: "gs://x", registerAs: "10.0.0.7"}, "only directories and s3://")
}
