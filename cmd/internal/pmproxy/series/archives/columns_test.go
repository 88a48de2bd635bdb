package archives_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/columns"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/archives"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
	"github.com/go-pcp/pcp/internal/testing/await"
)

// blocks returns the number of blocks and of all samples of a series, with those in blocks.
func blocks(t *testing.T, s series.Store, id sid.ID) (n, samples int) {
	t.Helper()
	for sample, err := range s.Sweep(context.Background(), []sid.ID{id}, pcp.Timestamp{}, pcp.Timestamp{}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case sample.Block != nil:
			n++
			sample.Block.Samples(id, func(*series.Sample, error) bool { samples++; return true })
		case !sample.Gap:
			samples++
		}
	}
	return n, samples
}

// age makes the files of a directory older.
func age(t *testing.T, dir string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if err := os.Chtimes(filepath.Join(dir, f.Name()), time.Time{}, time.Now().Add(-3*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMakeColumns has the columns of a finished archive made at its first use, and removed after it is gone.
func TestMakeColumns(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	base := filepath.Join(dir, "old")
	record(t, base, "www", 1000).add(20).close()
	age(t, dir)
	record(t, filepath.Join(dir, "new"), "www", 2000).add(20).close()
	s := open(t, archives.Config{Dirs: []string{dir}, Columns: archives.MakeColumns, ColumnsDir: cache})
	id := named(t, s, "kernel.all.load")
	if n, samples := blocks(t, s, id); n != 0 || samples != 40 {
		t.Errorf("%d blocks, %d samples at first", n, samples)
	}
	await.Until(t, "the columns are made", func() bool { return columns.Valid(base, "") })
	if n, samples := blocks(t, s, id); n != 1 || samples != 40 {
		t.Errorf("%d blocks, %d samples", n, samples)
	}
	if columns.Valid(filepath.Join(dir, "new"), "") {
		t.Error("an archive that may grow has columns")
	}
	off := open(t, archives.Config{Dirs: []string{dir}, Columns: archives.NoColumns})
	if n, samples := blocks(t, off, id); n != 0 || samples != 40 {
		t.Errorf("%d blocks, %d samples without columns", n, samples)
	}

	age(t, dir)
	for _, end := range []string{".0", ".meta", ".index"} {
		if err := os.Remove(base + end); err != nil {
			t.Fatal(err)
		}
	}
	gc(t, s)
	if _, err := os.Stat(columns.Path(base)); !os.IsNotExist(err) {
		t.Errorf("the columns of an archive that is gone: %v", err)
	}
}

// TestValuesOfColumns compares Values of archives with and without columns.
func TestValuesOfColumns(t *testing.T) {
	dir := t.TempDir()
	for i, start := range []int64{1000, 2005, 2300} {
		base := filepath.Join(dir, strconv.Itoa(i))
		r := record(t, base, "www", start).add(50)
		if err := r.w.Mark(pcp.Timestamp{Sec: start + 495}); err != nil {
			t.Fatal(err)
		}
		r.add(50).close()
		if err := columns.Make(context.Background(), base, ""); err != nil {
			t.Fatal(err)
		}
	}
	plain, fast := open(t, archives.Config{Dirs: []string{dir}, Columns: archives.NoColumns}), open(t, archives.Config{Dirs: []string{dir}})
	values := func(s series.Store, ids []sid.ID, w series.Window) (list []string) {
		t.Helper()
		for sample, err := range s.Values(context.Background(), ids, w) {
			if err != nil {
				t.Fatal(err)
			}
			m, err := s.Metric(context.Background(), sample.Series)
			if err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprint(sample.Series, sample.Time, sample.Err, sample.Gap, sample.Block)
			for _, v := range sample.Values {
				text += fmt.Sprintf(" %v %d %s", v.Instance, v.Value.Inst, series.AppendValue(nil, v.Value, m.Desc.Type))
			}
			list = append(list, text)
		}
		return list
	}
	ids := []sid.ID{named(t, plain, "kernel.all.load"), named(t, plain, "hinv.ncpu"), named(t, plain, "app.state")}
	at := func(sec int64, nsec int32) pcp.Timestamp { return pcp.Timestamp{Sec: sec, Nsec: nsec} }
	for _, w := range []series.Window{
		{},
		{Start: at(1100, 0), End: at(2500, 0)},
		{Start: at(1100, 123_456_000), End: at(1200, 123_456_000)},
		{Start: at(1100, 123_457_000), End: at(1200, 123_455_000)},
		{Start: at(1005, 0), Count: 7},
		{Interval: time.Minute},
		{Start: at(900, 0), End: at(3000, 0), Interval: 45 * time.Second},
		{Start: at(1200, 0), Interval: 3 * time.Minute, Count: 4},
		{Interval: time.Second, Count: 1},
		{Newest: true, Count: 5},
		{Start: at(9000, 0)},
	} {
		if got, want := values(fast, ids, w), values(plain, ids, w); !slices.Equal(got, want) {
			t.Errorf("%+v:\n%q\nwant\n%q", w, got, want)
		}
	}
	n := 0
	for range fast.Values(context.Background(), ids, series.Window{}) {
		if n++; n == 3 {
			break
		}
	}
	for _, sample := range []series.Window{{}, {Interval: time.Minute}} {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, err := range fast.Values(ctx, ids, sample) {
			if err == nil {
				t.Error("values after the context is done")
			}
		}
	}
}

// TestColumnsDir makes columns of archives in a directory that is not writable.
func TestColumnsDir(t *testing.T) {
	if os.Getuid() == 0 {
		// Root may write everywhere, so the columns are where they would be made.
		dir, cache := t.TempDir(), t.TempDir()
		base := filepath.Join(dir, "a")
		record(t, base, "www", 1000).add(20).close()
		s := open(t, archives.Config{Dirs: []string{dir}, Columns: archives.MakeColumns, ColumnsDir: cache})
		at := s.ColumnsPaths(base)[1]
		if err := columns.Make(context.Background(), base, at); err != nil {
			t.Fatal(err)
		}
		id := named(t, s, "kernel.all.load")
		if n, samples := blocks(t, s, id); n != 1 || samples != 20 {
			t.Errorf("%d blocks, %d samples", n, samples)
		}
		age(t, cache)
		gc(t, s)
		if !columns.Valid(base, at) {
			t.Error("the columns of an archive were removed")
		}
		if err := os.Remove(base + ".meta"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(base + ".0"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(base + ".index"); err != nil {
			t.Fatal(err)
		}
		gc(t, s)
		if _, err := os.Stat(at); !os.IsNotExist(err) {
			t.Errorf("the columns of an archive that is gone: %v", err)
		}
		return
	}
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	record(t, filepath.Join(dir, "a"), "www", 1000).add(20).close()
	age(t, dir)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	s := open(t, archives.Config{Dirs: []string{dir}, Columns: archives.MakeColumns, ColumnsDir: cache})
	id := named(t, s, "kernel.all.load")
	await.Until(t, "the columns are made", func() bool {
		n, _ := blocks(t, s, id)
		return n == 1
	})
}

// TestDamagedColumns reads the archive instead, and logs the damage once.
func TestDamagedColumns(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "a")
	record(t, base, "www", 1000).add(20).close()
	if err := columns.Make(context.Background(), base, ""); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(columns.Path(base))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 7 {
		bad := bytes.Clone(good)
		bad[at] ^= 4
		if err := os.WriteFile(columns.Path(base), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		s := open(t, archives.Config{Dirs: []string{dir}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		id := named(t, s, "kernel.all.load")
		for range 2 {
			if _, samples := blocks(t, s, id); samples != 20 {
				t.Fatalf("byte %d: %d samples", at, samples)
			}
		}
		if n := strings.Count(log.String(), "the columns of an archive cannot be used"); n > 1 {
			t.Errorf("byte %d: logged %d times: %s", at, n, log.String())
		}
		if at == 0 && !strings.Contains(log.String(), columns.Path(base)) {
			t.Errorf("the log does not name the file: %s", log.String())
		}
	}
}
