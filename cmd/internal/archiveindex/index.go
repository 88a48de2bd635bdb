package archiveindex

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// Limits of an index.
const (
	MaxArchives = 10_000  // of a day
	MaxFiles    = 100_000 // of an archive
	MaxLabels   = 1_000
	maxName     = 255
	maxDays     = 4_000 // of an archive
	maxTries    = 20    // of an update that other writers disturb
)

// Version is the version of the format.
const Version = fileversion.ArchiveIndex

// A Day is the index of a day.
type Day struct {
	Version  int       `json:"version"`
	Host     string    `json:"host"`
	Day      string    `json:"day"` // YYYYMMDD
	Archives []Archive `json:"archives"`
}

// An Archive is an entry of an index.
type Archive struct {
	Name     string            `json:"name"`               // of its files, without suffixes
	Begin    time.Time         `json:"begin"`              // time of the first record
	End      time.Time         `json:"end"`                // of the last record in a stored volume
	Complete bool              `json:"complete,omitempty"` // no files will follow
	Labels   map[string]string `json:"labels,omitempty"`   // of the host
	Files    []File            `json:"files"`
}

// A File is a file of an archive.
type File struct {
	Name   string    `json:"name"`
	Size   int64     `json:"size"`
	SHA256 string    `json:"sha256"`
	Begin  time.Time `json:"begin,omitzero"` // of a volume: times of its first and last record
	End    time.Time `json:"end,omitzero"`
}

// NameOf returns the name of the index of the day of a time, in the directory of a host.
func NameOf(day string) string { return "index/" + day + ".json" }

// DayOf returns the day of a time, as YYYYMMDD.
func DayOf(t time.Time) string { return t.UTC().Format(dayFormat) }

const dayFormat = "20060102"

// Days returns the days from one time to another, at most some 4,000 of them, the last ones.
func Days(begin, end time.Time) []string {
	var days []string
	for t := end.UTC(); len(days) < maxDays; t = t.AddDate(0, 0, -1) {
		days = append(days, DayOf(t))
		if DayOf(t) <= DayOf(begin) {
			break
		}
	}
	slices.Reverse(days)
	return days
}

// Decode decodes an index, and checks it.
func Decode(b []byte) (*Day, error) {
	var d Day
	if err := fileversion.Unmarshal(b, Version, &d); err != nil {
		return nil, fmt.Errorf("index of archives: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("index of archives: %w", err)
	}
	return &d, nil
}

// Encode encodes an index.
func (d *Day) Encode() ([]byte, error) {
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("index of archives: %w", err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// goodName reports whether a name is that of a file, and not of one in another directory.
func goodName(name string) bool {
	return name != "" && len(name) <= maxName && name[0] != '.' && !strings.ContainsAny(name, "/\\\x00")
}

func (d *Day) check() error {
	if err := fileversion.Check(d.Version, Version); err != nil {
		return err
	}
	if t, err := time.Parse(dayFormat, d.Day); err != nil || DayOf(t) != d.Day {
		return fmt.Errorf("%.100q is not a day", d.Day)
	}
	if len(d.Archives) > MaxArchives {
		return fmt.Errorf("%d archives are more than %d", len(d.Archives), MaxArchives)
	}
	seen := make(map[string]bool)
	for i := range d.Archives {
		a := &d.Archives[i]
		switch {
		case !goodName(a.Name):
			return fmt.Errorf("%.300q is not the name of an archive", a.Name)
		case seen[a.Name]:
			return fmt.Errorf("the archive %q is listed twice", a.Name)
		case len(a.Files) > MaxFiles || len(a.Labels) > MaxLabels:
			return fmt.Errorf("the archive %q has %d files and %d labels; %d and %d are allowed", a.Name, len(a.Files), len(a.Labels), MaxFiles, MaxLabels)
		case a.End.Before(a.Begin):
			return fmt.Errorf("the archive %q ends before it begins", a.Name)
		}
		seen[a.Name] = true
		for _, f := range a.Files {
			sum, err := hex.DecodeString(f.SHA256)
			switch {
			case !goodName(f.Name) || !strings.HasPrefix(f.Name, a.Name+"."):
				return fmt.Errorf("%.300q is not the name of a file of the archive %q", f.Name, a.Name)
			case seen[f.Name]:
				return fmt.Errorf("the file %q is listed twice", f.Name)
			case f.Size < 0 || err != nil || len(sum) != 32:
				return fmt.Errorf("the file %q has %d bytes and the checksum %.100q", f.Name, f.Size, f.SHA256)
			case f.End.Before(f.Begin):
				return fmt.Errorf("the file %q ends before it begins", f.Name)
			}
			seen[f.Name] = true
		}
	}
	return nil
}

// Find returns an archive, or nil.
func (d *Day) Find(name string) *Archive {
	for i := range d.Archives {
		if d.Archives[i].Name == name {
			return &d.Archives[i]
		}
	}
	return nil
}

// Put adds or replaces an archive, and reports whether that changes the index.
func (d *Day) Put(a Archive) bool {
	if old := d.Find(a.Name); old == nil {
		d.Archives = append(d.Archives, a)
	} else if same(old, &a) {
		return false
	} else {
		*old = a
	}
	slices.SortFunc(d.Archives, func(a, b Archive) int { return cmp.Or(a.Begin.Compare(b.Begin), strings.Compare(a.Name, b.Name)) })
	return true
}

// Drop removes an archive, and reports whether there was one.
func (d *Day) Drop(name string) bool {
	n := len(d.Archives)
	d.Archives = slices.DeleteFunc(d.Archives, func(a Archive) bool { return a.Name == name })
	return len(d.Archives) < n
}

func same(a, b *Archive) bool {
	return a.Begin.Equal(b.Begin) && a.End.Equal(b.End) && a.Complete == b.Complete && maps.Equal(a.Labels, b.Labels) &&
		slices.EqualFunc(a.Files, b.Files, func(x, y File) bool {
			return x.Name == y.Name && x.Size == y.Size && x.SHA256 == y.SHA256 && x.Begin.Equal(y.Begin) && x.End.Equal(y.End)
		})
}

// Load reads the index of a day from the directory of a host, and its version. If there is none, the error wraps fs.ErrNotExist.
func Load(ctx context.Context, dir *objects.Dir, day string) (*Day, string, error) {
	b, version, err := dir.Read(ctx, NameOf(day))
	if err != nil {
		return nil, "", err
	}
	d, err := Decode(b)
	if err == nil && d.Day != day {
		err = fmt.Errorf("it is the index of the day %s", d.Day)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", dir.Address(NameOf(day)), err)
	}
	return d, version, nil
}

// Update changes the index of a day: it calls change with the index, an empty one if there is none, and writes it unless change
// returns false. If another process writes the index meanwhile, that is repeated.
func Update(ctx context.Context, dir *objects.Dir, host, day string, change func(*Day) bool) error {
	for try := 0; ; try++ {
		d, version, err := Load(ctx, dir, day)
		if errors.Is(err, fs.ErrNotExist) {
			d, version, err = &Day{Version: Version, Host: host, Day: day}, "", nil
		}
		if err != nil {
			return err
		}
		if !change(d) {
			return nil
		}
		b, err := d.Encode()
		if err != nil {
			return fmt.Errorf("%s: %w", dir.Address(NameOf(day)), err)
		}
		_, err = dir.Write(ctx, NameOf(day), b, objects.IfVersion(version))
		if !errors.Is(err, objects.ErrConflict) || try == maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(try+1) * 20 * time.Millisecond)):
		}
	}
}
