package pmapi

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmns"
)

// TestContextComponents checks which calls depend on each component of an archive context: the
// source, the profile and the time.
func TestContextComponents(t *testing.T) {
	ctx := context.Background()
	path, start := record(t)
	c, err := OpenArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dom, id := pcp.NewInDom(510, 1), pcp.NewPMID(510, 0, 1)

	// all returns the results of the calls that do not fetch. None depends on the profile.
	type answers struct {
		desc       pcp.Desc
		text, host string
		zone       string
		insts      int
	}
	all := func() (a answers) {
		t.Helper()
		var err [5]error
		a.desc, err[0] = c.LookupDesc(ctx, id)
		a.text, err[1] = c.LookupText(ctx, id, pcp.TextOneLine)
		a.host, err[2] = c.HostName(ctx)
		a.zone, err[3] = c.TimeZone(ctx)
		list, e := c.GetInDom(ctx, dom)
		a.insts, err[4] = len(list), e
		if err := errors.Join(err[:]...); err != nil {
			t.Fatal(err)
		}
		return a
	}
	fetched := func() (list []int32) {
		t.Helper()
		res, err := c.Fetch(ctx, []pcp.PMID{id})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range res.Sets[0].Values {
			list = append(list, v.Inst)
		}
		slices.Sort(list)
		return list
	}
	at := func(sec int) {
		t.Helper()
		when := start.Add(time.Duration(sec) * time.Second)
		if err := c.SetMode(ctx, ModeInterp, &when, time.Second); err != nil {
			t.Fatal(err)
		}
	}

	at(30)
	late := all()
	if late.insts != 2 {
		t.Errorf("%d instances at the end", late.insts)
	}
	if got := fetched(); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("a fetch has the instances %d", got)
	}
	// The profile: only a fetch heeds it.
	if err := c.DelProfile(dom); err != nil {
		t.Fatal(err)
	}
	if err := c.AddProfile(dom, 2); err != nil {
		t.Fatal(err)
	}
	if got := all(); got != late {
		t.Errorf("with a profile: %+v, want %+v", got, late)
	}
	if got := fetched(); !slices.Equal(got, []int32{2}) {
		t.Errorf("with a profile a fetch has the instances %d", got)
	}
	if err := c.AddProfile(pcp.InDomNull); err != nil {
		t.Fatal(err)
	}
	// The time: fetches and instance domains heed it.
	at(5)
	early := all()
	if early.insts != 1 {
		t.Errorf("%d instances at first", early.insts)
	}
	if early.insts = late.insts; early != late {
		t.Errorf("early: %+v, want %+v", early, late)
	}
	if got := fetched(); !slices.Equal(got, []int32{1}) {
		t.Errorf("an early fetch has the instances %d", got)
	}
	// All instances there ever were do not depend on it.
	if list, err := c.GetInDomArchive(ctx, dom); err != nil || len(list) != 2 {
		t.Errorf("%d instances of the archive, %v", len(list), err)
	}
	// The source: nothing can be stored in an archive.
	res, err := c.Fetch(ctx, []pcp.PMID{id})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Store(ctx, res); !errors.Is(err, pcp.ErrNotHost) {
		t.Errorf("a store in an archive: %v", err)
	}
}

// TestUseNameSpace has a name space from a file in place of that of an archive, one of each context.
func TestUseNameSpace(t *testing.T) {
	ctx := context.Background()
	path, _ := record(t)
	var contexts [2]*ArchiveContext
	for i := range contexts {
		c, err := OpenArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		contexts[i] = c
	}
	c, other := contexts[0], contexts[1]
	parse := func(text string, dupOK bool) (*pmns.Tree, error) {
		return pmns.Parse(strings.NewReader(text), filepath.Join("names", t.Name()), dupOK)
	}
	const twice = "root { here 510:0:1 there 510:0:1 }\n"
	if _, err := parse(twice, false); err == nil {
		t.Error("two names of one metric are accepted, and must not be")
	}
	first, err := parse(twice, true)
	if err != nil {
		t.Fatal(err)
	}
	second, err := parse("root { only 510:0:1 }\n", false)
	if err != nil {
		t.Fatal(err)
	}
	// A tree answers without any source.
	if id, err := first.Lookup("there"); id != pcp.NewPMID(510, 0, 1) || err != nil {
		t.Errorf("off line: %v, %v", id, err)
	}
	check := func(c *ArchiveContext, where Location, known, unknown string) {
		t.Helper()
		if ids, err := c.LookupName(ctx, known); err != nil || ids[0] != pcp.NewPMID(510, 0, 1) {
			t.Errorf("%s: %v, %v", known, ids, err)
		}
		if _, err := c.LookupName(ctx, unknown); !errors.Is(err, pcp.ErrName) {
			t.Errorf("%s: %v", unknown, err)
		}
		if c.PMNSLocation() != where {
			t.Errorf("names are at %v", c.PMNSLocation())
		}
	}
	c.UseNameSpace(nil) // there was none
	check(c, PMNSArchive, "rec.bytes", "there")
	c.UseNameSpace(first)
	check(c, PMNSLocal, "there", "rec.bytes")
	check(other, PMNSArchive, "rec.bytes", "there")
	c.UseNameSpace(second) // takes the place of the first
	check(c, PMNSLocal, "only", "there")
	c.UseNameSpace(nil)
	check(c, PMNSArchive, "rec.bytes", "only")
}
