package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk"  // registers the format
	_ "github.com/goreleaser/nfpm/v2/arch" // the same
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"github.com/klauspost/compress/gzip"
)

// packageDir has a file NAME.yaml for each package, in nfpm's form, and a file NAME.without if the
// package lacks some of the installed files.
const packageDir = "packaging/nfpm"

// makePackages returns the function that makes all packages of a format.
func makePackages(format string) func(context.Context, *release, input) error {
	return func(ctx context.Context, r *release, in input) error {
		configs, err := filepath.Glob(packageDir + "/*.yaml")
		if err != nil {
			return err
		}
		if len(configs) == 0 {
			return fmt.Errorf("no packages in %s", packageDir)
		}
		for _, c := range configs {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.makePackage(format, c, in); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		return nil
	}
}

func (r *release) makePackage(format, file string, in input) error {
	info, err := r.info(format, file, in)
	if err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), format, func(w io.Writer) error { return packager.Package(info, w) })
}

// info returns the description of a package: that of its file, with the installed files, the version and the time.
func (r *release) info(format, file string, in input) (*nfpm.Info, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	variables := map[string]string{"VERSION": r.version, "REVISION": r.revision, "ARCH": in.arch, "STAGE": in.stage}
	config, err := nfpm.ParseWithEnvMapping(f, func(name string) string { return variables[name] })
	if err != nil {
		return nil, err
	}
	info, err := config.Get(format)
	if err != nil {
		return nil, err
	}
	info.Arch, info.Version, info.Release, info.MTime = in.arch, r.version, r.revision, r.source.time
	info.RPM.BuildHost = "localhost"
	info.Deb.Signature.KeyFile, info.RPM.Signature.KeyFile = r.pgpKey, r.pgpKey
	if r.dirty { // to try packages: a fast compression
		info.Deb.Compression, info.RPM.Compression = "zstd:1", "zstd:1"
	}
	omit, err := readPatterns(strings.TrimSuffix(file, ".yaml") + ".without")
	if err != nil {
		return nil, err
	}
	for _, e := range in.usr {
		if e.mode.IsDir() || e.isGPU() && format == "apk" || omit.match(e.path) || config.Contents.ContainsDestination(e.path) {
			continue
		}
		c, err := r.content(e)
		if err != nil {
			return nil, err
		}
		info.Contents = append(info.Contents, c)
	}
	return nfpm.WithDefaults(info), nil
}

// content returns an installed file in nfpm's form. Manual pages are compressed.
func (r *release) content(e entry) (*files.Content, error) {
	c := &files.Content{Source: e.source, Destination: e.path, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: e.mode.Perm(), MTime: r.source.time}}
	manual := strings.HasPrefix(e.path, "/usr/share/man/")
	if manual {
		c.Destination += ".gz"
	}
	switch {
	case e.link != "":
		c.Type, c.Source, c.FileInfo.Mode = files.TypeSymlink, e.link, 0o777
		if manual {
			c.Source += ".gz"
		}
	case manual:
		var err error
		if c.Source, err = r.compressed(e.source); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// compressed returns the path of a copy of a file in gzip's format.
func (r *release) compressed(source string) (string, error) {
	to := source + ".gz"
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	b, err := os.ReadFile(source)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(b); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	return to, os.WriteFile(to, out.Bytes(), 0o666)
}

// patterns select files by their paths.
type patterns []string

// readPatterns reads a file of patterns, one a line; # begins a comment. A missing file is empty.
func readPatterns(file string) (patterns, error) {
	f, err := os.Open(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var p patterns
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		text, _, _ := strings.Cut(sc.Text(), "#")
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		if _, err := path.Match(text, "/"); err != nil {
			return nil, fmt.Errorf("%s:%d: %q: %w", file, n, text, err)
		}
		p = append(p, text)
	}
	return p, sc.Err()
}

// match reports whether a pattern matches the path or its last element.
func (p patterns) match(file string) bool {
	for _, pattern := range p {
		name := file
		if !strings.HasPrefix(pattern, "/") {
			name = path.Base(file)
		}
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}
