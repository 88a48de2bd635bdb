package replay

import (
	"context"

	"github.com/go-pcp/pcp"
)

// An interp is the state of interpolation.
type interp struct {
}

func (in *interp) reset(t float64) {}
func (in *interp) refresh()        {}

func (c *Cursor) interpolate(ctx context.Context, ids []pcp.PMID, profile *pcp.Profile, keep bool, res *pcp.Result) error {
	return pcp.ErrNYI
}
