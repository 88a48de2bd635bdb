package archives

// ColumnsPaths returns the paths where the columns of an archive may be.
func (s *Store) ColumnsPaths(path string) []string { return s.columnsPaths(path) }

// Opened returns the number of archives that were opened for their values so far.
func (s *Store) Opened() int {
	s.files.mu.Lock()
	defer s.files.mu.Unlock()
	return s.files.opened
}
