package diagnosis

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmapi"
)

// maxNamed is the number of instances of a rule whose names are compared.
const maxNamed = 100

// rename looks up the names of instances of a collector while they exist.
func (s *sampler) rename(ctx context.Context) error {
	wanted := make(map[pcp.InDom]bool)
	want := func(e *expression, inst int32) {
		if _, ok := s.names[e.desc.InDom][inst]; !ok && e.desc.InDom != pcp.InDomNull {
			wanted[e.desc.InDom] = true
		}
	}
	n := len(s.times) - 1
	for _, t := range s.tops {
		for _, k := range t.kept[n] {
			want(t.value, k.inst)
		}
	}
	for _, b := range s.rules {
		for inst, t := range b.tracks {
			if t.seen == n {
				want(b.value, inst)
			}
		}
	}
	for indom := range wanted {
		names, err := s.c.InstanceNames(ctx, indom)
		if lost(ctx, err) {
			return err
		}
		known := s.names[indom]
		if known == nil {
			known = make(map[int32]string)
			s.names[indom] = known
		}
		for _, b := range s.rules {
			if b.value.desc.InDom == indom {
				for inst := range b.tracks {
					if name, ok := names[inst]; ok {
						known[inst] = name
					}
				}
			}
		}
		for _, t := range s.tops {
			if t.value.desc.InDom != indom {
				continue
			}
			for _, k := range t.kept[n] {
				if name, ok := names[k.inst]; ok {
					known[k.inst] = name
				}
			}
		}
	}
	return nil
}

// name returns the name of an instance; one whose name is not known has its number.
func (s *sampler) name(ctx context.Context, indom pcp.InDom, inst int32) string {
	if indom == pcp.InDomNull {
		return ""
	}
	if name, ok := s.names[indom][inst]; ok {
		return name
	}
	if s.a != nil {
		if name, err := s.a.NameInDomArchive(ctx, indom, inst); err == nil {
			return name
		}
	}
	return strconv.Itoa(int(inst))
}

// findings returns the rules that were true.
func (s *sampler) findings(ctx context.Context) ([]Finding, error) {
	var list []Finding
	for _, b := range s.rules {
		var own []Finding
		for inst, t := range b.tracks {
			if t.all.n > 0 {
				own = append(own, s.finding(b, inst, &t.all))
			}
		}
		slices.SortFunc(own, func(x, y Finding) int {
			worse := cmp.Compare(y.Value, x.Value)
			if !b.rule.Above {
				worse = -worse
			}
			return cmp.Or(worse, cmp.Compare(x.inst, y.inst))
		})
		for i := range own[:min(len(own), maxNamed)] {
			own[i].Instance = s.name(ctx, b.value.desc.InDom, own[i].inst)
		}
		n := len(own)
		if b.rule.Resource == "cgroup" {
			own = own[:min(n, maxNamed)]
			own = innermost(own, func(f *Finding) (string, float64) { return f.Instance, f.Value })
		}
		if len(own) > maxInstances {
			own[0].More = len(own) - maxInstances
			own = own[:maxInstances]
		}
		for i := range own {
			f := &own[i]
			f.Takers = s.shares(ctx, b, f)
			f.Text = f.text(b.value.desc.Units, s.readable(ctx, b, f), b.tracks[f.inst].all.total)
		}
		list = append(list, own...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return list, nil
}

func (s *sampler) finding(b *bound, inst int32, all *stretch) Finding {
	r := b.rule
	return Finding{
		Rule: r, ID: r.ID, Severe: r.severe(all.worst), Since: s.times[all.first], Until: s.times[all.last],
		// Rates have no value in the first sample.
		AtStart: all.first <= 1, AtEnd: all.last == len(s.times)-1, Held: all.n,
		Value: all.worst, Average: all.total / float64(all.n), Time: s.times[all.worstAt],
		Units: units(r.Unit, b.value.desc.Units), Expression: b.value.text, Metrics: Metrics(b.value.text),
		inst: inst, score: r.score(all.worst), first: all.first, last: all.last, order: b.order,
	}
}

func units(unit string, u pcp.Units) string { return cmp.Or(unit, u.String()) }

// innermost leaves out the control groups of which one inside has about the same value.
func innermost[T any](list []T, of func(*T) (name string, value float64)) []T {
	var kept []T
	for i := range list {
		name, value := of(&list[i])
		inner := slices.ContainsFunc(list, func(o T) bool {
			n, v := of(&o)
			return n != name && strings.HasPrefix(n, strings.TrimSuffix(name, "/")+"/") && v >= 0.8*value
		})
		if !inner {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// shares returns what takes the resource of a finding: the first taker with values that are large enough.
func (s *sampler) shares(ctx context.Context, b *bound, f *Finding) []Share {
	for _, t := range b.takers {
		if t.top == nil {
			if shares := s.counted(ctx, t.from, f.Time); len(shares) > 0 {
				return shares
			}
			continue
		}
		e := t.top.value
		var list []share
		for inst, v := range t.ranked(f) {
			if v < t.from.Least || v <= 0 {
				continue
			}
			if e.desc.InDom == b.value.desc.InDom && e.desc.InDom != pcp.InDomNull && inst != f.inst {
				continue // the instance itself is short
			}
			if t.from.Kind == "cgroup" && s.name(ctx, e.desc.InDom, inst) == "/" {
				continue // all of the host
			}
			list = append(list, share{inst, v})
		}
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(x, y share) int { return cmp.Or(cmp.Compare(y.v, x.v), cmp.Compare(x.inst, y.inst)) })
		list = list[:min(len(list), keptShares)]
		var shares []Share
		for _, k := range list {
			sh := Share{
				Kind: t.from.Kind, Instance: s.name(ctx, e.desc.InDom, k.inst), Value: k.v, Rank: t.from.Rank,
				Units: units(t.from.Unit, e.desc.Units), Expression: e.text, Metrics: Metrics(e.text), Texts: t.from.State != "", inst: k.inst,
			}
			switch {
			case t.from.State != "":
				sh.Text = Format(100*k.v, "%", pcp.Units{}) + " of the samples in state " + t.from.State
			case t.from.Rank == Growth:
				sh.Text = "grew by " + Format(k.v, t.from.Unit, e.desc.Units)
			default:
				sh.Text = Format(k.v, t.from.Unit, e.desc.Units)
			}
			if t.from.Kind == "process" {
				sh.PID = k.inst
				// The name of an instance is the identifier and the command line.
				if pid, command, ok := strings.Cut(sh.Instance, " "); ok && strings.TrimLeft(pid, "0") == strconv.Itoa(int(k.inst)) {
					sh.Instance = command
				}
			}
			shares = append(shares, sh)
		}
		if t.from.Kind == "cgroup" {
			shares = innermost(shares, func(sh *Share) (string, float64) { return sh.Instance, sh.Value })
		}
		return shares[:min(len(shares), maxTakers)]
	}
	return nil
}

// counted returns the texts that most instances have.
func (s *sampler) counted(ctx context.Context, t *Taker, at pcp.Timestamp) []Share {
	res, descs, err := s.fetchAt(ctx, at, t.Count)
	if err != nil {
		return nil
	}
	n := make(map[string]int)
	for _, v := range setOf(res, &descs[0]).Values {
		if text, ok := v.As(descs[0].Type).Text(); ok && text != "" {
			n[text]++
		}
	}
	texts := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	var list []Share
	for _, text := range texts[:min(len(texts), maxTakers)] {
		if v := float64(n[text]); v >= t.Least {
			list = append(list, Share{
				Kind: t.Kind, Instance: text, Value: v, Text: Format(v, t.Unit, pcp.Units{}), Rank: Peak, Units: t.Unit,
				Expression: t.Count, Metrics: []string{t.Count}, Texts: true,
			})
		}
	}
	return list
}

// ranked returns the numbers by which instances are ranked.
func (t *taken) ranked(f *Finding) map[int32]float64 {
	values := make(map[int32]float64)
	switch t.from.Rank {
	case Growth:
		// An instance that was not among the largest at first is taken to have had the smallest of their values.
		first := 0
		for first < f.last && len(t.top.kept[first]) == 0 {
			first++
		}
		last := f.last
		for last > first && len(t.top.kept[last]) == 0 {
			last--
		}
		base := make(map[int32]float64)
		least := 0.0
		if k := t.top.kept[first]; len(k) == keptShares {
			least = k[len(k)-1].v
		}
		for _, k := range t.top.kept[first] {
			base[k.inst] = k.v
		}
		for _, k := range t.top.kept[last] {
			was, ok := base[k.inst]
			if !ok {
				was = least
			}
			values[k.inst] = k.v - was
		}
	case Peak:
		for _, kept := range t.top.kept[max(f.first-1, 0) : f.last+1] {
			for _, k := range kept {
				values[k.inst] = max(values[k.inst], k.v)
			}
		}
	default:
		n := 0
		for _, kept := range t.top.kept[f.first : f.last+1] {
			if len(kept) > 0 || t.top.state != "" {
				n++
			}
			for _, k := range kept {
				values[k.inst] += k.v
			}
		}
		for inst := range values {
			values[inst] /= float64(n)
		}
	}
	return values
}

// text1 returns the value of a metric of texts for an instance, "" if there is none.
func text1(res *pcp.ValueSet, t pcp.Type, inst int32) string {
	for i := range res.Values {
		if v := res.Values[i].As(t); v.Inst == inst {
			text, _ := v.Text()
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// fetchAt fetches metrics as they were at a time, or now.
func (s *sampler) fetchAt(ctx context.Context, at pcp.Timestamp, names ...string) (*pcp.Result, []pcp.Desc, error) {
	ids, err := s.c.LookupName(ctx, names...)
	if lost(ctx, err) || len(ids) != len(names) {
		return nil, nil, cmp.Or(err, error(pcp.ErrName))
	}
	descs := make([]pcp.Desc, len(ids))
	var known []pcp.PMID
	for i, id := range ids {
		descs[i].PMID = pcp.PMIDNull
		if id == pcp.PMIDNull {
			continue
		}
		if descs[i], err = s.c.LookupDesc(ctx, id); err != nil {
			if lost(ctx, err) {
				return nil, nil, err
			}
			descs[i].PMID = pcp.PMIDNull
			continue
		}
		if s.cfg.Hidden != nil && s.cfg.Hidden(names[i], descs[i]) {
			descs[i].PMID = pcp.PMIDNull
			continue
		}
		known = append(known, id)
	}
	if len(known) == 0 {
		return new(pcp.Result), descs, nil
	}
	if s.a != nil {
		if err := s.a.SetMode(ctx, pmapi.ModeInterp, &at, s.step); err != nil {
			return nil, nil, err
		}
	}
	res, err := s.c.Fetch(ctx, known)
	return res, descs, err
}

// setOf returns the values of a metric in a result, none if the metric is unknown.
func setOf(res *pcp.Result, desc *pcp.Desc) *pcp.ValueSet {
	for i := range res.Sets {
		if desc.PMID != pcp.PMIDNull && res.Sets[i].PMID == desc.PMID {
			return &res.Sets[i]
		}
	}
	return new(pcp.ValueSet)
}

// readable returns the name of a finding's instance in the metric of the rule for that, or "".
func (s *sampler) readable(ctx context.Context, b *bound, f *Finding) string {
	if b.rule.Name == "" {
		return ""
	}
	res, descs, err := s.fetchAt(ctx, f.Time, b.rule.Name)
	if err != nil || descs[0].InDom != b.value.desc.InDom {
		return ""
	}
	return text1(setOf(res, &descs[0]), descs[0].Type, f.inst)
}

// describe finds the users, control groups and containers of processes.
func (s *sampler) describe(ctx context.Context, list []Finding) error {
	for i := range list {
		f := &list[i]
		if !slices.ContainsFunc(f.Takers, func(sh Share) bool { return sh.Kind == "process" }) {
			continue
		}
		res, descs, err := s.fetchAt(ctx, f.Time, "proc.id.uid_nm", "proc.psinfo.cgroups", "proc.id.container")
		if lost(ctx, err) {
			return err
		}
		if err != nil {
			continue
		}
		for j := range f.Takers {
			sh := &f.Takers[j]
			if sh.Kind != "process" {
				continue
			}
			sh.User = text1(setOf(res, &descs[0]), descs[0].Type, sh.inst)
			sh.CGroup = cgroup(text1(setOf(res, &descs[1]), descs[1].Type, sh.inst))
			sh.Container = text1(setOf(res, &descs[2]), descs[2].Type, sh.inst)
		}
	}
	return nil
}

// cgroup returns the path in a list such as "cpuset:/;memory:/user.slice;:/user.slice/a.scope": the longest.
func cgroup(list string) string {
	longest := ""
	for part := range strings.SplitSeq(list, ";") {
		_, path, ok := strings.Cut(part, ":")
		if !ok {
			path = part
		}
		if len(path) > len(longest) && strings.HasPrefix(path, "/") {
			longest = path
		}
	}
	return longest
}

// finite reports whether v is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
