package archive_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/testing/longtest"
)

// A tally counts records, and those that differ after decoding and encoding.
type tally struct {
	records, meta int
	odd           map[string]int
}

func (n *tally) differs(a *archive.Archive) {
	if n.odd == nil {
		n.odd = make(map[string]int)
	}
	n.odd[filepath.Base(a.Path())]++
}

// reencode decodes and encodes all readable records of an archive.
func reencode(t *testing.T, a *archive.Archive, n *tally) {
	t.Helper()
	var b []byte
	r := a.NewReader()
	defer r.Close()
	for {
		res, err := r.Next()
		if err != nil {
			break
		}
		n.records++
		b, err = archive.AppendResult(b[:0], res, a.Version())
		if err != nil {
			t.Errorf("%s: record of %v: %v", a.Path(), res.Time, err)
		} else if !bytes.Equal(b, r.Body()) {
			n.differs(a)
			// It must still decode to the same contents.
			var again pcp.Result
			if err := archive.DecodeResult(&again, b, a.Version()); err != nil {
				t.Errorf("%s: record of %v: encoded anew: %v", a.Path(), res.Time, err)
			} else if diff := cmp.Diff(res, &again, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.IgnoreFields(pcp.Result{}, "values")); diff != "" {
				t.Errorf("%s: record of %v: encoded anew it is another:\n%s", a.Path(), res.Time, diff)
			}
		}
	}
	mr, closer, err := a.OpenMeta()
	must(t, err)
	defer closer.Close()
	for {
		rec, err := mr.Next()
		if err != nil {
			break
		}
		n.meta++
		b, err = archive.AppendMeta(b[:0], rec, a.Version())
		if err != nil {
			t.Errorf("%s: metadata at %d: %v", a.Path(), rec.Offset, err)
		} else if !bytes.Equal(b, mr.Body()) {
			n.differs(a)
		}
	}
}

// TestRoundTrip decodes and encodes a generated archive and a sample of those of
// the QA suite, or all of them if PCP_TEST_LONG is set.
func TestRoundTrip(t *testing.T) {
	for _, version := range []int{archive.Version2, archive.Version3} {
		w := create(t, archive.WriterConfig{Label: archive.Label{Version: version}})
		sample(t, w, 300)
		must(t, w.Close())
		a, err := archive.Open(w.Path())
		must(t, err)
		defer a.Close()
		var n tally
		reencode(t, a, &n)
		if n.records < 300 || n.meta < 50 || n.odd != nil {
			t.Errorf("version %d: of %d records and %d of the metadata %d differ", version, n.records, n.meta, len(n.odd))
		}
	}
}

// TestRoundTripSuite does so with archives of C programs of all ages.
func TestRoundTripSuite(t *testing.T) {
	var n tally
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, path := range suite(t) {
		if strings.Contains(path, "/badarchives/") || !longtest.Enabled() && rnd.IntN(8) != 0 {
			continue
		}
		a, err := archive.Open(path)
		if err != nil {
			continue
		}
		reencode(t, a, &n)
		a.Close()
	}
	t.Logf("%d records, %d of the metadata", n.records, n.meta)
	for name, k := range n.odd {
		if why, ok := oddArchives[name]; !ok {
			t.Errorf("%s: %d records differ", name, k)
		} else {
			t.Logf("%s: %d records differ: %s", name, k, why)
		}
	}
}

// oddArchives have records that differ when encoded again.
var oddArchives = map[string]string{
	"19970807.09.54":  padding,
	"19970807.09.59":  padding,
	"541380_v2":       padding,
	"951127.23.01_v2": padding,
	"arch_a":          padding,
	"arch_b":          padding,
	"late":            padding,
	"mark-bug":        padding,
	"oview-short":     padding,
	"rattle":          padding,
	"src-vldb-disks":  padding,
	"value-test":      "a string without its NUL",
	"vldb-disks":      padding + "; a name with NULs behind it",
}

const padding = "blocks of the last century are filled up with what was in memory"
