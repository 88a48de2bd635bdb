package logconf

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestRepInstalled makes configurations of pmrep from the groups that the C implementation installs, and changes them.
func TestRepInstalled(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "linux", "proc", "xfs", "mmv", "kvm", "sample", "jbd2"}})
	if _, err := os.Stat(installed); err != nil {
		oracle.Missing(t, err.Error())
	}
	p := newPair(t, d)
	p.tool = "pmrepconf"
	p.same(t, "", "new")
	p.same(t, "", "-c", "-o", "interval=10", "-o", "# more", "auto")
	p.same(t, "", "-v", "-d", installed, "--option=timefmt=%c", "verbose")
	p.same(t, "", "-g", "all", "new")
	p.same(t, "", "-v", "-g", "kernel/load", "new")
	p.same(t, "", "-g", "all", "none")
	os.Remove(filepath.Join(p.dirs[0], "none"))
	p.same(t, "q\n", "new")
	p.same(t, "n\ny\nm\ny\n\n/disk.dev\ny\nonce\nq\n\n", "new")
	p.same(t, strings.Repeat("y\n", 300)+"y\n", "-r", "new")
	p.same(t, strings.Repeat("n\n", 300), "-o", "ignored=1", "-r", "new")
	// Each changes the configuration that the other wrote.
	p.dirs[0], p.dirs[1] = p.dirs[1], p.dirs[0]
	p.same(t, "", "-c", "-r", "auto")
	p.same(t, "", "-c", "new")
	p.same(t, "/nothing has this\n\nx\ny\nq\n\n", "new")
}

// TestRepCommandLines compares wrong command lines of pmrepconf, and files that cannot be used.
func TestRepCommandLines(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	p := newPair(t, d)
	p.tool = "pmrepconf"
	p.write(t, "groups/g", "#pmlogconf-setup 2.0\nident it\ndelta 1 min\nprobe sample.bin values ? include : exclude\n\tsample.bin[a] [x]\n\tsample.bin\n\t#x\n\tsample.bin#\n")
	p.write(t, "plain", "")
	p.write(t, "folder/file", "")
	for _, args := range [][]string{
		{},
		{"x", "y"},
		{"-V"},
		{"-?"},
		{"-q", "x"},
		{"-s", "groups/g"},
		{"-o"},
		{"-c", "-g", "all", "x"},
		{"-d", "missing", "x"},
		{"-h", "localhost:1", "x"},
		{"-d", "groups", "missing/x"},
		{"-d", "groups", "folder"},
		{"-d", "groups", "plain"},
		{"--groups=groups", "--reprobe", "--verbose", "-c", "plain"},
		{"--group=g", "-d", "groups", "plain"},
		{"-g", "no", "-d", "groups", "plain"},
		{"-d", "groups", "-o", "", "-o", "a = b", "fresh"},
	} {
		p.same(t, "", args...)
	}
}

// TestRepUpdate compares how both update configurations of pmrep that were edited by hand.
func TestRepUpdate(t *testing.T) {
	t.Parallel()
	d := oracle.StartPMCD(t, oracle.Config{})
	r := groupMaker{rand.New(rand.NewPCG(longtest.Seed(t), 7))}
	lines := []string{
		"#pmrepconf 1.0\n", "# comment\n", "#+ groupdir groups\n", "#+ groupdir /elsewhere\n", "[options]\nversion=1\n", "#+ a:y:\n", "#+ a:n:\n", "#+ b:x:\n",
		"#+ b:y:\n", "#+ c/d:y:5 min:\n", "#+ gone:y:\n", "#+ :y:\n", "#+ a:maybe:\n", "#+ a\n", "#+ a:y\n", "#+ a::\n", "#+ a:n:nonsense:\n",
		"log mandatory on default {\n", "\tsample.bin\n", "#----\n", "#----\n", "#----\n", "\n", "[metrics]\nsample_bin = sample.bin\n",
	}
	for n := range longtest.N(20, 1000) {
		p := newPair(t, d)
		p.tool, p.anyDiff = "pmrepconf", true
		p.write(t, "groups/a", "#pmlogconf-setup 2.0\nident first\nprobe sample.bin values ? include : exclude\n\tsample.bin [ x ]\n\tsample.long\n")
		p.write(t, "groups/b", "#pmlogconf-setup 2.0\nident second\ndelta 1 min\nprobe sample.nosuch exists ? include : available\n\tsample.nosuch\n")
		p.write(t, "groups/c/d", "#pmlogconf-setup 2.0\nident third\nforce "+r.one("include", "exclude", "available")+"\n\tsample.long\n")
		text := r.one("#pmrepconf 1.0\n", "#pmrepconf 1.0\n", "#pmlogconf 2.0\n", "")
		for range 1 + r.IntN(14) {
			text += r.one(lines...)
		}
		// As with pmlogconf, the user's part is written twice if no group is before it.
		if strings.Contains(text, "#+ a:n:\n") {
			text += "#+ a:y:\n#----\n# DO NOT UPDATE THE FILE ABOVE THIS LINE\nmine\n[more]\n"
		}
		p.write(t, "conf", text)
		good := p.same(t, r.one("", "q\n", "y\ny\n\n", "n\nn\nn\n\n", "q\nn\n", "/sec\ny\nm\nq\ny\n"), "-d", "groups", r.one("-c", "-r", "-v"), "conf")
		p.dirs[0], p.dirs[1] = p.dirs[1], p.dirs[0]
		if good = good && p.same(t, "", "-c", "-r", "-d", "groups", "conf"); !good {
			t.Fatalf("%d: %q", n, text)
		}
	}
}
