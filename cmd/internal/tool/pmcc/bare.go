package pmcc

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/internal/pacing"
)

// Lookup makes Fetch fetch the metrics of these names, for a program that has no group of metrics.
// If some do not exist, it prints an error and returns false.
func (m *Manager) Lookup(ctx context.Context, names ...string) bool {
	ids, err := m.c.LookupName(ctx, names...)
	var missing []string
	for i, name := range names {
		if len(ids) == len(names) && ids[i] == pcp.PMIDNull {
			missing = append(missing, pytext.Repr(name))
		}
	}
	switch {
	case len(missing) > 0:
		m.failed(pcp.ErrName, fmt.Sprintf(" [%s]", strings.Join(missing, ", ")))
		return false
	case err != nil:
		m.failed(err, "")
		return false
	}
	m.set(names, ids)
	if m.descs, err = m.c.LookupDescs(ctx, ids...); err != nil {
		m.failed(err, "")
		return false
	}
	return true
}

// Once fetches the metrics. If it fails, it prints an error and returns false.
func (m *Manager) Once(ctx context.Context) bool {
	err := m.fetch(ctx, m.c)
	if err != nil && ctx.Err() == nil {
		m.failed(err, "")
	}
	return err == nil
}

// Failed prints an error as the program prints those of the library.
func (m *Manager) Failed(err error) { m.failed(err, "") }

// Nodes returns the instances of the domain of a metric: in an archive those of all times. If it
// fails, it prints an error and returns false.
func (m *Manager) Nodes(ctx context.Context, name string) ([]pcp.Instance, bool) {
	list, err := m.instances(ctx, m.descs[m.index[name]].InDom)
	if err != nil {
		m.failed(err, "")
		return nil, false
	}
	return list, true
}

// Errorf prints a message of the program itself to standard error and returns 1 for the exit status: the C
// program ends with a traceback there.
func (m *Manager) Errorf(format string, args ...any) int {
	m.env.FlushOut()
	return m.env.Fatalf(format, args...)
}

// Sleep waits for the next sample, and reports whether there is one.
func (m *Manager) Sleep(ctx context.Context) bool {
	return m.env.FlushOut() == nil && (m.Archive || pacing.Sleep(ctx, m.delta))
}
