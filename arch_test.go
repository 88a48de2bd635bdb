package pcp_test

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
	"":                 0,
	"config":           0,
	"debug":            0,
	"wire":             1,
	"pcptime":          1,
	"pcpjson":          1,
	"discover":         1,
	"pmns":             1,
	"pmns/stdpmid":     0, // a table
	"openmetrics":      1,
	"mmv":              1,
	"archive":          1,
	"trace":            1,
	"getopt":           1,
	"derive":           2,
	"timecontrol":      2,
	"pmda":             2,
	"pmapi":            3,
	"agent":            3,
	"pmcd":             4,
	"pmcd/access":      2, // agents that have clients of their own ask it too
	"options":          4,
	"pmlogger":         4,
	"pmrep":            4,
	"pmie":             4,
	"pmproxy":          4,
	"web":              4,
	"tool":             5,
	"cmd":              6,
	"bench":            6,
	"scripts":          6,
	"conformance":      6,
	"interop":          8, // on everything, the real PCP too
	"examples":         6,
	"packaging":        6,
	"internal":         7, // for tests, except the packages listed
	"internal/console": 1,
	"internal/procfs":  1,

	"internal/controlfile": 1,

	"internal/daemonlog":  1,
	"internal/detach":     1,
	"internal/tlsconf":    1,
	"internal/service":    1,
	"internal/sasl":       1,
	"internal/ctext":      -1, // below the vocabulary, which reads text too
	"internal/exposition": 1,
	"internal/pytext":     0,
	"internal/hashorder":  0,
	"internal/safefile":   0,
	"internal/timezone":   0,
	"internal/hostlabels": 1,
	"internal/nsenter":    1,
	"internal/rootproto":  1,
	"internal/agentlink":  4,
	"internal/version":    0,
	"internal/valueset":   0,
	"internal/hangup":     1,
	"internal/pidof":      1,
	"internal/peercred":   0,
	"internal/dirlock":    1,
	"internal/fsdir":      1,
	"internal/mapfile":    1,
	"internal/pmiestats":  1,
}

// neighbours lists the imports within one floor that are meant, and why.
var neighbours = map[string]string{
	"agent -> agent/":            "the table of agents names them all",
	"agent/ -> agent/builtin":    "there are the words in which an agent says what it is",
	"tool/ -> tool/cli":          "what the tools share",
	"tool/ -> tool/source":       "what the tools that read metrics share",
	"tool/ -> tool/report":       "what the tools print in one layout",
	"tool/ -> tool/pmcc":         "what the reports of Python programs share",
	"tool/ -> tool/metricset":    "what pmrep and the exporters share",
	"tool/ -> tool/devstat":      "the tables of pcp-iostat and pcp-tapestat",
	"tool/ -> tool/housekeeping": "what the commands of a timer share",
	"tool/ -> tool/recorded":     "what the commands that read series share",
	"tool/up -> tool/alerts":     "the page shows which rules are true, as that lists them",
	"tool/ie -> tool/alerts":     "where the receivers of alerts are",

	"tool/atop/internal/ -> tool/atop/internal/": "samples, and figures in few columns, are what all its outputs are made of",

	"config -> internal/version": "the version is a feature",
	"options -> pmcd/conf":       "the agents of local contexts are those of the collector",
	"getopt -> pmns":             "an option names a name space",
	"getopt -> pcptime":          "options have times",
	"pmns -> pmns/cpp":           "the preprocessor is a language of its own",
	"pmda -> pmda/help":          "the files of help texts are a format of their own",

	"pmcd -> pmcd/":                                "configuration and access rules are rooms of their own",
	"pmcd/conf -> pmcd/access":                     "a configuration has access rules",
	"pmcd/internal/backend -> pmcd/conf":           "the lines of a configuration say how agents are reached",
	"pmcd/internal/backend -> pmcd/internal/trace": "what passes between collector and agents is traced",

	"tool/top/internal/ui -> tool/top/internal/model":  "screens show what was sampled",
	"tool/top/internal/ui -> tool/top/internal/screen": "and are drawn on a grid",

	"internal/controlfile -> pcptime": "a directory may have a date in its name",

	"pmie/alert -> pmie": "an alert is made of what a rule says",

	"pmlogger -> pmlogger/conf":          "the language of configurations is a room of its own",
	"pmlogger/janitor -> pmlogger":       "it has a recorder begin new archives",
	"pmlogger/fleet -> pmlogger":         "it records each host as that does",
	"pmlogger/fleet -> pmlogger/conf":    "hosts share what was read",
	"pmlogger/fleet -> pmlogger/logconf": "it makes configurations for hosts",
	"pmlogger/fleet -> pmlogger/janitor": "one looks after the directory of each host",
	"pmlogger/control -> pmlogger":       "a control port has a recorder behind it",
	"pmlogger/control -> pmlogger/conf":  "it has the access rules",

	"pmrep -> pmrep/conf": "a set is made of what a configuration says",

	"pmproxy/webapi -> pmproxy/internal/rest":         "requests and replies of the interfaces look alike",
	"pmproxy/series -> pmproxy/series/sid":            "a series is called by its identifier",
	"pmproxy/series/archives -> pmproxy/series":       "it is the store that has the archives",
	"pmproxy/series/archives -> pmproxy/series/sid":   "whose series are called by their identifiers",
	"pmproxy/series/seriestest -> pmproxy/series":     "it is a store in memory",
	"pmproxy/series/seriestest -> pmproxy/series/sid": "whose series are called by their identifiers",

	"pmproxy/seriesapi -> pmproxy/internal/rest": "answers look like those of the other interfaces",
	"pmproxy/seriesapi -> pmproxy/series":        "requests are answered from a store",
	"pmproxy/seriesapi -> pmproxy/series/query":  "requests have queries and time windows",
	"pmproxy/seriesapi -> pmproxy/series/sid":    "and identifiers of series",
	"pmproxy/search -> pmproxy/internal/rest":    "requests and answers look alike everywhere",
	"pmproxy/logger -> pmproxy/internal/rest":    "requests and answers look alike everywhere",

	"pmproxy/series/query -> pmproxy/series":     "queries are answered from a store",
	"pmproxy/series/query -> pmproxy/series/sid": "and name series by their identifiers",

	"internal/twin -> internal/longtest": "which archives of the suite a test takes depends on it",
	"internal/twin -> internal/testdir":  "it compares what tools leave in a folder",
	"internal/twin -> internal/oracle":   "one knows where the real PCP is, the other compares tools with its",

	"internal/agenttest -> internal/oracle": "one knows where the real PCP is, the other compares agents with its",
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

	"tool/cli": {[]string{"pmapi", "archive", "pmda", "agent", "pmcd"}, "a small tool links no client, no archives and no agents"},
}

type goPackage struct {
	ImportPath, Dir, Name, Doc string
	GoFiles, Imports, Deps     []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports,Deps", "./...")
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
		if r := rel(p.ImportPath); r == "bench" || r == "conformance" {
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

// streamFiles are the files that may name the standard streams of the process, and why. All else prints through the cli.Env, whose
// streams show nothing on a terminal that a command does not mean.
var streamFiles = map[string]string{
	"tool/cli/terminal.go":       "makes the streams",
	"tool/cli/detach.go":         "for the process in the background",
	"tool/metricset/run.go":      "for the process in the background",
	"tool/ie/system_unix.go":     "puts a log in their place",
	"tool/logger/system_unix.go": "puts a log in their place",
	"tool/ie/daemon.go":          "for the commands of rules",
	"tool/ie/agent.go":           "sends PDUs",
	"tool/atop/terminal.go":      "asks for keys and the size",
	"cmd/pcp/output.go":          "asks for the size",
}

// TestOneDoor keeps commands from printing past their cli.Env, and all but pcp top from drawing on the terminal itself.
func TestOneDoor(t *testing.T) {
	used := make(map[string]bool)
	for _, p := range packages(t) {
		r := rel(p.ImportPath)
		if r != "cmd/pcp" && r != "tool" && !strings.HasPrefix(r, "tool/") {
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
					if sel.Sel.Name == "Screen" && callName(sel) != "printer.Screen" && strings.HasSuffix(callName(sel.X), "env") && r != "tool/top" {
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

// TestRequirements checks that a program that imports this module does not get the
// requirements of the bridges, which are modules of their own.
func TestRequirements(t *testing.T) {
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
