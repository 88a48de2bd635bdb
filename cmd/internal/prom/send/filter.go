package send

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

const nameLabel = "__name__"

// A filter selects what a server gets. A nil filter selects everything.
type filter struct {
	keep, drop []string // patterns of names of metrics
	rules      []*relabel.Config

	// A server that is one of several gets the series whose hash selects it, or one of the servers before it that it replicates.
	shard, shards, replicas int
}

// metric reports whether a metric with a name is sent.
func (f *filter) metric(name string) bool {
	if f == nil {
		return true
	}
	if len(f.keep) > 0 && !slices.ContainsFunc(f.keep, func(p string) bool { return match(p, name) }) {
		return false
	}
	return !slices.ContainsFunc(f.drop, func(p string) bool { return match(p, name) })
}

// match reports whether a name matches a pattern, in which * is any text and ? any character. A pattern without these also matches
// the names below it.
func match(pattern, name string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		rest, ok := strings.CutPrefix(name, pattern)
		return ok && (rest == "" || rest[0] == '.')
	}
	star, from := -1, 0
	i, j := 0, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == name[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// series returns the labels of a series as they are sent, sorted, and their key, and reports whether it is sent.
func (f *filter) series(list []remote.Label) (_ []remote.Label, key string, ok bool) {
	if f != nil && len(f.rules) > 0 {
		b := labels.NewBuilder(labels.EmptyLabels())
		for _, l := range list {
			b.Set(l.Name, l.Value)
		}
		if !relabel.ProcessBuilder(b, f.rules...) || b.Get(nameLabel) == "" {
			return nil, "", false
		}
		list = list[:0]
		b.Range(func(l labels.Label) {
			if l.Value != "" && (l.Name == nameLabel || !strings.HasPrefix(l.Name, "__")) {
				list = append(list, remote.Label{Name: l.Name, Value: l.Value})
			}
		})
	}
	slices.SortFunc(list, func(a, b remote.Label) int { return strings.Compare(a.Name, b.Name) })
	key = keyOf(list)
	return list, key, f == nil || f.shards < 2 || f.mine(key)
}

// mine reports whether the server gets the series with a key.
func (f *filter) mine(key string) bool {
	h := fnv.New64a()
	h.Write([]byte(key))
	v := h.Sum64()
	v = (v ^ v>>33) * 0xff51afd7ed558ccd // so that all bits depend on all of the text
	first := int((v ^ v>>33) % uint64(f.shards))
	return (f.shard-first+f.shards)%f.shards < max(f.replicas, 1)
}

// keyOf returns a text that differs for series with different labels.
func keyOf(list []remote.Label) string {
	var key strings.Builder
	for _, l := range list {
		key.WriteString(l.Name)
		key.WriteByte(0xff) // in no UTF-8
		key.WriteString(l.Value)
		key.WriteByte(0xff)
	}
	return key.String()
}

// nameOf returns the name of the metric of a series.
func nameOf(list []remote.Label) string {
	for _, l := range list {
		if l.Name == nameLabel {
			return l.Value
		}
	}
	return ""
}
