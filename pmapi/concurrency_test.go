package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// Fifty goroutines on one context, each with answers that only it expects.
func TestOneContextManyGoroutines(t *testing.T) {
	c := newCollector().dial(t)
	hammer(t, func(int) *Context { return c })
}

func TestManyContexts(t *testing.T) {
	fake := newCollector()
	contexts := make([]*Context, 50)
	for i := range contexts {
		contexts[i] = fake.dial(t)
	}
	hammer(t, func(i int) *Context { return contexts[i] })
}

func hammer(t *testing.T, pick func(int) *Context) {
	var wg sync.WaitGroup
	for i := range 50 {
		c := pick(i)
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 20 {
				if err := everything(ctx, c, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func everything(ctx context.Context, c *Context, i int) error {
	switch i % 5 {
	case 0:
		ids, err := c.LookupName(ctx, "demo.load", "event.flags", "demo.name")
		if err != nil || ids[0] != idLoad || ids[2] != idName {
			return fmt.Errorf("LookupName = %v, %v", ids, err)
		}
	case 1:
		res, err := c.Fetch(ctx, []pcp.PMID{idName, idCount})
		if err != nil || string(res.Sets[0].Values[0].Bytes()) != "wallaby" {
			return fmt.Errorf("Fetch = %v, %v", res, err)
		}
	case 2:
		var res pcp.Result
		_, err := c.FetchInto(ctx, []pcp.PMID{idLoad, idCount}, &res)
		if err != nil || len(res.Sets[0].Values) != 3 {
			return fmt.Errorf("FetchInto = %v, %v", res, err)
		}
	case 3:
		inst, err := c.LookupInDom(ctx, indom, "two")
		if err != nil || inst != 1 {
			return fmt.Errorf("LookupInDom = %v, %v", inst, err)
		}
		if err := c.AddProfile(indom, int32(i)); err != nil {
			return err
		}
	case 4:
		descs, err := c.LookupDescs(ctx, idCount, 7, idLoad)
		if !errors.Is(err, pcp.ErrPMID) || descs[2].PMID != idLoad {
			return fmt.Errorf("LookupDescs = %v, %v", descs, err)
		}
	}
	return nil
}

// A context that is closed, reconnected and used all at once neither races nor
// hangs.
func TestCloseAndReconnectAnyTime(t *testing.T) {
	fake := newCollector()
	for range 20 {
		c := fake.dial(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 5 {
					everything(t.Context(), c, i)
				}
			})
		}
		wg.Go(func() { c.Reconnect(t.Context()) })
		wg.Go(func() { c.Close() })
		wg.Wait()
		if _, err := c.Fetch(t.Context(), []pcp.PMID{idCount}); !errors.Is(err, pcp.ErrNoContext) {
			t.Fatalf("Fetch after Close: %v", err)
		}
	}
}

// Fetching again and again allocates nothing, also under a context that can be
// cancelled.
func TestFetchIntoAllocatesNothing(t *testing.T) {
	fake := newCollector()
	addr := fake.listen(t)
	c, err := Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids := []pcp.PMID{idCount, idLoad, idName, 77}
	var res pcp.Result
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		fetch := func() {
			if _, err := c.FetchInto(ctx, ids, &res); err != nil {
				t.Fatal(err)
			}
		}
		fetch()
		// The collector is in this process too, and its side is counted: it
		// allocates nothing either.
		if n := testing.AllocsPerRun(200, fetch); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
	if string(res.Sets[2].Values[0].Bytes()) != "wallaby" {
		t.Errorf("%v", res)
	}
}

// A collector that closes many connections at once leaks nothing (TestMain
// counts goroutines).
func TestNoLeak(t *testing.T) {
	fake := newCollector()
	d := fake.dialer()
	var conns []net.Conn
	pipe := d.DialContext
	d.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := pipe(ctx, network, address)
		conns = append(conns, conn)
		return conn, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range 10 {
		c, err := d.Dial(ctx, "fake")
		if err != nil {
			t.Fatal(err)
		}
		conns[len(conns)-1].Close()
		if _, err := c.Fetch(ctx, []pcp.PMID{idCount}); !errors.Is(err, pcp.ErrIPC) {
			t.Errorf("Fetch: %v", err)
		}
		c.Close()
	}
	fake.wg.Wait()
}
