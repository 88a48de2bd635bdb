package send

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// A place is a time in the archives of a directory.
type place struct {
	Base    string `json:"archive"` // name of the archive in the directory
	Started int64  `json:"started"` // start of the archive in microseconds
	Sent    int64  `json:"sent"`    // samples up to this time in milliseconds, noTime for none
	Whole   bool   `json:"whole,omitempty"`
}

func (p place) compare(q place) int {
	if c := cmp.Compare(p.Started, q.Started); c != 0 {
		return c
	}
	switch {
	case p.Whole == q.Whole:
		return cmp.Compare(p.Sent, q.Sent)
	case p.Whole:
		return 1
	}
	return -1
}

// A state is the contents of the file that has a sender's position.
type state struct {
	Version int `json:"version"`
	// The server has accepted everything before At. It has had everything before Safe for so long that it does not lose it.
	At   place `json:"at"`
	Safe place `json:"safe"`
}

const (
	stateVersion = fileversion.SendPosition
	maxState     = 64 << 10
)

// readState reads the file of a state. Without a file it returns false.
func readState(path string) (s state, ok bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	if s, err = parseState(b); err != nil {
		return s, false, fmt.Errorf("%s: %w", path, err)
	}
	return s, true, nil
}

func parseState(b []byte) (s state, err error) {
	if len(b) > maxState {
		return s, fmt.Errorf("larger than %d bytes", maxState)
	}
	if err := fileversion.Unmarshal(b, stateVersion, &s); err != nil {
		return state{}, err
	}
	if err := fileversion.Check(s.Version, stateVersion); err != nil {
		return state{}, err
	}
	for _, p := range []place{s.At, s.Safe} {
		if p.Base != "" && p.Base != filepath.Base(p.Base) || strings.HasPrefix(p.Base, ".") {
			return state{}, fmt.Errorf("%q is not the name of an archive", p.Base)
		}
	}
	return s, nil
}

// write replaces the file. It is not synced to disk: after a crash of the machine the server is asked.
func (s *state) write(path string) error {
	s.Version = stateVersion
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// A found archive is one of a directory.
type found struct {
	base    string
	host    string
	started int64
}

// A directory lists the archives of a directory. It reads the label of each once.
type directory struct {
	path  string
	host  string // in the labels; "" accepts all
	known map[string]found
}

// list returns the archives that have begun, in the order of their start.
func (d *directory) list() ([]found, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	if d.known == nil {
		d.known = make(map[string]found)
	}
	there := make(map[string]bool)
	var list []found
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if !ok || part != "meta" || strings.HasPrefix(e.Name(), ".") || there[base] {
			continue
		}
		there[base] = true
		f, ok := d.known[base]
		if !ok {
			a, err := archive.Open(filepath.Join(d.path, base))
			if err != nil {
				continue // it has not begun, or is damaged
			}
			l := a.Label()
			a.Close()
			f = found{base, l.Host, l.Start.Sec*1e6 + int64(l.Start.Nsec)/1e3}
			d.known[base] = f
		}
		if d.host == "" || f.host == d.host {
			list = append(list, f)
		}
	}
	for base := range d.known {
		if !there[base] {
			delete(d.known, base)
		}
	}
	slices.SortFunc(list, func(a, b found) int { return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.base, b.base)) })
	return list, nil
}
