package metrics

import (
	"context"
	"errors"
	"testing"

	"github.com/go-pcp/pcp"
)

// A source has metrics by name. It cannot describe those of an odd item.
type source struct {
	ids      map[string]pcp.PMID
	names    error // of LookupName, without identifiers
	inner    error // of LookupName, about one of the names
	descs    error // of LookupDescs
	requests int
}

func (s *source) LookupName(_ context.Context, names ...string) ([]pcp.PMID, error) {
	s.requests++
	if s.names != nil {
		return nil, s.names
	}
	var list []pcp.PMID
	err := s.inner
	for _, name := range names {
		id, ok := s.ids[name]
		if !ok {
			id, err = pcp.PMIDNull, pcp.ErrName
		}
		list = append(list, id)
	}
	return list, err
}

func (s *source) LookupDescs(_ context.Context, ids ...pcp.PMID) ([]pcp.Desc, error) {
	s.requests++
	if s.descs != nil {
		return nil, s.descs
	}
	var list []pcp.Desc
	var err error
	for _, id := range ids {
		d := pcp.Desc{PMID: id, Type: pcp.TypeU64}
		if id.Item()%2 == 1 {
			d, err = pcp.Desc{PMID: pcp.PMIDNull}, pcp.ErrNoAgent
		}
		list = append(list, d)
	}
	return list, err
}

func TestFind(t *testing.T) {
	a, b, c := pcp.NewPMID(60, 0, 2), pcp.NewPMID(60, 0, 3), pcp.NewPMID(60, 0, 4)
	s := &source{ids: map[string]pcp.PMID{"a": a, "b": b, "c": c, "alias": a}}
	list, err := Find(t.Context(), s, []string{"none", "a", "b", "c", "alias"})
	if err != nil || s.requests != 2 {
		t.Fatalf("%v after %d requests", err, s.requests)
	}
	for i, want := range []pcp.PMID{pcp.PMIDNull, a, pcp.PMIDNull, c, a} {
		if list[i].PMID != want {
			t.Errorf("descriptor %d is of %v, want %v", i, list[i].PMID, want)
		}
	}
	if list, err := Find(t.Context(), s, []string{"none"}); err != nil || len(list) != 1 || s.requests != 3 {
		t.Errorf("without any metric: %v, %v, %d requests", list, err, s.requests)
	}
}

func TestFindFails(t *testing.T) {
	ids := map[string]pcp.PMID{"a": pcp.NewPMID(60, 0, 2)}
	for _, c := range []struct {
		s    source
		want error
	}{
		{source{names: pcp.ErrIPC}, pcp.ErrIPC},
		{source{names: pcp.ErrName}, pcp.ErrName}, // without any identifiers
		{source{ids: ids, descs: pcp.ErrTimeout}, pcp.ErrTimeout},
		{source{ids: ids, descs: pcp.ErrNoAgent}, nil},
	} {
		list, err := Find(t.Context(), &c.s, []string{"a"})
		if !errors.Is(err, c.want) || c.want == nil && err != nil || (list == nil) != (c.want != nil) {
			t.Errorf("Find = %v, %v, want %v", list, err, c.want)
		}
	}
	s := source{ids: ids, inner: pcp.ErrNonLeaf}
	if list, err := Find(t.Context(), &s, []string{"a"}); !errors.Is(err, pcp.ErrNonLeaf) || len(list) != 1 || list[0].PMID != ids["a"] {
		t.Errorf("beside an inner node: %v, %v", list, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if !Lost(ctx, pcp.ErrName) || Lost(ctx, nil) || Lost(t.Context(), pcp.ErrName) {
		t.Error("Lost is wrong about a context that is done")
	}
}
