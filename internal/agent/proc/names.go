package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/procfs"
)

// names are the names of users or groups, of /etc/passwd or /etc/group. The file is
// read again when it has changed.
type names struct {
	path     string
	byID     map[uint32]string
	modified time.Time
	checked  uint64 // the reading at which the file was checked
	reading  *uint64
}

// maxNames is the number of bytes read of a file of names.
const maxNames = 32 << 20

// name returns "" for a number without a name.
func (n *names) name(id uint32) string {
	if n.byID == nil || n.checked != *n.reading {
		n.checked = *n.reading
		n.refresh()
	}
	return n.byID[id]
}

func (n *names) refresh() {
	info, err := os.Stat(n.path)
	if err != nil || n.byID != nil && info.ModTime().Equal(n.modified) {
		if n.byID == nil {
			n.byID = make(map[uint32]string)
		}
		return
	}
	n.modified = info.ModTime()
	n.byID = make(map[uint32]string)
	r := procfs.Buffer{Max: maxNames}
	b, err := r.Read(n.path, false)
	if err != nil {
		return
	}
	for line := range procfs.Lines(b) {
		name, rest, _ := bytes.Cut(line, []byte{':'})
		_, rest, _ = bytes.Cut(rest, []byte{':'})
		id, _, ok := procfs.Uint(rest)
		if _, twice := n.byID[uint32(id)]; ok && !twice && id <= 1<<32-1 {
			n.byID[uint32(id)] = string(name)
		}
	}
}

// ttys are the names of terminals.
type ttys struct {
	root    string
	drivers []ttyDriver
	read    bool
	known   map[uint32]string
}

// A ttyDriver has the terminals first to last of a major device number.
type ttyDriver struct {
	name               string
	major, first, last uint64
}

const maxTTYs = 4096

// name returns the name of the terminal with a device number as /proc/PID/stat has it,
// ? for none.
func (t *ttys) name(dev uint32) string {
	if dev == 0 {
		return "?"
	}
	name, ok := t.known[dev]
	if !ok {
		if t.known == nil || len(t.known) >= maxTTYs {
			t.known = make(map[uint32]string)
		}
		name = t.find(dev)
		t.known[dev] = name
	}
	return name
}

func (t *ttys) find(dev uint32) string {
	if !t.read {
		t.read = true
		b, err := procfs.ReadOnce(filepath.Join(t.root, "proc/tty/drivers"))
		if err == nil {
			t.drivers = parseDrivers(b)
		}
	}
	major, minor := uint64(dev>>8&0xfff), uint64(dev&0xff|dev>>12&0xfff00)
	for _, d := range t.drivers {
		switch {
		case d.major != major || minor < d.first || minor > d.last:
		case d.first == d.last:
			return d.name
		case strings.HasPrefix(d.name, "pts"):
			return d.name + "/" + strconv.FormatUint(minor, 10)
		}
	}
	for _, dir := range [...]string{"pts", ""} {
		if name, ok := t.search(dir, major, minor); ok {
			return name
		}
	}
	return "?"
}

// search looks for a device in a directory of /dev.
func (t *ttys) search(dir string, major, minor uint64) (string, bool) {
	path := filepath.Join(t.root, "dev", dir)
	names, _ := readNames(path)
	for _, name := range names {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode()&os.ModeCharDevice == 0 {
			continue
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && deviceMajor(uint64(st.Rdev)) == major && deviceMinor(uint64(st.Rdev)) == minor {
			return filepath.Join(dir, name), true
		}
	}
	return "", false
}

// readNames returns the names in a directory.
func readNames(path string) ([]string, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func deviceMajor(dev uint64) uint64 { return dev>>8&0xfff | dev>>32&^0xfff }
func deviceMinor(dev uint64) uint64 { return dev&0xff | dev>>12&^0xff&0xffffffff }

// parseDrivers reads lines such as "pty_slave /dev/pts 136 0-1048575 pty:slave".
func parseDrivers(b []byte) []ttyDriver {
	var drivers []ttyDriver
	for line := range procfs.Lines(b) {
		_, line = procfs.Field(line)
		name, line := procfs.Field(line)
		major, line, ok := procfs.Uint(line)
		first, line, ok2 := procfs.Uint(line)
		if !ok || !ok2 {
			continue
		}
		d := ttyDriver{name: strings.TrimPrefix(string(name), "/dev/"), major: major, first: first, last: first}
		if len(line) > 0 && line[0] == '-' {
			if d.last, _, ok = procfs.Uint(line[1:]); !ok {
				continue
			}
		}
		drivers = append(drivers, d)
	}
	return drivers
}
