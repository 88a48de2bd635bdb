package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Begins of events are in an array, whose slots programs reach without a call of the kernel's functions. Two addresses with one slot are rare; the second is in a hash.
const (
	beginSlots = 1 << 14
	slotBits   = 6 // of an address that the structures of one allocation have in common: the size of a cache line
)

// begins adds the maps of times at which something began, by the address of its structure in the kernel. others is how many can be in the hash.
func (o *object) begins(others uint32) {
	o.table(&ebpf.MapSpec{Name: "slots", Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: beginSlots}) // address and time
	o.table(&ebpf.MapSpec{Name: "others", Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: others})
}

// slot sets R0 to the slot of an address. It overwrites the 8 bytes at -8 of the stack.
func (c *code) slot(address asm.Register) {
	c.add(asm.Mov.Reg32(asm.R1, address), asm.RSh.Imm(asm.R1, slotBits), asm.And.Imm(asm.R1, beginSlots-1), asm.StoreMem(asm.RFP, -8, asm.R1, asm.Word))
	c.lookup("slots", -8)
	c.add(asm.JEq.Imm(asm.R0, 0, exit))
}

// begin stores the time at which something began. It overwrites the 16 bytes at -16 of the stack.
//
// If two processors claim a free slot at once, one of the two events is not counted.
func (c *code) begin(address, time asm.Register) {
	free, done := c.label(), c.label()
	c.store(-16, time)
	c.slot(address)
	c.add(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.JEq.Imm(asm.R1, 0, free), asm.JEq.Reg(asm.R1, address, free))
	c.store(-8, address)
	c.update("others", -8, -16, updateAny)
	c.add(asm.Ja.Label(done))
	c.mark(free)
	c.get(asm.R1, -16)
	c.add(asm.StoreMem(asm.R0, 8, asm.R1, asm.DWord), asm.StoreMem(asm.R0, 0, address, asm.DWord))
	c.mark(done)
}

// take sets time to that of begin, and frees the slot. The program ends if there is none. It overwrites the 8 bytes at -8 of the stack.
func (c *code) take(time, address asm.Register) {
	other, done := c.label(), c.label()
	c.slot(address)
	c.add(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.JNE.Reg(asm.R1, address, other))
	c.add(asm.LoadMem(time, asm.R0, 8, asm.DWord), asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord), asm.Ja.Label(done))
	c.mark(other)
	c.store(-8, address)
	c.lookup("others", -8)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(time, asm.R0, 0, asm.DWord))
	c.remove("others", -8)
	c.mark(done)
}
