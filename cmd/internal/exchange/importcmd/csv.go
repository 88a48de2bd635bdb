package importcmd

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A job is one file to import.
type job struct {
	env           *cli.Env
	file, archive string
	opt           importer.Options
	zone          string
	loc           *time.Location
	comma         rune
	timeColumn    string
	parseTime     parseTime
	missing       []string
	specs         []globSpec
	indoms        []globInDom
	prefix        string
	stored        *stored // metadata of the archive to append to, nil if there is none

	header      []string
	headerLine  int
	timeAt      int
	timeGuessed bool      // no column has a usual name of the time
	cols        []*column // by column of the file, nil for the time
	metrics     []*metric

	progress *cli.Progress
}

// Limits of the size of a row, and of a value.
const (
	maxRow    = 64 << 20
	maxString = 1 << 20
)

// A rowReader fails when too much is read for one row.
type rowReader struct {
	r    io.Reader
	left int // bytes
}

// A counter reports the number of bytes read.
type counter struct {
	r io.Reader
	p *cli.Progress
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.Add(int64(n))
	return n, err
}

var errLongRow = fmt.Errorf("a row of more than %d bytes", maxRow)

func (r *rowReader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLongRow
	}
	n, err := r.r.Read(b)
	r.left -= n
	return n, err
}

// A putter puts a value that was checked.
type putter func(s string) error

// kinds are the types that can hold all values of a column.
type kinds struct {
	seen                      bool
	notInt, notUint, notFloat bool
}

func (j *job) run() error {
	in, done, err := j.input()
	if err != nil {
		return err
	}
	defer done()
	size, err := in.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = in.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	j.progress = cli.NewProgress(j.env, j.env.ProgName(), 2*size)
	defer j.progress.Clear()
	// It writes nothing yet, but sees whether it may.
	announce(j.env, &j.opt, j.file)
	im, err := importer.Start(j.archive, j.opt)
	if err != nil {
		return err
	}
	if err = j.copy(im, in); err != nil {
		err = errors.Join(err, im.Discard())
	}
	return err
}

// copy reads the file twice: to find the types of columns, and to put the values into the archive.
func (j *job) copy(im *importer.Importer, in io.ReadSeeker) error {
	values, rows := 0, 0
	var first, last time.Time
	err := j.read(in, func(line int, t time.Time, row []string) error {
		if j.timeGuessed && j.parseTime == nil && t.Year() < earliestYear {
			return fmt.Errorf("%s:%d: no column is called as one with times is, and %q of the first, %s, would be a time in %d; name the column with -t, or say with -f epoch that these are seconds",
				j.file, line, row[j.timeAt], j.header[j.timeAt], t.Year())
		}
		if rows++; rows == 1 {
			first = t
		}
		if !last.IsZero() && t.Before(last) {
			return fmt.Errorf("%s:%d: the time goes back, from %s to %s", j.file, line, last.Format(time.RFC3339Nano), t.Format(time.RFC3339Nano))
		}
		if rows == 1 {
			if err := j.stored.after(t, j.loc); err != nil {
				return fmt.Errorf("%s:%d: %w", j.file, line, err)
			}
		}
		last = t
		for i, s := range row {
			c := j.cols[i]
			if c == nil || j.absent(s) {
				continue
			}
			values++
			if err := c.look(s); err != nil {
				return fmt.Errorf("%s:%d: column %d (%s): %w", j.file, line, c.number, c.header, err)
			}
		}
		return nil
	})
	if err == nil && values == 0 {
		err = fmt.Errorf("%s: %w", j.file, errNoValue)
	}
	if err != nil {
		return err
	}
	if err := j.declare(im); err != nil {
		return fmt.Errorf("%s:%d: %w", j.file, j.headerLine, err)
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	err = j.read(in, func(line int, t time.Time, row []string) error {
		values := false
		for i, s := range row {
			c := j.cols[i]
			if c == nil || j.absent(s) {
				continue
			}
			values = true
			if err := c.put(s); err != nil {
				return fmt.Errorf("%s:%d: column %d: %w", j.file, line, c.number, err)
			}
		}
		if !values {
			return nil
		}
		if err := im.Write(t); err != nil {
			return fmt.Errorf("%s:%d: %w", j.file, line, err)
		}
		return nil
	})
	if err == nil {
		err = im.End()
	}
	if err == nil {
		j.progress.Clear()
		stamp := func(t time.Time) string { return t.In(j.loc).Format(time.RFC3339) }
		fmt.Fprintf(j.env.Stdout, "%s: %s with %s at %s, from %s to %s\n", im.Path(),
			plural(len(j.metrics), "metric"), plural(values, "value"), plural(rows, "time"), stamp(first), stamp(last))
	}
	return err
}

// earliestYear is the year before which a number is hardly meant as a time.
const earliestYear = 1980

// plural returns "1 metric", "2 metrics".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// absent reports whether a field has no value.
func (j *job) absent(s string) bool {
	return strings.TrimSpace(s) == "" || slices.Contains(j.missing, s)
}

// read calls do for each row of the file. Of the first reading it keeps the
// header; rows that repeat it are left out.
func (j *job) read(in io.Reader, do func(line int, t time.Time, row []string) error) error {
	br := bufio.NewReaderSize(&counter{in, j.progress}, 256<<10)
	if b, err := br.Peek(3); err == nil && bytes.Equal(b, []byte("\xef\xbb\xbf")) {
		br.Discard(3) // the mark that some programs put before UTF-8
	}
	if j.comma == 0 {
		j.comma = guessComma(br)
	}
	limited := &rowReader{br, maxRow}
	r := csv.NewReader(limited)
	r.Comma, r.ReuseRecord = j.comma, true
	fail := func(err error) error {
		var p *csv.ParseError
		if errors.As(err, &p) {
			return fmt.Errorf("%s:%d: column %d: %w", j.file, p.Line, p.Column, p.Err)
		}
		return fmt.Errorf("%s: %w", j.file, err)
	}
	first, err := r.Read()
	if err == io.EOF {
		return fmt.Errorf("%s: no header", j.file)
	}
	if err != nil {
		return fail(err)
	}
	if j.header == nil {
		j.header = slices.Clone(first)
		j.headerLine, _ = r.FieldPos(0)
		if err := j.columns(j.header); err != nil {
			return fmt.Errorf("%s:%d: %w", j.file, j.headerLine, err)
		}
	}
	parse := j.parseTime
	if parse == nil {
		parse = parseAny
	}
	for {
		limited.left = maxRow
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fail(err)
		}
		if row[j.timeAt] == j.header[j.timeAt] && slices.Equal(row, j.header) {
			continue
		}
		line, _ := r.FieldPos(0)
		t, err := parse(row[j.timeAt], j.loc)
		if err != nil {
			return fmt.Errorf("%s:%d: column %d (%s): %q is %w", j.file, line, j.timeAt+1, j.header[j.timeAt], row[j.timeAt], err)
		}
		if err := do(line, t, row); err != nil {
			return err
		}
	}
}

// guessComma returns the first character of the header that can separate
// fields.
func guessComma(br *bufio.Reader) rune {
	head, _ := br.Peek(64 << 10)
	quoted := false
	for _, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			return ','
		case c == ',' || c == ';' || c == '\t' || c == '|':
			return rune(c)
		}
	}
	return ','
}

// look checks a value against the type of its metric, or finds out which type
// it can have.
func (c *column) look(s string) error {
	if len(s) > maxString {
		return fmt.Errorf("a value of %d bytes: %w", len(s), pcp.ErrTooBig)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("%q has a NUL", s[:min(len(s), 40)])
	}
	typ := c.m.spec.typ
	if typ != pcp.TypeUnknown {
		if !fits(s, typ) {
			return fmt.Errorf("%q is no value of type %s", s, typ)
		}
		return nil
	}
	c.typ.see(s)
	return nil
}

func (k *kinds) see(s string) {
	k.seen = true
	s = strings.TrimSpace(s)
	if !k.notInt {
		_, err := strconv.ParseInt(s, 10, 64)
		k.notInt = err != nil
	}
	if !k.notUint {
		_, err := strconv.ParseUint(s, 10, 64)
		k.notUint = err != nil
	}
	if !k.notFloat && k.notInt {
		_, k.notFloat = parseFloat(s)
		k.notFloat = !k.notFloat
	}
}

// typeOf returns the type of a metric without a specification: 64 or U64 for
// whole numbers, DOUBLE for others, else STRING.
func (m *metric) typeOf() pcp.Type {
	var all kinds
	for _, c := range m.columns {
		all.seen = all.seen || c.typ.seen
		all.notInt = all.notInt || c.typ.notInt
		all.notUint = all.notUint || c.typ.notUint
		all.notFloat = all.notFloat || c.typ.notFloat
	}
	switch {
	case !all.seen:
		return pcp.TypeDouble // there is no value
	case !all.notInt:
		return pcp.Type64
	case !all.notUint:
		return pcp.TypeU64
	case !all.notFloat:
		return pcp.TypeDouble
	}
	return pcp.TypeString
}

// parseFloat reads a number as people write it.
func parseFloat(s string) (float64, bool) {
	if strings.ContainsAny(s, "_xX") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil
}

// fits reports whether s is a value of a type.
func fits(s string, typ pcp.Type) bool {
	s = strings.TrimSpace(s)
	var err error
	switch typ {
	case pcp.Type32:
		_, err = strconv.ParseInt(s, 10, 32)
	case pcp.TypeU32:
		_, err = strconv.ParseUint(s, 10, 32)
	case pcp.Type64:
		_, err = strconv.ParseInt(s, 10, 64)
	case pcp.TypeU64:
		_, err = strconv.ParseUint(s, 10, 64)
	case pcp.TypeFloat, pcp.TypeDouble:
		f, ok := parseFloat(s)
		return ok && (typ == pcp.TypeDouble || math.IsInf(f, 0) || math.IsNaN(f) || math.Abs(f) <= math.MaxFloat32)
	}
	return err == nil
}

// declare defines the metrics and instances for the importer. Metrics with the
// same instances share an instance domain, unless options set another.
func (j *job) declare(im *importer.Importer) error {
	shared := make(map[string]pcp.InDom)
	for _, m := range j.metrics {
		desc := pcp.Desc{PMID: pcp.PMIDNull, Type: m.spec.typ, InDom: pcp.InDomNull, Sem: m.spec.sem, Units: m.spec.units}
		if desc.Type == pcp.TypeUnknown {
			desc.Type = m.typeOf()
		}
		if desc.Sem == 0 {
			desc.Sem = pcp.SemInstant
			if desc.Type == pcp.TypeString {
				desc.Sem = pcp.SemDiscrete
			}
		}
		if m.columns[0].inst != "" {
			var err error
			if desc.InDom, err = j.inDomOf(im, m, shared); err != nil {
				return err
			}
		}
		if _, err := im.AddMetric(m.name, desc); err != nil {
			return fmt.Errorf("column %d (%s): %w", m.columns[0].number, m.columns[0].header, err)
		}
		for _, c := range m.columns {
			h, err := im.Handle(m.name, c.inst)
			if err != nil {
				return fmt.Errorf("column %d (%s): %w", c.number, c.header, err)
			}
			c.put = putterOf(h, desc.Type)
		}
	}
	return nil
}

// inDomOf returns the instance domain of a metric, to which it adds instances
// that are new.
func (j *job) inDomOf(im *importer.Importer, m *metric, shared map[string]pcp.InDom) (pcp.InDom, error) {
	var names []string
	for _, c := range m.columns {
		names = append(names, c.inst)
	}
	key := strings.Join(names, "\x00")
	for _, g := range slices.Backward(j.indoms) {
		if ok, _ := path.Match(g.glob, m.name); ok {
			key = g.indom.String()
			shared[key] = g.indom
			break
		}
	}
	indom, ok := shared[key]
	if desc, found := j.stored.desc(m.name); found && !ok {
		if indom = desc.InDom; indom == pcp.InDomNull {
			return indom, nil // a single value; the columns are refused
		}
	} else if !ok {
		indom = j.stored.newInDom(im)
		shared[key] = indom
	}
	for _, c := range m.columns {
		if err := im.EnsureInstance(indom, c.inst); err != nil {
			return indom, fmt.Errorf("column %d (%s): %w", c.number, c.header, err)
		}
	}
	return indom, nil
}

// putterOf returns a function that puts a value of a type that was checked.
func putterOf(h importer.Handle, typ pcp.Type) putter {
	switch typ {
	case pcp.Type32, pcp.Type64:
		return func(s string) error {
			n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			if err != nil {
				return err
			}
			return h.PutInt(n)
		}
	case pcp.TypeU32, pcp.TypeU64:
		return func(s string) error {
			n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64)
			if err != nil {
				return err
			}
			return h.PutUint(n)
		}
	case pcp.TypeFloat, pcp.TypeDouble:
		return func(s string) error {
			f, ok := parseFloat(s)
			if !ok {
				return pcp.ErrConv
			}
			return h.PutDouble(f)
		}
	}
	return h.PutString
}
