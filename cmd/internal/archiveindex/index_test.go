package archiveindex

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
)

var (
	begin = time.Date(2026, 11, 27, 0, 10, 0, 0, time.UTC)
	sum   = strings.Repeat("0a", 32)
)

// sample returns an archive.
func sample(name string) Archive {
	return Archive{
		Name: name, Begin: begin, End: begin.Add(30 * time.Hour), Complete: true, Labels: map[string]string{"hostname": "www"},
		Files: []File{{Name: name + ".meta.zst", Size: 5, SHA256: sum}, {Name: name + ".0.zst", Size: 6, SHA256: sum, Begin: begin, End: begin.Add(time.Hour)}},
	}
}

// TestCodec encodes and decodes an index, and refuses wrong ones.
func TestCodec(t *testing.T) {
	d := &Day{Version: 1, Host: "www", Day: "20261127"}
	if !d.Put(sample("b")) || !d.Put(sample("a")) || d.Put(sample("a")) || d.Archives[0].Name != "a" || d.Drop("c") {
		t.Errorf("%+v", d)
	}
	b, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("%+v, %v", got, err)
	}
	for old, want := range map[string]string{
		`"version":1`: "version 2", `"20261127"`: "not a day", `"name":"b"`: "listed twice", `"b.0.zst"`: "name of a file",
		sum: "checksum", `"size":5`: "bytes", `"end":"2026-11-28T06`: "before it begins", `"host"`: "index of archives",
	} {
		with := map[string]string{
			`"version":1`: `"version":2`, `"20261127"`: `"20261132"`, `"name":"b"`: `"name":"a"`, `"b.0.zst"`: `"../b.0.zst"`,
			sum: "0a", `"size":5`: `"size":-1`, `"end":"2026-11-28T06`: `"end":"2025-11-28T06`, `"host"`: `"host`,
		}[old]
		if _, err := Decode(bytes.ReplaceAll(b, []byte(old), []byte(with))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", old, err)
		}
	}
}

// TestDays lists the days between times.
func TestDays(t *testing.T) {
	east := time.FixedZone("", 3*3600)
	for _, c := range []struct {
		begin, end time.Time
		want       string
	}{
		{begin, begin, "[20261127]"},
		{begin.In(east), begin.Add(24 * time.Hour), "[20261127 20261128]"},
		{begin.Add(-20 * time.Minute), begin.Add(48 * time.Hour), "[20261126 20261127 20261128 20261129]"},
		{begin.Add(time.Hour), begin, "[20261127]"},
	} {
		if got := fmt.Sprint(Days(c.begin, c.end)); got != c.want {
			t.Errorf("%v to %v: %s", c.begin, c.end, got)
		}
	}
	if n := len(Days(time.Time{}, begin)); n != maxDays {
		t.Errorf("%d days", n)
	}
}

// TestUpdate lets several writers add archives to the index of one day.
func TestUpdate(t *testing.T) {
	srv := objectstest.Start(t, false)
	for _, address := range []string{t.TempDir(), "s3://bucket/p/www"} {
		d, err := objects.OpenDir(address, func(name string) string {
			if strings.HasPrefix(name, "AWS") {
				return srv.Getenv(name)
			}
			return os.Getenv(name)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(t.Context(), d, "20261127"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
		var wg sync.WaitGroup
		for w := range 3 {
			wg.Go(func() {
				for i := range 5 {
					err := Update(t.Context(), d, "www", "20261127", func(day *Day) bool { return day.Put(sample(fmt.Sprint(w, "-", i))) })
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if day, _, err := Load(t.Context(), d, "20261127"); err != nil || len(day.Archives) != 15 {
			t.Errorf("%s: %+v, %v", address, day, err)
		}
	}
}

// FuzzIndex decodes indexes. Those that are accepted are the same when they are encoded and decoded again.
func FuzzIndex(f *testing.F) {
	d := &Day{Version: 1, Host: "www", Day: "20261127", Archives: []Archive{sample("a")}}
	b, err := d.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1,"day":"20261127","archives":[{"name":"..","files":null}]}`))
	f.Add([]byte(`{"version":1,"day":"20261127","archives":[{"name":"a","begin":"0000-01-01T00:00:00Z","end":"9999-12-31T23:59:59.999999999Z"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Decode(b)
		if err != nil {
			return
		}
		text, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if second, err := again.Encode(); err != nil || !bytes.Equal(text, second) {
			t.Errorf("%s, and %s, %v", text, second, err)
		}
	})
}
