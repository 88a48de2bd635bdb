package series

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/series/query"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// A report prints the requested information, in the layout of pmseries(1).
type report struct {
	*options
	env    *cli.Env
	loc    *time.Location
	ask    *client
	status int

	series    string // the last one printed
	needEOL   bool
	needComma bool
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r.env.Stdout, format, args...) }

// next begins the output of a series, and reports whether it differs from the
// last one.
func (r *report) next(id string) bool {
	if id == r.series {
		return false
	}
	r.needComma = false
	r.eol()
	r.series = id
	return true
}

// eol ends a line that has begun.
func (r *report) eol() {
	if r.needEOL {
		r.needEOL = false
		io.WriteString(r.env.Stdout, "\n")
	}
}

// fail prints an error.
func (r *report) fail(err error) {
	r.eol()
	r.status = 1
	var refused *refusal
	switch {
	case errors.Is(err, context.Canceled):
	case errors.As(err, &refused) && refused.message == "":
		fmt.Fprintf(r.env.Stderr, "%s: Invalid argument\n", r.env.ProgName())
	case errors.As(err, &refused), errors.As(err, new(mistake)), query.IsMistake(err):
		fmt.Fprintf(r.env.Stderr, "%s: [Error] %s\n", r.env.ProgName(), err)
	default:
		fmt.Fprintf(r.env.Stderr, "%s: %s\n", r.env.ProgName(), err)
	}
}

// check prints an error if there is one, and reports whether there is none.
func (r *report) check(err error) bool {
	if err != nil {
		r.fail(err)
	}
	return err == nil
}

func (r *report) run(ctx context.Context, args []string) {
	switch {
	case r.load:
		r.loadArchives(ctx, strings.Join(args, " "))
	case r.query:
		r.find(ctx, strings.Join(args, " "))
	case r.window:
		r.windowed(ctx, strings.Join(args, ","))
	case r.values:
		for _, name := range strings.Split(strings.Join(args, ","), ",") {
			values, err := r.ask.labelValues(ctx, name)
			if !r.check(err) {
				return
			}
			if len(values) > 0 {
				r.printf("%s: %s\n", name, strings.Join(values, ", "))
			}
		}
	case r.sources && !r.meta():
		r.contexts(ctx, strings.Join(args, ","))
	case len(args) == 0:
		r.everything(ctx)
	default:
		for _, id := range strings.Split(strings.Join(args, ","), ",") {
			if !r.metadata(ctx, id) {
				return
			}
			r.eol()
			r.series = ""
		}
	}
	r.eol()
}

// loadArchives has a server search for archives. Those of this host were found
// when they were opened.
func (r *report) loadArchives(ctx context.Context, arg string) {
	if !r.remote {
		if r.loaded != "" {
			r.printf("%s: [Info] %s\n", r.env.ProgName(), r.loaded)
		}
		return
	}
	body, err := r.ask.post(ctx, "load", url.Values{"expr": {`{source.path: "` + strings.ReplaceAll(arg, `"`, "") + `"}`}})
	if r.check(err) {
		body.Close()
	}
}

// find answers a query.
func (r *report) find(ctx context.Context, text string) {
	if r.fast {
		q, err := query.Parse(text, time.Now(), r.loc)
		if !r.check(err) {
			return
		}
		text = query.Text(q.Expr)
	}
	r.check(list(ctx, r.ask, "query", url.Values{"expr": {text}}, func(e seriesOrValue) error {
		if e.value == nil {
			if r.next(e.id) {
				r.printf("%s\n", e.id)
			}
			return nil
		}
		return r.value(e.value)
	}))
}

// value prints a value.
func (r *report) value(v *element) error {
	if r.next(v.Series) {
		r.printf("\n%s\n", v.Series)
	}
	at := v.Timestamp.String()
	if !r.nums {
		t, err := parseStamp(at)
		if err != nil {
			return err
		}
		at = t.In(r.loc).Format("Mon Jan _2 15:04:05.000000000 2006")
	}
	switch {
	case v.Instance == nil:
		r.printf("    [%s] %s\n", at, v.Value)
	default:
		r.printf("    [%s] %s %s\n", at, v.Value, *v.Instance)
	}
	return nil
}

// parseStamp reads a time in milliseconds with digits of microseconds.
func parseStamp(s string) (time.Time, error) {
	ms, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || len(frac) > 6 || n > 1<<53 || n < 0 {
		return time.Time{}, fmt.Errorf("%q is not a time in milliseconds", s)
	}
	ns, err := strconv.ParseInt((frac + "000000")[:6], 10, 64)
	if err != nil || ns < 0 {
		return time.Time{}, fmt.Errorf("%q is not a time in milliseconds", s)
	}
	return time.Unix(n/1000, n%1000*1e6+ns), nil
}

// windowed prints values of series in a time window.
func (r *report) windowed(ctx context.Context, ids string) {
	text := r.spec
	if !strings.HasPrefix(text, "[") {
		text = "[" + text + "]"
	}
	spec, err := query.ParseSpec(text, time.Now(), r.loc)
	if err != nil {
		r.fail(err)
		fmt.Fprintf(r.env.Stderr, "%s: invalid time specification '%s': Invalid argument\n", r.env.ProgName(), text)
		return
	}
	params := url.Values{"series": {ids}}
	for name, v := range map[string]string{
		"samples": spec.Samples, "interval": spec.Interval, "start": spec.Start, "finish": spec.Finish,
		"range": spec.Range, "align": spec.Align, "offset": spec.Offset, "zone": spec.Zone,
	} {
		if v != "" {
			params.Set(name, v)
		}
	}
	r.check(list(ctx, r.ask, "values", params, func(v element) error { return r.value(&v) }))
}

// contexts prints the names of sources.
func (r *report) contexts(ctx context.Context, ids string) {
	if ids == "" {
		r.names0(ctx, "sources")
		return
	}
	r.check(list(ctx, r.ask, "sources", url.Values{"source": {ids}}, func(e element) error {
		if r.needComma {
			r.printf(", %s", e.Name)
		} else {
			r.printf("    Context: %s", e.Name)
		}
		r.needComma, r.needEOL = true, true
		return nil
	}))
}

// names0 prints all names of a kind.
func (r *report) names0(ctx context.Context, command string) bool {
	match := "*"
	if r.hasGlob {
		match = r.glob
	}
	return r.check(list(ctx, r.ask, command, url.Values{"match": {match}}, func(name string) error {
		r.printf("%s\n", name)
		return nil
	}))
}

// everything prints the names of all metrics, labels and instances.
func (r *report) everything(ctx context.Context) {
	if r.desc || r.pmid || r.indom || r.ids {
		r.fail(&refusal{})
		return
	}
	for _, c := range []struct {
		wanted  bool
		command string
	}{{r.sources, "sources"}, {r.metrics, "metrics"}, {r.labels, "labels"}, {r.insts, "instances"}} {
		if c.wanted && !r.names0(ctx, c.command) {
			return
		}
	}
}

// metadata prints the requested metadata of one series, and reports whether there
// was no error.
func (r *report) metadata(ctx context.Context, id string) bool {
	if r.next(id) {
		r.printf("\n%s\n", id)
	}
	params := url.Values{"series": {id}}
	if r.desc || r.pmid || r.indom || r.ids {
		if !r.check(list(ctx, r.ask, "descs", params, func(e element) error { r.describe(&e); return nil })) {
			return false
		}
	}
	if r.metrics {
		r.needComma = false
		if !r.check(list(ctx, r.ask, "metrics", params, func(e element) error {
			if r.needComma {
				r.printf(", %s", e.Name)
			} else {
				r.printf("    Metric: %s", e.Name)
			}
			r.needComma, r.needEOL = true, true
			return nil
		})) {
			return false
		}
		r.needComma = false
		r.eol()
	}
	if r.labels {
		ok := r.check(list(ctx, r.ask, "labels", params, func(e element) error {
			if r.options.names {
				r.printf("    Labels: %s\n", strings.Join(labelNames(&e), ", "))
			} else {
				r.printf("    labels %s\n", labelText(&e))
			}
			return nil
		}))
		if !ok {
			return false
		}
	}
	if !r.insts && !r.labels {
		return true
	}
	return r.instances(ctx, params)
}

// instances prints the instances of a series, and their labels.
func (r *report) instances(ctx context.Context, params url.Values) bool {
	var insts []element
	if !r.check(list(ctx, r.ask, "instances", params, func(e element) error { insts = append(insts, e); return nil })) {
		return false
	}
	sort.SliceStable(insts, func(i, j int) bool {
		if insts[i].ID != insts[j].ID {
			return insts[i].ID < insts[j].ID
		}
		return insts[i].Name < insts[j].Name
	})
	byID := map[string]*element{}
	var ids []string
	for i := range insts {
		e := &insts[i]
		if e.Instance == nil {
			continue
		}
		if r.insts {
			r.printf("    inst [%d or %q] series %s\n", e.ID, raw(e.Name), *e.Instance)
		}
		if byID[*e.Instance] == nil {
			ids = append(ids, *e.Instance)
		}
		byID[*e.Instance] = e
	}
	if !r.labels || len(ids) == 0 {
		return true
	}
	return r.check(list(ctx, r.ask, "labels", url.Values{"series": {strings.Join(ids, ",")}}, func(l element) error {
		switch e := byID[l.Series]; {
		case r.options.names:
			r.printf("\n%s    Labels: %s\n", l.Series, strings.Join(labelNames(&l), ", "))
		case e != nil:
			r.printf("    inst [%d or %q] labels %s\n", e.ID, raw(e.Name), labelText(&l))
		}
		return nil
	}))
}

// raw is a text that %q does not escape.
type raw string

// Format implements fmt.Formatter.
func (s raw) Format(f fmt.State, _ rune) { io.WriteString(f, `"`+string(s)+`"`) }

func labelNames(e *element) []string {
	var names []string
	for name := range e.Labels {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func labelText(e *element) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range labelNames(e) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", raw(name), e.Labels[name])
	}
	return b.String() + "}"
}

// describe prints a descriptor.
func (r *report) describe(e *element) {
	r.printf("   ")
	var domain, cluster, item, serial int
	id, indom := pcp.PMIDNull, pcp.InDomNull
	if n, _ := fmt.Sscanf(e.PMID, "%d.%d.%d", &domain, &cluster, &item); n == 3 {
		id = pcp.NewPMID(domain, cluster, item)
	} else if e.PMID == "none" {
		e.PMID = "PM_ID_NULL"
	}
	if n, _ := fmt.Sscanf(e.InDom, "%d.%d", &domain, &serial); n == 2 {
		indom = pcp.NewInDom(domain, serial)
	} else if e.InDom == "none" {
		e.InDom = "PM_INDOM_NULL"
	}
	if r.pmid || r.desc {
		r.printf(" PMID: %s", e.PMID)
		if r.pmid {
			r.printf(" = %d = 0x%x", uint32(id), uint32(id))
		}
		r.printf("\n")
	}
	if r.desc {
		r.printf("    Data Type: %s", typePhrase(e.Type))
	}
	if r.indom || r.desc {
		r.printf("  InDom: %s", e.InDom)
		if r.indom {
			r.printf(" = %d =", uint32(indom))
		}
		r.printf(" 0x%x\n", uint32(indom))
	}
	if r.desc {
		if e.Units == "" {
			e.Units = "none"
		}
		r.printf("    Semantics: %s  Units: %s\n", e.Semantics, e.Units)
	}
	if r.ids {
		r.printf("    Source: %s\n", e.Source)
	}
}

func typePhrase(t string) string {
	switch strings.ToLower(t) {
	case "32":
		return "32-bit int"
	case "64":
		return "64-bit int"
	case "u32":
		return "32-bit unsigned int"
	case "u64":
		return "64-bit unsigned int"
	case "float", "double", "string", "aggregate":
		return strings.ToLower(t)
	case "aggregate_static":
		return "aggregate static"
	case "event":
		return "event record array"
	case "highres_event":
		return "highres event record array"
	case "no_support":
		return "Not Supported"
	}
	return "???"
}
