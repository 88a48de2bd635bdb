package tlsconf

// A Setting is one key of a File, for tests.
type Setting struct {
	Key   string
	Value *string
}

// Settings are the keys of f.
func Settings(f *File) []Setting {
	var list []Setting
	for _, s := range f.settings() {
		list = append(list, Setting{s.key, s.value})
	}
	return list
}

// CipherNames are OpenSSL's names of the suites that a list selects, and of
// all.
func CipherNames(list string) (some, all []string, err error) {
	ids, err := parseCiphers(list)
	for _, s := range suites {
		all = append(all, s.name)
		for _, id := range ids {
			if id == s.id {
				some = append(some, s.name)
			}
		}
	}
	return some, all, err
}
