package conf

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
)

var pmrepKeys = []string{
	"source", "output", "derived", "header", "globals", "samples", "interval", "type", "precision", "daemonize",
	"timestamp", "unitinfo", "colxrow", "separate_header", "fixed_header", "delay", "width", "delimiter", "extcsv", "width_force",
	"extheader", "repeat_header", "timefmt", "interpol", "dynamic_header", "overall_rank", "overall_rank_alt", "sort_metric",
	"count_scale", "space_scale", "time_scale", "version", "count_scale_force", "space_scale_force", "time_scale_force",
	"type_prefer", "precision_force", "limit_filter", "limit_filter_force", "live_filter", "rank", "invert_filter", "predicate",
	"names_change", "speclocal", "instances", "ignore_incompat", "ignore_unknown", "omit_flat", "instinfo", "include_labels",
	"include_texts",
}

// PmrepKeys returns the names of the settings of pmrep, in the order in which it lists them.
func PmrepKeys() []string { return slices.Clone(pmrepKeys) }

// NewerKeys returns the names of the settings that pmrep of PCP 7 has besides.
func NewerKeys() []string { return []string{"csv_unitinfo"} }

// Settings are the settings of a program, by their names in pmrep.conf(5). Missing settings have no value. A program
// begins with its defaults, a [Config] applies files, and the command line overrides both.
type Settings map[string]string

// Set sets a value as a file does: yes and no in their forms are 1 and 0, leading zeros and signs of numbers are
// removed, and quotes around text.
func (s Settings) Set(name, value string) {
	if name == "colxrow" {
		s[name] = unquote(value)
		return
	}
	switch value {
	case "true", "True", "y", "yes", "Yes":
		value = "1"
	case "false", "False", "n", "no", "No":
		value = "0"
	}
	switch name {
	case "speclocal", "samples", "interval", "instances":
	case "derived":
		if !strings.Contains(value, ";") {
			value = strings.ReplaceAll(value, ",", ";")
		}
	case "type", "type_prefer":
		if value == "raw" {
			value = "1"
		} else {
			value = "0"
		}
	default:
		if n, ok := pytext.Int(value); ok {
			value = strconv.FormatInt(n, 10)
		} else {
			value = unquote(value)
		}
	}
	s[name] = value
}

// On reports whether a setting is present and neither empty nor 0.
func (s Settings) On(name string) bool { return s[name] != "" && s[name] != "0" }

// Is1 reports whether a setting is 1, as "yes" makes it.
func (s Settings) Is1(name string) bool { return s[name] == "1" }

// A NumberError is a setting that should be a number.
type NumberError struct {
	Setting string
	Natural bool // it should not be negative either
}

// Error implements error, with the text that programs print.
func (e *NumberError) Error() string {
	return "Error while reading option " + e.Setting + ": " + wantNumber(e.Natural) + "."
}

func wantNumber(natural bool) string {
	if natural {
		return "Non-negative integer expected"
	}
	return "Integer expected"
}

// Int returns a setting that is a number, 0 if it is not set.
func (s Settings) Int(name string) (int, error) { return s.number(name, false) }

// Natural returns a setting that is a number not less than 0, 0 if it is not set.
func (s Settings) Natural(name string) (int, error) { return s.number(name, true) }

func (s Settings) number(name string, natural bool) (int, error) {
	if s[name] == "" {
		return 0, nil
	}
	n, ok := pytext.Int(s[name])
	if !ok || natural && n < 0 {
		return 0, &NumberError{name, natural}
	}
	return int(max(min(n, maxNumber), -maxNumber)), nil
}

// maxNumber is the cap of settings; widths and ranks are less.
const maxNumber = 1<<31 - 1

// Wide is the widest column and the highest precision. C programs have no limit, but the text of such columns does not
// fit into memory.
const Wide = 1 << 16
