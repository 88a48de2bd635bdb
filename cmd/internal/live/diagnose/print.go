package diagnose

import (
	"fmt"
	"math"
	"strconv"
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

// print prints the diagnosis for people.
func (p *printer) print() {
	d, w := p.d, p.env.Stdout
	p.text.Head()
	for i := range d.Findings {
		p.text.Finding(&d.Findings[i])
	}
	for _, one := range p.periods.list {
		p.period(one)
	}
	if n := p.periods.more; n > 0 {
		fmt.Fprintf(w, "\nRules of pmie were true at %d more times.\n", n)
	}
	fmt.Fprintln(w)
	p.text.Unchecked(len(d.Findings)+len(p.periods.list) == 0, p.unchecked)
	p.text.Changes()
}

// A printer prints a diagnosis.
type printer struct {
	env       *cli.Env
	d         *diagnosis.Diagnosis
	text      diagnosis.Text
	unchecked bool

	pmieFile string // "" for none
	periods  periods
}

// period prints when a rule of pmie was true.
func (p *printer) period(one *period) {
	w := p.env.Stdout
	of := ""
	if one.instance != "" {
		of = " for " + one.instance
	}
	fmt.Fprintf(w, "\nWARNING %s: the rule of pmie was true%s\n", diagnosis.Plain(one.rule), diagnosis.Plain(of))
	since := "  Since:    " + p.text.Time(pcp.TimestampOf(one.since))
	if !one.until.IsZero() {
		since += ", until " + p.text.Time(pcp.TimestampOf(one.until))
	} else {
		since += ", to the end"
	}
	fmt.Fprintln(w, since)
	fmt.Fprintf(w, "  Evidence: %s, with the value %s at first\n", diagnosis.Plain(one.expr), diagnosis.Plain(one.value))
	fmt.Fprintf(w, "            %s\n", p.again(one))
}

// again returns the command that evaluates a rule of pmie again.
func (p *printer) again(one *period) string {
	until := one.until
	if until.IsZero() {
		until = p.d.End.Time()
	}
	f := &diagnosis.Finding{Since: pcp.TimestampOf(one.since), Until: pcp.TimestampOf(until)}
	return p.text.Commands.Command(p.d, f, "alerts test "+diagnosis.Quote(p.pmieFile))
}

// json prints a line for each finding, each change, each rule that was not checked if that was asked for, and the verdict.
func (p *printer) json() {
	d := p.d
	v := d.Verdict()
	for i := range d.Findings {
		p.env.Stdout.Write(pcpjson.Line(p.text.Commands.Finding(d, &d.Findings[i])))
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
