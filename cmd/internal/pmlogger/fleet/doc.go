// Package fleet records many hosts in one process: each into archives in its own directory,
// as a pmlogger for each would.
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
// A host costs a goroutine, a connection and the files of an archive. Work that needs a processor
// or the disk requires a turn; Config.Turns is the number of turns. A host that waits for an
// answer gives its turn back, so that a hanging host does not delay others. If the machine is
// overloaded, samples are late and then dropped, and Status counts the dropped ones. Nothing is
// queued.
//
// An unreachable host is retried at growing intervals that differ from host to host. If a
// connection is lost during recording, the archive continues with a mark, as with pmlogger. If the
// metrics of a host have changed, a new archive begins.
//
// The starts of hosts are spread over the interval, and so are their samples.
package fleet
