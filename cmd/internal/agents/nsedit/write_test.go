//go:build unix

package nsedit

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestMain makes this program act as the command by whose name it is called.
func TestMain(m *testing.M) {
	if c := cli.Find([]*cli.Command{AddCommand, DelCommand, MergeCommand}, filepath.Base(os.Args[0])); c != nil {
		os.Exit(c.Run(context.Background(), &cli.Env{
			Name: c.Link, Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Command: c,
		}))
	}
	os.Exit(m.Run())
}

// The user nobody owns nothing.
const nobody = 65534

// A place has files that an unprivileged user edits.
type place struct {
	t   *testing.T
	bin string // of the tools
	dir string // they run here
}

var startFiles = map[string]string{
	"ns":     "root {\n\ta\n}\na {\n\tx\t60:0:1\n\tz\t60:0:3\n}\n",
	"two":    "#define _DATESTAMP 2\nroot {\n\tb\n}\nb {\n\ty\t60:0:2\n}\n",
	"clash":  "root {\n\ta\n}\na {\n\tx\t60:0:9\n}\n",
	"double": "root {\n\tc\n}\nc {\n\tx\t60:0:1\n}\n",
	"sub":    "b.c {\n\ty\t60:0:2\n}\n",
	"bad":    "root {\n\tb\n",
}

func newPlace(t *testing.T, bin string) *place {
	t.Helper()
	base, err := os.MkdirTemp("", "nsedit") // which others may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	p := &place{t, bin, filepath.Join(base, "dir")}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	os.Chmod(base, 0o755)
	os.Chmod(p.dir, 0o755)
	for name, text := range startFiles {
		p.write(name, text, 0o644)
	}
	if bin == "" { // this program, accessible to the other user
		p.bin = filepath.Join(base, "bin")
		os.Mkdir(p.bin, 0o755)
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
		defer self.Close()
		for i, name := range []string{"pmnsadd", "pmnsdel", "pmnsmerge"} {
			path := filepath.Join(p.bin, name)
			if i > 0 {
				err = os.Symlink("pmnsadd", path)
			} else if f, ferr := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755); ferr != nil {
				err = ferr
			} else {
				_, err = io.Copy(f, self)
				f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

func (p *place) write(name, text string, mode os.FileMode) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
	os.Chmod(path, mode)
}

// An outcome is the output and the files of a run.
type outcome struct {
	Out, Err string
	Exit     int
	Files    map[string]string
}

var (
	cpSays  = regexp.MustCompile(`(?m)^cp: .*\n`)
	scratch = regexp.MustCompile(`\S*/pmnsadd\.\w+`)
)

func (p *place) run(as int, line string) outcome {
	p.t.Helper()
	words := strings.Fields(line)
	cmd := exec.Command(filepath.Join(p.bin, words[0]), words[1:]...)
	cmd.Dir, cmd.Env = p.dir, append(oracle.Env(), "PCP_DIR=")
	if as != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(as), Gid: uint32(as)}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	clean := func(b *bytes.Buffer) string {
		return scratch.ReplaceAllString(cpSays.ReplaceAllString(b.String(), ""), "TMP")
	}
	o := outcome{clean(&out), clean(&errs), cmd.ProcessState.ExitCode(), map[string]string{}}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			p.t.Fatal(err)
		}
		var b []byte
		if st.Mode().IsRegular() {
			b, _ = os.ReadFile(filepath.Join(p.dir, e.Name()))
		}
		o.Files[e.Name()] = st.Mode().String() + "\n" + string(b)
	}
	return o
}

// TestOracleEdit runs the tools on files with and without write permission.
func TestOracleEdit(t *testing.T) {
	oracle.Require(t)
	real := oracle.Path("pmnsmerge")
	if real == "" {
		t.Skip("SKIPPED: real PCP has no pmnsmerge")
	}
	me := os.Geteuid()
	self := newPlace(t, "").bin
	for _, c := range []struct {
		as       int
		fileMode os.FileMode // of ns
		line     string
	}{
		{me, 0o644, "pmnsmerge ns two out"},
		{me, 0o640, "pmnsmerge -f ns two ns"},
		{me, 0o644, "pmnsmerge ns two sub"},
		{me, 0o644, "pmnsmerge ns clash out"},
		{me, 0o644, "pmnsmerge ns double out"},
		{me, 0o644, "pmnsmerge -x ns double out"},
		{me, 0o644, "pmnsmerge ns bad out"},
		{me, 0o644, "pmnsmerge ns none out"},
		{me, 0o644, "pmnsmerge -a ns none out"},
		{me, 0o644, "pmnsmerge -vv two ns out"},
		{me, 0o644, "pmnsmerge ns two none/out"},
		{me, 0o640, "pmnsdel -n ns a.x"},
		{me, 0o644, "pmnsdel -n ns a.x a.z"},
		{me, 0o644, "pmnsdel -n ns a.y"},
		{me, 0o644, "pmnsdel -n none a.x"},
		{me, 0o644, "pmnsdel -n none/ns a.x"},
		{me, 0o644, "pmnsdel -n bad b"},
		{me, 0o644, "pmnsadd -n ns sub"},
		{me, 0o644, "pmnsadd -n ns two"},
		{me, 0o644, "pmnsadd -n ns none"},
		{me, 0o644, "pmnsadd -n ns clash"},
		{nobody, 0o644, "pmnsmerge ns two out"},
		{nobody, 0o644, "pmnsmerge -f ns two ns"},
		{nobody, 0o666, "pmnsmerge -f two ns"},
		{nobody, 0o600, "pmnsmerge ns two out"},
		{nobody, 0o644, "pmnsdel -n ns a.x"},
		{nobody, 0o600, "pmnsdel -n ns a.x"},
		{nobody, 0o666, "pmnsadd -n ns sub"},
	} {
		if c.as == nobody && me != 0 {
			continue // only root can be somebody else
		}
		theirs, ours := newPlace(t, filepath.Dir(real)), newPlace(t, self)
		for _, p := range []*place{theirs, ours} {
			p.write("ns", startFiles["ns"], c.fileMode)
		}
		if diff := cmp.Diff(theirs.run(c.as, c.line), ours.run(c.as, c.line)); diff != "" {
			t.Errorf("%s, as %d with mode %o (-theirs +ours):\n%s", c.line, c.as, c.fileMode, diff)
		}
	}
}

// TestMergePlanted tries files that another user put in place of the output.
func TestMergePlanted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can plant as somebody else")
	}
	self := newPlace(t, "").bin
	for _, force := range []string{"", "-f "} {
		p := newPlace(t, self)
		precious := filepath.Join(filepath.Dir(p.dir), "precious")
		if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chown(p.dir, nobody, nobody)
		for name, to := range map[string]string{"link": precious, "dangling": precious + ".new"} {
			if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
				t.Fatal(err)
			}
			os.Lchown(filepath.Join(p.dir, name), nobody, nobody)
			got := p.run(0, "pmnsmerge "+force+"ns two "+name)
			if (got.Exit == 0) != (force != "") {
				t.Errorf("%s%s: status %d, %s", force, name, got.Exit, got.Err)
			}
			if _, err := os.Lstat(precious + ".new"); err == nil {
				t.Errorf("%s%s: a file where the link leads", force, name)
			}
		}
		if b, err := os.ReadFile(precious); err != nil || string(b) != "precious" {
			t.Errorf("%s: the file is %q, %v", force, b, err)
		}
		// A device is not removed.
		if err := syscall.Mkfifo(filepath.Join(p.dir, "fifo"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := p.run(0, "pmnsmerge -f ns two fifo"); got.Exit == 0 || !strings.HasPrefix(got.Files["fifo"], "p") {
			t.Errorf("a FIFO as output: status %d, %s, it is %.10s", got.Exit, got.Err, got.Files["fifo"])
		}
	}
}
