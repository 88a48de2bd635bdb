// Package pmcc is the common part of the reports whose C counterparts are Python
// programs on the module of that name: a group of metrics that is fetched again and
// again, with access to each sample and the one before.
//
//	m, status := pmcc.Open(ctx, env, o, pmcc.Kind{})
//	if m == nil {
//		return status
//	}
//	defer m.Close()
//	return m.Run(ctx, func() bool { ...; return true })
//
// Values are printed as Python prints them, since scripts read these reports: 0.5, 12.0 and
// None for a missing value, which most reports show as a question mark.
package pmcc
