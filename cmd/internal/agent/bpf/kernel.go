package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// commLen is the size of a task's name (TASK_COMM_LEN).
const commLen = 16

// A field is where a structure of the kernel has a number or a pointer.
type field struct {
	offset int16
	size   asm.Size
}

// A kernel has the type information of the running kernel while modules are loaded.
type kernel struct {
	types     *btf.Cache
	pid, tgid field
	comm      field
	groupPath []field // from a task to the identifier of its control group
}

// newKernel reads the type information. It is large, so the caller drops the kernel when the modules are loaded.
func newKernel(hostRoot string) (*kernel, error) {
	if _, err := os.Stat(filepath.Join(hostRoot, "sys/kernel/btf/vmlinux")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("the kernel has no type information in /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF)")
		}
		return nil, err
	}
	k := &kernel{types: btf.NewCache()}
	var err error
	find := func(to *field, structure string, path ...string) {
		if err == nil {
			*to, err = k.field(structure, path...)
		}
	}
	find(&k.pid, "task_struct", "pid")
	find(&k.tgid, "task_struct", "tgid")
	find(&k.comm, "task_struct", "comm")
	if err != nil {
		return nil, err
	}
	path := [][2]string{{"task_struct", "cgroups"}, {"css_set", "dfl_cgrp"}, {"cgroup", "kn"}, {"kernfs_node", "id"}}
	if _, v1 := groupDir(hostRoot); v1 {
		path = append([][2]string{{"task_struct", "sched_task_group"}, {"task_group", "css.cgroup"}}, path[2:]...)
	}
	for _, p := range path {
		var f field
		find(&f, p[0], p[1])
		k.groupPath = append(k.groupPath, f)
	}
	return k, err
}

// field finds the first of the given fields that a structure has. A name may be a path, as css.cgroup.
func (k *kernel) field(structure string, names ...string) (field, error) {
	spec, err := k.types.Kernel()
	if err != nil {
		return field{}, err
	}
	var s *btf.Struct
	if err := spec.TypeByName(structure, &s); err != nil {
		return field{}, fmt.Errorf("the kernel's type information: struct %s: %w", structure, err)
	}
	for _, name := range names {
		if f, ok := fieldOf(s.Members, name); ok {
			return f, nil
		}
	}
	return field{}, fmt.Errorf("the kernel's struct %s has no field %s", structure, names[0])
}

func fieldOf(members []btf.Member, name string) (field, bool) {
	first, rest := name, ""
	for i := range name {
		if name[i] == '.' {
			first, rest = name[:i], name[i+1:]
			break
		}
	}
	for _, m := range members {
		in := btf.UnderlyingType(m.Type)
		var inner []btf.Member
		switch t := in.(type) {
		case *btf.Struct:
			inner = t.Members
		case *btf.Union:
			inner = t.Members
		}
		var f field
		switch {
		case m.Name == "" && inner != nil:
			var ok bool
			if f, ok = fieldOf(inner, name); !ok {
				continue
			}
		case m.Name == first && rest != "":
			var ok bool
			if f, ok = fieldOf(inner, rest); !ok {
				return f, false
			}
		case m.Name == first:
			n, err := btf.Sizeof(in)
			if err != nil {
				return f, false
			}
			f.size = map[int]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word}[n]
			if n > 4 {
				f.size = asm.DWord
			}
		default:
			continue
		}
		offset := int(f.offset) + int(m.Offset.Bytes())
		if offset > 1<<15-1 {
			return f, false
		}
		f.offset = int16(offset)
		return f, true
	}
	return field{}, false
}

// isPointer reports whether an argument of a tracepoint is the address of a structure.
func (k *kernel) isPointer(tracepoint string, n int) bool {
	spec, err := k.types.Kernel()
	if err != nil {
		return false
	}
	var def *btf.Typedef
	if err := spec.TypeByName("btf_trace_"+tracepoint, &def); err != nil {
		return false
	}
	ptr, ok := def.Type.(*btf.Pointer)
	if !ok {
		return false
	}
	proto, ok := ptr.Target.(*btf.FuncProto)
	if !ok || n+1 >= len(proto.Params) { // the first is the data of the tracepoint
		return false
	}
	_, ok = btf.UnderlyingType(proto.Params[n+1].Type).(*btf.Pointer)
	return ok
}
