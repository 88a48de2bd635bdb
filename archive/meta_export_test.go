package archive

import (
	"fmt"
	"io"

	"github.com/go-pcp/pcp"
)

// ReadMeta reads a whole metadata file.
func ReadMeta(r io.Reader) (*Meta, error) {
	mr, err := NewMetaReader(r)
	if err != nil {
		return nil, err
	}
	m := newMeta(mr.readLabel())
	if err := m.load(mr); err != nil {
		return nil, err
	}
	m.dropRepeatedLabels()
	if len(m.descs) == 0 {
		return nil, fmt.Errorf("no metrics: %w", pcp.ErrNoData)
	}
	return m, nil
}
