package lmsensors

import "github.com/go-pcp/pcp"

// Attributes of sensors, which are files: temp1_input.
const (
	attrInput   = "input"
	attrMin     = "min"
	attrMax     = "max"
	attrCrit    = "crit"
	attrAverage = "average"
)

// A kind is a kind of sensor.
type kind struct {
	prefix  string // of its files
	name    string // below lmsensors
	unit    string
	indom   string
	units   pcp.Units
	scale   float64 // what the kernel reports for one of the unit
	least   float64 // less is an error
	metrics []attribute
}

// An attribute has a metric.
type attribute struct {
	attr          string
	sem           pcp.Sem
	oneLine, help string
}

// kinds returns the kinds of sensors, in the order of their numbers.
func kinds() []*kind {
	const (
		instant = pcp.SemInstant
		limit   = pcp.SemDiscrete
		none    = -1 << 62
		byChip  = "Chips without this limit have no value. Some chips have a limit that was never set."
	)
	return []*kind{
		{"temp", "temperature", "degrees Celsius", "Sensors of temperature", pcp.Units{Extra: pcp.Celsius}, 1000, -127, []attribute{
			{attrInput, instant, "Temperature in degrees Celsius", "What the sensor measures. Below -127 it is broken, and has no value."},
			{attrMax, limit, "Temperature that is too high", byChip},
			{attrCrit, limit, "Temperature at which the hardware protects itself", byChip},
		}},
		{"fan", "fan", "revolutions per minute", "Fans", pcp.Units{DimCount: 1, DimTime: -1, ScaleTime: pcp.TimeMin}, 1, 0, []attribute{
			{attrInput, instant, "Speed of each fan in revolutions per minute", "0 for a fan that does not turn, or that is not there."},
			{attrMin, limit, "Speed below which a fan is too slow", byChip},
		}},
		{"in", "voltage", "volts", "Sensors of voltage", pcp.Units{Extra: pcp.Volt}, 1000, none, []attribute{
			{attrInput, instant, "Voltage", "What the sensor measures. For some boards it must be multiplied by a factor that\nonly their makers know; sensors.conf(5) may have it, which the agent does not\nread."},
			{attrMin, limit, "Voltage that is too low", byChip},
			{attrMax, limit, "Voltage that is too high", byChip},
		}},
		{"curr", "current", "amperes", "Sensors of current", pcp.Units{Extra: pcp.Ampere}, 1000, none, []attribute{
			{attrInput, instant, "Current", "What the sensor measures."},
			{attrMax, limit, "Current that is too high", byChip},
		}},
		{"power", "power", "watts", "Sensors of power", pcp.Units{Extra: pcp.Watt}, 1e6, none, []attribute{
			{attrInput, instant, "Power", "What the sensor measures now."},
			{attrAverage, instant, "Power, as an average of the chip", "An average over an interval that the chip chooses. Many chips have either this\nor lmsensors.power.input."},
			{attrMax, limit, "Power that is too high", byChip},
		}},
		{"energy", "energy", "joules", "Sensors of energy", pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec, Extra: pcp.Watt}, 1e6, 0, []attribute{
			{attrInput, pcp.SemCounter, "Energy used", "What the chip has counted since the kernel started. Its rate is power."},
		}},
		{"humidity", "humidity", "percent", "Sensors of humidity", pcp.Units{}, 1000, 0, []attribute{
			{attrInput, instant, "Relative humidity in percent", "What the sensor measures."},
		}},
	}
}
