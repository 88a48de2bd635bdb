package pmrep

import (
	"regexp"

	"github.com/go-pcp/pcp"
)

// CompileName returns the regular expression that the whole name of an instance must match. The error has the
// text that the programs print.
func CompileName(text string) (*regexp.Regexp, error) { return compile(text) }

// SelectInstances returns the instances that words select, in the order of the words: the instance with that number
// in front, those of processes with that command, or else those that match a regular expression. The list is not
// empty.
func SelectInstances(list []pcp.Instance, words []string) ([]pcp.Instance, error) {
	return selectInstances(list, words)
}
