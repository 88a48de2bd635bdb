package rules

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// isPublic reports whether other programs may import a package: packages for the
// commands and tests of this module are not public.
func isPublic(dir string) bool {
	for _, part := range strings.Split(dir, "/") {
		if part == "internal" {
			return false
		}
	}
	top, _, _ := strings.Cut(dir, "/")
	return !slices.Contains([]string{"cmd", "scripts", "examples", "packaging"}, top)
}

// TestInternalStaysInternal checks that no exported type, function, method, field or
// variable of a public package mentions a package below internal: its users could
// not name the types of their values.
func TestInternalStaysInternal(t *testing.T) {
	public := 0
	for _, p := range packages(t) {
		if !isPublic(rel(p.ImportPath)) {
			continue
		}
		public++
		var names []string
		for _, name := range p.GoFiles {
			names = append(names, filepath.Join(p.Dir, name))
		}
		for _, leak := range leaks(t, names, nil) {
			t.Error(leak)
		}
	}
	if public < 20 {
		t.Errorf("only %d public packages were found", public)
	}
}

// TestLeaks checks that the test above can fail.
func TestLeaks(t *testing.T) {
	const head = `package p; import ("m/internal/x"; "os"); `
	f := func(want bool, decls string) {
		t.Helper()
		if got := leaks(t, []string{"p.go"}, []byte(head+decls)); (len(got) > 0) != want {
			t.Errorf("%s: %q", decls, got)
		}
	}
	f(true, "type T = x.T")
	f(true, "type T struct { F []x.T }")
	f(true, "type T struct { *x.T }")
	f(true, "type T interface { M(func(x.T)) }")
	f(true, "type T[P x.T] struct{}")
	f(true, "func F(map[string]*x.T) {}")
	f(true, "func F() (n int, t chan x.T) { return 0, nil }")
	f(true, "type t struct{ F x.T }; func F() *t { return nil }")
	f(true, "type t = x.T; func (T) M() t { return nil }; type T int")
	f(true, "var V x.T")
	f(true, "var V = x.F()")
	f(true, "const C x.T = 1")
	f(false, "type T struct { f x.T }; func (T) m(x.T) {}; func f(x.T) {}; func F(*os.File) { x.F() }")
	f(false, "type t struct{ F x.T }; func (t) M() x.T { return nil }; func G() { var v t; _ = v }")
	f(false, "var V = func() int { return x.F() }; const C = x.C; const D string = x.C")
}

// leaks returns the places where exported parts of the package of these files
// mention an internal package. If src is not nil, it is the text of the only
// file.
func leaks(t *testing.T, names []string, src []byte) []string {
	t.Helper()
	l := leakFinder{fset: token.NewFileSet(), types: map[string]*ast.TypeSpec{}, methods: map[string][]*ast.FuncDecl{}, seen: map[string]bool{}, imports: map[string]map[string]bool{}}
	var files []*ast.File
	for _, name := range names {
		var text any
		if src != nil {
			text = src
		}
		f, err := parser.ParseFile(l.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		l.imports[name] = internalImports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						l.types[ts.Name.Name] = ts
					}
				}
			case *ast.FuncDecl:
				if d.Recv != nil {
					base := receiver(d.Recv.List[0].Type)
					l.methods[base] = append(l.methods[base], d)
				}
			}
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			l.decl(d)
		}
	}
	return l.found
}

// internalImports returns the names by which a file knows internal packages.
func internalImports(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, imp := range f.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil || !strings.Contains(p+"/", "/internal/") {
			continue
		}
		name := path.Base(p)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = true
	}
	return names
}

func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// A leakFinder walks the exported parts of a package. The types of the package that
// are mentioned there count as well, exported or not: a caller can use their fields
// and methods.
type leakFinder struct {
	fset    *token.FileSet
	imports map[string]map[string]bool // internal packages, by file and name
	types   map[string]*ast.TypeSpec
	methods map[string][]*ast.FuncDecl
	seen    map[string]bool // types that were walked
	found   []string
}

func (l *leakFinder) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			l.walk(d.Name.Name, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					l.named(s.Name.Name)
				}
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if !name.IsExported() {
						continue
					}
					// The value of a constant does not show its origin.
					if s.Type != nil {
						l.walk(name.Name, s.Type)
					} else if d.Tok == token.VAR && i < len(s.Values) {
						l.walk(name.Name, s.Values[i])
					}
				}
			}
		}
	}
}

// named walks a type of the package, once.
func (l *leakFinder) named(name string) {
	ts := l.types[name]
	if ts == nil || l.seen[name] {
		return
	}
	l.seen[name] = true
	if ts.TypeParams != nil {
		l.walk(name, ts.TypeParams)
	}
	l.walk(name, ts.Type)
	for _, m := range l.methods[name] {
		if m.Name.IsExported() {
			l.walk(name+"."+m.Name.Name, m.Type)
		}
	}
}

// walk looks for internal packages in a type or value exported by what.
func (l *leakFinder) walk(what string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				exported := len(field.Names) == 0 // it is embedded
				for _, name := range field.Names {
					exported = exported || name.IsExported()
				}
				if exported {
					l.walk(what, field.Type)
				}
			}
			return false
		case *ast.InterfaceType:
			for _, field := range n.Methods.List {
				l.walk(what, field.Type)
			}
			return false
		case *ast.FuncLit:
			l.walk(what, n.Type)
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				pos := l.fset.Position(n.Pos())
				if l.imports[pos.Filename][x.Name] {
					l.found = append(l.found, pos.String()+": "+what+" is exported and mentions "+x.Name+"."+n.Sel.Name+", which is internal")
				}
				return false
			}
		case *ast.Ident:
			l.named(n.Name)
		}
		return true
	})
}

// TestExamplesAreComplete checks that the examples of public packages are programs:
// they use nothing that only tests have, so that a reader can copy them.
func TestExamplesAreComplete(t *testing.T) {
	n := 0
	for _, p := range packages(t) {
		if !isPublic(rel(p.ImportPath)) {
			continue
		}
		names, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		forTests := map[string]bool{} // declarations of the package's tests
		for _, name := range names {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if files = append(files, f); f.Name.Name == p.Name {
				for _, d := range f.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
						forTests[fn.Name.Name] = true
					}
				}
			}
		}
		for _, f := range files {
			for _, ex := range doc.Examples(f) {
				n++
				if ex.Play == nil {
					t.Errorf("%s: Example%s cannot be copied: it uses something of another file or of the package itself",
						fset.Position(ex.Code.Pos()), ex.Name)
				}
				ast.Inspect(ex.Code, func(n ast.Node) bool {
					if sel, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := sel.X.(*ast.Ident); ok && x.Name == p.Name && forTests[sel.Sel.Name] {
							t.Errorf("%s: Example%s uses %s.%s, which only tests have", fset.Position(n.Pos()), ex.Name, x.Name, sel.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d examples were found", n)
	}
}

// readsEnvironment lists the files of the product that look at the environment of the
// process, and why.
var readsEnvironment = map[string]string{
	"config/config.go":                          "for those who have no other: Process",
	"cmd/pcp/main.go":                           "the program hands it on",
	"pmda/daemon.go":                            "so does the program of an agent: Main",
	"internal/timezone/timezone.go":             "as package time does, whose zone it names",
	"pmcd/internal/backend/remoteprocess.go":    "for the processes of agents",
	"cmd/internal/daemon/detach/detach_unix.go": "for the process that goes on in the background",
}

// isCommand reports whether a directory has commands, or their common packages.
func isCommand(dir string) bool {
	district, ok := strings.CutPrefix(dir, "cmd/internal/")
	district, _, _ = strings.Cut(district, "/")
	return dir == "cmd/pcp" || ok && floors["cmd/internal/"+district] >= floors["cmd/internal/tool"] && !forTests(dir)
}

// forTests reports whether a directory serves tests and measurements alone.
func forTests(dir string) bool {
	return slices.ContainsFunc([]string{"internal/testing", "cmd/internal/testing", "cmd/internal/interop", "cmd/bench", "cmd/conformance"}, func(d string) bool {
		return dir == d || strings.HasPrefix(dir, d+"/")
	})
}

// TestEnvironmentIsPassed keeps functions from reading the environment of the process
// where their caller may have another one, as tests and tools under test do.
func TestEnvironmentIsPassed(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		dir := rel(p.ImportPath)
		top, _, _ := strings.Cut(dir, "/")
		_, product := floors[dir]
		if !product && top == "internal" || slices.Contains([]string{"scripts", "examples"}, top) || forTests(dir) {
			continue
		}
		for _, name := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			file := path.Join(dir, name)
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, ok := sel.X.(*ast.Ident)
				if !ok {
					return true
				}
				switch name := x.Name + "." + sel.Sel.Name; name {
				case "os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv":
					if seen[file] = true; readsEnvironment[file] == "" {
						t.Errorf("%s: %s: take a *config.Config, or a function that the caller gives", fset.Position(n.Pos()), name)
					}
				case "config.Process", "pmapi.Dial", "pmapi.NewFetchGroup", "pmns.Load":
					if isCommand(dir) {
						t.Errorf("%s: %s takes the settings of the process: a tool has those of its Env", fset.Position(n.Pos()), name)
					}
				}
				return true
			})
		}
	}
	for file := range readsEnvironment {
		if !seen[file] {
			t.Errorf("%s does not read the environment any more: take it from the list", file)
		}
	}
}
