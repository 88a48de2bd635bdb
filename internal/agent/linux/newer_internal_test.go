package linux

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinksOfDevices reads symbolic links in /sys/block and /dev/disk for the
// controllers of disks and the identifiers of file systems.
func TestLinksOfDevices(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	const stats = " 1 0 8 0 1 0 8 0 0 0 0\n"
	write("proc/diskstats", "8 0 sda"+stats+"8 1 sda1"+stats+"259 0 nvme0n1"+stats+"8 16 sdb"+stats+"253 0 dm-0"+stats)
	const sda = "devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0"
	write("sys/"+sda+"/model", "QEMU HARDDISK   \n")
	write("sys/"+sda+"/block/sda/queue/scheduler", "none\n")
	link("../../../"+"0:0:0:0", "sys/"+sda+"/block/sda/device")
	link("../"+sda+"/block/sda", "sys/block/sda")
	const nvme = "devices/pci0001:ae/0001:ae:00.0/0001:af:00.0/nvme/nvme0"
	write("sys/"+nvme+"/model", "Fast Disk 1T\n")
	write("sys/"+nvme+"/nvme0n1/queue/scheduler", "[none]\n")
	link("../../nvme0", "sys/"+nvme+"/nvme0n1/device")
	link("../"+nvme+"/nvme0n1", "sys/block/nvme0n1")
	write("sys/block/sdb/queue/scheduler", "none\n") // no link: nothing is known
	write("sys/block/dm-0/dm/name", "vg-root\n")
	write("proc/self/mounts", "/dev/mapper/vg-root / xfs rw 0 0\n/dev/sda1 /boot ext4 ro 0 0\n/dev/sdb /data btrfs rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n")
	write("dev/sda1", "")
	write("dev/dm-0", "")
	link("../dm-0", "dev/mapper/vg-root")
	link("../../sda1", "dev/disk/by-uuid/1234-ABCD")
	link("../../dm-0", "dev/disk/by-uuid/3b5f0c8e-5d0a-4d2c-8f54-000000000001")
	link("../../sdq9", "dev/disk/by-uuid/elsewhere")

	a := New(Config{Root: root, HZ: 100, PageSize: 4096})
	get := func(name string) map[int32]string {
		t.Helper()
		values := make(map[int32]string)
		for _, v := range fetchAs(t, a, nil, a.id(t, name)).Sets[0].Values {
			values[v.Inst] = string(v.Bytes())
		}
		return values
	}
	want := func(name string, want map[int32]string) {
		t.Helper()
		if diff := cmp.Diff(want, get(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	want("hinv.disk.ctlr", map[int32]string{0: "00:1f.2", 1: "0001:ae:00.0"})
	want("hinv.disk.model", map[int32]string{0: "QEMU HARDDISK", 1: "Fast Disk 1T"})
	want("filesys.uuid", map[int32]string{0: "3b5f0c8e-5d0a-4d2c-8f54-000000000001", 1: "1234-ABCD"})
	want("filesys.type", map[int32]string{0: "xfs", 1: "ext4", 2: "btrfs"})
	// Another disk gets the name.
	write("sys/"+sda+"/model", "Other\n")
	want("hinv.disk.model", map[int32]string{0: "Other", 1: "Fast Disk 1T"})
}
