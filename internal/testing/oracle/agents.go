package oracle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Where packages keep agents and name spaces.
const (
	pmdasDir = "/var/lib/pcp/pmdas"
	pmnsDir  = "/var/lib/pcp/pmns"
)

// A realAgent describes how a private collector runs one of the real agents.
type realAgent struct {
	domain int
	line   string // of pmcd.conf, from the type on; %s is the private pmdas directory
	root   string // a file of pmnsDir, or
	pmns   string // a file of the agent's directory to include, with its subtree's name
	source string // C source to compile, in the agent's directory
	help   bool   // its help files must be made, too
}

func realAgents() map[string]realAgent {
	return map[string]realAgent{
		"pmcd":    {domain: 2, line: "dso pmcd_init %s/pmcd/pmda_pmcd.so", root: "root_pmcd"},
		"linux":   {domain: 60, line: "pipe binary %s/linux/pmdalinux -d 60", root: "root_linux"},
		"proc":    {domain: 3, line: "pipe binary %s/proc/pmdaproc -d 3", root: "root_proc"},
		"mmv":     {domain: 70, line: "dso mmv_init %s/mmv/pmda_mmv.so", root: "root_mmv"},
		"sample":  {domain: 29, line: "pipe binary %s/sample/pmdasample -d 29", pmns: "pmns", help: true},
		"xfs":     {domain: 11, line: "pipe binary %s/xfs/pmdaxfs -d 11", root: "root_xfs"},
		"jbd2":    {domain: 122, line: "pipe binary %s/jbd2/pmdajbd2 -d 122", root: "root_jbd2"},
		"kvm":     {domain: 95, line: "pipe binary %s/kvm/pmdakvm -d 95", root: "root_kvm"},
		"trace":   {domain: 10, line: "pipe binary %s/trace/pmdatrace -d 10", pmns: "pmns"},
		"simple":  {domain: 253, line: "pipe binary %s/simple/pmdasimple -d 253", pmns: "pmns", source: "simple.c", help: true},
		"trivial": {domain: 250, line: "pipe binary %s/trivial/pmdatrivial -d 250", pmns: "pmns", source: "trivial.c", help: true},
	}
}

// linkAgents makes dir a directory of agents like the system's, with links to
// its files; parts shipped as source are built: the help files of simple,
// trivial and sample, and the programs of the first two. Configurations are
// copies, which the test may change.
func linkAgents(t testing.TB, dir string, names []string) {
	t.Helper()
	for _, name := range names {
		a := realAgents()[name]
		from, to := filepath.Join(pmdasDir, name), filepath.Join(dir, name)
		files, err := os.ReadDir(from)
		if err != nil {
			Missing(t, "agent "+name+": "+err.Error())
		}
		must(t, os.MkdirAll(to, 0o755))
		for _, f := range files {
			src, dst := filepath.Join(from, f.Name()), filepath.Join(to, f.Name())
			if !strings.HasSuffix(f.Name(), ".conf") {
				must(t, os.Symlink(src, dst))
				continue
			}
			text, err := os.ReadFile(src)
			must(t, err)
			must(t, os.WriteFile(dst, text, 0o644))
		}
		if !a.help {
			continue
		}
		built := buildAgent(t, name, a)
		for _, f := range []string{"pmda" + name, "help.dir", "help.pag"} {
			if strings.HasPrefix(f, "pmda") && a.source == "" {
				continue
			}
			// A copy: the agent becomes PCP's user before it opens its
			// help, and the cache directory may be closed to it.
			dst := filepath.Join(to, f)
			os.Remove(dst)
			data, err := os.ReadFile(filepath.Join(built, f))
			must(t, err)
			must(t, os.WriteFile(dst, data, 0o755))
		}
	}
}

// buildAgent compiles an agent from the source that is shipped as an example, and
// its help files. The results are kept in the user's cache directory.
func buildAgent(t testing.TB, name string, a realAgent) string {
	t.Helper()
	dir := filepath.Join(pmdasDir, name)
	hash := sha256.New()
	for _, f := range []string{a.source, "help", "root", a.pmns} {
		if f == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			Missing(t, err.Error())
		}
		hash.Write(text)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	final := filepath.Join(cache, "go-pcp-oracle", fmt.Sprintf("%s-%x", name, hash.Sum(nil)[:8]))
	if _, err := os.Stat(final); err == nil {
		return final
	}
	must(t, os.MkdirAll(filepath.Dir(final), 0o755))
	tmp, err := os.MkdirTemp(filepath.Dir(final), name)
	must(t, err)
	defer os.RemoveAll(tmp)
	must(t, os.Chmod(tmp, 0o755))
	if a.source != "" {
		// The example includes domain.h from its own directory; its version is
		// from the packager's flags.
		command(t, tmp, "gcc", "-O2", "-DVERSION=\"1\"", "-o", filepath.Join(tmp, "pmda"+name),
			filepath.Join(dir, a.source), "-lpcp_pmda", "-lpcp")
	}
	newhelp := Path("newhelp")
	if newhelp == "" {
		Missing(t, "no newhelp")
	}
	// The text names instance domains by the symbol of the agent's domain
	// number, which the agent's installation script replaces.
	text, err := os.ReadFile(filepath.Join(dir, "help"))
	must(t, err)
	number := fmt.Sprintf("@ %d.", a.domain)
	text = bytes.ReplaceAll(text, []byte("@ "+strings.ToUpper(name)+"."), []byte(number))
	help := filepath.Join(tmp, "help.txt")
	must(t, os.WriteFile(help, text, 0o644))
	// The agent's own root includes stdpmid, which is missing until the machine's
	// collector has first started.
	root := filepath.Join(tmp, "root")
	must(t, os.WriteFile(root, fmt.Appendf(nil, "#define %s %d\nroot {\n\t%s\n}\n#include \"%s/%s\"\n",
		strings.ToUpper(name), a.domain, name, dir, a.pmns), 0o644))
	command(t, dir, newhelp, "-n", root, "-v", "2", "-o", filepath.Join(tmp, "help"), help)
	if err := os.Rename(tmp, final); err != nil && !os.IsExist(err) {
		if _, statErr := os.Stat(final); statErr != nil { // else another test was faster
			t.Fatal(err)
		}
	}
	return final
}

// buildPMNS makes the name space of a collector with the agents names and the
// text of extra, a pmns(5) root with further subtrees.
func buildPMNS(t testing.TB, path string, names []string, extra string) {
	t.Helper()
	var in strings.Builder
	// Not by #include <stdpmid>: that file is missing until the machine's own name
	// space is first built.
	for _, name := range names {
		fmt.Fprintf(&in, "#define %s %d\n", strings.ToUpper(name), realAgents()[name].domain)
	}
	in.WriteString("root {\n")
	var include, args []string
	for _, name := range names {
		a := realAgents()[name]
		if a.root != "" {
			args = append(args, a.root)
			continue
		}
		in.WriteString("\t" + name + "\n")
		include = append(include, fmt.Sprintf("#include \"%s/%s/%s\"\n", pmdasDir, name, a.pmns))
	}
	in.WriteString("}\n" + strings.Join(include, ""))
	if len(include) > 0 {
		must(t, os.WriteFile(path+".in", []byte(in.String()), 0o644))
		args = append(args, path+".in")
	}
	if extra != "" {
		must(t, os.WriteFile(path+".extra", []byte(extra), 0o644))
		args = append(args, path+".extra")
	}
	if len(args) == 0 {
		must(t, os.WriteFile(path, []byte("root {\n}\n"), 0o644))
		return
	}
	pmnsmerge := Path("pmnsmerge")
	if pmnsmerge == "" {
		Missing(t, "no pmnsmerge")
	}
	command(t, pmnsDir, pmnsmerge, append(append([]string{"-a", "-f"}, args...), path)...)
}

func command(t testing.TB, dir, path string, args ...string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = Env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", path, strings.Join(args, " "), err, out)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
