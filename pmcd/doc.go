// Package pmcd is for programs that embed the collector (PMCD): it serves the metrics of many agents to many clients,
// over TCP and Unix sockets.
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
// An agent is a [pmda.Agent] in this process, or a program connected by a
// pair of pipes or a socket; [conf.ReadFile] reads them from a pmcd.conf. C
// agents work unchanged. Objects that the C pmcd would load into itself (dso
// lines) cannot be loaded: give their [AgentSpec] an agent of our own.
//
// An agent in another process that does not answer in time, breaks off or sends
// an answer that does not match the request is dropped. An agent in this process
// that does not answer is marked as not ready until its call returns; meanwhile
// its requests get pcp.ErrAgain. Either way all other agents are served.
//
// # Limits
//
// The server bounds the load of clients and agents on the host. The log keeps 100
// lines of each kind about clients a minute, and one line with the number of the
// rest; it keeps all lines about the life of an agent. It also keeps 64 KiB a
// minute of the standard error of each agent that the server started, and one line
// with the number of bytes dropped. The server does not bound a log file that an
// agent opens itself, as by its option -l. Up to eight clients of one address can
// authenticate at a time, and a wrong password takes one of these places for 300
// ms.
//
// Heavy requests, by their length or by that of the client's last reply, wait for
// one of a few places, one fewer than there are processors. The client with the
// least work done so far is served first. A small request does not wait for heavy
// ones, except for the request that its agent is working on.
//
// # Speed
//
// A request is answered in the goroutine that read it, from the first byte
// read to the one write of the reply, calls to agents in this process included,
// and a fetch allocates nothing. If such a call hangs, a new goroutine
// continues with the client; the old one ends when the call returns. Where
// fetches of an agent that can refresh (pmda.Refresher) meet, one refresh,
// which begins after they arrived, serves them all.
package pmcd
