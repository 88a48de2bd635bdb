package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxZone is the longest time zone that a label of version 2 has room for.
const maxZone = 39

// timeZone returns the time zone of this host: TZ, or where that names a file,
// is too long or not set, the present zone as TZ would have it.
func timeZone() string {
	if tz := os.Getenv("TZ"); tz != "" && tz[0] != ':' && len(tz) <= maxZone {
		return tz
	}
	name, offset := time.Now().Zone()
	return posixZone(name, offset)
}

// posixZone writes a zone that is offset seconds east of UTC. In TZ east is
// negative.
func posixZone(name string, offset int) string {
	if offset == 0 {
		return name
	}
	if strings.ContainsAny(name, "+-0123456789") {
		name = "<" + name + ">"
	}
	sign := "-"
	if offset < 0 {
		sign, offset = "+", -offset
	}
	zone := fmt.Sprintf("%s%s%d", name, sign, offset/3600)
	if m := offset / 60 % 60; m != 0 {
		zone += fmt.Sprintf(":%02d", m)
	}
	return zone
}

// zoneDir is where the zone database is.
const zoneDir = "/usr/share/zoneinfo/"

// zoneInfo returns the name of the time zone of this host as TZ takes it: where
// /etc/localtime leads to; "" if that cannot be told.
func zoneInfo() string {
	if tz := os.Getenv("TZ"); strings.HasPrefix(tz, ":") {
		return tz
	}
	path, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil {
		return ""
	}
	if name, ok := strings.CutPrefix(path, zoneDir); ok {
		return ":" + name
	}
	return ""
}
