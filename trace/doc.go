// Package trace is for programs that report their activity to PCP's agent trace: the duration of transactions, the
// points that they pass, and values that they observe. It is libpcp_trace (pmdatrace(3)) for Go, with the same
// protocol, so that it works with the agent of either implementation.
//
//	tr, err := trace.New(trace.Config{State: trace.StateAsync})
//	if err != nil { ... }
//	defer tr.Close()
//
//	t, err := tr.Start("checkout")
//	if err != nil { ... }
//	defer t.Abort() // does nothing after End
//	...
//	err = t.End()
//
// and then, where the agent runs, pminfo -f trace.transact.ave_time. A program with many measurements a second
// should use package mmv, whose values need no agent to receive them.
//
// # Transactions
//
// [Client.Start] returns a [Transaction], of which any number can run at a time, nested or overlapping, with the same
// tag or others: for example one for each goroutine. A context can carry it ([Client.NewContext], [FromContext]).
// [Client.Begin] and [Client.End] find a transaction by its tag, as in C, and a second Begin before the End is an error.
//
// # Synchronous and asynchronous
//
// A synchronous client, the default, waits for the agent's acknowledgement. A call takes RequestTimeout at most, and Timeout
// more if there is no connection. Calls of several goroutines wait for each other. If
// the agent has been restarted, the call connects again and succeeds. While the agent cannot be reached, calls fail at
// once, except that one tries to connect again after each pause of [Config.Reconnect].
//
// An asynchronous client ([StateAsync]) never waits: a call copies a few bytes into a buffer, which a goroutine sends. Only
// [Client.Flush], [Client.Lost] and later calls report failures: calls fail while the agent cannot be reached or the buffer
// is full. In C such a client does not connect again; this one does.
//
// # Tags
//
// A tag is the name of an instance of the agent's metrics, so there should be few, and no numbers of requests in them. It has
// 1 to [MaxTag] bytes. The agent of the C implementation closes the connection at a tag of more than 124 bytes. As in C the
// same tag can name a transaction, a point, an observation and a counter.
//
// # Without an agent
//
// With [StateNoAgent], or PCP_TRACE_NOAGENT in the environment, calls check their arguments and do nothing else.
//
// # Protocol
//
// A PDU begins with its length, type and the number of the sending process, each in 32 bits. All numbers are big-endian.
//
//	0   length     of the whole PDU
//	4   type       0x7050 TypeAck, 0x7051 TypeData
//	8   from
//
// TypeAck continues with 32 bits, see [Ack], and TypeData, see [Record], with
//
//	12  version    1
//	13  length of the tag, with its NUL
//	14  kind
//	15  0x80 if the record is to be acknowledged
//	16  value      a double
//	24  tag        closed by a NUL, and '~' to a multiple of 4 bytes
//
// These are part of the protocol; do not change.
package trace
