package archivecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/check"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/repair"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

var convertCommand = &cli.Command{
	Name:     "archive convert",
	Summary:  "change the version, compression or volumes of an archive",
	Synopsis: "[options] archive newname",
	Doc: `
Copies an archive, with another version, compression, or size of volumes.`,
	Examples: []cli.Example{
		{Line: "pcp archive convert --compress zstd 20261121 small", Text: "create a compressed copy"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'V', Long: "version", Arg: "N", Help: "version of the format, 2 or 3 [default: as it is]"},
			{Short: 'z', Long: "compress", Arg: "HOW", Help: "compress volumes and metadata: xz, zst, gz or none [default: none]"},
			{Short: 's', Long: "size", Arg: "BYTES", Help: "start a new volume before one gets longer; with suffix K, M or G"},
			cli.OptHelp,
		}
	},
	Run: convert,
}

// A conversion holds the options of a conversion.
type conversion struct {
	ctx     context.Context
	version int
	how     string // suffix of compressed files, "" for none
	bytes   int64  // of a volume, 0 to keep the volumes
}

func (c *conversion) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "version":
		n, ok := cli.Atoi(arg)
		if c.version = n; !ok || archive.LabelSize(n) == 0 {
			o.Usagef("version %q is neither 2 nor 3", arg)
		}
	case "compress":
		switch arg {
		case "none":
			c.how = ""
		case "xz", "zst", "gz":
			c.how = "." + arg
		case "gzip":
			c.how = ".gz"
		case "zstd":
			c.how = ".zst"
		default:
			o.Usagef("compression %q is not xz, zst, gz or none", arg)
		}
	case "size":
		var ok bool
		if c.bytes, ok = parseSize(arg); !ok {
			o.Usagef("size %q is no number of bytes of at least 4096", arg)
		}
	default:
		return false
	}
	return true
}

// parseSize reads a number of bytes.
func parseSize(s string) (int64, bool) {
	unit := int64(1)
	if s != "" {
		if i := strings.IndexByte("kmg", s[len(s)-1]|0x20); i >= 0 {
			unit, s = 1<<(10*(i+1)), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > math.MaxInt64/unit || n*unit < 4096 {
		return 0, false
	}
	return n * unit, true
}

func convert(ctx context.Context, env *cli.Env) int {
	c := conversion{ctx: ctx}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: c.own})
	switch n := len(o.Args); {
	case n == 2 || o.WantsVersion():
	case n == 1:
		o.Usagef("the name of the new archive is missing: \"%s archive convert %s NEW\"", env.Pcp(), o.Args[0])
	default:
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	from, to := o.Args[0], o.Args[1]
	notes, err := c.run(env, from, to)
	if err != nil {
		return failed(env, err)
	}
	for _, n := range notes {
		fmt.Fprintf(env.Stdout, "%s: %s\n", to, n)
	}
	return 0
}

// run converts an archive. The result appears under its name once it is complete.
func (c *conversion) run(env *cli.Env, from, to string) (notes []string, err error) {
	a, err := archive.Open(from)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if err := archive.CheckFree(to); err != nil {
		return nil, err
	}
	files, err := archive.FindFiles(from)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(to), ".pcp-convert-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, filepath.Base(to))
	m := cli.NewProgress(env, filepath.Base(to), 0)
	defer m.Clear()
	var total int64
	for _, path := range files.All() {
		if n, err := archive.FileSize(path); err == nil {
			total += n
		}
	}
	p := &passed{total: total, show: m.Set}
	if c.version == 0 {
		c.version = a.Version()
	}
	if c.version == a.Version() && c.bytes == 0 {
		// The records stay unchanged.
		if err := c.copyFiles(files, base, p); err != nil {
			return nil, err
		}
	} else {
		w := &rewriter{c: c, a: a, base: base, p: p}
		if err := w.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		notes = w.notes()
		if c.how != "" {
			p.restart()
			if err := c.compressAll(base, p); err != nil {
				return nil, err
			}
		}
	}
	if a, err := archive.Open(base); err != nil {
		return nil, fmt.Errorf("what was written does not open: %w", err)
	} else {
		a.Close()
	}
	return notes, publish(base, to)
}

// publish gives the files of an archive their names, which must not exist.
func publish(base, to string) error {
	list := check.Files(base)
	for _, path := range list {
		if err := repair.SyncFile(path); err != nil {
			return err
		}
	}
	slices.Sort(list)
	var made []string
	for _, path := range list {
		name := to + strings.TrimPrefix(path, base)
		if err := os.Link(path, name); err != nil {
			for _, name := range made {
				os.Remove(name)
			}
			return err
		}
		made = append(made, name)
	}
	return repair.SyncFile(filepath.Dir(to))
}

// passed counts bytes for a meter; it is not safe for concurrent use.
type passed struct {
	done, total int64
	show        func(done, total int64)
}

func (p *passed) add(n int64) {
	p.done += n
	p.show(p.done, p.total)
}

func (p *passed) restart() { p.done = 0 }

// A rewriter writes an archive record by record.
type rewriter struct {
	c    *conversion
	a    *archive.Archive
	w    *archive.Writer
	base string
	p    *passed

	copier  *archive.Copier
	check   archive.Checker
	rec     archive.Record
	meta    *archive.MetaReader
	held    *archive.MetaRecord // not written yet
	metaEnd bool

	cutStamps int  // lost nanoseconds
	lostZone  bool // and the name of the time zone
}

var errNoFit = errors.New("does not fit into version 2")

func (r *rewriter) run() error {
	l := r.a.Label()
	if r.c.version == archive.Version2 && l.Version != archive.Version2 {
		if err := r.fits(&l); err != nil {
			return err
		}
	}
	l.Version = r.c.version
	vols := r.a.Volumes()
	var err error
	r.w, err = archive.Create(r.base, archive.WriterConfig{Label: l, VolumeBytes: r.c.bytes, FirstVolume: vols[0]})
	if err != nil {
		return err
	}
	defer r.w.Close()
	r.copier = archive.NewCopier(r.w)
	var closer io.Closer
	if r.meta, closer, err = r.a.OpenMeta(); err != nil {
		return err
	}
	defer closer.Close()
	if err := r.records(vols); err != nil {
		return err
	}
	if err := r.metaUpTo(nil); err != nil {
		return err
	}
	return r.w.Close()
}

// fits reports whether a label fits into version 2, and converts it.
func (r *rewriter) fits(l *archive.Label) error {
	switch {
	case l.Features != 0:
		return fmt.Errorf("features %#x: %w", l.Features, errNoFit)
	case len(l.Host) > 63:
		return fmt.Errorf("host name of %d bytes: %w", len(l.Host), errNoFit)
	case len(l.TimeZone) > 39:
		return fmt.Errorf("time zone of %d bytes: %w", len(l.TimeZone), errNoFit)
	}
	r.lostZone = l.ZoneInfo != ""
	l.ZoneInfo = ""
	return r.time(&l.Start)
}

// time reports whether a time fits into version 2, and truncates it.
func (r *rewriter) time(t *pcp.Timestamp) error {
	if r.c.version != archive.Version2 {
		return nil
	}
	if t.Sec > math.MaxInt32 || t.Sec < math.MinInt32 {
		return fmt.Errorf("time %s: %w", t.Time().UTC().Format("2006-01-02 15:04:05"), errNoFit)
	}
	if t.Nsec%1000 != 0 {
		r.cutStamps++
		t.Nsec -= t.Nsec % 1000
	}
	return nil
}

// notes reports losses.
func (r *rewriter) notes() (list []string) {
	if r.cutStamps > 0 {
		list = append(list, fmt.Sprintf("%d times were cut to microseconds", r.cutStamps))
	}
	if r.lostZone {
		list = append(list, "the name of the time zone has no place in version 2")
	}
	return list
}

// records writes all records. It keeps the volumes of the old archive unless a volume
// size was given.
func (r *rewriter) records(vols []int) error {
	rd := r.a.NewReader()
	defer rd.Close()
	version := r.a.Version()
	same := version == r.c.version
	last := vols[0]
	for {
		body, err := rd.Step(archive.Forward)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		vol, _ := rd.Position()
		if vol != last && r.c.bytes == 0 {
			for ; last < vol; last++ {
				if err := r.w.NewVolume(); err != nil {
					return err
				}
			}
		}
		if err := r.c.ctx.Err(); err != nil {
			return err
		}
		r.p.add(int64(len(body)) + 8)
		t, _, ok := archive.RecordTime(body, version)
		if !ok {
			return fmt.Errorf("volume %d: record of %d bytes: %w", vol, len(body), pcp.ErrLogRec)
		}
		if err := r.metaUpTo(&t); err != nil {
			return err
		}
		if same {
			err = r.w.WriteRecord(t, body) // valid or not
		} else {
			err = r.record(body)
		}
		if err != nil {
			return err
		}
	}
}

// record writes a record in the new version.
func (r *rewriter) record(body []byte) error {
	r.rec.Body, r.rec.Version = body, r.a.Version()
	if err := r.check.Record(&r.rec); err != nil {
		return err
	}
	if err := r.time(&r.rec.Time); err != nil {
		return err
	}
	return r.copier.Record(&r.rec, nil)
}

// metaUpTo writes the metadata up to a time, all of it if the time is nil.
func (r *rewriter) metaUpTo(t *pcp.Timestamp) error {
	for !r.metaEnd || r.held != nil {
		if r.held == nil {
			rec, err := r.meta.Next()
			if errors.Is(err, io.EOF) {
				r.metaEnd = true
				return nil
			}
			if err != nil {
				return err
			}
			r.held = rec
		}
		if t != nil && r.held.Time.Sub(*t) > 0 {
			return nil
		}
		if err := r.writeMeta(r.held); err != nil {
			return err
		}
		r.held = nil
	}
	return nil
}

// writeMeta writes a metadata record in the new version.
func (r *rewriter) writeMeta(rec *archive.MetaRecord) error {
	switch rec.Type {
	case archive.MetaInDom, archive.MetaInDomDelta, archive.MetaLabel:
		if r.a.Version() == archive.Version2 && rec.Type == archive.MetaInDomDelta {
			return fmt.Errorf("instance domain %s: a delta in version 2: %w", rec.InDom, pcp.ErrRecType)
		}
		if err := r.time(&rec.Time); err != nil {
			return err
		}
	}
	return r.copier.Meta(rec, r.meta.Body())
}
