//go:build unix

package main

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

// A pcpTree is an installation of PCP in a folder of its own, without any file of
// the C implementation and with a collector.
type pcpTree struct {
	testdir.Dir
	pcp string
	env []string
}

func newPCPTree(t *testing.T) *pcpTree {
	t.Helper()
	r := &pcpTree{Dir: testdir.Dir{T: t}, pcp: program(t)}
	var err error
	if r.Path, err = os.MkdirTemp("", "pcp"); err != nil { // the path of a socket must be short
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(r.Path) })
	if err := os.Chmod(r.Path, 0o755); err != nil {
		t.Fatal(err)
	}
	conf := ""
	for _, s := range [][2]string{
		{"PCP_VAR_DIR", "var"},
		{"PCP_SHARE_DIR", "share"},
		{"PCP_RUN_DIR", "run"},
		{"PCP_LOG_DIR", "log"},
		{"PCP_TMP_DIR", "tmp"},
		{"PCP_TMPFILE_DIR", "tmp"},
		{"PCP_BIN_DIR", "bin"},
		{"PCP_BINADM_DIR", "libexec"},
		{"PCP_PMDAS_DIR", "var/pmdas"},
		{"PCP_SYSCONF_DIR", "etc"},
		{"PCP_PMCDCONF_PATH", "etc/pmcd.conf"},
		{"PCP_RC_DIR", "etc/init.d"},
	} {
		conf += s[0] + "=" + filepath.Join(r.Path, s[1]) + "\n"
	}
	for name, text := range map[string]string{
		"etc/pcp.conf":            conf,
		"etc/pmcd.conf":           "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\n\n[access]\nallow hosts \"local:*\" : all;\n",
		"var/pmns/root_pmcd":      "root {\n\tpmcd\n}\npmcd {\n\tsighups\t2:0:22\n\tversion\t2:0:8\n\tagent\n}\npmcd.agent {\n\tstatus\t2:4:1\n}\n",
		"var/config/pmchart/none": "", "run/x": "", "tmp/x": "", "log/pmcd/x": "",
	} {
		r.Write(name, text)
	}
	if err := os.CopyFS(filepath.Join(r.Path, "var/pmdas/simple"), os.DirFS("testdata/install/simple")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Install", "Remove"} {
		if err := os.Chmod(filepath.Join(r.Path, "var/pmdas/simple", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(r.pcp, filepath.Join(r.Path, "var/pmdas/simple/pmdasimple")); err != nil {
		t.Fatal(err)
	}
	r.Write("var/pmdas/simple/colours.pmchart", "#kmchart\nversion 1\n")
	r.env = []string{"PATH=/usr/bin:/bin", "HOME=" + r.Path, "PCP_DIR=" + r.Path, "PMCD_SOCKET=" + r.Path + "/s", "PMCD_PORT=1", "TZ=UTC"}
	r.env = append(r.env, covered()...)
	return r
}

// run runs a program and returns its exit status and its output, the same
// wherever the tree is.
func (r *pcpTree) run(stdin string, command ...string) (int, string) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Dir = r.env, strings.NewReader(stdin), filepath.Join(r.Path, "var/pmdas/simple")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		r.T.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(string(out), r.Path, "$PCP_DIR")
}

func (r *pcpTree) want(status int, want, stdin string, command ...string) {
	r.T.Helper()
	got, out := r.run(stdin, command...)
	if got != status {
		r.T.Errorf("%q: exit status %d, want %d", command, got, status)
	}
	if diff := cmp.Diff(want, out); diff != "" {
		r.T.Errorf("%q (-want +got):\n%s", command, diff)
	}
}

// collect starts the tree's collector.
func (r *pcpTree) collect() {
	r.T.Helper()
	if status, out := r.run("", r.pcp, "ns", "rebuild", "-u"); status != 0 {
		r.T.Fatal(out)
	}
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		r.T.Fatal(err)
	}
	who, err := user.Current() // the collector keeps root, if we are root
	if err != nil {
		r.T.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	cmd := exec.Command(r.pcp, "pmcd", "-U", who.Username, "-p", port, "-s", r.Path+"/s", "-l", r.Path+"/log/pmcd/pmcd.log")
	cmd.Env, cmd.Dir = slices.DeleteFunc(slices.Clone(r.env), func(s string) bool { return strings.HasPrefix(s, "PMCD_PORT=") }), r.Path
	out, err := cmd.CombinedOutput() // until it is a daemon
	r.T.Cleanup(r.endCollector)
	if err != nil {
		r.T.Fatalf("%v: %s", err, out)
	}
	for range 200 {
		if status, _ := r.run("", r.pcp, "probe", "pmcd.sighups"); status == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.T.Fatal("the collector does not answer")
}

// endCollector ends the tree's collector and waits until it has gone.
func (r *pcpTree) endCollector() {
	log, _ := os.ReadFile(filepath.Join(r.Path, "log/pmcd/pmcd.log"))
	if r.T.Failed() {
		r.T.Logf("collector: %s", log)
	}
	path := filepath.Join(r.Path, "run/pmcd.pid")
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		r.T.Errorf("%s: %q", path, text)
		return
	}
	syscall.Kill(pid, syscall.SIGTERM)
	for range 200 {
		if _, err := os.Stat(path); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.T.Errorf("the collector, process %d, does not end", pid)
}

// TestInstallScripts installs and removes an agent with typical scripts of agents.
func TestInstallScripts(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("SKIPPED: no shell")
	}
	r := newPCPTree(t)
	if status, out := r.run("", r.pcp, "agent", "scripts"); status != 0 || !strings.HasPrefix(out, "$PCP_DIR/etc/pcp.env\n$PCP_DIR/share/lib/pmdaproc.sh\n") {
		t.Fatalf("agent scripts: exit status %d: %s", status, out)
	}
	for _, link := range []string{"var/pmns/Rebuild", "share/lib/lockpmns", "libexec/pminfo", "libexec/newhelp", "libexec/pmsleep"} {
		if to, err := os.Readlink(filepath.Join(r.Path, link)); err != nil || to != r.pcp {
			t.Errorf("%s leads to %q, %v", link, to, err)
		}
	}
	r.want(0, "$PCP_DIR/etc/pcp.env\n$PCP_DIR/share/lib/pmdaproc.sh\n", "", r.pcp, "agent", "scripts") // again
	r.collect()

	const updated = `Updating the Performance Metrics Name Space (PMNS) ...
Installing pmchart view(s) ...
Terminate PMDA if already installed ...
Updating the PMCD control file, and notifying PMCD ...
Check simple metrics have appeared ... 5 metrics and 9 values
`
	const domain, which, how = "domain 253 is that of SIMPLE, 253\n", "Install simple as a daemon or dso agent? [daemon] ", "PMCD should communicate with the simple daemon via a pipe or a socket? [pipe] "
	access := "\n[access]\nallow hosts \"local:*\" : all;\n"
	conf := func(line string) {
		t.Helper()
		want := "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\n" + strings.ReplaceAll(line, "$PCP_DIR", r.Path) + access
		if diff := cmp.Diff(want, r.Read("etc/pmcd.conf")); diff != "" {
			t.Errorf("pmcd.conf (-want +got):\n%s", diff)
		}
	}
	r.want(0, domain+which+how+updated+"it is a daemon\n", "\n\n", "./Install")
	conf("simple\t253\tpipe\tbinary\t$PCP_DIR/var/pmdas/simple/pmdasimple -d 253\n")
	r.want(0, "simple.now 3\n", "", r.pcp, "probe", "simple.now")
	if got := r.Read("var/config/pmchart/colours"); got != "#kmchart\nversion 1\n" {
		t.Errorf("view: %q", got)
	}
	r.want(0, "\nPMID 253.0.0 simple.numfetch:Counts how often the agent was asked.\n", "", r.pcp, "chkhelp", "-H", "-n", r.Path+"/var/pmns/root", "help", "simple.numfetch")

	// Installed again, as another kind, with the answers shown.
	r.want(0, domain+which+"what\nMust choose one of daemon or dso, please try again\n"+which+"dso\n"+updated+"it is a dso\n", "what\ndso\n", "./Install", "-e")
	conf("simple\t253\tdso\tsimple_init\t$PCP_DIR/var/pmdas/simple/pmda_simple.so\n")
	const remove = `Culling the Performance Metrics Name Space ...
simple ... done
Updating the PMCD control file, and notifying PMCD ...
Check simple metrics have gone away ... OK
`
	r.want(0, remove, "", "./Remove")
	conf("")
	if _, err := os.Stat(filepath.Join(r.Path, "var/config/pmchart/colours")); err == nil {
		t.Error("the view stays")
	}
	if status, out := r.run("", r.pcp, "probe", "simple"); status != 0 || out != "simple -12357 Unknown metric name\n" {
		t.Errorf("the agent stays: %s", out)
	}
	r.want(0, strings.Replace(remove, "done", "not found in Name Space, this is OK", 1), "", "./Remove")

	// A socket, in place of an agent with the same domain.
	r.Write("etc/pmcd.conf", "pmcd 2 dso pmcd_init /x/pmda_pmcd.so\nother 253 dso trivial_init /x/x.so\n"+access)
	status, out := r.run("daemon\nsocket\nUnix\n"+r.Path+"/agent\n", "./Install", "-Q")
	if !strings.Contains(out, "agent other with domain 253 gives way to agent simple with domain 253") || status != 0 {
		t.Errorf("exit status %d: %s", status, out)
	}
	conf("simple\t253\tsocket\tunix $PCP_DIR/agent\t$PCP_DIR/var/pmdas/simple/pmdasimple -d 253 -u $PCP_DIR/agent\n")
}

// TestInstallScriptLanguages installs agents in Perl and Python. A shell script is the interpreter
// with the modules of the C implementation: it prints the same lines and runs the agent simple.
func TestInstallScriptLanguages(t *testing.T) {
	r := newPCPTree(t)
	if status, out := r.run("", r.pcp, "agent", "scripts"); status != 0 {
		t.Fatal(out)
	}
	interpreter := func(path, variable string) string {
		r.Write(path, `#!/bin/sh
case "$1$`+variable+`DOMAIN$`+variable+`PMNS"
in
-*)	exit 0 ;;
*pmdasnake.py1|*other.pl1)
	if [ -n "$`+variable+`DOMAIN" ]
	then echo "#define SNAKE 252"
	else echo "snake	252:*:*"
	fi ;;
*)	exec "`+r.Path+`/var/pmdas/simple/pmdasimple" -d 252 ;;
esac
`)
		path = filepath.Join(r.Path, path)
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	python, perl := interpreter("bin/snake", "PCP_PYTHON_"), interpreter("bin/perl", "PCP_PERL_")
	r.Write("var/pmdas/snake/pmdasnake.py", "a script\n")
	r.Write("var/pmdas/snake/other.pl", "a script\n")
	const head = "#!/bin/sh\n. $PCP_DIR/etc/pcp.env\n. $PCP_SHARE_DIR/lib/pmdaproc.sh\niam=snake\nsignal_delay=0.2\ncheck_delay=0.5\n"
	r.Write("var/pmdas/snake/Install", head+"daemon_opt=false\n$KINDS\npmdaSetup\npmdaInstall\n")
	r.Write("var/pmdas/snake/Remove", head+"pmdaSetup\npmdaRemove\n")
	r.env = append(r.env, "PCP_PYTHON_PROG="+python, "PATH="+filepath.Dir(perl)+":/usr/bin:/bin")
	r.collect()
	for _, c := range []struct{ kinds, line string }{
		{"python_opt=true", python + " $PCP_DIR/var/pmdas/snake/pmdasnake.py"},
		{"perl_opt=true; perl_name=other.pl", "perl $PCP_DIR/var/pmdas/snake/other.pl"},
	} {
		const where = "cd $PCP_DIR/var/pmdas/snake && sh "
		r.Write("var/pmdas/snake/Install", head+"daemon_opt=false\n"+c.kinds+"\npmdaSetup\npmdaInstall\n")
		if status, out := r.run("", "/bin/sh", "-c", where+"./Install"); status != 0 {
			t.Fatalf("%s: exit status %d: %s", c.kinds, status, out)
		}
		want := strings.ReplaceAll("snake\t252\tpipe\tbinary\t"+c.line+"\n", "$PCP_DIR", r.Path)
		if got := r.Read("etc/pmcd.conf"); !strings.Contains(got, want) {
			t.Errorf("%s: pmcd.conf is\n%swithout\n%s", c.kinds, got, want)
		}
		if status, out := r.run("", r.pcp, "probe", "-h", "unix:"+r.Path+"/s", "pmcd.agent.status"); status != 0 {
			t.Errorf("%s: %s", c.kinds, out)
		}
		if status, out := r.run("", "/bin/sh", "-c", where+"./Remove"); status != 0 {
			t.Fatalf("%s: exit status %d: %s", c.kinds, status, out)
		}
		if got := r.Read("etc/pmcd.conf"); strings.Contains(got, "snake") {
			t.Errorf("%s: after Remove pmcd.conf is\n%s", c.kinds, got)
		}
	}
}

// TestInstallScriptModules installs the agents in Perl and Python of the C implementation, with its modules.
func TestInstallScriptModules(t *testing.T) {
	oracle.Require(t)
	for _, l := range []struct{ kind, program, flag, module, script string }{
		{"perl", "/usr/bin/perl", "-e", "use PCP::PMDA", "pmdasimple.perl"},
		{"python", "/usr/bin/python3", "-c", "from pcp import pmda", "pmdasimple.python"},
	} {
		t.Run(l.kind, func(t *testing.T) {
			script := filepath.Join("/var/lib/pcp/pmdas/simple", l.script)
			if _, err := os.Stat(script); err != nil {
				t.Skip("SKIPPED: ", err)
			}
			if out, err := exec.Command(l.program, l.flag, l.module).CombinedOutput(); err != nil {
				t.Skipf("SKIPPED: %s cannot %q: %v: %s", l.program, l.module, err, out)
			}
			r := newPCPTree(t)
			if status, out := r.run("", r.pcp, "agent", "scripts"); status != 0 {
				t.Fatal(out)
			}
			who, err := user.Current()
			if err != nil {
				t.Fatal(err)
			}
			r.env = append(r.env, "PCP_PYTHON_PROG=/usr/bin/python3", "PCP_USER="+who.Username)
			r.collect()
			r.Write("var/pmdas/simple/simple.conf", "sec,min,hour\n")
			r.Write("var/pmdas/simple/Install", "#!/bin/sh\n. $PCP_DIR/etc/pcp.env\n. $PCP_SHARE_DIR/lib/pmdaproc.sh\niam=simple\ncheck_delay=0.5\n"+
				"daemon_opt=false\n"+l.kind+"_opt=true\n"+l.kind+"_name="+script+"\npmdaSetup\npmdaInstall\n")
			if status, out := r.run("", "./Install"); status != 0 || !strings.Contains(out, "Check simple metrics have appeared ... ") {
				t.Fatalf("exit status %d: %s", status, out)
			}
			if status, out := r.run("", r.pcp, "val", "-s", "1", "simple.color"); status != 0 || !strings.Contains(out, "red") {
				t.Errorf("exit status %d: %s", status, out)
			}
			r.want(0, "Culling the Performance Metrics Name Space ...\nsimple ... done\n"+
				"Updating the PMCD control file, and notifying PMCD ...\nCheck simple metrics have gone away ... OK\n", "", "./Remove")
		})
	}
}

// TestInstallScriptsRefuse checks that a failed installation changes nothing.
func TestInstallScriptsRefuse(t *testing.T) {
	r := newPCPTree(t)
	r.Write("etc/pcp.env", "# another\n")
	r.want(1, "pcp agent scripts: $PCP_DIR/etc/pcp.env is there and not of this program; nothing is changed\n", "", r.pcp, "agent", "scripts")
	if _, err := os.Stat(filepath.Join(r.Path, "share/lib/pmdaproc.sh")); err == nil {
		t.Error("pmdaproc.sh was made")
	}
	os.Remove(filepath.Join(r.Path, "etc/pcp.env"))
	if status, out := r.run("", r.pcp, "agent", "scripts"); status != 0 {
		t.Fatal(out)
	}
	if status, out := r.run("", r.pcp, "ns", "rebuild", "-u"); status != 0 {
		t.Fatal(out)
	}
	before := r.state()
	install := func(text string) {
		r.Write("var/pmdas/simple/Install", "#!/bin/sh\n. $PCP_DIR/etc/pcp.env\n. $PCP_SHARE_DIR/lib/pmdaproc.sh\niam=simple\n"+text)
	}
	for _, c := range []struct{ script, want string }{
		{"daemon_opt=false; python_opt=true; pmdaSetup; pmdaInstall", "Error: there is neither pmdasimple.python nor pmdasimple.py in $PCP_DIR/var/pmdas/simple\n"},
		{"daemon_opt=false; perl_opt=true; perl_name=other.pl; pmdaSetup; pmdaInstall", "Error: there is no $PCP_DIR/var/pmdas/simple/other.pl\n"},
		{"daemon_opt=false; export PCP_PYTHON_PROG=false; python_opt=true; python_name=Remove; pmdaSetup; pmdaInstall", "Error: false cannot load the module pcp.pmda of Python, which is part of the C implementation: exit status 1\n"},
		{"daemon_opt=false; pmdaSetup; pmdaInstall", "Botch: must set at least one of $dso_opt, $perl_opt, $python_opt or $daemon_opt to \"true\"\n"},
		{"pipe_opt=false; pmdaSetup; pmdaInstall", "Botch: must set at least one of $pipe_opt or $socket_opt to \"true\"\n"},
		{"pmdaInstall", "Botch: must call pmdaSetup before pmdaInstall\n"},
		{"iam=other; pmdaSetup", "Error: expect current directory to be .../pmdas/other, not $PCP_DIR/var/pmdas/simple\n       (typical location is $PCP_DIR/var/pmdas/other on this platform)\n"},
		{"daemon_opt=false dso_opt=true dso_entry=odd_init dso_name=odd.so; pmdaSetup; pmdaInstall", "Error: a shared object (odd.so) is not supported: simple is not built in\n"},
		{"pmns_source=bad; echo 'simple { x SIMPLE:y:z }' >bad; pmdaSetup; pmdaInstall >$PCP_DIR/out; echo no", ""},
	} {
		install(c.script + "\n")
		r.want(1, c.want, "", "./Install")
	}
	if !strings.Contains(r.Read("out"), "Error: PMDA's PMNS is bad") {
		t.Errorf("a bad name space: %s", r.Read("out"))
	}
	r.want(1, "Install: -R is not supported: set PCP_DIR to work in another tree\n", "", "./Install", "-R", "/x")
	r.want(1, "Usage: Install [-eQV] [-n namespace]\n", "", "./Install", "-x")
	if diff := cmp.Diff(before, r.state()); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}

	// Without a collector the agent is available once one starts.
	install("pmdaSetup; pmdaInstall\n")
	r.want(0, `Updating the Performance Metrics Name Space (PMNS) ...
Installing pmchart view(s) ...
Terminate PMDA if already installed ...
Updating the PMCD control file, and notifying PMCD ...
The collector is not running: agent simple starts when it does.
`, "", "./Install")
	r.collect()
	r.want(0, "simple.color 3\n", "", r.pcp, "probe", "simple.color")
}

// state returns the contents of the files that installing changes.
func (r *pcpTree) state() map[string]string {
	files := map[string]string{}
	for _, dir := range []string{"etc", "var/pmns", "var/config"} {
		filepath.WalkDir(filepath.Join(r.Path, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				text, _ := os.ReadFile(path)
				files[path] = string(text)
			}
			return nil
		})
	}
	return files
}

// TestChooseConfigFile answers the questions of pmdaChooseConfigFile.
func TestChooseConfigFile(t *testing.T) {
	r := newPCPTree(t)
	if status, out := r.run("", r.pcp, "agent", "scripts"); status != 0 {
		t.Fatal(out)
	}
	r.Write("var/pmdas/simple/Install", `#!/bin/sh
. $PCP_DIR/etc/pcp.env
. $PCP_SHARE_DIR/lib/pmdaproc.sh
iam=simple
default_configfile=$PCP_DIR/sample.conf
pmdaChooseConfigFile
read after
echo "chosen: '$configfile', after it: $after"
`)
	r.Write("sample.conf", "hour\n")
	r.want(0, `Possible configuration files to choose from:
[1] $PCP_DIR/sample.conf
[2] Specify your own configuration file.
[3] None of the above (abandon configuration file selection).
Which configuration file do you want to use ? [1] Illegal choice: 7

Please choose number between: 1 and 3
Possible configuration files to choose from:
[1] $PCP_DIR/sample.conf
[2] Specify your own configuration file.
[3] None of the above (abandon configuration file selection).
Which configuration file do you want to use ? [1] 
Contents of the selected configuration file:
--------------- start $PCP_DIR/sample.conf ---------------
hour
--------------- end $PCP_DIR/sample.conf ---------------

Use this configuration file? [y] chosen: '$PCP_DIR/var/config/simple/simple.conf', after it: more
`, "7\n\ny\nmore\n", "./Install")
	if got := r.Read("var/config/simple/simple.conf"); got != "hour\n" {
		t.Errorf("the file is %q", got)
	}
	_, out := r.run("4\nmore\n", "./Install")
	if !strings.HasSuffix(out, "Abandoning configuration file selection.\nchosen: '', after it: more\n") {
		t.Errorf("abandoned: %s", out)
	}
}
