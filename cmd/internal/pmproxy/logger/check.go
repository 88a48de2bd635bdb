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
	files // how many there are
)

func (f file) String() string { return [...]string{"meta", "index", "volume"}[f] }

const (
	maxStart = 253402300799 // the end of the year 9999, in seconds

	frame = 8 // bytes of the two length words of a record
	word  = 4 // bytes of one
)

// indexSize returns the length of an entry of the index.
func indexSize(version int) int { return len(archive.IndexEntry{}.Append(nil, version)) }

// whole returns the length of the record that b begins with, and 0 if more bytes
// have to come before that is known or the record is whole.
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

// results are what records of volumes are decoded into.
var results = sync.Pool{New: func() any { return new(pcp.Result) }}

// check decodes a whole record. It returns the time of an entry of the index or of
// a record of a volume.
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

// keepRecord is how long a record may be, in bytes, whose decoded form is used again.
const keepRecord = 1 << 20

// checkLabel refuses labels that this program does not write to disk.
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

// goodHost reports whether a name can be that of a host, and so of a directory (loggroup.c: check_hostname). No
// part of it begins or ends with a hyphen: programs would take a directory -rf for options.
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

// goodZone reports whether a zone can be in the environment of programs that read the
// archive, and names no file elsewhere (loggroup.c: check_tz).
func goodZone(zone string) bool {
	return !strings.HasPrefix(zone, "/") && !strings.Contains(zone, "..") && strings.Trim(zone, alnum+"/_+-.:,<>") == ""
}
