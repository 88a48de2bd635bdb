package summary

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// singles are the metrics with one value.
var singles = []string{
	"pmcd.numagents", "pmcd.numclients", "pmcd.version", "pmcd.build", "pmcd.timezone", "pmcd.zoneinfo", "pmcd.hostname", "pmcd.services",
	"hinv.ncpu", "hinv.ndisk", "hinv.nnode", "hinv.nrouter", "hinv.nxbow", "hinv.ncell", "hinv.physmem", "pmda.uname",
}

// lists are the metrics with instances. The C script gets the type of the processors
// only if it finds one of the metrics that it requests later.
var (
	lists = []string{"pmcd.agent.status", "pmcd.pmlogger.archive", "pmcd.pmlogger.pmcd_host", receivedPaths, "hinv.cputype"}
	later = []string{"pmda.uname", "pmcd.pmie.pmcd_host", "pmcd.pmie.configfile", "pmcd.pmie.numrules", "pmcd.pmie.logfile"}
)

// receivedPaths has the archives that pmproxy receives.
const receivedPaths = "pmproxy.logpaths.archive"

// statistics are the metrics that -P adds.
var statistics = []string{
	"pmcd.pmie.actions", "pmcd.pmie.eval.true", "pmcd.pmie.eval.false", "pmcd.pmie.eval.unknown", "pmcd.pmie.eval.expected",
}

// values holds the values of the metrics, as text, without missing ones.
type values struct {
	zone  string            // that of an archive
	one   map[string]string // by metric
	lists map[string][]entry
}

// An entry is the value of one instance. The C tool loses the text after a blank in a
// name or a value.
type entry struct{ inst, name, value string }

// A row has the values of several metrics for an instance.
type row struct {
	inst   string
	fields []string
}

// line returns the row as sort(1) sees it.
func (r *row) line() string { return r.inst + " " + strings.Join(r.fields, " ") }

// join returns the instances that all lists have, in the order of their text.
func join(lists ...[]entry) []row {
	var rows []row
	for _, e := range lists[0] {
		r := row{inst: e.inst}
		for _, l := range lists {
			i := slices.IndexFunc(l, func(o entry) bool { return o.inst == e.inst })
			if i < 0 {
				break
			}
			r.fields = append(r.fields, l[i].value)
		}
		if len(r.fields) == len(lists) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.line(), b.line()) })
	return rows
}

// processes counts the rows of processes: 0 and 1 are other names of the primary
// process.
func processes(rows []row) int {
	n := 0
	for _, r := range rows {
		if r.inst != "0" && r.inst != "1" {
			n++
		}
	}
	return n
}

// A reader fetches the values.
type reader struct {
	c       *pmapi.Context
	archive *pmapi.ArchiveContext // c, if it is on one
	origin  pcp.Timestamp         // of all fetches from it

	indom pcp.InDom // of names
	names map[int32]string
}

// instances returns the names of instances. For successive metrics of one domain they
// are those of the first, as in pminfo; in an archive those of its time.
func (r *reader) instances(ctx context.Context, indom pcp.InDom) map[int32]string {
	if r.names == nil || r.indom != indom {
		r.indom, r.names = indom, map[int32]string{}
		insts, err := r.c.GetInDom(ctx, indom)
		if err != nil {
			return r.names
		}
		for _, i := range insts {
			r.names[i.Inst] = i.Name
		}
	}
	return r.names
}

// read gets all available values. A metric that does not exist, or whose values cannot
// be fetched, is left out.
func (r *reader) read(ctx context.Context, v *values, rules bool) {
	v.one, v.lists = map[string]string{}, map[string][]entry{}
	names := slices.Concat(singles, lists, later[1:])
	if rules {
		names = append(names, statistics...)
	}
	ids, _ := r.c.LookupName(ctx, names...)
	var known []string
	var wanted []pcp.PMID
	for i, id := range ids {
		if id != pcp.PMIDNull {
			known, wanted = append(known, names[i]), append(wanted, id)
		}
	}
	defer func() {
		if !slices.ContainsFunc(later, func(name string) bool { return slices.Contains(known, name) }) {
			delete(v.lists, "hinv.cputype")
		}
	}()
	if r.archive == nil && len(wanted) > 0 {
		if res, err := r.c.Fetch(ctx, wanted); err == nil {
			for i := range res.Sets {
				r.take(ctx, v, known[i], &res.Sets[i])
			}
		}
		return
	}
	for i, id := range wanted { // each wherever it comes first
		if r.archive.SetMode(ctx, pmapi.ModeForw, &r.origin, 0) != nil {
			return
		}
		if res, err := r.c.Fetch(ctx, []pcp.PMID{id}); err == nil {
			r.take(ctx, v, known[i], &res.Sets[0])
		}
	}
}

// take keeps the values of a metric.
func (r *reader) take(ctx context.Context, v *values, name string, set *pcp.ValueSet) {
	desc, err := r.c.LookupDesc(ctx, set.PMID)
	if err != nil || set.Err != 0 || len(set.Values) == 0 {
		return
	}
	if slices.Contains(singles, name) {
		if desc.InDom == pcp.InDomNull {
			v.one[name] = strings.Join(strings.Fields(text(&set.Values[0], desc.Type)), " ")
		}
		return
	}
	if desc.InDom == pcp.InDomNull {
		return
	}
	names := r.instances(ctx, desc.InDom)
	for i := range set.Values {
		value := &set.Values[i]
		instance, ok := names[value.Inst]
		if !ok {
			break // as in C, where the message about it ends the list
		}
		v.lists[name] = append(v.lists[name], entry{
			inst: strconv.Itoa(int(value.Inst)), name: firstWord(instance), value: firstWord(text(value, desc.Type)),
		})
	}
}

// text returns a value as pminfo prints it, without quotes.
func text(v *pcp.Value, t pcp.Type) string {
	return strings.ReplaceAll(string(v.AppendPrint(nil, t, 1, time.UTC)), `"`, "")
}
