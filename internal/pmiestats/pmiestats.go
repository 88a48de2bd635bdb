// Package pmiestats reads and writes the files in which running pmie processes report their state: each has one in
// $PCP_TMP_DIR/pmie, whose name is the number of the process.
//
//	f, err := pmiestats.Create(dir, os.Getpid())
//	f.Write(pmiestats.Stats{Config: path, Rules: 3})
//	f.Remove()
package pmiestats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-pcp/pcp/internal/safefile"
)

// Stats is the state that a process reports (pmiestats_t). The numbers are those
// of the metrics below pmcd.pmie.
type Stats struct {
	Config   string  // the first file of rules, "<stdin>" without one
	Log      string  // "<none>" if there is none
	Host     string  // of the collector
	Expected float32 // evaluations a second
	Rules, Actions, True, False, Unknown, Actual,
	Version uint32 // of the layout, see Version
}

// Version is that of the layout. A process sets it when the rest is there.
const Version = 1

// Offsets of the fields of the file, in the byte order of its host. Part of the file
// format; do not change.
const (
	maxPath = 4097 // MAXPATHLEN+1
	maxHost = 65   // MAXHOSTNAMELEN+1

	logAt      = maxPath
	hostAt     = logAt + maxPath
	expectedAt = (hostAt + maxHost + 3) &^ 3
	countsAt   = expectedAt + 4

	// Size is that of a file, in bytes.
	Size = countsAt + 7*4
)

func (s *Stats) counts() [7]*uint32 {
	return [...]*uint32{&s.Rules, &s.Actions, &s.True, &s.False, &s.Unknown, &s.Actual, &s.Version}
}

// Append appends the bytes of a file. Text that is too long is cut.
func (s *Stats) Append(b []byte) []byte {
	text := func(s string, size int) {
		field := make([]byte, size)
		copy(field[:size-1], s)
		b = append(b, field...)
	}
	start := len(b)
	text(s.Config, maxPath)
	text(s.Log, maxPath)
	text(s.Host, maxHost)
	b = append(b, make([]byte, expectedAt-(len(b)-start))...)
	b = binary.NativeEndian.AppendUint32(b, math.Float32bits(s.Expected))
	for _, n := range s.counts() {
		b = binary.NativeEndian.AppendUint32(b, *n)
	}
	return b
}

// ErrSize is that a file does not have the size of one.
var ErrSize = errors.New("not a file of pmie's statistics: wrong size")

// Decode takes the bytes of a file. It does not look at the version.
func (s *Stats) Decode(b []byte) error {
	if len(b) != Size {
		return ErrSize
	}
	text := func(from, size int) string {
		t, _, _ := bytes.Cut(b[from:from+size], []byte{0})
		return string(t)
	}
	s.Config, s.Log, s.Host = text(0, maxPath), text(logAt, maxPath), text(hostAt, maxHost)
	s.Expected = math.Float32frombits(binary.NativeEndian.Uint32(b[expectedAt:]))
	for i, n := range s.counts() {
		*n = binary.NativeEndian.Uint32(b[countsAt+4*i:])
	}
	return nil
}

// A File is the file of this process. The zero File ignores all updates.
type File struct {
	path string
	f    *os.File
	was  []byte
}

// Create makes the file of a process in dir, which must exist, without anything in it.
func Create(dir string, pid int) (*File, error) {
	path := filepath.Join(dir, strconv.Itoa(pid))
	f, err := safefile.Create(path, 0o644)
	if err != nil {
		return &File{}, err
	}
	file := &File{path: path, f: f, was: (&Stats{}).Append(nil)}
	if _, err := f.Write(file.was); err != nil {
		return &File{}, errors.Join(err, file.Remove())
	}
	return file, nil
}

// Write writes the fields that changed since the last time, for processes that have
// mapped the file.
func (f *File) Write(s Stats) error {
	if f.f == nil {
		return nil
	}
	now := s.Append(make([]byte, 0, Size))
	for _, part := range [][2]int{{0, logAt}, {logAt, hostAt}, {hostAt, expectedAt}, {expectedAt, Size}} {
		if b := now[part[0]:part[1]]; !bytes.Equal(b, f.was[part[0]:part[1]]) {
			if _, err := f.f.WriteAt(b, int64(part[0])); err != nil {
				return err
			}
		}
	}
	f.was = now
	return nil
}

// Remove removes the file.
func (f *File) Remove() error {
	if f.f == nil {
		return nil
	}
	err := errors.Join(f.f.Close(), safefile.Remove(f.path))
	f.f = nil
	return err
}
