package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcpjson"
)

// commandsFor returns the commands for a source.
func commandsFor(env *cli.Env, o *source.Options, loc *time.Location) diagnosis.Commands {
	c := diagnosis.Commands{Program: env.Pcp(), Zone: loc}
	switch {
	case o.FromArchive():
		c.Source, c.Past = "-a "+diagnosis.Quote(o.Archives[0]), true
		switch {
		case o.TimeZoneSet:
			c.ZoneOption = "-Z " + diagnosis.Quote(o.TimeZone)
		case o.HostZone:
			c.ZoneOption = "-z"
		}
	case o.Local:
		c.Source = "-L"
	case len(o.Hosts) > 0:
		c.Source = "-h " + diagnosis.Quote(o.Hosts[0])
	}
	return c
}

// A printer prints a diagnosis.
type printer struct {
	env       *cli.Env
	d         *diagnosis.Diagnosis
	loc       *time.Location
	unchecked bool

	commands diagnosis.Commands

	pmieFile string // "" for none
	periods  periods
}

// text prints the diagnosis for people.
func (p *printer) text() {
	d, w := p.d, p.env.Stdout
	fmt.Fprintf(w, "Host %s, from %s to %s, %s every %s.\n", plain(d.Host), p.date(d.Start), p.time(d.End), count(d.Samples, "sample"), diagnosis.Interval(d.Interval))
	for i := range d.Findings {
		p.finding(&d.Findings[i])
	}
	for _, one := range p.periods.list {
		p.period(one)
	}
	if n := p.periods.more; n > 0 {
		fmt.Fprintf(w, "\nRules of pmie were true at %d more times.\n", n)
	}
	fmt.Fprintln(w)
	if len(d.Findings)+len(p.periods.list) == 0 {
		fmt.Fprintf(w, "Nothing is short. %s checked.\n", was(d.Checked, "rule"))
	}
	if n := len(d.Unchecked); n > 0 && p.unchecked {
		fmt.Fprintln(w, "Not checked:")
		for _, u := range d.Unchecked {
			fmt.Fprintf(w, "  %-20s %s\n", u.ID, u.Reason)
		}
	} else if n > 0 {
		fmt.Fprintf(w, "%s not checked, for lack of metrics; --unchecked lists them.\n", was(n, "rule"))
	}
	if c := d.Compared; c != nil {
		fmt.Fprintf(w, "\nChanged from %s to %s, compared with %s to %s:\n", p.date(c.Start), p.time(c.End), p.date(c.BeforeStart), p.time(c.BeforeEnd))
		if len(d.Changes) == 0 {
			fmt.Fprintf(w, "  none of %s\n", count(c.Compared, "value"))
		}
		for i := range d.Changes {
			p.change(&d.Changes[i])
		}
	}
}

func (p *printer) finding(f *diagnosis.Finding) {
	w := p.env.Stdout
	word := "WARNING"
	if f.Severe {
		word = "ERROR"
	}
	fmt.Fprintf(w, "\n%s %s: %s\n", word, f.ID, plain(f.Text))
	since := "  Since:    " + p.time(f.Since)
	switch {
	case p.d.Start == f.Since || f.AtStart:
		since += ", the start, or before"
	case f.AtEnd:
		since += ", to the end"
	}
	if !f.AtEnd {
		since += ", until " + p.time(f.Until)
	}
	fmt.Fprintf(w, "%s; in %d of %s\n", since, f.Held, count(p.d.Samples, "sample"))
	label := "Taken by:"
	for i := range f.Takers {
		s := &f.Takers[i]
		fmt.Fprintf(w, "  %-9s %s: %s\n", label, plain(who(s)), s.Text)
		label = ""
	}
	if f.More > 0 {
		fmt.Fprintf(w, "  Also:     true of %d more\n", f.More)
	}
	limit := "more"
	if !f.Rule.Above {
		limit = "less"
	}
	fmt.Fprintf(w, "  Evidence: %s was %s at %s, %s than %s\n", f.Expression, diagnosis.Format(f.Value, f.Rule.Unit, pcp.Units{}), p.time(f.Time), limit,
		diagnosis.Format(f.Rule.Limit, f.Rule.Unit, pcp.Units{}))
	for _, e := range p.commands.Evidence(p.d, f) {
		fmt.Fprintf(w, "            %s\n", e.Command)
	}
	if next := p.commands.Next(p.d, f); next != "" {
		fmt.Fprintf(w, "  Next:     %s\n", next)
	}
	if f.Cause >= 0 {
		fmt.Fprintf(w, "  Effect of %s\n", p.d.Findings[f.Cause].ID)
	}
}

// period prints when a rule of pmie was true.
func (p *printer) period(one *period) {
	w := p.env.Stdout
	of := ""
	if one.instance != "" {
		of = " for " + one.instance
	}
	fmt.Fprintf(w, "\nWARNING %s: the rule of pmie was true%s\n", plain(one.rule), plain(of))
	since := "  Since:    " + p.time(pcp.TimestampOf(one.since))
	if !one.until.IsZero() {
		since += ", until " + p.time(pcp.TimestampOf(one.until))
	} else {
		since += ", to the end"
	}
	fmt.Fprintln(w, since)
	fmt.Fprintf(w, "  Evidence: %s, with the value %s at first\n", plain(one.expr), plain(one.value))
	fmt.Fprintf(w, "            %s\n", p.again(one))
}

// again returns the command that evaluates a rule of pmie again.
func (p *printer) again(one *period) string {
	until := one.until
	if until.IsZero() {
		until = p.d.End.Time()
	}
	f := &diagnosis.Finding{Since: pcp.TimestampOf(one.since), Until: pcp.TimestampOf(until)}
	return p.commands.Command(p.d, f, "alerts test "+diagnosis.Quote(p.pmieFile))
}

// maxPlain is the number of characters of a text, such as a command line, that are printed.
const maxPlain = 300

// plain returns a text in one line, without characters that control a terminal.
func plain(s string) string {
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
func who(s *diagnosis.Share) string {
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

func (p *printer) change(c *diagnosis.Change) {
	name := c.Metric
	if c.Instance != "" {
		name += "[" + c.Instance + "]"
	}
	more := ""
	if c.More > 0 {
		more = fmt.Sprintf(", and %d more instances", c.More)
	}
	fmt.Fprintf(p.env.Stdout, "  %s: %s, before %s%s\n", plain(name), diagnosis.Format(c.After, "", c.Units), diagnosis.Format(c.Before, "", c.Units), more)
}

func (p *printer) date(t pcp.Timestamp) string { return t.Time().In(p.loc).Format(time.DateTime) }

// time is without the date if that is the one of the start.
func (p *printer) time(t pcp.Timestamp) string {
	at, start := t.Time().In(p.loc), p.d.Start.Time().In(p.loc)
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

// json prints a line for each finding, each change, each rule that was not checked if that was asked for, and the verdict.
func (p *printer) json() {
	d := p.d
	v := d.Verdict()
	for i := range d.Findings {
		p.env.Stdout.Write(pcpjson.Line(p.commands.Finding(d, &d.Findings[i])))
	}
	for _, one := range p.periods.list {
		o := diagnosis.Object{
			Rule: one.rule, Severity: "warning", Expression: one.expr, Instance: one.instance, Since: pcpjson.Time(pcp.TimestampOf(one.since)),
			Command: p.again(one),
		}
		if !one.until.IsZero() {
			o.Until = pcpjson.Time(pcp.TimestampOf(one.until))
		}
		if f, err := strconv.ParseFloat(one.value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			o.Value = &f
		}
		v.OK = false
		v.Warnings++
		p.env.Stdout.Write(pcpjson.Line(&o))
	}
	for i := range d.Changes {
		p.env.Stdout.Write(pcpjson.Line(d.Change(i)))
	}
	if p.unchecked {
		for _, u := range d.Unchecked {
			p.env.Stdout.Write(pcpjson.Line(&diagnosis.Object{ID: u.ID, Reason: u.Reason}))
		}
	}
	p.env.Stdout.Write(pcpjson.Line(&v))
}
