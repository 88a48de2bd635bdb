// Package wire is for programs that implement a client, collector or agent themselves: it encodes and decodes the
// PDUs that these exchange. It only handles bytes: its callers own the sockets, and interpret the PDUs.
//
//	r := wire.NewReader(conn)
//	h, body, err := r.Next()
//	if h.Type == wire.TypeHighResFetch {
//		err = fetch.DecodeBody(body) // a wire.Fetch, used again and again
//	}
//	out = wire.Append(out[:0], wire.FromAnon, &answer)
//	conn.Write(out)
//
// Every PDU starts with a header of 12 bytes, all words big-endian:
//
//	0  len   length of the PDU in bytes, the header included
//	4  type  one of the Type constants
//	8  from  the sender: a client's context at an agent, a process id, or FromAnon
//
// Decoding treats bytes as hostile: each count and length is checked against the
// remaining bytes before anything is allocated, and a failure is an error that
// names the offset, counted from the header, and wraps pcp.ErrIPC, never a panic.
// The contents of a PDU that failed to decode are undefined. No PDU decodes to
// more than a few times its own size.
//
// # Memory
//
// DecodeBody reuses the slices of the PDU it is called on, so a PDU that is kept
// for the next request costs no allocation. Strings are copies, the values of a
// [Result] point into the body, and a [Profile] and [Labels] get new memory, as
// they are kept. [Append] appends to its buffer: several PDUs can be sent in one
// write.
//
// # The greeting
//
// A server sends first: an [Error] in its extended form with its [Info]; the
// client answers with [Creds] that hold a [VersionCred]. Between collector and
// agent the agent sends its Creds first. After the greeting an Error with a
// positive code is a notice: its bits report the changes at the collector to a
// client, and the answer that the client waits for follows.
package wire
