package share

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// StatusEvery is the interval at which a recorder writes its status.
const StatusEvery = 10 * time.Second

// stale is the age, compared with the newest one, from which a status is that of a recorder that is gone.
const stale = 3*StatusEvery + Expire

// statusFormat is the version of the format of a status.
const statusFormat = fileversion.RecorderStatus

// Limits of statuses.
const (
	maxStatus = 16 << 20 // bytes of a status, as objects.Dir has it; some 50,000 hosts
	maxHosts  = 100_000  // in a status
	maxText   = 512      // bytes of a text in it
	maxErr    = 200      // bytes of an error, when it is written
)

// A Status is the status of a recorder and of its hosts.
type Status struct {
	Format  int       `json:"format,omitempty"` // in a store: the version of the format
	ID      string    `json:"recorder"`
	Time    time.Time `json:"time"`  // when it was written, by the recorder's clock
	Start   time.Time `json:"start"` // of the recorder
	Version string    `json:"version,omitempty"`
	// Members are the recorders that hold a lease, as this one knows them.
	Members []string `json:"members,omitempty"`
	// Listed is the number of hosts of the fleet that the recorder knows, its own and those of others.
	Listed int `json:"listed"`
	// Moved is the number of hosts that it does not record any more, and whose archives it has not yet sent and stored all.
	Moved int `json:"moved,omitempty"`
	// Hosts are its own hosts.
	Hosts []Host `json:"hosts"`
	// More is the number of hosts for which there was no room.
	More int `json:"more,omitempty"`
	// Gone reports that the recorder does not write its status any more. It is set by ReadStatus.
	Gone bool `json:"gone,omitempty"`
}

// A Host is the status of a recorded host.
type Host struct {
	Name    string    `json:"name"`
	Spec    string    `json:"spec"` // without a password
	State   string    `json:"state"`
	Archive string    `json:"archive,omitempty"`
	Last    time.Time `json:"last,omitzero"` // when a sample was written
	Samples uint64    `json:"samples"`
	Missed  uint64    `json:"missed"`
	Lag     float64   `json:"lag"` // seconds
	MaxLag  float64   `json:"maxlag"`
	Clock   float64   `json:"clock,omitempty"` // seconds by which the clock of the host is ahead
	Bytes   int64     `json:"bytes"`
	Daily   int64     `json:"daily"`
	Errors  uint64    `json:"errors"`
	Err     string    `json:"error,omitempty"` // the last one
	ErrTime time.Time `json:"errortime,omitzero"`
}

// statusFile returns the name of a recorder's status.
func statusFile(id string) string { return statuses + "/" + id + ".json" }

// WriteStatus writes the status of a recorder. Hosts for which there is no room are left out, and counted.
func WriteStatus(ctx context.Context, store Store, s *Status) error {
	b, err := s.encode(maxStatus)
	if err != nil {
		return err
	}
	return store.Put(ctx, statusFile(s.ID), b)
}

// encode returns the status in at most size bytes.
func (s *Status) encode(size int) ([]byte, error) {
	w := *s
	w.Format = statusFormat
	w.Hosts = slices.Clone(s.Hosts)
	for i := range w.Hosts {
		h := &w.Hosts[i]
		h.Spec, h.Archive, h.Err = clip(h.Spec, maxText), clip(h.Archive, maxText), clip(h.Err, maxErr)
	}
	for {
		if len(w.Hosts) > maxHosts {
			w.More += len(w.Hosts) - maxHosts
			w.Hosts = w.Hosts[:maxHosts]
		}
		b, err := json.Marshal(&w)
		if err != nil || len(b) < size {
			return append(b, '\n'), err
		}
		if len(w.Hosts) == 0 {
			return nil, fmt.Errorf("the status of recorder %s has more than %d bytes", s.ID, size)
		}
		w.More += len(w.Hosts) - len(w.Hosts)/2
		w.Hosts = w.Hosts[:len(w.Hosts)/2]
	}
}

// clip returns a text of at most size bytes without control characters.
func clip(text string, size int) string {
	text = strings.Map(func(r rune) rune {
		if isControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	if len(text) > size {
		const dots = "..."
		text = strings.ToValidUTF8(text[:size-len(dots)], "") + dots
	}
	return text
}

// RemoveStatus removes the status of a recorder.
func RemoveStatus(ctx context.Context, store Store, id string) error {
	return store.Remove(ctx, statusFile(id))
}

// A StatusError is a status that cannot be read.
type StatusError struct {
	ID  string
	Err error
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the status of recorder %s: %v", e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }

// ReadStatus reads the statuses of all recorders, sorted by their identifiers. A status that cannot be read is a *StatusError, joined
// with others; the list has all that can. The hosts of a recorder that is gone are left out if another one has them.
func ReadStatus(ctx context.Context, store Store) ([]Status, error) {
	entries, err := store.List(ctx, statuses)
	if err != nil {
		return nil, err
	}
	var list []Status
	var errs []error
	written := make(map[string]time.Time) // by the clock of the store
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name, ".json")
		if e.Dir || !ok || CheckID(id) != nil {
			continue
		}
		s, err := readStatus(ctx, store, e, id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was just removed
		case err != nil:
			errs = append(errs, &StatusError{id, err})
		default:
			list = append(list, *s)
			written[id] = e.Time
		}
	}
	slices.SortFunc(list, func(a, b Status) int { return strings.Compare(a.ID, b.ID) })
	findGone(list, written)
	return list, errors.Join(errs...)
}

// findGone finds the recorders that do not write their status any more: the newest one shows the time of the store.
func findGone(list []Status, written map[string]time.Time) {
	var newest time.Time
	for _, t := range written {
		if t.After(newest) {
			newest = t
		}
	}
	owned := make(map[string]bool)
	for i := range list {
		s := &list[i]
		if s.Gone = newest.Sub(written[s.ID]) > stale; s.Gone {
			continue
		}
		for _, h := range s.Hosts {
			owned[h.Name] = true
		}
	}
	for i := range list {
		if s := &list[i]; s.Gone {
			s.Hosts = slices.DeleteFunc(s.Hosts, func(h Host) bool { return owned[h.Name] })
		}
	}
}

func readStatus(ctx context.Context, store Store, e objects.Entry, id string) (*Status, error) {
	if e.Size > maxStatus {
		return nil, fmt.Errorf("it has %d bytes, more than %d", e.Size, maxStatus)
	}
	data, _, err := store.Read(ctx, statuses+"/"+e.Name)
	if err != nil {
		return nil, err
	}
	return decodeStatus(data, id)
}

// decodeStatus decodes the status of a recorder. Anybody who can write to the store may have made it.
func decodeStatus(data []byte, id string) (*Status, error) {
	if len(data) > maxStatus {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(data), maxStatus)
	}
	var s Status
	err := json.Unmarshal(data, &s)
	var head struct {
		Format int `json:"format"`
	}
	if json.Unmarshal(data, &head) == nil {
		if err := fileversion.Check(cmp.Or(head.Format, 1), statusFormat); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	s.Format = 0
	if s.ID != id {
		return nil, fmt.Errorf("it is that of recorder %.80q", s.ID)
	}
	if len(s.Hosts) > maxHosts || len(s.Members) > maxHosts {
		return nil, fmt.Errorf("it has %d hosts and %d recorders, more than %d", len(s.Hosts), len(s.Members), maxHosts)
	}
	if s.Listed < 0 || s.More < 0 || s.Moved < 0 {
		return nil, errors.New("it has a negative number of hosts")
	}
	texts := append([]string{s.Version}, s.Members...)
	for i := range s.Hosts {
		h := &s.Hosts[i]
		texts = append(texts, h.Name, h.Spec, h.State, h.Archive, h.Err)
		if h.Name == "" {
			return nil, fmt.Errorf("host %d has no name", i)
		}
		if h.Bytes < 0 || h.Daily < 0 || h.Lag < 0 || h.MaxLag < 0 {
			return nil, fmt.Errorf("host %q has a negative number", h.Name)
		}
	}
	for _, text := range texts {
		if len(text) > maxText || !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) {
			return nil, fmt.Errorf("%.80q is too long, or has control characters", text)
		}
	}
	slices.SortFunc(s.Hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	s.Gone = false
	return &s, nil
}

// isControl reports whether a character is a control character, other than the end of a line and a tab, which errors have.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
