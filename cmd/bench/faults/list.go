//go:build linux

package main

import "slices"

// faults returns all faults and sound recordings.
func faults() []fault { return slices.Concat(single(), combined(), sound()) }

// Limits of control groups, as version 1 has them.
func tenth() map[string]string {
	return map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "10000"}
}

func megabytes(n string) map[string]string {
	return map[string]string{"memory.limit_in_bytes": n + "M"}
}

// single returns faults of one kind each.
func single() []fault {
	cpu := []string{"cpu.process", "cpu.one", "cpu.busy", "cpu.queue"}
	memory := []string{"cgroup.memory-limit", "cgroup.memory", "memory.oom"}
	slow := []string{"tasks.blocked", "disk.slow", "disk.busy", "pressure.io", "cgroup.io"}
	return []fault{
		// Processors and processes
		{name: "busy", want: cpu, who: "faults", stage: worker("", "busy-all")},
		{name: "busy-one", want: cpu, who: "faults", stage: worker("", "busy-one")},
		{name: "system", want: append([]string{"cpu.system"}, cpu...), who: "faults", stage: worker("", "system")},
		{name: "forks", want: []string{"processes.forks"}, who: "faults", stage: worker("", "forks")},
		{name: "threads", held: true, want: []string{"processes.forks"}, stage: worker("", "threads")},
		{name: "zombies", want: []string{"processes.defunct"}, stage: ready(worker("", "zombies"))},
		{name: "fork-bomb", want: []string{"cgroup.pids", "cgroup.pids-used"}, who: "pcp-faults", stage: bomb("200", "bomb() { bomb | bomb & }; bomb")},
		{name: "process-limit", want: []string{"cgroup.pids", "cgroup.pids-used"}, who: "pcp-faults", stage: bomb("100", "while sleep 300 & do :; done")},
		{name: "throttled", want: []string{"cgroup.cpu"}, who: "pcp-faults", stage: limited("cpu", tenth(), "busy")},
		{name: "throttled-half", want: []string{"cgroup.cpu"}, who: "pcp-faults", stage: limited("cpu", map[string]string{"cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "25000"}, "busy-all")},
		{name: "throttled-many", held: true, want: []string{"cgroup.cpu"}, who: "pcp-faults", stage: limited("cpu", map[string]string{"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}, "children")},
		{name: "switches", want: []string{"locks.switches", "cpu.system"}, who: "faults", stage: worker("", "locks")},
		{name: "contended", want: []string{"locks.switches", "cpu.system"}, who: "faults", stage: worker("", "contended")},
		{name: "timers", want: append([]string{"cpu.interrupts", "locks.switches", "cpu.system"}, cpu...), who: "faults", stage: worker("", "timers")},
		{name: "signals", want: append([]string{"locks.switches", "cpu.system"}, cpu...), who: "faults|sh", stage: worker("", "signals")},
		{name: "page-faults", held: true, want: append([]string{"cpu.system"}, cpu...), who: "faults", stage: worker("", "page-faults")},
		// Memory
		{name: "leak", want: memory, who: "pcp-faults", stage: limited("memory", megabytes("64"), "leak")},
		{name: "leak-large", held: true, want: memory, who: "pcp-faults", stage: limited("memory", megabytes("192"), "leak")},
		{name: "cache", want: memory, who: "pcp-faults", stage: limited("memory", megabytes("48"), "cache")},
		{name: "swap", want: append([]string{"memory.swapping"}, memory...), who: "faults", stage: swapping},
		{name: "major-faults", want: append([]string{"memory.faults"}, memory...), who: "faults", stage: limited("memory", megabytes("32"), "mapped")},
		{name: "shm", want: memory, who: "faults", stage: limited("memory", megabytes("64"), "shm")},
		// File systems and files
		{name: "full", want: []string{"filesystem.full"}, stage: mounted(false, false)},
		{name: "filling", held: true, want: []string{"filesystem.full"}, stage: filling},
		{name: "full-tmpfs", want: []string{"filesystem.full", "tmpfs.full"}, who: "pcp-faults", stage: mounted(true, false)},
		{name: "inodes", want: []string{"filesystem.inodes"}, stage: mounted(false, true)},
		{name: "inodes-tmpfs", want: []string{"filesystem.inodes", "tmpfs.inodes"}, who: "pcp-faults", stage: mounted(true, true)},
		{name: "descriptors", want: []string{"files.leak", "files.process"}, who: "faults", stage: worker("", "descriptors")},
		{name: "sockets", held: true, want: []string{"files.leak", "files.process"}, who: "faults", stage: worker("", "sockets")},
		// Disks
		{name: "slow-writes", want: slow, stage: slowDisk("write_bps_device", "200000", "write")},
		{name: "slow-reads", want: slow, stage: slowDisk("read_bps_device", "200000", "read")},
		{name: "slow-sync", want: slow, stage: slowDisk("write_iops_device", "10", "sync")},
		{name: "frozen", want: []string{"tasks.blocked", "tasks.stuck"}, who: "faults", stage: frozen},
		{name: "freezer", held: true, want: []string{"tasks.blocked", "tasks.stuck"}, who: "faults", stage: freezer},
		// Network
		{name: "listen", want: []string{"tcp.listen"}, stage: worker("", "listen")},
		{name: "udp", want: []string{"udp.buffers"}, stage: worker("", "udp")},
		{name: "udp-ports", want: []string{"udp.ports"}, stage: worker("", "udp-ports")},
		{name: "softirq", want: append([]string{"cpu.irq", "cpu.system", "network.backlog", "udp.buffers"}, cpu...), who: "faults", stage: worker("", "packets")},
		{name: "loss", want: []string{"tcp.retransmits"}, stage: linked("loss")},
		{name: "loss-2", held: true, want: []string{"tcp.retransmits"}, stage: linked("loss-2")},
		{name: "delay", want: []string{"tcp.retransmits", "tcp.timeouts"}, stage: linked("delay")},
		{name: "corrupt", want: []string{"network.checksums"}, stage: linked("corrupt")},
		{name: "drops", want: []string{"network.drops"}, who: linkName, stage: linked("drops")},
		{name: "time-wait", want: []string{"tcp.time-wait"}, stage: manyConnections},
		{name: "refused", want: []string{"tcp.refused"}, stage: worker("", "refused")},
		{name: "clock", stage: refused("it sets the clock of the whole machine")},
		{name: "steal", stage: refused("the hypervisor decides it")},
		{name: "interrupts", stage: refused("devices make them; softirq is their nearest relative")},
	}
}

// combined returns faults of two kinds, of which either may come first.
func combined() []fault {
	cpu := []string{"cpu.process", "cpu.one", "cpu.busy", "cpu.queue"}
	return []fault{
		{name: "busy-and-full", want: append([]string{"filesystem.full"}, cpu...), stage: both(worker("", "busy-all"), mounted(false, false))},
		{name: "throttled-and-listen", want: []string{"cgroup.cpu", "tcp.listen"}, stage: both(limited("cpu", tenth(), "busy"), worker("", "listen"))},
		{name: "forks-and-throttled", want: []string{"processes.forks", "cgroup.cpu"}, who: "faults", stage: both(worker("", "forks"), limited("cpu", tenth(), "busy"))},
		{name: "descriptors-and-full", want: []string{"files.leak", "files.process", "filesystem.full"}, stage: both(worker("", "descriptors"), mounted(false, false))},
		{name: "leak-and-inodes", held: true, want: []string{"cgroup.memory-limit", "cgroup.memory", "memory.oom", "filesystem.inodes"}, stage: both(limited("memory", megabytes("64"), "leak"), mounted(false, true))},
		{name: "loss-and-throttled", held: true, want: []string{"tcp.retransmits", "cgroup.cpu"}, stage: both(linked("loss"), limited("cpu", tenth(), "busy"))},
	}
}

// sound returns recordings of machines that work and are short of nothing.
func sound() []fault {
	few := map[string]string{"pids.max": "200"}
	return []fault{
		{name: "sound-quiet", stage: func(*site) error { return nil }},
		{name: "sound-web", who: "faults", stage: worker("", "web")},
		{name: "sound-pool", who: "faults", stage: both(worker("", "web"), both(worker("", "web"), worker("", "web")))},
		{name: "sound-build", who: "gzip|xargs|find|sh -c|cat", stage: shell("while :; do find /usr/share -name '*.gz' -size -20k 2>/dev/null | head -200 | xargs cat | gzip -d 2>/dev/null | gzip >/dev/null; sleep 0.3; done")},
		{name: "sound-backup", held: true, who: "tar|dd|sh -c", stage: shell("while :; do tar cf - /usr/share/doc 2>/dev/null | dd bs=64k count=100 of=/dev/null 2>/dev/null; sleep 0.3; done")},
		{name: "sound-batch", who: "faults", stage: niced("busy-one")},
		{name: "sound-batch-all", who: "faults", stage: niced("busy-all")},
		{name: "sound-jobs", who: "sh -c|date|ls", stage: shell("while :; do date; ls /etc; sleep 0.2; done >/dev/null")},
		{name: "sound-database", who: "faults", stage: gently("sync")},
		{name: "sound-log", who: "faults", stage: worker("", "append")},
		{name: "sound-telemetry", held: true, who: "faults", stage: worker("", "telemetry")},
		{name: "sound-pipe", who: "faults", stage: worker("", "pipe")},
		{name: "sound-cache", who: "faults", stage: ready(worker("", "memory"))},
		{name: "sound-files", who: "faults", stage: ready(worker("", "files"))},
		{name: "sound-children", held: true, who: "faults|true", stage: worker("", "children")},
		{name: "sound-search", who: "find|sh -c", stage: shell("while :; do find /usr/lib -name '*.so' >/dev/null; sleep 1; done")},
		{name: "sound-sort", held: true, who: "sort|seq|sh -c", stage: shell("while :; do seq 200000 | sort -R | sort -n >/dev/null; sleep 1; done")},
		{name: "sound-memory-limit", who: "faults", stage: ready(limited("memory", megabytes("128"), "memory"))},
		{name: "sound-process-limit", who: "faults", stage: limited("pids", few, "children")},
		{name: "sound-link", held: true, who: "faults", stage: linked("sound")},
	}
}
