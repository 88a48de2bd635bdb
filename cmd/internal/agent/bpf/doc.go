// Package bpf is the agent bpf: latencies and events inside the kernel of Linux, measured by small programs that the kernel runs (eBPF).
//
// The agent has modules, named as in PCP's agent of the same name. The file bpf.conf in PCP_PMDAS_DIR/bpf, in the format of that agent, switches them on or off,
// and so does a store to bpf.control.enabled:
//
//	[execsnoop.so]
//	enabled = true
//
// No compiler, headers or interpreter are needed: a module writes its programs as instructions, with the offsets that the kernel's type information (BTF) has.
// It needs Linux 5.11 with BTF, and CAP_BPF and CAP_PERFMON. Programs are attached to tracepoints only, so they run on kernels that are locked down.
// Nothing is pinned: the kernel frees all of it when the agent ends in any way. If the kernel refuses a module, bpf.module.state has the
// reason, and the other modules run.
package bpf
