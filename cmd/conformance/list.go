package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A mode selects the collector that a test finds.
type mode string

const (
	offline mode = "offline" // none
	pmcd    mode = "pmcd"    // the real one, with the agents sample, sampledso and simple
	ownPMCD mode = "own"     // ours, with the same agents as processes: ours where we have them
	mixed   mode = "mixed"   // ours, with the real agents as processes
)

func (m mode) valid() bool { return m == offline || m == pmcd || m.ours() }

// ours reports whether the collector is ours.
func (m mode) ours() bool { return m == ownPMCD || m == mixed }

// A test is a line of a list.
type test struct {
	id    string // name of the script, such as 002, or agents for one of our own
	mode  mode
	tools []string // our commands that must have run, if listed
	alone bool     // it must have the machine to itself
	noon  bool     // it fails, with the real commands too, in the first hours of a day
}

func (t test) String() string { return t.id + ":" + string(t.mode) }

var testID = regexp.MustCompile(`^([0-9]{3,5}|[a-z][a-z-]+)$`)

// added reports whether a test is our own: the suite does not have it, and it is next to the lists.
func (t test) added() bool { return t.id[0] >= 'a' }

// parseTest parses fields of a list: the test, its mode, the commands, and "alone" or "noon".
func parseTest(fields []string) (test, error) {
	t := test{id: fields[0], mode: offline}
	if !testID.MatchString(t.id) {
		return t, fmt.Errorf("%q is not the number or name of a test", t.id)
	}
	if len(fields) > 1 {
		t.mode = mode(fields[1])
	}
	if !t.mode.valid() {
		return t, fmt.Errorf("test %s: mode %q is not one of %s, %s, %s, %s", t.id, t.mode, offline, pmcd, ownPMCD, mixed)
	}
	if len(fields) > 2 {
		t.tools = strings.Split(fields[2], ",")
	}
	switch {
	case len(fields) == 4 && fields[3] == "alone":
		t.alone = true
	case len(fields) == 4 && fields[3] == "noon":
		t.noon = true
	case len(fields) > 3:
		return t, fmt.Errorf("test %s: %q is too much", t.id, fields[3])
	}
	return t, nil
}

// parseList reads lines of a test, its mode, commands separated by commas, and
// "alone" where it must have the machine to itself, or "noon" where it must run by day; # begins a comment.
func parseList(r io.Reader) ([]test, error) {
	var list []test
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		t, err := parseTest(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if slices.ContainsFunc(list, func(o test) bool { return o.id == t.id && o.mode == t.mode }) {
			return nil, fmt.Errorf("line %d: %v is there twice", n, t)
		}
		list = append(list, t)
	}
	return list, sc.Err()
}

// parseArgs makes tests of arguments: @FILE is a list, others are a test with
// or without its mode behind a colon.
func parseArgs(args []string) ([]test, error) {
	var all []test
	for _, arg := range args {
		if path, ok := strings.CutPrefix(arg, "@"); ok {
			f, err := os.Open(path)
			if err != nil {
				return nil, err
			}
			list, err := parseList(f)
			f.Close()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, list...)
			continue
		}
		t, err := parseTest(strings.Split(arg, ":"))
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}
