package period

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/storage"
)

// Before returns the archives of roll-ups for the part of a period before the first recorded archive of a directory, whose times have
// expired: those of the finest level that reaches the start of the period. The zero start is before all archives. It also reports whether
// the recorded archives begin in the period, so that they are needed too. Without roll-ups the list is empty.
func Before(dir string, from, to pcp.Timestamp) (list []Archive, recorded bool) {
	if strings.Contains(dir, ",") {
		return nil, true
	}
	entries, err := storage.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	until := pcp.Timestamp{} // no recorded archive is left
	if names, ok := dated(entries); ok {
		first, ok := look(storage.Join(dir, names[0].base))
		if !ok || first.Start.Compare(from) <= 0 {
			return nil, true
		}
		until = first.Start
	} else if len(entries) > 0 {
		return nil, true
	}
	recorded = !until.IsZero() && (to.IsZero() || to.Compare(until) >= 0)
	for _, level := range RollUps(dir) {
		some := reduced(level, from, to, until)
		if len(some) > 0 && (len(list) == 0 || some[0].Start.Add(-time.Hour).Compare(list[0].Start) < 0) {
			if list = some; list[0].Start.Compare(from) <= 0 {
				break
			}
		}
	}
	if len(list) == 0 {
		return nil, true
	}
	return list, recorded
}

// reduced returns the archives of a directory of roll-ups for a period that end before a time, if that is not zero.
func reduced(dir string, from, to, until pcp.Timestamp) []Archive {
	entries, err := storage.ReadDir(dir)
	if err != nil {
		return nil
	}
	names, ok := dated(entries)
	if !ok {
		return nil
	}
	if to.IsZero() || !until.IsZero() && until.Compare(to) < 0 {
		to = until
	}
	all, ok := pick(dir, names, from, to)
	if !ok {
		return nil
	}
	var list []Archive
	for _, a := range all {
		if until.IsZero() || a.End.Compare(until) < 0 {
			list = append(list, a)
		}
	}
	return list
}
