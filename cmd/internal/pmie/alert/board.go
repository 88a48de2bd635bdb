package alert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A State is the state of a process that evaluates rules, as it is in its file.
type State struct {
	Version   int        `json:"version"`
	PID       int        `json:"pid"`
	Rules     []string   `json:"rules,omitempty"` // files
	Host      string     `json:"host,omitempty"`  // the default source of metrics
	Updated   time.Time  `json:"updated"`
	Alerts    []Alert    `json:"alerts,omitempty"`  // the firing alerts, whatever their actions are
	Pending   []Alert    `json:"pending,omitempty"` // alerts of rules of Prometheus that do not fire yet
	Receivers []Standing `json:"receivers,omitempty"`
}

const (
	stateVersion = fileversion.AlertState
	maxState     = 64 << 20 // bytes of a file
	maxShown     = 10000    // alerts in it
	// stateEvery is the interval at which values in the file are updated. The beginning and the end of
	// an alert are written at once.
	stateEvery = 5 * time.Second
)

// A Board keeps the file that lists the firing alerts. It is for pmie.Config.Observe.
type Board struct {
	path      string
	standings func() []Standing

	mu      sync.Mutex
	state   State
	firing  map[string]Alert
	pending map[string][]Alert // by rule
	changed bool               // since the file was written
	written time.Time
	err     error
}

// NewBoard returns a Board whose file is in a directory, which is made if it does not exist. It uses PID,
// Rules and Host of the state. Standings, if not nil, returns the state of the receivers.
func NewBoard(dir string, s State, standings func() []Standing) (*Board, error) {
	if err := safefile.MkdirAll(dir, 0o755, nil); err != nil {
		return nil, err
	}
	b := &Board{path: filepath.Join(dir, strconv.Itoa(s.PID)+suffix), standings: standings, state: s, firing: make(map[string]Alert), pending: make(map[string][]Alert)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.write(time.Now()); err != nil {
		return nil, err
	}
	return b, nil
}

// Observe adds the result of evaluating a rule. The file is written later.
func (b *Board) Observe(ev deliver.Evaluation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := ev.Time.UTC()
	here := make(map[string]bool)
	for i := range ev.Matches {
		m := &ev.Matches[i]
		a := Alert{Status: Firing, Rule: ev.Rule, Expr: ev.Expr, Host: m.Host, Instance: m.Instance, Value: m.Value, First: m.Value, Limit: m.Limit, Since: at, Labels: m.Labels, Series: m.Series, Annotations: m.Annotations}
		key := a.key()
		here[key] = true
		if old, ok := b.firing[key]; ok {
			a.Since, a.First = old.Since, old.First
		} else {
			b.written = time.Time{}
		}
		a.ID = a.newID()
		if old := b.firing[key]; !a.Equal(&old) {
			b.firing[key] = a
			b.changed = true
		}
	}
	if ev.State != deliver.Unknown {
		for key, a := range b.firing {
			if a.Rule == ev.Rule && !here[key] {
				delete(b.firing, key)
				b.changed, b.written = true, time.Time{}
			}
		}
	}
	if now := time.Now(); (b.changed || b.standings != nil) && now.Sub(b.written) >= stateEvery {
		b.err = b.write(now)
	}
}

// Await sets the alerts of a rule that do not fire yet, since the times when they became active. The file is written later.
func (b *Board) Await(rule, expr string, since []time.Time, list []deliver.Match) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var now []Alert
	for i := range list {
		m := &list[i]
		a := Alert{Status: Pending, Rule: rule, Expr: expr, Host: m.Host, Instance: m.Instance, Value: m.Value, First: m.Value, Since: since[i].UTC(), Labels: m.Labels, Series: m.Series, Annotations: m.Annotations}
		a.ID = a.newID()
		now = append(now, a)
	}
	if len(now) == 0 && len(b.pending[rule]) == 0 {
		return
	}
	if delete(b.pending, rule); len(now) > 0 {
		b.pending[rule] = now
	}
	b.changed = true
}

// write replaces the file.
func (b *Board) write(now time.Time) error {
	b.state.Version, b.state.Updated, b.state.Alerts = stateVersion, now.UTC(), nil
	for _, a := range b.firing {
		b.state.Alerts = append(b.state.Alerts, a)
	}
	slices.SortFunc(b.state.Alerts, compare)
	b.state.Alerts = b.state.Alerts[:min(len(b.state.Alerts), maxShown)]
	b.state.Pending = nil
	for _, list := range b.pending {
		b.state.Pending = append(b.state.Pending, list...)
	}
	slices.SortFunc(b.state.Pending, compare)
	b.state.Pending = b.state.Pending[:min(len(b.state.Pending), maxShown)]
	if b.standings != nil {
		b.state.Receivers = b.standings()
	}
	text, err := json.Marshal(&b.state)
	if err != nil {
		return err
	}
	b.changed, b.written = false, now
	return safefile.ReplaceBytes(b.path, append(text, '\n'), safefile.Replacement{Mode: 0o640, Uid: -1, Gid: -1})
}

func compare(a, b Alert) int {
	return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Series, b.Series))
}

// Err returns the error of writing the file last, or nil.
func (b *Board) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Close removes the file.
func (b *Board) Close() error { return safefile.Remove(b.path) }

// ReadStates reads the files of existing processes in a directory. A directory that does not exist has
// no states. The error reports files that cannot be read; the other states are still returned.
func ReadStates(dir string, exists func(pid int) bool) ([]State, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var list []State
	var errs []error
	for _, file := range files {
		name, ours := strings.CutSuffix(file.Name(), suffix)
		pid, err := strconv.Atoi(name)
		if !ours || err != nil || !exists(pid) {
			continue
		}
		path := filepath.Join(dir, file.Name())
		s, err := readState(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		case s.PID != pid:
			errs = append(errs, fmt.Errorf("%s: it is about process %d", path, s.PID))
		default:
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b State) int { return cmp.Compare(a.PID, b.PID) })
	return list, errors.Join(errs...)
}

func readState(path string) (State, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return State{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxState+1))
	if err != nil {
		return State{}, err
	}
	if len(b) > maxState {
		return State{}, ErrTooLong
	}
	return decodeState(b)
}

// decodeState reads the bytes of a file.
func decodeState(b []byte) (State, error) {
	var s State
	if err := fileversion.Unmarshal(b, stateVersion, &s); err != nil {
		return State{}, err
	}
	if err := fileversion.Check(s.Version, stateVersion); err != nil {
		return State{}, err
	}
	for i := range s.Alerts {
		if err := s.Alerts[i].check(); err != nil {
			return State{}, err
		}
	}
	for _, a := range s.Pending {
		if a.Status != Pending {
			return State{}, fmt.Errorf("pending alert with status %q", shorten(string(a.Status), 60))
		}
		a.Status = Firing // the rest is the same
		if err := a.check(); err != nil {
			return State{}, err
		}
	}
	return s, nil
}
