package dstat

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/pcptime"
)

// appendRow appends a row of the table: the fetched values, without averages.
func (r *report) appendRow(b []byte) []byte {
	for i, p := range r.plugins {
		comma := func() {
			if i > 0 {
				b = append(b, ',')
			}
		}
		switch {
		case p.time:
			comma()
			text := r.time(p.name)
			b = append(b, text...)
			b = appendBlanks(b, p.width-utf8.RuneCountInString(text))
		case p.group == ungrouped:
			for n, m := range p.metrics {
				if n > 0 {
					b = append(b, ',')
				} else {
					comma()
				}
				for j := range m.results {
					if j > 0 {
						b = append(b, ',')
					}
					b = appendValue(b, m.results[j].value)
				}
			}
		case len(p.metrics) > 0:
			comma()
			b = p.appendGroupRow(b)
		}
	}
	return b
}

// appendGroupRow appends the row of a plugin that repeats its columns.
func (p *plugin) appendGroupRow(b []byte) []byte {
	if p.group == onlyTop && !p.chooseTop() {
		return b
	}
	n, begun := 0, false
	if p.group != onlyTotal {
		for _, in := range p.shown {
			if !p.shows(in) {
				continue
			}
			for _, m := range p.metrics {
				if p.group == onlyTop && m.top {
					continue
				}
				if n++; n > 1 {
					b = append(b, ',')
				}
				if res := m.find(in); res != nil {
					b = appendValue(b, res.value)
					begun = true
				}
			}
		}
	}
	if p.group != onlyTotal && p.group != withTotal {
		return b
	}
	for _, m := range p.metrics {
		if begun || n > 1 {
			b = append(b, ',')
		}
		sum, count := p.sum(m)
		if count == 0 {
			continue
		}
		b = appendNumber(b, sum)
		begun = true
	}
	return b
}

// chooseTop makes the plugin show the instances with the largest values of its top metrics. It returns false if there is none.
func (p *plugin) chooseTop() bool {
	for _, m := range p.metrics {
		if !m.top {
			continue
		}
		p.shown = p.shown[:0]
		if m.out == pcp.TypeString {
			continue
		}
		top, largest := -1, 0.0
		for i := range m.results {
			if f := number(m.results[i].value); f > largest {
				top, largest = i, f
			}
		}
		if top < 0 {
			return false
		}
		p.shown = append(p.shown, m.results[top].instance)
	}
	return true
}

// sum returns the sum of a metric over the instances, or the mean of percentages, and the number of instances counted.
// As in the C program, the last metric determines that.
func (p *plugin) sum(m *metric) (sum float64, count int) {
	last := p.metrics[len(p.metrics)-1]
	for i := range last.results {
		if p.counts(last.results[i].instance) {
			count++
		}
	}
	for i := range m.results {
		if p.counts(m.results[i].instance) {
			sum += number(m.results[i].value)
		}
	}
	if p.printAs == asPercent {
		sum /= float64(count)
	}
	return sum, count
}

// appendValue appends a value, a string in quotes.
func appendValue(b []byte, v pcp.Value) []byte {
	switch v.Type() {
	case pcp.TypeString:
		text, _ := v.Text()
		b = append(b, '"')
		b = append(b, text...)
		return append(b, '"')
	case pcp.Type32, pcp.Type64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case pcp.TypeU32, pcp.TypeU64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	}
	return appendNumber(b, number(v))
}

// appendNumber appends a number with three decimals if it is not whole.
func appendNumber(b []byte, f float64) []byte {
	switch {
	case !finite(f):
		return b
	case f != math.RoundToEven(f):
		return strconv.AppendFloat(b, f, 'f', 3, 64)
	}
	return append(b, digits(f)...)
}

// A fileError is a write error in the words of Python.
type fileError struct {
	path string
	err  error
}

func (e *fileError) Error() string {
	var errno syscall.Errno
	if errors.As(e.err, &errno) {
		return fmt.Sprintf("[Errno %d] %s: '%s'", int(errno), getopt.ErrText(e.err), e.path)
	}
	return e.err.Error()
}

func (e *fileError) Unwrap() error { return e.err }

// A csvFile is the file of a table.
type csvFile struct {
	path   string // "" if there is none
	row    []byte // the row of the line
	headed bool   // the file has its head
}

// write writes the head if it is not written yet, and the row, if it has values, and ends it if the interval is over. An
// interim row is not written.
func (t *csvFile) write(head func(first bool) string, values, definite bool, missed string) error {
	st, err := os.Stat(t.path)
	exists := err == nil
	var b []byte
	if !t.headed {
		t.headed = true
		if exists {
			b = append(b, "\n\n"...)
		}
		b = append(b, head(!exists)...)
	}
	if values {
		b = append(b, t.row...)
	}
	if !definite {
		return nil
	}
	if missed != "" {
		b = append(b, `,"`+missed+`"`...)
	}
	if values {
		b = append(b, '\n')
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if err != nil || !st.Mode().IsRegular() {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(t.path, flags, 0o666)
	if err != nil {
		return &fileError{t.path, err}
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Close()); err != nil {
		return &fileError{t.path, err}
	}
	return nil
}

// csvHead is the beginning of the table, and first also of the file.
func (r *report) csvHead(first bool) string {
	s := ""
	if first {
		s = `"pcp-dstat ` + r.version + ` CSV Output"` + "\n" +
			`"Author:","PCP team <pcp@groups.io> and Dag Wieers <dag@wieers.com>",,,,"URL:",` +
			`"https://pcp.io/ and http://dag.wieers.com/home-made/dstat/"` + "\n"
	}
	now := time.Now().In(pcptime.Local(r.env.Getenv("TZ")))
	s += `"Host:","` + r.host + `",,,,"User:","` + userName(r.env.Getenv) + `"` + "\n" +
		`"Cmdline:","` + r.command + `",,,,"Date:","` + pcptime.Strftime("%d %b %Y %H:%M:%S %Z", now) + `"` + "\n"
	for i, p := range r.visible {
		if i > 0 {
			s += ","
		}
		s += p.csvTitle()
	}
	s += "\n"
	for i, p := range r.visible {
		if i > 0 {
			s += ","
		}
		s += p.csvSubtitle()
	}
	return s + "\n"
}

// userName returns the name of the user, as Python's getpass finds it.
func userName(getenv func(string) string) string {
	for _, v := range []string{"LOGNAME", "USER", "LNAME", "USERNAME"} {
		if name := getenv(v); name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
