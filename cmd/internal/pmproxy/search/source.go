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

// Limits of the data taken from a source.
const (
	// MaxMetrics is the maximum number of metrics of a source.
	MaxMetrics = 200_000
	// MaxInstances is the maximum number of instances of a domain; further ones are ignored.
	MaxInstances = 10_000
	// batch is the number of names looked up in one request.
	batch = 1000
)

// A Source supplies documents to [Feed].
type Source interface {
	// Name identifies the source in an index.
	Name() string
	// Documents returns all documents of the source. The caller must not change
	// them.
	Documents(ctx context.Context) ([]Document, error)
	// Changed reports whether the metrics of Documents have changed since the
	// last call. It is called often, and must be cheap.
	Changed(ctx context.Context) (bool, error)
}

// Documents returns the documents of a pmapi context: its metrics, their
// instance domains, and the instances, of an archive those of its whole time.
// The instances of domains in exclude are left out, as are metrics that the
// source refuses. It returns an error if the context fails altogether.
func Documents(ctx context.Context, c *pmapi.Context, exclude ...pcp.InDom) ([]Document, error) {
	docs, indoms, err := metrics(ctx, c)
	if err != nil {
		return nil, err
	}
	more, err := instances(ctx, c, indoms, exclude)
	return append(docs, more...), err
}

// fatal returns err if the context cannot be used any more.
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

// metrics returns the documents of metrics, and their instance domains.
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

// Exclude returns the instance domains whose instances are of little use and
// change constantly: processes of the agent proc and of acct (exclude.indoms in
// pmproxy.conf).
func Exclude() []pcp.InDom {
	return []pcp.InDom{pcp.NewInDom(3, 9), pcp.NewInDom(3, 40), pcp.NewInDom(79, 7)}
}

// A Collector is a Source for the metrics of a collector. It must be used by
// one goroutine at a time.
type Collector struct {
	Spec string // host, as in pmapi.Dial
	// Dial connects; nil means pmapi.Dial.
	Dial func(ctx context.Context, spec string) (*pmapi.Context, error)
	// Exclude are domains whose instances are left out; nil means the result of
	// the function Exclude.
	Exclude []pcp.InDom

	c      *pmapi.Context
	known  []Document // metrics at the last call
	indoms []pcp.InDom
}

// Name returns the host specification.
func (s *Collector) Name() string { return s.Spec }

// Documents returns the documents: everything the first time and after a
// change, otherwise it updates only the instances.
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

// connect connects if there is no connection.
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

// Changed reports whether agents or names have changed.
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

// Close closes the connection. The next call connects again.
func (s *Collector) Close() error {
	c := s.c
	s.c, s.known = nil, nil
	if c == nil {
		return nil
	}
	return c.Close()
}

// Archive is a Source for archives, named as in pmapi.OpenArchive.
type Archive string

// Name returns the archive specification.
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

// Changed returns false: a growing archive is read again at the refresh.
func (a Archive) Changed(context.Context) (bool, error) { return false, nil }

// Intervals of Feed.
const (
	// DefaultPoll is the interval of calls of Changed.
	DefaultPoll = 15 * time.Second
	// DefaultRefresh is the interval of complete updates.
	DefaultRefresh = 10 * time.Minute
)

// A FeedConfig configures [Feed]. The zero value means the defaults.
type FeedConfig struct {
	Poll    time.Duration // 0: DefaultPoll
	Refresh time.Duration // 0: DefaultRefresh
	// Report is called with each error of a source, and with nil when the
	// source works again; nil discards them.
	Report func(source string, err error)
	// Fed is called after each update of a source's documents; nil means no
	// call.
	Fed func(source string, documents int)
}

// Feed keeps the documents of sources in an index up to date until ctx is done.
// The documents of a failing source remain in the index, and the source is
// tried again at the next poll.
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
	var last time.Time // zero: update now
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
