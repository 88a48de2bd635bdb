// Package pmcc is the common part of the reports whose C counterparts are Python
// programs on the module of that name: the way from options to a source, a group of metrics that is fetched again and
// again, with access to each sample and the one before, and rows for --json.
//
//	return pmcc.Report{Own: own}.Run(ctx, env, func(m *pmcc.Manager) int {
//		if status, ok := m.Use(ctx, names, len(names)); !ok {
//			return status
//		}
//		return m.Each(ctx, func() error { ...; return nil })
//	})
//
// Values are printed as Python prints them, since scripts read these reports: 0.5, 12.0 and
// None for a missing value, which most reports show as a question mark. Package table has columns for text and
// JSON, whose cells are these values.
package pmcc
