package period

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/internal/storage"
)

// maxDays is the number of days of a period from which a listing of the directory is faster than the indexes of the days.
const maxDays = 8

// indexed returns the archives of a period by the index objects of its days. It returns false if one is missing or wrong, or if the
// archives do not have the start and the end of the period: then there may be others.
func indexed(dir string, from, to pcp.Timestamp) ([]Archive, bool) {
	s, ok := storage.Of(dir)
	if !ok {
		return nil, false
	}
	r, ok := s.(storage.FileReader)
	if !ok || to.IsZero() || to.Compare(from) < 0 || to.Sub(from) > maxDays*86400 {
		return nil, false
	}
	days := archiveindex.Days(asTime(from), asTime(to))
	found := make([]*archiveindex.Day, len(days))
	var g sync.WaitGroup
	for i, day := range days {
		g.Go(func() {
			b, err := r.ReadFile(storage.Join(dir, archiveindex.NameOf(day)))
			if err != nil {
				return
			}
			if d, err := archiveindex.Decode(b); err == nil && d.Day == day {
				found[i] = d
			}
		})
		// Most archives are named after their day. Their files are needed soon.
		g.Go(func() { storage.ReadDirPrefix(dir, day) })
	}
	g.Wait()
	var names []named
	for _, d := range found {
		if d == nil {
			return nil, false
		}
		for _, a := range d.Archives {
			begin, end := pcp.TimestampOf(a.Begin), pcp.TimestampOf(a.End)
			// An archive that is still written may have grown since.
			if begin.Compare(to) > 0 || a.Complete && end.Compare(from) < 0 || strings.Contains(a.Name, ",") {
				continue
			}
			if !slices.ContainsFunc(names, func(n named) bool { return n.base == a.Name }) {
				names = append(names, named{a.Name, begin.Add(-slack), begin.Add(time.Second)})
			}
		}
	}
	list, ok := open(dir, names)
	if !ok {
		return nil, false
	}
	slices.SortFunc(list, func(a, b Archive) int { return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Path, b.Path)) })
	starts := slices.ContainsFunc(list, func(a Archive) bool { return a.Start.Compare(from) <= 0 && a.End.Compare(from) >= 0 })
	ends := slices.ContainsFunc(list, func(a Archive) bool { return a.End.Compare(to) >= 0 })
	return within(list, from, to), starts && ends
}

func asTime(t pcp.Timestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }
