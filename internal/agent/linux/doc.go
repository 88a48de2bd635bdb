// Package linux is the agent for the Linux kernel: processors, memory, disks,
// file systems, network interfaces, from /proc and /sys.
//
//	a := linux.New(linux.Config{})      // of this machine
//	t := linux.New(linux.Config{Root: "testdata/vm"}) // of a copy of such files
//
// An [Agent] reads only the files of the wanted metrics, each once for any number
// of clients, into tables of columns (package pmda/column); a fetch copies from
// them. Related metrics form a family, in its own file: families.go lists them.
// Metrics keep the PMIDs, types, units, instance domains and instance names that
// pmdalinux(1) has given them. Metrics that the kernel does not report have no
// value, which is not an error.
//
// Instances that the kernel does not number get numbers in the order in which
// they first appear, and keep them while the agent runs. Slabs and serial ports
// have values for root only, unless Config.AllAccess is set. A goroutine asks file
// systems for their sizes, since a file system that does not answer must not block
// the rest.
package linux
