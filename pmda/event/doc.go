// Package event is for agents whose metrics are events: it packs records into
// the values of event metrics (pmdaEventNewArray(3)), and queues events until
// every client has fetched them (pmdaEventNewQueue(3)).
//
//	queues := event.NewQueues(nil)
//	logins, err := queues.New("logins", 64<<10) // keeps 64 Kbytes at most
//	...
//	logins.Append(line, pcp.TimestampOf(time.Now())) // as it happens
//	...
//	// in Config.Value, for a metric of pcp.TypeEvent:
//	return logins.Records(req.Client, func(a *event.Array, line []byte, at pcp.Timestamp) error {
//		if err := a.Add(at, pcp.EventPoint); err != nil {
//			return err
//		}
//		return a.Param(lineID, pcp.StringValue(string(line)))
//	})
//
// Each client has its own place in a queue. It gets every event that arrives
// after its first fetch once. If events were dropped before it returned, it gets
// a record with the number of missed ones. An event is freed when all clients
// have got it; a queue without clients keeps nothing.
//
// An agent with queues needs to know when clients leave; embedding the *Queues
// does that:
//
//	type agent struct {
//		*pmda.Table
//		*event.Queues // has EndContext
//	}
//
// Queues may be used from several goroutines; an Array belongs to one.
package event
