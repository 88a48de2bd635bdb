package proc

// groupOrder is the order of names of control groups.
var groupOrder = []string{
	"cgroup.subsys", "cgroup.mounts", "cgroup.cpu", "cgroup.cpuset", "cgroup.cpuacct", "cgroup.cpusched",
	"cgroup.memory", "cgroup.netclass", "cgroup.blkio", "cgroup.pressure", "cgroup.io", "cgroup.pids",
}

// order is the order in which clients have always seen names: the groups of the
// real agent are dynamic, and appear in the reverse order of its tables.
var order = []string{
	"proc.nprocs", "proc.psinfo.cwd", "proc.psinfo.exe", "proc.psinfo.oom_score", "proc.psinfo.tgid",
	"proc.psinfo.ngid", "proc.psinfo.cpusallowed", "proc.psinfo.nvctxsw", "proc.psinfo.vctxsw",
	"proc.psinfo.labels", "proc.psinfo.cgroups", "proc.psinfo.threads", "proc.psinfo.sigcatch_s",
	"proc.psinfo.sigignore_s", "proc.psinfo.blocked_s", "proc.psinfo.signal_s", "proc.psinfo.policy_s",
	"proc.psinfo.environ", "proc.psinfo.cguest_time", "proc.psinfo.guest_time",
	"proc.psinfo.delayacct_blkio_time", "proc.psinfo.policy", "proc.psinfo.rt_priority", "proc.psinfo.psargs",
	"proc.psinfo.wchan_s", "proc.psinfo.ttyname", "proc.psinfo.processor", "proc.psinfo.exit_signal",
	"proc.psinfo.cnswap", "proc.psinfo.nswap", "proc.psinfo.wchan", "proc.psinfo.sigcatch",
	"proc.psinfo.sigignore", "proc.psinfo.blocked", "proc.psinfo.signal", "proc.psinfo.eip", "proc.psinfo.esp",
	"proc.psinfo.start_stack", "proc.psinfo.end_code", "proc.psinfo.start_code", "proc.psinfo.rss_rlim",
	"proc.psinfo.rss", "proc.psinfo.vsize", "proc.psinfo.start_time", "proc.psinfo.it_real_value",
	"proc.psinfo.nice", "proc.psinfo.priority", "proc.psinfo.cstime", "proc.psinfo.cutime", "proc.psinfo.stime",
	"proc.psinfo.utime", "proc.psinfo.cmaj_flt", "proc.psinfo.maj_flt", "proc.psinfo.cmin_flt",
	"proc.psinfo.minflt", "proc.psinfo.flags", "proc.psinfo.tty_pgrp", "proc.psinfo.tty", "proc.psinfo.session",
	"proc.psinfo.pgrp", "proc.psinfo.ppid", "proc.psinfo.sname", "proc.psinfo.cmd", "proc.psinfo.pid",
	"proc.memory.vmnonlib", "proc.memory.vmreal", "proc.memory.vmpte", "proc.memory.vmhwm", "proc.memory.vmpin",
	"proc.memory.vmpeak", "proc.memory.vmswap", "proc.memory.vmlib", "proc.memory.vmexe", "proc.memory.vmstack",
	"proc.memory.vmdata", "proc.memory.vmrss", "proc.memory.vmlock", "proc.memory.vmsize", "proc.memory.maps",
	"proc.memory.dirty", "proc.memory.datrss", "proc.memory.librss", "proc.memory.textrss", "proc.memory.share",
	"proc.memory.rss", "proc.memory.size", "proc.runq.runnable", "proc.runq.blocked", "proc.runq.sleeping",
	"proc.runq.stopped", "proc.runq.swapped", "proc.runq.defunct", "proc.runq.unknown", "proc.runq.kernel",
	"proc.id.container", "proc.id.fsgid_nm", "proc.id.sgid_nm", "proc.id.egid_nm", "proc.id.gid_nm",
	"proc.id.fsuid_nm", "proc.id.suid_nm", "proc.id.euid_nm", "proc.id.uid_nm", "proc.id.fsgid", "proc.id.sgid",
	"proc.id.egid", "proc.id.gid", "proc.id.fsuid", "proc.id.suid", "proc.id.euid", "proc.id.uid",
	"proc.io.cancelled_write_bytes", "proc.io.write_bytes", "proc.io.read_bytes", "proc.io.syscw",
	"proc.io.syscr", "proc.io.wchar", "proc.io.rchar", "proc.schedstat.pcount", "proc.schedstat.run_delay",
	"proc.schedstat.cpu_time", "proc.fd.count", "proc.namespaces.envid", "proc.namespaces.sid",
	"proc.namespaces.pgid", "proc.namespaces.pid", "proc.namespaces.tgid", "proc.smaps.locked",
	"proc.smaps.swappss", "proc.smaps.swap", "proc.smaps.private_hugetlb", "proc.smaps.shared_hugetlb",
	"proc.smaps.filepmdmapped", "proc.smaps.shmempmdmapped", "proc.smaps.anonhugepages", "proc.smaps.lazyfree",
	"proc.smaps.anonymous", "proc.smaps.referenced", "proc.smaps.private_dirty", "proc.smaps.private_clean",
	"proc.smaps.shared_dirty", "proc.smaps.shared_clean", "proc.smaps.pss_shmem", "proc.smaps.pss_file",
	"proc.smaps.pss_anon", "proc.smaps.pss", "proc.smaps.rss", "proc.autogroup.nice", "proc.autogroup.id",
	"proc.autogroup.enabled",
}
