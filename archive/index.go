package archive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
)

// An IndexEntry gives, for a time, an offset in the metadata and one in a volume:
// nothing later is stored before them (pmLogTI).
type IndexEntry struct {
	Time pcp.Timestamp
	Vol  int32
	Meta int64 // offset in the metadata
	Data int64 // offset in the volume
}

// Sizes of an entry of the temporal index, which has no framing. Part of the
// file format; do not change.
//
//	v2  sec usec    vol meta    data
//	v3  sec:64 nsec vol meta:64 data:64
const (
	indexSize2 = 20
	indexSize3 = 32
)

// DecodeIndexEntry decodes the entry that b starts with. b must hold at least one
// entry.
func DecodeIndexEntry(b []byte, version int) IndexEntry {
	e := IndexEntry{Time: decodeStamp(b, version)}
	b = b[stampSize(version):]
	e.Vol = int32(binary.BigEndian.Uint32(b))
	if version >= Version3 {
		e.Meta, e.Data = int64(binary.BigEndian.Uint64(b[4:])), int64(binary.BigEndian.Uint64(b[12:]))
	} else {
		e.Meta, e.Data = int64(binary.BigEndian.Uint32(b[4:])), int64(binary.BigEndian.Uint32(b[8:]))
	}
	return e
}

// ReadIndex reads a whole temporal index. It ignores a cut last entry, which the
// logger may just be writing.
func ReadIndex(r io.Reader) (Label, []IndexEntry, error) { return readIndex(r, 0) }

// readIndex is ReadIndex for a file of at least length bytes.
func readIndex(r io.Reader, length int64) (Label, []IndexEntry, error) {
	var head [labelSize3]byte
	n, err := io.ReadFull(r, head[:8])
	if err != nil && !isEOF(err) {
		return Label{}, nil, err
	}
	if n == 8 {
		size := LabelSize(int(head[7]))
		if size == 0 {
			size = 8
		}
		k, err := io.ReadFull(r, head[8:size])
		if err != nil && !isEOF(err) {
			return Label{}, nil, err
		}
		n += k
	}
	label, err := DecodeLabel(head[:n])
	if err != nil {
		return Label{}, nil, fmt.Errorf("offset 0: %w", err)
	}
	size := int64(indexSize2)
	if label.Version >= Version3 {
		size = indexSize3
	}
	list, err := readIndexEntries(r, make([]IndexEntry, 0, min((length+size-1)/size, maxIndex)), label.Version)
	return label, list, err
}

func readIndexEntries(r io.Reader, list []IndexEntry, version int) ([]IndexEntry, error) {
	size := indexSize2
	if version >= Version3 {
		size = indexSize3
	}
	buf := make([]byte, min(max(cap(list), 16), 512)*size)
	for {
		n, err := io.ReadFull(r, buf)
		for b := buf[:n]; len(b) >= size; b = b[size:] {
			if len(list) >= maxIndex {
				return nil, fmt.Errorf("temporal index of more than %d entries: %w", maxIndex, pcp.ErrTooBig)
			}
			list = append(list, DecodeIndexEntry(b, version))
		}
		if isEOF(err) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
