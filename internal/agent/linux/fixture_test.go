package linux

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// fetchAs returns the values of metrics for a client.
func fetchAs(t testing.TB, a *Agent, client *pmda.Client, ids ...pcp.PMID) *pcp.Result {
	t.Helper()
	if err := a.Refresh(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	res := new(pcp.Result)
	if err := a.Fetch(t.Context(), &pmda.FetchRequest{Client: client, PMIDs: ids, Result: res}); err != nil {
		t.Fatal(err)
	}
	return res
}

var root = &pmda.Client{Attrs: map[pmda.AttrKey]string{pmda.AttrUserID: "0"}}

// id returns the PMID of a metric.
func (a *Agent) id(t testing.TB, name string) pcp.PMID {
	t.Helper()
	ids := a.idsOf(func(n string) bool { return n == name })
	if len(ids) != 1 {
		t.Fatalf("%d metrics are called %s", len(ids), name)
	}
	return ids[0]
}

// dump prints all values, a line each, and the errors.
func dump(t testing.TB, a *Agent) []byte {
	t.Helper()
	names := make(map[pcp.InDom]map[int32]string)
	var b bytes.Buffer
	var ids []pcp.PMID
	var labels []string
	a.Metrics(func(name string, id pcp.PMID) {
		// These are of the machine that the test runs on.
		if strings.HasPrefix(name, "filesys.") && name != "filesys.mountdir" && name != "filesys.readonly" || strings.HasPrefix(name, "tmpfs.") {
			return
		}
		ids, labels = append(ids, id), append(labels, name)
	})
	res := fetchAs(t, a, root, ids...)
	for i, vs := range res.Sets {
		if vs.Err != 0 {
			fmt.Fprintf(&b, "%s: error %d\n", labels[i], vs.Err)
		}
		desc, err := a.Desc(t.Context(), vs.PMID)
		if err != nil {
			t.Fatal(err)
		}
		if desc.InDom != pcp.InDomNull && names[desc.InDom] == nil {
			insts, err := a.Instances(pmda.WithClient(t.Context(), root), desc.InDom)
			if err != nil {
				t.Fatal(err)
			}
			names[desc.InDom] = make(map[int32]string)
			for _, inst := range insts {
				names[desc.InDom][inst.Inst] = inst.Name
			}
		}
		for _, v := range vs.Values {
			text := v.As(desc.Type).String()
			if desc.InDom == pcp.InDomNull {
				fmt.Fprintf(&b, "%s %s\n", labels[i], text)
				continue
			}
			name, ok := names[desc.InDom][v.Inst]
			if !ok {
				t.Errorf("%s: instance %d has a value but is not in %v", labels[i], v.Inst, desc.InDom)
			}
			fmt.Fprintf(&b, "%s[%d %s] %s\n", labels[i], v.Inst, name, text)
		}
	}
	return b.Bytes()
}

// TestFixtures compares all values of the trees in testdata with golden files.
func TestFixtures(t *testing.T) {
	for _, name := range []string{"vm", "old", "odd", "new"} {
		t.Run(name, func(t *testing.T) {
			a := New(Config{Root: filepath.Join("testdata", name), HZ: 100, PageSize: 4096, Version: "1.2.3"})
			got := dump(t, a)
			if again := dump(t, a); !bytes.Equal(got, again) {
				t.Errorf("a second reading differs:\n%s", cmp.Diff(string(got), string(again)))
			}
			file := filepath.Join("testdata", name+".golden")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("values changed (-want +got):\n%s", diff)
			}
		})
	}
}
