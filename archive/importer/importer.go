package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/timezone"
)

// Domain is the domain of metrics and instance domains whose numbers this package
// chooses (PMI_DOMAIN).
const Domain = 245

// Options describes the archive to write.
type Options struct {
	Host     string // pmiSetHostname(3); "" is the name of this host
	TimeZone string // pmiSetTimezone(3), in the form of TZ; "" is that of this host
	ZoneInfo string // name of the time zone, for version 3; "" is that of this host if TimeZone is ""
	Version  int    // pmiSetVersion(3): archive.Version2 or archive.Version3; 0 is Version3

	// VolumeBytes is the maximum length of a volume, 0 the limit of the format
	// (PCP_LOGIMPORT_MAXLOGSZ).
	VolumeBytes int64

	// VolumeDone is called with the path of each volume that another one follows
	// (pmiSetVolumeSize).
	VolumeDone func(path string)

	// Append continues the archive if there is one (PMI_APPEND). The fields above
	// that are not set are then those of the archive, and others an error. Metrics must be
	// declared again, as they are in the archive: with another descriptor AddMetric
	// returns an error such as pcp.ErrLogChangeType. Without a PMID they get that of the
	// archive; they keep their instances. The archive must be complete, see archive.Trim.
	Append bool

	// InDomDeltas writes instance domains sorted, and in version 3 only the
	// changes if they are shorter, as the library of PCP 7 does. Otherwise a new
	// instance writes all of them again.
	InDomDeltas bool

	// JoinLabels writes the labels of all instances of a domain in one record. Otherwise each instance has
	// a record, as in the C library, and readers, which take the last one for all instances, find the labels
	// of one instance only.
	JoinLabels bool

	// Program is the name under which the metrics pmimport show the program that writes the archive, until the archive
	// ends; "" if they do not. Another program of that name takes its place. ProgramArgs names the sources of
	// its data. ProgramDir is the directory of such descriptions, "" means the setting PCP_IMPORTRUN_DIR; by
	// default only root may write there. If it cannot be written ProgramError is called, unless it is nil.
	Program, ProgramVersion, ProgramArgs, ProgramDir string
	ProgramError                                     func(error)

	// Periodic is set by a program that runs from time to time: the metrics show it after the end too, and otherwise
	// while its process runs (PMI_PROCESS).
	Periodic bool

	// Inherit is an archive whose metrics, instances and text the new one starts
	// with (PMI_FLAG_INHERIT). Labels that are not yet written are inherited too.
	// Handles belong to one archive.
	Inherit *Importer
}

// An Importer is an archive that is being written (a context of
// libpcp_import). It is for one goroutine.
type Importer struct {
	base string
	opt  Options
	w    *archive.Writer // nil until the first Write, except when it appends
	old  *old            // of the archive that it appends to, else nil

	metrics []*metric
	byName  map[string]*metric
	byID    map[pcp.PMID]*metric
	indoms  map[pcp.InDom]*indom
	serial  int // of the last instance domain of NewInDom

	gen  uint64    // number of the record that is being put together, from 1
	sets []*metric // metrics with values in it, in the order of their first value
	text []byte    // room for its strings

	texts   []text
	said    map[text]bool
	labels  []label
	labelAt map[labelKey]int // index in labels

	last  pcp.Timestamp // of the last Write
	flush int64         // offset in the volume behind which there is an entry in the index
	res   pcp.Result    // room
	body  []byte        // room for a record
	body2 []byte        // memory for a record of the metadata
	ended bool

	program *program // as others see it, or nil
}

// A metric is a declared metric, with its values in the current record.
type metric struct {
	index  int // in Importer.metrics
	name   string
	desc   pcp.Desc
	indom  *indom // nil until it has an instance, and for a single value
	done   bool   // written
	stored bool   // in the archive that is appended to, and not yet declared
	gen    uint64 // of the record that values belong to
	err    pcp.Error
	values []pcp.Value
	seen   []uint64 // by slot: gen of the last record that has a value of it
}

// An indom is an instance domain. A slot is the number of an instance in the
// order in which they were added.
type indom struct {
	id     pcp.InDom
	slots  []pcp.Instance
	byName map[string]int // slot
	byWord map[string]int // slot, by the name up to its first blank and with that
	byInst map[int32]int  // slot
	disk   []pcp.Instance // in the order in which they are written
	done   bool           // all of it written
	next   int32          // number for the next instance without one
}

// Start begins an archive (pmiStart(3)). Its files must not exist; they are
// made by the first Write.
func Start(base string, opt Options) (*Importer, error) {
	im := &Importer{
		base:    base,
		opt:     opt,
		byName:  make(map[string]*metric),
		byID:    make(map[pcp.PMID]*metric),
		indoms:  make(map[pcp.InDom]*indom),
		said:    make(map[text]bool),
		labelAt: make(map[labelKey]int),
		gen:     1,
	}
	free := archive.CheckFree(base)
	if opt.Append && errors.Is(free, fs.ErrExist) {
		if err := im.resume(); err != nil {
			if im.w != nil {
				im.w.Close()
			}
			return nil, err
		}
		im.setProgram()
		return im, nil
	}
	if err := im.opt.complete(); err != nil {
		return nil, err
	}
	if free != nil {
		return nil, free
	}
	if old := opt.Inherit; old != nil {
		im.opt.Inherit = nil
		im.inherit(old)
	}
	im.setProgram()
	return im, nil
}

// complete sets the defaults of a new archive's label.
func (opt *Options) complete() error {
	if opt.Version == 0 {
		opt.Version = archive.Version3
	}
	if archive.LabelSize(opt.Version) == 0 {
		return fmt.Errorf("version %d: %w", opt.Version, ErrBadVersion)
	}
	if opt.Host == "" {
		var err error
		if opt.Host, err = os.Hostname(); err != nil {
			return err
		}
	}
	if opt.TimeZone == "" {
		most := timezone.MaxLen
		if opt.Version < archive.Version3 {
			most-- // for the NUL in its label
		}
		opt.TimeZone = timezone.Local(most)
		if opt.ZoneInfo == "" {
			opt.ZoneInfo = timezone.File()
		}
	}
	if opt.Version < archive.Version3 {
		opt.ZoneInfo = ""
	}
	return nil
}

func (im *Importer) inherit(old *Importer) {
	for _, m := range old.metrics {
		im.add(m.name, m.desc)
	}
	for id, d := range old.indoms {
		for _, in := range d.slots {
			im.indom(id).add(in)
		}
		im.indoms[id].next = d.next
	}
	im.inheritRest(old)
	im.serial, im.last = old.serial, old.last
}

// inheritRest takes the text and labels of another archive.
func (im *Importer) inheritRest(old *Importer) {
	for _, t := range old.texts {
		t.done = false
		if im.old != nil && im.old.texts[t] {
			continue
		}
		im.texts = append(im.texts, t)
		im.said[t] = true
	}
	for _, l := range old.labels {
		l.set.Index = append([]pcp.LabelIndex(nil), l.set.Index...)
		key := labelKey{l.level, l.ident, 0}
		if l.level == pcp.LabelInstances {
			key.inst = l.set.Inst
		}
		im.labelAt[key] = len(im.labels)
		im.labels = append(im.labels, l)
	}
}

// Path returns the base name of the archive.
func (im *Importer) Path() string { return im.base }

// AddMetric declares a metric (pmiAddMetric(3)) and returns its PMID. With
// pcp.PMIDNull in desc it gets one of Domain that no other metric has. A metric
// with a single value has the instance domain pcp.InDomNull.
func (im *Importer) AddMetric(name string, desc pcp.Desc) (pcp.PMID, error) {
	if im.ended {
		return pcp.PMIDNull, pcp.ErrNoContext
	}
	if !pcp.ValidName(name) || len(name) > archive.MaxName {
		return pcp.PMIDNull, fmt.Errorf("%q: %w", name, ErrBadMetricName)
	}
	// Of two conflicts C reports the one with the metric declared first.
	same, other := im.byName[name], im.byID[desc.PMID]
	if same != nil && same.stored {
		return im.declare(same, desc)
	}
	switch {
	case same != nil && (other == nil || same.index <= other.index):
		return pcp.PMIDNull, fmt.Errorf("%s: %w", name, ErrDupMetricName)
	case other != nil:
		return pcp.PMIDNull, fmt.Errorf("%s: %s is that of %s: %w", name, desc.PMID, other.name, ErrDupMetricID)
	}
	if desc.Type < pcp.Type32 || desc.Type > pcp.TypeString {
		return pcp.PMIDNull, fmt.Errorf("%s: type %s: %w", name, desc.Type, ErrBadType)
	}
	switch desc.Sem {
	case pcp.SemInstant, pcp.SemCounter, pcp.SemDiscrete:
	default:
		return pcp.PMIDNull, fmt.Errorf("%s: semantics %d: %w", name, desc.Sem, ErrBadSem)
	}
	if desc.PMID == pcp.PMIDNull {
		for n := len(im.metrics) + 1; ; n++ {
			if n >= 1<<22 {
				return pcp.PMIDNull, fmt.Errorf("%s: no PMID left: %w", name, ErrDupMetricID)
			}
			desc.PMID = pcp.NewPMID(Domain, n>>10, n&(1<<10-1))
			if im.old == nil || im.byID[desc.PMID] == nil {
				break
			}
		}
	}
	im.add(name, desc)
	return desc.PMID, nil
}

func (im *Importer) add(name string, desc pcp.Desc) *metric {
	m := &metric{index: len(im.metrics), name: name, desc: desc}
	im.metrics = append(im.metrics, m)
	im.byName[name] = m
	if im.byID[desc.PMID] == nil { // C does not notice when it chooses one twice
		im.byID[desc.PMID] = m
	}
	return m
}

// AddInstance declares an instance (pmiAddInstance(3)). Names must differ in
// the part before the first blank, numbers must differ.
func (im *Importer) AddInstance(id pcp.InDom, name string, inst int32) error {
	if im.ended {
		return pcp.ErrNoContext
	}
	if strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("instance %q: a NUL in its name: %w", name, pcp.ErrInst)
	}
	if inst < 0 {
		return fmt.Errorf("instance %q: %d: %w", name, inst, pcp.ErrInst)
	}
	d := im.indom(id)
	sameName, dup := d.find(name)
	sameInst, taken := d.byInst[inst]
	switch {
	case dup && taken && sameName == sameInst && im.old != nil && sameName < im.old.instances[id] && d.slots[sameName].Name == name:
		return nil // the archive has it
	case dup && (!taken || sameName <= sameInst):
		return fmt.Errorf("instance %q: %w", name, ErrDupInstName)
	case taken:
		return fmt.Errorf("instance %q: %d is that of %q: %w", name, inst, d.slots[sameInst].Name, ErrDupInstID)
	}
	d.add(pcp.Instance{Inst: inst, Name: strings.Clone(name)})
	return nil
}

func (im *Importer) indom(id pcp.InDom) *indom {
	d := im.indoms[id]
	if d == nil {
		d = &indom{id: id, byName: make(map[string]int), byWord: make(map[string]int), byInst: make(map[int32]int)}
		im.indoms[id] = d
	}
	return d
}

// find returns the slot of an instance: an instance with a blank in its name is
// found by the part before it.
func (d *indom) find(name string) (slot int, ok bool) {
	if i := strings.IndexByte(name, ' '); i >= 0 {
		slot, ok = d.byWord[name[:i+1]]
	} else {
		slot, ok = d.byName[name]
	}
	return slot, ok
}

func (d *indom) add(in pcp.Instance) {
	slot := len(d.slots)
	d.slots = append(d.slots, in)
	d.disk = append(d.disk, in)
	d.byName[in.Name] = slot
	d.byInst[in.Inst] = slot
	if i := strings.IndexByte(in.Name, ' '); i >= 0 {
		d.byWord[in.Name[:i+1]] = slot
	}
	d.done = false
	if in.Inst >= d.next && in.Inst < 1<<31-1 {
		d.next = in.Inst + 1
	}
}

// Write writes the values put since the last Write as a record of the archive,
// and text and labels (pmiWrite(3), pmiHighResWrite). Version 2 keeps
// microseconds. Time must not go back.
func (im *Importer) Write(t time.Time) error { return im.write(pcp.TimestampOf(t)) }

// Flush writes the bytes in memory to the files. End does too.
func (im *Importer) Flush() error {
	if im.w == nil {
		return nil
	}
	return im.w.Flush()
}

// End completes the archive (pmiEnd(3)). Values that were put after the last
// Write are lost. If nothing was ever written there is no archive, and End returns
// ErrNoData; an archive that was appended to stays as it was. A second End does nothing.
func (im *Importer) End() error {
	if im.ended {
		return nil
	}
	im.ended = true
	if im.w == nil {
		return im.endProgram(fmt.Errorf("%s: %w", im.base, ErrNoData))
	}
	var err error
	if im.old == nil || im.old.begun {
		err = im.w.Index(im.last)
	}
	if e := im.w.Close(); err == nil {
		err = e
	}
	return im.endProgram(err)
}

// Discard ends the archive and removes its files. They are all made by Write: the
// archive did not exist before. It restores an archive that was appended to.
func (im *Importer) Discard() error {
	im.ended = true
	if im.w == nil {
		return im.endProgram(nil)
	}
	return im.endProgram(im.w.Discard())
}
