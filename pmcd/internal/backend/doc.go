// Package backend connects a collector to its agents: in its own process, or by
// PDUs through pipes and sockets.
//
// An [Agent] answers requests of clients; a [Caller] is a client owned by one
// goroutine. A request with one reply is a method of Agent. A request for values is a
// [Fetch], with a [Part] for each agent, which [Caller.Fetch] has filled; there
// agents in other processes work at the same time. A [Host] is the agents' view of
// the collector. The package does not depend on the clients' protocol, nor on the
// collector's table of agents.
//
// # Agents in process
//
// The goroutine of the Caller makes the agent's call itself, one at a time for an
// agent, and others wait in its queue (local.go). A call that hangs cannot be
// ended. Its memory is given up: the agent keeps the goroutine, the Caller and
// the Part, and the collector continues with the client in another goroutine,
// with the Caller's successor. When the call returns after all, it returns
// pcp.ErrAgain, the Caller is abandoned, and no later call with it reaches an
// agent. Users of this package must follow one rule: while agents are asked, the
// goroutine touches only the data passed with the Caller, and checks
// [Caller.Abandoned] before it touches the client again.
//
// # Agents in other processes
//
// One exchange of PDUs runs at a time (remote.go). An agent that breaks off, sends
// an answer that does not match the request, or does not answer at all is dropped,
// and its process ended (remoteprocess.go). Processes are started by the collector,
// or by pmdaroot(1) if there is a [Launcher] (rootprocess.go).
//
// # Slow agents
//
// An agent that does not answer in time is overdue until it does. A fetch gets
// pcp.ErrAgain for its metrics; names, descriptors and instances are those that it
// last answered (known.go). An agent in process may be overdue for any time, one in
// another process for a while (late.go).
package backend
