package openmetrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A numbering gives names numbers from 0, and remembers them in a file. A name keeps its number for good.
//
// The file is that of the Python agent, so that each continues the numbers of the other: the list of names and a
// truth value, two objects of Python's pickle protocol 0. This is part of the file format; do not change:
//
//	(lp0            a list
//	Vname           a string, \uXXXX for a backslash, newline, and what is not Latin-1
//	p1
//	a...            append it
//	.               end of the object
//	I01             true if instances are called by their number too, else I00
//	.
type numbering struct {
	path     string // "" if it is not kept
	names    []string
	index    map[string]int32
	prefixed bool // the names of instances begin with their numbers
	changed  bool // since it was last saved
	list     []pcp.Instance
}

// Limits of a file of names.
const (
	maxNamesFile = 256 << 20
	maxName      = 64 << 10
)

// openNumbering reads the names in the file at path. A file that does not exist has no names.
func openNumbering(path string) (*numbering, error) {
	n := &numbering{path: path, index: make(map[string]int32)}
	if path == "" {
		return n, nil
	}
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxNamesFile+1))
	if err == nil && len(b) > maxNamesFile {
		err = fmt.Errorf("more than %d bytes", maxNamesFile)
	}
	if err != nil {
		return n, fmt.Errorf("%s: %w", path, err)
	}
	names, prefixed, err := unpickle(b)
	if err != nil {
		return n, fmt.Errorf("%s: %w", path, err)
	}
	n.names, n.prefixed = names, prefixed
	for i, name := range names {
		n.index[name] = int32(i)
	}
	return n, nil
}

// add returns the number of a name, a new one if it is not known yet. It returns false if there are
// limit names already.
func (n *numbering) add(name string, limit int) (int32, bool) {
	if i, ok := n.index[name]; ok {
		return i, true
	}
	if len(n.names) >= limit || len(name) > maxName {
		return 0, false
	}
	i := int32(len(n.names))
	name = strings.Clone(name)
	n.names = append(n.names, name)
	n.index[name] = i
	n.changed = true
	return i, true
}

// instances returns the names as instances. The slice is never changed.
func (n *numbering) instances() []pcp.Instance {
	if len(n.list) == len(n.names) {
		return n.list
	}
	list := make([]pcp.Instance, len(n.names))
	for i, name := range n.names {
		list[i] = pcp.Instance{Inst: int32(i), Name: n.full(i, name)}
	}
	n.list = list
	return list
}

func (n *numbering) full(i int, name string) string {
	if n.prefixed {
		name = strconv.Itoa(i) + " " + name
	}
	return name
}

// A record is what a file of names is to have.
type record struct {
	n        *numbering
	names    []string
	prefixed bool
}

// record returns the record to be written if something has changed.
func (n *numbering) record() (r record, ok bool) {
	if !n.changed || n.path == "" {
		return r, false
	}
	n.changed = false
	return record{n, n.names[:len(n.names):len(n.names)], n.prefixed}, true
}

// write writes the file.
func (r record) write() error {
	b, how := pickle(r.names, r.prefixed), safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}
	err := safefile.ReplaceBytes(r.n.path, b, how)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(r.n.path), 0o755); err == nil {
			err = safefile.ReplaceBytes(r.n.path, b, how)
		}
	}
	return err
}

func pickle(names []string, flag bool) []byte {
	b := []byte("(lp0\n")
	for i, name := range names {
		b = append(b, 'V')
		for _, r := range name {
			switch {
			case r == '\\' || r == 0 || r == '\n' || r == '\r' || r == 0x1a || r > 0xff && r <= 0xffff:
				b = fmt.Appendf(b, `\u%04x`, r)
			case r > 0xffff:
				b = fmt.Appendf(b, `\U%08x`, r)
			default:
				b = append(b, byte(r)) // Latin-1
			}
		}
		b = fmt.Appendf(b, "\np%d\na", i+1)
	}
	b = append(b, '.')
	if flag {
		return append(b, "I01\n."...)
	}
	return append(b, "I00\n."...)
}

var errNotNames = errors.New("not a list of names as this agent and that in Python write it")

// unpickle reads a list of strings and a truth value, which old files do not have.
func unpickle(b []byte) (names []string, flag bool, err error) {
	line := func() (string, bool) {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return "", false
		}
		s := string(b[:i])
		b = b[i+1:]
		return s, true
	}
	if rest, ok := bytes.CutPrefix(b, []byte("(lp0\n")); ok {
		b = rest
	} else {
		return nil, false, errNotNames
	}
	seen := make(map[string]bool)
	for len(b) > 0 && b[0] != '.' {
		op := b[0]
		b = b[1:]
		switch op {
		case 'V', 'S':
			raw, ok := line()
			if !ok || len(raw) > 6*maxName {
				return nil, false, errNotNames
			}
			name, ok := unescapeUnicode(raw)
			if op == 'S' { // of Python 2
				name, ok = strings.Trim(raw, "'\""), len(raw) >= 2
			}
			if !ok || seen[name] {
				return nil, false, errNotNames
			}
			seen[name] = true
			names = append(names, name)
		case 'p': // remembers it
			if _, ok := line(); !ok {
				return nil, false, errNotNames
			}
		case 'a':
		default:
			return nil, false, errNotNames
		}
	}
	if len(b) == 0 {
		return nil, false, errNotNames
	}
	switch string(b[1:]) {
	case "I01\n.":
		return names, true, nil
	case "I00\n.", "":
		return names, false, nil
	}
	return nil, false, errNotNames
}

// unescapeUnicode reads the raw-unicode-escape of Python.
func unescapeUnicode(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || s[i+1] != 'u' && s[i+1] != 'U' {
			b.WriteRune(rune(s[i]))
			continue
		}
		digits := 4
		if s[i+1] == 'U' {
			digits = 8
		}
		if len(s) < i+2+digits {
			return "", false
		}
		r, err := strconv.ParseUint(s[i+2:i+2+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(r)) {
			return "", false
		}
		b.WriteRune(rune(r))
		i += 1 + digits
	}
	return b.String(), true
}
