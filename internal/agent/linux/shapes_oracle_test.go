package linux_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/linux"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// shapeDiffers are the beginnings of names of metrics that are not compared on trees of
// other machines, and why.
var shapeDiffers = map[string]string{
	"ipc":                         askIPC,
	"kernel.uname":                "the real agent asks the kernel",
	"pmda.uname":                  "the real agent asks the kernel",
	"hinv.machine":                "the real agent asks the kernel",
	"filesys.":                    "the real agent asks the file systems of the machine",
	"tmpfs.":                      "the real agent asks the file systems of the machine",
	"network.interface.inet_addr": "the real agent asks the kernel, ours has nothing to ask below another root",
	"network.interface.ipv6":      "numbered after the IPv4 addresses, which ours has not",
	"network.interface.hw":        "numbered after the IPv4 addresses, which ours has not",
	"network.interface.speed":     "the real agent asks the kernel if /sys lacks one of the interfaces",
	"network.interface.baudrate":  "the real agent asks the kernel if /sys lacks one of the interfaces",
	"network.interface.duplex":    "the real agent asks the kernel if /sys lacks one of the interfaces",
	"network.interface.wireless":  "the real agent asks the kernel",
	"network.interface.mtu":       "the real agent asks the kernel",
	"network.interface.up":        "the real agent asks the kernel",
	"network.interface.running":   "the real agent asks the kernel",
	"network.interface.type":      "the real agent asks the kernel",
	"disk.md.status":              "the real agent runs mdadm",
	"disk.wwid.capacity":          "the real agent does not read what it needs",
	"disk.wwid.discard_bytes":     "the real agent reports that of the last path",
	"mem.vmstat.thp_split":        "the real agent takes what is missing for -1",
}

// rootDiffers is the same for the trees of the QA suite, which have few files.
var rootDiffers = map[string]string{
	"kernel.per":             "which processors there are is not in most of them",
	"kernel.all.interrupts":  "the real agent takes ERR and MIS for interrupts where a blank comes before them",
	"hinv.cpu":               "which processors there are is not in most of them",
	"hinv.ncpu":              "which processors there are is not in most of them",
	"hinv.nnode":             "which nodes there are is not in most of them",
	"hinv.node":              "which nodes there are is not in most of them",
	"hinv.map.cpu":           "which processors there are is not in most of them",
	"network.softnet.percpu": "which processors there are is not in most of them",
	"network.tcp.maxconn":    "without a file the real agent reports -1",
	"network.all":            "the real agent has a configuration of which interfaces to leave out",
	"mem.util.available":     "the real agent takes bytes for Kbytes where it has to estimate",
}

// oldDiffers is the same for kernels that lack files.
var oldDiffers = map[string]string{
	"kernel.percpu.sirq": noFile,
	"mem.util.available": "the real agent takes bytes for Kbytes where it has to estimate",
	"zram.capacity":      noFile,
}

// Labels that differ: serial numbers of instance domains, and why.
var labelsDiffer = map[int]string{
	31: "the real agent gives all blocks of memory to node 0",
	3:  "the real agent drops labels with bytes that JSON does not allow, or makes a text of them that is not JSON",
}

// compareTree compares all values, and the instances of all domains, of both agents. In a partial tree missing values
// are equal to 0. why returns the reason not to compare a metric, "" to compare it.
func compareTree(t *testing.T, r *real, a *linux.Agent, partial bool, why func(name string) string) {
	t.Helper()
	ours := make(map[pcp.InDom]map[int32]string)
	theirs := make(map[pcp.InDom]map[int32]string)
	names := func(insts []pcp.Instance) map[int32]string {
		m := make(map[int32]string)
		for _, inst := range insts {
			m[inst.Inst] = inst.Name
		}
		return m
	}
	for i, id := range r.ids {
		if why(r.names[i]) != "" {
			continue
		}
		desc, err := a.Desc(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		ids := []pcp.PMID{id}
		got := fetchOurs(t, a, ids)
		want, err := r.Fetch(t.Context(), ids)
		// The real agent may crash on such a tree; its collector starts it again.
		for try := 0; err == nil && want.Sets[0].Err == pcp.ErrIPC && try < 3; try++ {
			want, err = r.Fetch(t.Context(), ids)
		}
		if err != nil {
			t.Fatal(err)
		}
		if partial && isNothing(desc, &got.Sets[0]) && isNothing(desc, &want.Sets[0]) {
			continue
		}
		if diff := compare("", desc, &got.Sets[0], &want.Sets[0], &got.Sets[0]); diff != "" {
			t.Errorf("%s (%v): %s", r.names[i], id, diff)
			continue
		}
		if desc.InDom == pcp.InDomNull || len(got.Sets[0].Values) == 0 {
			continue
		}
		if ours[desc.InDom] == nil {
			insts, err := a.Instances(t.Context(), desc.InDom)
			if err != nil {
				t.Fatal(err)
			}
			ours[desc.InDom] = names(insts)
			insts, err = r.GetInDom(t.Context(), desc.InDom)
			if err != nil && !errors.Is(err, pcp.ErrInDom) {
				t.Fatal(err)
			}
			theirs[desc.InDom] = names(insts)
			if diff := cmp.Diff(theirs[desc.InDom], ours[desc.InDom]); diff != "" {
				t.Errorf("instances of %v, of %s (-want +got):\n%.2000s", desc.InDom, r.names[i], diff)
			}
			if labelsDiffer[desc.InDom.Serial()] == "" {
				compareLabels(t, r, a, desc.InDom)
			}
		}
	}
}

// compareLabels compares the labels of a domain and its instances.
func compareLabels(t *testing.T, r *real, a *linux.Agent, indom pcp.InDom) {
	t.Helper()
	for _, kind := range []pcp.LabelFlags{pcp.LabelInDom, pcp.LabelInstances} {
		want, err := r.Labels(t.Context(), kind, uint32(indom))
		if err != nil && !errors.Is(err, pcp.ErrInDom) {
			t.Fatalf("labels of %v: %v", indom, err)
		}
		got, err := a.Labels(t.Context(), uint32(indom), kind)
		if err != nil {
			t.Fatal(err)
		}
		text := func(sets []pcp.LabelSet) []string {
			var out []string
			for _, s := range sets {
				if len(s.Index) > 0 {
					out = append(out, fmt.Sprintf("%d %s", s.Inst, s.JSON))
				}
			}
			slices.Sort(out)
			return out
		}
		if diff := cmp.Diff(text(want), text(got)); diff != "" {
			t.Errorf("labels %v of %v (-want +got):\n%.1000s", kind, indom, diff)
		}
	}
}

// reasons returns the first reason in the maps not to compare a metric.
func reasons(maps ...map[string]string) func(name string) string {
	return func(name string) string {
		if reason := differs[name]; reason != "" {
			return reason
		}
		for _, m := range maps {
			for prefix, reason := range m {
				if strings.HasPrefix(name, prefix) {
					return reason
				}
			}
		}
		return ""
	}
}

// TestOracleShapes has both agents read trees of other machines, twice with a change in
// between.
func TestOracleShapes(t *testing.T) {
	small := linux.Shape{CPUs: 4, Nodes: 2, SCSI: 4, NVMe: 1, DM: 2, MD: 1, Zram: 1, Interfaces: 16, Mounts: 20}
	shapes := map[string]linux.Shape{"big": linux.Big(), "6.6": small}
	for _, kernel := range []string{"2.6.32", "3.10", "4.4", "4.19", "5.4", "5.15"} {
		s := small
		s.Kernel = kernel
		shapes[kernel] = s
	}
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			tree := linux.WriteShape(t, s)
			r := startReal(t, "LINUX_STATSPATH="+tree.Dir, "LINUX_NCPUS="+strconv.Itoa(s.CPUs), "LINUX_HERTZ=100", "LINUX_PAGESIZE=4096")
			a := linux.New(linux.Config{Root: tree.Dir, HZ: 100, PageSize: 4096, Replaced: true})
			why := reasons(shapeDiffers)
			if s.Kernel != "" {
				why = reasons(shapeDiffers, oldDiffers)
			}
			compareTree(t, r, a, false, why)
			if s.Kernel == "" {
				tree.HotPlug(s)
				compareTree(t, r, a, false, why)
			}
		})
	}
}

// TestOracleRoots has both agents read the copies of /proc and /sys of real machines that
// come with PCP's own QA suite.
func TestOracleRoots(t *testing.T) {
	oracle.Require(t)
	roots, err := filepath.Glob("/var/lib/pcp/testsuite/linux/*-root-*.tgz")
	if err != nil || len(roots) == 0 {
		oracle.Missing(t, "no trees of the QA suite")
	}
	for _, archive := range roots {
		name := strings.TrimSuffix(filepath.Base(archive), ".tgz")
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Cleanup(func() { makeRemovable(dir) })
			out, err := exec.Command("tar", "xzf", archive, "-C", dir).CombinedOutput()
			if err != nil && os.Geteuid() != 0 && strings.Contains(string(out), "Cannot mknod") {
				t.Skip("SKIPPED: only root can make the device files of this tree")
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r := startReal(t, "LINUX_STATSPATH="+dir, "LINUX_HERTZ=100", "LINUX_PAGESIZE=4096", "LINUX_NCPUS="+strconv.Itoa(processors(dir)))
			a := linux.New(linux.Config{Root: dir, HZ: 100, PageSize: 4096, Replaced: true})
			compareTree(t, r, a, true, reasons(shapeDiffers, rootDiffers))
		})
	}
}

// makeRemovable lets this user remove the files in the directories of a tree. The directories of a copy of /proc or
// /sys may be read-only, which stops all users except root.
func makeRemovable(dir string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
}

// processors returns the number of processors of a tree.
func processors(dir string) int {
	b, err := os.ReadFile(filepath.Join(dir, "proc/stat"))
	if err != nil {
		return 1
	}
	return max(1, len(regexp.MustCompile(`(?m)^cpu\d`).FindAll(b, -1)))
}

// isNothing reports whether all values are 0. The real agent reports 0 for a file that is
// absent; ours has no value.
func isNothing(desc pcp.Desc, vs *pcp.ValueSet) bool {
	for _, v := range vs.Values {
		v = v.As(desc.Type)
		if text, ok := v.Text(); ok && text != "" || !ok && number(v) != 0 {
			return false
		}
	}
	return true
}
