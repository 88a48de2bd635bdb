// Package pmcd is the collector (PMCD): it serves the metrics of many agents
// to many clients, by TCP and Unix sockets.
//
//	lns, err := pmcd.Listen(ctx, pmcd.ListenConfig{Ports: []int{pmcd.DefaultPort}})
//	s, err := pmcd.New(pmcd.Config{
//		Listeners: lns,
//		Agents:    []pmcd.AgentSpec{{Name: "linux", Domain: linux.Domain, Agent: linux.New(linux.Config{})}},
//	})
//	err = s.Run(ctx)
//
// # Agents
//
// An agent is a [pmda.Agent] in this process, a program at the other end of a
// pair of pipes, or one behind a socket; [conf.ReadFile] takes them from a
// pmcd.conf. C agents work unchanged. Objects that the C pmcd would load into
// itself (dso lines) cannot be loaded: give their [AgentSpec] an agent of our
// own.
//
// The agent of a program that does not answer in time, breaks off or answers
// what it was not asked is dropped. One in process that does not answer is
// marked as not ready until its call returns; meanwhile its requests get
// pcp.ErrAgain. Either way all others go on.
//
// # Limits
//
// What clients and agents can do to the host is bounded. Of each kind of lines
// about clients the log gets 100 a minute, and one with the number of the rest;
// no line about the life of an agent is left out. Of an agent's standard error
// 64 KiB a minute are kept, and a line tells of more. That holds for agents in
// processes that the server started, and for what they write there: a log file
// of an agent's own, as by its option -l, is the agent's. Clients of one address
// have eight places in which to prove who they are, and a wrong password holds
// one for 300 ms.
//
// Requests that cost much, by their length or by that of the client's last reply,
// wait for one of a few places, one fewer than there are processors. The client
// that has had the least work done for it goes first. Small requests do not wait
// for heavy ones, but for the one that an agent is at.
//
// # Speed
//
// A request is answered in the goroutine that read it, from the first byte
// read to the one write of the reply, calls to agents in this process included,
// and a fetch allocates nothing. If such a call hangs, a new goroutine goes on
// with the client; the one that hangs ends when the call returns. Where
// fetches of an agent that can refresh (pmda.Refresher) meet, one refresh,
// which begins after they arrived, serves them all.
package pmcd
