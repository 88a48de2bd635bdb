package rules

import (
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestAudience checks that the documentation of each public package begins with the readers that it is for,
// and has an example of its use.
func TestAudience(t *testing.T) {
	for _, p := range packages(t) {
		dir := rel(p.ImportPath)
		if !isPublic(dir) || p.Name == "main" {
			continue
		}
		var text string
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash("./"+dir), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if f.Doc != nil && strings.HasPrefix(f.Doc.Text(), "Package ") {
				text = f.Doc.Text()
			}
		}
		if want := "Package " + p.Name + " is for "; !strings.HasPrefix(text, want) {
			t.Errorf("%s: the documentation does not begin with %q: %s", dir, want, new(doc.Package).Synopsis(text))
		}
		if !strings.Contains(text, "\n\t") {
			t.Errorf("%s: the documentation has no example of the package's use", dir)
		}
	}
}
