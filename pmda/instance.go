package pmda

import (
	"context"

	"github.com/go-pcp/pcp"
)

// LookupInstance returns the number of the instance that name selects, as
// pmLookupInDom(3) does, or pcp.ErrInst. It scans the agent's list unless the
// agent is an [InstanceLooker].
func LookupInstance(ctx context.Context, a Agent, indom pcp.InDom, name string) (int32, error) {
	if l, ok := a.(InstanceLooker); ok {
		return l.LookupInstance(ctx, indom, name)
	}
	insts, err := a.Instances(ctx, indom)
	if err != nil {
		return 0, err
	}
	for i := range insts {
		if name != "" && pcp.MatchInstance(insts[i].Name, name) {
			return insts[i].Inst, nil
		}
	}
	return 0, pcp.ErrInst
}

// InstanceName returns the external name of an instance, or pcp.ErrInst. It
// scans the agent's list unless the agent is an [InstanceLooker].
func InstanceName(ctx context.Context, a Agent, indom pcp.InDom, inst int32) (string, error) {
	if l, ok := a.(InstanceLooker); ok {
		return l.InstanceName(ctx, indom, inst)
	}
	insts, err := a.Instances(ctx, indom)
	if err != nil {
		return "", err
	}
	for i := range insts {
		if insts[i].Inst == inst {
			return insts[i].Name, nil
		}
	}
	return "", pcp.ErrInst
}
