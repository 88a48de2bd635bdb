package objects

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/testing/twin"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

func TestMain(m *testing.M) { twin.Built(m) }

// generate writes an archive of some hours.
func generate(t testing.TB, path string) {
	t.Helper()
	im, err := importer.Start(path, importer.Options{Host: "www", TimeZone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	load, err := im.NewMetric("kernel.all.load", importer.Spec{Type: pcp.TypeDouble})
	if err != nil {
		t.Fatal(err)
	}
	reads, err := im.NewMetric("disk.dev.read", importer.Spec{Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, InDom: im.NewInDom()})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for i := range 3000 {
		load.PutDouble(math.Abs(math.Sin(float64(i))))
		for d, name := range []string{"sda", "sdb", "sdc"} {
			disk, err := reads.Instance(name)
			if err != nil {
				t.Fatal(err)
			}
			disk.PutInt(int64(i * (d + 7)))
		}
		if err := im.Write(start.Add(time.Duration(i) * 10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.End(); err != nil {
		t.Fatal(err)
	}
}

// TestTools runs tools with archives in a bucket and with the same archives on the disk: the output differs only in the name.
func TestTools(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "www"), 0o755); err != nil {
		t.Fatal(err)
	}
	generate(t, filepath.Join(dir, "www", "20261120"))
	names := []string{"www/20261120", "www"}
	const suite = "/var/lib/pcp/testsuite/archives"
	for _, name := range []string{"20130706", "ok-mv-bigbin", "ok-foo.0", "pcp-zeroconf"} {
		files, err := archive.FindFiles(filepath.Join(suite, name))
		if err != nil {
			continue
		}
		for _, path := range files.All() {
			b, err := os.ReadFile(path)
			if err != nil || os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o644) != nil {
				t.Fatal(err)
			}
		}
		names = append(names, name)
	}
	if len(names) < 5 {
		oracle.Missing(t, "without the archives of the test suite only one is read")
	}
	files := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	env, requests := s3Server(t, files, nil)
	environ := append(os.Environ(), "TZ=UTC", "HOME="+t.TempDir())
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	run := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, twin.Tool(t, "pcp"), args...)
		cmd.Env, cmd.Dir = environ, dir
		out, err := cmd.CombinedOutput()
		return string(out) + errText(err)
	}
	for _, name := range names {
		for _, args := range [][]string{
			{"pminfo", "-a", "@", "-dmL"},
			{"pmdumplog", "-a", "@"},
			{"pmlogsummary", "@"},
			{"pmval", "-z", "-a", "@", "-s", "5", "kernel.all.load"},
			{"pmrep", "-z", "-a", "@", "-s", "3", "-t", "1h", "disk.dev.read"},
			{"pmstat", "-z", "-a", "@", "-s", "2"},
			{"pmlogcheck", "@"},
			{"archive", "ls", "--json", "@"},
			{"replay", "@", "pminfo", "-f", "kernel.all.load"},
			{"query", "-a", "@", "count({__name__=~\".+\"})"},
		} {
			if name == "www" && (args[0] == "pmdumplog" || args[0] == "pmlogcheck") || strings.HasPrefix(name, "ok-foo") && args[0] == "pmlogcheck" {
				continue // of one archive; or by the files of a directory
			}
			on := func(place string) string {
				var with []string
				for _, a := range args {
					with = append(with, strings.ReplaceAll(a, "@", place))
				}
				return strings.ReplaceAll(run(with...), place, "@")
			}
			local, remote := on(filepath.Join(dir, name)), on("s3://archives/"+name)
			local, remote = strings.ReplaceAll(local, dir+"/", ""), strings.ReplaceAll(remote, "s3://archives/", "")
			if local != remote {
				t.Errorf("%s of %s: in the bucket:\n%.2000s\non the disk:\n%.2000s", strings.Join(args, " "), name, remote, local)
			}
		}
	}
	// The result of a tool that writes an archive is on the disk, also if its input is not.
	for _, from := range []string{"s3://archives/www/20261120", filepath.Join(dir, "www", "20261120")} {
		if out := run("pmlogextract", "-s", "100", from, "out"+strconv.Itoa(len(from))); out != "" {
			t.Errorf("pmlogextract: %s", out)
		}
	}
	var copies [][]byte
	found, _ := filepath.Glob(filepath.Join(dir, "out*.0"))
	for _, path := range found {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, b[min(200, len(b)):])
	}
	if len(copies) != 2 || !slices.EqualFunc(copies[:1], copies[1:], bytes.Equal) {
		t.Errorf("%d copies, or they differ", len(copies))
	}
	for _, c := range []struct{ place, want string }{
		{"s3://archives/www/none", "no archive s3://archives/www/none"},
		{"s3://nobody/x", "there is no archive s3://nobody/x"},
		{"http://127.0.0.1:1/x", "connection refused"},
	} {
		if out := run("info", "-a", c.place); !strings.Contains(out, c.want) || !strings.Contains(out, "exit status 1") {
			t.Errorf("%s: %s", c.place, out)
		}
	}
	t.Logf("%d archives, %d requests", len(names), requests.Load())
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
