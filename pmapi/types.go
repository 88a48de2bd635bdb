package pmapi

import (
	"slices"

	"github.com/go-pcp/pcp"
)

// types are those of the metrics whose descriptors a context has seen, to give
// them to values that come without. The holder of the context's turn guards them.
type types struct {
	byID map[pcp.PMID]pcp.Type // of those whose values come in situ
	seen int                   // counts changes of byID

	// What the last fetch was for, as most programs fetch the same again.
	ids  []pcp.PMID
	of   []pcp.Type // for each of ids; TypeUnknown if it is not known
	when int        // seen, when of was made
}

// learn takes in descriptors.
func (t *types) learn(descs []pcp.Desc) {
	for i := range descs {
		d := &descs[i]
		if was, ok := t.byID[d.PMID]; d.PMID == pcp.PMIDNull || ok && was == d.Type || !ok && !d.Type.InSitu() {
			continue
		}
		if t.byID == nil {
			t.byID = make(map[pcp.PMID]pcp.Type)
		}
		t.byID[d.PMID] = d.Type
		t.seen++
	}
}

// stamp gives the values of res, which was fetched for ids, their types.
func (t *types) stamp(ids []pcp.PMID, res *pcp.Result) {
	if len(t.byID) == 0 {
		return
	}
	if t.when != t.seen || !slices.Equal(t.ids, ids) {
		t.ids, t.of, t.when = append(t.ids[:0], ids...), t.of[:0], t.seen
		for _, id := range ids {
			typ, ok := t.byID[id]
			if !ok {
				typ = pcp.TypeUnknown
			}
			t.of = append(t.of, typ)
		}
	}
	for i, typ := range t.of {
		if typ != pcp.TypeUnknown && i < len(res.Sets) {
			res.Sets[i].As(typ)
		}
	}
}
