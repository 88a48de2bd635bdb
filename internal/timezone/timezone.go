package timezone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// MaxLen is the longest zone in bytes that clients have room for: libpcp takes
// TZ as it is up to this (__pmTimezone, PM_TZ_MAXLEN). The label of an archive of
// version 2 has one byte less, as it ends in a NUL.
const MaxLen = 40

// Local returns the variable TZ, or where it names a file, is longer than most
// bytes or not set, the present zone as TZ would have it.
func Local(most int) string {
	if tz := os.Getenv("TZ"); tz != "" && tz[0] != ':' && len(tz) <= most {
		return tz
	}
	name, offset := time.Now().Zone()
	return posix(name, offset)
}

// posix writes a zone that is offset seconds east of UTC. In TZ east is
// negative.
func posix(name string, offset int) string {
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

// dir is where the zone database is.
const dir = "/usr/share/zoneinfo/"

// File returns the file of the zone in the database, as TZ takes it
// (":Europe/Berlin"): the target of /etc/localtime; "" if unknown.
func File() string {
	if tz := os.Getenv("TZ"); strings.HasPrefix(tz, ":") {
		return tz
	}
	path, err := filepath.EvalSymlinks("/etc/localtime")
	if err != nil {
		return ""
	}
	if name, ok := strings.CutPrefix(path, dir); ok {
		return ":" + name
	}
	return ""
}
