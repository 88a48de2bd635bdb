package timezone

import (
	"strings"
	"testing"
)

func TestLocal(t *testing.T) {
	for _, tz := range []string{"UTC", "EST5EDT", "AEST-10AEDT", strings.Repeat("X", MaxLen)} {
		t.Setenv("TZ", tz)
		if got := Local(MaxLen); got != tz {
			t.Errorf("with TZ=%s the zone is %q", tz, got)
		}
	}
	if got := Local(MaxLen - 1); len(got) >= MaxLen {
		t.Errorf("with TZ of %d bytes a label of version 2 gets %q", MaxLen, got)
	}
	for _, tz := range []string{":Europe/Berlin", strings.Repeat("X", MaxLen+1)} {
		t.Setenv("TZ", tz)
		if got := Local(MaxLen); got == tz || got == "" {
			t.Errorf("with TZ=%s the zone is %q", tz, got)
		}
	}
}

func TestPosix(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int
		want   string
	}{
		{"UTC", 0, "UTC"},
		{"AEST", 36000, "AEST-10"},
		{"EST", -18000, "EST+5"},
		{"IST", 19800, "IST-5:30"},
		{"NST", -12600, "NST+3:30"},
		{"+03", 10800, "<+03>-3"},
	} {
		if got := posix(c.name, c.offset); got != c.want {
			t.Errorf("%s at %d is %q, want %q", c.name, c.offset, got, c.want)
		}
	}
}

func TestFile(t *testing.T) {
	t.Setenv("TZ", ":Europe/Berlin")
	if got := File(); got != ":Europe/Berlin" {
		t.Errorf("zone file is %q", got)
	}
	t.Setenv("TZ", "UTC")
	if got := File(); got != "" && got[0] != ':' {
		t.Errorf("zone file is %q", got)
	}
}
