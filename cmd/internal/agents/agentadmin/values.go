package agentadmin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/wire"
)

// instances requests the members of all instance domains, and checks that numbers and
// names map to each other.
func (p *probe) instances() error {
	ids := make([]pcp.InDom, 0, len(p.indoms))
	for id := range p.indoms {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		subject := "instance domain " + id.String()
		list, err := p.list(id)
		if fatal(err) {
			return err
		}
		if errors.Is(err, pcp.ErrPermission) {
			p.rep.note(subject, "its instances are not for everybody: %v", err)
			continue
		}
		if err != nil {
			p.rep.problem(subject, "its instances cannot be listed: %v", err)
			continue
		}
		d := p.indoms[id]
		d.insts, d.ok = make(map[int32]string), true
		first := make(map[string]string)
		for _, in := range list {
			if other, ok := d.insts[in.Inst]; ok {
				p.rep.problem(subject, "instances %q and %q have the same number %d", other, in.Name, in.Inst)
			}
			d.insts[in.Inst] = in.Name
			if in.Inst < 0 {
				p.rep.problem(subject, "instance %q has the number %d; it must not be negative", in.Name, in.Inst)
			}
			if in.Name == "" {
				p.rep.problem(subject, "instance %d has no name", in.Inst)
				continue
			}
			word, _, _ := strings.Cut(in.Name, " ")
			if other, ok := first[word]; ok {
				p.rep.problem(subject, "instances %q and %q have names that are the same up to the first space", other, in.Name)
			}
			first[word] = in.Name
		}
		if len(list) > 0 {
			if err := p.lookUp(id, subject, list[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *probe) list(id pcp.InDom) ([]pcp.Instance, error) {
	var ans wire.Instance
	err := p.ask(&wire.InstanceReq{InDom: id, Inst: pcp.InNull}, &ans, fmt.Sprintf("the instances of %v", id))
	return ans.Instances, err
}

// lookUp requests one instance by its name and by its number. It may have been removed
// since it was listed.
func (p *probe) lookUp(id pcp.InDom, subject string, in pcp.Instance) error {
	var ans wire.Instance
	err := p.ask(&wire.InstanceReq{InDom: id, Inst: in.Inst}, &ans, fmt.Sprintf("the name of instance %d", in.Inst))
	switch {
	case fatal(err):
		return err
	case errors.Is(err, pcp.ErrInst):
		p.rep.note(subject, "instance %d is listed, but when asked for not there: %v", in.Inst, err)
		return nil
	case err != nil || len(ans.Instances) != 1:
		p.rep.problem(subject, "the name of instance %d cannot be had: %v", in.Inst, err)
	case ans.Instances[0].Name != in.Name:
		p.rep.problem(subject, "instance %d is listed as %q, but when asked for it is %q", in.Inst, in.Name, ans.Instances[0].Name)
	}
	if in.Name == "" {
		return nil
	}
	err = p.ask(&wire.InstanceReq{InDom: id, Inst: pcp.InNull, Name: in.Name}, &ans, fmt.Sprintf("the number of instance %q", in.Name))
	switch {
	case fatal(err):
		return err
	case errors.Is(err, pcp.ErrInst):
		p.rep.note(subject, "instance %q is listed, but when asked for not there: %v", in.Name, err)
	case err != nil || len(ans.Instances) != 1:
		p.rep.problem(subject, "the number of instance %q cannot be had: %v", in.Name, err)
	case ans.Instances[0].Inst != in.Inst:
		p.rep.problem(subject, "instance %q is listed as %d, but when asked for it is %d", in.Name, in.Inst, ans.Instances[0].Inst)
	}
	return nil
}

// fetch fetches all metrics that have descriptors.
func (p *probe) fetch() error {
	var list []metric
	for _, m := range p.metrics {
		if m.ok && m.desc.Type != pcp.TypeNoSupport {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := p.send(&wire.Profile{}, wire.FromAnon, "values"); err != nil {
		return err
	}
	for batch := range slices.Chunk(list, fetchBatch) {
		err := p.fetchThese(batch)
		if fatal(err) {
			return err
		}
		if err == nil {
			continue
		}
		// Which one is it?
		whole := err
		before := len(p.rep.Problems)
		for i := range batch {
			err := p.fetchThese(batch[i : i+1])
			if fatal(err) {
				return err
			}
			if err != nil {
				p.rep.problem(batch[i].name, "a fetch of it fails: %v", err)
			}
		}
		if len(p.rep.Problems) == before {
			p.rep.problem("", "a fetch of %s from %s on fails, though each of them alone does not: %v", count(len(batch), "metric"), batch[0].name, whole)
		}
	}
	return nil
}

// fetchThese fetches some metrics together and checks the result.
func (p *probe) fetchThese(list []metric) error {
	ids := make([]pcp.PMID, len(list))
	for i, m := range list {
		ids[i] = m.id
	}
	waiting := "the value of " + list[0].name
	if len(list) > 1 {
		waiting = fmt.Sprintf("the values of %d metrics from %s on", len(list), list[0].name)
	}
	var res wire.Result
	if err := p.ask(&wire.Fetch{PMIDs: ids}, &res, waiting); err != nil {
		return err
	}
	if len(res.Sets) != len(list) {
		return &fatalError{fmt.Sprintf("answers with %d sets of values to a fetch of %d metrics", len(res.Sets), len(list)), nil}
	}
	var doubts []doubt
	for i, m := range list {
		set := &res.Sets[i]
		if set.PMID != m.id {
			p.rep.problem(m.name, "was fetched as %v, but the answer is for %v", m.id, set.PMID)
			continue
		}
		doubts = append(doubts, p.checkSet(m, set)...)
	}
	return p.clear(doubts)
}

// A doubt is a value of an instance that was not listed.
type doubt struct {
	m    metric
	inst int32
}

func (p *probe) checkSet(m metric, set *pcp.ValueSet) (doubts []doubt) {
	switch set.Err {
	case 0:
	case pcp.ErrAppVersion, pcp.ErrPermission, pcp.ErrValue, pcp.ErrAgain, pcp.ErrProfile:
		p.rep.note(m.name, "has no value: %v", set.Err)
		return nil
	default:
		p.rep.problem(m.name, "has no value: %v", set.Err)
		return nil
	}
	p.rep.Values += len(set.Values)
	single := m.desc.InDom == pcp.InDomNull
	switch {
	case len(set.Values) == 0 && single:
		p.rep.note(m.name, "has no value at the moment")
	case len(set.Values) > 1 && single:
		p.rep.problem(m.name, "has %d values, but no instance domain", len(set.Values))
		return nil
	}
	seen := make(map[int32]bool)
	for _, v := range set.Values {
		of := ""
		if !single {
			of = fmt.Sprintf("instance %d: ", v.Inst)
			if name := p.indoms[m.desc.InDom].insts[v.Inst]; name != "" {
				of = fmt.Sprintf("instance %d (%q): ", v.Inst, name)
			}
		}
		if !p.checkType(m, set.ValFmt, v, of) {
			return doubts // it would be so for each
		}
		switch d := p.indoms[m.desc.InDom]; {
		case single && v.Inst != pcp.InNull:
			p.rep.problem(m.name, "has no instance domain, but its value is of instance %d", v.Inst)
		case single:
		case seen[v.Inst]:
			p.rep.problem(m.name, "%shas several values", of)
		case d.ok:
			if _, ok := d.insts[v.Inst]; !ok {
				doubts = append(doubts, doubt{m, v.Inst})
			}
		}
		seen[v.Inst] = true
	}
	return doubts
}

// checkType compares a value with its descriptor.
func (p *probe) checkType(m metric, format pcp.ValFmt, v pcp.Value, of string) bool {
	want := m.desc.Type
	switch {
	case format == pcp.ValInSitu && !want.InSitu():
		p.rep.problem(m.name, "%sits value is a number of 32 bits, but its descriptor says %v", of, want)
		return false
	case format != pcp.ValInSitu && v.Type() != want:
		p.rep.problem(m.name, "%sits value is of type %v, but its descriptor says %v", of, v.Type(), want)
		return false
	case want == pcp.TypeEvent || want == pcp.TypeHighResEvent:
		if _, err := v.EventRecords(); err != nil {
			p.rep.problem(m.name, "%sits event records cannot be unpacked: %v", of, err)
			return false
		}
	}
	return true
}

// clear lists the instance domains of doubts again, since there may be new instances.
func (p *probe) clear(doubts []doubt) error {
	asked := make(map[pcp.InDom]bool)
	for _, d := range doubts {
		id := d.m.desc.InDom
		if !asked[id] {
			asked[id] = true
			list, err := p.list(id)
			if fatal(err) {
				return err
			}
			for _, in := range list {
				p.indoms[id].insts[in.Inst] = in.Name
			}
		}
		if _, ok := p.indoms[id].insts[d.inst]; !ok {
			p.rep.problem(d.m.name, "has a value of instance %d, which is not in its instance domain %v", d.inst, id)
		}
	}
	return nil
}
