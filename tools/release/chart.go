package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/klauspost/compress/gzip"
)

// chartDir is the directory of the Helm chart, and chartName its name.
const (
	chartDir  = "packaging/helm/pcp"
	chartName = "pcp"
)

// chartVersions are the lines of Chart.yaml that have versions.
var chartVersions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// makeChart makes the package of the Helm chart, as helm package does. The chart and the image that it runs have the version of the release.
func makeChart(_ context.Context, r *release) error {
	files, err := walk(chartDir)
	if err != nil {
		return err
	}
	omit, err := readPatterns(filepath.Join(chartDir, ".helmignore"))
	if err != nil {
		return err
	}
	return r.write(chartName+"-"+r.version+".tgz", "Helm", func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, r.level)
		if err != nil {
			return err
		}
		t := tar.NewWriter(z)
		described := false
		for _, e := range files {
			if e.mode.IsDir() || omit.match(e.path) {
				continue
			}
			if !e.mode.IsRegular() {
				return fmt.Errorf("%s%s is not a file", chartDir, e.path)
			}
			b, err := os.ReadFile(e.source)
			if err != nil {
				return err
			}
			if e.path == "/Chart.yaml" {
				if n := len(chartVersions.FindAll(b, -1)); n != 2 {
					return fmt.Errorf("%s: %d lines have the version and appVersion, want 2", e.source, n)
				}
				b, described = chartVersions.ReplaceAll(b, []byte("${1}: "+r.version)), true
			}
			// The modes of files in a working directory depend on the umask.
			h := r.header(entry{mode: 0o644}, chartName+e.path)
			h.Size = int64(len(b))
			if err := t.WriteHeader(h); err != nil {
				return err
			}
			if _, err := io.Copy(t, bytes.NewReader(b)); err != nil {
				return err
			}
		}
		if !described {
			return errors.New(chartDir + " has no Chart.yaml")
		}
		return errors.Join(t.Close(), z.Close())
	})
}
