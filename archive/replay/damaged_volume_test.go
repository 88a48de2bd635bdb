package replay

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
)

// TestInterpolateDamagedVolume interpolates over a volume whose label is wrong: an
// error when it is reached, in both directions, instead of no values from there on.
func TestInterpolateDamagedVolume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := writer(t, path, "h", 0, 3)
	for i := range 30 {
		if i > 0 && i%10 == 0 {
			must(t, w.NewVolume())
		}
		put(t, w, float64(i), i)
	}
	must(t, w.Close())
	b, err := os.ReadFile(path + ".1")
	must(t, err)
	b[4] ^= 0x55 // the magic number
	must(t, os.WriteFile(path+".1", b, 0o600))
	s := open(t, path, Options{})
	defer s.Close()
	for _, step := range []time.Duration{300 * time.Millisecond, -300 * time.Millisecond} {
		c := s.NewCursor()
		when := at(0)
		if step < 0 {
			when = at(29)
		}
		must(t, c.SetMode(Interp, &when, step))
		var res pcp.Result
		values := 0
		for err = nil; err == nil && values < 200; values++ {
			err = c.Fetch(context.Background(), []pcp.PMID{instantID}, nil, false, &res)
			if err == nil && len(res.Sets[0].Values) == 0 {
				t.Errorf("step %v: no value and no error at %v", step, res.Time)
			}
		}
		if errors.Is(err, io.EOF) || !errors.Is(err, pcp.ErrLabel) || values < 25 {
			t.Errorf("step %v: %v after %d fetches", step, err, values)
		}
		c.Close()
	}
}
