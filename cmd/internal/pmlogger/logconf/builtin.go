package logconf

import (
	"embed"
	"io/fs"
)

//go:embed groups
var embedded embed.FS

// Builtin returns the groups that this software brings. They cover its agents. What changes from second to
// second and tells how a machine is doing is recorded as often as the recorder does by itself; details,
// per device, each minute; what seldom changes more seldom, and what the machine is once.
// Groups with very many values, such as process/each, are available only.
func Builtin() fs.FS {
	sub, err := fs.Sub(embedded, "groups")
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}
