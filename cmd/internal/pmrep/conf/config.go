package conf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Error is a configuration that cannot be used. Its text is the message of programs, without the end of the
// line.
type Error struct {
	Text string
	// Metric is the name of the metric, if the error is that it does not exist.
	Metric string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

func errorf(format string, args ...any) error { return &Error{Text: fmt.Sprintf(format, args...)} }

// A Config has the contents of configuration files.
type Config struct {
	Parser Parser

	keys, ignore []string
	options      *ini // the source of settings
	metrics      *ini // [global] and [options], which continue in the next file
	sets         *ini // the last of each section
	source       map[string]string
	global       []Metric
	later        []lateError // in the order of the files
}

// A lateError is an error in the metrics of a file. As in C it is reported when metrics are selected, after errors
// in settings.
type lateError struct {
	err    error
	global bool // only if [global] is wanted
}

// New returns an empty Config of a program whose settings are keys. In metricsets it also ignores
// the settings in ignore, which other programs have.
func New(keys []string, ignore ...string) *Config {
	return &Config{keys: keys, ignore: ignore, options: newIni(), metrics: newIni(), sets: newIni(), source: make(map[string]string)}
}

// Find returns the first of the paths that is a readable file or directory, "" if there is none.
func Find(paths ...string) string {
	for _, path := range paths {
		if readable(path) == "" {
			return path
		}
	}
	return ""
}

// readable returns why a path is not a configuration, "" if it is.
func readable(path string) string {
	fi, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return "Permission denied"
		}
		return "No such file or directory"
	}
	if !fi.Mode().IsRegular() && !fi.IsDir() {
		return "Not a regular file"
	}
	f, err := os.Open(path)
	if err != nil {
		return "Permission denied"
	}
	f.Close()
	return ""
}

// Check returns an error if a path is not a configuration.
func Check(path string) error {
	if why := readable(path); why != "" {
		return errorf("Failed to read configuration from '%s':\n%s.", path, why)
	}
	return nil
}

// Files returns the files of a configuration: path itself, or the files in the directory path whose names end
// in .conf, sorted.
func Files(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		if strings.HasSuffix(name, ".conf") && readable(name) == "" {
			if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() {
				files = append(files, name)
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

// ReadFile adds the contents of a file, which replace the metricsets of the same names. A file that cannot be
// read is ignored, as in C.
func (c *Config) ReadFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil
	}
	if len(b) > maxFile {
		return errorf("Failed to read configuration file '%s':\nThe file has more than %d bytes.", name, maxFile)
	}
	return c.Read(name, string(b))
}

// Read is ReadFile, for a file with that text.
func (c *Config) Read(name, text string) error {
	if why := notUTF8(text); why != "" {
		return errorf("Failed to read configuration file '%s':\n%s.", name, why)
	}
	if _, err := c.options.parse(name, text); err != nil {
		return err
	}
	seen, err := c.metrics.parse(name, text)
	if err != nil {
		return err
	}
	if err := c.readGlobal(name); err != nil {
		c.later = append(c.later, lateError{err, true})
	}
	if err := c.readSets(name, seen); err != nil {
		c.later = append(c.later, lateError{err, false})
	}
	return nil
}

// readSets reads the sections of the files so far.
func (c *Config) readSets(name string, seen map[[2]string]bool) error {
	var wrong error
	for _, s := range slices.Clone(c.metrics.sections) {
		flat := newSection(s.name)
		keys := slices.Concat(c.metrics.defaults.keys, s.keys)
		for _, key := range keys {
			v, err := c.metrics.get(s, key)
			if err != nil && wrong == nil {
				wrong = errorf("Failed to read configuration file '%s':\n%v.", name, err)
			}
			flat.set(key, []string{v})
		}
		c.sets.add(flat)
		if seen[[2]string{s.name}] {
			c.source[s.name] = name
		}
		if s.name != optionsSection && s.name != globalSection {
			c.metrics.remove(s.name)
		}
	}
	return wrong
}

// readGlobal reads the metrics of [global] in the files so far.
func (c *Config) readGlobal(name string) error {
	c.global = nil
	s := c.metrics.section(globalSection)
	if s == nil {
		return nil
	}
	ms := &metrics{parser: &c.Parser, byKey: make(map[string]*Metric)}
	for _, key := range c.metrics.keys(s) {
		if slices.Contains(c.keys, key) {
			return errorf("Failed to read configuration file '%s':\nSection [global] contains options.", name)
		}
		value, err := c.metrics.get(s, key)
		switch {
		case err != nil:
		case value == "":
			return errorf("Failed to read configuration file '%s':\nNo value set for %s in [global].", name, key)
		default:
			err = ms.add(key, value)
		}
		if err != nil {
			return errorf("Failed to read configuration file '%s':\n%v.", name, err)
		}
	}
	c.global = ms.list()
	return nil
}

const (
	optionsSection = "options"
	globalSection  = "global"
)

// Apply applies the settings of the files so far: the section [options], then the metricsets of the given names
// that exist. Errors name the file that was read last.
func (c *Config) Apply(to Settings, file string, metricsets ...string) error {
	for i, name := range append([]string{optionsSection}, metricsets...) {
		s := c.options.section(name)
		if s == nil {
			continue
		}
		for _, key := range c.options.keys(s) {
			known := slices.Contains(c.keys, key)
			switch {
			case known:
				v, err := c.options.get(s, key)
				if err != nil {
					return errorf("Failed to read configuration file '%s':\n%v.", file, err)
				}
				if v == "" {
					return errorf("Failed to read configuration file '%s':\nNo value set for option %s in [%s].", file, key, name)
				}
				to.Set(key, v)
			case i == 0:
				return errorf("Failed to read configuration file '%s':\nUnknown option %s in [%s].", file, key, name)
			}
		}
	}
	return nil
}

// Global returns the metrics that are part of each report.
func (c *Config) Global() ([]Metric, error) {
	for _, l := range c.later {
		if l.global {
			return nil, l.err
		}
	}
	return slices.Clone(c.global), nil
}

// Metricsets returns the names of the metricsets, in the order in which they were read.
func (c *Config) Metricsets() []string {
	var names []string
	for _, s := range c.sets.sections {
		if s.name != optionsSection && s.name != globalSection {
			names = append(names, s.name)
		}
	}
	return names
}

// Has reports whether there is a metricset of that name.
func (c *Config) Has(name string) bool { return c.sets.section(name) != nil }

// Take adds the metricset of that name from another Config, if that has it.
func (c *Config) Take(from *Config, name string) {
	if s := from.sets.section(name); s != nil {
		c.sets.add(s)
		c.source[name] = from.source[name]
	}
}

// Metricset returns the metrics of a metricset.
func (c *Config) Metricset(name string) ([]Metric, error) {
	s := c.sets.section(name)
	if s == nil {
		return nil, errorf("Metricset definition ':%s' not found.", name)
	}
	file := c.source[name]
	ms := &metrics{parser: &c.Parser, byKey: make(map[string]*Metric)}
	for _, key := range s.keys {
		value := s.raw(key)
		if value == "" {
			return nil, errorf("Failed to read configuration file '%s':\nNo value set for %s in [%s].", file, key, name)
		}
		if slices.Contains(c.keys, key) || slices.Contains(c.ignore, key) {
			continue
		}
		if err := ms.add(key, value); err != nil {
			return nil, errorf("Failed to read configuration file '%s':\n%v.", file, err)
		}
	}
	return ms.list(), nil
}

// Select returns the metrics that arguments select: metricsets as ":vmstat", and metrics as [ParseMetric] reads them.
// Those of [global] come first if global is set. Each has the place where it is named first, and its last definition.
func (c *Config) Select(args []string, global bool) ([]Metric, error) {
	var list []Metric
	at := make(map[string]int)
	add := func(m Metric) {
		if i, ok := at[m.Name]; ok {
			list[i] = m
			return
		}
		at[m.Name] = len(list)
		list = append(list, m)
	}
	for _, l := range c.later {
		if global || !l.global {
			return nil, l.err
		}
	}
	if global {
		for _, m := range c.global {
			add(m)
		}
	}
	// As in C a repeated argument counts where it was first, and all metricsets are at the place of the
	// first, with the contents of the last.
	type arg struct {
		set bool
		m   Metric
	}
	var keys []string
	byKey := make(map[string]arg)
	for _, a := range args {
		key, one := strings.TrimPrefix(a, ":"), arg{set: true}
		if !strings.HasPrefix(a, ":") {
			one = arg{m: ParseMetric(a)}
			key = one.m.Name
		}
		if _, ok := byKey[key]; !ok {
			keys = append(keys, key)
		}
		byKey[key] = one
	}
	var sets []Metric
	inSets := make(map[string]int)
	missing := ""
	for _, key := range keys {
		if !byKey[key].set {
			continue
		}
		ms, err := c.Metricset(key)
		if c.sets.section(key) == nil {
			if missing == "" {
				missing = key
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if i, ok := inSets[m.Name]; ok {
				sets[i] = m
				continue
			}
			inSets[m.Name] = len(sets)
			sets = append(sets, m)
		}
	}
	if missing != "" {
		_, err := c.Metricset(missing)
		return nil, err
	}
	for _, key := range keys {
		if !byKey[key].set {
			add(byKey[key].m)
			continue
		}
		for _, m := range sets {
			add(m)
		}
	}
	return list, nil
}

// Formulas returns the definitions of derived metrics in a list of metrics, in the form of the setting "derived":
// appended to its value, each begins with a semicolon.
func Formulas(derived string, list []Metric) string {
	for _, m := range list {
		if m.Formula != "" {
			derived += ";" + m.Name + "=" + m.Formula
		}
	}
	return derived
}
