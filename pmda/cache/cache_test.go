package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
)

func newCache(t testing.TB, opts Options) *Cache[int] {
	t.Helper()
	opts.Dir = filepath.Join(t.TempDir(), "config", "pmda")
	return New[int](pcp.NewInDom(100, 3), &opts)
}

func mustStore(t testing.TB, c *Cache[int], name string, v int) int32 {
	t.Helper()
	inst, err := c.Store(name, v)
	if err != nil {
		t.Fatalf("Store(%q): %v", name, err)
	}
	return inst
}

// TestMatch is the table of pmdaCache(3).
func TestMatch(t *testing.T) {
	for _, row := range []struct {
		cached, name string
		want         error
	}{
		{"foodle", "foo", pcp.ErrInst},
		{"foo", "foodle", pcp.ErrInst},
		{"foo", "foo", nil},
		{"foo bar", "foo", nil},
		{"foo bar", "foo bar", nil},
		{"foo", "foo bar", ErrShortName},
		{"foo bar", "foo blah", ErrShortName},
	} {
		c := newCache(t, Options{})
		mustStore(t, c, row.cached, 1)
		if e, err := c.LookupName(row.name); err != row.want || err == nil && e.Name != row.cached {
			t.Errorf("%q in a cache with %q: %+v, %v, want %v", row.name, row.cached, e, err, row.want)
		}
		for what, f := range map[string]func(string) (int32, error){"Hide": c.Hide, "Cull": c.Cull} {
			if _, err := f(row.name); err != row.want && row.want != nil {
				t.Errorf("%s(%q) in a cache with %q: %v, want %v", what, row.name, row.cached, err, row.want)
			}
		}
		want := row.want
		if want == pcp.ErrInst {
			want = nil
		}
		c = newCache(t, Options{})
		mustStore(t, c, row.cached, 1)
		if _, err := c.Store(row.name, 2); err != want {
			t.Errorf("Store(%q) into a cache with %q: %v, want %v", row.name, row.cached, err, want)
		}
	}
	c := newCache(t, Options{Strings: true})
	if a, b, none := mustStore(t, c, "foo bar", 1), mustStore(t, c, "foo blah", 2), mustStore(t, c, "", 3); a != 0 || b != 1 || none != 2 {
		t.Errorf("strings get %d, %d, %d", a, b, none)
	}
	if err := c.Strings(); err != ErrNotEmpty {
		t.Errorf("Strings with instances: %v", err)
	}
	if _, err := newCache(t, Options{}).Store("", 0); err != pcp.ErrGeneric {
		t.Errorf("an empty name: %v", err)
	}
}

func TestStates(t *testing.T) {
	c := newCache(t, Options{})
	inst := mustStore(t, c, "a", 7)
	check := func(want State) {
		t.Helper()
		for what, f := range map[string]func() (Entry[int], error){
			"Lookup":     func() (Entry[int], error) { return c.Lookup(inst) },
			"LookupName": func() (Entry[int], error) { return c.LookupName("a") },
		} {
			if e, err := f(); err != nil || e.State != want || e.Inst != inst || e.Value != 7 {
				t.Errorf("%s: %+v, %v, want state %d", what, e, err, want)
			}
		}
		list, err := c.List(context.Background())
		if n := len(list); err != nil || (n == 1) != (want == Active) {
			t.Errorf("List has %d with state %d", n, want)
		}
	}
	check(Active)
	if got, err := c.Hide("a"); got != inst || err != nil {
		t.Error(got, err)
	}
	check(Inactive)
	if c.ShowAll() != 1 || c.ShowAll() != 0 {
		t.Error("ShowAll")
	}
	check(Active)
	if c.HideAll() != 1 || c.HideAll() != 0 {
		t.Error("HideAll")
	}
	check(Inactive)
	if got, err := c.Cull("a"); got != inst || err != nil {
		t.Error(got, err)
	}
	if _, err := c.Lookup(inst); err != pcp.ErrInst {
		t.Error(err)
	}
	if _, err := c.Cull("a"); err != pcp.ErrInst {
		t.Error(err)
	}
	if got := mustStore(t, c, "a", 7); got != inst+1 {
		t.Errorf("the number of a culled instance is given again: %d", got)
	}
	value := c.Value(func(v int) (pcp.Value, error) { return pcp.Int32Value(int32(v)), nil })
	if v, err := value(inst+1, 0); err != nil || v.Int32() != 7 {
		t.Error(v, err)
	}
	if _, err := value(inst, 0); err != pcp.ErrInst {
		t.Error(err)
	}
	if c.CullAll() != 1 || c.CullAll() != 0 || c.Size() != 2 || c.Count(Active)+c.Count(Inactive) != 0 {
		t.Error("CullAll")
	}
}

func TestNumbers(t *testing.T) {
	c := newCache(t, Options{})
	if err := c.Resize(-1); err != pcp.ErrSign {
		t.Error(err)
	}
	if err := c.Resize(2); err != nil {
		t.Error(err)
	}
	for i, want := range []int32{0, 1, 2} {
		if got := mustStore(t, c, fmt.Sprint(i), i); got != want {
			t.Errorf("instance %d gets %d", i, got)
		}
	}
	if _, err := c.Store("more", 0); err != pcp.ErrGeneric {
		t.Errorf("more than Resize allows: %v", err)
	}
	if err := c.Resize(1); err != pcp.ErrTooBig {
		t.Error(err)
	}
	c.Cull("1")
	c.Reorg()
	if got := mustStore(t, c, "more", 0); got != 1 {
		t.Errorf("the free number is 1, not %d", got)
	}
	// A keyed number does not go over the maximum either.
	c = newCache(t, Options{})
	c.Resize(9)
	for i := range 8 {
		if inst, err := c.StoreKey(fmt.Sprint(i), nil, i); err == nil && inst > 9 {
			t.Errorf("%d gets %d", i, inst)
		}
	}
}

func TestKeys(t *testing.T) {
	c := newCache(t, Options{})
	a, err := c.StoreKey("a", []byte{1, 2, 3}, 1)
	if err != nil || a != int32(Hash([]byte{1, 2, 3}, 0)&maxInst) {
		t.Fatal(a, err)
	}
	if e, err := c.LookupKey([]byte{1, 2, 3}); err != nil || e.Name != "a" || e.Key != "\x01\x02\x03" {
		t.Errorf("%+v, %v", e, err)
	}
	if again, err := c.StoreKey("a", []byte{1, 2, 3}, 2); again != a || err != nil {
		t.Error(again, err)
	}
	for _, row := range []struct{ name, key string }{{"b", "\x01\x02\x03"}, {"a", "other"}, {"a", ""}, {"a b", "x"}} {
		if _, err := c.StoreKey(row.name, []byte(row.key), 0); err != pcp.ErrInst {
			t.Errorf("StoreKey(%q, %q): %v", row.name, row.key, err)
		}
	}
	if _, err := c.StoreKey("a b", []byte{1, 2, 3}, 0); err != ErrShortName {
		t.Error(err)
	}
	mustStore(t, c, "a", 3) // drops the key
	if _, err := c.LookupKey([]byte{1, 2, 3}); err != pcp.ErrInst {
		t.Error(err)
	}
}

func TestFile(t *testing.T) {
	now := time.Unix(1700000000, 0)
	clock := func() time.Time { return now }
	c := newCache(t, Options{Now: clock})
	if _, err := c.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load without a file: %v", err)
	}
	mustStore(t, c, "a", 1)
	mustStore(t, c, "b c", 1)
	if _, err := c.StoreKey("[k] x", []byte("key"), 1); err != nil {
		t.Fatal(err)
	}
	mustStore(t, c, "lost\nname", 1)
	c.Cull("a")
	read := func() string {
		t.Helper()
		b, err := os.ReadFile(c.Path())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if n, err := c.Save(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	want := fmt.Sprintf("2 1 2147483647\n1 1700000000 b c\n%d 1700000000 [6b6579] [k] x\n", Hash([]byte("key"), 0)&maxInst)
	if got := read(); got != want {
		t.Errorf("file is %q, want %q", got, want)
	}
	now = now.Add(100 * time.Second)
	mustStore(t, c, "b c", 1)
	if n, err := c.Save(); n != 0 || err != nil {
		t.Errorf("Save with nothing new: %d, %v", n, err)
	}
	if n, err := c.Sync(); n != 2 || err != nil || !strings.Contains(read(), "1 1700000100 b c\n") {
		t.Errorf("Sync: %d, %v, %q", n, err, read())
	}
	if n, err := c.Sync(); n != 0 || err != nil {
		t.Errorf("Sync with nothing new: %d, %v", n, err)
	}
	if n, err := c.Write(); n != 2 || err != nil {
		t.Errorf("Write: %d, %v", n, err)
	}

	var gone []string
	if n := c.Purge(60*time.Second, func(e Entry[int]) { gone = append(gone, e.Name) }); n != 1 || len(gone) != 1 || gone[0] != "[k] x" {
		t.Errorf("Purge: %d %q", n, gone)
	}
	var log bytes.Buffer
	d := New[int](pcp.NewInDom(100, 3), &Options{Dir: filepath.Dir(c.Path()), Log: slog.New(slog.NewTextHandler(&log, nil))})
	mustStore(t, d, "b d", 1) // 0 here
	if n, err := d.Load(); n != 2 || err != nil || !strings.Contains(log.String(), "ignored") {
		t.Errorf("Load: %d, %v, log %s", n, err, &log)
	}
	var names []string
	for e := range d.All() {
		names = append(names, fmt.Sprint(e.Inst, " ", e.Name, " ", e.State, " ", e.Key))
	}
	if diff := cmp.Diff([]string{"0 b d 8 ", fmt.Sprint(Hash([]byte("key"), 0)&maxInst, " [k] x 9 key")}, names); diff != "" {
		t.Error(diff)
	}
	if dir, err := os.ReadDir(filepath.Dir(c.Path())); err != nil || len(dir) != 1 {
		t.Errorf("%v files are left, %v", dir, err)
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		"9 0 1\n":                   "illegal cache header record",
		"2 0\n":                     "illegal cache header record",
		"2 0 1\n1 2\n":              "line 2: illegal record",
		"2 0 1\n1 2 a\n-1 2 b\n":    "line 3: illegal record",
		"2 0 1\n2147483648 2 a\n":   "line 2: illegal record",
		"2 0 1\nx 2 b\n":            "line 2: illegal record",
		"2 0 1\n1 2 [61 b\n":        "",
		"2 0 1\n1 2 [61]\n":         "",
		"2 0 1\n1 2 [md0] mirror\n": "",
	} {
		c := newCache(t, Options{})
		os.MkdirAll(filepath.Dir(c.Path()), 0o755)
		if err := os.WriteFile(c.Path(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := c.Load()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.Path())) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestReplace(t *testing.T) {
	c := newCache(t, Options{})
	if err := c.Replace(maps.All(map[string]int{"a": 1, "b": 2})); err != nil {
		t.Fatal(err)
	}
	err := c.Replace(maps.All(map[string]int{"b": 3, "": 4}))
	if !errors.Is(err, pcp.ErrGeneric) {
		t.Errorf("an empty name: %v", err)
	}
	var active []string
	for e := range c.Active() {
		active = append(active, fmt.Sprint(e.Name, e.Value))
	}
	if diff := cmp.Diff([]string{"b3"}, active); diff != "" {
		t.Error(diff)
	}
}

// TestConcurrent is for the race detector.
func TestConcurrent(t *testing.T) {
	c := newCache(t, Options{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				c.Store(fmt.Sprint("x", (i+g)%50), i)
				c.Hide(fmt.Sprint("x", i%50))
				list, _ := c.List(context.Background())
				for _, inst := range list {
					c.Lookup(inst.Inst)
				}
				if i%50 == 0 {
					if _, err := c.Save(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if c.Count(Active)+c.Count(Inactive) != 50 {
		t.Errorf("%d and %d instances", c.Count(Active), c.Count(Inactive))
	}
}

func FuzzRead(f *testing.F) {
	f.Add("2 0 2147483647\n5 77 five\n6 0 [0102] six and more\n")
	f.Add("1 1\n0 1 a\n0 1 b\n1 1 a b\n")
	f.Add("2 1 5\n2147483647 1 [ff] [x] y\n3 2 [ff] z\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := New[int](pcp.NewInDom(100, 3), nil)
		if _, err := c.read(strings.NewReader(text)); err != nil {
			return
		}
		b, n := c.text()
		d := New[int](pcp.NewInDom(100, 3), nil)
		if m, err := d.read(bytes.NewReader(b)); err != nil || m != n {
			t.Fatalf("%q was accepted and written as %q, which reads as %d of %d: %v", text, b, m, n, err)
		}
		if again, _ := d.text(); !bytes.Equal(b, again) {
			t.Fatalf("%q is read and written as %q", b, again)
		}
	})
}

// BenchmarkRefresh measures what an agent with 1000 instances does before a fetch.
func BenchmarkRefresh(b *testing.B) {
	c := New[int](pcp.NewInDom(100, 3), nil)
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("disk%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		c.HideAll()
		for i, n := range names {
			if _, err := c.Store(n, i); err != nil {
				b.Fatal(err)
			}
		}
		if list, _ := c.List(b.Context()); len(list) != len(names) {
			b.Fatal(len(list))
		}
	}
}

func BenchmarkStoreKey(b *testing.B) {
	c := New[int](pcp.NewInDom(100, 3), nil)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if _, err := c.StoreKey(fmt.Sprintf("disk%d", i%10000), nil, i); err != nil {
			b.Fatal(err)
		}
	}
}
