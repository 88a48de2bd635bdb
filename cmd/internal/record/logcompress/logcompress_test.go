package logcompress

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// open begins an archive with a volume above the minimum size and a small one.
func open(t *testing.T, path string) *archive.Writer {
	t.Helper()
	w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Version: 3, PID: int32(os.Getpid()), Host: "here", TimeZone: "UTC", Start: pcp.Timestamp{Sec: 1700000000}}})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(60, 2, 0)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, "a.b"); err != nil {
		t.Fatal(err)
	}
	for i := range int64(201) {
		if i == 200 {
			if err := w.NewVolume(); err != nil {
				t.Fatal(err)
			}
		}
		res := &pcp.Result{Time: pcp.Timestamp{Sec: 1700000000 + i}}
		res.AddSet(id)
		res.Add(pcp.Uint32Value(uint32(i)))
		if err := w.WriteResult(res); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// finished returns the directory of the complete archive day.
func finished(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := open(t, filepath.Join(dir, "day")).Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// call runs a command in a directory, and returns its status and output, without the name of the directory.
func call(t *testing.T, c *cli.Command, dir string, environ map[string]string, args ...string) (status int, out string) {
	t.Helper()
	t.Chdir(dir)
	var b bytes.Buffer
	env := &cli.Env{Name: c.Link, Args: args, Stdout: &b, Stderr: &b, Command: c, Getenv: func(name string) string {
		if name == "PCP_SYSCONF_DIR" {
			return "/nonexistent"
		}
		return environ[name]
	}}
	status = c.Run(context.Background(), env)
	return status, strings.ReplaceAll(b.String(), dir+"/", "")
}

// names returns the names of the files in a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	for program, suffix := range map[string]string{"xz": ".xz", "zstd": ".zst"} {
		dir := finished(t)
		want := map[string]string{}
		for name := range strings.FieldsSeq(names(t, dir)) {
			want[name] = string(read(t, dir, name))
		}
		if status, out := call(t, Command, dir, nil, "-f", program, "-l", "0", "day"); status != 0 || out != "" {
			t.Fatalf("status %d, %q", status, out)
		}
		if got, want := names(t, dir), "day.0"+suffix+" day.1"+suffix+" day.index day.meta"+suffix; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := os.Mkdir(filepath.Join(dir, "to"), 0o777); err != nil {
			t.Fatal(err)
		}
		if status, out := call(t, DecompressCommand, dir, nil, "-V", "-t", "to", "day.meta"); status != 0 || out !=
			"archbase=day\n3 of 4 files in the archive are compressed\nto/day.0: decompressed\nto/day.1: decompressed\nto/day.index: linked\nto/day.meta: decompressed\n" {
			t.Errorf("-t: status %d, %q", status, out)
		}
		if status, out := call(t, DecompressCommand, dir, nil, "day"); status != 0 || out != "" {
			t.Errorf("status %d, %q", status, out)
		}
		for _, sub := range []string{"", "to"} {
			got := map[string]string{}
			for name := range strings.FieldsSeq(names(t, filepath.Join(dir, sub))) {
				if name != "to" {
					got[name] = string(read(t, filepath.Join(dir, sub), name))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %q: -want +got\n%s", program, sub, diff)
			}
		}
	}
}

func TestChoice(t *testing.T) {
	dir := finished(t)
	conf := filepath.Join(dir, "conf")
	if err := os.WriteFile(conf, []byte("# sizes\nPCP_COMPRESS_MIN_FILESIZE=100\nPCP_COMPRESS_PROGS='xz:zstd'\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := func(environ map[string]string, args string, want ...string) {
		t.Helper()
		before := names(t, dir)
		_, out := call(t, Command, dir, environ, strings.Fields(args)...)
		if diff := cmp.Diff(strings.Join(want, "\n"), strings.TrimSuffix(out, "\n")); diff != "" {
			t.Errorf("%s: -want +got\n%s", args, diff)
		}
		if after := names(t, dir); after != before {
			t.Errorf("%s: %s, was %s", args, after, before)
		}
	}
	const xz = "+ xz -2 --block-size=10MiB "
	f(nil, "-N day", xz+"day.0")
	f(nil, "-N -l 1 day", xz+"day.0", xz+"day.1", xz+"day.meta")
	f(nil, "-N day.0", xz+"day.0")
	f(nil, "-NV day", "Info: archbase=day", "Info: day.0: size 9608 too small for zstd", xz+"day.0",
		"Info: day.1: skipped, size 852 < limit 4096", "Info: day.meta: skipped, size 851 < limit 4096")
	f(nil, "-N -Z 9000 day", "+ zstd --rm --quiet day.0")
	f(nil, "-N -f zstd -A -19 -A -q day", "+ zstd -19 -q day.0")
	f(nil, "-N -c lz4:zstd -c xz day", `pmlogcompress: Warning: no clue how to deal with "compression" program lz4`, xz+"day.0")
	f(map[string]string{"PCP_COMPRESS_MIN_FILESIZE": "200", "PCP_COMPRESS_XZ_ARGS": "-9"}, "-N day", "+ xz -9 day.0", "+ xz -9 day.1", "+ xz -9 day.meta")
	f(nil, "-N -C conf day", xz+"day.0", xz+"day.1", xz+"day.meta")
	f(map[string]string{"PCP_COMPRESS_MIN_FILESIZE": "200"}, "-NVV -C conf -Z 7 day.0", "Info: PCP_COMPRESS_MIN_FILESIZE set from environment: 200",
		"Info: PCP_COMPRESS_ZSTD_MIN_FILESIZE set from command line: 7", "Info: PCP_COMPRESS_PROGS set from conf: xz:zstd", xz+"day.0")
	f(nil, "-N other", `pmlogcompress: Warning: no PCP archive files match "other"`)
	f(nil, "-c lz4 day", `pmlogcompress: Warning: no clue how to deal with "compression" program lz4`, "pmlogcompress: cannot find a compression program (tried lz4)")
	f(nil, "-f lz4 day", "pmlogcompress: cannot find a compression program (lz4)")
	f(nil, "-C nosuch day", "pmlogcompress: Error: configuration file (nosuch) not found")
	f(map[string]string{"PCP_COMPRESS_MIN_FILESIZE": "4k"}, "day", "pmlogcompress: Error: PCP_COMPRESS_MIN_FILESIZE (4k) must be numeric")
	f(nil, "-N nosuch/day", "pmlogcompress: open nosuch: no such file or directory")

	for _, args := range []string{"-l 4k day", "-Z x day", "-o size day", "-o space -f xz day", ""} {
		if status, out := call(t, Command, dir, nil, strings.Fields(args)...); status != 1 || !strings.Contains(out, "Usage: pmlogcompress [options] archive ...") {
			t.Errorf("%s: status %d, %q", args, status, out)
		}
	}

	// The smaller result wins.
	_, out := call(t, Command, dir, nil, "-V", "-c", "xz:zstd", "-o", "space", "day")
	first := strings.Fields(names(t, dir))[1]
	if !strings.Contains(out, "optimize: pick "+map[string]string{"day.0.xz": "xz", "day.0.zst": "zstd"}[first]+"\n") {
		t.Errorf("made %s: %s", first, out)
	}
	if _, out := call(t, Command, dir, nil, "-V", "day.0"); !strings.Contains(out, first+": skipped, already compressed\n") {
		t.Errorf("again: %s", out)
	}
}

func TestSettings(t *testing.T) {
	f := func(text string, want map[string]string) {
		t.Helper()
		got, err := parse("conf", []byte(text))
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	f("", map[string]string{})
	f("# A=1\n\nB=\"x y\"\nC='z'\nD=\nnothing\n B=last", map[string]string{"B": "last", "C": "z", "D": ""})
	for _, bad := range []string{"A=$HOME", "A=`id`", "A=1; B=2", `A=a\b`} {
		if got, err := parse("conf", []byte("X=1\n"+bad)); err == nil || !strings.Contains(err.Error(), "conf:2: ") {
			t.Errorf("%s: %v, %v", bad, got, err)
		}
	}
}

// TestProgram compresses with a program that is not a part of this one.
func TestProgram(t *testing.T) {
	dir := finished(t)
	want := read(t, dir, "day.0")
	// It does what gzip does with -9 and with -c -q.
	script := "#!/bin/sh\ncase $1 in\n-9) mv $2 $2.gz;;\n-c) cat $3;;\n*) exit 1;;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "gzip"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	environ := map[string]string{"PATH": dir}
	t.Setenv("PATH", "/usr/bin:/bin")
	if _, out := call(t, Command, dir, environ, "-NV", "-c", "gzip:xz", "-o", "space", "day"); !strings.Contains(out, "day.0: gzip size=9608 ") || !strings.Contains(out, "pick xz\n") {
		t.Errorf("-o space: %s", out)
	}
	if _, out := call(t, Command, dir, environ, "-NV", "-c", "gzip", "-o", "time", "day"); !strings.Contains(out, "pick gzip\n+ gzip day.0\n") {
		t.Errorf("-o time: %s", out)
	}
	if status, out := call(t, Command, dir, environ, "-f", "gzip", "day.0"); status != 1 || out != "pmlogcompress: day.0: gzip failed: exit status 1\n" {
		t.Errorf("status %d, %q", status, out)
	}
	if status, out := call(t, Command, dir, environ, "-V", "-f", "gzip", "-A", "-9", "day.0"); status != 0 || out != "Info: day.0: compressed with gzip\n" {
		t.Errorf("status %d, %q", status, out)
	}
	if !bytes.Equal(read(t, dir, "day.0.gz"), want) {
		t.Error("other contents")
	}
}

// TestNothingLost tries files that must not be replaced.
func TestNothingLost(t *testing.T) {
	f := func(c *cli.Command, dir, want string, args ...string) {
		t.Helper()
		before := names(t, dir)
		if status, out := call(t, c, dir, nil, args...); status != 1 || !strings.Contains(out, want) {
			t.Errorf("%q: status %d, %q, want %s", args, status, out, want)
		}
		if after := names(t, dir); after != before {
			t.Errorf("%q: %s, was %s", args, after, before)
		}
	}
	dir := finished(t)
	unlock, err := janitor.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	f(Command, dir, "another", "day")
	f(DecompressCommand, dir, "another", "day")
	unlock()

	w := open(t, filepath.Join(dir, "now"))
	f(Command, dir, "now: a recorder writes this archive", "now")
	f(Command, dir, "now: a recorder writes this archive", "now.0")
	f(DecompressCommand, dir, "a recorder writes this archive", "now")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	// Both forms are there.
	if err := os.WriteFile(filepath.Join(dir, "day.0.xz"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f(Command, dir, "day.0.xz: file already exists", "-f", "xz", "day.0")
	f(DecompressCommand, dir, "day.0 exists and will not be clobbered", "day")
	if err := os.Remove(filepath.Join(dir, "day.0")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "day.meta.Z"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f(DecompressCommand, dir, "-t: nosuch is not an existing directory", "-t", "nosuch", "day")
	f(DecompressCommand, dir, "day.meta.Z: not supported", "day.meta.Z")
}

// TestDamaged decompresses truncated and changed files.
func TestDamaged(t *testing.T) {
	dir := finished(t)
	plain := read(t, dir, "day.0")
	packedAs := map[string][]byte{}
	for program, suffix := range map[string]string{"xz": ".xz", "zstd": ".zst"} {
		if status, out := call(t, Command, dir, nil, "-f", program, "day.0"); status != 0 {
			t.Fatal(out)
		}
		packedAs[suffix] = read(t, dir, "day.0"+suffix)
		if status, out := call(t, DecompressCommand, dir, nil, "day.0"+suffix); status != 0 {
			t.Fatal(out)
		}
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	packedAs[".gz"] = b.Bytes()
	for suffix, whole := range packedAs {
		dir := t.TempDir()
		name := "x.0" + suffix
		for _, change := range []func(b []byte) []byte{
			func(b []byte) []byte { return b[:len(b)/2] },
			func(b []byte) []byte { return b[:len(b)-1] },
			func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
			func([]byte) []byte { return nil },
		} {
			bad := change(slices.Clone(whole))
			if err := os.WriteFile(filepath.Join(dir, name), bad, 0o666); err != nil {
				t.Fatal(err)
			}
			status, out := call(t, DecompressCommand, dir, nil, name)
			if status == 0 && bytes.Equal(read(t, dir, "x.0"), plain) {
				// The change was in what the format does not need, such as a table behind the data.
				if err := os.Remove(filepath.Join(dir, "x.0")); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if status != 1 || names(t, dir) != name {
				t.Errorf("%s: status %d, %q: %s", name, status, out, names(t, dir))
			}
		}
	}
}
