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
// What is recorded says a configuration in the language of package conf. Metrics of
// the same state and interval are a task; a task fetches its metrics in groups, each
// of which becomes a record. A group has one profile of instances.
//
// If the connection to the collector is lost, a Recorder makes it anew at the next
// time a task is due, checks that the metrics are what they were, and writes a mark.
//
// A Recorder says what happens in the words of pmlogger, to Config.Log.
package pmlogger
