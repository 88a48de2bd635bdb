// Package model is what pcp top knows of a host: samples of standard metrics, of a collector or of
// archives, with what is made of them, and no terminal.
//
//	s, err := model.New(ctx, c, model.Config{Interval: time.Second})
//	if err != nil {
//		return err
//	}
//	snap, err := s.Next(ctx, model.System|model.Processes)
//
// A [Sampler] fetches the metrics of the groups that are asked for, and no others. A [Snapshot] has their
// values at one time, a [History] what they were before. Counters are rates: a value that is not known, as a
// rate is not in the first sample, is NaN. What a host does not have, its Snapshot says in Absent.
package model
