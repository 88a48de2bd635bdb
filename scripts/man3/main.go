// Man3 writes manual pages of section 3, one for each public package of the library, from
// its documentation. make build calls it.
//
//	go run ./scripts/man3 DIR
//
// The page of package pmapi is DIR/pcp-pmapi.3, that of the root is DIR/pcp.3.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/internal/version"
)

const library = "github.com/go-pcp/pcp"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: man3 DIR")
		os.Exit(2)
	}
	if err := run(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man3:", err)
		os.Exit(1)
	}
}

// run writes the pages of the library in a directory to another.
func run(root, out string) error {
	dirs, err := packages(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, dir := range dirs {
		p, fset, err := load(root, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		if err := os.WriteFile(filepath.Join(out, name(dir)+".3"), page(p, fset, name(dir)), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// notPublic are directories without packages for other programs.
var notPublic = []string{"internal", "testdata", "cmd", "scripts", "tools", "packaging", "examples", "docs", "dist"}

// packages returns the directories of the public packages, with slashes, "." first.
func packages(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if rel != "." {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if err == nil || strings.HasPrefix(d.Name(), ".") || slices.Contains(notPublic, d.Name()) {
				return fs.SkipDir
			}
		}
		files, err := filepath.Glob(filepath.Join(file, "*.go"))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") }) {
			dirs = append(dirs, filepath.ToSlash(rel))
		}
		return nil
	})
	return dirs, err
}

// name returns the name of the page of a package: its path, with dashes.
func name(dir string) string {
	return strings.ReplaceAll(path.Join("pcp", dir), "/", "-")
}

// load reads the documentation of a package as it is on Linux, whatever this system is.
func load(root, dir string) (*doc.Package, *token.FileSet, error) {
	context := build.Default
	context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
	b, err := context.ImportDir(filepath.Join(root, filepath.FromSlash(dir)), 0)
	if err != nil {
		return nil, nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, f := range b.GoFiles {
		parsed, err := parser.ParseFile(fset, filepath.Join(b.Dir, f), nil, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, parsed)
	}
	p, err := doc.NewFromFiles(fset, files, path.Join(library, dir))
	return p, fset, err
}

// A manual is a page being written.
type manual struct {
	bytes.Buffer
	p    *doc.Package
	fset *token.FileSet
}

// page returns the manual page of a package.
func page(p *doc.Package, fset *token.FileSet, name string) []byte {
	m := &manual{p: p, fset: fset}
	fmt.Fprintf(m, ".\\\" Written by scripts/man3.\n.TH %q \"3\" \"\" \"pcp %s\" \"Performance Co\\-Pilot\"\n", strings.ToUpper(name), version.Number)
	fmt.Fprintf(m, ".SH \"NAME\"\n\\fB%s\\fR \\- %s\n", escape(name), escape(strings.TrimSuffix(p.Synopsis(p.Doc), ".")))
	m.section("SYNOPSIS")
	m.code(fmt.Sprintf("import %q\n", p.ImportPath))
	m.section("DESCRIPTION")
	m.text(p.Doc)
	m.values("CONSTANTS", p.Consts)
	m.values("VARIABLES", p.Vars)
	if len(p.Funcs) > 0 {
		m.section("FUNCTIONS")
		m.functions(p.Funcs)
	}
	if len(p.Types) > 0 {
		m.section("TYPES")
	}
	for _, t := range p.Types {
		m.entry("type "+t.Name, t.Decl, t.Doc)
		for _, v := range slices.Concat(t.Consts, t.Vars) {
			m.declaration(v.Decl)
			m.text(v.Doc)
		}
		m.functions(t.Funcs)
		m.functions(t.Methods)
	}
	m.section("SEE ALSO")
	fmt.Fprintf(m, ".PP\nhttps://pkg.go.dev/%s\n", escape(p.ImportPath))
	return m.Bytes()
}

func (m *manual) section(title string) { fmt.Fprintf(m, ".SH %q\n", title) }

func (m *manual) values(title string, list []*doc.Value) {
	if len(list) == 0 {
		return
	}
	m.section(title)
	for _, v := range list {
		m.declaration(v.Decl)
		m.text(v.Doc)
	}
}

func (m *manual) functions(list []*doc.Func) {
	for _, f := range list {
		title := "func " + f.Name
		if f.Recv != "" {
			title = "func (" + f.Recv + ") " + f.Name
		}
		m.entry(title, f.Decl, f.Doc)
	}
}

func (m *manual) entry(title string, decl ast.Decl, text string) {
	fmt.Fprintf(m, ".SS \"%s\"\n", escape(title))
	m.declaration(decl)
	m.text(text)
}

// declaration writes a declaration without the comment above it and the body.
func (m *manual) declaration(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		c := *d
		c.Doc, c.Body = nil, nil
		decl = &c
	case *ast.GenDecl:
		c := *d
		c.Doc = nil
		decl = &c
	}
	var b bytes.Buffer
	if err := format.Node(&b, m.fset, decl); err != nil {
		panic(err) // it was parsed
	}
	m.code(b.String() + "\n")
}

// code writes lines as they are.
func (m *manual) code(text string) {
	m.WriteString(".PP\n.RS 4\n.nf\n")
	for line := range strings.Lines(text) {
		m.WriteString(escape(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")) + "\n")
	}
	m.WriteString(".fi\n.RE\n")
}

// text writes a documentation comment.
func (m *manual) text(text string) {
	m.blocks(m.p.Parser().Parse(text).Content)
}

func (m *manual) blocks(list []comment.Block) {
	for _, b := range list {
		switch b := b.(type) {
		case *comment.Heading:
			fmt.Fprintf(m, ".PP\n\\fB%s\\fR\n", escape(plain(b.Text)))
		case *comment.Code:
			m.code(b.Text)
		case *comment.Paragraph:
			m.WriteString(".PP\n" + escape(plain(b.Text)) + "\n")
		case *comment.List:
			for _, item := range b.Items {
				mark := "\\(bu"
				if item.Number != "" {
					mark = item.Number + "."
				}
				fmt.Fprintf(m, ".IP %s 4\n", mark)
				for i, c := range item.Content {
					if p, ok := c.(*comment.Paragraph); ok && i == 0 {
						m.WriteString(escape(plain(p.Text)) + "\n")
						continue
					}
					m.blocks([]comment.Block{c})
				}
			}
		}
	}
}

// plain returns the words of a text, on one line.
func plain(list []comment.Text) string {
	var b strings.Builder
	for _, t := range list {
		switch t := t.(type) {
		case comment.Plain:
			b.WriteString(string(t))
		case comment.Italic:
			b.WriteString(string(t))
		case *comment.Link:
			b.WriteString(plain(t.Text))
		case *comment.DocLink:
			b.WriteString(plain(t.Text))
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

var roff = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`) })

// escape returns a line of text that roff prints as it is.
func escape(line string) string {
	line = roff().Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
