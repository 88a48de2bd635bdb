// Package model is pcp top's model of a host: samples of standard metrics, of a collector or of archives,
// and values derived from them, without a terminal.
//
//	s, err := model.New(ctx, c, model.Config{Interval: time.Second})
//	if err != nil {
//		return err
//	}
//	snap, err := s.Next(ctx, model.System|model.Processes)
//
// A [Sampler] fetches the metrics of the requested groups, and no others. A [Snapshot] has their values at
// one time, a [History] earlier values. Counters are rates: an unknown value, such as a rate in the first
// sample, is NaN. Snapshot.Absent reports the panels that a host does not have.
package model
