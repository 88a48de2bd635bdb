// Package pmlogger records metrics of a host in an archive, as pmlogger(1) does.
//
//	c, err := pmapi.Dial(ctx, "local:")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	r, err := pmlogger.New(ctx, c, pmlogger.Config{Archive: "20260101"})
//	if err != nil {
//		return err
//	}
//	if err := r.Configure(ctx, file, "config"); err != nil {
//		return err
//	}
//	return r.Run(ctx)
//
// The configuration, in the language of package conf, lists the metrics. Metrics of
// the same state and interval form a task; a task fetches its metrics in groups,
// each of which becomes a record. A group has one instance profile.
//
// If the connection to the collector is lost, a Recorder reconnects when a task is
// next due, checks that the metrics are unchanged, and writes a mark.
//
// A Recorder logs events to Config.Log, with the messages of pmlogger.
package pmlogger
