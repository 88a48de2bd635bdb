package check

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/storage"
)

// split finds the directory and the base name of the archive as pmlogcheck
// does: "foo.meta", "foo.index" and, if there is such a file, "foo.7" are of
// "foo".
func (c *Checker) split() {
	c.dir, c.base = dirName(c.Path), path.Base(c.Path)
	if i := strings.LastIndexByte(c.base, '.'); i >= 0 {
		digit := i+1 < len(c.base) && c.base[i+1] >= '0' && c.base[i+1] <= '9'
		if _, err := storage.Stat(c.Path); err == nil || !digit {
			if b, _, ok := archive.BaseName(c.base); ok {
				c.base = b
			}
		}
	}
	c.name = c.join(c.base)
}

// Base returns the name of the archive of Path, without the suffix of a file.
func (c *Checker) Base() string {
	c.split()
	return c.name
}

// Files returns the files of the archive that path names, even if some are
// missing, in the order of the directory.
func Files(path string) []string {
	c := Checker{Path: path}
	c.split()
	list := c.files()
	for i := range list {
		list[i] = c.join(list[i])
	}
	return list
}

// join puts the directory before the name of a file, unless it is ".".
func (c *Checker) join(name string) string {
	if c.dir == "." {
		return name
	}
	return c.dir + "/" + name
}

// dirName is dirname(3), which unlike path.Dir does not clean the name.
func dirName(p string) string {
	p = strings.TrimRight(p, "/")
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		if p == "" {
			return "/"
		}
		return "."
	}
	if d := strings.TrimRight(p[:i], "/"); d != "" {
		return d
	}
	return "/"
}

// files returns the files of the archive, in the order of the directory, or in that
// of PCP 7: index, metadata, volumes.
func (c *Checker) files() []string {
	c.tracef(1, "Scanning for components of archive \"%s\"\n", c.Path)
	names, err := namesIn(c.dir)
	if err != nil {
		return nil
	}
	c.tracef(3, "archbasename=\"%s\" len=%d\n", c.base, len(c.base))
	if c.Verbose >= 3 {
		names = append([]string{".", ".."}, names...)
	}
	var list []string
	for _, name := range names {
		why := "yes"
		b, _, ok := archive.BaseName(name)
		switch {
		case len(name) < len(c.base)+1 || name[len(c.base)] != '.' || !ok:
			why = "no (not expected extension after basename)"
		case b != c.base:
			why = fmt.Sprintf("no (first %d chars not matched)", len(c.base))
		default:
			list = append(list, name)
		}
		c.tracef(3, "d_name=\"%s\"? %s\n", name, why)
	}
	if c.Seven {
		slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	}
	return list
}

// rank returns the place of a file in the order of PCP 7.
func rank(name string) int {
	switch _, part, _ := archive.BaseName(name); part {
	case "index":
		return -2
	case "meta":
		return -1
	default:
		n, _ := strconv.Atoi(part)
		return n
	}
}

// namesIn returns the names of the files in a directory, in its own order. An incomplete list is fine.
func namesIn(dir string) ([]string, error) {
	if storage.Remote(dir) {
		entries, err := storage.ReadDir(dir)
		names := make([]string, len(entries))
		for i := range entries {
			names[i] = entries[i].Name()
		}
		return names, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	return names, nil
}

// pass0 checks each file, and whether the necessary files exist.
func (c *Checker) pass0() bool {
	list := c.files()
	if len(list) == 0 {
		c.program(fmt.Sprintf("no PCP archive files match \"%s\"", c.Path))
		return false
	}
	for _, name := range list {
		if st, err := storage.Stat(storage.Join(c.dir, name)); err == nil {
			c.total += st.Size()
			if _, part, _ := archive.BaseName(name); part != "meta" && part != "index" && !c.MetaOnly {
				c.total += st.Size() // pass 3 reads it once more
			}
		}
	}
	ok := true
	for _, name := range list {
		if !c.checkFile(name) && !c.Full {
			ok = false
		}
	}
	prefix := c.dir + "/" + c.base
	if c.meta == missing {
		c.found(Error, prefix+".meta", -1, "", "missing metadata file")
		ok = false
	}
	if c.data == missing {
		c.found(Error, prefix+".0 (or similar)", -1, "", "missing log file ")
		ok = false
	}
	if !ok {
		c.tracef(1, "Due to earlier errors, cannot continue ... bye\n")
	}
	return ok
}

// A fileCheck is pass 0 over one file.
type fileCheck struct {
	c       *Checker
	path    string
	kind    string // "meta", "index" or the number of a volume
	in      input
	records int
	end     int64 // of the last good record, 0 before the first
	labelOK bool
}

// fail reports an error of the current record.
func (f *fileCheck) fail(format string, args ...any) {
	f.c.found(Error, f.path, f.in.off, fmt.Sprintf("[record %d]", f.records), fmt.Sprintf(format, args...))
}

// failIn reports an error of a record, which can also be the label.
func (f *fileCheck) failIn(part, format string, args ...any) {
	if f.records == 0 {
		f.c.found(Error, f.path, f.in.off, "", fmt.Sprintf(format, append([]any{"label record " + part}, args...)...))
		return
	}
	f.fail(format, append([]any{"record " + part}, args...)...)
}

// lastRecord reports where the last complete record of a file ends.
func (c *Checker) lastRecord(path string, end int64) {
	text := fmt.Sprintf("%s: last valid record ends at offset %d", path, end)
	if c.Seven {
		size := "of ??? bytes"
		if info, err := os.Stat(path); err == nil {
			size = fmt.Sprintf("(of %d)", info.Size())
		}
		text += " " + size
	}
	c.report(Finding{Severity: Note, File: path, Offset: end, Text: "last complete record ends here", Message: text + "\n"})
}

// checkFile is pass 0 for one file: false if it is damaged.
func (c *Checker) checkFile(name string) bool {
	p := c.join(name)
	_, kind, _ := archive.BaseName(name)
	src, err := archive.OpenFile(p)
	f := &fileCheck{c: c, path: p, kind: kind, labelOK: true}
	ok, warn := false, false
	if err != nil {
		c.found(Error, p, -1, "", "cannot open file: "+pcp.Code(err).Error())
	} else {
		defer src.Close()
		c.tracef(1, "%s: start pass0 ... ", p)
		c.open = true
		f.in.r = src
		f.in.progress = c.progress
		ok = f.run()
		if ok && f.records < 2 {
			c.found(Warning, p, -1, "", "contains no PCP data")
			warn = true
		}
		if !ok && f.end > 0 {
			c.endLine()
			c.lastRecord(p, f.end)
		}
	}
	st := good
	if !ok || warn {
		st = bad
	}
	switch {
	case kind == "index":
		c.index = st
	case kind == "meta":
		c.meta = st
	case c.data == missing || st == bad:
		c.data = st
	}
	if f.records > 0 && ok && (warn || f.labelOK) {
		c.tracef(1, "found %d records\n", f.records)
	}
	c.open = false
	return ok && (warn || f.labelOK)
}

// run reads all records.
func (f *fileCheck) run() bool {
	for {
		head := f.in.peek(4)
		if len(head) == 0 {
			return true
		}
		if len(head) < 4 {
			f.fail("unexpected EOF in record header, wanted 4, got %d bytes", len(head))
			return false
		}
		n := int32(binary.BigEndian.Uint32(head))
		if uint32(n) < 8 {
			f.illegal("header", n)
			return false
		}
		if !f.record(n) {
			return false
		}
		if f.kind == "index" {
			return f.entries()
		}
		f.records++
		f.end = f.in.off
	}
}

func (f *fileCheck) illegal(part string, n int32) {
	if f.records == 0 {
		f.c.found(Error, f.path, f.in.off, "", fmt.Sprintf("illegal %s record length (%d) in label record", part, n))
		return
	}
	f.fail("illegal %s record length (%d)", part, n)
}

// record checks a record of the given length, and moves behind it. pmlogcheck
// computes in C's int and takes a negative length for 8 bytes until the two
// lengths differ.
func (f *fileCheck) record(length int32) bool {
	body := max(0, int64(length-8))
	n := body + 8
	// The type of metadata, and the whole label.
	keep := int64(8)
	if f.records == 0 {
		keep = min(n, int64(archive.LabelSize(archive.Version3)))
	}
	front := bytes.Clone(f.in.peek(int(keep)))
	start := f.in.off
	tail, got := f.in.skip(n)
	if got < n {
		switch f.in.off = start; {
		case got < 4+body:
			f.failIn("body", "unexpected EOF in %s, wanted %d, got %d bytes", body, got-4)
		default:
			f.failIn("trailer", "unexpected EOF in %s, wanted %d, got %d bytes", 4, got-4-body)
		}
		return false
	}
	f.in.off = start
	defer func() { f.in.off = start + n }()
	switch {
	case uint32(tail) < 8:
		f.illegal("trailer", tail)
		return false
	case tail != length && f.records == 0:
		f.c.found(Error, f.path, start, "", fmt.Sprintf("label record length mismatch: header %d != trailer %d", length, tail))
		return false
	case tail != length:
		f.fail("length mismatch: header %d != trailer %d", length, tail)
		return false
	}
	if f.records == 0 {
		f.labelOK = f.label(front)
	} else if f.kind == "meta" && body > 0 {
		f.metaType(front[4:min(8, 4+body)])
	}
	return true
}

// metaType reports a type of metadata that does not go with the version.
func (f *fileCheck) metaType(b []byte) {
	t := int32(0)
	for _, x := range b {
		t = t<<8 | int32(x)
	}
	name, version := "", 0
	switch archive.MetaType(t) {
	case archive.MetaInDom:
		name, version = "INDOM", archive.Version3
	case archive.MetaInDomDelta:
		name, version = "INDOM_DELTA", archive.Version3
	case archive.MetaLabel:
		name, version = "LABEL", archive.Version3
	case archive.MetaInDomV2:
		name, version = "INDOM_V2", archive.Version2
	case archive.MetaLabelV2:
		name, version = "LABEL_V2", archive.Version2
	}
	if version != 0 && f.c.version != 0 && f.c.version != version {
		f.fail("unexpected record type %s (%d) for V%d archive", name, t, f.c.version)
	}
}

// odd reports an error of a label. Until PCP 7 it is on the line that -v left open.
func (f *fileCheck) odd(off int64, text string) {
	if f.c.Seven {
		f.c.endLine()
	}
	f.c.report(Finding{Severity: Error, File: f.path, Offset: off, Text: text, Message: f.path + ": " + text + "\n"})
}

// label checks the label, which has passed as a record.
func (f *fileCheck) label(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	const magicNumber = 0x50052600
	magic := binary.BigEndian.Uint32(b[4:])
	if magic&^0xff != magicNumber {
		f.odd(4, fmt.Sprintf("bad label magic number: 0x%x not 0x%x as expected", magic&^0xff, uint32(magicNumber)))
	}
	version := int(magic & 0xff)
	if archive.LabelSize(version) == 0 {
		f.odd(4, fmt.Sprintf("bad label version: %d not 2 or 3 as expected", version))
	}
	// The C library does not check the magic number here.
	binary.BigEndian.PutUint32(b[4:], magicNumber|uint32(version))
	l, err := archive.DecodeLabel(b)
	if err != nil {
		f.odd(0, "cannot load label record: "+pcp.Code(err).Error())
		return false
	}
	// The other labels are compared with the first good one.
	c := f.c
	if c.version == 0 {
		c.version, c.start, c.labelFile = version, l.Start, f.path
	}
	if version != c.version {
		// pmlogcheck names one version twice by mistake.
		c.report(Finding{
			Severity: Error, File: f.path, Offset: 4, Text: fmt.Sprintf("version %d, but %d in %s", version, c.version, c.labelFile),
			Message: fmt.Sprintf("%s: mismatched label version: %d not %d as expected from %s\n", f.path, version, version, c.labelFile),
		})
		return false
	}
	return true
}

// entries counts the entries of a temporal index.
func (f *fileCheck) entries() bool {
	size := int64(20)
	if f.c.version >= archive.Version3 {
		size = 32
	}
	f.records++
	for {
		_, got := f.in.skip(size)
		if got < size {
			if got > 0 {
				f.fail("unexpected EOF in index entry, wanted %d, got %d bytes", size, got)
			}
			return got == 0
		}
		f.records++
	}
}

// An input reads a file from its start to its end, in large pieces.
type input struct {
	r        io.ReaderAt
	off      int64 // start of the next record
	buf      []byte
	at       int64 // of buf in the file
	told     int64 // to progress
	progress func(int64)
}

const inputSize = 256 << 10

// view returns n bytes at an offset, fewer if the file ends or cannot be read,
// which is the same to pmlogcheck. N is at most inputSize.
func (in *input) view(off int64, n int) []byte {
	if i := off - in.at; i >= 0 && i+int64(n) <= int64(len(in.buf)) {
		return in.buf[i : i+int64(n)]
	}
	if in.buf == nil {
		in.buf = make([]byte, inputSize)
	}
	b, k := in.buf[:inputSize], 0
	for k < len(b) {
		got, err := in.r.ReadAt(b[k:], off+int64(k))
		k += got
		if err != nil {
			break
		}
	}
	in.buf, in.at = b[:k], off
	if in.progress != nil && off+int64(k) > in.told {
		in.progress(off + int64(k) - in.told)
		in.told = off + int64(k)
	}
	return in.buf[:min(n, k)]
}

// peek returns the next n bytes.
func (in *input) peek(n int) []byte { return in.view(in.off, n) }

// skip advances by n bytes and returns the last four of them as a number, or the
// number of bytes if there are fewer.
func (in *input) skip(n int64) (tail int32, got int64) {
	b := in.view(in.off+n-4, 4)
	if len(b) == 4 {
		in.off += n
		return int32(binary.BigEndian.Uint32(b)), n
	}
	// Search the end of the file by halves.
	lo, hi := int64(0), n // the file has lo bytes, but not hi
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if len(in.view(in.off+mid-1, 1)) == 1 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return 0, lo
}
