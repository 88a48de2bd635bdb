package agentadmin

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

const cellarConf = `# a comment
cellar {
	door
	shelf
}
cellar.door {
	##  metric  opened
	##  pmid    CELLAR:DOOR:0
	##  indom   PM_INDOM_NULL
	##  type    PM_TYPE_U32
	##  units   PMDA_PMUNITS(0,0,1,0,0,PM_COUNT_ONE)
	##  semantics PM_SEM_COUNTER
	##  briefhelptext how often the door was "opened"
	##  code    atom->ul = 7;
	##  code    return 1;
	##  endmetric
	##  metric  name
	##  pmid    CELLAR:DOOR:1
	##  type    PM_TYPE_STRING
	##  units   PMDA_PMUNITS(0, 0, 0, 0, 0, 0)
	##  semantics PM_SEM_DISCRETE
	##  helptext  one
	##  helptext  two
	##  fetch   function door_name
	##  code    atom->cp = door(); /* not a constant */
	##  endmetric
}
cellar.shelf {
	##  metric  weight
	##  pmid    CELLAR:5:1023
	##  indom   SHELF_INDOM
	##  type    PM_TYPE_DOUBLE
	##  units   PMDA_PMUNITS(1,-1,0,PM_SPACE_KBYTE,PM_TIME_SEC,0)
	##  semantics PM_SEM_INSTANT
	##  endmetric
}
`

func genpmda(t *testing.T, name string, args ...string) (out string, status int) {
	t.Helper()
	var b bytes.Buffer
	status = GenerateCommand.Run(t.Context(), &cli.Env{
		Name: name, Args: args, Stdout: &b, Stderr: &b, Getenv: os.Getenv, Version: "v1.2.3", Command: GenerateCommand,
	})
	return b.String(), status
}

// TestGenerate builds an agent written by genpmda, and runs its test.
func TestGenerate(t *testing.T) {
	work := t.TempDir()
	conf, std, dir := filepath.Join(work, "cellar.conf"), filepath.Join(work, "stdpmid"), filepath.Join(work, "out")
	for path, text := range map[string]string{conf: cellarConf, std: "#define OTHER 400\n#define CELLAR\t401\n"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, status := genpmda(t, "genpmda", "-d", "-v", "-s", std, "-t", "../../../..", "-o", dir, "-i", "CELLAR", "-c", conf)
	if status != 0 || !strings.Contains(out, "Wrote "+filepath.Join(dir, "values.go")+"\n") {
		t.Fatalf("exit %d: %s", status, out)
	}
	source, err := os.ReadFile(filepath.Join(dir, "values.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"return pcp.Uint32Value(7), nil", "// atom->cp = door(); /* not a constant */", "// To be written: function door_name", "listSHELF_INDOM(context.Context)"} {
		if !strings.Contains(string(source), want) {
			t.Errorf("values.go lacks %q:\n%s", want, source)
		}
	}
	for _, args := range [][]string{{"test", "."}, {"vet", "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
	if out, status := genpmda(t, "genpmda", "-D", "402", "-o", dir, "-i", "cellar", "-c", conf); status != 1 || !strings.Contains(out, "exists; nothing is written") {
		t.Errorf("written twice: exit %d: %s", status, out)
	}
	t.Setenv("PCP_VAR_DIR", work) // has no name space
	for _, test := range []struct{ args, want string }{
		{"-i linux -n cellar -c " + conf, `pmid "CELLAR:DOOR:0" is not LINUX:CLUSTER:ITEM`},
		{"-i cellar -c " + conf, "there is no domain CELLAR; set it with -D"},
		{"-i cellar", "Usage: genpmda "},
		{"-q", "invalid option"},
		{"-?", "Usage: genpmda "},
		{"-D x -i cellar -c " + conf, "-D x: not the number of a domain"},
		{"-i cellar -c " + work + "/nosuch", "nosuch: No such file or directory"},
		{"-i nobody -n cellar -s " + std + " -c " + conf, `pmid "CELLAR:DOOR:0" is not NOBODY:CLUSTER:ITEM`},
		{"-i cellar -s " + conf + " -c " + conf, "there is no domain CELLAR; set it with -D"},
		{"-i cellar -s " + work + "/nosuch -c " + conf, "set the domain with -D"},
		{"-i cellar -D 60 -c " + conf, "domain 60 is that of agent linux"},
		{"-i cellar -D 401 -t " + work + " -c " + conf, "go.mod"},
	} {
		out, status := genpmda(t, "genpmda", append([]string{"-o", work + "/none"}, strings.Fields(test.args)...)...)
		if status != 1 || !strings.Contains(out, test.want) {
			t.Errorf("%s: exit %d: %s, want %q", test.args, status, out, test.want)
		}
	}
	if _, err := os.Stat(work + "/none"); err == nil {
		t.Error("something was written after an error")
	}
	if out, status := genpmda(t, "pcp agent generate", "--help"); status != 0 || !strings.Contains(out, "endmetric") {
		t.Errorf("--help: exit %d: %s", status, out)
	}
}

func TestGeneratorRefuses(t *testing.T) {
	for change, want := range map[string]string{
		"CELLAR:DOOR:1>CELLAR:DOOR:0":           "c:26: metric cellar.door.name: the metric of line 7 has the same pmid 0.0",
		"metric  name>metric  opened":           "c:26: metric cellar.door.opened: the metric of line 7 has the same name cellar.door.opened",
		"PM_TYPE_U32>PM_TYPE_EVENT":             `c:16: metric cellar.door.opened: type "PM_TYPE_EVENT" is not known`,
		"PM_SEM_COUNTER>x":                      `c:16: metric cellar.door.opened: semantics "x" are not known`,
		"PM_COUNT_ONE>PM_COUNT_TWO":             `"PM_COUNT_TWO" is not known`,
		"1,0,0,PM_COUNT_ONE>1":                  "are not PMDA_PMUNITS() of six",
		"CELLAR:5:1023>CELLAR:5:1024":           `"1024" is not the number of an item`,
		"CELLAR:5:1023>CELLAR:4096:1":           "the cluster is too large",
		"SHELF_INDOM>9":                         `indom "9" is not a name`,
		"##  fetch>##  fetched":                 "c:24: fetched is not known",
		"metric  name>metric  9":                `c:17: "cellar.door.9" is not the name of a metric below cellar`,
		"cellar.shelf {>other {":                `"other.weight" is not the name of a metric below cellar`,
		"##  endmetric\n\t##  metric>## metric": "c:16: metric cellar.door.opened has no endmetric",
		"# a comment>## code x":                 "c:1: code does not belong to a metric",
	} {
		from, to, _ := strings.Cut(change, ">")
		err := newGenerator("c", "cellar", "cellar").read([]byte(strings.Replace(cellarConf, from, to, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
}

func TestConstant(t *testing.T) {
	for _, test := range []struct{ typ, code, want string }{
		{"PM_TYPE_STRING", `atom->cp = "hello world"; return 1;`, `pcp.StringValue("hello world")`},
		{"PM_TYPE_STRING", `/* why */ atom->cp = "x";`, `pcp.StringValue("x")`},
		{"PM_TYPE_STRING", `atom->cp = 0;`, ""},
		{"PM_TYPE_STRING", `atom->cp = "a\n";`, ""},
		{"PM_TYPE_32", "atom->l = -5;", "pcp.Int32Value(-5)"},
		{"PM_TYPE_32", "atom->l = 010;", ""},
		{"PM_TYPE_32", "atom->ul = 1;", ""},
		{"PM_TYPE_U32", "atom->ul = -1;", ""},
		{"PM_TYPE_U64", "atom->ull = 18446744073709551615;", "pcp.Uint64Value(18446744073709551615)"},
		{"PM_TYPE_DOUBLE", "atom->d = 0.5; return 1;", "pcp.DoubleValue(0.5)"},
		{"PM_TYPE_FLOAT", "atom->f = 1; return 0;", ""},
		{"PM_TYPE_64", "", ""},
		{"PM_TYPE_64", "atom->ll = 1.5;", ""},
	} {
		typ := genTypes()[test.typ]
		if got := constant([]string{test.code}, typ.field, typ.value); got != test.want {
			t.Errorf("%s %q: %q, want %q", test.typ, test.code, got, test.want)
		}
	}
}

// FuzzGenerator reads arbitrary configurations: accepted ones become Go code formatted
// as by gofmt.
func FuzzGenerator(f *testing.F) {
	f.Add(cellarConf)
	f.Add("cellar {\n## metric a\n## endmetric\n}\n")
	f.Add("cellar.x_ {\n## metric a\n## pmid cellar:0:0\n## type PM_TYPE_32\n## units PMDA_PMUNITS(0,0,0,0,0,0)\n## semantics PM_SEM_INSTANT\n## code \x00\r\t x\n## indom _a\n## endmetric\n}\n")
	f.Fuzz(func(t *testing.T, conf string) {
		g := newGenerator("c", "cellar", "cellar")
		if err := g.read([]byte(conf)); err != nil {
			return
		}
		for _, text := range []string{g.mainText(401), g.valuesText()} {
			if out, err := format.Source([]byte(text)); err != nil {
				t.Errorf("%v:\n%s", err, text)
			} else if string(out) != text {
				t.Errorf("gofmt makes of\n%s\n%s", text, out)
			}
		}
	})
}
