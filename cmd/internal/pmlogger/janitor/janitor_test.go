package janitor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/columns"
)

// make1 writes an archive of some records, in volumes of some bytes, with a given time of change.
func make1(t *testing.T, base string, start int64, records int, changed time.Time) {
	t.Helper()
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{PID: int32(os.Getpid()), Host: "h"}, VolumeBytes: 30000})
	if err != nil {
		t.Fatal(err)
	}
	id := pcp.NewPMID(1, 2, 3)
	if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU64, InDom: pcp.InDomNull, Sem: pcp.SemCounter}, "a.metric"); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(start)))
	var res pcp.Result
	for i := range records {
		res.Reset()
		res.Time = pcp.Timestamp{Sec: start + int64(i)}
		res.AddSet(id)
		res.Add(pcp.Uint64Value(uint64(i)<<8 + random.Uint64N(256)))
		if err := w.WriteResult(&res); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := touch(base, changed); err != nil {
		t.Fatal(err)
	}
}

func touch(base string, at time.Time) error {
	list, err := filepath.Glob(base + ".*")
	for _, path := range list {
		err = errors.Join(err, os.Chtimes(path, at, at))
	}
	return err
}

// dump returns all values of an archive.
func dump(t *testing.T, base string) []uint64 {
	t.Helper()
	a, err := archive.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var list []uint64
	for rec, err := range a.Records(a.Label().Start, archive.Forward) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range rec.Sets {
			list = append(list, s.Values[0].Uint64())
		}
	}
	return list
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func nobody(*Archive) bool { return false }

func TestCompress(t *testing.T) {
	changed := time.Unix(1700000000, 0)
	for _, format := range []Format{Zstd, XZ} {
		if f, err := ParseFormat(format.String()); f != format || err != nil {
			t.Errorf("ParseFormat: %v, %v", f, err)
		}
		dir := t.TempDir()
		base := filepath.Join(dir, "20260101")
		make1(t, base, 1000, 2000, changed)
		want := dump(t, base)
		if err := os.Chmod(base+".0", 0o640); err != nil {
			t.Fatal(err)
		}
		list, err := List(dir)
		if err != nil || len(list) != 1 || len(list[0].Files) != 6 || !list[0].Time.Equal(changed) {
			t.Fatalf("List: %+v, %v", list, err)
		}
		before := list[0].Size
		// The last volume and the metadata of an archive being written stay.
		if made, err := CompressArchive(t.Context(), list[0], format, true); err != nil || len(made) != 3 {
			t.Errorf("%v: compressed %v, %v", format, made, err)
		}
		if got := dump(t, base); !slices.Equal(got, want) {
			t.Errorf("%v: %d values, want %d", format, len(got), len(want))
		}
		if list, err = List(dir); err != nil {
			t.Fatal(err)
		}
		if made, err := CompressArchive(t.Context(), list[0], format, false); err != nil || len(made) != 2 {
			t.Errorf("%v: then compressed %v, %v", format, made, err)
		}
		if got := dump(t, base); !slices.Equal(got, want) {
			t.Errorf("%v: %d values, want %d", format, len(got), len(want))
		}
		s := format.Suffix()
		if got := names(t, dir); !slices.Equal(got, []string{"20260101.0" + s, "20260101.1" + s, "20260101.2" + s, "20260101.3" + s, "20260101.index", "20260101.meta" + s}) {
			t.Errorf("%v: %v", format, got)
		}
		if list, err = List(dir); err != nil || list[0].Size >= before || !list[0].Time.Equal(changed) {
			t.Errorf("%v: %d bytes, changed %v, before %d, %v", format, list[0].Size, list[0].Time, before, err)
		}
		if fi, err := os.Stat(base + ".0" + s); err != nil || fi.Mode().Perm() != 0o640 {
			t.Errorf("%v: %v, %v", format, fi.Mode(), err)
		}
	}
}

// TestCompressRefuses checks the files that Compress must not touch.
func TestCompressRefuses(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	make1(t, base, 1000, 100, time.Unix(1700000000, 0))
	if err := os.Symlink(base+".0", base+".1"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := os.WriteFile(base+".meta.zst", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, ctx := range map[string]context.Context{base + ".1": t.Context(), base + ".meta": t.Context(), base + ".0": ctx, base + ".7": t.Context(), dir: t.Context()} {
		if to, err := Compress(ctx, path, Zstd); err == nil || to != "" || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %q, %v", path, to, err)
		}
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.0", "a.1", "a.index", "a.meta", "a.meta.zst"}) {
		t.Errorf("left: %v", got)
	}
}

func TestCull(t *testing.T) {
	now := time.Unix(1700000000, 0)
	day := 24 * time.Hour
	for _, test := range []struct {
		p    Policy
		want string // the remaining files
	}{
		{Policy{}, "a b c d"},
		{Policy{MaxAge: 2 * day}, "b c d"}, // b is written
		{Policy{MaxBytes: 1}, "b"},
		{Policy{MaxBytes: 3}, "b c d"}, // times the size of an archive
		{Policy{MaxBytes: 2}, "b d"},
		{Policy{MaxAge: 10 * day, MaxBytes: 4}, "a b c d"},
		{Policy{MaxAge: time.Nanosecond}, "b"},
	} {
		dir := t.TempDir()
		for i, name := range []string{"a", "b", "c", "d"} {
			make1(t, filepath.Join(dir, name), 1000, 100, now.Add(time.Duration(i-4)*day))
		}
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, "e.0")); err != nil {
			t.Skip(err)
		}
		list, err := List(dir)
		if err != nil || len(list) != 4 {
			t.Fatalf("%v, %v", list, err)
		}
		p := test.p
		if p.MaxBytes > 1 {
			p.MaxBytes *= list[0].Size
		}
		removed, err := Cull(dir, p, now, func(a *Archive) bool { return filepath.Base(a.Base) == "b" })
		if err != nil {
			t.Error(err)
		}
		if list, err = List(dir); err != nil || len(list)+len(removed) != 4 {
			t.Errorf("%+v: removed %v, left %v, %v", test.p, removed, list, err)
		}
		var left []string
		for _, a := range list {
			left = append(left, filepath.Base(a.Base))
		}
		if got := strings.Join(left, " "); got != test.want {
			t.Errorf("%+v: left %s, want %s", test.p, got, test.want)
		}
		if got := names(t, dir); len(got) != 3*len(left)+1 {
			t.Errorf("%+v: left %v", test.p, got)
		}
	}
}

// TestRecover interrupts Compress and Remove at each of their steps: the next run
// leaves an archive with all values, or none.
// TestCullColumns removes the columns of archives with them, and those whose archives are gone.
func TestCullColumns(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	base := filepath.Join(dir, "a")
	make1(t, base, 1000, 100, now.Add(-time.Hour))
	list, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := columns.Make(t.Context(), base, ""); err != nil {
		t.Fatal(err)
	}
	with, err := List(dir)
	if err != nil || len(with) != 1 || with[0].Size <= list[0].Size || len(with[0].Files) != len(list[0].Files) {
		t.Fatalf("%+v, %v: the size lacks the columns", with, err)
	}
	write := func(name string, changed time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	write(".gone.columns", now.Add(-2*time.Hour))
	write(".made.columns", now)
	write(".a.columns.1.tmp", now.Add(-2*time.Hour))
	check := func(want string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				got = append(got, e.Name())
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("left %q, want %s", got, want)
		}
	}
	if _, err := Cull(dir, Policy{}, now, nobody); err != nil {
		t.Fatal(err)
	}
	check(".a.columns .made.columns")
	if removed, err := Cull(dir, Policy{MaxBytes: 1}, now, nobody); err != nil || len(removed) != 1 {
		t.Fatal(removed, err)
	}
	check(".made.columns")
}

func TestRecover(t *testing.T) {
	changed := time.Unix(1700000000, 0)
	var want []uint64
	for _, format := range []Format{Zstd, XZ} {
		s := format.Suffix()
		packed := func(t *testing.T, path string) []byte {
			dir := t.TempDir()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copied := filepath.Join(dir, "a.0")
			if err := os.WriteFile(copied, b, 0o600); err != nil {
				t.Fatal(err)
			}
			to, err := Compress(t.Context(), copied, format)
			if err != nil {
				t.Fatal(err)
			}
			if b, err = os.ReadFile(to); err != nil {
				t.Fatal(err)
			}
			return b
		}
		write := func(t *testing.T, path string, b []byte) {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, stop := range map[string]func(t *testing.T, base string) (left string){
			"temporary": func(t *testing.T, base string) string {
				b := packed(t, base+".0")
				write(t, temporaryName(base+".0", s), b[:len(b)/2])
				return "a.0 a.index a.meta"
			},
			"renamed": func(t *testing.T, base string) string {
				write(t, base+".0"+s, packed(t, base+".0"))
				return "a.0" + s + " a.index a.meta"
			},
			"cut": func(t *testing.T, base string) string {
				b := packed(t, base+".0")
				write(t, base+".0"+s, b[:len(b)-7])
				return "a.0 a.index a.meta"
			},
			"empty": func(t *testing.T, base string) string {
				write(t, base+".0"+s, nil)
				return "a.0 a.index a.meta"
			},
			"expanding": func(t *testing.T, base string) string {
				write(t, base+".0"+s, packed(t, base+".0"))
				if err := os.Truncate(base+".0", 1000); err != nil {
					t.Fatal(err)
				}
				return "a.0" + s + " a.index a.meta"
			},
			"removing": func(t *testing.T, base string) string {
				if err := os.Rename(base+".meta", filepath.Join(filepath.Dir(base), "."+filepath.Base(base)+culled)); err != nil {
					t.Fatal(err)
				}
				return ""
			},
			"removed index": func(t *testing.T, base string) string {
				if err := errors.Join(os.Rename(base+".meta", filepath.Join(filepath.Dir(base), "."+filepath.Base(base)+culled)), os.Remove(base+".index")); err != nil {
					t.Fatal(err)
				}
				return ""
			},
			"killed": func(t *testing.T, base string) string {
				f, err := os.OpenFile(base+".meta", os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := f.Write([]byte{0, 0, 1, 0, 0, 0, 0, 1}); err != nil {
					t.Fatal(err)
				}
				return "a.0 a.index a.meta"
			},
			"begun": func(t *testing.T, base string) string {
				for _, suffix := range []string{".index", ".meta", ".0"} {
					write(t, base+"2"+suffix, nil)
				}
				return "a.0 a.index a.meta"
			},
			"just begun": func(t *testing.T, base string) string {
				write(t, base+"2.index", nil)
				return "a.0 a.index a.meta"
			},
			"strangers": func(t *testing.T, base string) string {
				write(t, filepath.Join(filepath.Dir(base), ".profile.janitor"), nil)
				return ".profile.janitor a.0 a.index a.meta"
			},
		} {
			t.Run(format.String()+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				base := filepath.Join(dir, "a")
				make1(t, base, 1000, 500, changed)
				if want == nil {
					want = dump(t, base)
				}
				left := stop(t, base)
				for range 2 {
					if err := Recover(t.Context(), dir, nobody, nil); err != nil {
						t.Error(err)
					}
					if got := strings.Join(names(t, dir), " "); got != left {
						t.Errorf("left %q, want %q", got, left)
					}
				}
				if left != "" && !slices.Equal(dump(t, base), want) {
					t.Error("values are lost")
				}
			})
		}
	}
}

// TestRecoverDamage checks that Recover keeps both of two contradictory files.
func TestRecoverDamage(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	make1(t, base, 1000, 500, time.Unix(1700000000, 0))
	good, err := os.ReadFile(base + ".0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compress(t.Context(), base+".0", Zstd); err != nil {
		t.Fatal(err)
	}
	good[len(good)/2] ^= 1
	if err := os.WriteFile(base+".0", good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Recover(t.Context(), dir, nobody, nil); err == nil || !strings.Contains(err.Error(), "both stay") {
		t.Errorf("Recover: %v", err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a.0", "a.0.zst", "a.index", "a.meta"}) {
		t.Errorf("left %v", got)
	}
}

// TestWritten checks that the archive of a Writer counts as written while it is open.
func TestWritten(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.Create(base, archive.WriterConfig{Label: archive.Label{PID: int32(os.Getpid()), Host: "h", Start: pcp.Timestamp{Sec: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Mark(pcp.Timestamp{Sec: 1001}), w.Flush()); err != nil {
		t.Fatal(err)
	}
	a := &Archive{Base: base, Files: []File{{Path: base + ".0"}}}
	if !Written(a) {
		t.Skip("no locks on this file system")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if Written(a) {
		t.Error("it is still written")
	}
	// An archive that another process writes, according to its label.
	other := filepath.Join(filepath.Dir(base), "b")
	w, err = archive.Create(other, archive.WriterConfig{Label: archive.Label{PID: int32(os.Getppid()), Host: "h", Start: pcp.Timestamp{Sec: 1000}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Mark(pcp.Timestamp{Sec: 1001}), w.Close()); err != nil {
		t.Fatal(err)
	}
	want := !canSee(os.Getppid())
	if got := Written(&Archive{Base: other, Files: []File{{Path: other + ".0"}}}); got != want {
		t.Errorf("of a process that does not have it open: %t, want %t", got, want)
	}
}

func canSee(pid int) bool {
	_, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return err == nil
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	if unlock, err = Lock(dir); err != nil {
		t.Error(err)
	} else {
		unlock()
	}
	if _, err := Lock(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

func TestMidnight(t *testing.T) {
	zone := time.FixedZone("east", 9*3600)
	for now, want := range map[string]string{
		"2026-03-01T14:59:59Z": "2026-03-02T00:00:00+09:00",
		"2026-03-01T15:00:00Z": "2026-03-03T00:00:00+09:00",
		"2026-12-31T12:00:00Z": "2027-01-01T00:00:00+09:00",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := midnight(at, zone).Format(time.RFC3339); got != want {
			t.Errorf("after %s: %s, want %s", now, got, want)
		}
	}
}

// TestClockSet sets the clock forward by a year: no archive is removed before there was time to correct it. Then it
// sets it back by a year: archives begin at the next midnight, and not in a year.
func TestClockSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	dir := t.TempDir()
	now, up := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), time.Duration(0)
	for i := range 3 {
		make1(t, filepath.Join(dir, fmt.Sprint(i)), 1000, 100, now.Add(-time.Duration(i)*24*time.Hour))
	}
	var log strings.Builder
	j, err := New(Config{
		Dir: dir, Policy: Policy{MaxAge: 7 * 24 * time.Hour}, NoCompress: true, Zone: time.UTC, Log: slog.New(slog.NewTextHandler(&log, nil)),
		now: func() time.Time { return now }, uptime: func() time.Duration { return up },
	})
	if err != nil {
		t.Fatal(err)
	}
	look := func(what string, passed, step time.Duration, want int) {
		t.Helper()
		now, up = now.Add(passed+step), up+passed
		j.Tidy(t.Context())
		if list, err := List(dir); err != nil || len(list) != want {
			t.Errorf("%s: %d archives are left, %v, want %d; %s", what, len(list), err, want, &log)
		}
	}
	look("at first", 0, 0, 3)
	look("the clock goes on", 24*time.Hour, 0, 3)
	look("the clock is set forward", time.Minute, year, 3)
	if !strings.Contains(log.String(), "the clock was set forward") {
		t.Errorf("log: %s", &log)
	}
	look("a little later", 59*time.Minute, 0, 3)
	look("the clock is set right", time.Second, -year, 3)
	look("they are old", 4*24*time.Hour+12*time.Hour, 0, 2)
	look("the clock is set forward, and stays so", time.Minute, year, 2)
	look("an hour later", time.Hour, 0, 0)

	j.next = midnight(now.Add(year), time.UTC)
	j.rotate(t.Context())
	if want := midnight(now, time.UTC); !j.next.Equal(want) {
		t.Errorf("after a step back the next archive begins at %v, want %v", j.next, want)
	}
}

// TestMakeRoom frees space on a full file system: only archives with a copy are removed, one at a time and the oldest first, and none before it
// is known which have one.
func TestMakeRoom(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		make1(t, filepath.Join(dir, fmt.Sprint("a", i)), 1000*int64(i+1), 3, time.Unix(1000*int64(i+1), 0))
	}
	ready := false
	var dropped []string
	cfg := Config{Dir: dir, NoCompress: true, Policy: Policy{
		Shipped: func(a *Archive) bool { return strings.HasSuffix(a.Base, "a1") || strings.HasSuffix(a.Base, "a2") },
		Ready:   func(string) bool { return ready },
		Dropped: func(a *Archive) { dropped = append(dropped, filepath.Base(a.Base)) },
	}}
	f := func(want ...string) {
		t.Helper()
		j, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		j.MakeRoom(t.Context())
		list, err := List(dir)
		if err != nil {
			t.Fatal(err)
		}
		var have []string
		for _, a := range list {
			have = append(have, filepath.Base(a.Base))
		}
		if !slices.Equal(have, want) {
			t.Errorf("%q are left, want %q", have, want)
		}
	}
	f("a0", "a1", "a2", "a3")
	cfg.Policy.MaxAge = time.Hour
	if removed, err := Cull(dir, cfg.Policy, time.Now(), nobody); err != nil || len(removed) > 0 {
		t.Errorf("%q were removed before it is known which are stored, %v", removed, err)
	}
	cfg.Policy.MaxAge = 0
	ready = true
	f("a0", "a2", "a3")
	f("a0", "a3")
	f("a0", "a3")
	cfg.MakeRoom = true
	f("a3")
	if !slices.Equal(dropped, []string{"a0"}) {
		t.Errorf("%q were removed without a copy", dropped)
	}
}
