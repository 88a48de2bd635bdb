package info

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/desccheck"
	"github.com/go-pcp/pcp/cmd/internal/tool/report"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/pcpjson"
)

// A metric is a metric of a batch.
type metric struct {
	name string
	id   pcp.PMID
	desc pcp.Desc
	vs   pcp.ValueSet

	noDesc bool // it has no descriptor, and the error of the fetch is reported
}

// report prints the batch and empties it.
func (r *reporter) report(ctx context.Context) {
	names := r.names
	r.names, r.nameBytes = r.names[:0], 0
	if len(names) > 0 {
		r.batch(ctx, names)
	}
	r.flush()
}

func (r *reporter) batch(ctx context.Context, names []string) {
	w := &r.want
	if !w.ids() {
		for _, name := range names {
			if w.json {
				r.out = append(r.out, pcpjson.Line(&jsonMetric{Metric: name})...)
			} else {
				r.out = append(append(r.out, name...), '\n')
			}
		}
		return
	}
	metrics := r.lookup(ctx, names)
	if len(metrics) > 0 && (w.value || w.labels || w.verify) {
		if !r.fetch(ctx, metrics) {
			return
		}
	}
	var descErr []error
	if w.desc || w.value || w.labels || w.series || w.verify {
		descErr = r.describe(ctx, metrics)
	}
	if r.archive == nil {
		r.cache.forgetInstances()
	}
	for i := range metrics {
		m := &metrics[i]
		if w.json {
			var err error
			if descErr != nil {
				err = descErr[i]
			}
			if err != nil || !w.force || m.vs.Err != pcp.ErrProfile || r.enumerate(ctx, m) {
				r.jsonMetric(ctx, m, err)
			}
			continue
		}
		m.noDesc = descErr != nil && descErr[i] != nil
		if m.noDesc && !r.fetchError(metrics, i) {
			r.printf("%s: pmLookupDesc: %s\n", m.name, cli.ErrText(descErr[i]))
			continue
		}
		r.metric(ctx, m)
		if len(r.out) >= 4096 {
			r.flush()
		}
	}
}

// fetchError reports whether the error of a fetch is reported and not that of the descriptor: in PCP 7, of metrics that are
// requested together.
func (r *reporter) fetchError(metrics []metric, i int) bool {
	return len(metrics) > 1 && (r.want.value && !r.want.desc || r.want.verify) && metrics[i].vs.Err != 0 && r.seven()
}

// lookup finds the PMIDs of names, and prints which it cannot find.
func (r *reporter) lookup(ctx context.Context, names []string) []metric {
	metrics := make([]metric, 0, len(names))
	var ids []pcp.PMID
	var err error
	if r.tree != nil {
		if r.traced != nil {
			_, _ = r.traced.LookupName(ctx, names...)
		}
		ids = make([]pcp.PMID, len(names))
		for i, name := range names {
			var e error
			// The root of a dynamic subtree is a leaf of a local name space.
			if ids[i], e = r.tree.Lookup(name); e != nil && !ids[i].IsDynamicRoot() {
				ids[i], err = pcp.PMIDNull, e
			}
		}
	} else {
		ids, err = r.c.LookupName(ctx, names...)
	}
	if !source.AnyFound(ids) {
		for _, name := range names {
			r.printf("%s: pmLookupName: %s\n", name, cli.ErrText(err))
		}
		return nil
	}
	// As in the C tool a name that is unknown among others that are not has
	// the PMID PM_ID_NULL.
	for i, name := range names {
		metrics = append(metrics, metric{name: name, id: ids[i]})
	}
	return metrics
}

// fetch gets the values of a batch, and reports whether it could.
func (r *reporter) fetch(ctx context.Context, metrics []metric) bool {
	ids := make([]pcp.PMID, len(metrics))
	for i := range metrics {
		ids[i] = metrics[i].id
	}
	if err := r.rewind(ctx); err != nil {
		return false
	}
	res, err := r.c.Fetch(ctx, ids)
	if err != nil {
		for i := range metrics {
			r.printf("%s: pmFetch: %s\n", metrics[i].name, cli.ErrText(err))
		}
		return false
	}
	r.at = res.Time
	for i := range metrics {
		metrics[i].vs = res.Sets[i]
	}
	return true
}

// describe gets the descriptors of a batch, and returns an error for each
// metric, or nil.
func (r *reporter) describe(ctx context.Context, metrics []metric) []error {
	if len(metrics) == 1 {
		// An agent may have been dropped when it is asked a second time.
		var err error
		metrics[0].desc, err = r.c.LookupDesc(ctx, metrics[0].id)
		return []error{err}
	}
	ids := make([]pcp.PMID, len(metrics))
	for i := range metrics {
		ids[i] = metrics[i].id
	}
	descs, err := r.c.LookupDescs(ctx, ids...)
	if err == nil {
		for i := range metrics {
			metrics[i].desc = descs[i]
		}
		return nil
	}
	errs := make([]error, len(metrics))
	for i := range metrics {
		if len(descs) == len(metrics) && descs[i].PMID != pcp.PMIDNull {
			metrics[i].desc = descs[i]
			continue
		}
		metrics[i].desc, errs[i] = r.c.LookupDesc(ctx, ids[i])
	}
	return errs
}

// metric prints the requested information about one metric.
func (r *reporter) metric(ctx context.Context, m *metric) {
	w := &r.want
	if w.desc || w.help || w.value || w.labels {
		r.out = append(r.out, '\n')
	}
	if w.force && m.vs.Err == pcp.ErrProfile && !r.enumerate(ctx, m) {
		return
	}
	if w.verify {
		r.verify(m)
		return
	}
	r.out = append(r.out, m.name...)
	if w.pmid {
		r.out = m.id.AppendText(append(r.out, " PMID: "...))
	}
	if w.fullPMID {
		r.printf(" = %d = 0x%x", uint32(m.id), uint32(m.id))
	}
	if w.oneline {
		text, err := r.c.LookupText(ctx, m.id, pcp.TextOneLine)
		r.oneline(text, err, w.fullPMID)
	}
	r.out = append(r.out, '\n')
	switch {
	case w.tabs:
		// The name again, so that the line is complete.
		r.out = report.AppendTabbedDesc(append(r.out, m.name...), &m.desc, w.fullInDom)
	case w.desc:
		r.out = report.AppendFullDesc(r.out, &m.desc, w.fullInDom)
	}
	if w.series {
		r.metricSeries(ctx, m)
	}
	if w.labels {
		r.metricLabels(ctx, &m.desc)
	}
	if w.help {
		text, err := r.c.LookupText(ctx, m.id, pcp.TextHelp)
		r.helpText(text, err)
	}
	if w.value {
		r.values(ctx, &m.desc, &m.vs, "")
	}
	if w.series {
		r.instanceSeries(ctx, m.desc.InDom)
	}
	if w.labels {
		r.instanceLabels(ctx, &m.desc)
	}
}

// verify prints the mistakes in a metric.
func (r *reporter) verify(m *metric) {
	if r.want.checked && !m.noDesc {
		if r.domains == nil {
			r.domains = desccheck.Known(r.env.Config().Get("PCP_VAR_DIR"))
		}
		if lines := desccheck.Check(&m.desc, r.domains); len(lines) > 0 {
			r.printf("%s: Questionable metadata ...\n", m.name)
			r.out = report.AppendFullDesc(r.out, &m.desc, r.want.fullInDom)
			for _, line := range append(lines, "") {
				r.printf("%s\n", line)
			}
		}
	}
	switch {
	case m.desc.Type == pcp.TypeNoSupport:
		r.printf("%s: Not Supported\n", m.name)
	case m.vs.Err != 0:
		r.printf("%s: %s\n", m.name, m.vs.Err)
	case len(m.vs.Values) == 0 && !r.want.complete:
		r.printf("%s: No value(s) available\n", m.name)
	}
}

// enumerate fetches a metric again that only answers for instances that are
// named in the profile. It reports whether there is anything to print.
func (r *reporter) enumerate(ctx context.Context, m *metric) bool {
	indom := m.desc.InDom
	insts, err := r.c.GetInDom(ctx, indom)
	if err != nil {
		r.printf("%s: pmGetIndom: %s\n", m.name, cli.ErrText(err))
		return false
	}
	if len(insts) == 0 {
		r.printf("%s: pmGetIndom: No instances?\n", m.name)
		return false
	}
	ids := make([]int32, len(insts))
	for i := range insts {
		ids[i] = insts[i].Inst
	}
	r.c.DelProfile(indom)
	r.c.AddProfile(indom, ids...)
	if err := r.rewind(ctx); err != nil {
		return false
	}
	res, err := r.c.Fetch(ctx, []pcp.PMID{m.id})
	r.c.DelProfile(indom)
	r.c.AddProfile(indom)
	if err != nil {
		r.printf("%s: pmFetch: %s\n", m.name, cli.ErrText(err))
		return false
	}
	m.vs = res.Sets[0]
	return true
}

// inDom prints the requested information about an instance domain.
func (r *reporter) inDom(ctx context.Context, indom pcp.InDom) {
	w := &r.want
	switch {
	case w.verify:
		return
	case w.json:
		r.jsonInDom(ctx, indom)
		return
	}
	r.printf("\nInDom: %s", indom)
	if w.fullInDom {
		r.printf(" = %d =", uint32(indom))
	}
	r.printf(" 0x%x", uint32(indom))
	if w.oneline {
		text, err := r.c.LookupInDomText(ctx, indom, pcp.TextOneLine)
		r.oneline(text, err, w.fullInDom)
	}
	r.out = append(r.out, '\n')
	if w.labels {
		r.inDomLabels(ctx, indom)
	}
	if w.help {
		text, err := r.c.LookupInDomText(ctx, indom, pcp.TextHelp)
		r.helpText(text, err)
	}
}

func (r *reporter) oneline(text string, err error, ownLine bool) {
	switch {
	case err != nil:
		r.printf(" One-line Help: Error: %s", cli.ErrText(err))
	case ownLine:
		r.printf("\n    [%s]", text)
	default:
		r.printf(" [%s]", text)
	}
}

func (r *reporter) helpText(text string, err error) {
	for len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	switch {
	case err != nil:
		r.printf("Full Help: Error: %s\n", cli.ErrText(err))
	case text == "":
		r.printf("Help: <empty entry>\n")
	default:
		r.printf("Help:\n%s\n", text)
	}
}

// values prints the values of a metric.
func (r *reporter) values(ctx context.Context, d *pcp.Desc, vs *pcp.ValueSet, indent string) {
	r.out = append(r.out, indent...)
	switch {
	case vs.Err != 0:
		r.printf("Error: %s\n", vs.Err)
		return
	case len(vs.Values) == 0:
		r.printf("No value(s) available!\n")
		return
	}
	for i := range vs.Values {
		v := &vs.Values[i]
		if d.InDom == pcp.InDomNull {
			r.out = append(r.out, "   "...)
		} else if !r.instance(ctx, d.InDom, v.Inst) {
			continue
		}
		report.TracePrint(r.log, v, d.Type)
		r.out = report.AppendValue(append(r.out, " value "...), r.env, v, d.Type, 1, r.loc)
		r.out = append(r.out, '\n')
		if r.want.events && (d.Type == pcp.TypeEvent || d.Type == pcp.TypeHighResEvent) {
			r.eventRecords(ctx, v.As(d.Type))
		}
	}
}

// instance prints which instance a value belongs to, and reports whether the
// value is worth printing.
func (r *reporter) instance(ctx context.Context, indom pcp.InDom, inst int32) bool {
	name, ok := r.cache.instances(ctx, r.c, indom).name(inst)
	switch {
	case ok:
		r.out = strconv.AppendInt(append(r.out, "    inst ["...), int64(inst), 10)
		r.out = append(r.out, " or \""...)
		r.out = append(r.out, name...)
		r.out = append(r.out, "\"]"...)
	case r.want.force:
		r.printf("    inst [%d \"DISAPPEARED\"]\n", inst)
		return false
	default:
		r.printf("pmNameIndom: indom=%s inst=%d: %s\n    inst [%d]", indom, inst, pcp.ErrInst, inst)
	}
	return true
}

func (r *reporter) printf(format string, args ...any) {
	r.out = fmt.Appendf(r.out, format, args...)
}
