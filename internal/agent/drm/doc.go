// Package drm is the agent for graphics processors of all makers whose drivers are part of the kernel's Direct
// Rendering Manager: amdgpu, i915, xe, nouveau, panfrost and others. It reports the cards, the time that their
// engines work, and their memory, for each card, process and container.
//
//	a := drm.New(drm.Config{})
//
// Time and memory come from /proc/PID/fdinfo (drm-usage-stats in the kernel's documentation), and are those of
// clients, which are opened devices: what several processes share is counted once, for the first of them. Other
// values are read from /sys/class/drm. The agent needs no library of the makers.
//
// Cost is bounded: only descriptors of graphics devices are read. A process without one is looked at again after
// five seconds, and without cards no process is looked at. Processes of other users are only seen by root or with CAP_SYS_PTRACE.
//
// NVIDIA's own driver is not part of it.
package drm
