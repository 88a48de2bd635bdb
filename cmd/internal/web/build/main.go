// Build bundles the sources of the page, ../src and ../vendor, into ../dist.
//
//	go -C cmd/internal/web/build run .
//
// It is a separate module, since the program that serves the page needs neither esbuild
// nor, as the tests here do, a browser. No Node.js is needed.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	dir := flag.String("dir", "..", "the directory of package web")
	flag.Parse()
	files, err := bundle(*dir)
	if err == nil {
		err = write(filepath.Join(*dir, "dist"), files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// copied are the sources that are served unmodified.
var copied = []string{"index.html", "icon.svg"}

// bundle returns the files of the bundle by name.
func bundle(web string) (map[string][]byte, error) {
	dir, err := filepath.Abs(web)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, name := range copied {
		b, err := os.ReadFile(filepath.Join(dir, "src", name))
		if err != nil {
			return nil, err
		}
		files[name] = b
	}
	banner, err := licences(dir)
	if err != nil {
		return nil, err
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: dir,
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/main.tsx", OutputPath: "app"},
			{InputPath: "src/app.css", OutputPath: "app"},
		},
		Outdir: "dist",
		Alias: map[string]string{
			"preact":       "./vendor/preact/src/index.js",
			"preact/hooks": "./vendor/preact/hooks/src/index.js",
			"uplot":        "./vendor/uplot/uPlot.esm.js",
		},
		Bundle:            true,
		Charset:           api.CharsetUTF8,
		Format:            api.FormatESModule,
		JSX:               api.JSXTransform,
		JSXFactory:        "h",
		JSXFragment:       "Fragment",
		LegalComments:     api.LegalCommentsNone,
		Banner:            map[string]string{"js": banner},
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		MinifyWhitespace:  true,
		Target:            api.ES2022,
		TreeShaking:       api.TreeShakingTrue,
		Write:             false,
	})
	var errs []error
	for _, m := range append(result.Errors, result.Warnings...) {
		where := ""
		if l := m.Location; l != nil {
			where = fmt.Sprintf("%s:%d:%d: ", l.File, l.Line, l.Column)
		}
		errs = append(errs, fmt.Errorf("%s%s", where, m.Text))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	files["sources.sum"], err = sums(dir)
	return files, err
}

// sums lists the SHA-256 of all sources. A test without esbuild uses it to check that the bundle is up to
// date.
func sums(dir string) ([]byte, error) {
	var b bytes.Buffer
	for _, sub := range []string{"src", "vendor"} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(rel))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// licences returns the head of the bundle: the licences of its libraries, as these require.
func licences(dir string) (string, error) {
	var b strings.Builder
	b.WriteString("/*!\n")
	for _, l := range []struct{ name, dir string }{{"Preact 11.2.0", "preact"}, {"uPlot 1.6.32", "uplot"}} {
		text, err := os.ReadFile(filepath.Join(dir, "vendor", l.dir, "LICENSE"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", l.name, strings.ReplaceAll(string(text), "*/", ""))
	}
	b.WriteString("*/")
	return b.String(), nil
}

// write replaces the contents of dir with files.
func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
