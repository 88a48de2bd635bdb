package pcptime

import "testing"

func TestKnownZone(t *testing.T) {
	for tz, want := range map[string]bool{
		"": true, "UTC": true, "Europe/Oslo": true, ":Europe/Oslo": true, "EST5EDT": true, "CET-1CEST,M3.5.0,M10.5.0/3": true, "<+03>-3": true,
		"Nowhere/Land": false, "Nowhere": false, "Local": false, "CET-99x": false, "7": false,
	} {
		if got := KnownZone(tz); got != want {
			t.Errorf("KnownZone(%q) = %v", tz, got)
		}
	}
}
