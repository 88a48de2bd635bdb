package main

import (
	"bytes"
	"context"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/live/chart"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// TestPictures has pmchart make pictures of a view of an archive.
func TestPictures(t *testing.T) {
	chrome(t)
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	im, err := importer.Start(base, importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := im.NewMetric("test.a", importer.Spec{Type: pcp.TypeU32, Sem: pcp.SemInstant})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 61 {
		m.PutUint(uint64(i % 20))
		if err := im.Write(time.Unix(1_700_000_000+10*int64(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
	view := filepath.Join(dir, "view")
	if err := os.WriteFile(view, []byte("#kmchart\nversion 1\nchart title \"A view\" style area\n\tplot color #ff0000 metric test.a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	picture := func(name string, args ...string) []byte {
		t.Helper()
		path := filepath.Join(dir, name)
		var out, errs bytes.Buffer
		env := &cli.Env{
			Name: "pmchart", Args: append([]string{"-a", base, "-c", view, "-o", path}, args...), Stdout: &out, Stderr: &errs, Command: chart.Command,
			Getenv: func(name string) string {
				return map[string]string{"HOME": dir, "TZ": "UTC", "PATH": os.Getenv("PATH"), "BROWSER": os.Getenv("PCP_CHROMIUM")}[name]
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if status := chart.Command.Run(ctx, env); status != 0 || out.Len()+errs.Len() > 0 {
			t.Fatalf("%v: %d %s%s", env.Args, status, &out, &errs)
		}
		if name == "none" {
			path += ".gif"
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if shots := os.Getenv("PCP_SCREENSHOTS"); shots != "" {
			os.WriteFile(filepath.Join(shots, "picture-"+filepath.Base(path)), b, 0o666)
		}
		return b
	}
	check := func(b []byte, format string, width, height int) {
		t.Helper()
		img, got, err := image.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		size := img.Bounds().Size()
		if got != format || size.X != width || height != 0 && size.Y != height {
			t.Errorf("%s of %v, want %s of %dx%d", got, size, format, width, height)
		}
		// The background is white, and the area red.
		red := 0
		for y := range size.Y {
			for x := range size.X {
				if r, g, b, _ := img.At(x, y).RGBA(); r > 0xc000 && g < 0xc000 && b < 0xc000 && r > g+0x3000 {
					red++
				}
			}
		}
		if r, g, b, _ := img.At(1, 1).RGBA(); min(r, g, b) < 0xf000 || red < 1000 {
			t.Errorf("%s: the corner is %x %x %x, and %d points are red", format, r, g, b, red)
		}
	}
	check(picture("one.png", "-g", "800x500"), "png", 800, 500)
	check(picture("none", "-W"), "gif", 1280, 0)
	if b := picture("page.pdf"); !bytes.HasPrefix(b, []byte("%PDF-")) {
		t.Errorf("not a PDF: %.20q", b)
	}
}
