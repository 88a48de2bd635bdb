//go:build linux

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const makefile = `MKARCH	= foo.0 null.0 bad-1.0 \
	gap.0 gap2.0
LDIRT = $(patsubst %.0,%.meta,$(MKARCH))

foo.0:	config.foo
	pmlogger -c config.foo -s 8 foo

# gap2: 10 sec data
noti-ok-foo.0:	../archives/ok-foo.0
	cp ../archives/ok-foo.0 noti-ok-foo.0
null.0:	foo.0
	dd if=foo.0 of=null.0
bigbin.0:	config.bigbin
bad-1.0:	bigbin.0
	dd if=foo.0 of=bad-1.0
gap.0 gap2.0:
	pmlogextract tmp/A tmp/B gap
dodgey-all.0:	make.dodgey config.dodgey-all
dodgey-some.0:	make.dodgey config.dodgey-some
`

func TestParseRecipes(t *testing.T) {
	want := []recipe{
		{makes: []string{"foo"}},
		{makes: []string{"noti-ok-foo"}},
		{makes: []string{"null"}, from: []string{"foo"}},
		{makes: []string{"bigbin"}},
		{makes: []string{"bad-1"}, from: []string{"bigbin", "foo"}},
		{makes: []string{"gap", "gap2"}},
		{makes: []string{"dodgey-all"}},
		{makes: []string{"dodgey-some"}},
	}
	if got := parseRecipes([]byte(makefile)); !reflect.DeepEqual(got, want) {
		t.Errorf("parseRecipes = %v\nwant %v", got, want)
	}
}

func TestArchivesOf(t *testing.T) {
	suite := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(suite, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("common.rc", ". ./common.compress\n")
	write("common.compress", ". ./common.rc\ncp tmparch/bad-1.* $tmp\n")
	rules := parseRecipes([]byte(makefile))
	f := func(text, want string) {
		t.Helper()
		write("001", text)
		var got []string
		for _, r := range archivesOf(suite, test{id: "001"}, rules) {
			got = append(got, r.makes...)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q needs %q, want %q", text, got, want)
		}
	}
	f("pmdumplog archives/foo\n", "")
	f("pmdumplog -l tmparch/foo.meta; pmval -a tmparch/none\n", "foo")
	f("cp $here/tmparch/gap2.* .\n", "gap gap2")
	f("cd tmparch\nmkaf foo.0 >$tmp\n", "foo")
	f(". ./common.rc\n", "bad-1 bigbin foo")
	f("pmval -a tmparch/null; pmval -a tmparch/foo\n", "null foo")
}

// Recordings run in parallel, except those that change others' values; archives
// made from them come after all of these.
func TestArchiveScript(t *testing.T) {
	got, found := strings.CutPrefix(archiveScript(parseRecipes([]byte(makefile))), makeArchives)
	want := `make_archives '' foo &
make_archives '' noti-ok-foo &
make_archives '' bigbin &
make_archives '' gap gap2 &
make_archives '' dodgey-all
make_archives '' dodgey-some
wait
make_archives 'foo' null
make_archives 'bigbin foo' bad-1
chown -R pcpqa $made
`
	if !found || got != want {
		t.Errorf("archiveScript = %s\nwant %s", got, want)
	}
}
