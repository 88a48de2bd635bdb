package rules

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/go-pcp/pcp"

// floors has the floor of each package; the longest prefix counts. A package
// imports only packages of lower floors, and of its own subtree. ARCHITECTURE.md
// describes each floor.
var floors = map[string]int{
	"":                                     0,
	"config":                               0,
	"debug":                                0,
	"wire":                                 1,
	"pcptime":                              1,
	"pcpjson":                              1,
	"cmd/internal/discover":                1,
	"pmns":                                 1,
	"openmetrics":                          1,
	"mmv":                                  1,
	"archive":                              1,
	"trace":                                1,
	"getopt":                               1,
	"derive":                               2,
	"pmda":                                 2,
	"pmapi":                                3,
	"agent":                                3,
	"internal/agent":                       3,
	"pmcd":                                 4,
	"pmcd/access":                          2, // agents that have clients of their own ask it too
	"options":                              4,
	"cmd/internal/pmlogger":                4,
	"cmd/internal/pmlogger/share":          2, // leases and statuses in a store
	"cmd/internal/pmrep":                   4,
	"cmd/internal/pmie":                    4,
	"cmd/internal/pmie/eval":               1,
	"cmd/internal/pmie/rule":               2,
	"cmd/internal/pmie/deliver":            2,
	"cmd/internal/pmproxy":                 4,
	"cmd/internal/web":                     4,
	"cmd/internal/tool":                    5, // shared by commands
	"cmd/internal/live":                    6,
	"cmd/internal/archives":                6,
	"cmd/internal/archives/internal":       5, // shared by its commands
	"cmd/internal/archives/internal/check": 4, // repair checks what it wrote
	"cmd/internal/record":                  6,
	"cmd/internal/rules":                   6,
	"cmd/internal/reports":                 6,
	"cmd/internal/screen":                  6,
	"cmd/internal/screen/internal":         5, // shared by its commands
	"cmd/internal/exchange":                6,
	"cmd/internal/serve":                   6,
	"cmd/internal/agents":                  6,
	"cmd/internal/scripting":               6,
	"cmd/internal/about":                   6,
	"cmd":                                  7,
	"cmd/bench":                            7,
	"cmd/bench/archive":                    2, // archives, and the commands on them
	"cmd/bench/harness":                    0, // measures any functions
	"cmd/bench/scale/hosts":                2, // simulated hosts
	"scripts":                              6,
	"cmd/conformance":                      7,
	"cmd/internal/interop":                 9, // on everything, the real PCP too
	"examples":                             6,
	"packaging":                            6,
	"packaging/chroottest":                 6,
	"internal/testing":                     8,
	"cmd/internal/testing":                 8,
	"internal/testing/servicetest":         9, // servers for tests
	"internal/console":                     1,
	"internal/procfs":                      1,

	"cmd/internal/daemon/controlfile": 1,

	"cmd/internal/diagnosis":               4,
	"cmd/internal/diagnosis/diagnosistest": 9, // recordings for tests

	"cmd/internal/objects/objectstest": 9, // servers for tests
	"cmd/internal/archiveindex":        2, // of archives in object storage

	"cmd/internal/pmproxy/series/keys/keystest": 9, // servers for tests

	"cmd/internal/pmlogger/rendezvous": 0, // a hash

	"internal/zstdframes":      0, // a format of files
	"archive/internal/overlap": 0, // times and names
	"cmd/internal/period":      3, // which archives of a store

	"internal/daemonlog":                  1,
	"cmd/internal/daemon/detach":          1,
	"internal/tlsconf":                    1,
	"cmd/internal/daemon/service":         1,
	"internal/sasl":                       1,
	"internal/ctext":                      -1, // below the vocabulary, which reads text too
	"cmd/internal/exposition":             1,
	"internal/storage":                    0,
	"cmd/internal/objects":                1, // stores for the readers of archives
	"cmd/internal/prom":                   5, // answers from the series of pmproxy
	"cmd/internal/columns":                2, // a format beside archives
	"cmd/internal/prom/names":             0, // a mapping
	"cmd/internal/prom/remote":            1, // a protocol
	"cmd/internal/prom/send":              3, // archives by that protocol, with the identifiers of their series
	"cmd/internal/pmproxy/series/sid":     0, // a hash
	"cmd/internal/pmproxy/series/catalog": 2, // of an archive
	"cmd/internal/prom/send/sendtest":     9, // on servers of tests
	"cmd/internal/pytext":                 0,
	"internal/hashorder":                  0,
	"internal/pacing":                     0,
	"internal/debugname":                  0, // names
	"internal/fileversion":                0,
	"internal/safefile":                   -1,
	"internal/timezone":                   0,
	"internal/hostlabels":                 1,
	"internal/nsenter":                    1,
	"internal/agent/containers":           2,
	"internal/agent/nvidia/reading":       1,
	"internal/agent/containers/runtimes":  1,
	"internal/hostroot":                   0,
	"internal/processes":                  0,
	"internal/importrun":                  0,
	"internal/rootproto":                  1,
	"cmd/internal/agentlink":              4,
	"cmd/internal/agent":                  3, // the program's table of agents, and those below it
	"internal/unitname":                   0, // a mapping
	"internal/version":                    0,
	"internal/valueset":                   0,
	"cmd/internal/daemon/hangup":          1,
	"cmd/internal/daemon/pidof":           1,
	"internal/peercred":                   0,
	"cmd/internal/daemon/dirlock":         1,
	"cmd/internal/daemon/fsdir":           1,
	"cmd/internal/daemon/mapfile":         1,
	"internal/pmiestats":                  1,
	"internal/cpp":                        0, // the language of name space files
	"internal/stdpmid":                    0, // a table
	"internal/helpfile":                   1,
	"internal/folio":                      1,
	"internal/timecontrol":                2,
}

// neighbours lists the imports within one floor that are meant, and why.
var neighbours = map[string]string{
	"agent -> agent/":                                        "the table of agents names them all",
	"agent -> internal/agent/":                               "the table of agents names them all",
	"cmd/internal/agent -> agent":                            "the program's table begins with that of the library",
	"cmd/internal/agent -> cmd/internal/agent/":              "the table of agents names them all",
	"cmd/internal/agent -> agent/builtin":                    "there are the words in which an agent describes itself",
	"cmd/internal/agent/ -> agent/builtin":                   "there are the words in which an agent describes itself",
	"agent/ -> agent/builtin":                                "there are the words in which an agent says what it is",
	"internal/agent/ -> internal/agent/pushed":               "agents that programs push to share its table",
	"internal/agent/ -> internal/agent/service":              "agents of services share its readings",
	"internal/agent/ -> agent/builtin":                       "it has the words in which an agent describes itself",
	"cmd/internal/tool/ -> cmd/internal/tool/":               "what commands share",
	"cmd/internal/live -> cmd/internal/live/":                "a district has the table of its commands",
	"cmd/internal/archives -> cmd/internal/archives/":        "a district has the table of its commands",
	"cmd/internal/record -> cmd/internal/record/":            "a district has the table of its commands",
	"cmd/internal/rules -> cmd/internal/rules/":              "a district has the table of its commands",
	"cmd/internal/reports -> cmd/internal/reports/":          "a district has the table of its commands",
	"cmd/internal/screen -> cmd/internal/screen/":            "a district has the table of its commands",
	"cmd/internal/exchange -> cmd/internal/exchange/":        "a district has the table of its commands",
	"cmd/internal/serve -> cmd/internal/serve/":              "a district has the table of its commands",
	"cmd/internal/agents -> cmd/internal/agents/":            "a district has the table of its commands",
	"cmd/internal/scripting -> cmd/internal/scripting/":      "a district has the table of its commands",
	"cmd/internal/about -> cmd/internal/about/":              "a district has the table of its commands",
	"cmd/internal/serve/up -> cmd/internal/rules/alerts":     "the page shows which rules are true, as that lists them",
	"cmd/internal/serve/doctor -> cmd/internal/rules/alerts": "it examines rules and receivers, as that finds them",
	"cmd/internal/rules/ie -> cmd/internal/rules/alerts":     "where the receivers of alerts are",

	"cmd/internal/screen/atop/internal/ -> cmd/internal/screen/atop/internal/": "samples, and figures in few columns, are what all its outputs are made of",

	"cmd/internal/objects -> cmd/internal/daemon/fsdir": "names in a shared directory survive a crash",

	"config -> internal/version": "the version is a feature",
	"options -> pmcd/conf":       "the agents of local contexts are those of the collector",
	"getopt -> pmns":             "an option names a name space",
	"getopt -> pcptime":          "options have times",

	"pmcd -> pmcd/":                                "configuration and access rules are rooms of their own",
	"pmcd/conf -> pmcd/access":                     "a configuration has access rules",
	"pmcd/internal/backend -> pmcd/conf":           "the lines of a configuration say how agents are reached",
	"pmcd/internal/backend -> pmcd/internal/trace": "what passes between collector and agents is traced",

	"cmd/internal/screen/top/internal/ui -> cmd/internal/screen/top/internal/model":  "screens show what was sampled",
	"cmd/internal/screen/top/internal/ui -> cmd/internal/screen/top/internal/screen": "and are drawn on a grid",

	"cmd/internal/daemon/controlfile -> pcptime": "a directory may have a date in its name",

	"cmd/internal/pmlogger -> cmd/internal/pmlogger/conf":                "the language of configurations is a room of its own",
	"cmd/internal/record/logcompress -> cmd/internal/record/logbasename": "arguments are base names as that prints them",
	"cmd/internal/pmlogger/janitor -> cmd/internal/pmlogger":             "it has a recorder begin new archives",
	"cmd/internal/pmlogger/fleet -> cmd/internal/pmlogger":               "it records each host as that does",
	"cmd/internal/pmlogger/fleet -> cmd/internal/pmlogger/conf":          "hosts share what was read",
	"cmd/internal/pmlogger/fleet -> cmd/internal/pmlogger/logconf":       "it makes configurations for hosts",
	"cmd/internal/pmlogger/fleet -> cmd/internal/pmlogger/janitor":       "one looks after the directory of each host",
	"cmd/internal/pmlogger/ship -> cmd/internal/pmlogger/janitor":        "it stores the archives that one lists",
	"cmd/internal/pmlogger/control -> cmd/internal/pmlogger":             "a control port has a recorder behind it",
	"cmd/internal/pmlogger/control -> cmd/internal/pmlogger/conf":        "it has the access rules",

	"cmd/internal/prom/api -> cmd/internal/prom/store":          "requests are answered by its engine",
	"cmd/internal/prom/forward -> cmd/internal/prom/api":        "requests have its limits",
	"cmd/internal/prom/forward -> cmd/internal/prom/store":      "queries are parsed as those of its engine",
	"cmd/internal/prom/api -> cmd/internal/prom/rules":          "it shows their states, and the series that they record",
	"cmd/internal/prom/rules -> cmd/internal/prom/rules/expand": "it expands the texts of their alerts",
	"cmd/internal/prom/rules -> cmd/internal/prom/store":        "rules are evaluated by its engine",

	"cmd/internal/pmrep -> cmd/internal/pmrep/conf": "a set is made of what a configuration says",

	"cmd/internal/pmproxy -> cmd/internal/pmproxy/conf": "sizes in a file of tokens are written as those in pmproxy.conf",

	"cmd/internal/pmproxy/webapi -> cmd/internal/pmproxy/internal/rest":     "requests and replies of the interfaces look alike",
	"cmd/internal/pmproxy/series/archives -> cmd/internal/pmproxy/series":   "it is the store that has the archives",
	"cmd/internal/pmproxy/series/keys -> cmd/internal/pmproxy/series":       "it is the store that has a key server",
	"cmd/internal/pmproxy/series/seriestest -> cmd/internal/pmproxy/series": "it is a store in memory",

	"cmd/internal/pmproxy/seriesapi -> cmd/internal/pmproxy/internal/rest": "answers look like those of the other interfaces",
	"cmd/internal/pmproxy/seriesapi -> cmd/internal/pmproxy/series":        "requests are answered from a store",
	"cmd/internal/pmproxy/seriesapi -> cmd/internal/pmproxy/series/query":  "requests have queries and time windows",
	"cmd/internal/pmproxy/search -> cmd/internal/pmproxy/internal/rest":    "requests and answers look alike everywhere",
	"cmd/internal/pmproxy/logger -> cmd/internal/pmproxy/internal/rest":    "requests and answers look alike everywhere",
	"cmd/internal/pmproxy/diagnose -> cmd/internal/diagnosis":              "it answers with diagnoses",
	"cmd/internal/pmproxy/diagnose -> cmd/internal/pmproxy/internal/rest":  "requests and answers look alike everywhere",
	"cmd/internal/pmproxy/fleet -> cmd/internal/pmproxy/internal/rest":     "requests and answers look alike everywhere",
	"cmd/internal/pmproxy/fleet -> cmd/internal/pmproxy/series":            "its hosts are those of a store",

	"cmd/internal/pmproxy/series/query -> cmd/internal/pmproxy/series": "queries are answered from a store",

	"cmd/internal/testing/docpage -> internal/testing/await":   "it waits for the end of commands",
	"cmd/internal/testing/docpage -> internal/testing/testdir": "where the pages are",

	"cmd/internal/testing/twin -> internal/testing/longtest": "which archives of the suite a test takes depends on it",
	"cmd/internal/testing/twin -> internal/testing/testdir":  "it compares what tools leave in a folder",
	"cmd/internal/testing/twin -> internal/testing/oracle":   "one knows where the real PCP is, the other compares tools with its",

	"internal/testing/dbustest -> internal/testing/await": "it waits for the end of the message bus",

	"internal/testing/agenttest -> internal/testing/oracle": "one knows where the real PCP is, the other compares agents with its",
}

// noIO lists the packages that must not import packages that do I/O.
var noIO = map[string][]string{
	"":     {"os", "os/exec", "net", "net/http", "log", "log/slog"},
	"wire": {"os", "os/exec", "net", "net/http"},
	"pmda": {"net/http"},
}

// apart lists the packages that a package must not link, directly or through others, and
// why.
var apart = map[string]struct {
	from []string
	why  string
}{
	"pmcd": {[]string{"pmapi", "archive"}, "a program that embeds a collector links no client and no archives"},
	"pmda": {[]string{"pmapi", "archive"}, "an agent links no client and no archives"},

	"cmd/internal/tool/cli": {[]string{"pmapi", "archive", "pmda", "agent", "internal/agent", "pmcd"}, "a small tool links no client, no archives and no agents"},
}

type goPackage struct {
	ImportPath, Dir, Name, Doc string
	GoFiles, Imports, Deps     []string
}

// TestMain runs the tests in the root of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../../../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// packages returns the packages of the library and of the program.
func packages(t *testing.T) []goPackage {
	t.Helper()
	return append(packagesOf(t, "."), packagesOf(t, "cmd")...)
}

func packagesOf(t *testing.T, dir string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports,Deps", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var ps []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			ps = append(ps, p)
		}
	}
	if len(ps) == 0 {
		t.Fatal("go list found no packages")
	}
	return ps
}

// rel is the import path below the module, "" for the root.
func rel(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

func floor(p string) (int, bool) {
	for key := p; ; key = filepath.Dir(key) {
		if key == "." {
			return 0, p == ""
		}
		if n, ok := floors[key]; ok {
			return n, key != "" || p == ""
		}
		if key == "" {
			return 0, false
		}
	}
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		from := rel(p.ImportPath)
		n, ok := floor(from)
		if !ok {
			t.Errorf("%s: no floor is known for it; give it one in floors and in ARCHITECTURE.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				if slices.Contains(noIO[from], imp) {
					t.Errorf("%s imports %q, and must do no I/O of that kind", p.ImportPath, imp)
				}
				continue
			}
			to := rel(imp)
			m, ok := floor(to)
			switch {
			case !ok:
				t.Errorf("%s imports %s, which has no floor", p.ImportPath, imp)
			case m < n || to == "": // the vocabulary is below everything
			case from != "" && strings.HasPrefix(to, from+"/internal"):
			case to != "" && strings.HasPrefix(from, to+"/"):
			case meant(from, to):
			default:
				t.Errorf("%s (floor %d) imports %s (floor %d): imports point down", p.ImportPath, n, imp, m)
			}
		}
	}
}

func TestImportsApart(t *testing.T) {
	for _, p := range packages(t) {
		rule, ok := apart[rel(p.ImportPath)]
		if !ok {
			continue
		}
		for _, dep := range p.Deps {
			for _, never := range rule.from {
				if dep == module+"/"+never || strings.HasPrefix(dep, module+"/"+never+"/") {
					t.Errorf("%s links %s: %s", p.ImportPath, dep, rule.why)
				}
			}
		}
	}
}

// TestProgramKeepsNoMethods checks that cmd/pcp does not import packages that look up methods by names which the linker does not know: with
// one of them it keeps every exported method of every type that reflection may reach, a quarter of the program.
func TestProgramKeepsNoMethods(t *testing.T) {
	for _, p := range packagesOf(t, "cmd") {
		if rel(p.ImportPath) != "cmd/pcp" {
			continue
		}
		for _, never := range []string{"text/template", "html/template", "net/rpc"} {
			if slices.Contains(p.Deps, never) {
				t.Errorf("cmd/pcp links %s, which calls reflect's MethodByName: 13 MB of methods that nobody calls", never)
			}
		}
		return
	}
	t.Error("go list does not know cmd/pcp")
}

func meant(from, to string) bool {
	for rule := range neighbours {
		a, b, _ := strings.Cut(rule, " -> ")
		match := func(pattern, s string) bool {
			if strings.HasSuffix(pattern, "/") {
				return strings.HasPrefix(s, pattern)
			}
			return s == pattern
		}
		if match(a, from) && match(b, to) {
			return true
		}
	}
	return false
}

func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = ""
		}
		if p.Doc == "" || !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: its doc comment must start %q; it is %q", p.ImportPath, want, p.Doc)
		}
	}
}

// TestNoInitWork keeps the start of every tool fast and free of surprises.
func TestNoInitWork(t *testing.T) {
	allowed := []string{"errors.New", "fmt.Errorf", "slices.Concat"} // the last joins tables
	for _, p := range packages(t) {
		if r := rel(p.ImportPath); r == "cmd/bench" || r == "cmd/conformance" {
			continue // not part of the product
		}
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						t.Errorf("%s: func init: do the work where it is asked for", fset.Position(d.Pos()))
					}
				case *ast.GenDecl:
					if d.Tok == token.VAR {
						checkVars(t, fset, d, allowed)
					}
				}
			}
		}
	}
}

// checkVars complains about package variables whose value is computed by a
// call when the program starts. It allows conversions such as pcp.Error(-1)
// and calls inside function literals.
func checkVars(t *testing.T, fset *token.FileSet, d *ast.GenDecl, allowed []string) {
	t.Helper()
	for _, spec := range d.Specs {
		vs := spec.(*ast.ValueSpec)
		if vs.Names[0].Name == "_" {
			continue // an assertion for the compiler
		}
		for _, value := range vs.Values {
			ast.Inspect(value, func(n ast.Node) bool {
				if _, ok := n.(*ast.FuncLit); ok {
					return false
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := callName(call.Fun)
				if isCheap(name) || slices.Contains(allowed, name) {
					return true
				}
				t.Errorf("%s: a package variable is computed by %s at start: use sync.OnceValue, or a literal",
					fset.Position(call.Pos()), name)
				return true
			})
		}
	}
}

func callName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return callName(e.X) + "." + e.Sel.Name
	case *ast.ParenExpr:
		return callName(e.X)
	case *ast.ArrayType:
		return "conversion"
	case *ast.IndexExpr:
		return callName(e.X)
	}
	return "?"
}

// isCheap reports whether name is a conversion, a builtin or a function that
// the compiler inlines to a plain value.
func isCheap(name string) bool {
	switch name {
	case "conversion", "len", "cap", "new", "string", "byte", "rune", "int", "int8", "int16", "int32", "int64",
		"uint", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
		"sync.OnceValue", "sync.OnceValues", "sync.OnceFunc",
		"pcp.NewUnits", "pcp.NewPMID", "pcp.NewInDom", "NewUnits", "NewPMID", "NewInDom",
		"cli.Heading", "time.Unix", "reflect.TypeFor",
		"Error", "pcp.Error", "PMID", "pcp.PMID", "InDom", "pcp.InDom":
		return true
	}
	return false
}

// streamFiles are the files that may name the standard streams of the process, and why. All other
// code prints through the cli.Env, whose streams show only intended sequences on a terminal.
var streamFiles = map[string]string{
	"cmd/internal/tool/cli/terminal.go":         "makes the streams",
	"cmd/internal/tool/cli/detach.go":           "for the process in the background",
	"cmd/internal/tool/metricset/run.go":        "for the process in the background",
	"cmd/internal/rules/ie/system_unix.go":      "puts a log in their place",
	"cmd/internal/record/logger/system_unix.go": "puts a log in their place",
	"cmd/internal/rules/ie/daemon.go":           "for the commands of rules",
	"cmd/internal/rules/ie/agent.go":            "sends PDUs",
	"cmd/internal/screen/atop/terminal.go":      "asks for keys and the size",
	"cmd/pcp/output.go":                         "asks for the size",
}

// TestOneDoor keeps commands from printing past their cli.Env, and all but pcp top from drawing on the terminal itself.
func TestOneDoor(t *testing.T) {
	used := make(map[string]bool)
	for _, p := range packages(t) {
		r := rel(p.ImportPath)
		if !isCommand(r) {
			continue
		}
		fset := token.NewFileSet()
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch file := r + "/" + name; callName(sel) {
				case "os.Stdout", "os.Stderr":
					if streamFiles[file] == "" {
						t.Errorf("%s: print to the Stdout and Stderr of the cli.Env", fset.Position(n.Pos()))
					}
					used[file] = true
				default:
					if sel.Sel.Name == "Screen" && callName(sel) != "printer.Screen" && strings.HasSuffix(callName(sel.X), "env") && r != "cmd/internal/screen/top" {
						t.Errorf("%s: print to the Stdout of the cli.Env, with Own for sequences", fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	for file := range streamFiles {
		if !used[file] {
			t.Errorf("%s does not name a standard stream: take it from the list", file)
		}
	}
}

// maxRequirements is how many modules the library requires directly, those of its tests included.
const maxRequirements = 6

// TestRequirements checks that a program that imports the library gets few requirements, and none of
// the bridges, which are modules of their own.
func TestRequirements(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for line := range strings.Lines(string(mod)) {
		if strings.Contains(line, " v") && !strings.Contains(line, "// indirect") {
			direct++
		}
	}
	if direct == 0 || direct > maxRequirements {
		t.Errorf("go.mod requires %d modules directly, want %d at most", direct, maxRequirements)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, foreign := range []string{"prometheus", "opentelemetry", "protobuf", "go-logr"} {
			if strings.Contains(string(text), foreign) {
				t.Errorf("%s names %s: what needs that is a module of its own, as mmv/bridge/prommmv is", name, foreign)
			}
		}
	}
	cmd := exec.Command("go", "mod", "graph")
	cmd.Env = append(os.Environ(), "GOWORK=off") // a workspace may have the bridges in it
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		for _, foreign := range []string{"prometheus/client_golang", "go.opentelemetry.io"} {
			if strings.Contains(line, foreign) {
				t.Errorf("go mod graph: %s", line)
			}
		}
	}
}
