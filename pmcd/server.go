package pmcd

import (
	"time"

	"github.com/go-pcp/pcp/wire"
)

// A Server is a collector. It answers any number of clients at a time, each in
// its own goroutine.
//
// Each part has its own state and, if it needs one, a mutex of its own; Server only joins them. A part calls
// another only without its mutex, except that the reloader holds its during changes of the agents, and that the
// roster reports the number of clients to memory.
type Server struct {
	*journal
	cfg     Config
	start   time.Time
	closing chan struct{} // closed when the server stops

	entry    entry    // for new clients
	clients  roster   // those that are here
	agents   registry // with their names
	labels   *labels
	reloader reloader // changes agents and labels

	memory memoryLimit
	gate   *gate  // for heavy requests
	spares spares // memory of requests
}

func (s *Server) stopping() bool { return ended(s.closing) }

// now is a clock that only grows; its zero is the server's start.
func (s *Server) now() int64 { return int64(time.Since(s.start)) }

// featureSet returns what clients may ask for.
func (s *Server) featureSet() wire.Features {
	return wire.Features(s.agents.features.Load()) | s.entry.features()
}
