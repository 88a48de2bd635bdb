// Package fleet records many hosts in one process: each into archives in a directory of its
// own, as a pmlogger for each would.
//
//	f, err := fleet.New(fleet.Config{Dir: "archives", Configure: fleet.Static(text, "config")})
//	if err != nil {
//		return err
//	}
//	if err := f.Set([]fleet.Host{{Spec: "alpha"}, {Spec: "beta:44322"}}); err != nil {
//		return err
//	}
//	return f.Run(ctx)
//
// A host costs a goroutine, a connection and the files of an archive. What needs a processor or
// the disk is done in turns, of which there are as many as Config.Turns says; a host whose
// answer is waited for does not keep its turn, so that one that hangs delays no other. If there is
// more to do than the machine can, samples come late and are then left out, each of which
// Status counts. Nothing is queued.
//
// A host that cannot be reached is tried again, at growing intervals that differ from host to host.
// If a connection is lost while it records, the archive goes on with a mark, as with pmlogger. If
// the metrics of a host have changed, the next archive begins.
//
// Hosts start at times spread over the interval, and so do their samples.
package fleet
