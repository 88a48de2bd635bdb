package webapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Limits of streams.
const (
	// MaxStreams and MaxStreamsPerPeer limit the number of streams, in total and for one address.
	MaxStreams, MaxStreamsPerPeer = 2000, 500
	// MaxStreamNames is the number of metrics of a stream.
	MaxStreamNames = 1000

	streamGrid    = 250 * time.Millisecond // the times of all samples are multiples of it since 1970
	streamQueue   = 8                      // samples that wait for a client, before it is disconnected
	streamBeat    = 10 * time.Second       // between comments, by which both sides notice that the other is gone
	rareEvery     = 10 * time.Second       // between samples of metrics that rarely change
	maxShare      = 100
	longestPause  = 10 * time.Second
	slowFetch     = time.Second / 2 // clients with other metrics do not wait for slower fetches
	slowFor       = time.Minute
	instanceAgain = 3 * time.Second // between two requests for the instances of a domain
	maxNamed      = 10000           // names that a client is sent, besides those that there are, before it is to forget them
)

// streams are the clients that receive samples.
type streams struct {
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // hubs and their fetches

	mu    sync.Mutex // guards all hubs and listeners too
	hubs  map[hubKey]*hub
	peers map[string]int
	count int
}

func newStreams() *streams {
	s := &streams{hubs: map[hubKey]*hub{}, peers: map[string]int{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// close ends all streams, and waits for the fetches in progress.
func (s *streams) close() {
	s.mu.Lock() // join starts no hub afterwards
	s.cancel()
	s.mu.Unlock()
	s.running.Wait()
}

type hubKey struct {
	src   *source
	share int
	only  instance
}

// An instance is the number of the only instance that is wanted of each domain.
type instance struct {
	set bool
	n   int32
}

// A hub fetches the metrics of all its listeners at once.
type hub struct {
	s      *streams
	hubKey // a pause is share times as long as the fetch before it; 0 for no pause

	listeners map[*listener]struct{}
	wake      chan struct{} // has an element when a listener came
	busy      map[string]bool
	apart     time.Time // until then, listeners with different metrics are served by fetches of their own
	known     *known    // of metrics
	metrics   map[string]*metric
	rosters   map[pcp.InDom]*roster
	rankings  map[string]*ranking // by the keys of listeners
}

// A listener is a client that receives samples.
type listener struct {
	names, rare []string
	largest     []string // metrics of which only the largest instances are sent
	top         int
	keep        time.Duration
	key         string // of all these
	only        instance
	changes     bool // it is sent the changes since its last event
	interval    time.Duration
	out         chan []byte
	gone        chan struct{} // closed when the hub has dropped it
	why         string        // set before that

	due     time.Time
	rareDue time.Time
	seen    map[pcp.InDom]int // length of the rosters at the last sample of rare metrics
	sent    map[pcp.InDom]sent
	// The samples of its last event, and of its last one with rare metrics, if it is sent changes.
	last, lastRare *fetched
	named          map[pcp.InDom]map[int32]string // of the instances that were sent, if there are largest ones
}

type sent struct{ epoch, n int }

// A roster has the instances of a domain in the order in which they were found.
type roster struct {
	list  []pcp.Instance
	names map[int32]string
	asked time.Time
	epoch int // changes when the list is emptied
}

// grid returns the first time on the grid of an interval after t.
func grid(t time.Time, interval time.Duration) time.Time {
	n := t.UnixNano()
	return time.Unix(0, n-n%int64(interval)+int64(interval))
}

// join adds a listener.
func (s *streams) join(src *source, share int, peer string, l *listener) (*hub, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || s.count >= MaxStreams || s.peers[peer] >= MaxStreamsPerPeer {
		return nil, &failure{http.StatusServiceUnavailable, "too many streams"}
	}
	key := hubKey{src, share, l.only}
	b := s.hubs[key]
	if b == nil {
		b = &hub{
			s: s, hubKey: key, listeners: map[*listener]struct{}{}, wake: make(chan struct{}, 1),
			busy: map[string]bool{}, rosters: map[pcp.InDom]*roster{}, rankings: map[string]*ranking{},
		}
		s.hubs[key] = b
		s.running.Go(b.run)
	}
	s.count++
	s.peers[peer]++
	l.due = grid(time.Now(), l.interval)
	b.listeners[l] = struct{}{}
	if len(l.largest) > 0 && b.rankings[l.key] == nil {
		b.rankings[l.key] = &ranking{top: l.top, keep: l.keep, metrics: map[string]*ranked{}}
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return b, nil
}

// leave removes a listener.
func (s *streams) leave(b *hub, peer string, l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	if s.peers[peer]--; s.peers[peer] == 0 {
		delete(s.peers, peer)
	}
	b.drop(l, "")
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// drop ends the stream of a listener.
func (b *hub) drop(l *listener, why string) {
	if _, ok := b.listeners[l]; !ok {
		return
	}
	delete(b.listeners, l)
	l.why = why
	close(l.gone)
	for other := range b.listeners {
		if other.key == l.key {
			return
		}
	}
	delete(b.rankings, l.key)
}

// run fetches until there are no listeners.
func (b *hub) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, ok := b.next()
		if !ok {
			return
		}
		timer.Reset(time.Until(next))
		select {
		case <-timer.C:
			b.tick(time.Now())
		case <-b.wake:
		case <-b.s.ctx.Done():
		}
	}
}

// next returns the time of the next sample. Without listeners it ends the hub.
func (b *hub) next() (t time.Time, ok bool) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.ctx.Err() != nil {
		for l := range b.listeners {
			b.drop(l, "the server is going down")
		}
	}
	if len(b.listeners) == 0 {
		delete(b.s.hubs, b.hubKey)
		return t, false
	}
	for l := range b.listeners {
		if t.IsZero() || l.due.Before(t) {
			t = l.due
		}
	}
	return t, true
}

// An order is a sample for a listener.
type order struct {
	*listener
	rare bool
}

func (o *order) names() []string {
	if o.rare {
		return append(slices.Clip(o.listener.names), o.listener.rare...)
	}
	return o.listener.names
}

// tick starts the fetches that are due: one for all, or while fetches are slow one for each set of metrics.
func (b *hub) tick(now time.Time) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.busy[""] {
		b.apart = now.Add(slowFor)
	}
	groups := map[string][]order{}
	for l := range b.listeners {
		if l.due.After(now) {
			continue
		}
		l.due = grid(now, l.interval)
		key := ""
		if now.Before(b.apart) {
			key = l.key
		}
		if b.busy[key] {
			continue // its sample is skipped
		}
		o := order{listener: l}
		if len(l.rare) > 0 && (!now.Before(l.rareDue) || b.grown(l)) {
			o.rare, l.rareDue = true, now.Add(rareEvery-streamGrid)
			for d := range l.seen {
				l.seen[d] = b.rosterLen(d)
			}
		}
		groups[key] = append(groups[key], o)
	}
	for key, list := range groups {
		b.busy[key] = true
		b.s.running.Go(func() { b.sample(key, list) })
	}
}

func (b *hub) rosterLen(d pcp.InDom) int {
	if r := b.rosters[d]; r != nil {
		return r.epoch<<32 + len(r.list)
	}
	return 0
}

// grown reports whether there are instances whose rare metrics a listener has not seen.
func (b *hub) grown(l *listener) bool {
	for d, n := range l.seen {
		if b.rosterLen(d) != n {
			return true
		}
	}
	return false
}

// sample fetches once for a group of listeners.
func (b *hub) sample(key string, list []order) {
	w := b.wanted(list)
	ctx, cancel := context.WithTimeout(b.s.ctx, linkTimeout)
	defer cancel()
	began := time.Now()
	f, err := b.fetch(ctx, w)
	now := time.Now()
	took := now.Sub(began)
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	delete(b.busy, key)
	if key == "" && took > slowFetch {
		b.apart = now.Add(slowFor)
	}
	shared := map[sharedKey]message{} // messages without names of instances
	for i := range list {
		o := &list[i]
		if b.share > 0 {
			o.due = grid(now.Add(max(0, min(took*time.Duration(b.share), longestPause)-o.interval)), o.interval)
		}
		if _, ok := b.listeners[o.listener]; !ok {
			continue
		}
		if err != nil {
			b.drop(o.listener, errText(err))
			continue
		}
		select {
		case o.out <- b.message(f, o, shared):
		default:
			b.drop(o.listener, "the client is too slow")
		}
	}
}

// A wanted lists the metrics of a fetch.
type wanted struct {
	names    []string
	whole    map[string]bool // metrics all of whose instances are wanted
	largest  map[string][]string
	rankings map[string]*ranking // both by the keys of listeners
}

// wanted returns what listeners want.
func (b *hub) wanted(list []order) *wanted {
	w := &wanted{whole: map[string]bool{}, largest: map[string][]string{}, rankings: map[string]*ranking{}}
	all := map[string]bool{}
	add := func(name string) {
		if !all[name] {
			all[name] = true
			w.names = append(w.names, name)
		}
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	for i := range list {
		for _, name := range list[i].names() {
			add(name)
			w.whole[name] = true
		}
		l := list[i].listener
		if r := b.rankings[l.key]; r != nil && w.rankings[l.key] == nil {
			w.rankings[l.key], w.largest[l.key] = r, l.largest
			for _, name := range l.largest {
				add(name)
			}
		}
	}
	return w
}

// A fetched is the result of a fetch: the JSON of the values of each metric that has some.
type fetched struct {
	time    []byte
	values  map[string][]byte
	domains map[string]pcp.InDom
	choices map[string]map[string]*choice // of metrics by their names, by the keys of listeners
	before  map[string][]byte             // the times of the samples before these
}

// resolve returns metrics by their names, nil for missing ones and for event records.
func (b *hub) resolve(ctx context.Context, names []string) ([]*metric, error) {
	list := make([]*metric, len(names))
	var missing []string
	b.s.mu.Lock()
	if k := b.src.shared.knows(); b.known != k || b.metrics == nil {
		b.known, b.metrics = k, map[string]*metric{}
	}
	for i, name := range names {
		m, ok := b.metrics[name]
		if list[i] = m; !ok {
			missing = append(missing, name)
		}
	}
	b.s.mu.Unlock()
	if len(missing) == 0 {
		return list, nil
	}
	var found []*metric
	err := b.src.shared.with(ctx, func(l *link, k *known) (err error) {
		found, err = k.byNames(ctx, l, missing)
		return err
	})
	if err != nil {
		return nil, err
	}
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	at := 0
	for i, name := range names {
		if at < len(missing) && missing[at] == name {
			if m := found[at]; m != nil && !m.event() {
				list[i] = m
			}
			if len(b.metrics) < maxMetrics {
				b.metrics[name] = list[i]
			}
			at++
		}
	}
	return list, nil
}

// fetch fetches metrics by their names, and the names of instances that are unknown.
func (b *hub) fetch(ctx context.Context, w *wanted) (*fetched, error) {
	metrics, err := b.resolve(ctx, w.names)
	if err != nil {
		return nil, err
	}
	ids := make([]pcp.PMID, len(metrics))
	some := false
	for i, m := range metrics {
		ids[i] = pcp.PMIDNull
		if m != nil {
			ids[i], some = m.desc.PMID, true
		}
	}
	if !some {
		return nil, pcp.ErrName
	}
	var f *fetched
	err = b.src.with(ctx, func(l *link) error {
		now := time.Now()
		if b.only.set {
			defer l.c.AddProfile(pcp.InDomNull)
			if err := b.restrict(l, metrics); err != nil {
				return err
			}
		}
		changes, err := l.c.FetchInto(ctx, ids, &l.res)
		if err != nil {
			return err
		}
		b.src.shared.note(l, changes, now)
		f = render(w, metrics, &l.res)
		if b.only.set {
			return nil // its values need no names
		}
		for _, indom := range b.unknown(metrics, &l.res, now) {
			list, err := l.c.GetInDom(ctx, indom)
			if broken(err) {
				return err
			}
			if err == nil {
				b.learn(indom, list)
			}
		}
		return nil
	})
	return f, err
}

// restrict has a fetch return the values of one instance only.
func (b *hub) restrict(l *link, metrics []*metric) error {
	if err := l.c.DelProfile(pcp.InDomNull); err != nil {
		return err
	}
	for _, m := range metrics {
		if m == nil || m.desc.InDom == pcp.InDomNull {
			continue
		}
		if err := l.c.AddProfile(m.desc.InDom, b.only.n); err != nil {
			return err
		}
	}
	return nil
}

func appendTime(b []byte, t pcp.Timestamp) []byte {
	b = append(strconv.AppendInt(b, t.Sec, 10), '.')
	return ctext.AppendDigits(b, uint32(t.Nsec), 9)
}

// render returns the values of a result as JSON.
func render(w *wanted, metrics []*metric, res *pcp.Result) *fetched {
	f := &fetched{
		time: appendTime(nil, res.Time), values: make(map[string][]byte, len(w.names)), domains: make(map[string]pcp.InDom, len(w.names)),
		choices: map[string]map[string]*choice{}, before: map[string][]byte{},
	}
	var b []byte
	at := map[string]int{}
	for i, m := range metrics {
		if m == nil || i >= len(res.Sets) {
			continue
		}
		name := w.names[i]
		f.domains[name] = m.desc.InDom
		ranks := m.desc.InDom != pcp.InDomNull && m.numeric()
		if ranks {
			at[name] = i
		}
		if w.whole[name] || !ranks {
			start := len(b)
			b = m.appendCompact(b, &res.Sets[i])
			f.values[name] = b[start:len(b):len(b)]
		}
	}
	find := func(name string) (*metric, *pcp.ValueSet) {
		if i, ok := at[name]; ok {
			return metrics[i], &res.Sets[i]
		}
		return nil, nil
	}
	for key, r := range w.rankings {
		f.choices[key], f.before[key] = r.rank(w.largest[key], find, res.Time)
	}
	return f
}

// appendCompact appends the values of a metric: one value, or an array with the number and the value of each instance in turn.
func (m *metric) appendCompact(b []byte, vs *pcp.ValueSet) []byte {
	if m.desc.InDom == pcp.InDomNull {
		if len(vs.Values) == 0 {
			return append(b, "null"...)
		}
		return appendValue(b, vs.Values[0].As(m.desc.Type))
	}
	b = append(b, '[')
	for i := range vs.Values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(uint32(vs.Values[i].Inst)), 10)
		b = append(b, ',')
		b = appendValue(b, vs.Values[i].As(m.desc.Type))
	}
	return append(b, ']')
}

// unknown returns the domains with instances whose names are to be requested.
func (b *hub) unknown(metrics []*metric, res *pcp.Result, now time.Time) []pcp.InDom {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	var list []pcp.InDom
	for i, m := range metrics {
		if m == nil || i >= len(res.Sets) || m.desc.InDom == pcp.InDomNull {
			continue
		}
		r := b.rosters[m.desc.InDom]
		if r == nil {
			r = &roster{names: map[int32]string{}}
			b.rosters[m.desc.InDom] = r
		}
		if now.Sub(r.asked) < instanceAgain {
			continue
		}
		for k := range res.Sets[i].Values {
			if _, ok := r.names[res.Sets[i].Values[k].Inst]; !ok {
				r.asked = now
				list = append(list, m.desc.InDom)
				break
			}
		}
	}
	return list
}

// learn adds the instances of a domain to its roster.
func (b *hub) learn(indom pcp.InDom, list []pcp.Instance) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	r := b.rosters[indom]
	if len(r.list) > 2*len(list)+1000 {
		r.list, r.epoch = nil, r.epoch+1
		clear(r.names)
	}
	for _, in := range list {
		if name, ok := r.names[in.Inst]; !ok || name != in.Name {
			r.names[in.Inst] = in.Name
			r.list = append(r.list, in)
		}
	}
}
