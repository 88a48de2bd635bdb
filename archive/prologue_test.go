package archive_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestPrologueOracle has the real pmlogger write an archive, and compares its
// prologue and epilogue with ours byte by byte.
func TestPrologueOracle(t *testing.T) {
	oracle.Require(t)
	if oracle.Path("pmlogger") == "" {
		t.Skip("pmlogger is not installed")
	}
	d := oracle.StartPMCD(t, oracle.Config{})
	for _, version := range []int{archive.Version2, archive.Version3} {
		dir := t.TempDir()
		conf := filepath.Join(dir, "config")
		must(t, os.WriteFile(conf, []byte("log mandatory on once { pmcd.version }\n"), 0o666))
		out := d.Run(t, "pmlogger", "-c", conf, "-l", filepath.Join(dir, "log"), "-h", d.TCP, "-V", fmt.Sprint(version), "-s", "1", filepath.Join(dir, "c"))
		if out.Exit != 0 {
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("pmlogger: exit %d: %s%s%s", out.Exit, out.Stdout, out.Stderr, text)
		}
		a, err := archive.Open(filepath.Join(dir, "c"))
		must(t, err)
		defer a.Close()
		var bodies [][]byte
		var times []pcp.Timestamp
		var l archive.Logger
		r := a.NewReader()
		defer r.Close()
		for {
			res, err := r.Next()
			if err == io.EOF {
				break
			}
			must(t, err)
			if bodies == nil {
				if len(res.Sets) != 5 {
					t.Fatalf("prologue of %d metrics", len(res.Sets))
				}
				value := func(i int) pcp.Value { return res.Sets[i].Values[0] }
				l = archive.Logger{
					PID: value(0).Inst, Host: string(value(0).Bytes()), Port: uint32(value(1).Bits()),
					Archive: string(value(2).Bytes()), PMCDPID: value(3).Uint64(), SeqNum: uint32(value(4).Bits()),
				}
			}
			bodies, times = append(bodies, bytes.Clone(r.Body())), append(times, res.Time)
		}
		if l.PID != a.Label().PID || l.Archive != filepath.Join(dir, "c") {
			t.Errorf("prologue %+v", l)
		}
		w := create(t, archive.WriterConfig{Label: a.Label()})
		last := len(bodies) - 1
		must(t, w.WritePrologue(times[0], &l))
		must(t, w.WriteEpilogue(times[last], &l))
		must(t, w.Close())
		b, err := archive.Open(w.Path())
		must(t, err)
		defer b.Close()
		r = b.NewReader()
		defer r.Close()
		for _, want := range [][]byte{bodies[0], bodies[last]} {
			_, err := r.Next()
			must(t, err)
			if !bytes.Equal(r.Body(), want) {
				t.Errorf("version %d: record\n%q, of pmlogger\n%q", version, r.Body(), want)
			}
		}
		mine, c1, err := b.OpenMeta()
		must(t, err)
		defer c1.Close()
		theirs, c2, err := a.OpenMeta()
		must(t, err)
		defer c2.Close()
		for range 6 {
			_, err1 := mine.Next()
			_, err2 := theirs.Next()
			if err1 != nil || err2 != nil || !bytes.Equal(mine.Body(), theirs.Body()) {
				t.Errorf("version %d: metadata %v %v\n%q, of pmlogger\n%q", version, err1, err2, mine.Body(), theirs.Body())
			}
		}
		if got, want := b.Index()[0], a.Index()[0]; got != want {
			t.Errorf("first entry of the index %+v, of pmlogger %+v", got, want)
		}
	}
}
