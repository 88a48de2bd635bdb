package logconf

import (
	"embed"
	"io/fs"
)

//go:embed groups
var embedded embed.FS

// Builtin returns the built-in groups, for this project's agents. Metrics that change from second to
// second and show the load of the machine are recorded at the default interval of the recorder; details,
// per device, every minute; slowly changing metrics less often; and the machine's properties once. Groups
// with very many values, such as process/each, are only available.
func Builtin() fs.FS {
	sub, err := fs.Sub(embedded, "groups")
	if err != nil {
		panic(err) // the name is valid
	}
	return sub
}
