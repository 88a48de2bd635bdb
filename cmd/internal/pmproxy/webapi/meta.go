package webapi

import (
	"context"
	"strconv"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/exposition"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/pmapi"
)

// contextCommand is /pmapi/context.
func contextCommand(ctx context.Context, r *request) error {
	if r.old {
		if err := r.wc.register(); err != nil {
			return err
		}
		r.out = append(r.out, `{"context":`...)
		r.out = append(r.out, r.wc.text...)
		r.out = append(r.out, "}\r\n"...)
		return nil
	}
	var host hostInfo
	err := r.wc.view.with(ctx, func(l *link, _ *known) (err error) {
		host, err = r.wc.src.info(ctx, l)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	b := append(r.out, `,"source":"`...)
	b = append(b, host.id...)
	b = append(b, `","hostspec":`...)
	b = rest.AppendString(b, host.name)
	b = append(b, `,"labels":`...)
	b = append(b, host.labels...)
	r.out = append(b, "}\r\n"...)
	return nil
}

// A found is a metric and one of its names, or the reason why it is missing.
type found struct {
	name string
	m    *metric
	why  string
}

// metricCommand is /pmapi/metric.
func metricCommand(ctx context.Context, r *request) error {
	list, ok := r.params.Get("prefix")
	if !ok {
		if list, ok = r.params.Get("names"); !ok {
			list, _ = r.params.Get("name")
		}
	}
	prefixes := split(list)
	if list == "" {
		prefixes = []string{""}
	}
	var all []found
	err := r.wc.view.with(ctx, func(l *link, k *known) error {
		all = all[:0]
		for _, prefix := range prefixes {
			names, err := k.below(ctx, l, prefix)
			switch {
			case broken(err):
				return err
			case err != nil && list == "":
				return fail("namespace traversal failed - " + errText(err))
			case err != nil && len(prefixes) == 1:
				return fail(prefix + " traversal failed - " + errText(err))
			case err != nil:
				all = append(all, found{prefix, nil, errText(err)})
				continue
			}
			metrics, err := k.byNames(ctx, l, names)
			if err != nil {
				return err
			}
			if err := k.learnAll(ctx, l, metrics); err != nil {
				return err
			}
			for i, m := range metrics {
				all = append(all, found{names[i], m, "failed to lookup metric name"})
			}
		}
		return nil
	})
	if _, told := err.(*failure); err != nil && !told && ctx.Err() == nil && len(prefixes) == 1 && list != "" {
		// C gives this answer when the collector has disconnected, and programs look for it.
		return fail(list + " traversal failed - " + pcp.ErrIPC.Error())
	}
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	b := append(r.out, `,"metrics":[`...)
	for i, f := range all {
		if i > 0 {
			b = append(b, ',')
		}
		if f.m == nil {
			b = append(b, `{"name":`...)
			b = rest.AppendString(b, f.name)
			b = append(b, `,"message":`...)
			b = rest.AppendString(b, f.why)
			b = append(b, `,"success":false}`...)
			continue
		}
		b = f.m.appendAbout(b, f.name, r.old)
	}
	r.out = append(b, "]}\r\n"...)
	return nil
}

// appendAbout appends the description of a metric for /pmapi/metric.
func (m *metric) appendAbout(b []byte, name string, old bool) []byte {
	a, d := m.knows(), &m.desc
	b = append(b, `{"name":`...)
	b = rest.AppendString(b, name)
	b = append(b, `,"series":"`...)
	b = append(b, a.series[m.nameIndex(name)]...)
	b = append(b, `","pmid":`...)
	if old {
		b = strconv.AppendUint(b, uint64(uint32(d.PMID)), 10)
	} else {
		b = append(b, '"')
		b = d.PMID.AppendText(b)
		b = append(b, '"')
	}
	if d.InDom != pcp.InDomNull {
		b = append(b, `,"indom":`...)
		b = appendInDom(b, d.InDom, old)
	}
	b = append(b, `,"type":"`...)
	b = append(b, exposition.TypeName(d.Type)...)
	b = append(b, `","sem":"`...)
	b = append(b, d.Sem.String()...)
	b = append(b, `","units":"`...)
	b = append(b, unitsName(d.Units)...)
	b = append(b, `","labels":`...)
	b = append(b, a.labels...)
	return append(appendText(b, a.oneline, a.help, true), '}')
}

// appendText appends the help texts; the one-line text replaces an empty help text.
func appendText(b []byte, oneline, help string, always bool) []byte {
	if oneline != "" || always {
		b = append(b, `,"text-oneline":`...)
		b = rest.AppendString(b, oneline)
	}
	if help == "" {
		help = oneline
	}
	if help != "" || always {
		b = append(b, `,"text-help":`...)
		b = rest.AppendString(b, help)
	}
	return b
}

func appendInDom(b []byte, indom pcp.InDom, old bool) []byte {
	if old {
		return strconv.AppendUint(b, uint64(uint32(indom)), 10)
	}
	b = append(b, '"')
	b = append(b, indom.String()...)
	return append(b, '"')
}

// unitsName returns the name of units in this interface.
func unitsName(u pcp.Units) string {
	if s := u.String(); s != "" {
		return s
	}
	return "none"
}

// childrenCommand is /pmapi/children.
func childrenCommand(ctx context.Context, r *request) error {
	prefix, ok := r.params.Get("prefix")
	if !ok {
		prefix = r.params.Value("name")
	}
	var leaves, nodes []string
	err := r.wc.view.with(ctx, func(l *link, _ *known) error {
		children, err := l.c.Children(ctx, prefix)
		if err != nil {
			if broken(err) {
				return err
			}
			return fail("child traversal failed - " + errText(err))
		}
		leaves, nodes = nil, nil
		for _, c := range children {
			if c.Leaf {
				leaves = append(leaves, c.Name)
			} else {
				nodes = append(nodes, c.Name)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	b := append(r.out, `,"name":`...)
	b = rest.AppendString(b, prefix)
	b = append(b, `,"leaf":`...)
	b = appendStrings(b, leaves)
	b = append(b, `,"nonleaf":`...)
	b = appendStrings(b, nodes)
	r.out = append(b, "}\r\n"...)
	return nil
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = rest.AppendString(b, s)
	}
	return append(b, ']')
}

// domainOf returns the instance domain of the parameters name or indom.
func (r *request) domainOf(ctx context.Context, l *link, k *known) (pcp.InDom, error) {
	name, ok := r.params.Get("name")
	if !ok {
		text := r.params.Value("indom")
		indom := parseInDom(text)
		if indom == pcp.InDomNull {
			return indom, fail("failed to lookup indom " + text)
		}
		return indom, nil
	}
	list, err := k.byNames(ctx, l, []string{name})
	switch {
	case err != nil:
		return pcp.InDomNull, err
	case list[0] == nil:
		return pcp.InDomNull, fail(name + " - failed to lookup metric")
	case list[0].desc.InDom == pcp.InDomNull:
		return pcp.InDomNull, fail(name + " - metric has null indom")
	}
	return list[0].desc.InDom, nil
}

// indomCommand is /pmapi/indom.
func indomCommand(ctx context.Context, r *request) error {
	var b []byte
	err := r.wc.view.with(ctx, func(l *link, k *known) error {
		indom, err := r.domainOf(ctx, l, k)
		if err != nil {
			return err
		}
		keep, err := r.filter()
		if err != nil {
			return err
		}
		insts, err := l.c.GetInDom(ctx, indom)
		if broken(err) {
			return err
		}
		sets, err := k.labelSets(ctx, l, pcp.PMIDNull, indom)
		if err != nil {
			return err
		}
		own, err := l.c.Labels(ctx, pcp.LabelInstances, uint32(indom))
		if broken(err) {
			return err
		}
		text, err := k.indomText(ctx, l, indom)
		if err != nil {
			return err
		}
		b = append(b[:0], `"indom":`...)
		b = appendInDom(b, indom, r.old)
		b = append(b, `,"labels":`...)
		b = append(b, k.shown(sets)...)
		b = appendText(b, text.oneline, text.help, false)
		b = append(b, `,"instances":[`...)
		b = k.appendInstances(b, insts, keep, sets, own)
		return nil
	})
	if err != nil {
		return err
	}
	if r.old {
		r.out = append(r.out, '{')
	} else {
		if err := r.begin(); err != nil {
			return err
		}
		r.out = append(r.out, ',')
	}
	r.out = append(append(r.out, b...), "]}\r\n"...)
	return nil
}

// appendInstances appends the instances that keep selects, with common and own labels.
func (k *known) appendInstances(b []byte, insts []pcp.Instance, keep func(pcp.Instance) bool, sets, own []pcp.LabelSet) []byte {
	labels := make(map[int32]*pcp.LabelSet, len(own))
	for i := range own {
		if own[i].Err == 0 && len(own[i].Index) > 0 {
			labels[own[i].Inst] = &own[i]
		}
	}
	first := true
	common := k.shown(sets)
	for _, in := range insts {
		if in.Name == "" || !keep(in) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, `{"instance":`...)
		b = strconv.AppendUint(b, uint64(uint32(in.Inst)), 10)
		b = append(b, `,"name":`...)
		b = rest.AppendString(b, in.Name)
		b = append(b, `,"labels":`...)
		if set := labels[in.Inst]; set != nil {
			b = append(b, k.shown(append(sets[:len(sets):len(sets)], *set))...)
		} else {
			b = append(b, common...)
		}
		b = append(b, '}')
	}
	return b
}

// indomText returns the help texts of an instance domain.
func (k *known) indomText(ctx context.Context, l *link, indom pcp.InDom) (*indomText, error) {
	k.mu.RLock()
	t := k.texts[indom]
	k.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	t = new(indomText)
	var err error
	if t.oneline, err = l.c.LookupInDomText(ctx, indom, pcp.TextOneLine); broken(err) {
		return nil, err
	}
	if t.help, err = l.c.LookupInDomText(ctx, indom, pcp.TextHelp); broken(err) {
		return nil, err
	}
	k.mu.Lock()
	if len(k.texts) < maxMetrics {
		k.texts[indom] = t
	}
	k.mu.Unlock()
	return t, nil
}

// profileCommand is /pmapi/profile.
func profileCommand(ctx context.Context, r *request) error {
	var indom pcp.InDom
	var insts []int32
	none := false
	err := r.wc.view.with(ctx, func(l *link, k *known) (err error) {
		indom, insts, none = pcp.InDomNull, nil, false
		_, byName := r.params.Get("name")
		if _, byNumber := r.params.Get("indom"); !byName && !byNumber {
			return nil
		}
		if indom, err = r.domainOf(ctx, l, k); err != nil {
			if !byName && !broken(err) {
				return fail("invalid profile parameters")
			}
			return err
		}
		_, names := r.params.Get("iname")
		_, numbers := r.params.Get("instance")
		if !names && !numbers {
			return nil
		}
		keep, err := r.filter()
		if err != nil {
			return err
		}
		all, err := l.c.GetInDom(ctx, indom)
		if broken(err) {
			return err
		}
		for _, in := range all {
			if in.Name != "" && keep(in) {
				insts = append(insts, in.Inst)
			}
		}
		none = len(insts) == 0
		return nil
	})
	if err != nil {
		return err
	}
	if none {
		// A change of no instances does nothing. It must not become a change of all.
		return r.success()
	}
	if err := r.wc.possess(ctx); err != nil {
		return err
	}
	add := r.params.Value("expr") == "add"
	set := func(c *pmapi.Context) error {
		if add {
			return c.AddProfile(indom, insts...)
		}
		return c.DelProfile(indom, insts...)
	}
	if err := set(r.wc.view.own.c); err != nil {
		return fail(r.params.Value("expr") + " - " + errText(err))
	}
	r.wc.view.remember(set, indom == pcp.InDomNull)
	return r.success()
}

// maxChanges is the maximum number of profile changes that are repeated on a new connection.
const maxChanges = 1000

// remember stores a change of the profile, to be repeated on a new connection. A change of all
// instances replaces the earlier changes.
func (v *view) remember(set func(*pmapi.Context) error, all bool) {
	if all {
		v.profile = nil
	}
	if len(v.profile) < maxChanges {
		v.profile = append(v.profile, set)
	}
}
