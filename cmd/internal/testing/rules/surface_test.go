package rules

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// surfaceFile lists the public names of the library, a line each, which other programs may rely
// on.
const surfaceFile = "api/library.txt"

// TestSurface compares the public names of the library with the file that lists them, so that
// each change of the API is seen where it is reviewed. UPDATE=1 writes the file.
func TestSurface(t *testing.T) {
	var lines []string
	for _, p := range packages(t) {
		if dir := rel(p.ImportPath); isPublic(dir) && p.Name != "main" {
			name := dir
			if name == "" {
				name = "pcp"
			}
			lines = append(lines, surface(t, name, p)...)
		}
	}
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "\n") + "\n"
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(surfaceFile), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(surfaceFile, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(surfaceFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the public names of the library changed; if that is meant, run\n\tUPDATE=1 go test -run TestSurface ./cmd/internal/testing/rules\n%s", diff)
	}
}

// maxNames is the maximum number of exported names of the library: functions, methods,
// types, constants and variables, without fields. It may only fall.
const maxNames = 1816

// TestSurfaceIsSmall holds the number of exported names down.
func TestSurfaceIsSmall(t *testing.T) {
	text, err := os.ReadFile(surfaceFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if _, decl, _ := strings.Cut(line, ", "); !strings.Contains(decl, " struct, ") && !strings.Contains(decl, " interface, ") {
			n++
		}
	}
	if n > maxNames || n < maxNames-50 {
		t.Errorf("the library exports %d names; maxNames is %d", n, maxNames)
	}
}

// surface returns a line for each public name of a package.
func surface(t *testing.T, name string, p goPackage) []string {
	t.Helper()
	fset := token.NewFileSet()
	var lines []string
	text := func(n any) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, fset, n); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	add := func(format string, args ...any) {
		lines = append(lines, "pkg "+name+", "+fmt.Sprintf(format, args...))
	}
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				signature := strings.TrimPrefix(text(d.Type), "func")
				if d.Recv == nil {
					add("func %s%s", d.Name.Name, signature)
				} else if ast.IsExported(receiver(d.Recv.List[0].Type)) {
					add("method (%s) %s%s", text(d.Recv.List[0].Type), d.Name.Name, signature)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						for _, id := range s.Names {
							if id.IsExported() {
								line := d.Tok.String() + " " + id.Name
								if s.Type != nil {
									line += " " + text(s.Type)
								}
								add("%s", line)
							}
						}
					case *ast.TypeSpec:
						surfaceOfType(s, text, add)
					}
				}
			}
		}
	}
	return lines
}

// surfaceOfType adds a type, its fields and the methods of an interface.
func surfaceOfType(s *ast.TypeSpec, text func(any) string, add func(string, ...any)) {
	head := "type " + s.Name.Name
	if s.TypeParams != nil {
		var params []string
		for _, p := range s.TypeParams.List {
			params = append(params, text(p.Type))
		}
		head += "[" + strings.Join(params, ", ") + "]"
	}
	if s.Assign.IsValid() {
		head += " ="
	}
	members := func(kind string, list *ast.FieldList) {
		add("%s %s", head, kind)
		for _, f := range list.List {
			if len(f.Names) == 0 {
				add("%s %s, %s", head, kind, text(f.Type))
			}
			for _, id := range f.Names {
				if fn, ok := f.Type.(*ast.FuncType); ok && kind == "interface" {
					add("%s %s, %s%s", head, kind, id.Name, strings.TrimPrefix(text(fn), "func"))
				} else {
					add("%s %s, %s %s", head, kind, id.Name, text(f.Type))
				}
			}
		}
	}
	switch x := s.Type.(type) {
	case *ast.StructType:
		members("struct", x.Fields)
	case *ast.InterfaceType:
		members("interface", x.Methods)
	default:
		add("%s %s", head, text(s.Type))
	}
}
