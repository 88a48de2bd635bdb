package logconf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// files writes files below a new directory, given by name and text.
func files(t *testing.T, list ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(list); i += 2 {
		path := filepath.Join(dir, list[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(list[i+1]), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	group = "#pmlogconf-setup 2.0\nident it\nprobe sample.bin values ? include : exclude\n\tsample.bin\n"
	mine  = "# DO NOT UPDATE THE FILE ABOVE THIS LINE\nlog mandatory on 1 sec { pmcd.pid }\n\x00\xff\n\n\n[access]\nallow * : all;"
	conf  = "#pmlogconf 2.0\n#+ groupdir groups\n#+ old:y:1 hour:\n## it is gone\nlog advisory on 1 hour {\n\told.metric\n}\n#----\n" + mine
)

// left returns the files in a directory, by name.
func left(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got[e.Name()] = string(b)
		}
	}
	return got
}

// TestUsersPart shows that the user's part is kept byte for byte, where the C tool drops the text after a NUL
// and adds an empty line before a last line without an end, and that the mode of the file stays.
func TestUsersPart(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	dir := files(t, "groups/g", group, "conf", conf)
	for _, args := range [][]string{{"-q"}, {"-c"}, {"-c", "-r"}, {"-r"}} {
		res := twin.Call{Tool: "pmlogconf", Args: append(args, "-d", "groups", "conf"), Dir: dir, Env: d.Env, Stdin: "y\n\n"}.Run(t, true)
		if res.Status != 0 {
			t.Errorf("%q: status %d\n%s%s", args, res.Status, res.Out, res.Err)
		}
		if got := left(t, dir)["conf"]; !strings.HasSuffix(got, "#----\n"+mine) || !strings.Contains(got, "\n\tsample.bin\n") {
			t.Errorf("%q made %q", args, got)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "conf"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestNoGroupBefore shows that a configuration without groups gets them before the user's part, where the C tool has
// that part twice.
func TestNoGroupBefore(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	dir := files(t, "groups/g", group, "conf", "#pmlogconf 2.0\n# mine\n"+mine)
	res := twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-d", "groups", "conf"}, Dir: dir, Env: d.Env}.Run(t, true)
	want := "#pmlogconf 2.0\n# mine\n#+ g:y:default:\n## it\nlog advisory on default {\n\tsample.bin\n}\n#----\n" + mine
	if d := cmp.Diff(want, left(t, dir)["conf"]); res.Status != 0 || d != "" {
		t.Errorf("status %d (-want +got)\n%s", res.Status, d)
	}
}

// TestOnlyProbe shows that the only probed metric may be missing wherever its group is: the C tool assumes that
// it exists unless that group is the first.
func TestOnlyProbe(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	dir := files(t, "groups/a", "#pmlogconf-setup 2.0\nforce available\n\tx\n", "groups/b", "#pmlogconf-setup 2.0\nprobe sample.nosuch\n\ty\n")
	res := twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-d", "groups", "conf"}, Dir: dir, Env: d.Env}.Run(t, true)
	if got := left(t, dir)["conf"]; res.Status != 0 || !strings.Contains(got, "\n#+ b:x::\n") {
		t.Errorf("status %d\n%s", res.Status, got)
	}
}

// TestNotWritten shows that a full file system leaves the old file intact, and no other files.
func TestNotWritten(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	dir := files(t, "groups/g", group, "conf", conf)
	for _, name := range []string{"conf", "new"} {
		res := twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-d", "groups", name}, Dir: dir, Env: append(d.Env, twin.Limit(100))}.Run(t, true)
		if res.Status != 1 || !strings.Contains(string(res.Err), "cannot ") {
			t.Errorf("%s: status %d\n%s", name, res.Status, res.Err)
		}
		if d := cmp.Diff(map[string]string{"conf": conf}, left(t, dir)); d != "" {
			t.Errorf("%s (-want +got)\n%s", name, d)
		}
	}
}

// relay forwards a client's first PDUs, up to a limit, then breaks the connection.
func relay(t *testing.T, to string, most int) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer client.Close()
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				wg.Go(func() { io.Copy(client, server) })
				defer server.Close()
				for range most {
					var head [4]byte
					if _, err := io.ReadFull(client, head[:]); err != nil {
						return
					}
					size := int(head[0])<<24 | int(head[1])<<16 | int(head[2])<<8 | int(head[3])
					b := make([]byte, max(size, 4))
					copy(b, head[:])
					if _, err := io.ReadFull(client, b[4:]); err != nil {
						return
					}
					if _, err := server.Write(b); err != nil {
						return
					}
				}
			})
		}
	})
	return ln.Addr().String()
}

// TestCollectorDies shows that when the connection is lost half way, the tool ends with a message and leaves the
// files unchanged. The C tool continues, and assumes that all metrics exist.
func TestCollectorDies(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	good := 0
	for most := 1; most < 12; most++ {
		for _, name := range []string{"conf", "new"} {
			dir := files(t, "groups/g", group, "groups/h", group, "conf", conf)
			res := twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-h", relay(t, d.TCP, most), "-d", "groups", name}, Dir: dir, Env: d.Env}.Run(t, true)
			if res.Status == 0 {
				good++
				continue
			}
			if len(res.Err) == 0 {
				t.Errorf("%d: nothing is said", most)
			}
			if d := cmp.Diff(map[string]string{"conf": conf}, left(t, dir)); d != "" {
				t.Errorf("%d (-want +got)\n%s", most, d)
			}
		}
		if good > 0 {
			break
		}
	}
	if good == 0 {
		t.Error("it never came to an end")
	}
}

// A prompt closes the channel once a text has been written.
type prompt struct {
	bytes.Buffer
	want string
	seen chan struct{}
}

func (p *prompt) Write(b []byte) (int, error) {
	had := strings.Contains(p.String(), p.want)
	n, err := p.Buffer.Write(b)
	if !had && strings.Contains(p.String(), p.want) {
		close(p.seen)
	}
	return n, err
}

// TestInterrupt shows that ctrl-C at a question ends the tool and leaves the old file whole.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	for _, c := range []struct{ answers, at string }{{"", "Log this group?"}, {"y\n", "Logging interval?"}, {"q\n", "Keep changes?"}} {
		dir := files(t, "groups/g", group, "conf", conf)
		in, typed := io.Pipe()
		go io.WriteString(typed, c.answers)
		ctx, cancel := context.WithCancel(t.Context())
		out := &prompt{want: c.at, seen: make(chan struct{})}
		var stderr bytes.Buffer
		done := make(chan int)
		go func() {
			done <- Command.Run(ctx, &cli.Env{
				Name: "pmlogconf", Args: []string{"-h", d.TCP, "-d", dir + "/groups", dir + "/conf"}, Stdin: in, Stdout: out, Stderr: &stderr,
				Getenv: d.Getenv, Command: Command,
			})
		}()
		select {
		case <-out.seen:
		case status := <-done:
			t.Fatalf("%s: status %d\n%s%s", c.at, status, &out.Buffer, &stderr)
		}
		cancel()
		if status := <-done; status != 1 {
			t.Errorf("%s: status %d", c.at, status)
		}
		typed.Close()
		if !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("%s: %q", c.at, out.String())
		}
		if d := cmp.Diff(map[string]string{"conf": conf}, left(t, dir)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.at, d)
		}
	}
}

// TestTree shows that names of any bytes are found, and that none leads out of the tree.
func TestTree(t *testing.T) {
	dir := files(t, "a/b", "x")
	if b, err := fs.ReadFile(tree(dir), "a/b"); err != nil || string(b) != "x" {
		t.Errorf("a/b is %q, %v", b, err)
	}
	if err := os.WriteFile(dir+"/caf\xe9", []byte("y"), 0o644); err != nil {
		t.Skipf("SKIPPED: the file system takes no such name: %v", err)
	}
	f, err := tree(dir).Open("caf\xe9")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, name := range []string{"", "/etc/passwd", "../x", "a/../../x", "a/..", "a\x00b"} {
		if _, err := tree(dir).Open(name); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
}

// patch turns a into b by the lines of a difference in context format.
func patch(a []string, diff string) ([]string, error) {
	var out []string
	at := 0
	hunks := strings.Split(diff, "***************\n")
	for _, h := range hunks[1:] {
		old, now, ok := strings.Cut(h, " ----\n")
		i := strings.LastIndex(old, "--- ")
		if !ok || i < 0 {
			return nil, errors.New("no second part")
		}
		head, body, _ := strings.Cut(old[:i], "\n")
		from, to := span(strings.TrimSuffix(strings.TrimPrefix(head, "*** "), " ****"))
		for ; at < from; at++ {
			out = append(out, a[at])
		}
		if now == "" { // nothing was added: the first part has all remaining lines
			now = body
		}
		for _, l := range splitLines([]byte(now)) {
			if l[0] != '-' && !(l[0] == '!' && now == body) && l[0] != '\\' {
				out = append(out, l[2:])
			}
		}
		at = to
	}
	return append(out, a[at:]...), nil
}

// span reads the line numbers of a part, as from and to.
func span(s string) (from, to int) {
	first, last, ok := strings.Cut(s, ",")
	f, _ := cli.Atoi(first)
	if !ok {
		if f == 0 {
			return 0, 0
		}
		return f - 1, f
	}
	l, _ := cli.Atoi(last)
	return f - 1, l
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd\n")
	f.Add("#\n#----\n#\n#----\n#\n", "#\n#----\n#----\n#----\n#\nx\n#\n")
	f.Add("", "a\n")
	f.Add("a\na\na\na\nb\na\na\na\na\na\na\na\na\nz\n", "a\na\na\nc\na\na\na\na\na\na\na\n")
	f.Fuzz(func(t *testing.T, from, to string) {
		if len(from)+len(to) > 2000 || strings.ContainsAny(from+to, "\\-") {
			return
		}
		from, to = from+"\n", to+"\n"
		a, b := splitLines([]byte(from)), splitLines([]byte(to))
		var out bytes.Buffer
		writeDiff(&out, a, b)
		if from == to {
			if out.Len() > 0 {
				t.Errorf("%q differs from itself", from)
			}
			return
		}
		got, err := patch(a, out.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if d := cmp.Diff(b, got); d != "" {
			t.Errorf("%q to %q (-want +got)\n%s\n%s", from, to, d, &out)
		}
	})
}

// TestOddFiles shows that files that are too large, devices and FIFOs are rejected and kept, and that a FIFO among groups
// does not block the tool.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	dir := files(t, "groups/g", group, "large", "")
	if err := os.Truncate(filepath.Join(dir, "large"), 1<<40); err != nil {
		t.Skipf("SKIPPED: no large files: %v", err)
	}
	for _, name := range []string{"fifo", "groups/fifo"} {
		if out, err := exec.Command("mkfifo", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: mkfifo: %v: %s", err, out)
		}
	}
	if err := os.Symlink("..", filepath.Join(dir, "groups/loop")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"large", "fifo", "/dev/null"} {
		res := twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-d", "groups", name}, Dir: dir, Env: d.Env}.Run(t, true)
		if res.Status != 1 || !strings.Contains(string(res.Err), "Cannot open pmlogger configuration \""+name) {
			t.Errorf("%s: status %d\n%s", name, res.Status, res.Err)
		}
	}
	os.Remove(filepath.Join(dir, "large"))
	res := twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-d", "groups", "conf"}, Dir: dir, Env: d.Env}.Run(t, true)
	if !strings.Contains(string(res.Err), "directories deep") || res.Status != 1 {
		t.Errorf("a loop: status %d\n%s", res.Status, res.Err)
	}
	os.Remove(filepath.Join(dir, "groups/loop"))
	if res := (twin.Call{Tool: "pmlogconf", Args: []string{"-c", "-d", "groups", "conf"}, Dir: dir, Env: d.Env}).Run(t, true); res.Status != 0 {
		t.Errorf("status %d\n%s", res.Status, res.Err)
	}
}
