package archive_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// TestWriteFramed checks that records with room for their length words make the same files as
// results, short and long ones, across volumes.
func TestWriteFramed(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		dir := t.TempDir()
		cfg := archive.WriterConfig{Label: archive.Label{Host: "h", Version: version, PID: 1}, VolumeBytes: 300_000}
		plain, err := archive.Create(filepath.Join(dir, "plain"), cfg)
		if err != nil {
			t.Fatal(err)
		}
		framed, err := archive.Create(filepath.Join(dir, "framed"), cfg)
		if err != nil {
			t.Fatal(err)
		}
		id, indom := pcp.NewPMID(60, 1, 2), pcp.NewInDom(60, 1)
		for i := range 40 {
			at := pcp.Timestamp{Sec: 1_700_000_000 + int64(i)}
			res := &pcp.Result{Time: at}
			res.AddSet(id)
			for j := range int32(1 + i%4*2500) {
				res.Add(pcp.Uint64Value(uint64(i) * uint64(j)).WithInst(j))
			}
			for _, w := range []*archive.Writer{plain, framed} {
				if i%5 == 0 {
					list := []pcp.Instance{{Inst: int32(i), Name: "one"}}
					if err := w.InDom(at, indom, list); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := plain.WriteResult(res); err != nil {
				t.Fatal(err)
			}
			b, err := archive.AppendResult(make([]byte, 4), res, version)
			if err != nil {
				t.Fatal(err)
			}
			if err := framed.WriteFramed(at, append(b, 0, 0, 0, 0)); err != nil {
				t.Fatal(err)
			}
			if i%3 == 0 {
				if err := framed.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := framed.WriteFramed(pcp.Timestamp{Sec: 1}, make([]byte, 8)); err == nil {
			t.Error("a record without a head is accepted")
		}
		if err := plain.Close(); err != nil {
			t.Fatal(err)
		}
		if err := framed.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := archive.FindFiles(filepath.Join(dir, "plain"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files.All()) < 5 {
			t.Errorf("%d files, want some volumes", len(files.All()))
		}
		for _, path := range files.All() {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, "framed"+filepath.Ext(path)))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("version %d: %s differs, %v", version, filepath.Ext(path), err)
			}
		}
	}
}
