package logconf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-pcp/pcp/internal/ctext"
)

// Sizes of answers, as in C: the excess is read as the next answer.
const (
	answerSize = 127
	yesNoSize  = 15
)

// A Dialogue asks the user about groups.
type Dialogue struct {
	In    *bufio.Reader
	Out   io.Writer
	Quick bool // do not ask for the intervals of groups

	set *Set
	err error // of In, except its end
}

// Run asks about each group that is not excluded, and applies the user's changes. At the end of In all
// other groups are unchanged. The error is that of In.
func (d *Dialogue) Run(s *Set) error {
	d.set = s
	for {
		pattern, found := d.groups()
		if found || d.err != nil {
			return d.err
		}
		fmt.Fprint(d.Out, " not found.\n")
		for {
			fmt.Fprint(d.Out, "Continue searching from start of the file? [y] ")
			answer, ok := d.gets(yesNoSize)
			if d.err != nil {
				return d.err
			}
			if !ok || strings.HasPrefix(answer, "y") {
				fmt.Fprintf(d.Out, "Searching for \"%s\"\n", pattern)
				break
			}
			if strings.HasPrefix(answer, "n") {
				break
			}
			fmt.Fprint(d.Out, "Error: you must answer \"y\" or \"n\" ... try again\n")
		}
	}
}

// Confirm asks whether to keep the changes.
func (d *Dialogue) Confirm() (bool, error) {
	for {
		fmt.Fprint(d.Out, "Keep changes? [y] ")
		answer, ok := d.gets(yesNoSize)
		switch {
		case d.err != nil:
			return false, d.err
		case !ok || answer == "" || strings.HasPrefix(answer, "\n") || strings.HasPrefix(answer, "y"):
			return true, nil
		case strings.HasPrefix(answer, "n"):
			return false, nil
		}
		fmt.Fprint(d.Out, "Error: you must answer \"y\" or \"n\" ... try again\n")
	}
}

// gets reads a line as fgets(3) does. It returns false at the end of the input.
func (d *Dialogue) gets(size int) (string, bool) {
	var b []byte
	for len(b) < size {
		c, err := d.In.ReadByte()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				d.err = err
			}
			break
		}
		if b = append(b, c); c == '\n' {
			break
		}
	}
	return ctext.String(string(b)), len(b) > 0
}

// answer reads an answer and trims surrounding space.
func (d *Dialogue) answer() (string, bool) {
	line, ok := d.gets(answerSize)
	return strings.TrimSuffix(trim(line), "\n"), ok
}

const validAnswers = `Valid responses are:
m         report the names of the metrics in this group
n         do not log this group
q         quit; no change for this or any of the following groups
y         log this group
/pattern  no change for this group and search for a group containing pattern
          in the description or the metrics associated with the group
`

// groups asks about the groups. If a pattern is not found it returns the pattern and false.
func (d *Dialogue) groups() (pattern string, found bool) {
	s := d.set
	quit := false
	for i := 0; i < len(s.groups) && d.err == nil; i++ {
		g := s.groups[i]
		switch {
		case !g.valid || g.Saved == Exclude:
			continue
		case quit:
			fmt.Fprint(d.Out, ".")
			continue
		case g.force != nil:
			continue
		}
		answer := d.ask(g)
		switch answer[0] {
		case '?':
			fmt.Fprint(d.Out, validAnswers)
		case 'm':
			fmt.Fprintf(d.Out, "Metrics in this group (%s):\n", g.Tag)
			for _, m := range g.Metrics {
				fmt.Fprintf(d.Out, "    %s\n", m)
			}
			i--
			continue
		case 'q':
			quit = true
			continue
		case 'n':
			d.choose(g, Available)
		case 'y':
			d.choose(g, Include)
		case '/':
			pattern := answer[1:]
			fmt.Fprintf(d.Out, "Searching for \"%s\"\n", pattern)
			at, ok := s.search(i, pattern)
			if !ok {
				return pattern, false
			}
			i = at - 1
			continue
		default:
			fmt.Fprint(d.Out, "Error: you must answer \"m\", \"n\", \"q\", \"y\", \"?\" or \"/pattern\" ... try again\n")
			i--
			continue
		}
		if g.Saved == Include && !s.cfg.Pmrep {
			d.interval(g)
		}
	}
	return "", true
}

// ask asks whether to record a group, and returns the answer, which is not empty.
func (d *Dialogue) ask(g *Group) string {
	fmt.Fprint(d.Out, "\n")
	head := "Group: "
	for line := range fill(g.Ident, 64, 75) {
		fmt.Fprintf(d.Out, "%s%s\n", head, line)
		head = "       "
	}
	state := "n"
	if g.Saved == Include {
		state = "y"
	}
	fmt.Fprintf(d.Out, "Log this group? [%s] ", state)
	if answer, _ := d.answer(); answer != "" {
		return answer
	}
	return state
}

func (d *Dialogue) choose(g *Group, state State) {
	d.set.changed = d.set.changed || g.Saved != state
	g.Saved = state
}

// interval asks for the interval of a group.
func (d *Dialogue) interval(g *Group) {
	if d.Quick {
		fmt.Fprintf(d.Out, "Logging interval: %s\n", g.Delta())
		return
	}
	for d.err == nil {
		fmt.Fprintf(d.Out, "Logging interval? [%s] ", g.Delta())
		answer, ok := d.answer()
		if !ok {
			break
		}
		if answer == "" {
			answer = "default"
		}
		if checkDelta(answer) == nil {
			g.delta = &answer
			break
		}
		fmt.Fprint(d.Out, "Error: logging interval must be of the form \"once\" or \"default\" or \"<integer> <scale>\","+
			"where <scale> is one of \"sec\", \"secs\", \"min\",\"mins\", etc ... try again\n")
	}
	d.set.changed = true
}

// search returns the index of the first group, from i on, with a pattern in its description or its
// metrics.
func (s *Set) search(i int, pattern string) (int, bool) {
	for ; i < len(s.groups); i++ {
		g := s.groups[i]
		if strings.Contains(g.Ident, pattern) {
			return i, true
		}
		for _, m := range g.Metrics {
			if strings.Contains(m, pattern) {
				return i, true
			}
		}
	}
	return 0, false
}

// Found reports whether the metric of the group's probe exists, or the group has no probe.
func (g *Group) Found() bool { return !g.hasMetric || g.probed.exists }
