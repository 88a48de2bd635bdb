package archivecmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/internal/testing/testdir"
)

const start = 1700000000

// An option changes the archive that newArchive writes.
type option func(*archive.WriterConfig)

// newArchive writes an archive with a record per second, each with different instances,
// and returns its base name.
func newArchive(t testing.TB, version, records int, opts ...option) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "a")
	cfg := archive.WriterConfig{
		Label:      archive.Label{Version: version, PID: 42, Host: "here", TimeZone: "UTC", Start: pcp.Timestamp{Sec: start}},
		IndexBytes: 500,
	}
	for _, o := range opts {
		o(&cfg)
	}
	w, err := archive.Create(base, cfg)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	indom, first := pcp.NewInDom(60, 1), w.Label().Start
	a := pcp.Desc{PMID: pcp.NewPMID(60, 0, 1), Type: pcp.TypeU64, Sem: pcp.SemCounter, InDom: indom}
	b := pcp.Desc{PMID: pcp.NewPMID(60, 0, 2), Type: pcp.TypeString, Sem: pcp.SemDiscrete, InDom: pcp.InDomNull}
	check(w.Desc(a, "test.counter"))
	check(w.Desc(b, "test.text"))
	check(w.Text(pcp.TextOneLine|pcp.TextPMID, uint32(a.PMID), "a counter"))
	for i := range records {
		at := pcp.Timestamp{Sec: first.Sec + int64(i), Nsec: int32(i)*1000000 + 789}
		if version == archive.Version2 {
			at.Nsec -= 789
		}
		insts := []pcp.Instance{{Inst: 0, Name: "always"}}
		for k := range 5 {
			if (i+k)%3 != 0 {
				insts = append(insts, pcp.Instance{Inst: int32(k + 1), Name: fmt.Sprint("sometimes ", k)})
			}
		}
		check(w.InDom(at, indom, insts))
		res := &pcp.Result{Time: at}
		res.AddSet(a.PMID)
		for _, in := range insts {
			res.Add(pcp.Uint64Value(uint64(100 * i)).WithInst(in.Inst))
		}
		res.Sets[0].ValFmt = pcp.ValDPtr
		res.AddSet(b.PMID)
		res.Add(pcp.StringValue(strings.Repeat("x", i%9)))
		res.Sets[1].ValFmt = pcp.ValDPtr
		check(w.WriteResult(res))
	}
	check(w.Close())
	return base
}

// command runs "pcp archive".
func command(t testing.TB, args ...string) (out string, status int) {
	t.Helper()
	var b bytes.Buffer
	status = Command.Run(context.Background(), &cli.Env{
		Name: "pcp archive", Args: args, Stdout: &b, Stderr: &b, Command: Command,
		Getenv: func(name string) string { return map[string]string{"TZ": "UTC"}[name] },
	})
	return b.String(), status
}

// must is command for calls that must succeed.
func must(t testing.TB, args ...string) string {
	t.Helper()
	out, status := command(t, args...)
	if status != 0 {
		t.Fatalf("%q exits with %d: %s", args, status, out)
	}
	return out
}

// text returns the contents of an archive regardless of their encoding, with times to the
// microsecond.
func text(t testing.TB, base string) string {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var b strings.Builder
	l := a.Label()
	fmt.Fprintln(&b, l.PID, l.Host, l.TimeZone, l.Start)
	m := a.Meta()
	clock := func(t pcp.Timestamp) string { return fmt.Sprintf("%d.%06d", t.Sec, t.Nsec/1000) }
	for _, d := range m.Descs() {
		fmt.Fprintf(&b, "%+v %q\n", d, m.Names(d.PMID))
	}
	fmt.Fprintf(&b, "%+v\n", m.Texts())
	for _, indom := range m.InDoms() {
		for rec := range m.History(indom) {
			fmt.Fprintln(&b, indom, clock(rec.Time), rec.Instances)
		}
	}
	for res, err := range a.Records(pcp.Timestamp{}, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, clock(res.Time))
		for _, set := range res.Sets {
			for _, v := range set.Values {
				fmt.Fprintf(&b, "  %s %d %d %q\n", set.PMID, v.Inst, v.Bits(), v.Bytes())
			}
		}
	}
	return b.String()
}

func TestList(t *testing.T) {
	base := newArchive(t, archive.Version3, 3)
	dir := filepath.Dir(base)
	must(t, "convert", "-z", "xz", base, filepath.Join(dir, "b"))
	must(t, "convert", "-V", "2", "-s", "4K", base, filepath.Join(dir, "c"))
	for name, data := range map[string]string{"d.meta": "nonsense", "e.0": "nonsense", "d.0": "nonsense", "photo.2023": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(base+".0", 1000); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(must(t, "ls", dir), dir+"/", "")
	lines := strings.Split(strings.TrimSpace(got), "\n")
	for i := range lines {
		f := strings.Fields(lines[i])
		if len(f) > 8 && i > 0 && i < 4 {
			f[8] = "SIZE" // depends on the compression
		}
		lines[i] = strings.Join(f, " ")
	}
	want := []string{
		"ARCHIVE HOST START END VER VOLS SIZE COMPRESSED DAMAGE",
		"a here 2023-11-14 22:13:20 2023-11-14 22:13:20 3 1 SIZE - the last volume is cut",
		"b here 2023-11-14 22:13:20 2023-11-14 22:13:22 3 1 SIZE xz -",
		"c here 2023-11-14 22:13:20 2023-11-14 22:13:22 2 1 SIZE - -",
		"d - - - - 1 16 - Illegal label record at start of a PCP archive log file",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("ls: -want +got\n%s", diff)
	}
	var e entry
	if err := json.Unmarshal([]byte(must(t, "ls", "--json", filepath.Join(dir, "b"))), &e); err != nil || e.Host != "here" || e.Compressed != "xz" || e.Start != "2023-11-14T22:13:20Z" {
		t.Errorf("ls --json: %+v, %v", e, err)
	}
	if out, status := command(t, "ls", filepath.Join(dir, "nosuch")); status != 1 || !strings.Contains(out, "No such file") {
		t.Errorf("ls nosuch: %d %s", status, out)
	}
}

func TestVerify(t *testing.T) {
	base := newArchive(t, archive.Version2, 20)
	if got, want := must(t, "verify", base), base+": whole, 20 records\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	size, err := archive.FileSize(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(base+".0", size-3); err != nil {
		t.Fatal(err)
	}
	out, status := command(t, "verify", filepath.Dir(base))
	if status != 1 || !strings.Contains(out, base+".0: offset ") || !strings.Contains(out, "DAMAGED") {
		t.Errorf("cut: %d %s", status, out)
	}
	out, status = command(t, "verify", "--json", base)
	if status != 1 {
		t.Errorf("--json exits with %d", status)
	}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	if out, status := command(t, "verify", "-q", base); status != 1 || out != "" {
		t.Errorf("-q: %d %q", status, out)
	}
	if out, status := command(t, "verify", base+"x"); status != 2 {
		t.Errorf("nothing there: %d %s", status, out)
	}
	if out, status := command(t, "verify"); status != 2 {
		t.Errorf("no arguments: %d %s", status, out)
	}
}

// TestConvert converts to all formats and back.
func TestConvert(t *testing.T) {
	for _, version := range []int{2, 3} {
		base := newArchive(t, version, 300)
		want := text(t, base)
		other := fmt.Sprint(5 - version)
		for i, args := range [][]string{
			{"-z", "xz"},
			{"-z", "zst"},
			{"-z", "gz"},
			{"-z", "none"},
			{"-s", "4096"},
			{"-s", "8k", "-z", "gz"},
			{"-V", other},
			{"-V", other, "-z", "zst", "-s", "4K"},
			{"-V", fmt.Sprint(version)},
		} {
			if version == 3 && i > 0 && i < 6 {
				continue // there is nothing in it about versions
			}
			to := fmt.Sprint(base, i)
			must(t, append(append([]string{"convert"}, args...), base, to)...)
			if diff := cmp.Diff(want, text(t, to)); diff != "" {
				t.Errorf("version %d, %q: %s", version, args, diff)
			}
			if out, status := command(t, "verify", to); status != 0 {
				t.Errorf("version %d, %q: %s", version, args, out)
			}
			back := fmt.Sprint(base, i, "b")
			must(t, "convert", "-V", fmt.Sprint(version), to, back)
			if diff := cmp.Diff(want, text(t, back)); diff != "" {
				t.Errorf("version %d, %q and back: %s", version, args, diff)
			}
		}
		left, _ := filepath.Glob(filepath.Join(filepath.Dir(base), ".pcp*"))
		if len(left) > 0 {
			t.Errorf("left over: %q", left)
		}
		if set, err := archive.FindFiles(base + "7"); err != nil || len(set.Volumes) < 3 {
			t.Errorf("-s 4K: %+v, %v", set, err)
		}
		before := testdir.Contents(t, filepath.Dir(base))
		if out, status := command(t, "convert", base, base+"7"); status != 1 || !strings.Contains(out, "exist") {
			t.Errorf("over another archive: %d %s", status, out)
		}
		if diff := cmp.Diff(before, testdir.Contents(t, filepath.Dir(base))); diff != "" {
			t.Error(diff)
		}
	}
}

// TestNoFit tries contents that version 2 cannot represent.
func TestNoFit(t *testing.T) {
	for what, o := range map[string]option{
		"2040":      func(c *archive.WriterConfig) { c.Label.Start = pcp.Timestamp{Sec: 2210000000} },
		"host name": func(c *archive.WriterConfig) { c.Label.Host = strings.Repeat("h", 70) },
		"time zone": func(c *archive.WriterConfig) { c.Label.TimeZone = strings.Repeat("z", 50) },
		"features":  func(c *archive.WriterConfig) { c.Label.Features = archive.FeatureQA },
	} {
		base := newArchive(t, 3, 2, o)
		out, status := command(t, "convert", "-V", "2", base, base+"2")
		if status != 1 || !strings.Contains(out, what) || !strings.Contains(out, "does not fit into version 2") {
			t.Errorf("%s: %d %s", what, status, out)
		}
		if _, err := archive.FindFiles(base + "2"); err == nil {
			t.Errorf("%s: there is an archive", what)
		}
	}
	base := newArchive(t, 3, 4, func(c *archive.WriterConfig) { c.Label.ZoneInfo = ":Europe/Berlin" })
	want := base + "2: 8 times were cut to microseconds\n" + base + "2: the name of the time zone has no place in version 2\n"
	if got := must(t, "convert", "-V", "2", base, base+"2"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRepair damages an archive in several ways, and checks the repaired archive.
// Package archives/internal/repair tests the details of the loss.
func TestRepair(t *testing.T) {
	write := func(path string, off int64, data string) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt([]byte(data), off); err != nil {
			t.Fatal(err)
		}
	}
	cut := func(path string, n int64) {
		size, err := archive.FileSize(path)
		if err == nil {
			err = os.Truncate(path, size-n)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		damage  func(base string)
		records [2]int // at least and at most, with marks
		status  int
		note    string
	}{
		{"no index", func(b string) { os.Remove(b + ".index") }, [2]int{100, 100}, 0, "index: missing; it is created again"},
		{"bad index", func(b string) { write(b+".index", 820, "nonsense") }, [2]int{100, 100}, 0, "100 records kept, 0 marks added\n"},
		{"cut volume", func(b string) { cut(b+".0", 7) }, [2]int{99, 99}, 1, "bytes dropped: a record of"},
		{"cut metadata", func(b string) { cut(b+".meta", 7) }, [2]int{100, 100}, 1, ".meta: offset"},
		{"bad label", func(b string) { write(b+".0", 4, "nonsense") }, [2]int{100, 100}, 0, ".0: offset 0: the label is damaged and created again"},
		{"hole", func(b string) { write(b+".0", 5000, strings.Repeat("?", 300)) }, [2]int{96, 99}, 1, "1 marks added, losses: 1\n"},
		{"bad length in the metadata", func(b string) { write(b+".meta", 1200, "????????") }, [2]int{100, 100}, 1, "dropped"},
	} {
		base := newArchive(t, 3, 100)
		tt.damage(base)
		before := testdir.Contents(t, filepath.Dir(base))
		out, status := command(t, "repair", base, base+"r")
		if status != tt.status || !strings.Contains(out, tt.note) {
			t.Errorf("%s: status %d, want %d; no %q in %s", tt.name, status, tt.status, tt.note, out)
		}
		after := testdir.Contents(t, filepath.Dir(base))
		for name, data := range before {
			if after[name] != data {
				t.Errorf("%s: %s is not what it was", tt.name, name)
			}
		}
		if out, status := command(t, "verify", base+"r"); status != 0 {
			t.Errorf("%s: after repair: %s", tt.name, out)
		}
		n := 0
		a, err := archive.Open(base + "r")
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range a.Records(pcp.Timestamp{}, archive.Forward) {
			if n++; err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		a.Close()
		if n < tt.records[0] || n > tt.records[1] {
			t.Errorf("%s: %d records left, want %v", tt.name, n, tt.records)
		}

		// JSON output has the same list, with the total loss at the end.
		out, status = command(t, "repair", "--json", base, base+"j")
		if status != tt.status {
			t.Errorf("%s: --json exits with %d", tt.name, status)
		}
		lines, losses := strings.Split(strings.TrimSpace(out), "\n"), 0
		for _, line := range lines[:len(lines)-1] {
			var d dropped
			if err := json.Unmarshal([]byte(line), &d); err != nil || d.File == "" || d.Reason == "" {
				t.Errorf("%s: %s: %v", tt.name, line, err)
			}
			if d.Lost {
				losses++
			}
		}
		var sum repaired
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil || sum.Archive != base+"j" || sum.Records+sum.Marks != n || sum.Drops != losses {
			t.Errorf("%s: %d records, %d losses; %s: %v", tt.name, n, losses, lines[len(lines)-1], err)
		}

		// A repair in place has the same result, and renames the damaged files.
		if out, status := command(t, "repair", "-q", "-i", base); status != tt.status || out != "" {
			t.Errorf("%s: -q -i: %d %s", tt.name, status, out)
		}
		if text(t, base) != text(t, base+"r") {
			t.Errorf("%s: in place it is another archive", tt.name)
		}
		after = testdir.Contents(t, filepath.Dir(base))
		for name, data := range before {
			if after[strings.Replace(name, "a.", "a.damaged.", 1)] != data {
				t.Errorf("%s: %s has no copy", tt.name, name)
			}
		}
		if out := must(t, "repair", "-i", base); !strings.Contains(out, "nothing to repair") {
			t.Errorf("%s: a second time: %s", tt.name, out)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(base), ".pcp*")); len(left) > 0 {
			t.Errorf("%s: left over: %q", tt.name, left)
		}
	}
}

// TestRepairStops checks that an interrupted repair leaves no files.
func TestRepairStops(t *testing.T) {
	base := newArchive(t, 3, 100)
	if err := os.Truncate(base+".0", 3000); err != nil {
		t.Fatal(err)
	}
	before := testdir.Contents(t, filepath.Dir(base))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{base, base + "r"}, {"-i", base}} {
		var b bytes.Buffer
		status := repairCommand.Run(ctx, &cli.Env{
			Name: "pcp archive repair", Args: args, Stdout: &b, Stderr: &b, Command: repairCommand,
			Getenv: func(string) string { return "" },
		})
		if status != 2 || !strings.Contains(b.String(), "canceled") {
			t.Errorf("%q: %d %s", args, status, b.String())
		}
		if diff := cmp.Diff(before, testdir.Contents(t, filepath.Dir(base))); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
}

// TestRepairKilled kills repairs at any moment. The damaged archive still exists, by
// its name or as NAME.damaged; a new archive is complete or does not exist.
func TestRepairKilled(t *testing.T) {
	if args := os.Getenv("PCP_TEST_REPAIR"); args != "" {
		_, status := command(t, append([]string{"repair"}, strings.Split(args, "\n")...)...)
		os.Exit(status)
	}
	killed := 0
	for i := range longtest.N(20, 200) {
		base := newArchive(t, 3, 400)
		if err := os.Truncate(base+".0", 60001); err != nil {
			t.Fatal(err)
		}
		before := testdir.Contents(t, filepath.Dir(base))
		args := []string{base, base + "r"}
		if i%2 == 1 {
			args = []string{"-i", base}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestRepairKilled$")
		cmd.Env = append(os.Environ(), "PCP_TEST_REPAIR="+strings.Join(args, "\n"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// As soon as it writes, then a little later each time.
		for range 2000 {
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(base), ".pcp-repair-*")); len(left) > 0 {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Duration(i/2*300) * time.Microsecond)
		cmd.Process.Kill()
		if await.Exit(t, cmd); cmd.ProcessState.ExitCode() != 1 {
			killed++
		}
		after := testdir.Contents(t, filepath.Dir(base))
		for _, name := range []string{"a.0", "a.index", "a.meta"} {
			if after[name] != before[name] && after[strings.Replace(name, "a.", "a.damaged.", 1)] != before[name] {
				t.Errorf("%d: %s of the damaged archive is gone", i, name)
			}
		}
		if _, err := archive.FindFiles(base + "r"); err == nil && i%2 == 0 {
			if out, status := command(t, "verify", base+"r"); status != 0 {
				t.Errorf("%d: half an archive: %s", i, out)
			}
		}
	}
	t.Logf("%d were killed", killed)
	if killed == 0 {
		t.Error("none was killed in time")
	}
}

// TestRepairRefuses tries impossible repairs.
func TestRepairRefuses(t *testing.T) {
	base := newArchive(t, 2, 3)
	if err := os.WriteFile(base+"x.0.gz", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := testdir.Contents(t, filepath.Dir(base))
	for _, args := range [][]string{{base}, {base, base}, {base, base + "x"}, {base + "y", base + "z"}, {base, base + "/no/dir"}} {
		if out, status := command(t, append([]string{"repair"}, args...)...); status != 2 {
			t.Errorf("%q: %d %s", args, status, out)
		}
		if diff := cmp.Diff(before, testdir.Contents(t, filepath.Dir(base))); diff != "" {
			t.Errorf("%q: %s", args, diff)
		}
	}
	if err := os.Truncate(base+".0", 140); err != nil {
		t.Fatal(err)
	}
	before = testdir.Contents(t, filepath.Dir(base))
	if out, status := command(t, "repair", base, base+"n"); status != 2 || !strings.Contains(out, "no record can be saved") {
		t.Errorf("nothing left: %d %s", status, out)
	}
	if diff := cmp.Diff(before, testdir.Contents(t, filepath.Dir(base))); diff != "" {
		t.Errorf("nothing left: %s", diff)
	}
}

func TestArguments(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 1, "Usage: pcp archive ls | verify"},
		{[]string{"frobnicate"}, 1, "unknown command"},
		{[]string{"convert", "-V", "7", "a", "b"}, 1, "neither 2 nor 3"},
		{[]string{"convert", "-z", "zip", "a", "b"}, 1, "not xz, zst"},
		{[]string{"convert", "-s", "", "a", "b"}, 1, "no number of bytes"},
		{[]string{"convert", "-s", "9999999999G", "a", "b"}, 1, "no number of bytes"},
		{[]string{"convert", "-s", "12", "a", "b"}, 1, "no number of bytes"},
		{[]string{"convert", "/nosuch/a", "/nosuch/b"}, 1, "o such file"},
		{[]string{"ls", "--what"}, 1, "what"},
		{[]string{"ls", "-?"}, 0, "Usage: pcp archive ls"},
	} {
		if out, status := command(t, tt.args...); !strings.Contains(out, tt.want) {
			t.Errorf("%q: %d %s", tt.args, status, out)
		}
	}
}

// TestOnce checks that the files of one archive count as one archive.
func TestOnce(t *testing.T) {
	base := newArchive(t, 3, 10)
	for _, sub := range []string{"verify", "ls"} {
		out := must(t, sub, base+".0", base+".meta", base+".index", base)
		if n := strings.Count(out, filepath.Base(base)); n != 1 {
			t.Errorf("%s names the archive %d times:\n%s", sub, n, out)
		}
	}
	if out := must(t, "ls", t.TempDir()); !strings.Contains(out, "no archives in ") {
		t.Errorf("ls of an empty directory: %q", out)
	}
}

// TestHosts checks a recorder's directory, which has a subdirectory for each host.
func TestHosts(t *testing.T) {
	base := newArchive(t, 3, 10)
	host := filepath.Dir(base)
	for _, sub := range []string{"ls", "verify"} {
		if out := must(t, sub, filepath.Dir(host)); !strings.Contains(out, base) {
			t.Errorf("%s of the directory above does not name %s:\n%s", sub, base, out)
		}
	}
}

// TestNotMine checks that an archive without read permission is not reported as damaged.
func TestNotMine(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may read everything")
	}
	base := newArchive(t, 3, 10)
	if err := os.Chmod(base+".meta", 0); err != nil {
		t.Fatal(err)
	}
	out, status := command(t, "verify", base)
	if status != 2 || !strings.Contains(out, "may not read") || strings.Contains(out, "repair") {
		t.Errorf("exits with %d, says %q", status, out)
	}
}
