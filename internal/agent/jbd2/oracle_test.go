package jbd2

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/agenttest"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

var agents = []string{"pmcd", "jbd2"}

// TestOracleDescriptors compares names, PMIDs, descriptors and instances of this machine with
// the real agent, as the shared object that pmcd loads, and the values of idle journals.
func TestOracleDescriptors(t *testing.T) {
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Lines: []string{"jbd2 122 dso jbd2_init $PMDAS/jbd2/pmda_jbd2.so"}})
	r := agenttest.Dial(t, d.Unix, Domain, "jbd2")
	if len(r.IDs) != 23 {
		t.Errorf("the real agent has %d metrics", len(r.IDs))
	}
	a := New(Config{})
	r.Descriptors(t, a, nil)
	r.Instances(t, a, pcp.NewInDom(Domain, 0))
	r.Instances(t, a, pcp.NewInDom(Domain, 1))
	r.Values(t, a, nil, r.IDs[0]) // the other values change while a journal is in use
}

// TestOracleTrees has both agents read several sets of files.
func TestOracleTrees(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jbd2")
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Lines: []string{"jbd2 122 pipe binary $PMDAS/jbd2/pmdajbd2 -d 122 -U root -j " + dir}})
	r := agenttest.Dial(t, d.Unix, Domain, "jbd2")
	a := New(Config{Dir: dir})
	compare := func(what string) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			r.Instances(t, a, pcp.NewInDom(Domain, 0))
			r.Values(t, a, nil)
		})
	}
	compare("no directory")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	compare("no journals")
	for i, name := range []string{"sda1-8", "dm-0-8", "loop0:123"} {
		write(t, dir, name, info(3, 100*i))
	}
	write(t, dir, "fresh", info(0, 1))
	compare("new kernel")
	write(t, dir, "sda1-8", info(2, 70))
	write(t, dir, "old", info(2, 80))
	compare("old kernel")
	write(t, dir, "dm-0-8", "")
	write(t, dir, "sda1-8", "7 transactions (8 requested), each up to 9 blocks\naverage:\n1ms running transaction\n")
	compare("numbers that stay")
	write(t, dir, "dm-0-8", "1 transactions (2 requested)\n")
	compare("numbers of another line")
	write(t, dir, "dm-0-8", info(3, 5))
	if err := os.RemoveAll(filepath.Join(dir, "sda1-8")); err != nil {
		t.Fatal(err)
	}
	compare("gone and back")
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range oddFiles {
			if !yield(name) {
				return
			}
		}
	}) {
		write(t, dir, name, oddFiles[name])
		compare("odd " + strings.Map(func(r rune) rune { return max(r, ' ') }, name))
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder/info"), 0o755); err != nil {
		t.Fatal(err)
	}
	compare("folder")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	compare("no directory again")
}

// TestOracleNumbers checks that our agent continues the numbers of journals of the real agent,
// and the reverse.
func TestOracleNumbers(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"one", "two", "three", "four"} {
		write(t, dir, name, info(3, i))
	}
	d := oracle.StartPMCD(t, oracle.Config{Agents: agents, Lines: []string{"jbd2 122 pipe binary $PMDAS/jbd2/pmdajbd2 -d 122 -U root -j " + dir}})
	r := agenttest.Dial(t, d.Unix, Domain, "jbd2")
	indom := pcp.NewInDom(Domain, 0)
	first, err := r.GetInDom(t.Context(), indom)
	if err != nil || len(first) != 4 {
		t.Fatalf("%v, %v", first, err)
	}
	kept := filepath.Join(d.Dir, "var/config/pmda")
	remove := func(name string) {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	remove(first[0].Name)
	write(t, dir, "five", info(3, 5))
	ours, err := New(Config{Dir: dir, Cache: kept}).Instances(t.Context(), indom)
	if want := append(slices.Clone(first[1:]), pcp.Instance{Inst: 4, Name: "five"}); err != nil || !slices.Equal(ours, want) {
		t.Errorf("%v, %v, want %v", ours, err, want)
	}
	remove(first[1].Name)
	d.Stop(t)
	d.Start(t)
	r = agenttest.Dial(t, d.Unix, Domain, "jbd2")
	again, err := r.GetInDom(t.Context(), indom)
	if err != nil || !slices.Equal(again, ours[1:]) {
		t.Errorf("the real agent has %v, %v after %v", again, err, ours)
	}
}
