package kvm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A testTree is a directory with files of a kernel.
type testTree struct {
	t   testing.TB
	dir string
}

func (tr testTree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

// conf writes a kvm.conf with the paths of the tree, and returns its directory PCP_PMDAS_DIR.
func (tr testTree) conf(more string) string {
	tr.write("pmdas/kvm/kvm.conf", fmt.Sprintf("# of a test\n[paths]\ndebugfs=%[1]s/debug\n  tracefs= %[1]s/tracing more\nlockdown=%[1]s/lockdown\n[other]\ndebugfs=/none\n%[2]s", tr.dir, more))
	return filepath.Join(tr.dir, "pmdas")
}

// config is the Config for the file of conf.
func (tr testTree) config(more string) Config {
	tr.t.Helper()
	cfg := Config{CPUs: 3}
	if err := cfg.ReadConf(filepath.Join(tr.conf(more), "kvm/kvm.conf")); err != nil {
		tr.t.Fatal(err)
	}
	return cfg
}

// counters writes the files of a kernel, each with another number.
func (tr testTree) counters(seed int) {
	for i, c := range debugCounters {
		if i%7 != 3 {
			tr.write("debug/kvm/"+c.name, fmt.Sprintf("%d\n", seed+i*i))
		}
	}
	tr.write("debug/kvm/1234-11/exits", "99\n")
	tr.write("debug/kvm/unknown", "7\n")
	tr.write("debug/kvm/.exits", "98\n")
}

// oddNumbers are files that no kernel writes.
var oddNumbers = []string{
	"", "\n5\n", " 5", "\t\v 0x1F\n", "017", "08", "0x", "0xg", "-1", "+7 8", "18446744073709551616", "-18446744073709551616", "0xffffffffffffffff", "0x10000000000000000",
	"x", "5\x006", "\x00", "1e3", "- 5", "--5", "0X7f", "00", "5", "0xABCDEFabcdef",
}
