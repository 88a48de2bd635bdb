package archives

// ColumnsPaths returns the paths where the columns of an archive may be.
func (s *Store) ColumnsPaths(path string) []string { return s.columnsPaths(path) }
