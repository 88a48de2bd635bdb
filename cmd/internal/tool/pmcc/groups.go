package pmcc

import (
	"context"
	"slices"

	"github.com/go-pcp/pcp"
)

// A Group is a set of metrics that a program fetches together, after the previous group: from
// archives each fetch is one interval later. The C programs fetch some groups without using them
// (Unread).
type Group struct {
	Names  []string
	Unread bool
}

// Split has the metrics of Use be fetched in groups. Now is then the time of the last group that is read, and
// GroupTime that of each.
func (m *Manager) Split(groups ...Group) {
	m.groups = groups
	m.times = make([]pcp.Timestamp, len(groups))
}

// GroupTime is the time of a group of the sample, in full seconds.
func (m *Manager) GroupTime(i int) int64 { return m.times[i].Sec }

// fetchGroups fetches the groups one after the other, as one sample.
func (m *Manager) fetchGroups(ctx context.Context) (*pcp.Result, error) {
	all := &pcp.Result{Sets: make([]pcp.ValueSet, len(m.ids))}
	for i, id := range m.ids {
		all.Sets[i].PMID = id
	}
	for g, group := range m.groups {
		if group.Unread && !m.Archive {
			continue
		}
		ids := make([]pcp.PMID, len(group.Names))
		for i, name := range group.Names {
			ids[i] = m.ids[m.index[name]]
		}
		res, err := m.c.Fetch(ctx, ids)
		if err != nil {
			return nil, err
		}
		if m.last = res.Time; group.Unread {
			continue
		}
		m.times[g] = res.Time
		all.Time = res.Time
		for i, name := range group.Names {
			if i < len(res.Sets) {
				all.Sets[m.index[name]] = res.Sets[i]
			}
		}
	}
	return all, nil
}

// Missing returns which of these names are not those of metrics.
func (m *Manager) Missing(ctx context.Context, names ...string) []string {
	ids, _ := m.c.LookupName(ctx, names...)
	var missing []string
	for i, name := range names {
		if len(ids) != len(names) || ids[i] == pcp.PMIDNull {
			missing = append(missing, name)
		}
	}
	return missing
}

// UseEach is like Use for a C program that looks up groups of metrics one after the other, and
// checks none before: the message names the missing metrics of the first incomplete group.
func (m *Manager) UseEach(ctx context.Context, groups ...[]string) (status int, ok bool) {
	all := slices.Concat(groups...)
	missing := m.Missing(ctx, all...)
	for _, names := range groups {
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(missing, name) }) {
			return m.Use(ctx, names, 0)
		}
	}
	return m.Use(ctx, all, 0)
}
