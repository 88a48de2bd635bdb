package period

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/internal/storage"
)

// A Level is a resolution of roll-ups: the archives of PREFIX/HOST with a record each Step are in PREFIX/rollup/Name/HOST.
type Level struct {
	Name string
	Step time.Duration
}

// Levels lists the levels, the finest first.
var Levels = []Level{{"1min", time.Minute}, {"1h", time.Hour}}

// minSteps is the number of records of a roll-up that a window must have. For shorter ones the recorded values are used.
const minSteps = 500

// rollup is the directory of roll-ups below that of hosts.
const rollup = "rollup"

// StepOf returns the interval of the roll-up that the path of an archive names, 0 for recorded archives.
func StepOf(archivePath string) time.Duration {
	parts := strings.Split(filepath.ToSlash(archivePath), "/")
	n := len(parts)
	if n < 4 || parts[n-4] != rollup {
		return 0
	}
	for _, l := range Levels {
		if parts[n-3] == l.Name {
			return l.Step
		}
	}
	return 0
}

// Best returns the interval of the roll-ups to be used for values that may be as far apart as resolution, 0 for the recorded
// archives. A zero window has no limit.
func Best(resolution, window time.Duration) time.Duration {
	best := time.Duration(0)
	for _, l := range Levels {
		if l.Step <= resolution && (window <= 0 || window >= minSteps*l.Step) {
			best = l.Step
		}
	}
	return best
}

// RollUps returns the directories of the roll-ups of a directory of recorded archives, PREFIX/HOST, the finest first. Only those
// that exist are returned.
func RollUps(dir string) []string {
	host := filepath.Base(dir)
	if storage.Remote(dir) {
		host = path.Base(dir)
	} else if abs, err := filepath.Abs(dir); err == nil {
		dir, host = abs, filepath.Base(abs)
	}
	above := storage.Dir(dir)
	if above == dir || host == rollup {
		return nil
	}
	// One listing shows that there are none.
	if st, err := storage.Stat(storage.Join(above, rollup)); err != nil || !st.IsDir() {
		return nil
	}
	var list []string
	for _, l := range Levels {
		at := storage.Join(above, rollup, l.Name, host)
		if st, err := storage.Stat(at); err == nil && st.IsDir() {
			list = append(list, at)
		}
	}
	return list
}

// An Extent is the time of an archive, and the interval of its records if it is a roll-up.
type Extent struct {
	Step       time.Duration // 0 for recorded archives
	Start, End int64         // in any unit, the same for all
}

// Choose returns the numbers of the archives to be read, if archives of several levels have the same times: those with the interval
// best, where there are none those of finer levels, and where there are none either those of coarser levels.
func Choose(list []Extent, best time.Duration) []int {
	levels := []time.Duration{}
	for _, e := range list {
		if !slices.Contains(levels, e.Step) {
			levels = append(levels, e.Step)
		}
	}
	slices.Sort(levels)
	i := 0
	for i < len(levels) && levels[i] <= best {
		i++
	}
	slices.Reverse(levels[:i])
	var chosen, covered []int
	for _, step := range levels {
		for n, e := range list {
			if e.Step != step {
				continue
			}
			// Archives of different levels do not start and end at quite the same times.
			within := int64(0)
			for _, k := range covered {
				within += max(0, min(e.End, list[k].End)-max(e.Start, list[k].Start))
			}
			if len(covered) > 0 && within*2 >= e.End-e.Start && overlaps(list, covered, e) {
				continue
			}
			chosen = append(chosen, n)
		}
		covered = slices.Clone(chosen)
	}
	slices.Sort(chosen)
	return chosen
}

// overlaps reports whether an archive has a time with one of others.
func overlaps(list []Extent, others []int, e Extent) bool {
	return slices.ContainsFunc(others, func(k int) bool { return list[k].Start <= e.End && list[k].End >= e.Start })
}
