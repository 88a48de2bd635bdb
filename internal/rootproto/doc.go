// Package rootproto is the protocol of the helper that performs operations as
// root for unprivileged programs of PCP: pmdaroot(1). Collectors have it start
// and end agents; agents ask it for the process, host name and cgroup of a
// container.
//
//	c := rootproto.NewClient(rootproto.DefaultPath(config.Process()))
//	defer c.Close()
//	pid, err := c.ProcessID("web")
//
// Both ends are on one host: all numbers are C ints in its byte order. A PDU
// starts with
//
//	type     0x9000 ...
//	length   of the whole PDU, in bytes
//	status   0, or an error (PM_ERR_*, or a negated errno)
//	version  2
//
// The server speaks first, with an INFO. Then each request has one reply.
// The replies to STARTPMDA_REQ bring two file descriptors along (SCM_RIGHTS).
// The layout is part of the protocol; do not change.
package rootproto
