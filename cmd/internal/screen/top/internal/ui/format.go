package ui

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// unknown is shown for an unknown number.
const unknown = "-"

// size prints bytes in at most 5 characters: 999B, 1.2K, 340M.
func size(f float64) string {
	if math.IsNaN(f) {
		return unknown
	}
	if f < 0 {
		return "-" + size(-f)
	}
	units := "BKMGTPE"
	for i := 0; ; i++ {
		if f < 999.5 || i == len(units)-1 {
			if f < 9.95 && i > 0 {
				return strconv.FormatFloat(f, 'f', 1, 64) + units[i:i+1]
			}
			return strconv.FormatFloat(min(f, 9999), 'f', 0, 64) + units[i:i+1]
		}
		f /= 1024
	}
}

// perSecond is size for a rate; nothing at all is 0.
func perSecond(f float64) string {
	if f == 0 {
		return "0"
	}
	return size(f)
}

// count prints a number in at most 5 characters, thousands with k.
func count(f float64) string {
	if math.IsNaN(f) {
		return unknown
	}
	if f < 0 {
		return "-" + count(-f)
	}
	units := " kMGTPE"
	for i := 0; ; i++ {
		if f < 999.5 || i == len(units)-1 {
			suffix := ""
			if i > 0 {
				suffix = units[i : i+1]
			}
			if f < 9.95 && f != math.Trunc(f) {
				return strconv.FormatFloat(f, 'f', 1, 64) + suffix
			}
			return strconv.FormatFloat(min(f, 9999), 'f', 0, 64) + suffix
		}
		f /= 1000
	}
}

// percent prints a share of one: 3.4%, 100%.
func percent(f float64) string {
	if math.IsNaN(f) {
		return unknown
	}
	f *= 100
	if f >= 99.95 || f == 0 {
		return strconv.FormatFloat(min(f, 1e6), 'f', 0, 64) + "%"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + "%"
}

// whole is percent without a fraction, where there is little room.
func whole(f float64) string {
	if math.IsNaN(f) {
		return unknown
	}
	return strconv.FormatFloat(math.Round(min(f, 1e4)*100), 'f', 0, 64) + "%"
}

// hundredths prints a share of one without the percent sign, for columns whose heading has one.
func hundredths(f float64) string {
	if math.IsNaN(f) {
		return unknown
	}
	f *= 100
	if f >= 999.95 {
		return strconv.FormatFloat(min(f, 999999), 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// clock prints processor time as top does: 1:23.45, 12h34m.
func clock(seconds float64) string {
	if math.IsNaN(seconds) || seconds < 0 {
		return unknown
	}
	switch s := int64(min(seconds, 1e12)); {
	case s < 3600:
		return fmt.Sprintf("%d:%02d.%02d", s/60, s%60, int(seconds*100)%100)
	case s < 100*3600:
		return fmt.Sprintf("%dh%02d:%02d", s/3600, s/60%60, s%60)
	default:
		return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
	}
}

// since prints a running time: 3d 04:12, 04:12:01.
func since(seconds float64) string {
	if math.IsNaN(seconds) || seconds < 0 {
		return unknown
	}
	s := int64(min(seconds, 1e12))
	if s >= 86400 {
		return fmt.Sprintf("%dd %02d:%02d", s/86400, s/3600%24, s/60%60)
	}
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// wait prints a short time: 340us, 1.2ms, 3.4s.
func wait(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return unknown
	case seconds <= 0:
		return "0"
	case seconds < 0.9995e-3:
		return strconv.FormatFloat(seconds*1e6, 'f', 0, 64) + "us"
	case seconds < 0.9995:
		return strconv.FormatFloat(seconds*1e3, 'f', 1, 64) + "ms"
	}
	return strconv.FormatFloat(min(seconds, 1e6), 'f', 1, 64) + "s"
}

// interval prints a step of time: 1s, 500ms, 5m, 1h30m.
func interval(d time.Duration) string {
	s := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		s = s[:len(s)-2] // without 0s
	}
	if d >= time.Hour && d%time.Hour == 0 {
		s = s[:len(s)-2]
	}
	return s
}

// load prints a load average.
func load(f float64) string {
	if math.IsNaN(f) {
		return unknown
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// units prints a value of a chart.
func units(f float64, unit string) string {
	switch {
	case math.IsNaN(f):
		return unknown
	case unit == "byte":
		return size(f)
	case unit == "byte/s":
		return perSecond(f) + "/s"
	case unit == "sec":
		return wait(f)
	}
	text := ""
	switch a := math.Abs(f); {
	case a >= 100000:
		text = count(f)
	case f == math.Trunc(f):
		text = strconv.FormatFloat(f, 'f', 0, 64)
	case a >= 100:
		text = strconv.FormatFloat(f, 'f', 1, 64)
	case a >= 0.01:
		text = strconv.FormatFloat(f, 'f', 3, 64)
	default:
		text = strconv.FormatFloat(f, 'g', 3, 64)
	}
	if unit == "" || unit == "none" {
		return text
	}
	if unit[0] == '/' {
		return text + unit
	}
	return text + " " + unit
}
