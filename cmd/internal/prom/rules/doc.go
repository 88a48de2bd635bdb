// Package rules reads the rule files of Prometheus and evaluates them with its engine over archives and a collector.
//
//	file, err := rules.ReadFile("node.yml")
//	if err != nil {
//		return err
//	}
//	e := rules.New(rules.Config{Data: store.Both(archives, live)})
//	e.Load([]*rules.File{file})
//	err = e.Run(ctx)
//
// Groups are evaluated at their intervals, and the rules of a group one after the other. The results of recording rules, and the series ALERTS
// and ALERTS_FOR_STATE, are kept in memory, where the rules and the queries of others see them ([Engine.Recorded]). [Config.Observe] gets the
// active alerts of a rule after each evaluation.
//
// Files are checked as promtool does. They are read by package rulefmt of Prometheus, and texts are expanded by its package template.
package rules
