package share

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Times of leases. All recorders of a fleet have the same.
const (
	// Renew is the interval at which a recorder renews its lease, and looks at those of others.
	Renew = 3 * time.Second
	// Expire is the time after which a lease that was not renewed expires.
	Expire = 12 * time.Second
	// Forget is the time after which the empty lease of a recorder that is gone is removed.
	Forget = 10 * time.Minute
)

// maxStep is the longest time between two looks at the leases that counts for their age: the store may have been away, so that
// no recorder could renew its lease.
const maxStep = 2 * Renew

// requestTime is the time limit of a request.
const requestTime = 10 * time.Second

// maxLease is the maximum size of a lease.
const maxLease = 4096

// ErrTaken is the error of a recorder whose identifier another one uses.
var ErrTaken = errors.New("another recorder of the fleet has the same identifier")

// A Config configures a Member.
type Config struct {
	Store Store
	// ID is the recorder's identifier, unique in the fleet; see CheckID.
	ID string
	// Changed is called with the recorders of the fleet, sorted, when they have changed. Without the recorder's own identifier it must
	// end its archives: it has lost its lease. It is called in the goroutine of Run.
	Changed func(members []string)
	// Event, if not nil, is called with events: text describes what happened, err is the reason.
	Event func(text string, err error)
}

// A Member is a recorder's membership of a fleet.
type Member struct {
	cfg     Config
	process string // unique
	n       uint64 // number of the last renewal

	version string // of the lease; "" without one
	seen    map[string]*lease
	looked  time.Time // when the leases were last listed
	members []string  // as last passed to Changed
	away    bool      // the store did not answer
}

// A lease has the state of a recorder's lease.
type lease struct {
	version string
	age     time.Duration // for which it has had the version, while the store answered
	empty   bool
}

// A holder is the contents of a lease. Other recorders look only at its age and whether it is empty, and a lease that has expired is void
// whatever it contains, so it has no version.
type holder struct {
	ID      string `json:"recorder"`
	Process string `json:"process"`
	N       uint64 `json:"renewal"`
}

// New returns a Member, which joins the fleet in Run.
func New(cfg Config) (*Member, error) {
	if err := CheckID(cfg.ID); err != nil {
		return nil, err
	}
	if cfg.Changed == nil {
		cfg.Changed = func([]string) {}
	}
	if cfg.Event == nil {
		cfg.Event = func(string, error) {}
	}
	return &Member{cfg: cfg, process: rand.Text(), seen: make(map[string]*lease)}, nil
}

// Run joins the fleet and stays a member until ctx is done. Then it gives up the lease, so that others take the hosts
// at once, and returns nil. If the store does not answer, it tries again. It returns ErrTaken if another recorder has
// the same identifier, and an error if the store does not let it write leases.
func (m *Member) Run(ctx context.Context) error {
	defer m.leave(ctx)
	err := m.check(ctx)
	for err == nil && ctx.Err() == nil {
		began := time.Now()
		if err = m.step(ctx); err == nil {
			pacing.Sleep(ctx, Renew-time.Since(began))
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// errIgnored is the error of a store that cannot be used.
var errIgnored = errors.New("the store ignores If-None-Match or If-Match, so recorders cannot share hosts with it")

// check checks that the store honours the conditions of writes, which some do not. It waits until the store answers.
func (m *Member) check(ctx context.Context) error {
	for {
		err := request(ctx, m.tryConditions)
		if err == nil || !m.temporary(ctx, err) {
			return err
		}
		pacing.Sleep(ctx, Renew)
	}
}

// tryConditions writes a file twice with conditions that do not hold.
func (m *Member) tryConditions(ctx context.Context) error {
	name := "fleet/check/" + m.cfg.ID + "-" + m.process
	version, err := m.cfg.Store.Create(ctx, name, []byte("1\n"))
	if err != nil {
		return err
	}
	defer m.cfg.Store.Remove(context.WithoutCancel(ctx), name) // it does not matter much
	_, again := m.cfg.Store.Create(ctx, name, []byte("2\n"))
	if _, err := m.cfg.Store.Replace(ctx, name, []byte("3\n"), version); err != nil {
		return cmp.Or(again, err)
	}
	_, late := m.cfg.Store.Replace(ctx, name, []byte("4\n"), version)
	for _, err := range []error{again, late} {
		if err == nil {
			return errIgnored
		} else if !errors.Is(err, objects.ErrConflict) {
			return err
		}
	}
	return nil
}

// temporary reports whether an error may pass, and notes that the store is away.
func (m *Member) temporary(ctx context.Context, err error) bool {
	hopeless := func(e error) bool { return errors.Is(err, e) }
	if m.version == "" && slices.ContainsFunc([]error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOTDIR, syscall.EROFS}, hopeless) {
		return false
	}
	if ctx.Err() != nil || errors.Is(err, ErrTaken) || errors.Is(err, errIgnored) {
		return false
	}
	if !m.away {
		m.cfg.Event("the store of the fleet does not answer, the hosts stay as they are", err)
	}
	m.away = true
	return true
}

// step renews the lease and looks at those of others. Its error is final.
func (m *Member) step(ctx context.Context) error {
	err := m.renew(ctx)
	if err == nil && m.version != "" {
		err = m.look(ctx)
	}
	if err != nil && (m.temporary(ctx, err) || ctx.Err() != nil) {
		err = nil
	} else if err == nil && m.away {
		m.away = false
		m.cfg.Event("the store of the fleet answers again", nil)
	}
	return err
}

// own is the name of the recorder's own lease.
func (m *Member) own() string { return recorders + "/" + m.cfg.ID }

// contents returns the contents of the next renewal.
func (m *Member) contents() []byte {
	m.n++
	b, err := json.Marshal(holder{m.cfg.ID, m.process, m.n})
	if err != nil {
		panic(err) // strings and a number
	}
	return append(b, '\n')
}

// renew writes the lease again, or acquires it.
func (m *Member) renew(ctx context.Context) error {
	if m.version == "" {
		return m.acquire(ctx)
	}
	err := m.write(ctx, m.version)
	if !errors.Is(err, objects.ErrConflict) {
		return err
	}
	h, version, err := m.read(ctx)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && h.Process == m.process: // a renewal of which no answer came
		return m.write(ctx, version)
	case err == nil && h.Process != "":
		m.lost("")
		return ErrTaken
	}
	m.lost("another recorder found that this one did not renew its lease for too long: archives end, and it joins again")
	return m.acquire(ctx)
}

// write writes the lease in place of a version, or creates it.
func (m *Member) write(ctx context.Context, old string) error {
	return request(ctx, func(ctx context.Context) (err error) {
		version := ""
		if old == "" {
			version, err = m.cfg.Store.Create(ctx, m.own(), m.contents())
		} else {
			version, err = m.cfg.Store.Replace(ctx, m.own(), m.contents(), old)
		}
		if err == nil {
			m.version = version
		}
		return err
	})
}

// read reads the recorder's own lease. An empty one has no process.
func (m *Member) read(ctx context.Context) (h holder, version string, err error) {
	err = request(ctx, func(ctx context.Context) error {
		var data []byte
		if data, version, err = m.cfg.Store.Read(ctx, m.own()); err != nil || len(data) == 0 {
			return err
		}
		if len(data) > maxLease || json.Unmarshal(data, &h) != nil || h.Process == "" {
			h.Process = "?" // one of another version of this program
		}
		return nil
	})
	return h, version, err
}

// acquire acquires the lease. If there is one, of a process that ended without notice, it waits until it expires.
func (m *Member) acquire(ctx context.Context) error {
	err := m.write(ctx, "")
	first, age, looked := "", time.Duration(0), time.Now()
	for errors.Is(err, objects.ErrConflict) {
		var h holder
		var version string
		h, version, err = m.read(ctx)
		now := time.Now()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = m.write(ctx, "")
			continue
		case err != nil:
			return err
		case h.Process == "" || h.Process == m.process || age >= Expire && version == first:
			err = m.write(ctx, version)
			continue
		case first == "":
			m.cfg.Event(fmt.Sprintf("waiting up to %v for the lease of an earlier process of recorder %s to expire", Expire, m.cfg.ID), nil)
			first = version
		case version != first:
			return fmt.Errorf("recorder %s: %w", m.cfg.ID, ErrTaken)
		default:
			age += min(now.Sub(looked), maxStep)
		}
		looked = now
		if !pacing.Sleep(ctx, Renew) {
			return ctx.Err()
		}
		err = objects.ErrConflict
	}
	return err
}

// lost notes that the lease is lost.
func (m *Member) lost(text string) {
	m.version, m.looked = "", time.Time{}
	clear(m.seen)
	if text != "" {
		m.cfg.Event(text, nil)
	}
	m.change(nil)
}

// change passes the members on, if they have changed.
func (m *Member) change(members []string) {
	if !slices.Equal(members, m.members) {
		m.members = members
		m.cfg.Changed(slices.Clone(members))
	}
}

// look lists the leases of all recorders.
func (m *Member) look(ctx context.Context) error {
	var entries []objects.Entry
	err := request(ctx, func(ctx context.Context) (err error) {
		entries, err = m.cfg.Store.List(ctx, recorders)
		return err
	})
	if err != nil {
		return err
	}
	now := time.Now()
	step := min(now.Sub(m.looked), maxStep)
	m.looked = now
	live := []string{m.cfg.ID}
	there := make(map[string]bool)
	for _, e := range entries {
		if e.Dir || CheckID(e.Name) != nil || e.Name == m.cfg.ID {
			continue
		}
		there[e.Name] = true
		l, err := m.update(ctx, e, step)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			delete(there, e.Name) // it was just removed
			continue
		case err != nil:
			return err
		case l.empty && l.age >= Forget:
			name := recorders + "/" + e.Name
			if err := request(ctx, func(ctx context.Context) error { return m.cfg.Store.Remove(ctx, name) }); err != nil {
				return err
			}
		case !l.empty && l.age >= Expire:
			if err := m.expire(ctx, e.Name, l); err != nil {
				return err
			}
		}
		if !l.empty {
			live = append(live, e.Name)
		}
	}
	maps.DeleteFunc(m.seen, func(id string, _ *lease) bool { return !there[id] })
	slices.Sort(live)
	if gone := missing(m.members, live); len(gone) > 0 {
		m.cfg.Event("left the fleet: "+strings.Join(gone, ", "), nil)
	}
	if fresh := missing(live, m.members); len(fresh) > 0 {
		m.cfg.Event("joined the fleet: "+strings.Join(fresh, ", "), nil)
	}
	m.change(live)
	return nil
}

// missing returns the elements of a that b lacks.
func missing(a, b []string) (list []string) {
	for _, s := range a {
		if !slices.Contains(b, s) {
			list = append(list, s)
		}
	}
	return list
}

// update updates the state of a listed lease, step after the last look.
func (m *Member) update(ctx context.Context, e objects.Entry, step time.Duration) (*lease, error) {
	version, size := e.Version, e.Size
	if version == "" { // on a file system
		err := request(ctx, func(ctx context.Context) error {
			data, v, err := m.cfg.Store.Read(ctx, recorders+"/"+e.Name)
			version, size = v, int64(len(data))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	l := m.seen[e.Name]
	if l == nil || l.version != version {
		l = &lease{version: version, empty: size == 0}
		m.seen[e.Name] = l
		return l, nil
	}
	l.age += step
	return l, nil
}

// expire replaces a lease by an empty one, unless it was renewed meanwhile.
func (m *Member) expire(ctx context.Context, id string, l *lease) error {
	version := ""
	err := request(ctx, func(ctx context.Context) (err error) {
		version, err = m.cfg.Store.Replace(ctx, recorders+"/"+id, nil, l.version)
		return err
	})
	switch {
	case errors.Is(err, objects.ErrConflict):
		return nil // it was renewed, or another recorder replaced it: the next look shows it
	case err != nil:
		return err
	}
	m.cfg.Event(fmt.Sprintf("recorder %s did not renew its lease for %v", id, l.age.Round(time.Second)), nil)
	l.version, l.age, l.empty = version, 0, true
	return nil
}

// leave gives up the lease, unless another process has taken it.
func (m *Member) leave(ctx context.Context) {
	if m.version == "" {
		return
	}
	ctx = context.WithoutCancel(ctx)
	err := request(ctx, func(ctx context.Context) error {
		_, err := m.cfg.Store.Replace(ctx, m.own(), nil, m.version)
		return err
	})
	if err == nil {
		err = request(ctx, func(ctx context.Context) error { return m.cfg.Store.Remove(ctx, m.own()) })
	}
	if err != nil && !errors.Is(err, objects.ErrConflict) {
		m.cfg.Event("the lease could not be given up, it expires", err)
	}
	m.version = ""
}
