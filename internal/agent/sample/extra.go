package sample

import (
	"math"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// quantities are values that metrics with the units of PCP 7.2 share: a store to one of them changes all.
type quantities struct {
	celsius, volt, ampere, watt float64
}

func newQuantities() quantities { return quantities{volt: 240, ampere: 13, watt: 42} }

// extraRows returns the metrics of PCP 7.2 with extra units. A value is shared*scale+offset.
func (a *Agent) extraRows() []row {
	q := &a.quantities
	const (
		temperature = "The metrics below sample.temperature have the same temperature, 0 degrees Celsius at first."
		voltage     = "The metrics below sample.voltage have the same voltage, 240 volts at first."
		current     = "The metrics below sample.current have the same current, 13 amperes at first."
		power       = "The metrics below sample.power have the same power, 42 watts at first."
	)
	var rows []row
	for i, m := range []struct {
		name          string
		shared        *float64
		scale, offset float64
		unit          pcp.Extra
		one, help     string
	}{
		{"temperature.celsius", &q.celsius, 1, 0, pcp.Celsius, "a temperature in degrees Celsius", temperature},
		{"temperature.fahrenheit", &q.celsius, 1.8, 32, pcp.Fahrenheit, "a temperature in degrees Fahrenheit", temperature},
		{"temperature.kelvin", &q.celsius, 1, 273.15, pcp.Kelvin, "a temperature in kelvins", temperature},
		{"voltage.volt", &q.volt, 1, 0, pcp.Volt, "a voltage in volts", voltage},
		{"voltage.millivolt", &q.volt, 1e3, 0, pcp.Millivolt, "a voltage in millivolts", voltage},
		{"voltage.microvolt", &q.volt, 1e6, 0, pcp.Microvolt, "a voltage in microvolts", voltage},
		{"current.amp", &q.ampere, 1, 0, pcp.Ampere, "a current in amperes", current},
		{"current.milliamp", &q.ampere, 1e3, 0, pcp.Milliampere, "a current in milliamperes", current},
		{"current.microamp", &q.ampere, 1e6, 0, pcp.Microampere, "a current in microamperes", current},
		{"power.kilowatt", &q.watt, 1e-3, 0, pcp.Kilowatt, "a power in kilowatts", power},
		{"power.watt", &q.watt, 1, 0, pcp.Watt, "a power in watts", power},
		{"power.milliwatt", &q.watt, 1e3, 0, pcp.Milliwatt, "a power in milliwatts", power},
		{"power.microwatt", &q.watt, 1e6, 0, pcp.Microwatt, "a power in microwatts", power},
	} {
		rows = append(rows, row{Metric: pmda.Metric{
			Name: m.name, Item: itemExtra + i, Type: pcp.TypeFloat, Sem: pcp.SemInstant, Units: pcp.Units{Extra: m.unit},
			OneLine: m.one, Help: m.help + " It can be stored.",
			Value: func(int32, int) (pcp.Value, error) {
				return pcp.FloatValue(float32(*m.shared*m.scale + m.offset)), nil
			},
		}, set: func(v pcp.Value) error {
			f := float64(v.Float())
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return pcp.ErrBadStore
			}
			*m.shared = (f - m.offset) / m.scale
			return nil
		}})
	}
	return rows
}
