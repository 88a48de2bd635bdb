package model

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// containers fills in the containers by name, each with the sums of its control group.
func (s *Sampler) containers(ctx context.Context, snap *Snapshot) error {
	snap.Containers = snap.Containers[:0]
	err := s.named(ctx, func(i int32, id string) {
		c := Container{
			ID: id, Name: cmp.Or(s.cols[mConName].textOf(i), id), Engine: s.cols[mConEngine].textOf(i), Image: s.cols[mConImage].textOf(i),
			State: s.containerState(i), PID: whole(s.of(mConPID, i)), CGroup: emptyCGroup(s.cols[mConCGroup].textOf(i)),
		}
		if at, ok := slices.BinarySearchFunc(snap.CGroups, c.CGroup.Path, func(g CGroup, path string) int { return cmp.Compare(g.Path, path) }); ok && c.CGroup.Path != "" {
			c.CGroup = snap.CGroups[at]
		}
		snap.Containers = append(snap.Containers, c)
	}, mConName, mConCGroup)
	slices.SortFunc(snap.Containers, func(a, b Container) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return err
}

// containerState returns the state of a container, "" if it is unknown.
func (s *Sampler) containerState(inst int32) string {
	known := false
	for _, f := range []struct {
		m    metric
		name string
	}{{mConPaused, "paused"}, {mConRestarting, "restarting"}, {mConRunning, "running"}} {
		v := s.of(f.m, inst)
		if v > 0 {
			return f.name
		}
		known = known || !math.IsNaN(v)
	}
	if known {
		return "stopped"
	}
	return ""
}

// emptyCGroup returns a control group of which only the path is known.
func emptyCGroup(path string) CGroup {
	n := nan()
	return CGroup{Path: path, CPU: n, Memory: n, Read: n, Written: n, In: n, Out: n, PressCPU: n, PressMem: n, PressIO: n}
}

// plus adds values, of which unknown ones do not count. The sum of none is unknown.
func plus(values ...float64) float64 {
	sum := nan()
	for _, v := range values {
		if !math.IsNaN(v) {
			sum = zeroIfNaN(sum) + v
		}
	}
	return sum
}
