package derive

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/config"
)

const conf = `# comment
bad_in_pkts = network.interface.in.errors + network.interface.in.drops

  read_pct=100 * delta(disk.dev.read) / \
	(delta(disk.dev.read) + \
	 delta(disk.dev.write))
read_pct(oneline) = percentage of disk reads
read_pct ( helptext ) = '\
Percentage of disk reads compared to the total number \
of disk reads\n and disk writes, don\'t ask.
Really.'
bad_in_pkts(oneline)="x"   
`

func TestRead(t *testing.T) {
	var set Set
	n, err := set.Read(strings.NewReader(conf), "f")
	if n != 2 || err != nil {
		t.Fatalf("Read = %d, %v", n, err)
	}
	var got []Definition
	for d := range set.All() {
		got = append(got, d)
	}
	want := []Definition{
		{
			Name: "bad_in_pkts", Expr: "network.interface.in.errors + network.interface.in.drops",
			PMID: pcp.NewPMID(511, 0, 3), OneLine: "x",
		},
		{
			Name: "read_pct", Expr: "100 * delta(disk.dev.read) / \t(delta(disk.dev.read) + \t delta(disk.dev.write))",
			PMID: pcp.NewPMID(511, 0, 4), OneLine: "percentage of disk reads",
			Help: "Percentage of disk reads compared to the total number of disk readsn and disk writes, don't ask.\nReally.",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		var set Set
		_, err := set.Read(strings.NewReader(text), "f")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
	f("a b\n", "[f:1] Error: pmLoadDerivedConfig: missing ``='' after derived metric name\na b")
	f("\n\n = b\n", "[f:3] Error: pmLoadDerivedConfig: derived metric name missing\n = b")
	f("a..b = c", "[f:1] Error: pmLoadDerivedConfig: illegal derived metric name (a..b)")
	f("a = \n", "[f:1] Error: pmLoadDerivedConfig: expression missing\na = ")
	f("a(x = 1\n", "[f:1] Error: pmLoadDerivedConfig: missing ')' after attribute\na(x = 1")
	f("a) = 1\n", "[f:1] Error: pmLoadDerivedConfig: illegal derived metric name (a))")
	f("a() = 1\n", "[f:1] Error: pmLoadDerivedConfig: attribute name missing\na() = 1")
	f("a(oneline) = \n", "[f:1] Error: pmLoadDerivedConfig: attribute value missing\na(oneline) = ")
	f("a(oneline) = x\n", "[f:1] Error: pmLoadDerivedConfig: cannot set attribute, derived metric (a) not defined\na(oneline) = x")
	f("a=b\na(foo) = x\n", "[f:2] Error: pmLoadDerivedConfig: attribute (foo) is unknown for metric (a)\na(foo) = x")
	f("a=b\na(oneline)=x\na(oneline)=y\n", "[f:3] Error: pmLoadDerivedConfig: duplicate value for attribute (oneline) of metric (a)\na(oneline)=y")
	f("a=b\na(helptext)='x\ny\nz\n", "[f:2] Error: pmLoadDerivedConfig: missing termination (') for value")
	f("a=b\na(helptext)='x' foo\n", "[f:2] Warning: pmLoadDerivedConfig: extra text (foo) after attribute value will be ignored")
	f("a=b\na(helptext)='x\n\ny'; foo\nb=\n", "[f:2] Warning: pmLoadDerivedConfig: extra text (foo) after attribute value will be ignored\n"+
		"[f:5] Error: pmLoadDerivedConfig: expression missing\nb=")
	f("a=b\n a  = \tc\n", "[f:2] Error: pmRegisterDerived(a, ...) syntax error\n \tc\n \t^\nDuplicate global derived metric name")
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("one", "a=b\n")
	write("d/two", "b=c\nx=$\n")
	write("d/sub/three", "c=d\n")

	var set Set
	n, err := set.Load(one + ":" + filepath.Join(dir, "d") + ":")
	var errs Errors
	if n != 3 || !errors.As(err, &errs) || len(errs) != 1 || errs[0].Msg != "Illegal character" || !errors.Is(err, pcp.ErrBadDerive) {
		t.Errorf("Load = %d, %v", n, err)
	}
	if _, err := new(Set).Load(filepath.Join(dir, "none") + ":" + one); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of a file that does not exist: %v", err)
	}

	installed := func(env map[string]string) int {
		t.Helper()
		var set Set
		err := set.LoadInstalled(config.NewLookup(func(name string) (string, bool) {
			v, ok := env[name]
			return v, ok
		}))
		if err != nil {
			t.Error(err)
		}
		return set.Len()
	}
	var own Set
	if err := own.LoadBuiltin(); err != nil || own.Len() < 40 {
		t.Fatalf("LoadBuiltin: %v, %d definitions", err, own.Len())
	}
	conf := write("pcp.conf", "PCP_VAR_DIR="+dir+"\n")
	if n := installed(map[string]string{"PCP_CONF": conf}); n != own.Len() {
		t.Errorf("without a directory: %d", n)
	}
	write("config/derived/four", "four=4\n")
	if n := installed(map[string]string{"PCP_CONF": conf}); n != 1 {
		t.Errorf("with a directory: %d", n)
	}
	if n := installed(map[string]string{"PCP_CONF": conf, "PCP_DERIVED_CONFIG": ""}); n != 0 {
		t.Errorf("with an empty variable: %d", n)
	}
	if n := installed(map[string]string{"PCP_CONF": conf, "PCP_DERIVED_CONFIG": dir + "/none:" + one}); n != 1 {
		t.Errorf("with a variable: %d", n)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(conf)
	f.Add("a=b\na(helptext)='x\n\ny'; foo\nb=\n")
	f.Fuzz(func(t *testing.T, text string) {
		var set Set
		n, err := set.Read(strings.NewReader(text), "f")
		if n != set.Len() {
			t.Fatalf("Read = %d, %v; the set has %d", n, err, set.Len())
		}
		var errs Errors
		if err != nil && (!errors.As(err, &errs) || errs.Error() == "") {
			t.Fatal(err)
		}
	})
}

func BenchmarkRead1000(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "k.m%d = delta(sample.bin) / %d + sample.long.one * %d\n", i, i+1, i)
	}
	b.ReportAllocs()
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		var set Set
		if _, err := set.Read(strings.NewReader(text.String()), "f"); err != nil {
			b.Fatal(err)
		}
	}
}
