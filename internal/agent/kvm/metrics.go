package kvm

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda/column"
)

// Clusters of the agent.
const (
	clusterDebug = iota
	clusterTrace
)

// Blocks of the trace points.
const (
	blockCount = iota // number of trace points
	blockTrace
)

// debugMetrics returns the metrics of debugCounters. Each has its own block.
func debugMetrics() []column.Metric {
	list := make([]column.Metric, len(debugCounters))
	for i, c := range debugCounters {
		list[i] = column.Metric{
			Name: "kvm." + c.name, Cluster: clusterDebug, Item: i, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1},
			From: i, Key: c.name, Help: c.help, Long: c.long,
		}
	}
	list[guestMode].Sem = pcp.SemInstant
	return list
}

// guestMode is the item of kvm.guest_mode.
const guestMode = 42

// debugCounters are the files of the directory kvm, in the order of the items. A counter that
// the kernel does not have is 0.
var debugCounters = [...]struct{ name, help, long string }{
	{"efer_reload", "Reloads of the register EFER", "Times that the Extended Feature Enable Register was reloaded when a guest\nwas entered or left."},
	{"exits", "Exits from guests", "Times that a processor left a guest for the hypervisor, for whatever reason."},
	{"fpu_reload", "Reloads of the floating point unit", "Times that the registers of the floating point unit were loaded when a guest\nwas entered."},
	{"halt_attempted_poll", "Polls of halted processors", "Times that the kernel, when a virtual processor had halted, polled for a while\nwhether it has to run again, before letting it sleep."},
	{"halt_exits", "Exits as a processor halted", "Exits from a guest since a virtual processor had executed HLT. There are many\nwhen guests have nothing to do."},
	{"halt_successful_poll", "Polls of halted processors that paid off", "Polls of a halted virtual processor during which it had to run again, so that\nit did not sleep."},
	{"halt_wakeup", "Wake-ups of halted processors", "Times that a halted virtual processor was woken up."},
	{"host_state_reload", "Reloads of the host's state", "Times that registers of the host, such as segments, were saved and reloaded\nbecause a guest had used them."},
	{"hypercalls", "Calls of the hypervisor", "Calls of the hypervisor by guests."},
	{"insn_emulation", "Instructions emulated", "Instructions of guests that the hypervisor emulated, since the processor could\nnot execute them there."},
	{"insn_emulation_fail", "Instructions that could not be emulated", "Instructions of guests that were to be emulated and could not be."},
	{"invlpg", "Addresses dropped from the TLB", "Times that a guest had an address dropped from its translation lookaside\nbuffer by INVLPG, with shadow page tables."},
	{"io_exits", "Exits for ports", "Exits from a guest since it read from or wrote to an I/O port."},
	{"irq_exits", "Exits for interrupts of the host", "Exits from a guest since an interrupt came that is for the host."},
	{"irq_injections", "Interrupts injected", "Interrupts that were delivered to guests."},
	{"irq_window", "Exits to deliver an interrupt, as old kernels count", "Exits from a guest at the moment it could take an interrupt that was waiting.\nNewer kernels have kvm.irq_window_exits."},
	{"largepages", "Large pages in use", "Large pages of memory that guests have mapped now."},
	{"mmio_exits", "Exits for mapped devices", "Exits from a guest since it read or wrote memory of a device."},
	{"mmu_cache_miss", "Shadow pages made", "Times that a shadow page table was not in the cache and was made."},
	{"mmu_flooded", "Page tables found to be written a lot", "Times that a page table of a guest was written so often that the hypervisor\nstopped shadowing it. The writes themselves are not counted here."},
	{"mmu_pde_zapped", "Page directory entries dropped", "Entries of page directories of guests that were dropped from the shadow page\ntables."},
	{"mmu_pte_updated", "Page table entries updated", "Entries of page tables that were updated in the shadow page tables after a\nguest had written them."},
	{"mmu_pte_write", "Writes to page tables", "Writes of guests to page tables that are shadowed."},
	{"mmu_recycled", "Shadow pages recycled", "Shadow page tables that were dropped to make room for others."},
	{"mmu_shadow_zapped", "Shadow pages dropped", "Shadow page tables that were dropped."},
	{"mmu_unsync", "Shadow pages that are out of date", "Shadow page tables that do not follow the guest's until the guest has its\ntranslation lookaside buffer flushed."},
	{"nmi_injections", "Non-maskable interrupts injected", "Non-maskable interrupts that were delivered to guests."},
	{"nmi_window", "Exits to deliver a non-maskable interrupt, as old kernels count", "Exits from a guest at the moment it could take a non-maskable interrupt that\nwas waiting. Newer kernels have kvm.nmi_window_exits."},
	{"pf_fixed", "Page faults that were resolved", "Page faults that the hypervisor resolved by adding an entry to its page\ntables."},
	{"pf_guest", "Page faults injected", "Page faults that were delivered to guests, since they are the guest's own."},
	{"remote_tlb_flush", "Flushes of the TLBs of other processors", "Times that the hypervisor had other processors flush their translation\nlookaside buffers for a guest."},
	{"request_irq", "Requests to deliver an interrupt, as old kernels count", "Exits from a guest at the moment it could take an interrupt that the device\nmodel wanted to deliver. Newer kernels have kvm.request_irq_exits."},
	{"signal_exits", "Exits for signals", "Exits from a guest since a signal was pending for the thread of the virtual\nprocessor."},
	{"tlb_flush", "Flushes of the TLB", "Times that the translation lookaside buffer of a virtual processor was\nflushed."},
	{"irq_window_exits", "Exits to deliver an interrupt", "Exits from a guest at the moment it could take an interrupt that was waiting."},
	{"nmi_window_exits", "Exits to deliver a non-maskable interrupt", "Exits from a guest at the moment it could take a non-maskable interrupt that\nwas waiting."},
	{"l1d_flush", "Flushes of the first level data cache", "Times that the first level data cache was flushed before a guest was entered,\nto keep the host's data from it."},
	{"request_irq_exits", "Exits as an interrupt was requested", "Exits from a guest at the moment it could take an interrupt that the device\nmodel wanted to deliver."},
	{"req_event", "Requests to look for events", "Times that a virtual processor was to look for interrupts and exceptions\nbefore it entered the guest again."},
	{"nested_run", "Entries of nested guests", "Times that a guest ran a guest of its own."},
	{"directed_yield_attempted", "Yields to another processor of the guest", "Times that a virtual processor which waits for a lock asked to let the one\nwith the lock run in its place."},
	{"directed_yield_successful", "Yields to another processor that took place", "Yields to another virtual processor of a guest after which that one ran."},
	{"guest_mode", "Processors that run a nested guest", "Virtual processors that run a nested guest now."},
}
