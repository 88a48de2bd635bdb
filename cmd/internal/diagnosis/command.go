package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pcpjson"
)

// Commands makes the commands that show the values of a diagnosis.
type Commands struct {
	Program string // pcp
	Source  string // options that select the source, for a shell; "" for the collector of this host
	Past    bool   // the source is an archive: commands have the time of a finding

	Zone       *time.Location // of times in commands
	ZoneOption string         // the option for it, "" for none
}

// An Evidence is a value, with the command that shows it.
type Evidence struct {
	Expression string  `json:"expression"`
	Instance   string  `json:"instance,omitempty"`
	Value      float64 `json:"value"`
	Units      string  `json:"units,omitempty"`
	Time       string  `json:"time,omitempty"`
	Command    string  `json:"command"`
}

// Evidence returns the value of a finding and that of what takes most of the resource, with the commands that show them.
func (c *Commands) Evidence(d *Diagnosis, f *Finding) []Evidence {
	rep := "rep -t " + Interval(d.Interval)
	if !c.Past {
		rep += " -s " + strconv.Itoa(d.Samples)
	}
	list := []Evidence{{f.Expression, f.Instance, f.Value, f.Units, pcpjson.Time(f.Time), c.Command(d, f, rep+" "+strings.Join(f.Metrics, " "))}}
	if len(f.Takers) > 0 && !slices.Equal(f.Takers[0].Metrics, f.Metrics) {
		s := &f.Takers[0]
		if !s.Texts {
			rep += " -J 3 --dynamic-header"
		}
		list = append(list, Evidence{s.Expression, s.Instance, s.Value, s.Units, "", c.Command(d, f, rep+" "+strings.Join(s.Metrics, " "))})
	}
	return list
}

// Next returns the command of a rule that shows more, for the source and the time of a finding.
func (c *Commands) Next(d *Diagnosis, f *Finding) string {
	rest, ok := strings.CutPrefix(f.Rule.Next, "pcp ")
	if !ok {
		return f.Rule.Next
	}
	return c.Command(d, f, rest)
}

// Command returns a command of pcp with the options for the source and the time of a finding.
func (c *Commands) Command(d *Diagnosis, f *Finding, rest string) string {
	list := []string{c.Program}
	if c.Source != "" {
		list = append(list, c.Source)
	}
	if c.Past {
		// A rate takes the sample before.
		from := f.Since.Add(-d.Interval)
		if from.Compare(d.Start) < 0 {
			from = d.Start
		}
		list = append(list, "-S", Quote("@"+from.Time().In(c.Zone).Format(time.DateTime)))
		list = append(list, "-T", Quote("@"+f.Until.Add(999*time.Millisecond).Time().In(c.Zone).Format(time.DateTime)))
		if c.ZoneOption != "" {
			list = append(list, c.ZoneOption)
		}
	}
	return strings.Join(append(list, rest), " ")
}

// Quote returns a word for the shell.
func Quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("@%+=:,./-_", c)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Interval returns a duration in the syntax of options.
func Interval(d time.Duration) string {
	switch {
	case d%time.Minute == 0 && d > 0:
		return fmt.Sprintf("%dmin", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return fmt.Sprintf("%gs", d.Seconds())
}
