package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/fsdir"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/internal/pacing"
)

// A Config configures a Manager.
type Config struct {
	Receivers []*Receiver
	// Dir is the directory for alerts that receivers have not accepted. It is made if it
	// does not exist, for its owner only; only one Manager at a time may use it.
	Dir string
	// Muted, if not nil, reports whether receivers are not notified of an alert now. If it still fires when Muted no longer reports that, they are
	// notified then. The end of an alert that a receiver knows of is always reported, and an Alertmanager is still reminded.
	Muted func(*Alert) bool
	// Log gets alerts that cannot be delivered, and the reason; nil discards.
	Log *slog.Logger
}

// A Manager delivers alerts to receivers, each with its own worker. Its methods may be
// called from several goroutines.
type Manager struct {
	log     *slog.Logger
	workers map[string]*worker
	names   []string
	unlock  func() // of the directory
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

var (
	// ErrUnknown is the error for a receiver that does not exist.
	ErrUnknown = errors.New("there is no such receiver")
	// ErrFull is the error for an alert that does not fit into a full spool.
	ErrFull = errors.New("the spool is full")
)

// The pause after a failure of a receiver: twice as long each time, and a random part less.
const (
	firstWait   = time.Second
	longestWait = 5 * time.Minute
)

// waits are the pauses after failures of a receiver in a row.
func waits() pacing.Backoff { return pacing.Backoff{First: firstWait, Longest: longestWait} }

// New returns a Manager that continues with the alerts in the directory.
func New(cfg Config) (*Manager, error) {
	m := &Manager{log: cfg.Log, workers: make(map[string]*worker)}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	// A lock that needs no space: a full disk should be reported.
	if m.unlock, err = fsdir.TryLock(cfg.Dir); errors.Is(err, fsdir.ErrBusy) {
		return nil, fmt.Errorf("%s: another process delivers alerts from there", cfg.Dir)
	} else if err != nil {
		return nil, err
	}
	for _, r := range cfg.Receivers {
		if m.workers[r.Name] != nil || !nameable(r.Name) {
			return nil, errors.Join(fmt.Errorf("receiver %q: this name is not possible, or there are two of it", r.Name), m.Close())
		}
		w, err := newWorker(r, filepath.Join(cfg.Dir, r.Name), m.log)
		if err == nil {
			w.muted = cfg.Muted
		}
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.workers[r.Name] = w
		m.names = append(m.names, r.Name)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	for _, w := range m.workers {
		m.done.Go(func() { w.run(ctx) })
	}
	return m, nil
}

// Drain stops the workers when all due alerts are delivered, or when the context is done. It does not
// wait for a receiver that has failed. Call Close afterwards.
func (m *Manager) Drain(ctx context.Context) {
	for _, w := range m.workers {
		w.finish()
	}
	defer context.AfterFunc(ctx, m.cancel)()
	m.done.Wait()
}

// Close stops the workers at once. Undelivered alerts stay in the directory.
func (m *Manager) Close() error {
	if m.cancel != nil {
		m.cancel()
	}
	m.done.Wait()
	var errs []error
	for _, w := range m.workers {
		errs = append(errs, w.spool.close())
	}
	m.unlock()
	return errors.Join(errs...)
}

// receiver returns the worker for an action.
func (m *Manager) receiver(name string, kind deliver.Kind) (*worker, error) {
	w := m.workers[name]
	switch {
	case w == nil:
		return nil, fmt.Errorf("%v %s: %w", kind, name, ErrUnknown)
	case string(w.r.Kind) != kind.String():
		return nil, fmt.Errorf("%v %s: the receiver is of kind %s", kind, name, w.r.Kind)
	}
	return w, nil
}

// Adopt checks that the receivers that rules name exist. It resolves the alerts of rules that do not
// exist any more.
func (m *Manager) Adopt(list []deliver.Delivery) error {
	var errs []error
	known := make(map[string]map[string]bool)
	for _, d := range list {
		if _, err := m.receiver(d.Receiver, d.Kind); err != nil {
			errs = append(errs, fmt.Errorf("rule %s: %w", d.Rule, err))
			continue
		}
		if known[d.Receiver] == nil {
			known[d.Receiver] = make(map[string]bool)
		}
		known[d.Receiver][d.Rule] = true
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	now := time.Now()
	for name, w := range m.workers {
		w.resolve(now, func(a *Alert) bool { return !known[name][a.Rule] })
	}
	return nil
}

// Act takes an action of a rule for a receiver, for pmie.Config.Alert. The receiver gets one message
// for each match, and another after each Holdoff if the action has one; and one message when it is
// over. Act does not wait for the receiver. Its error means that the alert will not be delivered.
func (m *Manager) Act(_ context.Context, a deliver.Action) error {
	w, err := m.receiver(a.Receiver, a.Kind)
	if err == nil {
		err = w.take(a)
	}
	if err != nil {
		m.log.Error("an alert is lost", "rule", a.Rule, "error", err)
	}
	return err
}

// A Standing is how things are with a receiver.
type Standing struct {
	Receiver string    `json:"receiver"`
	Kind     Kind      `json:"kind"`
	Firing   int       `json:"firing,omitempty"`  // alerts
	Waiting  int       `json:"waiting,omitempty"` // messages that it has not accepted yet
	Error    string    `json:"error,omitempty"`   // why, if it failed last
	Retry    time.Time `json:"retry,omitzero"`    // when it is tried again
	// Unsaved is the number of alerts kept only in memory, because of SpoolError.
	Unsaved    int    `json:"unsaved,omitempty"`
	SpoolError string `json:"spoolError,omitempty"`
}

// Standings returns the state of each receiver, in their order.
func (m *Manager) Standings() []Standing {
	list := make([]Standing, 0, len(m.names))
	for _, name := range m.names {
		list = append(list, m.workers[name].standing())
	}
	return list
}

// A worker delivers to one receiver.
type worker struct {
	r      *Receiver
	log    *slog.Logger
	wake   chan struct{} // has at most one element
	muted  func(*Alert) bool
	hushed map[string]hushed // muted alerts, by their subject

	mu       sync.Mutex
	spool    *spool
	list     []*entry          // in order of arrival
	latest   map[string]*entry // by their subject
	ending   bool
	failures int
	retry    time.Time // before that the receiver is not tried
	lastErr  error
	unsaved  int   // entries kept only in memory
	diskErr  error // why
	batch    batch
}

// A hushed alert has fired since a time, but was muted.
type hushed struct {
	rule  string
	since time.Time
}

// A batch is the set of messages from one evaluation of a rule.
type batch struct {
	id string // "" if there is nothing yet
	n  int    // notices so far
}

// next returns the batch of a notice about an alert.
func (b *batch) next(a *Alert, at time.Time) string {
	if b.id == "" {
		b.id = digest(a.Key(), strconv.FormatInt(at.UnixNano(), 10))
	}
	b.n++
	return b.id + "-" + strconv.Itoa((b.n-1)/maxMail)
}

func newWorker(r *Receiver, dir string, log *slog.Logger) (*worker, error) {
	w := &worker{r: r, log: log.With("receiver", r.Name), wake: make(chan struct{}, 1), latest: make(map[string]*entry), hushed: make(map[string]hushed)}
	var err error
	if w.spool, w.list, err = openSpool(dir, max(r.queue(), DefaultQueue), w.log); err != nil {
		return nil, err
	}
	for _, e := range w.list {
		w.latest[e.Alert.key()] = e
	}
	return w, nil
}

// rouse makes the worker check for work.
func (w *worker) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *worker) finish() {
	w.mu.Lock()
	w.ending = true
	w.mu.Unlock()
	w.rouse()
}

func (w *worker) standing() Standing {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := Standing{Receiver: w.r.Name, Kind: w.r.Kind}
	for _, e := range w.list {
		if !e.over() {
			s.Firing++
		}
		s.Waiting += len(e.Notices)
	}
	if w.lastErr != nil {
		s.Error, s.Retry = w.lastErr.Error(), w.retry
	}
	if w.unsaved > 0 {
		s.Unsaved = w.unsaved
		s.SpoolError = w.diskErr.Error()
	}
	return s
}

// take handles an action of a rule for the receiver.
func (w *worker) take(a deliver.Action) error {
	defer w.rouse()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch = batch{}
	w.saveLate()
	var errs []error
	here := make(map[string]bool, len(a.Matches))
	if !a.Resolved {
		for i := range a.Matches {
			m := &a.Matches[i]
			now := Alert{
				Status: Firing, Rule: a.Rule, Expr: a.Expr, Host: m.Host, Instance: m.Instance, Labels: m.Labels, Value: m.Value, Text: m.Text, Since: a.Time.UTC(),
				Series: m.Series, Annotations: m.Annotations,
			}
			now.ID = now.newID()
			key := now.key()
			if here[key] {
				continue
			}
			here[key] = true
			if w.muted != nil && w.muted(&now) {
				if _, ok := w.hushed[key]; !ok {
					w.hushed[key] = hushed{a.Rule, now.Since}
				}
				if e := w.latest[key]; e != nil && !e.over() {
					e.Alert.Value, e.Alert.Text, e.Alert.Annotations = now.Value, now.Text, now.Annotations // for reminders
				}
				continue
			}
			if x, ok := w.hushed[key]; ok {
				now.Since = x.since
				now.ID = now.newID()
				delete(w.hushed, key)
			}
			errs = append(errs, w.fire(key, now, a))
		}
	}
	maps.DeleteFunc(w.hushed, func(key string, x hushed) bool { return x.rule == a.Rule && !here[key] })
	for key, e := range w.latest {
		if e.Alert.Rule == a.Rule && !here[key] && !e.over() {
			errs = append(errs, w.end(e, a.Time.UTC()))
		}
	}
	w.sweep(a.Time)
	return errors.Join(errs...)
}

// fire takes in that an alert is firing.
func (w *worker) fire(key string, now Alert, a deliver.Action) error {
	e := w.latest[key]
	rested := e == nil || e.rested(a.Time, max(a.Holdoff, e.Holdoff))
	if e != nil && !e.over() {
		changed := e.Alert.Expr != now.Expr // another rule of a ruleset
		if e.Holdoff = a.Holdoff; changed || a.Holdoff > 0 && rested {
			return w.again(e, now, a.Time.UTC())
		}
		e.Alert.Value, e.Alert.Text, e.Alert.Annotations = now.Value, now.Text, now.Annotations // for reminders
		return nil
	}
	if !rested {
		return nil
	}
	if err := now.check(); err != nil {
		return err
	}
	if len(w.list) >= w.r.queue() {
		return fmt.Errorf("receiver %s: %w: %d alerts", w.r.Name, ErrFull, len(w.list))
	}
	if e != nil && e.Alert.ID == now.ID {
		return nil // it was over at this very moment
	}
	e = &entry{Alert: now, Holdoff: a.Holdoff, Said: now.Since}
	e.Notices = []*notice{w.newNotice(&e.Alert, now.Since)}
	e.Mail = e.Notices[0].Batch
	if err := w.save(e); err != nil {
		return err
	}
	w.list = append(w.list, e)
	w.latest[key] = e
	return nil
}

// newNotice returns a message with the state of an alert.
func (w *worker) newNotice(a *Alert, at time.Time) *notice {
	n := &notice{Status: a.Status, At: at, Value: a.Value, Text: a.Text, Expr: a.Expr, taken: time.Now()}
	if a.Status == Firing {
		n.Number = a.Notice
	}
	if w.r.Kind == Mail {
		n.Batch = w.batch.next(a, at)
	}
	return n
}

// save writes the file of an entry. If the disk is full, the alert is delivered from memory, so that alerts
// about a full disk are delivered. The error means that there is no room for it in the spool.
func (w *worker) save(e *entry) error {
	err := w.spool.save(e)
	if errors.Is(err, ErrFull) || errors.Is(err, ErrTooLong) {
		return err
	}
	w.saved(e, err)
	return nil
}

// saved notes whether the file of an entry is up to date.
func (w *worker) saved(e *entry, err error) {
	if e.unsaved {
		w.unsaved--
	}
	if e.unsaved = err != nil; e.unsaved {
		w.unsaved++
	}
	switch {
	case err != nil && w.diskErr == nil:
		w.log.Error("the spool cannot be written: what a receiver has not taken is lost if this process ends", "error", err)
	case err == nil && w.diskErr != nil && w.unsaved == 0:
		w.log.Info("the spool is written again")
	}
	if err != nil || w.unsaved == 0 {
		w.diskErr = err
	}
}

// saveLate writes the files that could not be written before, up to the first that still cannot.
func (w *worker) saveLate() {
	if w.unsaved == 0 {
		return
	}
	for _, e := range w.list {
		if !e.unsaved {
			continue
		}
		err := w.spool.save(e)
		w.saved(e, err)
		if err != nil {
			return
		}
	}
}

// again repeats to a receiver that an alert is firing.
func (w *worker) again(e *entry, now Alert, at time.Time) error {
	old := *e
	if len(e.Notices) == maxNotices {
		return nil // it will be reminded soon enough
	}
	now.ID, now.Since, now.Notice = e.Alert.ID, e.Alert.Since, e.Alert.Notice+1
	if err := now.check(); err != nil {
		return err
	}
	e.Alert, e.Said = now, at
	e.Notices = append(e.Notices[:len(e.Notices):len(e.Notices)], w.newNotice(&e.Alert, at))
	if err := w.save(e); err != nil {
		*e = old
		return err
	}
	return nil
}

// end handles an alert that is not firing any more.
func (w *worker) end(e *entry, at time.Time) error {
	old := *e
	e.Alert.Status, e.Alert.Until = Resolved, at
	// This message may exceed the limit: an alert that began must end.
	if len(e.Notices) >= maxNotices {
		e.Notices = e.Notices[:maxNotices-1]
	}
	e.Notices = append(e.Notices[:len(e.Notices):len(e.Notices)], w.newNotice(&e.Alert, at))
	if err := w.save(e); err != nil {
		*e = old
		return err
	}
	return nil
}

// resolve ends alerts.
func (w *worker) resolve(now time.Time, which func(*Alert) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batch = batch{}
	for _, e := range w.list {
		if !e.over() && which(&e.Alert) {
			if err := w.end(e, now.UTC()); err != nil {
				w.log.Error("an alert that is over cannot be noted", "rule", e.Alert.Rule, "error", err)
			}
		}
	}
	w.rouse()
}

// sweep forgets entries that are done.
func (w *worker) sweep(now time.Time) {
	w.list = slices.DeleteFunc(w.list, func(e *entry) bool {
		if e.busy || !e.done(now) {
			return false
		}
		if err := w.spool.remove(e); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.log.Warn("the file of an alert cannot be removed", "error", err)
		}
		if e.unsaved {
			if w.unsaved--; w.unsaved == 0 {
				w.diskErr = nil
			}
		}
		if key := e.Alert.key(); w.latest[key] == e {
			delete(w.latest, key)
		}
		return true
	})
}

// A parcel is a message and its subject.
type parcel struct {
	entries []*entry
	notices []*notice // nil for a reminder
	alerts  []Alert
}

// next returns the message to deliver now, or the time until there may be one, less than 0
// for ever.
func (w *worker) next(now time.Time) (p *parcel, wait time.Duration, end bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if wait := w.retry.Sub(now); wait > 0 {
		return nil, wait, w.ending
	}
	w.expire(now)
	w.sweep(now)
	p = &parcel{}
	add := func(e *entry, n *notice, a Alert) {
		e.busy = true
		p.entries, p.notices, p.alerts = append(p.entries, e), append(p.notices, n), append(p.alerts, a)
	}
	for _, e := range w.due() {
		n := e.Notices[0]
		if len(p.alerts) > 0 && (n.alone || w.r.Kind == Mail && n.Batch != p.notices[0].Batch) {
			break
		}
		add(e, n, e.said(n))
		if n.alone || len(p.alerts) == w.r.batch() {
			break
		}
	}
	if len(p.alerts) > 0 {
		return p, 0, false
	}
	if w.ending {
		return nil, 0, true
	}
	wait = -1
	sooner := func(d time.Duration) {
		if wait < 0 || d < wait {
			wait = max(d, 0)
		}
	}
	for _, e := range w.list {
		switch {
		case e.over():
			sooner(e.Said.Add(e.Holdoff).Sub(now)) // then it can be forgotten
		case w.r.Kind != Alertmanager || e.Refused:
		case !now.Before(e.refresh.Add(w.r.resend())):
			if len(p.alerts) < w.r.batch() && (len(p.alerts) == 0 || !e.alone && !p.entries[0].alone) {
				add(e, nil, e.Alert)
			}
		default:
			sooner(e.refresh.Add(w.r.resend()).Sub(now))
		}
	}
	if len(p.alerts) > 0 {
		return p, 0, false
	}
	return nil, wait, false
}

// due returns the entries with a message to deliver, in the order of the messages, up to the first
// whose subject an earlier one has.
func (w *worker) due() []*entry {
	var list []*entry
	for _, e := range w.list {
		switch {
		case len(e.Notices) == 0:
		case w.r.batch() > 1 || list == nil:
			list = append(list, e)
		case e.Notices[0].At.Before(list[0].Notices[0].At):
			list[0] = e
		}
	}
	if len(list) < 2 {
		return list
	}
	slices.SortStableFunc(list, func(a, b *entry) int {
		x, y := a.Notices[0], b.Notices[0]
		return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Batch, y.Batch), cmp.Compare(x.Status, y.Status))
	})
	about := make(map[string]bool, len(list))
	for i, e := range list {
		key := e.Alert.key()
		if about[key] {
			return list[:i]
		}
		about[key] = true
	}
	return list
}

// expire drops messages that are too old to be delivered.
func (w *worker) expire(now time.Time) {
	for _, e := range w.list {
		n := len(e.Notices)
		for len(e.Notices) > 0 && now.Sub(e.Notices[0].taken) > w.r.maxAge() {
			w.drop(e, "it is too old")
		}
		if len(e.Notices) < n {
			w.write(e)
		}
	}
}

// drop drops the first message about an alert.
func (w *worker) drop(e *entry, why string) {
	n := e.Notices[0]
	e.Notices = e.Notices[1:]
	w.log.Error("a message is dropped: "+why, "rule", e.Alert.Rule, "host", e.Alert.Host, "instance", e.Alert.Instance, "status", string(n.Status), "id", e.Alert.ID)
}

// write brings the file of an entry up to date.
func (w *worker) write(e *entry) {
	w.saved(e, w.spool.save(e))
}

// run delivers until ctx is done.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, wait, end := w.next(time.Now())
		if p != nil {
			err := w.r.deliver(ctx, p)
			w.settle(p, err, ctx.Err() != nil)
			continue
		}
		if end {
			return
		}
		var due <-chan time.Time
		if wait >= 0 {
			timer := time.NewTimer(max(wait, time.Millisecond))
			due = timer.C
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-due:
		}
	}
}

// settle records the outcome of delivering a message.
func (w *worker) settle(p *parcel, err error, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, e := range p.entries {
		e.busy = false
	}
	refused := errors.Is(err, ErrRefused)
	w.lastErr = err
	switch {
	case err == nil || refused:
		w.failures, w.retry = 0, time.Time{}
	case ended:
		return
	default:
		w.failures++
		w.retry = now.Add(waits().After(w.failures))
		if wait, ok := errors.AsType[waitError](err); ok {
			w.retry = now.Add(max(wait.wait, firstWait))
		}
		if w.failures == 1 {
			w.log.Warn("a receiver does not take alerts; it will be tried again", "error", err)
		}
	}
	for i, e := range p.entries {
		n := p.notices[i]
		switch {
		case n == nil: // a reminder
			switch {
			case err == nil:
				e.refresh = now
				continue
			case !refused:
				continue
			case len(p.entries) > 1:
				e.alone = true
				continue
			}
			e.Refused = true
			w.log.Error("a reminder is refused", "rule", e.Alert.Rule, "error", err)
		case len(e.Notices) == 0 || e.Notices[0] != n:
			continue // it became too old meanwhile
		case err == nil:
			e.Notices = e.Notices[1:]
			e.refresh = now
		case refused && len(p.entries) > 1 && w.r.Kind != Mail:
			n.alone = true // to find the one at fault
			continue
		case refused:
			e.Refused = n.Status == Firing
			w.drop(e, err.Error())
		default:
			if n.tries++; w.r.Retries == 0 || n.tries <= w.r.Retries {
				continue
			}
			w.drop(e, fmt.Sprintf("%d attempts: %v", n.tries, err))
		}
		w.write(e)
	}
	w.sweep(now)
}
