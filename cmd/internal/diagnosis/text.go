package diagnosis

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
)

// A Text writes a diagnosis for people.
type Text struct {
	W         io.Writer
	Diagnosis *Diagnosis
	Commands  Commands
}

// Head writes the host, the time and the number of samples.
func (t *Text) Head() {
	d := t.Diagnosis
	fmt.Fprintf(t.W, "Host %s, from %s to %s, %s every %s.\n", Plain(d.Host), t.date(d.Start), t.Time(d.End), count(d.Samples, "sample"), Interval(d.Interval))
}

// Unchecked writes which rules were checked: with all, those that were not with the reason. Nothing means that nothing is short.
func (t *Text) Unchecked(nothing, all bool) {
	d := t.Diagnosis
	if nothing {
		fmt.Fprintf(t.W, "Nothing is short. %s checked.\n", was(d.Checked, "rule"))
	}
	if d.Unread != "" {
		fmt.Fprintln(t.W, d.Unread)
	}
	if n := len(d.Unchecked); n > 0 && all {
		fmt.Fprintln(t.W, "Not checked:")
		for _, u := range d.Unchecked {
			fmt.Fprintf(t.W, "  %-20s %s\n", u.ID, u.Reason)
		}
	} else if n > 0 {
		fmt.Fprintf(t.W, "%s not checked, for lack of metrics; --unchecked lists them.\n", was(n, "rule"))
	}
}

// Changes writes what changed.
func (t *Text) Changes() {
	d := t.Diagnosis
	c := d.Compared
	if c == nil {
		return
	}
	fmt.Fprintf(t.W, "\nChanged from %s to %s, compared with %s to %s:\n", t.date(c.Start), t.Time(c.End), t.date(c.BeforeStart), t.Time(c.BeforeEnd))
	if len(d.Changes) == 0 {
		fmt.Fprintf(t.W, "  none of %s\n", count(c.Compared, "value"))
	}
	for i := range d.Changes {
		t.change(&d.Changes[i])
	}
}

// Finding writes a finding.
func (t *Text) Finding(f *Finding) {
	w := t.W
	word := "WARNING"
	if f.Severe {
		word = "ERROR"
	}
	fmt.Fprintf(w, "\n%s %s: %s\n", word, f.ID, Plain(f.Text))
	since := "  Since:    " + t.Time(f.Since)
	switch {
	case t.Diagnosis.Start == f.Since || f.AtStart:
		since += ", the start, or before"
	case f.AtEnd:
		since += ", to the end"
	}
	if !f.AtEnd {
		since += ", until " + t.Time(f.Until)
	}
	fmt.Fprintf(w, "%s; in %d of %s\n", since, f.Held, count(t.Diagnosis.Samples, "sample"))
	label := "Taken by:"
	for i := range f.Takers {
		s := &f.Takers[i]
		fmt.Fprintf(w, "  %-9s %s: %s\n", label, Plain(who(s)), s.Text)
		label = ""
	}
	if f.More > 0 {
		fmt.Fprintf(w, "  Also:     true of %d more\n", f.More)
	}
	limit := "more"
	if !f.Rule.Above {
		limit = "less"
	}
	fmt.Fprintf(w, "  Evidence: %s was %s at %s, %s than %s\n", f.Expression, Format(f.Value, f.Rule.Unit, pcp.Units{}), t.Time(f.Time), limit,
		Format(f.Rule.Limit, f.Rule.Unit, pcp.Units{}))
	for _, e := range t.Commands.Evidence(t.Diagnosis, f) {
		fmt.Fprintf(w, "            %s\n", e.Command)
	}
	if next := t.Commands.Next(t.Diagnosis, f); next != "" {
		fmt.Fprintf(w, "  Next:     %s\n", next)
	}
	if f.Cause >= 0 {
		fmt.Fprintf(w, "  Effect of %s\n", t.Diagnosis.Findings[f.Cause].ID)
	}
}

func (t *Text) change(c *Change) {
	name := c.Metric
	if c.Instance != "" {
		name += "[" + c.Instance + "]"
	}
	more := ""
	if c.More > 0 {
		more = fmt.Sprintf(", and %d more instances", c.More)
	}
	fmt.Fprintf(t.W, "  %s: %s, before %s%s\n", Plain(name), Format(c.After, "", c.Units), Format(c.Before, "", c.Units), more)
}

// maxPlain is the number of characters of a text, such as a command line, that are printed.
const maxPlain = 300

// Plain returns a text in one line, without characters that control a terminal.
func Plain(s string) string {
	if r := []rune(s); len(r) > maxPlain {
		s = string(r[:maxPlain]) + "..."
	}
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return ' '
		}
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 {
			return '?'
		}
		return c
	}, s)
}

// who returns a text for a process, a control group or a device.
func who(s *Share) string {
	if s.PID == 0 {
		return strings.TrimSpace(s.Kind + " " + s.Instance)
	}
	text := fmt.Sprintf("process %d %s", s.PID, s.Instance)
	var of []string
	if s.User != "" {
		of = append(of, "user "+s.User)
	}
	if s.Container != "" {
		of = append(of, "container "+s.Container)
	} else if s.CGroup != "" {
		of = append(of, s.CGroup)
	}
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	return text
}

func (t *Text) date(at pcp.Timestamp) string {
	return at.Time().In(t.Commands.Zone).Format(time.DateTime)
}

// Time returns a time of day, with the date if that is not the one of the start.
func (t *Text) Time(when pcp.Timestamp) string {
	at, start := when.Time().In(t.Commands.Zone), t.Diagnosis.Start.Time().In(t.Commands.Zone)
	if at.Format(time.DateOnly) == start.Format(time.DateOnly) {
		return at.Format(time.TimeOnly)
	}
	return at.Format(time.DateTime)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func was(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return count(n, what) + " were"
}
