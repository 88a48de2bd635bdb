package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/agent/simple"
	"github.com/go-pcp/pcp/pmapi"
)

// A failed metric yields an error; the others follow.
func ExampleContext_Values() {
	agent, err := simple.New(simple.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.OpenLocal(pmapi.LocalAgent{Name: "simple", Domain: simple.Domain, Agent: agent})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for s, err := range c.Values(context.Background(), "simple.color", "simple.nope", "simple.numfetch") {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(s)
	}
	// Output:
	// simple.nope: Unknown metric name
	// simple.color[red] 1
	// simple.color[green] 101
	// simple.color[blue] 201
	// simple.numfetch 1
}

// dialDemo connects to a small collector.
func dialDemo(t *testing.T) *pmapi.Context {
	t.Helper()
	addr, stop := pmapi.StartDemo()
	t.Cleanup(stop)
	c, err := pmapi.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestFetchedTypes shows that a fetch gives values the types that the context
// has seen, whichever comes first, and that it costs no allocation.
func TestFetchedTypes(t *testing.T) {
	c, ctx := dialDemo(t), t.Context()
	ids, err := c.LookupName(ctx, "demo.count")
	if err != nil {
		t.Fatal(err)
	}
	value := func() pcp.Value {
		t.Helper()
		res, err := c.Fetch(ctx, ids)
		if err != nil || len(res.Sets[0].Values) == 0 {
			t.Fatal(res, err)
		}
		return res.Sets[0].Values[0]
	}
	before := value()
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if !desc.Type.InSitu() {
		t.Fatalf("demo.count is of %v", desc.Type)
	}
	if before.Type() != pcp.TypeUnknown {
		t.Errorf("before its descriptor is known the value is of %v", before.Type())
	}
	after := value()
	if want := fmt.Sprint(before.Uint32() + 1); after.Type() != desc.Type || after.String() != want { // it counts fetches
		t.Errorf("the value is %v of %v, want %s of %v", after, after.Type(), want, desc.Type)
	}
	// Others in the same fetch do not lose theirs, nor does their order matter.
	more, err := c.LookupName(ctx, "demo.name", "demo.count")
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Fetch(ctx, more)
	if err != nil || res.Sets[1].Values[0].Type() != desc.Type {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestLookupNamesError(t *testing.T) {
	c, ctx := dialDemo(t), t.Context()
	_, err := c.LookupName(ctx, "demo.nope", "demo.count", "demo", "none")
	bad, ok := errors.AsType[*pmapi.NamesError](err)
	if !ok || strings.Join(bad.Names, " ") != "demo.nope demo none" || !errors.Is(err, pcp.ErrName) {
		t.Errorf("several bad names: %v", err)
	}
	if _, err := c.LookupName(ctx, "demo.count", "demo"); !errors.Is(err, pcp.ErrNonLeaf) || err.Error() != "demo: Metric name is not a leaf in PMNS" {
		t.Errorf("one bad name: %v", err)
	}
}

func TestInstanceNames(t *testing.T) {
	c, ctx := dialDemo(t), t.Context()
	ids, err := c.LookupName(ctx, "demo.load")
	if err != nil {
		t.Fatal(err)
	}
	desc, err := c.LookupDesc(ctx, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	names, err := c.InstanceNames(ctx, desc.InDom)
	if err != nil || len(names) != 3 {
		t.Fatal(names, err)
	}
	for inst, name := range names {
		if want, err := c.NameInDom(ctx, desc.InDom, inst); err != nil || name != want {
			t.Errorf("%d is %q, want %q, %v", inst, name, want, err)
		}
	}
}

// TestValuesEnd shows that the loop can be left anywhere, and what a lost
// collector looks like.
func TestValuesEnd(t *testing.T) {
	c, ctx := dialDemo(t), t.Context()
	n := 0
	for range c.Values(ctx, "demo.nope", "demo.load") {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d values before the end", n)
	}
	c.Close()
	n = 0
	for s, err := range c.Values(ctx, "demo.load") {
		n++
		if err == nil || !errors.Is(err, pcp.ErrNoContext) {
			t.Errorf("of a closed context: %v, %v", s, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors of a closed context, want 1", n)
	}
}

func TestOpenArchiveNames(t *testing.T) {
	for _, spec := range []string{"no/such/archive", t.TempDir(), ""} {
		if _, err := pmapi.OpenArchive(spec); err == nil || !strings.Contains(err.Error(), spec) {
			t.Errorf("OpenArchive(%q) = %v", spec, err)
		}
	}
}
