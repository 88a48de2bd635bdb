package dumptext

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/internal/ctext"
	"github.com/go-pcp/pcp/pmapi"
)

// maxLine is the maximum length of a line of a configuration, with its newline.
const maxLine = 1023

// config reads the metrics of a file: one a line, each with the number by which its values are divided
// if there is one. It returns the number of wrong lines, and prints the reasons.
func (d *dumper) config(ctx context.Context, name string, file io.Reader) (wrong int) {
	in := bufio.NewReaderSize(file, maxLine+1)
	for n := 0; ; {
		b, err := in.ReadSlice('\n')
		if err != nil && len(b) == 0 {
			return wrong
		}
		line, whole := strings.CutSuffix(string(b), "\n")
		if line == "" || line[0] == '#' {
			n++
			d.skip(in, err)
			continue
		}
		if !whole && errors.Is(err, bufio.ErrBufferFull) {
			d.env.Printf("%s: Line %d of %s was too long, skipping.\n", d.env.ProgName(), n, name)
			d.skip(in, err)
			wrong++
			continue
		}
		n++
		end := strings.LastIndexByte(line, ']') + 1
		if end == 0 {
			start := ctext.SkipSpace(line, 0)
			if start == len(line) {
				continue
			}
			end = start
			for end < len(line) && !ctext.IsSpace(line[end]) {
				end++
			}
		}
		scale := 0.0
		if end < len(line) {
			text := line[min(end+1, len(line)):]
			f, used, err := ctext.Strtod(text)
			if err != nil && used == 0 || used < len(text) {
				d.env.Printf("%s: Line %d of %s has an illegal scaling factor, assuming 0.\n", d.env.ProgName(), n, name)
				wrong++
				f = 0
			}
			scale = f
		}
		if !d.traverse(ctx, line[:end], scale) {
			wrong++
		}
	}
}

// skip reads the rest of a line of which only a part has been read.
func (d *dumper) skip(in *bufio.Reader, err error) {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
}

// traverse adds the metrics that a specification names: one with instances, or all below a name. It
// reports whether that was possible, and prints the reason if not.
func (d *dumper) traverse(ctx context.Context, text string, scale float64) bool {
	spec, err := pmapi.ParseMetricSpec(text, pmapi.SourceHost, "")
	if err != nil {
		text := err.Error()
		if e, ok := errors.AsType[*pmapi.SpecError](err); ok {
			text = e.Detail()
		}
		d.env.Printf("%s: Error: Unable to parse metric spec:\n%s\n", d.env.ProgName(), text)
		return false
	}
	if len(spec.Insts) > 0 {
		return d.add(ctx, spec, scale)
	}
	f := d.group.use(ctx, spec.Kind, spec.Source)
	if f == nil {
		return false
	}
	var names []string
	for name, err := range f.c.Traverse(ctx, spec.Metric) {
		if err != nil {
			meant := ""
			if errors.Is(err, pcp.ErrName) {
				meant = source.DidYouMean(ctx, d.env, f.c, spec.Metric)
			}
			d.group.errorf("%s: %s%s", spec.Metric, cli.ErrText(err), meant)
			return false
		}
		names = append(names, name)
	}
	ok := true
	for _, name := range names {
		spec.Metric = name
		ok = d.add(ctx, spec, scale) && ok
	}
	return ok
}

func (d *dumper) add(ctx context.Context, spec pmapi.MetricSpec, scale float64) bool {
	m := d.group.add(ctx, spec, scale)
	if m == nil {
		return false
	}
	if !d.raw {
		m.canonical()
	}
	d.metrics = append(d.metrics, m)
	d.columns += len(m.values)
	return true
}
