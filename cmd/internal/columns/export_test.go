package columns

import "github.com/go-pcp/pcp"

// NewColumn returns a column of n values with the given chunks.
func NewColumn(t pcp.Type, chunks []byte, n int) Column {
	return Column{Runs: []Run{{0, n}}, t: t, data: chunks}
}
