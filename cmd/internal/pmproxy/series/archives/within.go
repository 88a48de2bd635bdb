package archives

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/catalog"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/sid"
)

// A domainOf is an instance domain of a source.
type domainOf struct {
	source uint32
	indom  pcp.InDom
}

// A wanted is a series of which [Store.Within] finds out whether it existed.
type wanted struct {
	id  sid.ID
	num uint32
	domainOf
}

// Within implements [series.Store]. A series exists from the start to the end of each archive with its metric, and an instance
// from the record of its domain with it to the next one without it.
func (s *Store) Within(ctx context.Context, ids []sid.ID, start, end pcp.Timestamp, insts bool) ([]series.Presence, error) {
	st := s.state.Load()
	whole := map[uint32]bool{}    // sources whose archives are all within the window
	parts := map[uint32][]*arch{} // archives of which a part is within it
	var list []wanted
	var domains map[domainOf][]series.Instance // all of them
	err := s.view(ctx, func(tx *tx) error {
		list = list[:0]
		domains = map[domainOf][]series.Instance{}
		has := map[uint32]map[uint32]bool{} // the series of these archives, by source
		for _, id := range ids {
			num, rec, err := tx.record(id)
			if err == series.ErrUnknown {
				continue
			}
			if err != nil {
				return err
			}
			w := wanted{id, num, domainOf{rec.source, rec.desc.InDom}}
			if _, ok := parts[w.source]; !ok {
				parts[w.source], whole[w.source] = s.overlapping(st.bySource[w.source], start, end)
			}
			if !whole[w.source] {
				if has[w.source] == nil {
					if has[w.source], err = tx.seriesOf(parts[w.source]); err != nil {
						return err
					}
				}
				if !has[w.source][num] {
					continue
				}
			}
			list = append(list, w)
			if _, ok := domains[w.domainOf]; ok || !insts || w.indom == pcp.InDomNull {
				continue
			}
			all := []series.Instance{}
			source := st.ids[w.source]
			if err := tx.instances(w.source, w.indom, func(id sid.ID, inst int32, _ uint32, name []byte) {
				all = append(all, series.Instance{ID: id, Inst: inst, Name: string(name), Source: source})
			}); err != nil {
				return err
			}
			slices.SortFunc(all, func(a, b series.Instance) int {
				return cmp.Or(cmp.Compare(a.Inst, b.Inst), strings.Compare(a.Name, b.Name), a.ID.Compare(b.ID))
			})
			domains[w.domainOf] = all
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for source, archs := range parts {
		if whole[source] {
			continue
		}
		there := map[pcp.InDom]map[instKey]bool{}
		for d := range domains {
			if d.source == source {
				there[d.indom] = map[instKey]bool{}
			}
		}
		if len(there) == 0 {
			continue
		}
		for _, a := range archs {
			if err := s.existing(ctx, a, start, end, there); err != nil {
				return nil, err
			}
		}
		for indom, names := range there {
			d := domainOf{source, indom}
			domains[d] = slices.DeleteFunc(domains[d], func(in series.Instance) bool { return !names[instKey{in.Inst, in.Name}] })
		}
	}
	found := make([]series.Presence, len(list))
	for i, w := range list {
		found[i] = series.Presence{Series: w.id, Instances: domains[w.domainOf]}
	}
	return found, nil
}

// overlapping returns the archives of which a part is between two times, and whether they are all of the archives, and wholly.
func (s *Store) overlapping(all []*arch, start, end pcp.Timestamp) (list []*arch, whole bool) {
	list, whole = []*arch{}, true
	for i, a := range all {
		last := a.end
		if last.Compare(start) < 0 && i >= len(all)-2 {
			last = s.grown(a) // since the last scan
		}
		if last.Compare(start) < 0 || !end.IsZero() && a.start.Compare(end) > 0 {
			whole = false
			continue
		}
		whole = whole && a.start.Compare(start) >= 0 && (end.IsZero() || last.Compare(end) <= 0)
		list = append(list, a)
	}
	return list, whole
}

// grown returns the current end of an archive.
func (s *Store) grown(a *arch) pcp.Timestamp {
	f, err := s.files.get(a.path, a.volumes)
	if err != nil {
		return a.end // it is gone
	}
	defer s.files.put(f)
	if last, err := f.End(); err == nil && last.Compare(a.end) > 0 {
		return last
	}
	return a.end
}

// seriesOf returns the series of archives.
func (t *tx) seriesOf(archs []*arch) (map[uint32]bool, error) {
	all := map[uint32]bool{}
	for _, a := range archs {
		if err := eachHas(t.get("has", u32(nil, a.num)), func(s seriesOf) bool { all[s.series] = true; return true }); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// existing adds the instances of domains that existed between two times in an archive. An archive that cannot be read is logged and adds nothing.
func (s *Store) existing(ctx context.Context, a *arch, start, end pcp.Timestamp, there map[pcp.InDom]map[instKey]bool) error {
	f, err := s.files.get(a.path, a.volumes)
	if err != nil {
		s.unreadable(a, err)
		return nil
	}
	defer s.files.put(f)
	mr, closer, err := f.OpenMeta()
	if err != nil {
		s.unreadable(a, err)
		return nil
	}
	defer closer.Close()
	lives := map[pcp.InDom]*lives{}
	for n := 0; ; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		rec, err := mr.Next()
		if err != nil {
			if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
				s.unreadable(a, err)
			}
			break
		}
		switch rec.Type {
		case archive.MetaInDomV2, archive.MetaInDom, archive.MetaInDomDelta:
		default:
			continue
		}
		names := there[rec.InDom]
		if names == nil || len(rec.Instances) == 0 || !end.IsZero() && rec.Time.Compare(end) > 0 {
			continue
		}
		l := lives[rec.InDom]
		if l == nil {
			l = newLives()
			lives[rec.InDom] = l
		}
		if rec.Time.Compare(start) > 0 {
			l.flush(names)
		}
		l.take(rec)
	}
	for indom, l := range lives {
		l.flush(there[indom])
	}
	return nil
}

// unreadable logs an error of an archive, whose data is then missing.
func (s *Store) unreadable(a *arch, err error) {
	s.log.Warn("archive cannot be read", "path", a.path, "err", err)
	s.files.forget(a.path)
}

// lives are the instances of a domain at the time of a record.
type lives struct {
	now   map[int32]string
	fresh []instKey // those that flush has not seen, if it has been called
	began bool
}

func newLives() *lives { return &lives{now: map[int32]string{}} }

// take applies a record.
func (l *lives) take(rec *archive.MetaRecord) {
	if rec.Type != archive.MetaInDomDelta {
		clear(l.now)
	}
	for _, c := range rec.Instances {
		switch {
		case c.Name == nil:
			delete(l.now, c.Inst)
		case len(c.Name) > 0 && len(c.Name) <= catalog.MaxName:
			name := string(c.Name)
			l.now[c.Inst] = name
			if l.began {
				l.fresh = append(l.fresh, instKey{c.Inst, name})
			}
		}
	}
}

// flush adds the instances of now and, after the first call, of all records since the one before.
func (l *lives) flush(there map[instKey]bool) {
	if !l.began {
		l.began = true
		for inst, name := range l.now {
			there[instKey{inst, name}] = true
		}
	}
	for _, k := range l.fresh {
		there[k] = true
	}
	l.fresh = l.fresh[:0]
}
