package alert

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A Subject identifies alerts. In a Silence, empty fields match all.
type Subject struct {
	Rule     string `json:"rule,omitempty"`
	Host     string `json:"host,omitempty"`
	Instance string `json:"instance,omitempty"`
	Series   string `json:"series,omitempty"`
}

// A Silence keeps receivers from being notified of alerts until a time.
type Silence struct {
	ID string `json:"id"`
	Subject
	Until   time.Time `json:"until"`
	Created time.Time `json:"created"`
	Comment string    `json:"comment,omitempty"`
}

// An Acknowledgement keeps receivers from being notified of an alert until it clears.
type Acknowledgement struct {
	Subject
	At      time.Time `json:"at"`
	Comment string    `json:"comment,omitempty"`
}

// A Period is a time for which an alert fired. Until is zero while it fires.
type Period struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
}

// A Past has the periods of an alert, in order.
type Past struct {
	Subject
	Periods []Period `json:"periods"`
}

// Limits of a Quiet.
const (
	MaxSilence  = 366 * 24 * time.Hour // duration of a silence
	maxSilences = 1000
	maxAcks     = 10000
	maxPasts    = 2000
	maxPeriods  = 50 // of an alert
	maxQuiet    = 64 << 20
	quietEvery  = 30 * time.Second   // interval at which new periods are saved
	pastFor     = 7 * 24 * time.Hour // age at which periods are forgotten
	resumeFor   = 10 * time.Minute   // longest restart after which a period continues
)

// Errors of a Quiet.
var (
	ErrNoSilence = errors.New("there is no such silence")
	ErrTooMany   = errors.New("there are too many silences or acknowledgements")
)

// A Quiet keeps silences, acknowledgements, and the times at which alerts fired, in a file. Its methods may be called from several goroutines.
type Quiet struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	silence []Silence
	acks    map[Subject]Acknowledgement
	pasts   map[string]map[Subject]*past // by rule
	count   int                          // of pasts
	saved   time.Time
	changed bool
	newer   bool // a later release wrote the file
}

type past struct {
	periods []Period
	resumed bool // the last period was open when the last process ended
}

type quietFile struct {
	Version  int               `json:"version"`
	Saved    time.Time         `json:"saved"`
	Silences []Silence         `json:"silences,omitempty"`
	Acks     []Acknowledgement `json:"acknowledgements,omitempty"`
	Pasts    []Past            `json:"past,omitempty"`
}

// OpenQuiet reads the file, which need not exist. A file that cannot be read is renamed to end in .bad.
func OpenQuiet(path string, log *slog.Logger) *Quiet {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	q := &Quiet{path: path, log: log, acks: make(map[Subject]Acknowledgement), pasts: make(map[string]map[Subject]*past)}
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return q
	}
	var v quietFile
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, maxQuiet+1)); err == nil {
			v, err = decodeQuiet(b)
		}
	}
	switch {
	case fileversion.IsNewer(err):
		q.newer = true
		log.Warn("silences of alerts are not used, and those of this run are not saved", "file", path, "err", err)
	case err != nil:
		log.Error("silences of alerts are forgotten", "file", path, "err", err)
		if err := os.Rename(path, path+".bad"); err != nil {
			log.Error("the file cannot be renamed", "file", path, "err", err)
		}
	default:
		q.load(v)
	}
	return q
}

// decodeQuiet reads the bytes of a file.
func decodeQuiet(b []byte) (quietFile, error) {
	var v quietFile
	if len(b) > maxQuiet {
		return v, ErrTooLong
	}
	if err := fileversion.Unmarshal(b, fileversion.AlertQuiet, &v); err != nil {
		return v, err
	}
	if err := fileversion.Check(v.Version, fileversion.AlertQuiet); err != nil {
		return v, err
	}
	if len(v.Silences) > maxSilences || len(v.Acks) > maxAcks || len(v.Pasts) > maxPasts {
		return v, ErrTooMany
	}
	for i := range v.Silences {
		if s := &v.Silences[i]; !isID(s.ID) {
			return v, fmt.Errorf("silence with ID %q", shorten(s.ID, 60))
		} else if err := s.check(s.Comment); err != nil {
			return v, err
		}
	}
	for i := range v.Acks {
		if err := v.Acks[i].check(v.Acks[i].Comment); err != nil {
			return v, err
		}
	}
	for i := range v.Pasts {
		p := &v.Pasts[i]
		if err := p.check(""); err != nil {
			return v, err
		}
		if len(p.Periods) > maxPeriods {
			return v, fmt.Errorf("alert %q: %d periods: %w", shorten(p.Rule, 60), len(p.Periods), ErrTooLong)
		}
	}
	return v, nil
}

// check returns an error if a subject or a comment exceeds a limit.
func (s *Subject) check(comment string) error {
	for _, t := range []string{s.Rule, s.Host, s.Instance, comment} {
		if len(t) > MaxName {
			return fmt.Errorf("%q: %w", shorten(t, 60), ErrTooLong)
		}
	}
	if len(s.Series) > MaxText {
		return fmt.Errorf("%q: %w", shorten(s.Series, 60), ErrTooLong)
	}
	return nil
}

func (q *Quiet) load(v quietFile) {
	q.silence = v.Silences
	for _, a := range v.Acks {
		q.acks[a.Subject] = a
	}
	for _, p := range v.Pasts {
		if len(p.Periods) == 0 {
			continue
		}
		x := &past{periods: p.Periods}
		if last := &x.periods[len(x.periods)-1]; last.Until.IsZero() {
			last.Until, x.resumed = v.Saved, true
		}
		if q.pasts[p.Rule] == nil {
			q.pasts[p.Rule] = make(map[Subject]*past)
		}
		if q.pasts[p.Rule][p.Subject] == nil {
			q.count++
		}
		q.pasts[p.Rule][p.Subject] = x
	}
}

// save writes the file.
func (q *Quiet) save(now time.Time) error {
	if q.newer {
		return errors.New("a later release wrote the file of silences: they are kept until this process ends")
	}
	v := quietFile{Version: fileversion.AlertQuiet, Saved: now.UTC(), Silences: q.silence, Pasts: q.list()}
	for _, a := range q.acks {
		v.Acks = append(v.Acks, a)
	}
	slices.SortFunc(v.Acks, func(a, b Acknowledgement) int { return compareSubjects(a.Subject, b.Subject) })
	b, err := json.Marshal(&v)
	if err != nil {
		return err
	}
	q.saved = now
	err = safefile.ReplaceBytes(q.path, append(b, '\n'), safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
	if err == nil {
		q.changed = false
	}
	return err
}

func compareSubjects(a, b Subject) int {
	return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Host, b.Host), strings.Compare(a.Instance, b.Instance), strings.Compare(a.Series, b.Series))
}

// list returns all pasts in order.
func (q *Quiet) list() []Past {
	var list []Past
	for _, of := range q.pasts {
		for s, p := range of {
			list = append(list, Past{s, slices.Clone(p.periods)})
		}
	}
	slices.SortFunc(list, func(a, b Past) int { return compareSubjects(a.Subject, b.Subject) })
	return list
}

// Close saves the file.
func (q *Quiet) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.changed || q.newer {
		return nil
	}
	return q.save(time.Now())
}

// expire removes silences that are over.
func (q *Quiet) expire(now time.Time) {
	q.silence = slices.DeleteFunc(q.silence, func(s Silence) bool { return !now.Before(s.Until) })
}

func subjectOf(a *Alert) Subject { return Subject{a.Rule, a.Host, a.Instance, a.Series} }

func (s *Silence) covers(o Subject) bool {
	return (s.Rule == "" || s.Rule == o.Rule) && (s.Host == "" || s.Host == o.Host) && (s.Instance == "" || s.Instance == o.Instance) && (s.Series == "" || s.Series == o.Series)
}

// Silenced returns the silence of an alert that ends last, if there is one.
func (q *Quiet) Silenced(a *Alert) (Silence, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(time.Now())
	var found Silence
	for _, s := range q.silence {
		if s.covers(subjectOf(a)) && s.Until.After(found.Until) {
			found = s
		}
	}
	return found, found.ID != ""
}

// Acknowledged returns the acknowledgement of an alert, if there is one.
func (q *Quiet) Acknowledged(a *Alert) (Acknowledgement, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k, ok := q.acks[subjectOf(a)]
	return k, ok
}

// Muted reports whether receivers are not to be notified of an alert, for Config.Muted.
func (q *Quiet) Muted(a *Alert) bool {
	if _, ok := q.Acknowledged(a); ok {
		return true
	}
	_, ok := q.Silenced(a)
	return ok
}

// Silences returns the silences that are not over.
func (q *Quiet) Silences() []Silence {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.expire(time.Now())
	return slices.Clone(q.silence)
}

// Silence adds a silence. It sets the ID and Created.
func (q *Quiet) Silence(s Silence) (Silence, error) {
	now := time.Now()
	s.ID, s.Created = digest(rand.Text()), now.UTC()
	if err := s.check(s.Comment); err != nil {
		return s, err
	}
	if d := s.Until.Sub(now); d <= 0 || d > MaxSilence {
		return s, errors.New("a silence lasts up to a year")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.expire(now); len(q.silence) >= maxSilences {
		return s, ErrTooMany
	}
	before := q.silence
	q.silence = append(slices.Clone(before), s)
	if err := q.save(now); err != nil {
		q.silence = before
		return s, err
	}
	return s, nil
}

// EndSilence removes a silence.
func (q *Quiet) EndSilence(id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.silence
	q.silence = slices.DeleteFunc(slices.Clone(before), func(s Silence) bool { return s.ID == id })
	if len(q.silence) == len(before) {
		return ErrNoSilence
	}
	if err := q.save(time.Now()); err != nil {
		q.silence = before
		return err
	}
	return nil
}

// Acknowledge acknowledges an alert until it clears, or takes the acknowledgement back.
func (q *Quiet) Acknowledge(a *Alert, comment string, on bool) error {
	k := Acknowledgement{Subject: subjectOf(a), At: time.Now().UTC(), Comment: comment}
	if err := k.check(comment); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	old, had := q.acks[k.Subject]
	if on && !had && len(q.acks) >= maxAcks {
		return ErrTooMany
	}
	if delete(q.acks, k.Subject); on {
		q.acks[k.Subject] = k
	}
	err := q.save(time.Now())
	if err != nil {
		if delete(q.acks, k.Subject); had {
			q.acks[k.Subject] = old
		}
	}
	return err
}

// Observe adds the result of evaluating a rule: alerts begin and end, and the acknowledgements of those that end are removed.
func (q *Quiet) Observe(ev deliver.Evaluation) {
	if ev.State == deliver.Unknown {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := ev.Time.UTC()
	here := make(map[Subject]bool, len(ev.Matches))
	of := q.pasts[ev.Rule]
	for i := range ev.Matches {
		m := &ev.Matches[i]
		s := Subject{ev.Rule, m.Host, m.Instance, m.Series}
		here[s] = true
		p := of[s]
		if p == nil {
			if q.count >= maxPasts || s.check("") != nil {
				continue
			}
			if of == nil {
				of = make(map[Subject]*past)
				q.pasts[ev.Rule] = of
			}
			p = &past{}
			of[s] = p
			q.count++
		}
		n := len(p.periods)
		switch {
		case n > 0 && p.periods[n-1].Until.IsZero():
		case n > 0 && p.resumed && at.Sub(p.periods[n-1].Until) < resumeFor:
			p.periods[n-1].Until = time.Time{}
			q.changed = true
		default:
			p.periods = append(p.periods, Period{From: at})
			p.periods = p.periods[max(0, len(p.periods)-maxPeriods):]
			q.changed = true
		}
		p.resumed = false
	}
	for s, p := range of {
		n := len(p.periods)
		if !here[s] && n > 0 && p.periods[n-1].Until.IsZero() {
			p.periods[n-1].Until = at
			q.changed = true
		}
		p.resumed = p.resumed && here[s]
		p.periods = slices.DeleteFunc(p.periods, func(x Period) bool { return !x.Until.IsZero() && at.Sub(x.Until) > pastFor })
		if len(p.periods) == 0 {
			delete(of, s)
			q.count--
		}
	}
	for s := range q.acks {
		if s.Rule == ev.Rule && !here[s] {
			delete(q.acks, s)
			q.changed = true
		}
	}
	if now := time.Now(); q.changed && !q.newer && now.Sub(q.saved) >= quietEvery {
		if err := q.save(now); err != nil {
			q.log.Warn("the times of alerts cannot be saved", "file", q.path, "err", err)
		}
	}
}

// Past returns the periods of an alert.
func (q *Quiet) Past(a *Alert) []Period {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pasts[a.Rule][subjectOf(a)]; p != nil {
		return slices.Clone(p.periods)
	}
	return nil
}

// Pasts returns the periods of all alerts.
func (q *Quiet) Pasts() []Past {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.list()
}
