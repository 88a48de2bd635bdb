package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/ship"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newEnv returns an environment whose archives are below a directory.
func newEnv(dir string, out, errs io.Writer, args ...string) *cli.Env {
	vars := map[string]string{
		"HOME": dir, "TZ": "UTC", "PCP_CONF": "/dev/null", "PCP_LOG_DIR": filepath.Join(dir, "log"),
		"PCP_ARCHIVE_DIR": filepath.Join(dir, "log/pmlogger"), "PCP_VAR_DIR": filepath.Join(dir, "var"),
	}
	return &cli.Env{
		Name: "pcp record", Program: "pcp", Command: Command, Args: args, Stdout: out, Stderr: errs,
		Getenv: func(name string) string { return vars[name] },
	}
}

// call runs the command and returns all it printed.
func call(t *testing.T, dir string, args ...string) (status int, text string) {
	t.Helper()
	var b bytes.Buffer
	status = run(t.Context(), newEnv(dir, &b, &b, args...))
	return status, b.String()
}

func TestControl(t *testing.T) {
	dir := t.TempDir()
	control := filepath.Join(dir, "control")
	f := func(text string, want func(h []fleet.Host) bool, words string) {
		t.Helper()
		write(t, control, "$version=1.1\n"+text+"\n")
		var b bytes.Buffer
		set := &settings{control: control}
		list, err := set.list(newEnv(dir, &b, &b))
		switch {
		case want == nil && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%s: %+v, %v, want %q", text, list, err, words)
		case want != nil && (err != nil || !want(list) || !strings.Contains(b.String(), words)):
			t.Errorf("%s: %+v, %v, %s", text, list, err, &b)
		}
	}
	f("alpha n n PCP_ARCHIVE_DIR/alpha -r -c own.config -t 10sec -v 5mb -H label", func(h []fleet.Host) bool {
		return len(h) == 1 && h[0].Spec == "alpha" && h[0].Name == "alpha" && h[0].Dir == filepath.Join(dir, "log/pmlogger/alpha") && h[0].Report &&
			h[0].Config == "own.config" && h[0].Interval == 10*time.Second && h[0].Volume.Bytes > 0 && h[0].Label == "label"
	}, "")
	f("alpha n n PCP_ARCHIVE_DIR/a1 -ruc own.config\nalpha n n PCP_ARCHIVE_DIR/a2 -t5sec", func(h []fleet.Host) bool {
		return len(h) == 2 && h[0].Name == "alpha" && h[1].Name == "alpha-2" && h[0].Report && h[0].Config == "own.config" && h[1].Interval == 5*time.Second
	}, "")
	f("alpha n n PCP_ARCHIVE_DIR/a -P -m note", func(h []fleet.Host) bool { return len(h) == 1 }, "-m note is left out")
	f("alpha n n PCP_ARCHIVE_DIR/a -P", func(h []fleet.Host) bool { return len(h) == 1 }, "-P is left out")
	f("alpha n n PCP_ARCHIVE_DIR/a -t never", nil, "-t never: want an interval")
	f("alpha n n PCP_ARCHIVE_DIR/a -v much", nil, "-v: ")
	f("alpha n n PCP_ARCHIVE_DIR/a -r -c", nil, control+":2: -c needs an argument")
	f("alpha n n PCP_ARCHIVE_DIR/a words", nil, "want an option of one letter")
	f("alpha n n PCP_ARCHIVE_DIR/a --config=x", nil, "want an option of one letter")
	f("alpha n y PCP_ARCHIVE_DIR/a -r", nil, "SOCKS")
	f("# nothing", nil, "there is no host in it")
	if err := os.Remove(control); err != nil {
		t.Fatal(err)
	}
	if _, err := (&settings{control: control}).list(newEnv(dir, io.Discard, io.Discard)); err == nil || !strings.Contains(err.Error(), "cannot read control file") {
		t.Errorf("no control file: %v", err)
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer", statusName)
	const text = `{"version":2,"pid":1,"hosts":{}}`
	if err := errors.Join(os.Mkdir(filepath.Dir(newer), 0o700), os.WriteFile(newer, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--status -d " + dir + "/newer": newer + ": the file has version 2, and this release reads versions up to 1: install",
		"--control c -f hosts":          "cannot be combined with -f or hosts",
		"--control c alpha":             "cannot be combined with -f or hosts",
		"-f hosts alpha":                "add others to it",
		"--status alpha":                "--status shows all hosts",
		"--keep-days many":              "needs a number of days",
		"--keep-days 100001":            "needs a number of days",
		"--max-size 0":                  "needs a size",
		"-t 1usec":                      "-t needs an interval",
		"-f " + dir + "/nosuch":         "No such file",
		"-c " + dir + "/nosuch":         "No such file",
		"--control " + dir + "/no":      dir + "/no: cannot read control file",
		"-c " + dir:                     "it is a directory",
		"-c /dev/zero":                  "it is not a regular file",
		"-c " + dir + "/pipe":           "it is not a regular file",
		"-f " + dir:                     "it is a directory, and not a list",
		"../x":                          "a path is not the name of a host",
		"..":                            "it is not the name of a host",
		"--status -d " + dir + "/pipe":  dir + "/pipe/record.status: Not a directory",
		"--status -d " + dir + "/a":     "nothing is recorded to " + dir + "/a now",
	} {
		if status, text := call(t, dir, strings.Fields(args)...); status != 1 || !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("%s: status %d: %s, want %q", args, status, text, want)
		}
	}
	if b, err := os.ReadFile(newer); err != nil || string(b) != text {
		t.Errorf("the status of a later release is now %s, %v", b, err)
	}
	o := &settings{}
	for long, arg := range map[string]string{"keep-days": "14", "max-size": "2gb", "interval": "10sec"} {
		if !o.own(nil, &cli.Option{Long: long}, arg) {
			t.Errorf("%s is not known", long)
		}
	}
	if o.keep.MaxAge != 14*24*time.Hour || o.keep.MaxBytes < 2_000_000_000 || o.interval != 10*time.Second || o.own(nil, &cli.Option{Long: "other"}, "") {
		t.Errorf("%+v", o)
	}
}

func TestStatus(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, statusName)
	now := time.Now()
	err := writeStatus(path, []fleet.Status{
		{Name: "alpha", Spec: "alpha", State: fleet.Recording, Written: now, Samples: 12, Missed: 3, Lag: 250 * time.Millisecond},
		{Name: "beta", Spec: "beta", State: fleet.Lost, Errors: 4, Err: errors.New("it is\ndown"), ErrTime: now},
	}, 3, []send.Status{{URL: "http://db:9090/api/v1/write", Sent: 1200, Rejected: 7, Reasons: map[string]uint64{"400 Bad Request: out of order": 7}, Lag: 12, Lost: 1, Err: "connection refused", ErrTime: now}},
		[]ship.Status{{Name: "alpha", Shipped: 5, Waiting: 2, Spool: 3 << 20, Oldest: now, Dropped: 1, Names: []string{"20261120.00.10"}, Err: "the store is\naway", ErrTime: now}})
	if err != nil {
		t.Fatal(err)
	}
	status, text := call(t, dir, "--status", "-d", dir)
	for _, want := range []string{
		", which recorded, ended without notice; its status is ", "HOST ", "alpha  recording", "12", "0.25s", "beta, ", " ago: it is down\n",
		"write: sent 1200 samples, rejected 7, lag 12s, 1 archives removed before they were sent\n", "write: rejected 7: 400 Bad Request: out of order\n", ": connection refused\n",
		"hosts no longer recorded here, with archives still to be sent or stored: 3\n", "alpha: 5 archives stored, 2 waiting with 3.", ", the oldest since 20", "alpha: 1 archives were removed before they were stored, the last ones: 20261120.00.10\n", ": the store is away\n",
	} {
		if status != 1 || !strings.Contains(text, want) {
			t.Errorf("status %d: %s lacks %q", status, text, want)
		}
	}
	var out, problem bytes.Buffer
	if status := run(t.Context(), newEnv(dir, &out, &problem, "--status", "--json", "-d", dir)); status != 1 || !strings.Contains(problem.String(), "ended without notice") || !json.Valid(out.Bytes()) {
		t.Errorf("status %d: %s%s", status, &out, &problem)
	}
	lock, err := lockDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	var st state
	if status, text := call(t, dir, "--status", "--json", "-d", dir); status != 0 || json.Unmarshal([]byte(text), &st) != nil || len(st.Hosts) != 2 || st.Moved != 3 || st.PID != os.Getpid() {
		t.Errorf("status %d: %s", status, text)
	}
	if status, text := call(t, dir, "--status", "-d", dir); status != 0 || strings.Contains(text, "without notice") {
		t.Errorf("it still records: status %d: %s", status, text)
	}
	if status, text := call(t, dir, "-d", dir, "alpha"); status != 1 || !strings.Contains(text, "another \"pcp record\" records there") {
		t.Errorf("a second one: status %d: %s", status, text)
	}
	st.Time, st.Version = now.Add(-2*time.Minute), stateVersion
	b, err := json.Marshal(&st)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b))
	if status, text := call(t, dir, "--status", "-d", dir); status != 1 || !strings.Contains(text, " records, and has not written its status for 2m") {
		t.Errorf("it hangs: status %d: %s", status, text)
	}
	time.AfterFunc(lockWait/5, func() { lock.Close() })
	lock, err = lockDir(dir, time.Minute)
	if err != nil {
		t.Fatalf("a lock that ends soon: %v", err)
	}
	lock.Close()
	write(t, path, "{")
	if status, text := call(t, dir, "--status", "-d", dir); status != 1 || !strings.Contains(text, path+": ") {
		t.Errorf("half a file: status %d: %s", status, text)
	}
	if err := os.Truncate(path, maxStatus+1); err != nil {
		t.Fatal(err)
	}
	if status, text := call(t, dir, "--status", "-d", dir); status != 1 || !strings.Contains(text, path+": ") {
		t.Errorf("a large file: status %d: %s", status, text)
	}
}

func TestPreprocess(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "var/config/pmlogger/own"), "log mandatory on default { simple.color }\n")
	write(t, filepath.Join(dir, "bad"), "%include \"nosuch\"\n")
	env := newEnv(dir, io.Discard, io.Discard)
	if text, err := preprocess(env, "own"); err != nil || !strings.Contains(string(text), "simple.color") {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := preprocess(env, filepath.Join(dir, "bad")); err == nil {
		t.Errorf("an include that is not there: %s", text)
	}
	set := &settings{config: "own"}
	if _, file, err := set.configure(env)(t.Context(), nil, fleet.Host{}); err != nil || file != "own" {
		t.Errorf("%s, %v", file, err)
	}
	if _, file, err := set.configure(env)(t.Context(), nil, fleet.Host{Config: filepath.Join(dir, "nosuch")}); err == nil {
		t.Errorf("%s is not there", file)
	}
}

// lines passes each thing written on.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// TestHangUp changes a list while its hosts are recorded, first correctly and then with a mistake.
func TestHangUp(t *testing.T) {
	dir := t.TempDir()
	hosts := filepath.Join(dir, "hosts")
	write(t, hosts, "unix:/nosuch/a name=a\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := make(lines, 1000)
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, newEnv(dir, out, io.Discard, "-f", hosts, "-d", filepath.Join(dir, "archives"), "--keep-days", "3"))
	}()
	await := func(want string) {
		t.Helper()
		late := time.After(time.Minute)
		for {
			select {
			case line := <-out:
				if strings.Contains(line, want) {
					return
				}
			case status := <-done:
				t.Fatalf("it ended with status %d before %q", status, want)
			case <-late:
				t.Fatalf("%q did not come", want)
			}
		}
	}
	hangUp := func() {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	await(" a: not recorded") // the signal handler is installed by now
	write(t, hosts, "unix:/nosuch/a name=a\nunix:/nosuch/b name=b\n")
	hangUp()
	await("SIGHUP: 2 hosts")
	write(t, hosts, "# none\n")
	hangUp()
	await("SIGHUP: the hosts stay as they are: " + hosts + ": there is no host in it")
	cancel()
	if status := <-done; status != 0 {
		t.Errorf("status %d", status)
	}
	if _, err := os.Stat(filepath.Join(dir, "archives", statusName)); err == nil {
		t.Error("the status is still there")
	}
}

// TestPipe names a FIFO without a writer as the list of hosts: the command waits for it, and ends when asked to.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "hosts")
	if err := syscall.Mkfifo(list, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	var b bytes.Buffer
	env := newEnv(dir, &b, &b, "-f", list, "-d", dir)
	go func() { done <- run(ctx, env) }()
	cancel()
	select {
	case status := <-done:
		if status != 0 || b.Len() > 0 {
			t.Errorf("status %d: %s", status, &b)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
	if err := os.WriteFile(list, nil, 0); err != nil { // ends the reader that waits
		t.Error(err)
	}
}
