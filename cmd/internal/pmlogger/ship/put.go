package ship

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archiveindex"
	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/janitor"
)

// errOther is the error of an index that got another archive with the same name meanwhile.
var errOther = errors.New("another recorder has stored an archive with this name")

// store stores the files of the archive base in a directory of the store, and then lists them in its index. If the store has another
// archive with that name, by another recorder of the host, the name in the store is a longer one.
func (s *Shipper) store(ctx context.Context, h *host, to *objects.Dir, days map[string]*archiveindex.Day, host, base string, entry *archiveindex.Archive) error {
	listed := archiveindex.Days(entry.Begin, entry.End)
	paths := make([]string, len(entry.Files))
	for i, f := range entry.Files {
		paths[i] = filepath.Join(filepath.Dir(base), f.Name)
	}
	for _, day := range listed {
		d, err := s.day(ctx, to, days, day)
		if err != nil {
			return err
		}
		if was := d.Find(entry.Name); was != nil && !was.Begin.Equal(entry.Begin) {
			name := fmt.Sprintf("%s-%x", entry.Name, entry.Begin.UnixNano())
			for i := range entry.Files {
				entry.Files[i].Name = name + strings.TrimPrefix(entry.Files[i].Name, entry.Name)
			}
			entry.Name = name
			break
		}
	}
	old := make(map[string]archiveindex.File)
	var gone []string
	for _, day := range listed {
		d, err := s.day(ctx, to, days, day)
		if err != nil {
			return err
		}
		if was := d.Find(entry.Name); was != nil {
			for _, f := range was.Files {
				old[f.Name] = f
			}
		}
	}
	for i := range entry.Files {
		f := &entry.Files[i]
		sent, err := put(ctx, to, paths[i], f, old[f.Name])
		if err != nil {
			return err
		}
		h.mu.Lock()
		h.s.Bytes += sent
		h.mu.Unlock()
		delete(old, f.Name)
	}
	for _, day := range listed {
		other := false
		err := archiveindex.Update(ctx, to, host, day, func(d *archiveindex.Day) bool {
			days[day] = d
			was := d.Find(entry.Name)
			other = was != nil && !was.Begin.Equal(entry.Begin)
			return !other && d.Put(*entry)
		})
		if other {
			err = errOther
		}
		if err != nil {
			delete(days, day)
			return err
		}
	}
	gone = slices.Sorted(maps.Keys(old))
	for _, name := range gone { // such as metadata that were not compressed yet
		if err := to.Remove(ctx, name); err != nil {
			return err
		}
	}
	// The archive is no longer read; only the days that may change are kept.
	today := archiveindex.DayOf(s.cfg.now().Add(-48 * time.Hour))
	maps.DeleteFunc(days, func(day string, _ *archiveindex.Day) bool { return day < today })
	return nil
}

// day returns the index of a day, which is read once: only one recorder writes the archives of a host.
func (s *Shipper) day(ctx context.Context, dir *objects.Dir, days map[string]*archiveindex.Day, day string) (*archiveindex.Day, error) {
	if d := days[day]; d != nil {
		return d, nil
	}
	d, _, err := archiveindex.Load(ctx, dir, day)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = &archiveindex.Day{}, nil
	}
	if err != nil {
		return nil, err
	}
	days[day] = d
	return d, nil
}

// put stores a file unless it is stored already, and returns how many bytes it sent.
func put(ctx context.Context, to *objects.Dir, path string, f *archiveindex.File, old archiveindex.File) (int64, error) {
	src, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	sums, err := objects.SumOf(ctx, src, f.Size)
	if err != nil {
		return 0, err
	}
	f.SHA256 = sums.SHA256
	if old.Size == f.Size && old.SHA256 == f.SHA256 {
		return 0, nil // it was verified before it was listed
	}
	if err := to.Verify(ctx, f.Name, sums); err == nil {
		return 0, nil // stored before a process was killed
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, objects.ErrDiffers) {
		return 0, err
	}
	return f.Size, to.UploadSums(ctx, f.Name, src, sums)
}

// describe describes files of an archive, without their checksums.
func describe(base string, files []janitor.File, complete bool) (*archiveindex.Archive, error) {
	a, err := archive.Open(base)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	end, err := a.End()
	if err != nil {
		return nil, err
	}
	e := &archiveindex.Archive{Name: filepath.Base(base), Begin: a.Label().Start.Time().UTC(), End: end.Time().UTC(), Complete: complete}
	starts := make(map[int]time.Time)
	for _, i := range a.Index() {
		if v := int(i.Vol); v >= 0 && starts[v].IsZero() {
			starts[v] = i.Time.Time().UTC()
		}
	}
	starts[slices.Min(a.Volumes())] = e.Begin
	lastEnd := e.Begin
	for _, f := range files {
		out := archiveindex.File{Name: filepath.Base(f.Path), Size: f.Size}
		if begin, ok := starts[f.Volume]; ok && f.Volume >= 0 {
			out.Begin, out.End = begin, e.End
			for v, next := range starts {
				if v > f.Volume && next.Before(out.End) && !next.Before(begin) {
					out.End = next
				}
			}
			if out.End.After(lastEnd) {
				lastEnd = out.End
			}
		}
		e.Files = append(e.Files, out)
	}
	if !complete {
		e.End = lastEnd
	}
	if e.End.Before(e.Begin) {
		e.End = e.Begin
	}
	sets, _ := a.Meta().LookupLabels(pcp.LabelContext, 0, end)
	e.Labels = labels(sets)
	return e, nil
}

// labels returns the labels of sets.
func labels(sets []pcp.LabelSet) map[string]string {
	all := make(map[string]string)
	for _, set := range sets {
		var values map[string]any
		if json.Unmarshal([]byte(set.JSON), &values) != nil {
			continue
		}
		for name, v := range values {
			text, ok := v.(string)
			if !ok {
				b, err := json.Marshal(v)
				if err != nil {
					continue
				}
				text = string(b)
			}
			if len(all) < archiveindex.MaxLabels {
				all[name] = text
			}
		}
	}
	return all
}
