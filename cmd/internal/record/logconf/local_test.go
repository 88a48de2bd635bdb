package logconf

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/pmapi"
)

// TestLocal creates, shows and changes a configuration for an agent in this process, without a
// collector.
func TestLocal(t *testing.T) {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := files(t, "groups/g", "#pmlogconf-setup 2.0\nident colours\nprobe simple.color >= 100 ? include : exclude\n\tsimple.color\n",
		"plain", "x", "bad", "#pmlogconf-setup 1.0\n")
	conf := filepath.Join(dir, "conf")
	call := func(ctx context.Context, stdin string, set func(*tool)) (status int, out, errs string) {
		var o, e bytes.Buffer
		tl := &tool{env: &cli.Env{
			Name: "pmlogconf", Command: Command, Stdin: strings.NewReader(stdin), Stdout: &o, Stderr: &e,
			Getenv: func(string) string { return "" },
		}, dir: filepath.Join(dir, "groups"), named: true, path: conf, c: c}
		if set != nil {
			set(tl)
		}
		if tl.hasSetup {
			status = tl.checkGroup(ctx)
		} else {
			status = tl.configure(ctx)
		}
		return status, o.String(), e.String()
	}
	f := func(name, stdin string, set func(*tool), wantStatus int, want string) {
		t.Helper()
		status, out, errs := call(t.Context(), stdin, set)
		if status != wantStatus || !strings.Contains(out+errs, want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", name, status, wantStatus, want, out, errs)
		}
	}
	f("groups of no file", "", func(t *tool) { t.tag, t.hasTag = "all", true }, 0, "/groups/g:n:default:\n")
	if _, err := os.Stat(conf); err == nil {
		t.Error("-g made a file")
	}
	f("new", "", func(t *tool) { t.verbose = true }, 0, "Creating config file")
	made, err := os.ReadFile(conf)
	if err != nil || !strings.Contains(string(made), "#+ g:y:default:\n## colours\nlog advisory on default {\n\tsimple.color\n}\n") {
		t.Fatalf("%v: %s", err, made)
	}
	f("show", "", func(t *tool) { t.tag, t.hasTag = "g", true }, 0, "/groups/g:y:default:\n")
	f("no change", "y\n\n", nil, 0, "\nNo changes\n")
	f("refused", "y\n10 sec\nn\n", nil, 0, "\nDifferences ...\n")
	if b, _ := os.ReadFile(conf); !bytes.Equal(b, made) {
		t.Errorf("the user kept the old file, but it is %s", b)
	}
	f("changed", "y\n10 sec\ny\n", func(t *tool) { t.verbose = true }, 0, "\nDifferences ...\n")
	if b, _ := os.ReadFile(conf); !strings.Contains(string(b), "#+ g:y:10 sec:\n") {
		t.Errorf("the interval should be new:\n%s", b)
	}
	rep := func(t *tool) {
		t.kind, t.path, t.options = "pmrep", filepath.Join(dir, "rep.conf"), []string{"interval=10"}
	}
	f("new for pmrep", "", rep, 0, "Creating config file")
	if b, _ := os.ReadFile(filepath.Join(dir, "rep.conf")); !strings.Contains(string(b), "\ninterval=10\n\n#+ g:y:\n## colours\n#----\n\n[metrics]\nsimple.color = simple.color\n\n") {
		t.Errorf("the configuration of pmrep is %s", b)
	}
	f("not changed for pmrep", "y\n", rep, 0, "\nNo changes\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _, _ := call(ctx, "", nil); status != 1 {
		t.Errorf("interrupted: status %d", status)
	}
	setup := func(name string) func(*tool) {
		return func(t *tool) { t.setup, t.hasSetup = filepath.Join(dir, name), true }
	}
	f("group file", "", setup("groups/g"), 0, "/groups/g:y:default:\n")
	f("no group file", "", setup("nosuch"), 1, "Cannot open pmlogconf configuration")
	f("directory as group file", "", setup("groups"), 0, "neither \"probe\" nor \"force\"")
	f("old group file", "", setup("bad"), 0, "/bad neither \"probe\" nor \"force\"")
	installed := files(t, "config/pmlogconf/services/redis", "#pmlogconf-setup 2.0\nident mine\nprobe simple.color values ? available : exclude\n\tsimple.color\n")
	for name, want := range map[string]int{"pmlogconf": 0, "pcp logconf": 1} {
		status, out, errs := call(t.Context(), "", func(t *tool) {
			t.env.Name, t.dir, t.named, t.tag, t.hasTag, t.path = name, "", false, "all", true, filepath.Join(dir, "nothing")
			t.env.LookupEnv = func(name string) (string, bool) { return installed, name == "PCP_VAR_DIR" }
			t.env.Getenv = func(name string) string { v, _ := t.env.LookupEnv(name); return v }
		})
		if status != 0 || strings.Count(out, "/gpu/drm:") != want || strings.Count(out, "/services/redis:") != 1 {
			t.Errorf("%s with installed groups: status %d:\n%s%s", name, status, out, errs)
		}
	}
	f("no groups", "", func(t *tool) { t.dir, t.named = filepath.Join(dir, "nosuch"), true }, 1, "Cannot open pmlogconf groups path")
	f("file as groups", "", func(t *tool) { t.dir, t.named = filepath.Join(dir, "plain"), true }, 1, "Not a directory")
	f("directory as configuration", "", func(t *tool) { t.path = dir }, 1, "Is a directory")
	f("nowhere to write", "", func(t *tool) { t.path = filepath.Join(dir, "nosuch/conf") }, 1, "No such file or directory")
}

// TestClashes shows that mutually exclusive options end the tool before it connects to a collector.
func TestClashes(t *testing.T) {
	for args, want := range map[string]string{
		"-c -g all x":       "Option -c cannot be used with",
		"-d . -s x":         "Options -d,--groupdir and -s,--setup",
		"-g all -s x":       "Options -g,--group and -s,--setup",
		"-q -r -v x y":      "Usage: ",
		"-h unix:/nosuch x": "Cannot connect to pmcd on host \"unix:/nosuch\"",
	} {
		var out, errs bytes.Buffer
		status := Command.Run(t.Context(), &cli.Env{
			Name: "pmlogconf", Command: Command, Args: strings.Fields(args), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
		})
		if status != 1 || !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("%s: status %d, want 1 and %q:\n%s%s", args, status, want, &out, &errs)
		}
	}
	if got := reason(errors.New("plain words")); got != "plain words" {
		t.Errorf("reason: %q", got)
	}
}
