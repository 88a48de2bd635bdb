//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// realScripts puts the files that scripts source, and the programs they call, of the
// real PCP into the tree.
func (r *pcpTree) realScripts() {
	r.T.Helper()
	for from, to := range map[string]string{
		"/etc/pcp.env": "etc/pcp.env", "/usr/share/pcp/lib/pmdaproc.sh": "share/lib/pmdaproc.sh",
		"/usr/share/pcp/lib/lockpmns": "share/lib/lockpmns", "/usr/share/pcp/lib/unlockpmns": "share/lib/unlockpmns",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			r.T.Skip("SKIPPED: ", err)
		}
		r.Write(to, string(text))
		if err := os.Chmod(filepath.Join(r.Path, to), 0o755); err != nil {
			r.T.Fatal(err)
		}
	}
	// The real one signals every collector of the machine.
	r.Write("bin/pmsignal", "#!/bin/sh\n[ \"$1\" = -a ] && kill -HUP `cat $PCP_DIR/run/pmcd.pid`\nexit 0\n")
	if err := os.Chmod(filepath.Join(r.Path, "bin/pmsignal"), 0o755); err != nil {
		r.T.Fatal(err)
	}
	r.Write("libexec/x", "")
	for dir, names := range map[string]string{"bin": "pminfo pmprobe", "libexec": "pmnsadd pmnsdel pmnsmerge pmsleep pmpost pmcd_wait pmlock pmcpp newhelp"} {
		for name := range strings.FieldsSeq(names) {
			if err := os.Symlink(oracle.Path(name), filepath.Join(r.Path, dir, name)); err != nil {
				r.T.Fatal(err)
			}
		}
	}
}

// TestInstallTranscript compares the output of Install and Remove, and the files
// that they leave, with those of the same scripts with the real pmdaproc.sh.
func TestInstallTranscript(t *testing.T) {
	oracle.Require(t)
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: the real pmdaproc.sh gives pmcd.conf to root")
	}
	theirs, ours := newPCPTree(t), newPCPTree(t)
	for _, r := range []*pcpTree{theirs, ours} {
		conf := "PCP_ECHO_PROG=/bin/echo\nPCP_ECHO_N=-n\nPCP_ECHO_C=\nPCP_AWK_PROG=awk\nPCP_MAKE_PROG=/usr/bin/make\nPCP_PLATFORM=linux\n"
		r.Write("etc/pcp.conf", r.Read("etc/pcp.conf")+conf)
		r.Write("var/pmdas/simple/root", "#define SIMPLE 253\nroot {\n\tsimple\n}\n#include \"pmns\"\n")
		r.env = append(r.env, "LC_ALL=C")
	}
	theirs.realScripts()
	if status, out := ours.run("", ours.pcp, "agent", "scripts"); status != 0 {
		t.Fatal(out)
	}
	theirs.collect()
	ours.collect()
	for _, c := range []struct {
		stdin   string
		command []string
	}{
		{"\n\n", []string{"./Install"}},
		{"dso\n", []string{"./Install", "-e"}},
		{"nothing\ndaemon\nsocket\nUnix\n\nUnix\n/nowhere/simple\n", []string{"./Install", "-e", "-Q"}},
		{"", []string{"./Remove"}},
		{"", []string{"./Remove"}},
		{"", []string{"./Install", "-n"}},
	} {
		status, want := theirs.run(c.stdin, c.command...)
		if got, out := ours.run(c.stdin, c.command...); got != status {
			t.Errorf("%q: exit status %d, want %d:\n%s\nwant:\n%s", c.command, got, status, out, want)
		} else if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("%q (-theirs +ours):\n%s", c.command, diff)
		}
		for _, file := range []string{"etc/pmcd.conf", "var/pmns/root"} {
			plain := func(r *pcpTree) string {
				return strings.Join(strings.Fields(strings.ReplaceAll(r.Read(file), r.Path, "$PCP_DIR")), " ")
			}
			if diff := cmp.Diff(plain(theirs), plain(ours)); diff != "" {
				t.Errorf("after %q: %s (-theirs +ours):\n%s", c.command, file, diff)
			}
		}
	}
}
