package linux

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHostMounts reports the mounts of a host whose service manager gave this process mounts for reading only.
func TestHostMounts(t *testing.T) {
	const (
		mounts = "/dev/vda1 / ext4 ro,relatime 0 0\n/dev/vdb /data\\040one xfs ro 0 0\n/dev/vdc /ro ext4 ro 0 0\n/dev/vdd /private ext4 rw 0 0\n/dev/vde /bind ext4 ro 0 0\n/dev/vdf /gone ext4 ro 0 0\n"
		own    = "100 1 253:1 / / ro,relatime shared:1 master:2 - ext4 /dev/vda1 rw,errors=remount-ro\n101 100 253:2 / /data\\040one ro - xfs /dev/vdb rw\n" +
			"102 100 253:3 / /ro ro - ext4 /dev/vdc ro\n103 100 253:4 / /private rw - ext4 /dev/vdd rw\n104 100 253:5 / /bind ro - ext4 /dev/vde rw\n"
		first = "20 1 253:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n21 20 253:2 / /data\\040one rw - xfs /dev/vdb rw\n" +
			"22 20 253:3 / /ro ro - ext4 /dev/vdc ro\n23 20 253:5 / /bind ro - ext4 /dev/vde rw\n"
	)
	write := func(dir, name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name, own, first string, want map[string]uint64) *mountReader {
		t.Helper()
		dir := t.TempDir()
		write(dir, "proc/self/mountinfo", own)
		if first != "" {
			write(dir, "proc/1/mountinfo", first)
		}
		r := newMountReader(newHost(Config{Root: dir, Replaced: true}))
		r.read([]byte(mounts))
		out := r.blocks[blockMount]
		for row, device := range out.Names() {
			if got, ok := out.Get(row, mountReadonly); !ok || got != want[device] {
				t.Errorf("%s: %s is %d, want %d", name, device, got, want[device])
			}
		}
		if out.Rows() != 6 {
			t.Errorf("%s: %d mounts", name, out.Rows())
		}
		// The file system becomes read-only, which changes no line of /proc/self/mounts.
		write(dir, "proc/self/mountinfo", "100 1 253:1 / / ro - ext4 /dev/vda1 ro\n")
		if first != "" {
			write(dir, "proc/1/mountinfo", "20 1 253:1 / / ro - ext4 /dev/vda1 ro\n")
		}
		r.read([]byte(mounts))
		if got, _ := out.Get(0, mountReadonly); got != 1 {
			t.Errorf("%s: %s is %d after an error, want 1", name, out.Names()[0], got)
		}
		return r
	}
	check("mounts of its own", own, first, map[string]uint64{"/dev/vdc": 1, "/dev/vde": 1, "/dev/vdf": 1})
	// The same mounts as the first process, or not known: the options of the mounts.
	options := map[string]uint64{"/dev/vda1": 1, "/dev/vdb": 1, "/dev/vdc": 1, "/dev/vde": 1, "/dev/vdf": 1}
	check("mounts of the host", own, own, options)
	check("the host's are hidden", own, "", options)
	check("odd tables", "x\n1\n2 - \n3 1 1:1 / / ro - ext4 /dev/vda1", "1 2 3 / / - - - - -\n", options)
}

// FuzzMountinfo gives both tables of mounts any contents.
func FuzzMountinfo(f *testing.F) {
	f.Add([]byte("100 1 253:1 / / ro shared:1 - ext4 /dev/vda1 rw\n"), []byte("20 1 253:1 / / rw - ext4 /dev/vda1 rw\n"))
	f.Add([]byte("1 - - - - - - - - -\n\n18446744073709551616 1 1 / / - a b ro"), []byte("1 1 1:1 / /\\040\\9 ro - a b ro,"))
	f.Fuzz(func(t *testing.T, own, first []byte) {
		for _, b := range [][]byte{own, first} {
			parseMountinfo(b, func(_ uint64, at mountPoint, _ mountState) {
				if len(at.dir)+len(at.device) > len(b) {
					t.Errorf("mount %+v of %d bytes", at, len(b))
				}
			})
		}
	})
}
