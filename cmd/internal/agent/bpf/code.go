package bpf

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// A code is a program in the making. Registers are used as the kernel's helpers use them: calls clobber R0 to R5, and R6 to R9 are kept.
type code struct {
	ins    asm.Instructions
	labels int
	at     string // label of the next instruction
}

// exit is the label of the end of each program.
const exit = "exit"

func (c *code) add(list ...asm.Instruction) {
	for _, in := range list {
		if c.at != "" {
			in, c.at = in.WithSymbol(c.at), ""
		}
		c.ins = append(c.ins, in)
	}
}

// label returns a new label.
func (c *code) label() string {
	c.labels++
	return fmt.Sprintf("l%d", c.labels)
}

// mark puts a label at the next instruction.
func (c *code) mark(label string) {
	if c.at != "" {
		c.add(asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)})
	}
	c.at = label
}

// end returns the complete program.
func (c *code) end() asm.Instructions {
	c.mark(exit)
	c.add(asm.Mov.Imm(asm.R0, 0), asm.Return())
	return c.ins
}

// arg loads argument n of the tracepoint; ctx has the address of the arguments.
func (c *code) arg(dst, ctx asm.Register, n int) { c.add(asm.LoadMem(dst, ctx, int16(n*8), asm.DWord)) }

// load loads a field of the structure at src.
func (c *code) load(dst, src asm.Register, f field) { c.add(asm.LoadMem(dst, src, f.offset, f.size)) }

// store and get move a register to the stack and back.
func (c *code) store(at int16, src asm.Register) {
	c.add(asm.StoreMem(asm.RFP, at, src, asm.DWord))
}

func (c *code) get(dst asm.Register, at int16) { c.add(asm.LoadMem(dst, asm.RFP, at, asm.DWord)) }

// zero clears n bytes of the stack from at on, in steps of 8. It changes R1.
func (c *code) zero(at int16, n int) {
	c.add(asm.Mov.Imm(asm.R1, 0))
	for i := 0; i < n; i += 8 {
		c.store(at+int16(i), asm.R1)
	}
}

// address sets dst to an address on the stack.
func (c *code) address(dst asm.Register, at int16) {
	c.add(asm.Mov.Reg(dst, asm.RFP), asm.Add.Imm(dst, int32(at)))
}

// table sets dst to a map.
func (c *code) table(dst asm.Register, name string) {
	c.add(asm.LoadMapPtr(dst, 0).WithReference(name))
}

// lookup sets R0 to the address of the value of the key on the stack, 0 if there is none.
func (c *code) lookup(table string, key int16) {
	c.table(asm.R1, table)
	c.address(asm.R2, key)
	c.add(asm.FnMapLookupElem.Call())
}

// How update treats keys that are there.
const (
	updateAny   = 0 // BPF_ANY
	updateNew   = 1 // BPF_NOEXIST
	updateExist = 2 // BPF_EXIST; of a queue: the oldest value makes room
)

// update stores a value from the stack.
func (c *code) update(table string, key, value int16, flags int32) {
	c.table(asm.R1, table)
	c.address(asm.R2, key)
	c.address(asm.R3, value)
	c.add(asm.Mov.Imm(asm.R4, flags), asm.FnMapUpdateElem.Call())
}

func (c *code) remove(table string, key int16) {
	c.table(asm.R1, table)
	c.address(asm.R2, key)
	c.add(asm.FnMapDeleteElem.Call())
}

// push appends a value from the stack to a queue.
func (c *code) push(table string, value int16) {
	c.table(asm.R1, table)
	c.address(asm.R2, value)
	c.add(asm.Mov.Imm(asm.R3, updateExist), asm.FnMapPushElem.Call())
}

// now sets R0 to the monotonic clock in nanoseconds.
func (c *code) now() { c.add(asm.FnKtimeGetNs.Call()) }

// bump adds a register from R6 to R9, or 1 if it is R0, to the number of the key on the stack. The 8 bytes at spare are overwritten.
func (c *code) bump(table string, key, spare int16, by asm.Register) {
	done, missing := c.label(), c.label()
	add := func(none string) {
		c.lookup(table, key)
		c.add(asm.JEq.Imm(asm.R0, 0, none))
		if by == asm.R0 {
			c.add(asm.Mov.Imm(asm.R1, 1), asm.StoreXAdd(asm.R0, asm.R1, asm.DWord))
		} else {
			c.add(asm.StoreXAdd(asm.R0, by, asm.DWord))
		}
		c.add(asm.Ja.Label(done))
	}
	add(missing)
	c.mark(missing)
	if by == asm.R0 {
		c.add(asm.Mov.Imm(asm.R1, 1))
		c.store(spare, asm.R1)
	} else {
		c.store(spare, by)
	}
	c.update(table, key, spare, updateNew)
	c.add(asm.JEq.Imm(asm.R0, 0, done))
	add(done) // another processor was first
	c.mark(done)
}

// log2 sets dst to the binary logarithm of v, 0 for 0 and 1. It changes v and tmp.
func (c *code) log2(dst, v, tmp asm.Register) {
	c.add(asm.Mov.Imm(dst, 0))
	for bits := int32(32); bits > 0; bits /= 2 {
		small := c.label()
		c.add(asm.Mov.Reg(tmp, v), asm.RSh.Imm(tmp, bits), asm.JEq.Imm(tmp, 0, small), asm.Add.Imm(dst, bits), asm.Mov.Reg(v, tmp))
		c.mark(small)
	}
}

// tally adds the value v to a histogram of this processor and to its sum, and sets slot to the bucket. It changes all its arguments, R1 and R2.
func (c *code) tally(histogram, v, slot asm.Register) {
	c.add(asm.LoadMem(asm.R1, histogram, 8*sumSlot, asm.DWord), asm.Add.Reg(asm.R1, v), asm.StoreMem(histogram, 8*sumSlot, asm.R1, asm.DWord))
	c.log2(slot, v, asm.R2)
	c.add(asm.And.Imm(slot, 63), asm.Mov.Reg(asm.R1, slot), asm.LSh.Imm(asm.R1, 3), asm.Add.Reg(histogram, asm.R1))
	c.add(asm.LoadMem(asm.R1, histogram, 0, asm.DWord), asm.Add.Imm(asm.R1, 1), asm.StoreMem(histogram, 0, asm.R1, asm.DWord))
}

// since subtracts from the time in R9 the one at the key of a table, which is then used up. The program ends if there is none. R0 has the address of the value.
func (c *code) since(table string, key int16) {
	c.lookup(table, key)
	c.add(asm.JEq.Imm(asm.R0, 0, exit), asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.JEq.Imm(asm.R1, 0, exit))
	c.add(asm.Mov.Imm(asm.R2, 0), asm.StoreMem(asm.R0, 0, asm.R2, asm.DWord))
	c.add(asm.JGT.Reg(asm.R1, asm.R9, exit), asm.Sub.Reg(asm.R9, asm.R1))
}

// group sets dst to the identifier of the control group of the task in src.
func (c *code) group(dst, src asm.Register, k *kernel) {
	c.load(dst, src, k.groupPath[0])
	for _, f := range k.groupPath[1:] {
		c.load(dst, dst, f)
	}
}

// ownGroup sets R1 to the identifier of the control group of the task that runs.
func (c *code) ownGroup(k *kernel) {
	c.add(asm.FnGetCurrentTaskBtf.Call())
	c.group(asm.R1, asm.R0, k)
}

// countGroup counts for the control group in R1. The register kind has the kind in its second byte and the range in its first. The 8 bytes before those of the
// key at the address on the stack are overwritten too.
func (c *code) countGroup(key int16, kind asm.Register) {
	c.store(key, asm.R1)
	c.store(key+8, kind)
	c.bump("groups", key, key-8, asm.R0)
}

// comm copies the name of the task in src to 16 bytes of the stack.
func (c *code) comm(at int16, src asm.Register, k *kernel) {
	c.address(asm.R1, at)
	c.add(asm.Mov.Imm(asm.R2, commLen), asm.Mov.Reg(asm.R3, src), asm.Add.Imm(asm.R3, int32(k.comm.offset)), asm.FnProbeReadKernel.Call())
}
