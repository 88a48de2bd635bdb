package folio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Limits. A folio is written by hand or by a tool that records a few hosts.
const (
	MaxLine     = 64 << 10 // bytes of a line
	MaxArchives = 1 << 16  // archives of a folio
)

// The start of a folio. Part of the file format; do not change.
const (
	magic   = "PCPFolio"
	version = "Version: 1"
)

// Errors of Parse for files that are not folios.
var (
	ErrNoHeader  = errors.New("no header")
	ErrMagic     = errors.New("bad magic")
	ErrNoVersion = errors.New("no version")
	ErrVersion   = errors.New("unknown version")
)

// A LineError is the error of an incomplete Archive: line.
type LineError struct {
	Line    int    // the first is 1
	Missing string // "host" or "path"
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: missing %s", e.Line, e.Missing)
}

// A Folio is the contents of one file.
type Folio struct {
	Version  int
	Created  string // "on HOST at DATE"
	Creator  string // the tool, and after a blank its configuration if there is one
	Archives []Archive
}

// An Archive is an archive of a folio.
type Archive struct {
	Host string
	Base string // name as in the folio
}

// Path returns the base name of the archive, for a folio with the given path.
func (a Archive) Path(folio string) string {
	if filepath.IsAbs(a.Base) {
		return a.Base
	}
	return filepath.Dir(folio) + "/" + a.Base
}

// Open reads the folio at path.
func Open(path string) (Folio, error) {
	file, err := os.Open(path)
	if err != nil {
		return Folio{}, err
	}
	defer file.Close()
	f, err := Parse(file)
	if err != nil {
		return Folio{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse reads a folio. The errors are those of this package, or of r.
func Parse(r io.Reader) (Folio, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, MaxLine)
	n := 0
	next := func() bool { n++; return sc.Scan() }
	wrap := func(missing error) error {
		if err := sc.Err(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		return missing
	}
	if !next() {
		return Folio{}, wrap(ErrNoHeader)
	}
	if !strings.HasPrefix(sc.Text(), magic) {
		return Folio{}, ErrMagic
	}
	if !next() {
		return Folio{}, wrap(ErrNoVersion)
	}
	if !strings.HasPrefix(sc.Text(), version) {
		return Folio{}, ErrVersion
	}
	f := Folio{Version: 1}
	for next() {
		key, rest, _ := strings.Cut(sc.Text(), ":")
		switch key {
		case "Created":
			f.Created = strings.TrimSpace(rest)
		case "Creator":
			f.Creator = strings.TrimSpace(rest)
		case "Archive":
			words := strings.Fields(rest)
			switch len(words) {
			case 0:
				return Folio{}, &LineError{n, "host"}
			case 1:
				return Folio{}, &LineError{n, "path"}
			}
			if len(f.Archives) == MaxArchives {
				return Folio{}, fmt.Errorf("line %d: more than %d archives", n, MaxArchives)
			}
			f.Archives = append(f.Archives, Archive{words[0], words[1]})
		}
	}
	return f, wrap(nil)
}

// WriteTo writes f as a folio.
func (f Folio) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n# use pmafm(1) to process this PCP archive folio\n#\n", magic, version)
	fmt.Fprintf(&b, "Created: %s\nCreator: %s\n# \t\tHost\t\t\tBasename\n#\n", f.Created, f.Creator)
	for _, a := range f.Archives {
		fmt.Fprintf(&b, "%-15s %-23s %s\n", "Archive:", a.Host, a.Base)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
