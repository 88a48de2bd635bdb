package cli

import "iter"

// Nearest returns the name of a sequence that is nearest to name in spelling, "" if none is near: one letter
// in four may be inserted, deleted, replaced or swapped with its neighbour. Of several the first counts.
func Nearest(name string, names iter.Seq[string]) string {
	limit := max(1, len(name)/4)
	if len(name) > maxNearest {
		return ""
	}
	best, near := limit+1, ""
	for other := range names {
		if d := len(other) - len(name); d >= best || -d >= best {
			continue
		}
		if d := distance(name, other); d < best {
			best, near = d, other
		}
	}
	return near
}

// maxNearest is how long a name may be for which Nearest looks.
const maxNearest = 256
