package sample

import (
	"cmp"
	"strings"
)

// ByCPU orders tasks by processor time, most first, and then by memory.
func ByCPU(a, b *Task) int {
	if n := cmp.Compare(b.CPU(), a.CPU()); n != 0 {
		return n
	}
	return ByMemory(a, b)
}

// ByMemory orders tasks by resident memory, most first.
func ByMemory(a, b *Task) int { return cmp.Compare(b.Resident, a.Resident) }

// ByDisk orders tasks by disk transfers, most first, and then as ByCPU.
func ByDisk(a, b *Task) int {
	if n := cmp.Compare(b.ReadIO+b.Written(), a.ReadIO+a.Written()); n != 0 {
		return n
	}
	return ByCPU(a, b)
}

// ByNet orders tasks by network transfers, most first, and then as ByCPU.
func ByNet(a, b *Task) int {
	if n := cmp.Compare(b.NetBytes(), a.NetBytes()); n != 0 {
		return n
	}
	return ByCPU(a, b)
}

// ByGPU orders tasks by their use of graphics processors, most first.
func ByGPU(a, b *Task) int {
	use := func(t *Task) (busy, memory Count) {
		if t.GPU.State == 0 {
			return -2, -2
		}
		return Count(t.GPU.Busy), t.GPU.MemNow
	}
	busyA, memA := use(a)
	busyB, memB := use(b)
	if busyA == -1 || busyB == -1 {
		return cmp.Compare(memB, memA)
	}
	return cmp.Compare(busyB, busyA)
}

// ByUser orders tasks by the number of their user.
func ByUser(a, b *Task) int { return cmp.Compare(a.RUID, b.RUID) }

// ByName orders tasks by their name.
func ByName(a, b *Task) int { return strings.Compare(a.Name, b.Name) }

// ByContainer orders tasks by their container.
func ByContainer(a, b *Task) int { return strings.Compare(a.Container, b.Container) }
