//go:build !linux

package linux

import (
	"context"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// readInside fails: there are no containers of this kind.
func (a *Agent) readInside(context.Context, string, int, column.Set) (*column.Agent, error) {
	return nil, pcp.ErrNYI
}
