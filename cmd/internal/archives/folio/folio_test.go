package folio_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	"github.com/go-pcp/pcp/cmd/internal/archives/folio"
	"github.com/go-pcp/pcp/cmd/internal/archives/logsummary"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) {
	twin.Main(m, folio.Command, folio.MakeCommand, dumplog.Command, logsummary.Command)
}

// scratch makes a directory with a folio of archives of the suite and others.
func scratch(t *testing.T) (dir string, env []string) {
	t.Helper()
	twin.Archives(t, 1)
	dir = t.TempDir()
	for name, text := range map[string]string{
		"fol": "PCPFolio\nVersion: 1\n# comment\nCreated: on bozo at some time\nCreator: pmchart view\n#\n" +
			"Archive:	vm00	a\nArchive: \twrong /var/lib/pcp/testsuite/archives/20041125\nArchive: gone nosuch\n",
		"view":                  "",
		"gol":                   "PCPFolio\nVersion: 1\nCreator: pmstat\n",
		"hol":                   "PCPFolio\nVersion: 1\nArchive: x a\nCreator: foo nosuch\n",
		"bad":                   "PCPFolio\n",
		"home/.pcp/pmafm/mine":  "# mine\nSINGLE=\"true  echo\"\nSPECIAL='echo'; MULTI=basename\nREPLAY=\"$MULTI pmchart\"\nMULTI=\"basename pmchart\"\n",
		"home/.pcp/pmafm/other": "SINGLE=other\n",
		// What only a shell understands.
		"home/.pcp/pmafm/script": "if [ -n \"$PCP_VAR_DIR\" ]; then\n\tMULTI=\"$(echo expr) dirname\"\nfi\necho read\nREPLAY=`echo dirname`\n",
		"kol":                    "PCPFolio\nVersion: 1\nArchive: x a\nArchive: y b\nCreator: dirname\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"0", "meta", "index"} {
		if err := os.Symlink(filepath.Join(twin.SuiteRoot, "archives", "multi-vm00."+part), filepath.Join(dir, "a."+part)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"HOME=" + filepath.Join(dir, "home")}
}

// TestAFM compares commands, as arguments and in a conversation.
func TestAFM(t *testing.T) {
	dir, env := scratch(t)
	for _, line := range []string{
		"", "-?", "--help", "nosuch", ".", "bad", "fol list", "fol list verbose", "fol list foo", "fol check", "fol selections", "fol remove",
		"hol replay", "gol replay", "kol replay", "kol run dirname z", "gol list", "gol sel", "hol remove", "fol run ?", "fol run nosuch x", "fol repeat echo a b", "fol run pmlogsummary -y", "fol echo hello",
		"fol basename x", "fol help", "fol foo", "fol pmdumplog -l", "fol run /bin/echo x", "fol pmlogcheck", "DIR/fol list", "DIR/fol check", "DIR/fol remove",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "DIR", dir))
		if d := twin.Compare(t, twin.Call{Tool: "pmafm", Dir: dir, Env: env, Args: args}); d != "" {
			t.Error(d)
		}
	}
	for _, talk := range []string{
		"", "\n\n?\n\nq\n", "list\narchives 1,3\nlist\nhosts vm00\nsel\nlist\narchives\nhosts\nsel\n", "hosts nosuch vm00,gone\nsel\narch a nosuch 2 9\nlist\nq\nlist\n",
		"  hel  \nse\nrepe echo  x   y\nrem\nnonsense here\nlist", "a a,a\nhosts wrong\nsel\nru echo\n", "run ?\nru echo  a\\ b\nrun \\\necho z\n",
	} {
		if d := twin.Compare(t, twin.Call{Tool: "pmafm", Dir: dir, Env: env, Args: []string{"fol"}, Stdin: talk}); d != "" {
			t.Errorf("%q: %s", talk, d)
		}
	}
}

// TestMake compares the folios of mkaf. Only their times may differ.
func TestMake(t *testing.T) {
	dir, env := scratch(t)
	oracle.Require(t)
	for _, line := range []string{
		"", "-?", "-x", "nosuch", "fol", "fol nosuch", "a.0", "a.0 a.meta a.index", "./a.meta", "DIR", "DIR/", ".", "-follow .", "-xdev .", "home",
		"SUITE/small.0.xz SUITE/small.meta", "SUITE/ok-mv-bigbin.3", "SUITE/multi-xz", "nosuch a.0 fol",
	} {
		args := strings.Fields(strings.NewReplacer("DIR", dir, "SUITE", twin.SuiteRoot+"/archives").Replace(line))
		c := twin.Call{Tool: "mkaf", Dir: dir, Env: env, Args: args}
		want, got := c.Run(t, false), c.Run(t, true)
		if a, b := noTime(string(want.Out)), noTime(string(got.Out)); a != b {
			t.Errorf("mkaf %q: got\n%s\nwant\n%s", args, b, a)
		}
		if string(want.Err) != string(got.Err) || want.Status != got.Status {
			t.Errorf("mkaf %q: status %d, want %d, messages\n%s\nwant\n%s", args, got.Status, want.Status, got.Err, want.Err)
		}
	}
}

// noTime removes the creation time of the folio.
func noTime(s string) string {
	before, after, ok := strings.Cut(s, "Created: on ")
	if !ok {
		return s
	}
	_, after, _ = strings.Cut(after, "\n")
	return before + after
}
