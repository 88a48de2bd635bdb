package backend

import (
	"errors"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmcd/internal/trace"
	"github.com/go-pcp/pcp/wire"
)

// Lines about the life of agents have the words and the layout of the C
// collector's log, because scripts look for them.

// cleanup reports that an agent is gone and how it ended, and writes the trace
// of the events that led to it.
func (h *Host) cleanup(ag *Agent, in, out int, how string) {
	h.Trace.Add(trace.Event{Kind: trace.DelAgent, Who: ag.spec.Domain, P1: int32(in), P2: int32(out)})
	h.Log.Info("CleanupAgent ...")
	fmt.Fprintf(h.Report, "Cleanup %q agent (dom %d):%s\n", ag.Name(), ag.spec.Domain, how)
	if h.Trace.On() {
		h.Trace.Dump()
	}
}

// TellRemoved reports that an agent, which has been stopped, was removed from the
// configuration.
func (a *Agent) TellRemoved() {
	in, out, how := a.ended()
	a.host.cleanup(a, in, out, " unconfigured"+how)
}

// A spawnError means that a program could not be started.
type spawnError struct {
	program string
	error
}

func (e *spawnError) Unwrap() error { return e.error }

// A firstPDUError means that an agent began with the wrong PDU.
type firstPDUError struct{ got wire.Type }

func (e *firstPDUError) Error() string {
	return fmt.Sprintf("initial exchange: %v PDU instead of credentials", e.got)
}

// startFailure returns in one line or two the reason that the agent did not
// start. There are two if the program cannot be run: the C collector's child
// reports that, and its parent then reads nothing from it.
func (r *remote) startFailure(err error) string {
	var spawn *spawnError
	var first *firstPDUError
	name := r.ag.Name()
	endOfFile := fmt.Sprintf("pmcd: unexpected end-of-file at initial exchange with %s PMDA\n", name)
	switch {
	case errors.As(err, &spawn):
		return fmt.Sprintf("pmcd: error starting %s: %v\n", spawn.program, cause(spawn.error)) + endOfFile
	case errors.As(err, &first):
		return fmt.Sprintf("pmcd: unexpected PDU type (0x%x) at initial exchange with %s PMDA\n", uint32(first.got), name)
	case r.inFD < 0:
		return fmt.Sprintf("pmcd: Error connecting to %q agent : %v\n", name, cause(err))
	case errors.Is(err, errAgentEOF):
		return endOfFile
	}
	return fmt.Sprintf("pmcd: error at initial PDU exchange with %s PMDA: %v\n", name, cause(err))
}

// cause returns the error as in C, without the context that Go adds.
func cause(err error) error {
	if code := pcp.Code(err); code != pcp.ErrGeneric {
		return code
	}
	return err
}
