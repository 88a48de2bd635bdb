package logconf

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestPmrep generates a configuration of pmrep: the metrics of all included groups appear once and in order, and
// the user's additions are preserved by an update.
func TestPmrep(t *testing.T) {
	groups := fstest.MapFS{
		"b": {Data: []byte("#pmlogconf-setup 2.0\nident second\nforce include\ndelta 1 min\n\tdisk.dev.read [ sda ]\n\tdisk.all.read # total\n")},
		"a": {Data: []byte("#pmlogconf-setup 2.0\nident first\nforce include\n\tmem.free\n\tdisk.all.read\n")},
		"c": {Data: []byte("#pmlogconf-setup 2.0\nident third\nforce available\n\tnone\n")},
		"d": {Data: []byte("#pmlogconf-setup 2.0\nident fourth\nforce exclude\n\tnone\n")},
	}
	load := func() *Set {
		s, err := Load(groups, Config{Dir: "groups", Pmrep: true, Options: []string{"interval=10"}, Warn: func(msg string) { t.Error(msg) }})
		if err != nil {
			t.Fatal(err)
		}
		if !s.Rules() {
			t.Fatal("a group is wrong")
		}
		return s
	}
	const want = `#pmrepconf 1.0
#
# pmrep.conf(5) config file created and updated by pmrepconf
#
# DO NOT UPDATE THE INITIAL SECTION OF THIS FILE.
# Any changes may be lost the next time pmrepconf is used
# on this file.
#
#+ groupdir groups
#

[options]
version=1
ignore_unknown=yes
interval=10

#+ a:y:
## first
#----
#+ b:y:
## second
#----
#+ c:n:
## third
#----
#+ d:x:
#----

[metrics]
disk.all.read = disk.all.read
disk.dev.read = disk.dev.read
mem.free = mem.free

# DO NOT UPDATE THE FILE ABOVE THIS LINE
# Otherwise any changes may be lost the next time pmrepconf is
# used on this file.
#
# It is safe to make additions from here on ...
#
`
	if diff := cmp.Diff(want, string(load().New(nil))); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	edited := strings.NewReplacer("#+ a:y:", "#+ a:n:", "interval=10", "interval=60").Replace(want) + "\n[mine]\nx = mem.used\n"
	s := load()
	if err := s.Read(strings.NewReader(edited)); err != nil {
		t.Fatal(err)
	}
	// Groups that the user excluded stay excluded, and the options are those of the file.
	again := strings.Replace(edited, "mem.free = mem.free\n", "", 1)
	if diff := cmp.Diff(again, string(s.Update())); diff != "" {
		t.Errorf("update (-want +got):\n%s", diff)
	}
}
