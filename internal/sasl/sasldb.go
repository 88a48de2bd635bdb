package sasl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A Database is the contents of a file of saslpasswd2(8): passwords, in plain
// text, by name and realm.
type Database map[DatabaseKey]string

// A DatabaseKey is a name in a realm, which by default is the host's name.
type DatabaseKey struct{ User, Realm string }

// Limits of a database.
const (
	maxDatabase = 64 << 20
	minPageSize = 512
	maxPageSize = 64 << 10
)

// Numbers of Berkeley DB's file format; do not change.
const (
	hashMagic  = 0x061561
	pageHeader = 26 // bytes before a page's index

	pageHashUnsorted = 2  // P_HASH_UNSORTED, of older versions
	pageHashMeta     = 8  // P_HASHMETA
	pageHash         = 13 // P_HASH

	itemKeyData = 1 // H_KEYDATA
)

// propPassword is the property of an account that is its password.
const propPassword = "userPassword"

// ReadDatabase reads a database of Berkeley DB in its hash format. It takes
// all pages with pairs as they come, hashes and buckets do not matter for that:
//
//	0   log sequence number
//	8   page number, previous, next
//	20  number of items (16 bits), offset of free space (16 bits)
//	24  level, type (8 bits each)
//	26  offset of each item (16 bits); items fill the page from its end
//
// A key is name, realm and property with a NUL between. Either byte order is
// read; an encrypted database, or one with checksums, is not.
func ReadDatabase(r io.Reader) (Database, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxDatabase+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxDatabase:
		return nil, fmt.Errorf("more than %d bytes", maxDatabase)
	case len(b) < minPageSize:
		return nil, fmt.Errorf("%d bytes are too few for a database", len(b))
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(b[12:]) != hashMagic {
		order = binary.BigEndian
		if order.Uint32(b[12:]) != hashMagic {
			return nil, errors.New("offset 12: not a Berkeley DB hash database")
		}
	}
	version, size := order.Uint32(b[16:]), order.Uint32(b[20:])
	switch {
	case version < 7 || version > 10:
		return nil, fmt.Errorf("offset 16: version %d of the hash format, 7 to 10 are known", version)
	case size < minPageSize || size > maxPageSize || size&(size-1) != 0:
		return nil, fmt.Errorf("offset 20: page size %d", size)
	case b[24] != 0:
		return nil, errors.New("offset 24: database is encrypted")
	case b[25] != pageHashMeta:
		return nil, fmt.Errorf("offset 25: first page is of type %d", b[25])
	case b[26] != 0:
		return nil, errors.New("offset 26: database with checksums or partitions")
	}
	db := Database{}
	for start := int(size); start+int(size) <= len(b); start += int(size) {
		page := b[start : start+int(size)]
		if t := page[25]; t != pageHash && t != pageHashUnsorted {
			continue
		}
		if err := db.page(page, order); err != nil {
			return nil, fmt.Errorf("page at offset %d: %w", start, err)
		}
	}
	return db, nil
}

// page takes the pairs of a page.
func (db Database) page(page []byte, order binary.ByteOrder) error {
	n := int(order.Uint16(page[20:]))
	if n%2 != 0 || pageHeader+2*n > len(page) {
		return fmt.Errorf("%d items", n)
	}
	end := len(page)
	var key []byte
	for i := range n {
		start := int(order.Uint16(page[pageHeader+2*i:]))
		if start < pageHeader+2*n || start >= end {
			return fmt.Errorf("item %d from %d to %d", i, start, end)
		}
		item := page[start:end]
		end = start
		if i%2 == 0 {
			key = item
			continue
		}
		if err := db.pair(key, item); err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
	}
	return nil
}

// pair takes a key and its value, each with its type before it.
func (db Database) pair(key, value []byte) error {
	if key[0] != itemKeyData {
		return nil // no account has a key as long as a page
	}
	parts := bytes.Split(key[1:], []byte{0})
	if len(parts) != 3 || string(parts[2]) != propPassword {
		return nil
	}
	if value[0] != itemKeyData {
		return fmt.Errorf("password of %.40q does not lie in the page", parts[0])
	}
	db[DatabaseKey{string(parts[0]), string(parts[1])}] = string(value[1:])
	return nil
}
