package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A check looks for faults of one kind or a few.
type check struct {
	name   string
	remote bool // also of a collector on another host
	warns  bool // it finds warnings and notes, or faults of other hosts, only; --quiet leaves it out
	run    func(ctx context.Context, s *site) []finding
}

// checks are made in this order, those of collectors and agents first.
func checks() []check {
	return slices.Concat(collectorChecks(), agentChecks(), recorderChecks(), receiverChecks(), archiveChecks(), diskChecks(), ruleChecks(), tlsChecks(), directoryChecks(), settingChecks(), machineChecks(), daemonChecks())
}

// kinds returns all kinds of faults by their identifiers.
var kinds = sync.OnceValue(func() map[string]kind {
	m := make(map[string]kind)
	for _, k := range faults() {
		m[k.id] = k
	}
	return m
})

// faults are all kinds of faults, in the order of docs/doctor.md.
func faults() []kind {
	return slices.Concat(collectorFaults(), agentFaults(), recorderFaults(), receiverFaults(), archiveFaults(), diskFaults(), ruleFaults(), tlsFaults(), directoryFaults(), settingFaults(), machineFaults(), daemonFaults(), []kind{
		{"check.unfinished", warning, "A check did not end in time.", "Faults of these kinds are not found. A file system or a name service may hang."},
	})
}

// grace is the time for a check to return its findings when its limit has passed.
const grace = 200 * time.Millisecond

// examine makes the checks, each within its limit of time.
func (s *site) examine(ctx context.Context, quiet bool) []finding {
	var list []finding
	for _, c := range checks() {
		if ctx.Err() != nil {
			break
		}
		if s.conf.Err() != nil && !c.remote && c.name != settingsCheck { // paths are not known
			continue
		}
		if s.host != "" && !c.remote || quiet && c.warns {
			continue
		}
		list = append(list, s.make(ctx, c)...)
	}
	return list
}

// make makes a check, within its limit of time.
func (s *site) make(ctx context.Context, c check) []finding {
	found := make(chan []finding, 1)
	within, cancel := context.WithTimeout(ctx, s.each)
	defer cancel()
	go func() { found <- c.run(within, s) }()
	late := time.NewTimer(s.each + grace)
	defer late.Stop()
	select {
	case list := <-found:
		return list
	case <-ctx.Done():
		return nil
	case <-late.C:
		return []finding{s.unfinished(c.name)}
	}
}

// unfinished is the finding of a check that did not end, with the file system that hangs if there is one.
func (s *site) unfinished(name string) finding {
	f := finding{id: "check.unfinished", subject: name, text: fmt.Sprintf("the check of %s did not end in %v", name, s.each), command: "time getent hosts localhost"}
	if path := hungMount(s.mounts(), s.stat); path != "" {
		f.text += fmt.Sprintf("; the file system at %s does not answer", path)
		f.command = words("umount", "-l", path)
	}
	return f
}
