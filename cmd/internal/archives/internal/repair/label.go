package repair

import (
	"encoding/binary"

	"github.com/go-pcp/pcp/archive"
)

// electLabel returns the label that most files have, the first of several; ok is
// false if no file has a good one.
func electLabel(files []*input) (label archive.Label, ok bool) {
	votes, first := make(map[archive.Label]int), make(map[archive.Label]int)
	for i, in := range files {
		l, err := archive.DecodeLabel(in.at(0, int64(archive.LabelSize(archive.Version3))))
		if err != nil || in.torn(0, int64(archive.LabelSize(l.Version))) {
			continue
		}
		l.Vol = 0
		if _, known := first[l]; !known {
			first[l] = i
		}
		votes[l]++
	}
	best := 0
	for l, n := range votes {
		if n > best || n == best && first[l] < first[label] {
			best, label = n, l
		}
	}
	return label, best > 0
}

// guessLabel makes a label of the remains of the first file's; the records
// determine its version.
func guessLabel(files []*input, version int) archive.Label {
	size := archive.LabelSize(version)
	for _, in := range files {
		b := append([]byte(nil), in.at(0, int64(size))...)
		if len(b) < size {
			continue
		}
		const magic = 0x50052600
		binary.BigEndian.PutUint32(b, uint32(size))
		binary.BigEndian.PutUint32(b[4:], magic|uint32(version))
		binary.BigEndian.PutUint32(b[size-4:], uint32(size))
		l, err := archive.DecodeLabel(b)
		if err != nil || !printable(l.Host) || !printable(l.TimeZone) || !printable(l.ZoneInfo) || l.Host == "" || !goodTime(l.Start) {
			continue
		}
		return l
	}
	return archive.Label{Version: version, Host: "unknown", TimeZone: "UTC"}
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
