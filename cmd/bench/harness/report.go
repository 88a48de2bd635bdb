package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A Report is the file of one run: the machine, the commits, and the rows.
type Report struct {
	Time      time.Time `json:"time"`
	Kernel    string    `json:"kernel"`
	Processor string    `json:"processor"`
	CPUs      int       `json:"cpus"`             // of the machine
	Pinned    string    `json:"pinned,omitempty"` // those that everything ran on, if not all
	Go        string    `json:"go"`
	C         string    `json:"c,omitempty"`      // the version of the C implementation
	Before    string    `json:"before,omitempty"` // the older commit
	Now       string    `json:"now"`              // the commit, with "+" if files were changed
	LoadBegin string    `json:"load_begin"`       // the load averages before the run
	LoadEnd   string    `json:"load_end"`         // and after it
	Rows      []Row     `json:"rows"`
}

// Load reads a report.
func Load(path string) (*Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("%s: a report without rows", path)
	}
	return r, nil
}

// Save writes a report.
func (r *Report) Save(path string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Heading describes the run in one sentence.
func (r *Report) Heading() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d × %s, Linux %s, %s", r.Time.UTC().Format("2006-01-02"), r.CPUs, r.Processor, r.Kernel, r.Go)
	if r.Pinned != "" {
		fmt.Fprintf(&b, ", on processor %s only", r.Pinned)
	}
	if r.C != "" {
		fmt.Fprintf(&b, "; C is PCP %s", r.C)
	}
	if r.Before != "" {
		fmt.Fprintf(&b, "; before is %s", r.Before)
	}
	fmt.Fprintf(&b, "; now is %s; load average %s at the start, %s at the end.", r.Now, r.LoadBegin, r.LoadEnd)
	return b.String()
}

// WriteTable writes the rows in Markdown: a table of processor time, one by the clock, and one of resident memory if it
// was measured. A cell has the median, and the smallest and the largest sample.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintln(&b, r.Heading())
	r.table(&b, "processor time", CPU, Duration, func(g Goal) Goal { return Goal{C: g.C, Floor: g.Floor, CPU: g.CPU} })
	r.table(&b, "by the clock", Wall, Duration, func(g Goal) Goal { return Goal{Wall: g.Wall} })
	r.table(&b, "resident, at the most", RSS, Bytes, func(g Goal) Goal { return Goal{RSS: g.RSS} })
	for _, row := range r.Rows {
		if row.Note != "" {
			fmt.Fprintf(&b, "\n`%s`: %s.\n", row.Name, row.Note)
		}
		for _, res := range row.Results {
			if res.Failed != "" {
				fmt.Fprintf(&b, "\n`%s`, %s: failed: %s.\n", row.Name, res.Side, res.Failed)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes the table of one measure, if any row has it, with the part of the goals that is about it.
func (r *Report) table(b *strings.Builder, title string, of Measure, format func(float64) string, part func(Goal) Goal) {
	headed := false
	for _, row := range r.Rows {
		row.Goal = part(row.Goal)
		cells, any := []string{}, false
		for _, side := range []string{C, Before, Now, Floor} {
			cell := ""
			if res := row.Side(side); res != nil {
				if least, median, most := res.Spread(of); most > 0 {
					any = true
					if cell = format(median); least < most {
						cell += fmt.Sprintf(" (%s to %s)", format(least), format(most))
					}
				}
			}
			cells = append(cells, cell)
		}
		if !any {
			continue
		}
		if !headed {
			headed = true
			fmt.Fprintf(b, "\n| %s | C | before | now | floor | C / now | before / now | now / floor | goal |\n", title)
			b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
		}
		for _, pair := range [][2]string{{C, Now}, {Before, Now}, {Now, Floor}} {
			cell := ""
			if ratio, ok := row.Ratio(pair[0], pair[1], of); ok && ratio > 0 {
				cell = fmt.Sprintf("%.3g", ratio)
			}
			cells = append(cells, cell)
		}
		goal := row.Goal.String()
		if missed := row.Missed(); len(missed) > 0 {
			goal += "; missed: " + strings.Join(missed, ", ")
		}
		fmt.Fprintf(b, "| `%s`, a %s | %s | %s |\n", row.Name, row.Unit, strings.Join(cells, " | "), goal)
	}
}

// line is the row as a run prints it when it is complete.
func (r *Row) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s", r.Name)
	for _, res := range r.Results {
		if res.Failed != "" {
			fmt.Fprintf(&b, "  %s failed: %s", res.Side, res.Failed)
			continue
		}
		least, median, most := res.Spread(CPU)
		_, wall, _ := res.Spread(Wall)
		fmt.Fprintf(&b, "  %s %s (%s to %s), clock %s", res.Side, Duration(median), Duration(least), Duration(most), Duration(wall))
	}
	if ratio, ok := r.Ratio(C, Now, CPU); ok {
		fmt.Fprintf(&b, "  C/now %.2f", ratio)
	}
	if ratio, ok := r.Ratio(Before, Now, CPU); ok {
		fmt.Fprintf(&b, "  before/now %.2f", ratio)
	}
	if ratio, ok := r.Ratio(Now, Floor, CPU); ok {
		fmt.Fprintf(&b, "  now/floor %.2f", ratio)
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "  (%s)", r.Note)
	}
	return b.String()
}

// The lines of a page between which a table is. The first has the path of the report, from the page's folder.
const (
	markBegin = "\n<!-- measured: "
	markEnd   = "\n<!-- end of measured -->"
)

// Embed returns a page in which each table between "<!-- measured: PATH -->" and "<!-- end of measured -->" is the one of the report
// that load returns for PATH.
func Embed(page string, load func(path string) (*Report, error)) (string, error) {
	var out strings.Builder
	for rest := page; ; {
		before, after, ok := strings.Cut(rest, markBegin)
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		path, after, ok := strings.Cut(after, " -->")
		if !ok || strings.Contains(path, "\n") {
			return "", errors.New("a line " + markBegin[1:] + "PATH --> is not complete")
		}
		_, after, ok = strings.Cut(after, markEnd)
		if !ok {
			return "", fmt.Errorf("the table of %s has no line %s", path, markEnd[1:])
		}
		report, err := load(path)
		if err != nil {
			return "", err
		}
		out.WriteString(markBegin + path + " -->\n")
		if err := report.WriteTable(&out); err != nil {
			return "", err
		}
		out.WriteString(markEnd)
		rest = after
	}
}
