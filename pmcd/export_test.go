package pmcd

// Waiting tells how many clients wait for an agent in process.
func (s *Server) Waiting(domain int) (n int) {
	l := s.table.Load().byDomain[domain].be.(*local)
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := l.head; w != nil; w = w.next {
		n++
	}
	return n
}
