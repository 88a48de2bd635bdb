// Package pushed keeps the values that programs push to an agent, as metrics of that agent.
//
//	t, err := pushed.New(pushed.Config{Root: "example", Domain: 399, File: "/var/lib/example/names"})
//	if err != nil {
//		return err
//	}
//	defer t.Close()
//	b := t.Begin("shop", nil)
//	err = b.Set(&pushed.Metric{Name: "shop.orders", Type: pcp.TypeU64, Sem: pcp.SemCounter},
//		"state:paid", []pushed.Label{{Name: "state", Value: "paid"}}, pcp.Uint64Value(17), time.Now())
//	b.End()
//
// A [Table] is a [pmda.Agent] with a dynamic root: its metrics appear when they are first pushed. A metric has an
// instance domain of its own, and a series is one of its instances. The numbers of metrics and instances are kept in a
// file, so they are the same after a restart.
//
// A PMID has one descriptor for good. If a metric is pushed with another type, semantics or units, values are rejected while
// there are values of the first kind, and later the name gets a new PMID.
//
// A series that is not pushed for Config.Stale vanishes; its number remains. After Config.Forget, or if a limit is
// reached, the number is forgotten. It is not given to another series.
//
// What exceeds a limit is rejected, counted by its reason and named in the metrics ROOT.control.
package pushed
