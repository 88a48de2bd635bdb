package pmapi

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/wire"
)

// oddNames are names of metrics that a shell or a terminal would take for something else.
var oddNames = []string{
	"demo.a$(touch${IFS}x)b", "demo.`id`", "demo.\x1b]0;title\a", "demo.two words", "demo.-rf", "demo.a;b", "demo.a\nb", "demo.\xc3\xa9", "",
}

// TestOddNames has sources send names that cannot be those of metrics: they are left out, and all else is as it was. A component may
// begin with a digit, as those of some agents do.
func TestOddNames(t *testing.T) {
	check := func(t *testing.T, c *Context, named pcp.PMID) {
		t.Helper()
		ctx := t.Context()
		want := []string{"demo.count", "demo.5min.x_1"}
		var leaves, children []string
		for name, err := range c.Traverse(ctx, "demo") {
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, name)
		}
		list, err := c.Children(ctx, "demo")
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range list {
			children = append(children, child.Name)
		}
		slices.Sort(leaves)
		slices.Sort(children)
		slices.Sort(want)
		if diff := cmp.Diff(want, leaves); diff != "" {
			t.Errorf("Traverse: %s", diff)
		}
		if diff := cmp.Diff([]string{"5min", "count"}, children); diff != "" {
			t.Errorf("Children: %s", diff)
		}
		if names, err := c.NameAll(ctx, named); err != nil || !slices.Equal(names, []string{"demo.count"}) {
			t.Errorf("NameAll: %q, %v", names, err)
		}
		if name, err := c.NameID(ctx, idName); !errors.Is(err, pcp.ErrPMID) {
			t.Errorf("NameID of what has only odd names: %q, %v, want %v", name, err, pcp.ErrPMID)
		}
	}
	t.Run("collector", func(t *testing.T) {
		fake := newCollector()
		fake.answer = func(s *session, hdr wire.Header, body []byte) bool {
			switch hdr.Type {
			case wire.TypePMNSTraverse:
				return s.send(&wire.PMNSNames{Names: append(oddNames[:len(oddNames):len(oddNames)], "demo.count", "demo.5min.x_1")})
			case wire.TypePMNSChild:
				names := []string{"count", "5min"}
				for _, name := range oddNames {
					names = append(names, name[min(len(name), len("demo.")):])
				}
				return s.send(&wire.PMNSNames{Names: names, Status: make([]int32, len(names))})
			case wire.TypePMNSIDs:
				var req wire.PMNSIDs
				if err := req.DecodeBody(body); err != nil {
					return s.status(pcp.ErrIPC)
				}
				names := oddNames
				if req.PMIDs[0] == idCount {
					names = append(names[:len(names):len(names)], "demo.count")
				}
				return s.send(&wire.PMNSNames{Names: names})
			}
			return false
		}
		check(t, fake.dial(t), idCount)
	})
	t.Run("archive", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "odd")
		w, err := archive.Create(path, archive.WriterConfig{Label: archive.Label{Host: "h", TimeZone: "UTC", PID: 1}})
		if err != nil {
			t.Fatal(err)
		}
		desc := func(id pcp.PMID, names ...string) {
			t.Helper()
			if err := w.Desc(pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: pcp.InDomNull, Sem: pcp.SemInstant}, names...); err != nil {
				t.Fatal(err)
			}
		}
		desc(idCount, oddNames[0], "demo.count", oddNames[2])
		desc(idLoad, "demo.5min.x_1")
		desc(idName, oddNames[1], oddNames[3])
		for i := range 2 {
			res := &pcp.Result{Time: pcp.Timestamp{Sec: int64(1000 + i)}}
			res.AddSet(idCount)
			res.Add(pcp.Uint32Value(1))
			if err := w.WriteResult(res); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := OpenArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		check(t, c.Context, idCount)
	})
}
