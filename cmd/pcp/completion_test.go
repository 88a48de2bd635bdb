//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmns"
)

// An oddAgent has names of metrics and instances that have a meaning for
// shells.
type oddAgent struct {
	names []string // below odd.dyn
	insts []pcp.Instance
}

const oddDomain = 401

var (
	oddPlain   = pcp.NewPMID(oddDomain, 0, 1)
	oddInDom   = pcp.NewInDom(oddDomain, 1)
	errNoNamed = fmt.Errorf("odd: %w", pcp.ErrName)
)

func (a *oddAgent) NameSpace() *pmns.Tree {
	t := pmns.New()
	for name, id := range map[string]pcp.PMID{"odd.inst": oddPlain, "odd.dyn": pcp.DynamicRoot(oddDomain)} {
		if err := t.Add(name, id); err != nil {
			panic(err)
		}
	}
	return t
}

func (a *oddAgent) Desc(_ context.Context, id pcp.PMID) (pcp.Desc, error) {
	return pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: oddInDom, Sem: pcp.SemInstant}, nil
}

func (a *oddAgent) Instances(context.Context, pcp.InDom) ([]pcp.Instance, error) { return a.insts, nil }

func (a *oddAgent) Fetch(_ context.Context, req *pmda.FetchRequest) error {
	for _, id := range req.PMIDs {
		req.Result.AddSet(id)
		for _, in := range a.insts {
			req.Result.Add(pcp.Uint32Value(1).WithInst(in.Inst))
		}
	}
	return nil
}

func (a *oddAgent) LookupName(_ context.Context, name string) (pcp.PMID, error) {
	if i := slices.Index(a.names, strings.TrimPrefix(name, "odd.dyn.")); i >= 0 {
		return pcp.NewPMID(oddDomain, 1, i), nil
	}
	return pcp.PMIDNull, errNoNamed
}

func (a *oddAgent) Names(_ context.Context, id pcp.PMID) ([]string, error) {
	if id.Cluster() == 1 && id.Item() < len(a.names) {
		return []string{"odd.dyn." + a.names[id.Item()]}, nil
	}
	return nil, pcp.ErrPMID
}

func (a *oddAgent) Children(_ context.Context, _ string, traverse bool) ([]pmns.Child, error) {
	var list []pmns.Child
	for _, name := range a.names {
		if traverse {
			name = "odd.dyn." + name
		}
		list = append(list, pmns.Child{Name: name, Leaf: true})
	}
	return list, nil
}

// hostileWords are words that a shell could take for commands that make the file PWNED. Each begins
// with different letters.
var hostileWords = []string{
	"aa$(touch PWNED)x", "bb`touch PWNED`x", "cc;touch PWNED;x", "dd&&touch PWNED #x", "ee${x:-$(touch PWNED)}", "ff(touch PWNED)x",
	"gg|touch PWNED", "hh<(touch PWNED)x", "ii=(touch PWNED)x", "jj'$(touch PWNED)'x", `kk"$(touch PWNED)"x`, `ll\$(touch PWNED)x`,
	"mm >PWNED", "nn*(e:'touch PWNED':)x", "oo two words", "pp!touch PWNED", "qq{a,$(touch PWNED)}x", "rr~x y[$(touch PWNED)]",
}

// A shell is a shell with pcp's completion.
type shell struct {
	name string
	args []string
	// load are the lines that load the script; %s is its path.
	load string
}

var shells = []shell{
	{"bash", []string{"--noprofile", "--norc", "-i"}, "PS1='> '; source %s"},
	{"zsh", []string{"-f", "-i"}, "PS1='> '; autoload -U compinit; compinit -u -D; source %s"},
	{"fish", []string{"-N", "-i"}, "source %s"},
}

// TestCompletionRunsNothing presses Tab in each shell where a name of a metric, an instance, a host
// or an archive is a command to it. Tab inserts that name as one word, also when the line is run,
// and nothing else is ever run.
func TestCompletionRunsNothing(t *testing.T) {
	real := program(t)
	a := &oddAgent{names: append([]string{"plain"}, hostileWords...)}
	for i, name := range hostileWords {
		a.insts = append(a.insts, pcp.Instance{Inst: int32(i), Name: name})
	}
	socket, _, err := collect(collectorSpec{more: []pmcd.AgentSpec{{Name: "odd", Domain: oddDomain, Agent: a}}, atEnd: t.Cleanup, log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range shells {
		t.Run(sh.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(sh.name)
			if err != nil {
				t.Skipf("%s is not installed", sh.name)
			}
			s := startShell(t, sh, path, real, socket)

			// The collector sends such names, and the client leaves them out.
			s.line("pcp val odd.dyn.pl\t", "val", "odd.dyn.plain")
			for _, w := range hostileWords[:2] {
				s.enter("pcp val odd.dyn." + w[:2] + "\t")
			}
			// Should a client ever print one, it is a line like any other.
			s.do("touch", "HOSTILE")
			for _, w := range hostileWords {
				s.line("pcp val metric."+w[:2]+"\t", "val", "metric."+w)
			}
			for _, w := range hostileWords {
				want := w
				if strings.ContainsAny(w, ", \t") {
					want = `"` + w + `"` // as -i takes it
				}
				prefix := w[:2]
				if want != w {
					prefix = `\"` + prefix // as it is typed
				}
				s.line("pcp val odd.inst -i "+prefix+"\t", "val", "odd.inst", "-i", want)
			}
			for i, w := range hostileWords {
				w = strings.ReplaceAll(w, "/", "")
				if err := os.WriteFile(filepath.Join(s.dir, w), nil, 0o666); err != nil {
					t.Fatal(err)
				}
				if i%2 == 0 {
					s.line("pcp dumplog -n "+w[:2]+"\t", "dumplog", "-n", w)
				} else {
					s.line("pcp info -a "+w[:2]+"\t", "info", "-a", w)
				}
			}
			// Completion asks the hosts and archives of the line for instances.
			for _, w := range hostileWords[:3] {
				word := "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
				s.enter("pcp val -h " + word + " odd.inst -i \t")
				s.enter("pcp val -a " + word + " odd.inst -i \t")
			}
			s.do("rm", "HOSTILE")
			s.line("pcp val odd.dyn.pl\t", "val", "odd.dyn.plain") // completion still works
		})
	}
}

// A session is an interactive shell.
type session struct {
	t    *testing.T
	dir  string
	name string
	keys io.Writer
	ran  string // the file to which each program that the user runs writes its arguments
	n    int

	mu     sync.Mutex
	screen []byte
}

// startShell starts a shell in a directory of its own. There, pcp is a script that records its
// arguments, except in calls by completion.
func startShell(t *testing.T, sh shell, path, real, socket string) *session {
	t.Helper()
	s := &session{t: t, name: sh.name, dir: t.TempDir()}
	home, bin := t.TempDir(), t.TempDir()
	s.ran = filepath.Join(home, "ran")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	var names strings.Builder
	for _, w := range hostileWords {
		fmt.Fprintf(&names, "metric.%s\n", w)
	}
	write(filepath.Join(bin, "names"), names.String(), 0o666)
	write(filepath.Join(bin, "pcp"), fmt.Sprintf(`#!/bin/sh
case $1,$# in
completion,*) exec %[1]s "$@" ;;
info,1)
	if test -e HOSTILE; then
		exec cat %[2]s/names
	fi
	exec %[1]s "$@" ;;
esac
{
	for arg; do
		printf '%%s\n' "$arg"
	done
	echo .
} >%[3]s.new
mv %[3]s.new %[3]s
`, real, bin, s.ran), 0o777)
	script, err := exec.Command(real, "completion", sh.name).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "_pcp")
	write(file, string(script), 0o666)
	cmd := exec.Command(path, sh.args...)
	cmd.Dir = s.dir
	cmd.Env = append(covered(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=xterm", "LANG=C.UTF-8", "PATH="+bin+":"+os.Getenv("PATH"),
		"PCP_CONF=/dev/null", "PMCD_SOCKET="+socket, "PMCD_PORT=1", "PCP_DERIVED_CONFIG=", "TMPDIR="+home)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 300})
	if err != nil {
		t.Skipf("no pseudo terminals: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := f.Read(b)
			s.mu.Lock()
			s.screen = append(s.screen, b[:n]...)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		await.Exit(t, cmd)
		f.Close()
		<-done
	})
	s.keys = f
	s.do(strings.Split(fmt.Sprintf(sh.load, file), " ")...)
	return s
}

// do runs a command, and waits until it has ended.
func (s *session) do(words ...string) {
	s.t.Helper()
	s.n++
	mark := fmt.Sprint("done", s.n)
	s.line(strings.Join(words, " ")+"; pcp "+mark, mark)
}

// line is enter for known arguments of pcp.
func (s *session) line(keys string, want ...string) {
	s.t.Helper()
	if got, args := s.enter(keys), strings.Join(want, "\n")+"\n.\n"; got != args {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Errorf("%s: %q runs pcp with %q, want %q; the screen has\n%q", s.name, keys, got, args, s.screen[max(0, len(s.screen)-500):])
	}
}

// enter types a line, waits until the shell has run pcp, and returns the arguments.
func (s *session) enter(keys string) string {
	s.t.Helper()
	os.Remove(s.ran)
	io.WriteString(s.keys, keys+"\r")
	var got []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if got, err = os.ReadFile(s.ran); err == nil {
			break
		}
		if time.Now().After(end) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Fatalf("%s: %q runs nothing that was waited for; the screen has\n%q", s.name, keys, s.screen[max(0, len(s.screen)-2000):])
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "PWNED")); err == nil {
		s.t.Errorf("%s: %q ran a command of the name", s.name, keys)
		os.Remove(filepath.Join(s.dir, "PWNED"))
	}
	return string(got)
}
