package search

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// Limits of what is asked of a source.
const (
	// MaxMetrics is how many names of metrics are taken of a source.
	MaxMetrics = 200_000
	// MaxInstances is how many instances are taken of a domain, the first ones.
	MaxInstances = 10_000
	// batch is how many names are looked up in one request.
	batch = 1000
)

// A Source says what there is to find, for [Feed].
type Source interface {
	// Name tells sources of an index apart.
	Name() string
	// Documents returns all that the source has. The caller does not change
	// what it gets.
	Documents(ctx context.Context) ([]Document, error)
	// Changed reports whether Documents would return other metrics than the
	// last time. It is asked often, and cheap.
	Changed(ctx context.Context) (bool, error)
}

// Documents returns the documents of a context of pmapi: its metrics, their
// instance domains, and the instances. Of an archive it returns those of its
// whole time. Domains in exclude have no instances among them. What the source
// refuses is left out; the error is that of a context that answers no more.
func Documents(ctx context.Context, c *pmapi.Context, exclude ...pcp.InDom) ([]Document, error) {
	docs, indoms, err := metrics(ctx, c)
	if err != nil {
		return nil, err
	}
	more, err := instances(ctx, c, indoms, exclude)
	return append(docs, more...), err
}

// fatal returns err if no more can be asked after it.
func fatal(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, pcp.ErrIPC), errors.Is(err, pcp.ErrNotConn), errors.Is(err, pcp.ErrTimeout):
		return err
	}
	return nil
}

// metrics returns the documents of metrics, and the instance domains that they
// have.
func metrics(ctx context.Context, c *pmapi.Context) ([]Document, []pcp.InDom, error) {
	var names []string
	for name, err := range c.Traverse(ctx, "") {
		if err != nil {
			if err := fatal(ctx, err); err != nil {
				return nil, nil, err
			}
			break
		}
		if names = append(names, name); len(names) == MaxMetrics {
			break
		}
	}
	docs := make([]Document, 0, len(names))
	var indoms []pcp.InDom
	seen := make(map[pcp.InDom]bool)
	for part := range slices.Chunk(names, batch) {
		ids, err := c.LookupName(ctx, part...)
		if err := fatal(ctx, err); err != nil {
			return nil, nil, err
		}
		if len(ids) != len(part) {
			continue
		}
		known := slices.DeleteFunc(slices.Clone(ids), func(id pcp.PMID) bool { return id == pcp.PMIDNull })
		if len(known) == 0 {
			continue
		}
		list, err := c.LookupDescs(ctx, known...)
		if err := fatal(ctx, err); err != nil {
			return nil, nil, err
		}
		descs := make(map[pcp.PMID]pcp.Desc, len(list))
		for _, d := range list {
			descs[d.PMID] = d
		}
		for i, id := range ids {
			desc, ok := descs[id]
			if !ok || id == pcp.PMIDNull {
				continue
			}
			d := Document{Type: Metric, Name: part[i], InDom: "none"}
			if desc.InDom != pcp.InDomNull {
				d.InDom = desc.InDom.String()
				if !seen[desc.InDom] {
					seen[desc.InDom] = true
					indoms = append(indoms, desc.InDom)
				}
			}
			if d.OneLine, err = c.LookupText(ctx, id, pcp.TextOneLine); fatal(ctx, err) != nil {
				return nil, nil, fatal(ctx, err)
			}
			if d.Help, err = c.LookupText(ctx, id, pcp.TextHelp); fatal(ctx, err) != nil {
				return nil, nil, fatal(ctx, err)
			}
			docs = append(docs, d)
		}
	}
	return docs, indoms, nil
}

// instances returns the documents of domains and their instances.
func instances(ctx context.Context, c *pmapi.Context, indoms, exclude []pcp.InDom) ([]Document, error) {
	var docs []Document
	a, recorded := c.Archive()
	for _, indom := range indoms {
		d := Document{Type: InDom, Name: indom.String(), InDom: indom.String()}
		var err error
		if d.OneLine, err = c.LookupInDomText(ctx, indom, pcp.TextOneLine); fatal(ctx, err) != nil {
			return nil, fatal(ctx, err)
		}
		if d.Help, err = c.LookupInDomText(ctx, indom, pcp.TextHelp); fatal(ctx, err) != nil {
			return nil, fatal(ctx, err)
		}
		docs = append(docs, d)
		if slices.Contains(exclude, indom) {
			continue
		}
		var list []pcp.Instance
		if recorded {
			list, err = a.GetInDomArchive(ctx, indom)
		} else {
			list, err = c.GetInDom(ctx, indom)
		}
		if err := fatal(ctx, err); err != nil {
			return nil, err
		}
		for _, inst := range list[:min(len(list), MaxInstances)] {
			docs = append(docs, Document{Type: Instance, Name: inst.Name, InDom: d.InDom})
		}
	}
	return docs, nil
}

// Exclude returns the instance domains whose instances say little and change
// always: processes of the agent proc and of acct (exclude.indoms in
// pmproxy.conf).
func Exclude() []pcp.InDom {
	return []pcp.InDom{pcp.NewInDom(3, 9), pcp.NewInDom(3, 40), pcp.NewInDom(79, 7)}
}

// A Collector is a Source: what a collector has. One goroutine at a time may
// use it.
type Collector struct {
	Spec string // of the host, as pmapi.Dial takes it
	// Dial connects; nil means pmapi.Dial.
	Dial func(ctx context.Context, spec string) (*pmapi.Context, error)
	// Exclude are domains whose instances are not wanted; nil means those that
	// the function Exclude returns.
	Exclude []pcp.InDom

	c      *pmapi.Context
	known  []Document // metrics, as they were
	indoms []pcp.InDom
}

// Name returns the specification of the host.
func (s *Collector) Name() string { return s.Spec }

// Documents asks the collector: for all it has the first time and after a
// change, else for the instances.
func (s *Collector) Documents(ctx context.Context) (docs []Document, err error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
		if s.c != nil {
			s.c.Rest()
		}
	}()
	if s.known == nil {
		if s.known, s.indoms, err = metrics(ctx, s.c); err != nil {
			return nil, err
		}
	}
	exclude := s.Exclude
	if exclude == nil {
		exclude = Exclude()
	}
	more, err := instances(ctx, s.c, s.indoms, exclude)
	if err != nil {
		return nil, err
	}
	return append(slices.Clip(s.known), more...), nil
}

// connect makes the connection if there is none.
func (s *Collector) connect(ctx context.Context) error {
	if s.c != nil {
		return nil
	}
	dial := s.Dial
	if dial == nil {
		dial = pmapi.Dial
	}
	c, err := dial(ctx, s.Spec)
	if err != nil {
		return err
	}
	s.c, s.known = c, nil
	return nil
}

// Changed asks the collector whether agents or names have changed.
func (s *Collector) Changed(ctx context.Context) (bool, error) {
	if s.c == nil {
		return true, nil
	}
	ids, err := s.c.LookupName(ctx, "pmcd.version")
	if err != nil || len(ids) != 1 {
		if fatal(ctx, err) != nil {
			s.Close()
			return true, err
		}
		return false, nil
	}
	var res pcp.Result
	changes, err := s.c.FetchInto(ctx, ids, &res)
	if fatal(ctx, err) != nil {
		s.Close()
		return true, err
	}
	if changes != 0 {
		s.known = nil
	}
	return changes != 0, nil
}

// Close ends the connection. The next call makes another.
func (s *Collector) Close() error {
	c := s.c
	s.c, s.known = nil, nil
	if c == nil {
		return nil
	}
	return c.Close()
}

// Archive is a Source: what is in archives, named as pmapi.OpenArchive takes
// them.
type Archive string

// Name returns the specification.
func (a Archive) Name() string { return string(a) }

// Documents reads the metadata of the archives.
func (a Archive) Documents(ctx context.Context) ([]Document, error) {
	c, err := pmapi.OpenArchive(string(a))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return Documents(ctx, c.Context, Exclude()...)
}

// Changed returns false: a growing archive is read again in time.
func (a Archive) Changed(context.Context) (bool, error) { return false, nil }

// Times of Feed.
const (
	// DefaultPoll is how often a source is asked for changes.
	DefaultPoll = 15 * time.Second
	// DefaultRefresh is how often all of it is asked for again.
	DefaultRefresh = 10 * time.Minute
)

// A FeedConfig says how [Feed] keeps an index up to date. The zero value has
// the defaults.
type FeedConfig struct {
	Poll    time.Duration // 0: DefaultPoll
	Refresh time.Duration // 0: DefaultRefresh
	// Report is called with each error of a source, and with nil when it
	// answers again; nil discards them.
	Report func(source string, err error)
	// Fed is called after each time that documents of a source were taken; nil
	// means no call.
	Fed func(source string, documents int)
}

// Feed keeps the documents of sources in an index up to date until ctx is done.
// What a source that fails had stays in the index, and is asked for again at
// the next poll.
func Feed(ctx context.Context, x *Index, c FeedConfig, sources ...Source) {
	if c.Poll <= 0 {
		c.Poll = DefaultPoll
	}
	if c.Refresh <= 0 {
		c.Refresh = DefaultRefresh
	}
	var wg sync.WaitGroup
	for _, s := range sources {
		wg.Go(func() { feed(ctx, x, c, s) })
	}
	wg.Wait()
}

func feed(ctx context.Context, x *Index, c FeedConfig, s Source) {
	if s, ok := s.(interface{ Close() error }); ok {
		defer s.Close()
	}
	tick := time.NewTicker(c.Poll)
	defer tick.Stop()
	var last time.Time // zero: it must be asked
	failed := false
	for {
		err := error(nil)
		want := last.IsZero() || time.Since(last) >= c.Refresh
		if !want {
			want, err = s.Changed(ctx)
		}
		if want && err == nil {
			var docs []Document
			if docs, err = s.Documents(ctx); err == nil {
				if err = x.Replace(s.Name(), docs); err == nil {
					last = time.Now()
					if c.Fed != nil {
						c.Fed(s.Name(), len(docs))
					}
				}
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			last = time.Time{}
		}
		if c.Report != nil && (err != nil || failed) {
			c.Report(s.Name(), err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
