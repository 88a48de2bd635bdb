package devstat

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/pytext"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/pcptime"
)

// Options are those of both programs, before those that -x takes.
func Options() []cli.Option {
	return []cli.Option{
		cli.Heading("General options"),
		cli.OptAlign,
		cli.OptArchive,
		cli.OptDebug,
		{Short: 'G', Long: "aggregate", Arg: "METHOD", Help: "one row for the devices of -R: the sum, avg, min or max of theirs"},
		cli.OptHost,
		cli.OptOrigin,
		{Short: 'P', Long: "precision", Arg: "N", Help: "show N digits behind the point"},
		{Short: 'R', Long: "regex", Arg: "PATTERN", Help: "only devices whose name matches a regular expression"},
		cli.OptStart,
		cli.OptSamples,
		cli.OptFinish,
		cli.OptInterval,
		{Short: 'u', Long: "no-interpolation", Help: "report the samples of an archive as they are"},
		cli.OptVersion,
		cli.OptTimeZone,
		cli.OptHostZone,
		cli.OptJSON,
		cli.OptHelp,
		cli.Heading("Extended options"),
		{Short: 'x', Arg: "LIST", Help: "comma separated extended options:"},
	}
}

// A Column is a column of a table.
type Column struct {
	Name string
	// Width is that of its heading, by the precision. Cells may have another one.
	Width, Cell func(precision int) int
	Digits      int  // more than the precision
	Whole       bool // cells are whole numbers
	// Mark is the width of the question mark of a row whose counters went backwards, None in one for a sample
	// without values.
	Mark, None func(precision int) int
}

// A Table describes a table.
type Table struct {
	Metrics []string
	// Keys are those of Metrics that need previous values before there are rows; the first has the
	// devices.
	Keys    []string
	Columns []Column
	// Values calculates a row. It returns false if the counters of the device went backwards.
	Values func(d *Device) (values []float64, ok bool)
	// Idle reports whether the device of a row did nothing.
	Idle func(values []float64) bool
	// Indent is the additional space between a device and its heading, or its question marks,
	// behind a time.
	Indent string
}

// A Report is a program that prints a table.
type Report struct {
	Missing string // as in pmcc.Kind
	Table   func(extended []string) *Table

	m         *pmcc.Manager
	table     *Table
	extended  []string
	raw       bool // -u
	precision int
	pattern   string
	regex     *regexp.Regexp
	method    string // of -G
	wrong     error  // of an argument
	headings  int
}

func (r *Report) own(_ *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'x':
		r.extended = append(r.extended, strings.Split(strings.ReplaceAll(arg, ",", " "), " ")...)
	case 'u':
		r.raw = true
	case 'P':
		n, ok := pytext.Int(arg)
		if !ok {
			r.wrong = fmt.Errorf("-P %s: not a number", arg)
		}
		r.precision = int(max(min(n, 1<<20), -1))
	case 'R':
		r.pattern = arg
	case 'G':
		r.method = arg
	default:
		return false
	}
	return true
}

// Run runs the program.
func (r *Report) Run(ctx context.Context, env *cli.Env) int {
	r.precision = 2
	return pmcc.Report{Kind: pmcc.Kind{Prefix: env.ProgName() + ": ", Missing: r.Missing}, Own: r.own, Valid: r.valid}.Run(ctx, env, func(m *pmcc.Manager) int {
		r.m = m
		if r.raw {
			if status, ok := m.AsRecorded(ctx); !ok {
				return status
			}
		}
		r.table = r.Table(r.extended)
		if status, ok := m.Use(ctx, r.table.Metrics, len(r.table.Metrics)); !ok {
			return status
		}
		refused := ""
		status := m.Each(ctx, func() error {
			switch {
			case r.method != "" && !slices.Contains([]string{"sum", "avg", "min", "max"}, r.method):
				refused = "Error, -G aggregation method must be one of 'sum', 'avg', 'min' or 'max'"
			case r.precision < 0 || r.precision > 10:
				refused = "Precision value must be between 0 and 10"
			default:
				return r.sample()
			}
			return pmcc.ErrDone
		})
		if refused != "" {
			return m.Refuse(refused)
		}
		return status
	})
}

// valid checks the arguments of options.
func (r *Report) valid() (err error) {
	if r.wrong != nil || r.pattern == "" {
		return r.wrong
	}
	if r.regex, err = regexp.Compile(r.pattern); err != nil {
		return fmt.Errorf("-R: %w", err)
	}
	return nil
}

func (r *Report) has(extended string) bool { return slices.Contains(r.extended, extended) }

// sample prints the rows of a sample.
func (r *Report) sample() error {
	if !r.m.Sampled() {
		return nil
	}
	stamp := ""
	if r.has("t") {
		stamp = fmt.Sprintf("%-24s ", strings.TrimSuffix(pcptime.Ctime(r.m.Time(), r.m.Loc), "\n"))
	}
	r.heading()
	s, complete := r.values()
	if !complete {
		if stamp != "" && !r.m.JSON {
			r.marks(stamp, "NODATA", func(c *Column) int { return c.None(r.precision) })
		}
		return nil
	}
	if s.elapsed == 0 {
		return fmt.Errorf("two samples have the same time, %s, so that there are no rates", pcptime.Ctime(r.m.Time(), r.m.Loc))
	}
	var all aggregate
	for _, name := range s.devices {
		values, ok, known := s.row(r.table, name)
		if !known { // a device that was not there before: as in C there is nothing about those behind it
			return nil
		}
		if !ok {
			r.backwards(stamp, name)
			continue
		}
		if r.regex != nil && !r.regex.MatchString(name) {
			continue
		}
		all.count++
		if r.has("noidle") && r.table.Idle(values) {
			continue
		}
		if r.method != "" {
			all.add(r.method, values)
			continue
		}
		r.row(stamp, name, values)
	}
	if r.method != "" {
		pattern := r.pattern
		if pattern == "" {
			pattern = ".*"
		}
		r.row(stamp, fmt.Sprintf("%s(%s)", r.method, pattern), all.result(r.method, len(r.table.Columns)))
	}
	return nil
}

// linesPerHeading is the number of lines until the heading is repeated.
const linesPerHeading = 23

// heading prints the heading above every 23rd sample.
func (r *Report) heading() {
	if r.has("h") || r.m.JSON {
		return
	}
	if r.headings++; r.headings%linesPerHeading != 1 {
		return
	}
	line := fmt.Sprintf("%-12s", "# Device")
	if r.has("t") {
		line = fmt.Sprintf("%-24s %-12s%s", "# Timestamp", "Device", r.table.Indent)
	}
	for i := range r.table.Columns {
		c := &r.table.Columns[i]
		width := c.Width(r.precision)
		if i == 0 && r.has("t") {
			width -= len(r.table.Indent)
		}
		line += fmt.Sprintf(" %*s", width, c.Name)
	}
	fmt.Fprintln(r.m.Out, line)
}

// row prints a row of values.
func (r *Report) row(stamp, name string, values []float64) {
	if r.m.JSON {
		row := r.m.Row("", name)
		for i, v := range values {
			row.Columns.Number(r.table.Columns[i].Name, v)
		}
		row.Write()
		return
	}
	b := fmt.Appendf(nil, "%s%-12s", stamp, name)
	for i, v := range values {
		c := &r.table.Columns[i]
		if c.Whole {
			b = fmt.Appendf(b, " %*d", c.Cell(r.precision), int64(v))
			continue
		}
		b = fmt.Appendf(b, " %*.*f", c.Cell(r.precision), r.precision+c.Digits, v)
	}
	r.m.Out.Write(append(b, '\n'))
}

// backwards prints the row of a device whose counters went backwards.
func (r *Report) backwards(stamp, name string) {
	if r.m.JSON {
		row := r.m.Row("", name)
		for i := range r.table.Columns {
			row.Columns.Unknown(r.table.Columns[i].Name)
		}
		row.Write()
		return
	}
	r.marks(stamp, name, func(c *Column) int { return c.Mark(r.precision) })
}

func (r *Report) marks(stamp, name string, width func(c *Column) int) {
	line := fmt.Sprintf("%s%-12s", stamp, name)
	if stamp != "" {
		line += r.table.Indent
	}
	for i := range r.table.Columns {
		line += fmt.Sprintf(" %*s", width(&r.table.Columns[i]), "?")
	}
	fmt.Fprintln(r.m.Out, line)
}
