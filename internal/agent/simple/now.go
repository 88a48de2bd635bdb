package simple

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// words are the instances that simple.now can have.
var words = [...]string{"sec", "min", "hour"}

// A nowDomain is the instance domain of simple.now.
type nowDomain struct {
	path   string
	log    *slog.Logger
	time   time.Time      // of the last refresh
	known  []pcp.Instance // all instances so far: an instance keeps its number
	active []pcp.Instance // in ascending order

	loaded bool // active follows the file, or its absence
	mtime  time.Time
	size   int64
	failed string // error of reading the file, once logged
}

// value returns the part of the time for the i-th instance.
func (d *nowDomain) value(i int) uint32 {
	switch d.active[i].Name {
	case "sec":
		return uint32(d.time.Second())
	case "min":
		return uint32(d.time.Minute())
	}
	return uint32(d.time.Hour())
}

// check reads the file again if it has changed.
func (d *nowDomain) check() {
	fi, err := os.Stat(d.path)
	if err == nil && d.loaded && fi.ModTime().Equal(d.mtime) && fi.Size() == d.size {
		return
	}
	if err != nil {
		fi = nil
		if errors.Is(err, fs.ErrNotExist) {
			if d.loaded && d.mtime.IsZero() {
				return
			}
			d.loaded, d.mtime, d.failed = true, time.Time{}, ""
			d.set(words[:])
			return
		}
	}
	var list []string
	if err == nil {
		list, err = readWords(d.path)
	}
	if err != nil {
		if d.failed != err.Error() {
			d.failed = err.Error()
			d.log.Error("configuration cannot be read", "err", err)
		}
		d.loaded = false
		d.set(nil)
		return
	}
	d.loaded, d.mtime, d.size, d.failed = true, fi.ModTime(), fi.Size(), ""
	d.set(list)
	if len(d.active) == 0 {
		d.log.Warn(`"timenow" instance domain is empty`)
	}
}

// set sets the instances to the words of list.
func (d *nowDomain) set(list []string) {
	d.active = nil
	for _, name := range list {
		if !slices.Contains(words[:], name) {
			d.log.Warn("word ignored", "word", name, "path", d.path)
			continue
		}
		is := func(in pcp.Instance) bool { return in.Name == name }
		i := slices.IndexFunc(d.known, is)
		if i < 0 {
			i = len(d.known)
			d.known = append(d.known, pcp.Instance{Inst: int32(i), Name: name})
		}
		if !slices.ContainsFunc(d.active, is) {
			d.active = append(d.active, d.known[i])
		}
	}
	slices.SortFunc(d.active, func(a, b pcp.Instance) int { return int(a.Inst - b.Inst) })
}

// maxLine is the number of bytes read of the first line.
const maxLine = 255

// readWords returns the words of the file's first line.
func readWords(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxLine)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, err
	}
	return strings.FieldsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r == ',' }), nil
}
