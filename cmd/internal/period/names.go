package period

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A named is an archive whose name has a date. It should start between two times.
type named struct {
	base             string
	earliest, latest pcp.Timestamp
}

// dated returns the archives among the files of a directory, sorted by the times in their names. It returns false if one has no date
// in its name.
func dated(entries []fs.DirEntry) ([]named, bool) {
	type parts struct{ meta, data bool }
	all := map[string]parts{}
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if !ok || part == "index" {
			continue
		}
		p := all[base]
		if part == "meta" {
			p.meta = true
		} else if st, err := e.Info(); err == nil && st.Size() > 0 {
			p.data = true
		}
		all[base] = p
	}
	var list []named
	for base, p := range all {
		if !p.meta || !p.data {
			continue // as readers of a whole directory do
		}
		n, ok := parseName(base)
		if !ok || strings.Contains(base, ",") {
			return nil, false
		}
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b named) int { return cmp.Or(a.earliest.Compare(b.earliest), strings.Compare(a.base, b.base)) })
	return list, len(list) > 0
}

// parseName reads the date in the name of an archive, such as 20251127, 20251127.00.10, 20251127.00.10.31 or 20251127.00.10-01.
func parseName(base string) (named, bool) {
	text, _, _ := strings.Cut(base, "-")
	for layout, length := range map[string]time.Duration{"20060102": 24 * time.Hour, "20060102.15.04": time.Minute, "20060102.15.04.05": time.Second} {
		t, err := time.Parse(layout, text)
		if err == nil && len(text) == len(layout) {
			return named{base, pcp.TimestampOf(t.Add(-slack)), pcp.TimestampOf(t.Add(length + slack))}, true
		}
	}
	return named{}, false
}
