package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcpjson"
)

// A printer prints a diagnosis.
type printer struct {
	env       *cli.Env
	o         *source.Options
	d         *diagnosis.Diagnosis
	loc       *time.Location
	unchecked bool

	pmieFile string // "" for none
	periods  periods
}

// text prints the diagnosis for people.
func (p *printer) text() {
	d, w := p.d, p.env.Stdout
	fmt.Fprintf(w, "Host %s, from %s to %s, %s every %s.\n", plain(d.Host), p.date(d.Start), p.time(d.End), count(d.Samples, "sample"), interval(d.Interval))
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
	for _, e := range p.evidence(f) {
		fmt.Fprintf(w, "            %s\n", e.Command)
	}
	if next := p.next(f); next != "" {
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
	return p.command(f, "alerts test "+quote(p.pmieFile))
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

// evidence returns the value of a finding and that of what takes most of the resource, with the commands that show them.
func (p *printer) evidence(f *diagnosis.Finding) []jsonEvidence {
	rep := "rep -t " + interval(p.d.Interval)
	if !p.o.FromArchive() {
		rep += " -s " + strconv.Itoa(p.d.Samples)
	}
	list := []jsonEvidence{{f.Expression, f.Instance, f.Value, f.Units, pcpjson.Time(f.Time), p.command(f, rep+" "+strings.Join(f.Metrics, " "))}}
	if len(f.Takers) > 0 && !slices.Equal(f.Takers[0].Metrics, f.Metrics) {
		s := &f.Takers[0]
		if !s.Texts {
			rep += " -J 3 --dynamic-header"
		}
		list = append(list, jsonEvidence{s.Expression, s.Instance, s.Value, s.Units, "", p.command(f, rep+" "+strings.Join(s.Metrics, " "))})
	}
	return list
}

// next returns the command of a rule that shows more, for the source and the time of a finding.
func (p *printer) next(f *diagnosis.Finding) string {
	rest, ok := strings.CutPrefix(f.Rule.Next, "pcp ")
	if !ok {
		return f.Rule.Next
	}
	return p.command(f, rest)
}

// command returns a command of pcp with the options for the source and the time of a finding.
func (p *printer) command(f *diagnosis.Finding, rest string) string {
	list := []string{p.env.Pcp()}
	switch {
	case p.o.FromArchive():
		list = append(list, "-a", quote(p.o.Archives[0]))
		// A rate takes the sample before.
		from := f.Since.Add(-p.d.Interval)
		if from.Compare(p.d.Start) < 0 {
			from = p.d.Start
		}
		list = append(list, "-S", quote("@"+from.Time().In(p.loc).Format(time.DateTime)))
		list = append(list, "-T", quote("@"+f.Until.Add(999*time.Millisecond).Time().In(p.loc).Format(time.DateTime)))
		switch {
		case p.o.TimeZoneSet:
			list = append(list, "-Z", quote(p.o.TimeZone))
		case p.o.HostZone:
			list = append(list, "-z")
		}
	case p.o.Local:
		list = append(list, "-L")
	case len(p.o.Hosts) > 0:
		list = append(list, "-h", quote(p.o.Hosts[0]))
	}
	return strings.Join(append(list, rest), " ")
}

// quote returns a word for the shell.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("@%+=:,./-_", c)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
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

// interval is a duration in the syntax of options.
func interval(d time.Duration) string {
	switch {
	case d%time.Minute == 0 && d > 0:
		return fmt.Sprintf("%dmin", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%gs", d.Seconds())
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

// An object is the JSON of a finding, a change, a rule that was not checked, or the verdict (docs/json.md).
type object struct {
	ID         string         `json:"id,omitempty"`
	Resource   string         `json:"resource,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Severity   string         `json:"severity,omitempty"`
	Text       string         `json:"text,omitempty"`
	Reason     string         `json:"reason,omitempty"`
	Metric     string         `json:"metric,omitempty"`
	Instance   string         `json:"instance,omitempty"`
	Expression string         `json:"expression,omitempty"`
	Limit      string         `json:"limit,omitempty"`
	Value      *float64       `json:"value,omitempty"`
	Average    *float64       `json:"average,omitempty"`
	Before     *float64       `json:"before,omitempty"`
	After      *float64       `json:"after,omitempty"`
	Units      string         `json:"units,omitempty"`
	Time       string         `json:"time,omitempty"`
	Since      string         `json:"since,omitempty"`
	Until      string         `json:"until,omitempty"`
	Samples    int            `json:"samples,omitempty"`
	Takers     []jsonTaker    `json:"takers,omitempty"`
	More       int            `json:"more,omitempty"`
	Cause      string         `json:"cause,omitempty"`
	Effects    []string       `json:"effects,omitempty"`
	Evidence   []jsonEvidence `json:"evidence,omitempty"`
	Command    string         `json:"command,omitempty"`
	Rule       string         `json:"rule,omitempty"`
}

type jsonEvidence struct {
	Expression string  `json:"expression"`
	Instance   string  `json:"instance,omitempty"`
	Value      float64 `json:"value"`
	Units      string  `json:"units,omitempty"`
	Time       string  `json:"time,omitempty"`
	Command    string  `json:"command"`
}

type jsonTaker struct {
	Kind       string  `json:"kind"`
	Instance   string  `json:"instance,omitempty"`
	PID        int32   `json:"pid,omitempty"`
	User       string  `json:"user,omitempty"`
	CGroup     string  `json:"cgroup,omitempty"`
	Container  string  `json:"container,omitempty"`
	Value      float64 `json:"value"`
	Units      string  `json:"units,omitempty"`
	Rank       string  `json:"rank"`
	Expression string  `json:"expression"`
}

type verdict struct {
	OK        bool    `json:"ok"`
	Host      string  `json:"host"`
	Start     string  `json:"start"`
	End       string  `json:"end"`
	Interval  float64 `json:"interval"`
	Samples   int     `json:"samples"`
	Errors    int     `json:"errors"`
	Warnings  int     `json:"warnings"`
	Checked   int     `json:"checked"`
	Unchecked int     `json:"unchecked,omitempty"`
}

// json prints a line for each finding, each change, each rule that was not checked if that was asked for, and the verdict.
func (p *printer) json() {
	d := p.d
	v := verdict{
		Host: d.Host, Start: pcpjson.Time(d.Start), End: pcpjson.Time(d.End), Interval: d.Interval.Seconds(),
		Samples: d.Samples, Checked: d.Checked, Unchecked: len(d.Unchecked),
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		o := object{
			ID: f.ID, Resource: f.Rule.Resource, Kind: f.Rule.Kind, Severity: "warning", Text: f.Text, Instance: f.Instance,
			Expression: f.Expression, Value: &f.Value, Average: &f.Average, Units: f.Units, Time: pcpjson.Time(f.Time),
			Since: pcpjson.Time(f.Since), Samples: f.Held, More: f.More, Evidence: p.evidence(f), Command: p.next(f),
			Rule: fmt.Sprintf("%s:%d", f.Rule.File, f.Rule.Line), Limit: fmt.Sprintf("< %g", f.Rule.Limit),
		}
		if f.Rule.Above {
			o.Limit = fmt.Sprintf("> %g", f.Rule.Limit)
		}
		if f.Severe {
			o.Severity = "error"
			v.Errors++
		} else {
			v.Warnings++
		}
		if !f.AtEnd {
			o.Until = pcpjson.Time(f.Until)
		}
		if f.Cause >= 0 {
			o.Cause = d.Findings[f.Cause].ID
		}
		for _, e := range f.Effects {
			o.Effects = append(o.Effects, d.Findings[e].ID)
		}
		for _, s := range f.Takers {
			o.Takers = append(o.Takers, jsonTaker{s.Kind, s.Instance, s.PID, s.User, s.CGroup, s.Container, s.Value, s.Units, string(s.Rank), s.Expression})
		}
		p.env.Stdout.Write(pcpjson.Line(&o))
	}
	for _, one := range p.periods.list {
		o := object{
			Rule: one.rule, Severity: "warning", Expression: one.expr, Instance: one.instance, Since: pcpjson.Time(pcp.TimestampOf(one.since)),
			Command: p.again(one),
		}
		if !one.until.IsZero() {
			o.Until = pcpjson.Time(pcp.TimestampOf(one.until))
		}
		if f, err := strconv.ParseFloat(one.value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			o.Value = &f
		}
		v.Warnings++
		p.env.Stdout.Write(pcpjson.Line(&o))
	}
	v.OK = v.Errors+v.Warnings == 0
	for i := range d.Changes {
		c := &d.Changes[i]
		p.env.Stdout.Write(pcpjson.Line(&object{
			Metric: c.Metric, Instance: c.Instance, Before: &c.Before, After: &c.After, Units: c.Units.String(), More: c.More,
			Since: pcpjson.Time(d.Compared.Start), Until: pcpjson.Time(d.Compared.End),
		}))
	}
	if p.unchecked {
		for _, u := range d.Unchecked {
			p.env.Stdout.Write(pcpjson.Line(&object{ID: u.ID, Reason: u.Reason}))
		}
	}
	p.env.Stdout.Write(pcpjson.Line(&v))
}
