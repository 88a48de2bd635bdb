package alert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// Limits of a spool, besides a receiver's Queue.
const (
	maxEntry = 256 << 10 // bytes of a file
	maxSpool = 64 << 20  // bytes of all files of a receiver
	// maxNotices limits the messages waiting about one alert.
	maxNotices = 16
)

// A notice is a message that a receiver has not accepted yet.
type notice struct {
	Status Status    `json:"status"`
	Number int       `json:"number,omitempty"` // the number of earlier notifications
	At     time.Time `json:"at"`
	Value  string    `json:"value,omitempty"`
	Text   string    `json:"text,omitempty"`
	Expr   string    `json:"expression,omitempty"`
	// Batch identifies the messages of one mail: all messages from one evaluation of a rule.
	Batch string `json:"batch,omitempty"`

	tries int
	alone bool // a message with others was refused
	// taken is when the notice was made, by a monotonic clock: At would make it too old when the time of day is
	// corrected. A notice from the spool has the age that At gives.
	taken time.Time
}

// An entry is the state of one alert for one receiver. It is stored in a file of the
// spool.
type entry struct {
	Version int           `json:"version"`
	Alert   Alert         `json:"alert"` // as last reported
	Holdoff time.Duration `json:"holdoff,omitempty"`
	Said    time.Time     `json:"said"` // when the last notice that it is firing was made
	Notices []*notice     `json:"notices,omitempty"`
	Refused bool          `json:"refused,omitempty"` // a receiver has refused reminders
	Mail    string        `json:"mail,omitempty"`    // the batch that first reported that it is firing

	size    int       // of its file
	refresh time.Time // the last reminder to an Alertmanager; zero for never
	alone   bool      // a reminder with others was refused
	busy    bool      // a message about it is being sent
	unsaved bool      // its file is out of date
}

const entryVersion = fileversion.AlertSpool

// over reports whether the alert is not firing any more.
func (e *entry) over() bool { return e.Alert.Status == Resolved }

// done reports whether an entry needs no more work.
func (e *entry) done(now time.Time) bool {
	return e.over() && len(e.Notices) == 0 && e.rested(now, e.Holdoff)
}

// rested reports whether the holdoff has passed since the last report that the alert is firing. If the clock was set
// back to before that report, the holdoff counts as passed: otherwise nothing would be reported for as long as the
// clock was wrong by.
func (e *entry) rested(now time.Time, holdoff time.Duration) bool {
	return now.Before(e.Said) || !now.Before(e.Said.Add(holdoff))
}

// said returns the alert with the fields of a notice.
func (e *entry) said(n *notice) Alert {
	a := e.Alert
	a.Status, a.Notice, a.Value, a.Text, a.Expr = n.Status, n.Number, n.Value, n.Text, n.Expr
	if n.Status == Firing {
		a.Until = time.Time{}
	} else {
		a.Until = n.At
	}
	return a
}

// decodeEntry reads a file of the spool. The entry that it returns is valid.
func decodeEntry(b []byte) (*entry, error) {
	if len(b) > maxEntry {
		return nil, fmt.Errorf("%d bytes: %w", len(b), ErrTooLong)
	}
	e := &entry{size: len(b)}
	if err := fileversion.Unmarshal(b, entryVersion, e); err != nil {
		return nil, err
	}
	if err := fileversion.Check(e.Version, entryVersion); err != nil {
		return nil, err
	}
	if err := e.Alert.check(); err != nil {
		return nil, err
	}
	if len(e.Notices) > maxNotices || e.Holdoff < 0 {
		return nil, fmt.Errorf("%d notices, holdoff %v", len(e.Notices), e.Holdoff)
	}
	now := time.Now()
	for _, n := range e.Notices {
		if n == nil {
			return nil, errors.New("a notice is missing")
		}
		n.taken = now.Add(-max(0, now.Sub(n.At)))
		a := e.said(n)
		if err := a.check(); err != nil {
			return nil, err
		}
		if !isBatch(n.Batch) {
			return nil, fmt.Errorf("batch %q", shorten(n.Batch, 60))
		}
	}
	if !isBatch(e.Mail) {
		return nil, fmt.Errorf("batch %q", shorten(e.Mail, 60))
	}
	return e, nil
}

// encode returns the bytes of an entry's file.
func (e *entry) encode() ([]byte, error) {
	e.Version = entryVersion
	b, err := json.Marshal(e)
	if err == nil && len(b) > maxEntry {
		err = fmt.Errorf("alert %s: %d bytes: %w", e.Alert.ID, len(b), ErrTooLong)
	}
	return b, err
}

// isBatch reports whether a batch has a valid form, or is not set.
func isBatch(s string) bool {
	id, part, ok := strings.Cut(s, "-")
	_, err := strconv.ParseUint(part, 10, 31)
	return s == "" || ok && isID(id) && err == nil
}

// A spool is the directory of one receiver's entries, each in a file.
type spool struct {
	root *os.Root
	size int
	fail func() error // of a test: an error of writing
	// newer has the identifiers of alerts whose files a later release wrote. These stay as they are, and the alerts are in memory only.
	newer map[string]bool
}

const (
	suffix    = ".json"
	temporary = ".tmp-"
	spoiled   = ".bad" // an unreadable file
)

// openSpool opens a directory, making it if it does not exist, and reads its entries, at most limit. They are in
// order of arrival. Further files, and those beyond maxSpool bytes in all, stay for the next time.
func openSpool(dir string, limit int, log *slog.Logger) (*spool, []*entry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	s := &spool{root: root, newer: make(map[string]bool)}
	list, err := s.read(limit, log)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return s, list, nil
}

func (s *spool) read(limit int, log *slog.Logger) ([]*entry, error) {
	fi, err := s.root.Stat(".")
	if err != nil {
		return nil, err
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: other users may look into it or write to it; chmod 700 it", s.root.Name())
	}
	var list []*entry
	left := 0
	for file, err := range s.files() {
		if err != nil {
			return nil, err
		}
		name := file.Name()
		id, ours := strings.CutSuffix(name, suffix)
		switch {
		case strings.HasPrefix(name, temporary):
			s.root.Remove(name)
			continue
		case !ours || !isID(id) || !file.Type().IsRegular():
			continue
		case len(list) >= limit || s.size > maxSpool-maxEntry:
			left++
			continue
		}
		e, err := s.load(name)
		if err == nil && e.Alert.ID != id {
			err = errors.New("it is about another alert")
		}
		if err != nil {
			log.Warn("an alert in the spool cannot be read", "file", s.root.Name()+"/"+name, "error", err)
			if fileversion.IsNewer(err) {
				s.newer[id] = true
				continue
			}
			s.root.Rename(name, name+spoiled)
			continue
		}
		s.size += e.size
		list = append(list, e)
	}
	if left > 0 {
		log.Warn("the spool has too many alerts; the others are left for the next start", "directory", s.root.Name(), "taken", len(list), "left", left)
	}
	slices.SortFunc(list, func(a, b *entry) int {
		return cmp.Or(compare(a.Alert, b.Alert), cmp.Compare(a.Alert.ID, b.Alert.ID))
	})
	return list, nil
}

// filesAtOnce limits the names of the directory in memory.
const filesAtOnce = 1000

// files yields the entries of the directory.
func (s *spool) files() iter.Seq2[fs.DirEntry, error] {
	return func(yield func(fs.DirEntry, error) bool) {
		d, err := s.root.Open(".")
		if err != nil {
			yield(nil, err)
			return
		}
		defer d.Close()
		for {
			files, err := d.ReadDir(filesAtOnce)
			for _, file := range files {
				if !yield(file, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

func (s *spool) load(name string) (*entry, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEntry+1))
	if err != nil {
		return nil, err
	}
	return decodeEntry(b)
}

// save writes an entry's file durably and completely, also if the machine crashes.
func (s *spool) save(e *entry) (err error) {
	if s.newer[e.Alert.ID] {
		return nil
	}
	b, err := e.encode()
	if err != nil {
		return err
	}
	if s.size-e.size+len(b) > maxSpool {
		return fmt.Errorf("%s: %w: %d bytes wait", s.root.Name(), ErrFull, s.size)
	}
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return err
		}
	}
	tmp := temporary + e.Alert.ID
	f, err := s.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.root.Remove(tmp)
		}
	}()
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := s.root.Rename(tmp, e.Alert.ID+suffix); err != nil {
		return err
	}
	s.size += len(b) - e.size
	e.size = len(b)
	return s.sync()
}

// sync writes the names of the directory to disk.
func (s *spool) sync() error {
	d, err := s.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *spool) remove(e *entry) error {
	if s.newer[e.Alert.ID] {
		return nil
	}
	s.size -= e.size
	e.size = 0
	return s.root.Remove(e.Alert.ID + suffix)
}

func (s *spool) close() error { return s.root.Close() }
