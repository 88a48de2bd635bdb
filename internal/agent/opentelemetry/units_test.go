package opentelemetry

import "testing"

func TestUnitsOf(t *testing.T) {
	f := func(code, want string, ok bool) {
		t.Helper()
		if u, got := unitsOf(code); u.String() != want || got != ok {
			t.Errorf("unitsOf(%q) = %q, %t, want %q, %t", code, u, got, want, ok)
		}
	}
	f("", "", true)
	f("%", "", true)
	f("By", "byte", true)
	f("{request}/s", "count / sec", true)
	f("/s", "/ sec", true)
	f("KiBy.s-1", "Kbyte / sec", true)
	f("Cel", "temperature (C)", true)
	f("By/W", "byte / power (W)", true)
	f("kBy", "", false) // values would have to be converted
	f("d", "", false)
	f("furlong", "", false)
}
