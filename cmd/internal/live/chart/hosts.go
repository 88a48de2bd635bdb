package chart

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/pmapi"
)

// fontFamily matches names of fonts, as the page accepts them.
var fontFamily = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w .-]{1,80}$`) })

// readHosts reads the hosts of -H: one a line, which may have comments.
func readHosts(path string) (map[string]bool, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = fmt.Errorf("%s: not a file, or longer than %d bytes", path, maxFile)
	}
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseHosts(path, string(b))
}

func parseHosts(path, text string) (map[string]bool, error) {
	hosts := map[string]bool{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		spec, err := pmapi.ParseHostSpec(words[0])
		if err != nil || len(words) > 1 {
			return nil, fmt.Errorf("%s, line %d: %q is not a host", path, n, strings.TrimSpace(line))
		}
		if hosts[spec.String()] = true; len(hosts) > maxHosts {
			return nil, fmt.Errorf("%s, line %d: more than %d hosts", path, n, maxHosts)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%s: no hosts", path)
	}
	return hosts, nil
}
