package conf

import (
	"iter"
	"slices"
)

// Sections are the uninterpreted sections of files, for programs that read other contents than metricsets
// from them. Values are not interpolated. A repeated value replaces the one before.
type Sections struct{ ini *ini }

// NewSections returns no sections.
func NewSections() *Sections { return &Sections{newIni()} }

// Read adds the text of a file. The error is a [*SyntaxError].
func (s *Sections) Read(file, text string) error {
	_, err := s.ini.parse(file, text)
	return err
}

// Names returns the names of the sections, in the order in which they appeared first.
func (s *Sections) Names() []string {
	var names []string
	for _, sec := range s.ini.sections {
		names = append(names, sec.name)
	}
	return names
}

// Has reports whether there is a section.
func (s *Sections) Has(name string) bool { return s.ini.section(name) != nil }

// Values returns keys and values of a section, followed by the default values of all
// sections.
func (s *Sections) Values(name string) iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		sec := s.ini.section(name)
		if sec == nil {
			return
		}
		for _, key := range slices.Clone(s.ini.keys(sec)) {
			if !yield(key, s.ini.rawValue(sec, key)) {
				return
			}
		}
	}
}
