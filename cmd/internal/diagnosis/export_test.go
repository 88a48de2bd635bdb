package diagnosis

// Parse is parse, for tests.
func Parse(file string, text []byte) ([]*Rule, error) { return parse(file, text) }
