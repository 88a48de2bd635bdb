package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A Drop is a dropped part of an archive, or with Bytes, Records and Values all 0
// a change without a loss.
type Drop struct {
	File    string // its name
	Offset  int64  // in the file, expanded if it is compressed; -1 if there is none
	Bytes   int64  // that are dropped there
	Records int    // known number of records; 0 if unknown
	Values  int64  // dropped values of the records from Offset on
	Missing bool   // a whole part is missing, such as a volume
	Why     string
}

// Lossless reports whether d drops nothing.
func (d Drop) Lossless() bool { return d.Bytes == 0 && d.Records == 0 && d.Values == 0 && !d.Missing }

func (d Drop) String() string {
	where := d.File
	if d.Offset >= 0 {
		where += fmt.Sprintf(": offset %d", d.Offset)
	}
	what := ""
	switch {
	case d.Bytes == 0 && d.Records == 0 && d.Values == 0:
		return where + ": " + d.Why
	case d.Values > 0:
		what = plural(d.Values, "value")
	case d.Records > 0:
		what = plural(int64(d.Records), "record") + " of " + plural(d.Bytes, "byte")
	default:
		what = plural(d.Bytes, "byte")
	}
	return fmt.Sprintf("%s: %s dropped: %s", where, what, d.Why)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A Summary is the result of a repair.
type Summary struct {
	Records int // of volumes, kept
	Added   int // marks that are new
	Drops   int // number of calls of Config.Dropped for a loss
	Lost    struct {
		Bytes, Values int64
		Records       int
	}
}

// A Config selects the archive to repair.
type Config struct {
	Meta    Source
	Index   *Source  // nil if there is none
	Volumes []Source // ascending
	Numbers []int    // of the volumes

	Dropped  func(Drop)              // called for each dropped or changed part; may be nil
	Progress func(done, total int64) // may be nil
}

// An Output takes the kept records, in the order of time: an [archive.Writer].
type Output interface {
	WriteMeta(body []byte) error
	WriteRecord(t pcp.Timestamp, body []byte) error
	Mark(t pcp.Timestamp) error
	NewVolume() error
}

// ErrNothing is the error for an archive of which no record can be saved.
var ErrNothing = errors.New("no record can be saved")

// errChanged is the error for an archive that changes while it is read.
var errChanged = errors.New("the file has changed meanwhile")

// A run is one repair.
type run struct {
	Config
	sum         Summary
	label       archive.Label
	meta        *metadata
	metaBad     bool // its label
	disorder    bool // some records are not kept
	done, total int64
}

func (r *run) drop(d Drop) {
	if !d.Lossless() {
		r.sum.Drops++
		r.sum.Lost.Bytes += d.Bytes
		r.sum.Lost.Records += d.Records
		r.sum.Lost.Values += d.Values
	}
	r.note(d)
}

func (r *run) note(d Drop) {
	if r.Dropped != nil {
		r.Dropped(d)
	}
}

// loseIn reports a loss. A label with the right length is not lost: another file
// has the same.
func (r *run) loseIn(in *input, l loss, badLabel bool) {
	if badLabel && l.from == 0 {
		if l.to == int64(archive.LabelSize(r.label.Version)) {
			r.note(Drop{File: in.Name, Offset: 0, Why: "the label is damaged and created again"})
			return
		}
	}
	r.drop(Drop{File: in.Name, Offset: l.from, Bytes: l.to - l.from, Records: l.records, Missing: l.from == l.to, Why: l.why})
}

func (r *run) progress(n int64) {
	if r.done += n; r.Progress != nil {
		r.Progress(r.done, r.total)
	}
}

// Run repairs an archive. It calls create once it has found something to save;
// label is that of the new archive, first the number of its first volume.
func Run(ctx context.Context, cfg Config, create func(label archive.Label, first int) (Output, error)) (Summary, error) {
	r := &run{Config: cfg}
	if len(cfg.Volumes) == 0 || len(cfg.Numbers) != len(cfg.Volumes) || !slices.IsSorted(cfg.Numbers) {
		return r.sum, fmt.Errorf("%d volumes with %d numbers: %w", len(cfg.Volumes), len(cfg.Numbers), pcp.ErrLogFile)
	}
	err := r.run(ctx, create)
	return r.sum, err
}

func (r *run) run(ctx context.Context, create func(archive.Label, int) (Output, error)) error {
	meta := &input{Source: &r.Meta}
	volumes := make([]*input, len(r.Volumes))
	for i := range volumes {
		volumes[i] = &input{Source: &r.Volumes[i]}
		r.total += 2 * r.Volumes[i].Size
	}
	all := append(slices.Clone(volumes), meta)
	var index *input
	if r.Index != nil {
		index = &input{Source: r.Index}
		all = append(all, index)
	}
	for _, in := range all {
		if in.Size == 0 && in != index {
			r.drop(Drop{File: in.Name, Offset: 0, Missing: true, Why: "the file is empty"})
		}
		if in.End != nil && in != index {
			r.drop(Drop{File: in.Name, Offset: in.Size, Missing: true, Why: "decompression ends here: " + in.End.Error()})
		}
	}
	var guessed bool
	if r.label, guessed = r.elect(all); guessed {
		r.note(Drop{File: r.Meta.Name, Offset: -1, Why: "no file has a valid label; the rest of one is used"})
	}
	version := r.label.Version
	badLabel := func(in *input, vol int) bool {
		b := in.at(0, int64(archive.LabelSize(version)))
		l, err := archive.DecodeLabel(b)
		return err != nil || l.Version != version || in.torn(0, int64(len(b)))
	}
	from := func(bad bool) int64 {
		if bad {
			return 0
		}
		return int64(archive.LabelSize(version))
	}
	for i, in := range all {
		vol := int32(archive.VolIndex)
		switch {
		case i < len(volumes):
			vol = int32(r.Numbers[i])
		case in == meta:
			vol = archive.VolMeta
		}
		r.compareLabel(in, vol)
	}
	for _, in := range all[1:] {
		in.buf = nil
	}

	r.metaBad = badLabel(meta, archive.VolMeta)
	var err error
	if r.meta, err = scanMeta(meta, version, from(r.metaBad)); err != nil {
		return err
	}
	scan := valueScan{meta: r.meta, version: version}
	lost := make([][]loss, len(volumes))
	first := make([]int, len(volumes)+1) // in scan.list
	bad := make([]bool, len(volumes))
	for i, in := range volumes {
		bad[i] = badLabel(in, r.Numbers[i])
		before := int64(0)
		lost[i], err = scan.volume(i, in, from(bad[i]), func(off int64) error {
			r.progress(off - before)
			before = off
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		first[i+1] = len(scan.list)
		in.buf = nil
	}
	if index != nil {
		confirm(scan.list, r.Numbers, index, version)
		index.buf = nil
	} else {
		r.note(Drop{File: "index", Offset: -1, Why: "missing; it is created again"})
	}
	wrong := r.start(scan.list) || guessed && r.label.Start == (pcp.Timestamp{})
	chain(scan.list)
	doubt := r.meta.order(func(t pcp.Timestamp) bool { return t == r.label.Start || has(scan.list, t) })
	r.meta.elect()

	c := &copier{run: r, ctx: ctx, bases: make(map[pcp.InDom]bool), gone: make(map[loser]*Drop), doubt: doubt}
	for _, x := range r.meta.metrics {
		c.doubt = c.doubt || x.best < 0
	}
	began := -1
	for i := range scan.list {
		if scan.list[i].flags&kept == 0 {
			r.disorder = true
		} else if began < 0 {
			began = int(scan.list[i].vol)
		}
	}
	if began < 0 || !r.meta.any() {
		for _, l := range r.meta.lost {
			r.loseIn(meta, l, r.metaBad)
		}
		for i, in := range volumes {
			for _, l := range lost[i] {
				r.loseIn(in, l, bad[i])
			}
		}
		return ErrNothing
	}
	if wrong {
		r.note(Drop{File: r.Volumes[began].Name, Offset: 0, Why: "the start of the archive contradicts the records, and is set again"})
		for i := range scan.list {
			if scan.list[i].flags&kept != 0 {
				r.label.Start = scan.list[i].time()
				break
			}
		}
	}
	if c.out, err = create(r.label, r.Numbers[began]); err != nil {
		return err
	}
	for i, in := range volumes {
		if i > 0 && r.Numbers[i] > r.Numbers[i-1]+1 {
			r.missing(r.Numbers[i-1]+1, r.Numbers[i]-1, in)
			c.gap = true
		}
		if err := c.volume(i, in, scan.list[first[i]:first[i+1]], lost[i], bad[i]); err != nil {
			return err
		}
		in.buf = nil
	}
	if err := c.metaUpTo(nil); err != nil {
		return err
	}
	if r.sum.Records == 0 {
		return ErrNothing
	}
	return nil
}

// has reports whether one of the records that are kept has a time.
func has(list []record, t pcp.Timestamp) bool {
	i, _ := slices.BinarySearchFunc(list, t, func(r record, t pcp.Timestamp) int { return r.time().Compare(t) })
	// Records that are not kept are out of order, and mislead the search.
	for k := max(0, i-2); k < min(len(list), i+3); k++ {
		if list[k].flags&kept != 0 && list[k].time() == t {
			return true
		}
	}
	return false
}

// any reports whether a descriptor is kept.
func (m *metadata) any() bool {
	for _, x := range m.metrics {
		if x.best >= 0 {
			return true
		}
	}
	return false
}

// missing reports missing volumes.
func (r *run) missing(from, to int, in *input) {
	d := Drop{File: in.Name, Offset: -1, Missing: true, Why: fmt.Sprintf("volume %d before it is missing", from)}
	if to > from {
		d.Why = fmt.Sprintf("volumes %d to %d before it are missing", from, to)
	}
	r.drop(d)
}

// elect chooses the label; guessed reports that none was good.
func (r *run) elect(all []*input) (l archive.Label, guessed bool) {
	if l, ok := electLabel(all); ok {
		return l, false
	}
	best := -1
	for _, version := range []int{archive.Version3, archive.Version2} {
		m, err := scanMeta(&input{Source: &r.Meta}, version, 0)
		if err == nil && len(m.list) > best {
			best, l = len(m.list), guessLabel(all, version)
		}
	}
	return l, true
}

// compareLabel reports a label that differs from the others.
func (r *run) compareLabel(in *input, vol int32) {
	l, err := archive.DecodeLabel(in.at(0, int64(archive.LabelSize(archive.Version3))))
	if err != nil {
		if vol == archive.VolIndex {
			r.note(Drop{File: in.Name, Offset: 0, Why: "the label is damaged and created again"})
		}
		return // the scan finds it
	}
	if got := l.Vol; got != vol {
		r.note(Drop{File: in.Name, Offset: 0, Why: fmt.Sprintf("the label is of volume %d, not %d, and created again", got, vol)})
		return
	}
	if l.Vol = 0; l != r.label {
		r.note(Drop{File: in.Name, Offset: 0, Why: "the label is not that of the other files, and created again"})
	}
}

// start finds the records from before the start in the label. If they are the
// majority, the label is wrong, and start reports that.
func (r *run) start(list []record) (wrong bool) {
	n := 0
	for i := range list {
		if list[i].time().Compare(r.label.Start) < 0 {
			n++
		}
	}
	if !goodTime(r.label.Start) || 2*n > len(list) {
		return true
	}
	for i := range list {
		if n > 0 && list[i].time().Compare(r.label.Start) < 0 {
			list[i].flags |= early
		}
	}
	return false
}
