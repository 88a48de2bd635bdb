// Package kvm is the agent for the kernel's virtual machines. It serves the counters of KVM
// for all of them, from the files of /sys/kernel/debug/kvm, and the number of times that its
// trace points are passed on each processor.
//
//	a := kvm.New(kvm.Config{Trace: []string{"kvm_exit", "kvm_entry"}})
//
// A counter without a file is 0, or the last value read from its file, as in the C agent.
// As a rule only root can read the files. Trace points are counted by performance events,
// which need the same rights; without them their metrics have no values. Where the kernel
// is locked down the metrics answer pcp.ErrPermission.
//
// The trace points are those that kvm.conf lists, which [ReadConf] reads. Metrics keep the
// PMIDs, types, units and instance names that pmdakvm(1) has given them.
package kvm
