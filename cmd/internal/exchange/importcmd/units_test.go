package importcmd

import "testing"

// TestPrometheusUnits finds the units of metrics in comments and names.
func TestPrometheusUnits(t *testing.T) {
	p := &prometheus{families: map[string]*family{
		"room":          {kind: "gauge", unit: "kelvin"},
		"odd_seconds":   {kind: "gauge", unit: "furlongs"},
		"load":          {kind: "gauge", unit: "watts"},
		"wait_seconds":  {kind: "histogram"},
		"power_watts":   {kind: "counter"},
		"plain_counter": {kind: "counter"},
	}}
	f := func(name, want string) {
		t.Helper()
		if d, _ := p.describe(name); d.Units.String() != want {
			t.Errorf("%s has units %q, want %q", name, d.Units, want)
		}
	}
	f("room", "temperature (K)")
	f("odd_seconds", "sec")
	f("load", "power (W)")
	f("wait_seconds_sum", "sec")
	f("wait_seconds_count", "count")
	f("power_watts_total", "power (W)")
	f("plain_counter_total", "count")
	f("x_milliseconds", "millisec")
	f("x_kibibytes_total", "Kbyte")
	f("fan_minutes", "min")
	f("cpu_millivolts", "voltage (mV)")
	f("seconds", "")
	f("reads_per_seconds", "")
	f("seconds_waited", "")
}
