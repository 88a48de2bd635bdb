package rep

import (
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pmrep/conf"
)

// A form has the settings that the kinds of output share.
type form struct {
	output     string // outArchive, outCSV or outStdout
	delim      string // between columns
	timeFormat string // of strftime(3)
	stamps     bool   // lines in text begin with the time
	header     bool   // there is one
	dynamic    bool   // it follows the instances
	fixed      bool   // it is of all instances, but the lines below follow them
	static     bool   // neither
	unitInfo   bool
	instInfo   bool
	separate   bool // it has a line for each column
	labelled   bool
	specs      bool // the header of CSV has instances as in NAME[INSTANCE]
	csvUnits   bool // and units behind
}

// newForm returns the form that checked settings ask for.
func newForm(s conf.Settings, output string, swapped bool) form {
	f := form{
		output: output, delim: "  ", timeFormat: "%H:%M:%S",
		header: s.Is1("header"), unitInfo: s.On("unitinfo"), instInfo: s.On("instinfo"), separate: s.On("separate_header"), labelled: s.On("include_labels"),
		csvUnits: s.On("csv_unitinfo"),
	}
	f.dynamic, f.fixed = s.On("dynamic_header"), s.On("fixed_header")
	if output == outArchive {
		f.dynamic, f.fixed = false, false
	}
	if !swapped || output != outStdout || f.dynamic {
		f.fixed = false
	}
	if s["names_change"] == "2" {
		f.fixed, f.dynamic = false, true
	}
	f.static = !f.fixed && !f.dynamic
	if output == outCSV {
		f.delim, f.timeFormat = ",", "%Y-%m-%d %H:%M:%S"
	}
	if d, ok := s["delimiter"]; ok {
		f.delim = d
	}
	if format, ok := s["timefmt"]; ok {
		f.timeFormat = format
	}
	f.stamps = s.On("timestamp") && f.timeFormat != ""
	return f
}

// withoutDelimiter returns a text without the delimiter of columns.
func (f *form) withoutDelimiter(s string) string {
	if f.delim == "" || strings.TrimSpace(f.delim) == "" {
		return s
	}
	if f.delim == "_" {
		return strings.ReplaceAll(s, "_", " ")
	}
	return strings.ReplaceAll(s, f.delim, "_")
}

// oneLine converts a text to a single line for a quoted field.
func (f *form) oneLine(s, instead string) string {
	if f.delim != "" {
		s = strings.ReplaceAll(s, f.delim, instead)
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), `"`, " ")
}
