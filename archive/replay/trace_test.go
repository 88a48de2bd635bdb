package replay

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/debugname"
)

// TestTrace checks the trace of a counter before, across and after a mark.
func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	w := writer(t, path, "cellar", 0, archive.Version2)
	put(t, w, 0, 10)
	put(t, w, 4, 50)
	must(t, w.Mark(at(5)))
	put(t, w, 9, 90)
	must(t, w.Close())

	var log bytes.Buffer
	trace := func(names ...string) string {
		log.Reset()
		l := debug.New(&log, names...)
		l.SetZone(time.UTC)
		s := open(t, path, Options{Options: archive.Options{Debug: l}})
		c := s.NewCursor()
		defer c.Close()
		from := at(2)
		must(t, c.SetMode(Interp, &from, 4*time.Second))
		var res pcp.Result
		for range 2 {
			must(t, c.Fetch(t.Context(), []pcp.PMID{counterID}, new(pcp.Profile), false, &res))
		}
		return regexp.MustCompile(`posn=\d+`).ReplaceAllString(log.String(), "posn=N")
	}
	if got := trace(debugname.LogMeta); regexp.MustCompile("Interp|bounds").MatchString(got) {
		t.Errorf("without interp it traces %s", got)
	}
	want := `__pmLogFetchInterp @ 22:13:22.000000000 t_req=2.000000 curvol=0 posn=N (vol=0) serial=0
do_roll: forw to t=0.000000
update_bounds: update: pmid 510.0.1: t_prior=0.000000 v=10 t_next=-1.000000 state=<undefined>
search forw: pmid 510.0.1: t_prior=0.000000 v=10 t_next=-1.000000 state=<undefined>
update_bounds: update+search: pmid 510.0.1: t_prior=0.000000 v=10 t_next=4.000000 state=<scanned> v=50
pmid 510.0.1 inst -1 prior: t=0.000000 v=10 next: t=4.000000 state=<scanned> v=50 t_first=-1.000000 t_last=-1.000000
__pmLogFetchInterp: log reads: forward 3 backwards 0
__pmLogFetchInterp @ 22:13:26.000000000 t_req=6.000000 curvol=0 posn=N (vol=0) serial=1
search forw: pmid 510.0.1: t_prior=0.000000 v=10 t_next=4.000000 state=<scanned> v=50
update_bounds: update: pmid 510.0.1: t_prior=4.000000 v=50 t_next=4.000000 state=<scanned> v=50
update_bounds: mark@prior: pmid 510.0.1: t_prior=5.000000 state=<mark> t_next=4.000000 state=<scanned> v=50
update_bounds: update+search: pmid 510.0.1: t_prior=5.000000 state=<mark> t_next=9.000000 state=<scanned> v=90
__pmLogFetchInterp: log reads: forward 3 backwards 0
`
	if got := trace(debugname.Interp); got != want {
		t.Errorf("it traces\n%s, want\n%s", got, want)
	}
}
