package statsd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// The file of names has a JSON object on each line: the head, and each metric followed by its series. This is part of the file
// format; do not change:
//
//	{"format":"pcp statsd names 1","next":2}    the number of the next metric
//	{"metric":"orders","kind":1,"next":3}       and the group of its next series
//	{"series":"state=paid","n":1}
type line struct {
	Format string  `json:"format,omitempty"`
	Metric string  `json:"metric,omitempty"`
	Kind   kind    `json:"kind,omitempty"`
	Series *string `json:"series,omitempty"`
	N      int     `json:"n,omitempty"`
	Next   int     `json:"next,omitempty"`
}

const (
	namesFormat  = "pcp statsd names" // before the version
	namesVersion = fileversion.StatsdNames
	maxNamesFile = 256 << 20
	maxNamesLine = 64 << 10
)

// appendNames appends the file.
func (t *table) appendNames(b []byte) []byte {
	put := func(l line) {
		text, err := json.Marshal(l)
		if err != nil {
			panic(err) // numbers and strings
		}
		b = append(append(b, text...), '\n')
	}
	put(line{Format: fmt.Sprint(namesFormat, " ", namesVersion), Next: t.next})
	for n := range t.next {
		m := t.byNumber[n]
		if m == nil {
			continue
		}
		put(line{Metric: m.name, Kind: m.kind, N: n, Next: int(m.next)})
		for _, s := range m.list {
			put(line{Series: &s.segment, N: int(s.group)})
		}
	}
	return b
}

// readNames reads the file into an empty table.
func (t *table) readNames(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxNamesLine)
	var last *metric
	n := 0
	for in.Scan() {
		n++
		if err := t.readLine(in.Bytes(), n == 1, &last); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	if n == 0 {
		return errors.New("the file is empty")
	}
	return nil
}

func (t *table) readLine(text []byte, first bool, last **metric) error {
	var l line
	err := json.Unmarshal(text, &l)
	named := false
	if first { // first of all, since the rest may have other types in a later version
		var verr error
		if named, verr = fileversion.CheckText(l.Format, namesFormat, namesVersion); verr != nil {
			return verr
		}
	}
	if err != nil {
		return err
	}
	m := *last
	switch {
	case first:
		if !named || l.Next < 0 || l.Next > maxNumber {
			return errors.New("not a file of names")
		}
		t.next = l.Next
	case l.Metric != "":
		if l.N < 0 || l.N >= t.next || t.byNumber[l.N] != nil || t.metrics[l.Metric] != nil || l.Kind < counter || l.Kind > set ||
			len(l.Metric) > maxName || l.Next < 1 || l.Next > 1<<31/stats {
			return fmt.Errorf("metric %.60q, number %d: twice, or out of range", l.Metric, l.N)
		}
		if len(t.metrics) >= t.limits.Metrics {
			*last = nil // its number is forgotten
			return nil
		}
		m = &metric{name: l.Metric, kind: l.Kind, number: l.N, next: int32(l.Next), index: make(map[string]*series)}
		m.describe(t.domain)
		t.metrics[m.name], t.byNumber[m.number], *last = m, m, m
	case l.Series != nil:
		if m == nil || t.series >= t.limits.Series {
			return nil
		}
		if l.N < 0 || l.N >= int(m.next) || (l.N == 0) != (*l.Series == "") || m.index[*l.Series] != nil ||
			len(m.list) > 0 && m.list[len(m.list)-1].group >= int32(l.N) {
			return fmt.Errorf("series %.60q, number %d: twice, or out of range", *l.Series, l.N)
		}
		m.add(&series{segment: *l.Series, group: int32(l.N)})
		t.series++
	default:
		return errors.New("neither a metric nor a series")
	}
	return nil
}

// load reads the file of names. If there is none, that is not an error.
func (t *table) load(path string) error {
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.readNames(io.LimitReader(f, maxNamesFile)); fileversion.IsNewer(err) {
		return fmt.Errorf("%s: %w", path, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w; without the file, metrics get new numbers", path, err)
	}
	return nil
}

// store writes the file of names.
func store(path string, b []byte) error {
	how := safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1}
	err := safefile.ReplaceBytes(path, b, how)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = safefile.ReplaceBytes(path, b, how)
		}
	}
	return err
}
