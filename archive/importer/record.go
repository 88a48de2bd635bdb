package importer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// indexBytes is the number of bytes of a volume after which the index gets an entry.
const indexBytes = 100_000

func (im *Importer) write(t pcp.Timestamp) error {
	if im.ended {
		return pcp.ErrNoContext
	}
	pending := slices.ContainsFunc(im.texts, func(t text) bool { return !t.done })
	if len(im.sets) == 0 && !pending && len(im.labels) == 0 {
		return ErrNoData
	}
	if err := im.checkTime(t); err != nil {
		return err
	}
	im.last = t
	if len(im.sets) > 0 {
		err := im.putSets(t)
		im.sets, im.text = im.sets[:0], im.text[:0]
		im.gen++
		if err != nil {
			return err
		}
	}
	if pending {
		if err := im.putTexts(t); err != nil {
			return err
		}
	}
	if len(im.labels) > 0 {
		return im.putLabels(t)
	}
	return nil
}

func (im *Importer) checkTime(t pcp.Timestamp) error {
	if t.Compare(im.last) < 0 {
		return fmt.Errorf("%s, after %s: %w", t.Time().UTC().Format(time.RFC3339Nano), im.last.Time().UTC().Format(time.RFC3339Nano), ErrBadTimestamp)
	}
	return nil
}

// putSets writes the values that were put.
func (im *Importer) putSets(t pcp.Timestamp) error {
	im.res.Reset()
	im.res.Time = t
	for _, m := range im.sets {
		if m.err != 0 {
			im.res.AddError(m.desc.PMID, m.err)
			continue
		}
		im.res.AddSet(m.desc.PMID)
		vs := &im.res.Sets[len(im.res.Sets)-1]
		vs.Values = m.values
		if vs.ValFmt = pcp.ValDPtr; m.desc.Type.InSitu() {
			vs.ValFmt = pcp.ValInSitu
		}
	}
	return im.putResult(&im.res)
}

// PutResult writes a separate record, before the values that were put
// (pmiPutResult(3), pmiPutHighResResult). It sorts the values of res by instance;
// they should be of declared metrics.
func (im *Importer) PutResult(res *pcp.Result) error {
	if im.ended {
		return pcp.ErrNoContext
	}
	if err := im.checkTime(res.Time); err != nil {
		return err
	}
	err := im.putResult(res)
	im.last = res.Time
	return err
}

// start makes the files for the first write.
func (im *Importer) start(t pcp.Timestamp) error {
	if im.w != nil {
		if im.old != nil {
			im.old.begun = true
		}
		return nil
	}
	w, err := archive.Create(im.base, archive.WriterConfig{
		Label: archive.Label{
			Version: im.opt.Version, PID: int32(os.Getpid()), Host: im.opt.Host,
			TimeZone: im.opt.TimeZone, ZoneInfo: im.opt.ZoneInfo,
		},
		ManualIndex: true,
	})
	if err != nil {
		return err
	}
	if err := w.SetStart(t); err != nil {
		w.Close()
		return err
	}
	im.w, im.flush = w, indexBytes
	return nil
}

func (im *Importer) putResult(res *pcp.Result) error {
	for i := range res.Sets {
		if values := res.Sets[i].Values; !slices.IsSortedFunc(values, byInst) {
			slices.SortStableFunc(values, byInst)
		}
	}
	var err error
	if im.body, err = archive.AppendResult(im.body[:0], res, im.opt.Version); err != nil {
		return fmt.Errorf("%s: %w", im.base, err)
	}
	if err := im.start(res.Time); err != nil {
		return err
	}
	_, _, meta := im.w.Position()
	entry := false
	for i := range res.Sets {
		if m := im.byID[res.Sets[i].PMID]; m != nil {
			if err := im.putMetric(res.Time, m, &entry); err != nil {
				return err
			}
		}
	}
	limit := im.opt.VolumeBytes
	if limit <= 0 {
		limit = math.MaxInt64
	}
	if im.opt.Version < archive.Version3 {
		limit = min(limit, archive.MaxVolume2)
	}
	size := int64(len(im.body)) + 8
	_, data, _ := im.w.Position()
	if data+size >= limit {
		vol, _, _ := im.w.Position()
		if err := im.w.NewVolume(); err != nil {
			return err
		}
		if im.opt.VolumeDone != nil {
			im.opt.VolumeDone(im.base + "." + strconv.Itoa(vol))
		}
		_, data, _ = im.w.Position()
		entry, im.flush = true, indexBytes
	}
	if entry || data+size > im.flush {
		// Before the record and all its metadata.
		if err := im.w.IndexAt(res.Time, meta, data); err != nil {
			return err
		}
		im.flush = data + indexBytes
	}
	return im.w.WriteRecord(res.Time, im.body)
}

func byInst(a, b pcp.Value) int { return cmp.Compare(a.Inst, b.Inst) }

// putMetric writes a metric and its instances unless they are already written;
// entry becomes true if it wrote something.
func (im *Importer) putMetric(t pcp.Timestamp, m *metric, entry *bool) error {
	if !m.done {
		if err := im.w.Desc(m.desc, m.name); err != nil {
			return err
		}
		m.done, *entry = true, true
	}
	if m.desc.InDom == pcp.InDomNull {
		return nil
	}
	if m.indom == nil {
		m.indom = im.indoms[m.desc.InDom]
	}
	return im.putInDom(t, m.indom, entry)
}

// putInDom writes an instance domain with all its instances if any is new. They
// are in the order in which they were added, after those that were written
// before, which are sorted, as in the C library.
func (im *Importer) putInDom(t pcp.Timestamp, d *indom, entry *bool) error {
	if d == nil || d.done || len(d.slots) == 0 {
		return nil
	}
	var err error
	if im.opt.InDomDeltas {
		_, _, before := im.w.Position()
		if err := im.w.InDom(t, d.id, d.disk); err != nil {
			return err
		}
		_, _, after := im.w.Position()
		d.done, *entry = true, *entry || after > before
		return nil
	}
	if im.body2, err = archive.AppendInDom(im.body2[:0], t, d.id, d.disk, im.opt.Version); err != nil {
		return fmt.Errorf("%s: %w", im.base, err)
	}
	if err := im.w.WriteMeta(im.body2); err != nil {
		return err
	}
	slices.SortStableFunc(d.disk, func(a, b pcp.Instance) int { return cmp.Compare(a.Inst, b.Inst) })
	d.done, *entry = true, true
	return nil
}

// PutMark writes a mark, 1 ms after the last record: values before and after it
// are unrelated (pmiPutMark(3)).
func (im *Importer) PutMark() error {
	if im.ended {
		return pcp.ErrNoContext
	}
	if im.w == nil {
		return errors.Join(ErrNoData, syscall.EBADF)
	}
	if err := im.start(im.last); err != nil {
		return err
	}
	return im.w.Mark(im.last.Add(time.Millisecond))
}
