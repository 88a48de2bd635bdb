package pmcd

import (
	"time"
)

// Waiting returns how many clients wait for an agent in process.
func (s *Server) Waiting(domain int) int { return s.agents.table.Load().byDomain[domain].Waiting() }

// SetGate sets how many heavy requests have a place at a time, and for how long.
func (s *Server) SetGate(places int, lease time.Duration) {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.places, s.gate.lease = places, lease
}

// AtGate returns how many heavy requests wait for a place.
func (s *Server) AtGate() int {
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	return len(s.gate.waiting)
}

// Control returns the server as the agent pmcd has it.
func (s *Server) Control() control { return control{s} }
