package importcmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// An output is the archive that an import writes. If the import fails nothing of
// it stays; an archive that was continued is as before.
type output struct {
	im              *importer.Importer
	stored          *stored // the archive that is continued, else nil
	metrics, values int
	records         int
	first, last     time.Time
}

// write writes the values that were put as a record.
func (o *output) write(t time.Time) error {
	if o.records == 0 {
		if err := o.stored.after(t, t.Location()); err != nil {
			return err
		}
	}
	if err := o.im.Write(t); err != nil {
		return err
	}
	if o.records++; o.records == 1 {
		o.first = t
	}
	o.last = t
	return nil
}

// add declares a metric whose number the importer chooses.
func (o *output) add(name string, desc pcp.Desc) error {
	desc.PMID = pcp.PMIDNull
	if _, err := o.im.AddMetric(name, desc); err != nil {
		return err
	}
	o.metrics++
	return nil
}

// finish completes the archive if err is nil, and else removes it. It returns the exit
// status of the tool.
func (o *output) finish(ctx context.Context, env *cli.Env, loc *time.Location, err error) int {
	switch {
	case err == nil && ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && o.records == 0:
		err = errNoValue
	}
	if err == nil {
		err = o.im.End()
	}
	if err != nil {
		if o.im != nil {
			err = errors.Join(err, o.im.Discard())
		}
		return env.Fatalf("%v", err)
	}
	if !env.Classic() {
		o.report(env, loc)
	}
	return 0
}

// report prints a summary of the import.
func (o *output) report(env *cli.Env, loc *time.Location) {
	stamp := func(t time.Time) string { return t.In(loc).Format(time.RFC3339) }
	fmt.Fprintf(env.Stdout, "%s: %s with %s at %s, from %s to %s\n", o.im.Path(),
		plural(o.metrics, "metric"), plural(o.values, "value"), plural(o.records, "time"), stamp(o.first), stamp(o.last))
}

// Units of metrics that importers make.
var (
	perSecond   = pcp.Units{DimTime: -1, DimCount: 1, ScaleTime: pcp.TimeSec, ScaleCount: pcp.CountOne}
	kbPerSecond = pcp.Units{DimSpace: 1, DimTime: -1, ScaleSpace: pcp.SpaceKByte, ScaleTime: pcp.TimeSec}
	kbytes      = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	mbytes      = pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceMByte}
	counts      = pcp.Units{DimCount: 1, ScaleCount: pcp.CountOne}
)

// number reads a number as sar and iostat write it: some locales have a comma where
// others have a point.
func number(s string) (float64, error) {
	f, ok := parseFloat(strings.ReplaceAll(s, ",", "."))
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return f, nil
}

// decimal writes a number with 15 digits at most, as Perl does. The importers of the C
// implementation are in Perl, and hand numbers over as text.
func decimal(f float64) string { return strconv.FormatFloat(f, 'g', 15, 64) }

// Limits of the length of a line, and of the instances of a metric.
const (
	maxLine      = 64 << 10
	maxInstances = 10_000
)

var errManyInstances = fmt.Errorf("more than %d instances", maxInstances)

// A lineReader reads lines and counts them.
type lineReader struct {
	r    *bufio.Reader // with room for maxLine bytes
	line int           // number of the last line
}

// next returns the next line without its end; io.EOF after the last.
func (l *lineReader) next() (string, error) {
	s, err := l.r.ReadSlice('\n')
	switch {
	case err == io.EOF && len(s) > 0:
	case errors.Is(err, bufio.ErrBufferFull):
		l.line++
		return "", fmt.Errorf("a line of more than %d bytes", l.r.Size())
	case err != nil:
		return "", err
	}
	l.line++
	return strings.TrimSuffix(strings.TrimSuffix(string(s), "\n"), "\r"), nil
}
