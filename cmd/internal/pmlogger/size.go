package pmlogger

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/pcptime"
)

// A Size limits a recording by one of three measures. The zero Size sets no limit.
type Size struct {
	Samples int   // of all tasks together
	Bytes   int64 // of volumes
	Time    time.Duration
}

// ParseSize parses the argument of an option: "40" are samples; "40b", "40kbytes",
// "2mb" and "1g" bytes; any other text is an interval as in "10 minutes".
func ParseSize(s string) (Size, error) {
	text := strings.TrimLeft(s, " \t\n\v\f\r")
	text = strings.TrimPrefix(text, "+")
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil || n <= 0 {
		return Size{}, fmt.Errorf("illegal size %q", s)
	}
	unit := strings.TrimSuffix(strings.ToLower(text[digits:]), "s")
	shift := -1
	switch unit {
	case "b", "byte":
		shift = 0
	case "k", "kb", "kib", "kbyte", "kibibyte", "kilobyte":
		shift = 10
	case "m", "mb", "mib", "mbyte", "mebibyte", "megabyte":
		shift = 20
	case "g", "gb", "gib", "gbyte", "gibibyte", "gigabyte":
		shift = 30
	case "":
		if text[digits:] == "" {
			return Size{Samples: int(min(n, math.MaxInt32))}, nil
		}
	}
	if shift >= 0 {
		if n > math.MaxInt64>>shift {
			return Size{}, fmt.Errorf("illegal size %q", s)
		}
		return Size{Bytes: n << shift}, nil
	}
	d, err := pcptime.ParseInterval(s)
	if err != nil || d <= 0 {
		return Size{}, fmt.Errorf("illegal size %q", s)
	}
	return Size{Time: d}, nil
}
