package stdpmid_test

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/stdpmid"
)

func TestTable(t *testing.T) {
	names, numbers, last := map[string]bool{}, map[int]bool{}, 0
	for d := range stdpmid.All() {
		if d.Number <= last || d.Number > stdpmid.MaxNumber || names[d.Name] || numbers[d.Number] || d.Name != strings.ToUpper(d.Name) {
			t.Errorf("%v comes after %d, or a second time", d, last)
		}
		names[d.Name], numbers[d.Number], last = true, true, d.Number
	}
	for name, want := range map[string]int{"PMCD": 2, "LINUX": 60, "SIMPLE": 253, "RESERVED_DO_NOT_USE": pcp.MaxAgentDomain + 1} {
		if n, ok := stdpmid.Number(name); !ok || n != want {
			t.Errorf("Number(%s) = %d, %v, want %d", name, n, ok, want)
		}
	}
	if n, ok := stdpmid.Number("NOTHING"); ok || n != 0 {
		t.Errorf("Number(NOTHING) = %d, %v", n, ok)
	}
	for range stdpmid.All() {
		break
	}
}

// table reads lines of a name and a number, after a word that is not part of it if word is
// not "".
func table(text, word string) map[string]int {
	all := make(map[string]int)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if word != "" && len(f) > 0 {
			if f[0] != word {
				continue
			}
			f = f[1:]
		}
		if len(f) >= 2 && f[0][0] != '#' {
			if n, err := strconv.Atoi(f[1]); err == nil {
				all[f[0]] = n
			}
		}
	}
	return all
}

// TestFiles checks that both forms of the table match the table.
func TestFiles(t *testing.T) {
	want := make(map[string]int)
	for d := range stdpmid.All() {
		want[d.Name] = d.Number
	}
	if diff := cmp.Diff(want, table(stdpmid.Source(), "")); diff != "" {
		t.Errorf("Source (-want +got):\n%s", diff)
	}
	header := stdpmid.Header(stdpmid.All())
	if diff := cmp.Diff(want, table(header, "#define")); diff != "" {
		t.Errorf("Header (-want +got):\n%s", diff)
	}
	if !strings.Contains(header, "\n#ifndef __STDPMID\n#define __STDPMID\n") || !strings.HasSuffix(header, "\n#endif\n") {
		t.Errorf("Header does not guard against a second time:\n%.200s", header)
	}
}

// TestInstalled compares all names and numbers with the installed table of PCP.
func TestInstalled(t *testing.T) {
	var text []byte
	err := fs.ErrNotExist
	for _, path := range []string{"/var/lib/pcp/pmns/stdpmid.pcp", "/usr/lib/pcp/pmns/stdpmid.pcp", "/usr/libexec/pcp/pmns/stdpmid.pcp"} {
		if text, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: no PCP is installed here, which has a stdpmid.pcp to compare with")
	} else if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table(string(text), ""), table(stdpmid.Source(), "")); diff != "" {
		t.Errorf("stdpmid.pcp (-theirs +ours):\n%s", diff)
	}
}
