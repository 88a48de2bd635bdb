package cli

import "github.com/go-pcp/pcp/internal/getopt"

// ParseDebug returns the names that a -D argument sets, for tools that read
// their options themselves.
func ParseDebug(spec string) (names []string, ok bool) { return getopt.ParseDebug(spec) }

func parseDebug(spec string) (names []string, ok bool) { return getopt.ParseDebug(spec) }
