package logger

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
)

// A file is one of the three kinds of files of an archive.
type file int

const (
	metaFile file = iota
	indexFile
	volumeFile
	files // number of kinds
)

func (f file) String() string { return [...]string{"meta", "index", "volume"}[f] }

const (
	maxStart = 253402300799 // the end of the year 9999, in seconds

	frame = 8 // bytes of the length words before and after a record
	word  = 4 // bytes of a length word
)

// indexSize returns the length of an index entry.
func indexSize(version int) int { return len(archive.IndexEntry{}.Append(nil, version)) }

// whole returns the length of the record at the start of b, or 0 if b has too
// few bytes for the length or the record.
func whole(kind file, b []byte, version int) (int, error) {
	if kind == indexFile {
		if n := indexSize(version); len(b) >= n {
			return n, nil
		}
		return 0, nil
	}
	if len(b) < word {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(b)
	least := uint32(frame + 4)
	if kind == volumeFile {
		least = uint32(frame + archive.HeadSize(version))
	}
	if n < least || n > MaxRecord {
		return 0, fmt.Errorf("record of %d bytes, want %d to %d: %w", n, least, MaxRecord, pcp.ErrLogRec)
	}
	if uint64(len(b)) < uint64(n) {
		return 0, nil
	}
	if end := binary.BigEndian.Uint32(b[n-word:]); end != n {
		return 0, fmt.Errorf("record of %d bytes ends with length %d: %w", n, end, pcp.ErrLogRec)
	}
	return int(n), nil
}

// results are reused for decoding the records of volumes.
var results = sync.Pool{New: func() any { return new(pcp.Result) }}

// check decodes a complete record. It returns the time of an index entry or of a
// volume's record.
func check(kind file, rec []byte, version int) (t pcp.Timestamp, err error) {
	switch kind {
	case metaFile:
		_, err = archive.DecodeMeta(rec[word:len(rec)-word], version)
	case indexFile:
		e := archive.DecodeIndexEntry(rec, version)
		if e.Vol < 0 || e.Vol >= MaxVolumes || e.Meta < 0 || e.Data < 0 {
			return t, fmt.Errorf("index entry of volume %d, offsets %d and %d: %w", e.Vol, e.Meta, e.Data, pcp.ErrLogRec)
		}
		t = e.Time
	case volumeFile:
		res := results.Get().(*pcp.Result)
		err = archive.DecodeResult(res, rec[word:len(rec)-word], version)
		t = res.Time
		if len(rec) <= keepRecord { // long ones are rare
			results.Put(res)
		}
	}
	if err == nil && (t.Nsec < 0 || t.Nsec >= 1e9) {
		err = fmt.Errorf("time with %d nanoseconds: %w", t.Nsec, pcp.ErrLogRec)
	}
	return t, err
}

// keepRecord is the maximum length, in bytes, of a record whose decoded form is kept for reuse.
const keepRecord = 1 << 20

// checkLabel refuses labels that this program does not write.
func checkLabel(b []byte) (archive.Label, error) {
	l, err := archive.DecodeLabel(b)
	switch {
	case err != nil:
		return l, fmt.Errorf("%w: %w", pcp.ErrLabel, err)
	case len(b) != archive.LabelSize(l.Version):
		return l, fmt.Errorf("%d bytes, want a label of %d: %w", len(b), archive.LabelSize(l.Version), pcp.ErrLabel)
	case l.Features&^archive.FeatureQA != 0:
		return l, fmt.Errorf("features %#x are not known: %w", l.Features, pcp.ErrLabel)
	case l.Start.Sec < 0 || l.Start.Sec > maxStart || l.Start.Nsec < 0 || l.Start.Nsec >= 1e9:
		return l, fmt.Errorf("start %d.%09d: %w", l.Start.Sec, l.Start.Nsec, pcp.ErrLabel)
	case !goodHost(l.Host):
		return l, fmt.Errorf("%w: %q cannot be the name of a host", errRequest, l.Host)
	case !goodZone(l.TimeZone) || !goodZone(l.ZoneInfo):
		return l, fmt.Errorf("%w: %q or %q cannot be a time zone", errRequest, l.TimeZone, l.ZoneInfo)
	}
	return l, nil
}

const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// goodHost reports whether a name is valid for a host, and thus for a directory (loggroup.c: check_hostname).
// No part of it begins or ends with a hyphen: programs would take a directory -rf for options.
func goodHost(name string) bool {
	if len(name) > 255 || strings.Trim(name, alnum+"-._") != "" {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || len(part) > 63 || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
	}
	return true
}

// goodZone reports whether a zone is safe in the environment of programs that read
// the archive, and does not name a file elsewhere (loggroup.c: check_tz).
func goodZone(zone string) bool {
	return !strings.HasPrefix(zone, "/") && !strings.Contains(zone, "..") && strings.Trim(zone, alnum+"/_+-.:,<>") == ""
}
