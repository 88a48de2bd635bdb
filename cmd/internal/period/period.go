package period

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/storage"
)

const (
	// slack is how far the time in the name of an archive and the time in its label may be apart: names have times of the
	// recorder's zone.
	slack = 15 * time.Hour
	// longest is how long before a period an archive that reaches it may begin, if a later one begins before the period too.
	longest = 48 * time.Hour
	// atOnce is the number of archives that are opened at the same time.
	atOnce = 16
)

// An Archive is an archive in a directory.
type Archive struct {
	Path       string // base name with directory
	Start, End pcp.Timestamp
}

// Archives returns the archives of a directory in a store that a reader of a period needs, by start: those that overlap it, the latest
// archive that starts before it, and if none of these reaches its end the next archive. A zero end means no limit. It returns false if it
// is necessary, or as fast, to read all archives of the directory: if they are on the disk, or their names have no dates.
func Archives(dir string, from, to pcp.Timestamp) (list []Archive, ok bool) {
	if !storage.Remote(dir) || strings.Contains(dir, ",") {
		return nil, false
	}
	if list, ok := indexed(dir, from, to); ok {
		return list, true
	}
	entries, err := storage.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	names, ok := dated(entries)
	if !ok {
		return nil, false
	}
	list, ok = pick(dir, names, from, to)
	return list, ok
}

// pick returns the archives of a period among those with the given names, which are in the order of their times.
func pick(dir string, names []named, from, to pcp.Timestamp) ([]Archive, bool) {
	lo, hi := 0, len(names)
	for i, n := range names {
		if n.latest.Compare(from) <= 0 {
			lo = i // it starts before the period for sure, so that all earlier ones are not needed
		}
		if !to.IsZero() && n.earliest.Compare(to) > 0 {
			hi = min(hi, i)
		}
	}
	list, ok := open(dir, names[lo:hi])
	if !ok {
		return nil, false
	}
	// Another recorder may have written one at the same time, which is longer.
	covers := func(a Archive) bool { return a.Start.Compare(from) <= 0 && a.End.Compare(from) >= 0 }
	for lo > 0 && !slices.ContainsFunc(list, covers) && names[lo-1].latest.Compare(from.Add(-longest)) > 0 {
		lo--
		earlier, ok := open(dir, names[lo:lo+1])
		if !ok {
			return nil, false
		}
		list = slices.Insert(list, 0, earlier...)
	}
	for !to.IsZero() && hi < len(names) && (len(list) == 0 || list[len(list)-1].End.Compare(to) < 0) {
		next, ok := open(dir, names[hi:hi+1])
		if !ok {
			return nil, false
		}
		list = append(list, next...)
		hi++
	}
	slices.SortFunc(list, func(a, b Archive) int { return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.Path, b.Path)) })
	return within(list, from, to), len(list) > 0
}

// within returns the archives that a reader of a period needs. They are sorted by start.
func within(list []Archive, from, to pcp.Timestamp) []Archive {
	before := -1 // the last archive that starts before the period
	for i, a := range list {
		if a.Start.Compare(from) <= 0 {
			before = i
		}
	}
	var kept []Archive
	reached := false
	for i, a := range list {
		switch {
		case i < before && a.End.Compare(from) < 0:
			continue
		case !to.IsZero() && a.Start.Compare(to) > 0 && (reached || len(kept) > 0 && kept[len(kept)-1].Start.Compare(to) > 0):
			continue
		}
		reached = reached || !to.IsZero() && a.End.Compare(to) >= 0
		kept = append(kept, a)
	}
	return kept
}

// open opens archives, several at once, and returns their times. It returns false if one cannot be opened, or does not have the
// time of its name.
func open(dir string, names []named) ([]Archive, bool) {
	list := make([]Archive, len(names))
	good := make([]bool, len(names))
	var g sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, n := range names {
		slots <- struct{}{}
		g.Go(func() {
			defer func() { <-slots }()
			list[i], good[i] = look(storage.Join(dir, n.base))
			good[i] = good[i] && list[i].Start.Compare(n.earliest) >= 0 && list[i].Start.Compare(n.latest) <= 0
		})
	}
	g.Wait()
	return list, !slices.Contains(good, false)
}

// look returns the times of an archive.
func look(path string) (Archive, bool) {
	a, err := archive.Options{NoMeta: true}.Open(path)
	if err != nil {
		return Archive{}, false
	}
	defer a.Close()
	end, err := a.End()
	return Archive{path, a.Label().Start, end}, err == nil
}

// Spec returns the specification of archives for those who open several as one.
func Spec(list []Archive) string {
	paths := make([]string, len(list))
	for i, a := range list {
		paths[i] = a.Path
	}
	return strings.Join(paths, ",")
}
