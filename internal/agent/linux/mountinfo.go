package linux

import (
	"bytes"

	"github.com/go-pcp/pcp/internal/procfs"
)

// A mountPoint identifies a mount by its directory and its device, as they are in /proc/self/mounts.
type mountPoint struct{ dir, device string }

// A mountState is a mount in a table of mounts of a process, such as /proc/self/mountinfo:
//
//	36 35 98:0 /mnt1 /mnt2 ro,noatime master:1 - ext3 /dev/root rw,errors=continue
//
// The first options are those of the mount, the last those of the file system.
type mountState struct{ readonly, fsReadonly bool }

// parseMountinfo calls fn for each mount, with its number.
func parseMountinfo(b []byte, fn func(id uint64, at mountPoint, m mountState)) {
	for line := range procfs.Lines(b) {
		id, line, ok := procfs.Uint(line)
		if !ok {
			continue
		}
		for range 3 { // parent, device number, root
			_, line = procfs.Field(line)
		}
		dir, line := procfs.Field(line)
		options, line := procfs.Field(line)
		_, line, ok = bytes.Cut(line, []byte("- ")) // after optional fields, which have no such word
		if !ok {
			continue
		}
		_, line = procfs.Field(line) // type
		device, line := procfs.Field(line)
		fsOptions, _ := procfs.Field(line)
		if len(fsOptions) == 0 {
			continue
		}
		fn(id, mountPoint{unescape(dir), string(device)}, mountState{hasOption(options, "ro"), hasOption(fsOptions, "ro")})
	}
}

// hostMounts finds out which file systems are mounted for reading only on a host whose service manager gave this program mounts of its
// own, as ProtectSystem= in a unit does: these are for reading only, whatever those of the host are.
type hostMounts struct {
	own, first *procfs.File // of this process and of the first one
	separate   bool         // this process has mounts of its own
	known      bool         // they were compared
	readonly   map[mountPoint]bool
}

// newHostMounts returns nil if the table of mounts is not that of this process.
func newHostMounts(h *host) *hostMounts {
	if h.box != nil || h.cfg.Live {
		return nil
	}
	return &hostMounts{own: h.wholeFile("proc/self/mountinfo"), first: h.wholeFile("proc/1/mountinfo"), readonly: make(map[mountPoint]bool)}
}

// read reads the tables, if this process has mounts of its own.
func (m *hostMounts) read() {
	if m.known && !m.separate {
		return
	}
	clear(m.readonly)
	ids := make(map[uint64]bool)
	shared, others := false, false
	if own, err := m.own.Read(); err == nil {
		parseMountinfo(own, func(id uint64, at mountPoint, state mountState) {
			ids[id] = true
			m.readonly[at] = state.fsReadonly
		})
	}
	if first, err := m.first.Read(); err == nil {
		// Numbers of mounts are unique on a host.
		parseMountinfo(first, func(id uint64, at mountPoint, state mountState) {
			shared, others = shared || ids[id], true
			if _, ok := m.readonly[at]; ok {
				m.readonly[at] = state.readonly || state.fsReadonly
			}
		})
	}
	if !m.known {
		m.known, m.separate = true, len(ids) > 0 && others && !shared
	}
	if !m.separate || !others {
		clear(m.readonly)
	}
}

// of returns whether a mount is for reading only, as its line in /proc/self/mounts has it or, if that is not the host's, as the host has it.
func (m *hostMounts) of(at mountPoint, readonly bool) bool {
	if m == nil {
		return readonly
	}
	if ro, ok := m.readonly[at]; ok {
		return ro
	}
	return readonly
}
