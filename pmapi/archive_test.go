package pmapi

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/go-pcp/pcp"
)

// suite is where the QA suite of the real PCP has its archives.
const suite = "/var/lib/pcp/testsuite/"

func openSuite(t *testing.T, name string) *Context {
	t.Helper()
	if _, err := os.Stat(suite); err != nil {
		t.Skipf("the QA suite of PCP is not installed: %v", err)
	}
	c, err := OpenArchive(suite + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestArchiveContext(t *testing.T) {
	ctx := context.Background()
	c := openSuite(t, "archives/ok-foo")
	if c.Kind() != SourceArchive || c.PMNSLocation() != PMNSArchive || c.Mode() != ModeForw {
		t.Errorf("kind %v, names %v, mode %v", c.Kind(), c.PMNSLocation(), c.Mode())
	}
	label, err := c.ArchiveLabel()
	if err != nil {
		t.Fatal(err)
	}
	if host, err := c.HostName(ctx); host != label.Host || err != nil {
		t.Errorf("HostName = %q, %v; want %q", host, err, label.Host)
	}
	end, err := c.ArchiveEnd()
	if err != nil {
		t.Fatal(err)
	}

	var forw, back []pcp.Timestamp
	for {
		res, err := c.FetchArchive(ctx)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		forw = append(forw, res.Time)
	}
	if len(forw) == 0 || forw[len(forw)-1] != end {
		t.Fatalf("%d records, the end is %v", len(forw), end)
	}
	if err := c.SetMode(ModeBack, nil, 0); err != nil {
		t.Fatal(err)
	}
	for {
		res, err := c.FetchArchive(ctx)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		back = append(back, res.Time)
	}
	if len(back) != len(forw) || back[0] != end || back[len(back)-1] != forw[0] {
		t.Errorf("%d records forwards, %d backwards", len(forw), len(back))
	}

	ids, err := c.LookupName(ctx, "sample.colour")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetMode(ModeForw, &label.Start, 0); err != nil {
		t.Fatal(err)
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		res, err := c.Fetch(ctx, ids)
		if errors.Is(err, pcp.ErrEOL) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 && len(res.Sets[0].Values) > 1 {
			if err := c.DelProfile(desc.InDom, res.Sets[0].Values[0].Inst); err != nil {
				t.Fatal(err)
			}
			if err := c.AddProfile(desc.InDom, res.Sets[0].Values[1].Inst); err != nil {
				t.Fatal(err)
			}
		}
		if n == 3 && len(res.Sets[0].Values) != 1 {
			t.Errorf("%d values with a profile of one", len(res.Sets[0].Values))
		}
	}
	if n == 0 {
		t.Error("no record has sample.colour")
	}
	if err := c.SetMode(ModeLive, nil, 0); !errors.Is(err, pcp.ErrMode) {
		t.Errorf("SetMode(ModeLive): %v", err)
	}
	if err := c.Store(ctx, &pcp.Result{Sets: []pcp.ValueSet{{PMID: ids[0], Values: []pcp.Value{pcp.Int32Value(1)}}}}); !errors.Is(err, pcp.ErrNotHost) {
		t.Errorf("Store: %v", err)
	}
}
