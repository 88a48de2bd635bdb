package pcp

import "slices"

// A ProfileState is the state of instances that a profile does not list
// (PM_PROFILE_*).
type ProfileState int32

// Profile states. The numbers are part of the protocol.
const (
	ProfileInclude ProfileState = 0 // PM_PROFILE_INCLUDE: all except those listed
	ProfileExclude ProfileState = 1 // PM_PROFILE_EXCLUDE: only those listed
)

// A Profile selects the instances that a fetch returns (pmAddProfile(3)). The
// zero Profile selects all instances of all domains.
type Profile struct {
	State  ProfileState // of the domains not in InDoms
	InDoms []ProfileInDom
}

// A ProfileInDom is the part of a profile for one instance domain.
type ProfileInDom struct {
	InDom InDom
	State ProfileState
	Insts []int32 // the exceptions to State, in ascending order
}

// Includes reports whether p selects the instance inst of indom. A metric with a
// single value is always selected.
func (p *Profile) Includes(indom InDom, inst int32) bool {
	if p == nil || indom == InDomNull {
		return true
	}
	for i := range p.InDoms {
		if d := &p.InDoms[i]; d.InDom == indom {
			return d.Includes(inst)
		}
	}
	return p.State == ProfileInclude
}

// InDom returns the part of p for one instance domain, for a caller that asks
// for many of its instances.
func (p *Profile) InDom(indom InDom) ProfileInDom {
	if p == nil || indom == InDomNull {
		return ProfileInDom{InDom: indom}
	}
	for _, d := range p.InDoms {
		if d.InDom == indom {
			return d
		}
	}
	return ProfileInDom{InDom: indom, State: p.State}
}

// IsAll reports whether p selects everything.
func (p *Profile) IsAll() bool {
	return p == nil || p.State == ProfileInclude && len(p.InDoms) == 0
}

// Includes reports whether d selects inst.
func (d *ProfileInDom) Includes(inst int32) bool {
	_, listed := slices.BinarySearch(d.Insts, inst)
	return listed == (d.State == ProfileExclude)
}

// Add includes the instances insts of indom, or all of it if there are none;
// with InDomNull and no instances it includes everything (pmAddProfile(3)).
// Instances of InDomNull are ErrProfileSpec.
func (p *Profile) Add(indom InDom, insts ...int32) error {
	return p.set(ProfileInclude, indom, insts)
}

// Del excludes the instances insts of indom, or all of it if there are none;
// with InDomNull and no instances it excludes everything (pmDelProfile(3)).
// Instances of InDomNull are ErrProfileSpec.
func (p *Profile) Del(indom InDom, insts ...int32) error {
	return p.set(ProfileExclude, indom, insts)
}

func (p *Profile) set(state ProfileState, indom InDom, insts []int32) error {
	if indom == InDomNull {
		if len(insts) > 0 {
			return ErrProfileSpec
		}
		*p = Profile{State: state}
		return nil
	}
	i := slices.IndexFunc(p.InDoms, func(d ProfileInDom) bool { return d.InDom == indom })
	if i < 0 {
		// The first call for a domain, of either kind, starts with no
		// instance included; src/libpcp/src/profile.c does so for
		// pmDelProfile too.
		i = len(p.InDoms)
		p.InDoms = append(p.InDoms, ProfileInDom{InDom: indom, State: ProfileExclude})
	}
	d := &p.InDoms[i]
	if len(insts) == 0 {
		d.State, d.Insts = state, nil
		return nil
	}
	for _, inst := range insts {
		at, listed := slices.BinarySearch(d.Insts, inst)
		switch {
		case d.State == state && listed:
			d.Insts = slices.Delete(d.Insts, at, at+1)
		case d.State != state && !listed:
			d.Insts = slices.Insert(d.Insts, at, inst)
		}
	}
	return nil
}

// Clone returns a copy of p that shares no memory with it.
func (p *Profile) Clone() *Profile {
	c := &Profile{State: p.State, InDoms: slices.Clone(p.InDoms)}
	for i := range c.InDoms {
		c.InDoms[i].Insts = slices.Clone(c.InDoms[i].Insts)
	}
	return c
}
