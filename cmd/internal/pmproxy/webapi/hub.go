package webapi

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
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
}

// A hub fetches the metrics of all its listeners at once.
type hub struct {
	s     *streams
	src   *source
	share int // a pause is this many times as long as the fetch before it; 0 for no pause

	listeners map[*listener]struct{}
	wake      chan struct{} // has an element when a listener came
	busy      map[string]bool
	apart     time.Time // until then, listeners with different metrics are served by fetches of their own
	known     *known    // of metrics
	metrics   map[string]*metric
	rosters   map[pcp.InDom]*roster
}

// A listener is a client that receives samples.
type listener struct {
	names, rare []string
	key         string // of both
	interval    time.Duration
	out         chan []byte
	gone        chan struct{} // closed when the hub has dropped it
	why         string        // set before that

	due     time.Time
	rareDue time.Time
	seen    map[pcp.InDom]int // length of the rosters at the last sample of rare metrics
	sent    map[pcp.InDom]sent
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
	key := hubKey{src, share}
	b := s.hubs[key]
	if b == nil {
		b = &hub{
			s: s, src: src, share: share, listeners: map[*listener]struct{}{}, wake: make(chan struct{}, 1),
			busy: map[string]bool{}, rosters: map[pcp.InDom]*roster{},
		}
		s.hubs[key] = b
		s.running.Go(b.run)
	}
	s.count++
	s.peers[peer]++
	l.due = grid(time.Now(), l.interval)
	b.listeners[l] = struct{}{}
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
		delete(b.s.hubs, hubKey{b.src, b.share})
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
	var names []string
	all := map[string]bool{}
	for i := range list {
		for _, name := range list[i].names() {
			if !all[name] {
				all[name] = true
				names = append(names, name)
			}
		}
	}
	ctx, cancel := context.WithTimeout(b.s.ctx, linkTimeout)
	defer cancel()
	began := time.Now()
	f, err := b.fetch(ctx, names)
	now := time.Now()
	took := now.Sub(began)
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	delete(b.busy, key)
	if key == "" && took > slowFetch {
		b.apart = now.Add(slowFor)
	}
	shared := map[string][]byte{} // messages without names of instances
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

// A fetched is the result of a fetch: the JSON of the values of each metric that has some.
type fetched struct {
	time    []byte
	values  map[string][]byte
	domains map[string]pcp.InDom
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
func (b *hub) fetch(ctx context.Context, names []string) (*fetched, error) {
	metrics, err := b.resolve(ctx, names)
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
		changes, err := l.c.FetchInto(ctx, ids, &l.res)
		if err != nil {
			return err
		}
		b.src.shared.note(l, changes, now)
		f = render(names, metrics, &l.res)
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

// render returns the values of a result as JSON.
func render(names []string, metrics []*metric, res *pcp.Result) *fetched {
	f := &fetched{values: make(map[string][]byte, len(names)), domains: make(map[string]pcp.InDom, len(names))}
	f.time = strconv.AppendInt(nil, res.Time.Sec, 10)
	f.time = append(f.time, '.')
	f.time = ctext.AppendDigits(f.time, uint32(res.Time.Nsec), 9)
	var b []byte
	for i, m := range metrics {
		if m == nil || i >= len(res.Sets) {
			continue
		}
		start := len(b)
		b = m.appendCompact(b, &res.Sets[i])
		f.values[names[i]] = b[start:len(b):len(b)]
		f.domains[names[i]] = m.desc.InDom
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

// message returns the event for a listener. Listeners of the same metrics share it, unless they lack names of instances.
func (b *hub) message(f *fetched, o *order, shared map[string][]byte) []byte {
	names := o.names()
	lacking := b.lacking(f, o, names)
	key := strconv.FormatBool(o.rare) + o.key
	if m := shared[key]; m != nil && lacking == nil {
		return m
	}
	m := append(make([]byte, 0, 1024), `data: {"timestamp":`...)
	m = append(m, f.time...)
	if lacking != nil {
		m = append(m, `,"instances":{`...)
		m = append(m, lacking...)
		m = append(m, '}')
	}
	m = append(m, `,"values":{`...)
	first := true
	for _, name := range names {
		v, ok := f.values[name]
		if !ok {
			continue
		}
		if !first {
			m = append(m, ',')
		}
		first = false
		m = rest.AppendString(m, name)
		m = append(m, ':')
		m = append(m, v...)
	}
	m = append(m, "}}\n\n"...)
	if lacking == nil {
		shared[key] = m
	}
	return m
}

// lacking returns the instances that a listener was not sent, as members of a JSON object; nil if there are none.
func (b *hub) lacking(f *fetched, o *order, names []string) (m []byte) {
	for _, name := range names {
		indom, ok := f.domains[name]
		r := b.rosters[indom]
		if !ok || r == nil {
			continue
		}
		if o.rare {
			if _, ok := o.seen[indom]; !ok && slices.Contains(o.listener.rare, name) {
				o.seen[indom] = b.rosterLen(indom)
			}
		}
		at := o.sent[indom]
		if at.epoch != r.epoch {
			at = sent{epoch: r.epoch}
		}
		if at.n < len(r.list) {
			if m != nil {
				m = append(m, ',')
			}
			m = append(m, '"')
			m = append(m, indom.String()...)
			m = append(m, `":{`...)
			if at.n == 0 { // the client forgets the instances that it knows
				m = append(m, `"":0,`...)
			}
			for i, in := range r.list[at.n:] {
				if i > 0 {
					m = append(m, ',')
				}
				m = append(m, '"')
				m = strconv.AppendUint(m, uint64(uint32(in.Inst)), 10)
				m = append(m, `":`...)
				m = rest.AppendString(m, in.Name)
			}
			m = append(m, '}')
			at.n = len(r.list)
		}
		o.sent[indom] = at
	}
	return m
}
