package sample

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// Store implements pmda.Storer. Unlike that of a table it checks the form of
// values rather than their instances, as the C agent does.
func (a *Agent) Store(_ context.Context, client *pmda.Client, res *pcp.Result) error {
	if err := a.begin(client); err != nil {
		return err
	}
	for i := range res.Sets {
		vs := &res.Sets[i]
		r := a.stores[vs.PMID]
		if r == nil {
			return pcp.ErrPMID
		}
		if err := r.store(vs); err != nil {
			return err
		}
	}
	return nil
}

func (r *row) store(vs *pcp.ValueSet) error {
	if r.set == nil && r.setAll == nil {
		return pcp.ErrPermission
	}
	if err := r.checkForm(vs); err != nil {
		return err
	}
	values := make([]pcp.Value, len(vs.Values))
	for i, v := range vs.Values {
		var err error
		inst := v.Inst
		if values[i], err = v.Extract(r.Type, r.Type); err != nil {
			if i == 0 {
				return err
			}
			// Values before it are stored.
			if serr := r.setAll(values[:i]); serr != nil {
				return serr
			}
			return err
		}
		values[i].Inst = inst
	}
	if r.setAll != nil {
		return r.setAll(values)
	}
	return r.set(values[0])
}

// checkForm refuses anything but one value in the wire form of its type; bins,
// colours and mirages can have any number of values.
func (r *row) checkForm(vs *pcp.ValueSet) error {
	n := len(vs.Values)
	if vs.Err < 0 || n == 0 || n != 1 && r.setAll == nil {
		return pcp.ErrBadStore
	}
	switch {
	case r.Type == pcp.TypeFloat: // both forms are in use
	case r.Item == 6 || r.Item == 40: // bin and pdu take anything
	case r.Type.InSitu() != (vs.ValFmt == pcp.ValInSitu):
		return pcp.ErrBadStore
	}
	return nil
}
