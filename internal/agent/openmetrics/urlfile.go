package openmetrics

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strings"
)

// A urlFile is the content of a file of the folder that is not a script: a URL on the first line, then
// lines with a keyword.
type urlFile struct {
	text     string // of the file
	url      string // as it is in the file
	shown    string // without a password
	host     string // of the URL, with a port
	file     string // path, for file://
	headers  http.Header
	hostName string // a header that net/http wants elsewhere
	metrics  []filter
	labels   []filter
	metadata []metadata
}

// A filter decides on names that match it. The first that matches counts.
type filter struct {
	what filterKind
	re   *regexp.Regexp
}

type filterKind int

const (
	include filterKind = iota
	exclude
	optional // a label that is not part of the names of instances
)

// metadata describe the metrics that match them.
type metadata struct {
	re  *regexp.Regexp
	pcp []string // as the words of a PCP5 comment, except the name
}

const (
	maxURLFile = 1 << 20
	maxRules   = 4096 // of one file
)

// parseURLFile reads the text of a file. Invalid lines are returned as problems, without the values of
// headers, which may be secret.
func parseURLFile(text string) (f *urlFile, problems []string, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	f = &urlFile{url: strings.TrimSpace(lines[0]), headers: make(http.Header)}
	if path, ok := strings.CutPrefix(f.url, "file://"); ok {
		f.file, f.shown = path, f.url
		if !strings.HasPrefix(path, "/") {
			return nil, nil, fmt.Errorf("line 1: %.200q: the path of a file must begin with /", f.url)
		}
	} else {
		u, err := url.Parse(f.url)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, nil, errors.New("line 1: a URL is needed, with http, https or file")
		}
		f.shown, f.host = u.Redacted(), u.Host
	}
	rules := 0
	for i, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rules++; rules > maxRules {
			return nil, nil, fmt.Errorf("line %d: more than %d rules", i+2, maxRules)
		}
		keyword, rest, _ := strings.Cut(line, ":")
		var bad error
		switch keyword {
		case "HEADER":
			bad = f.header(rest)
		case "FILTER":
			bad = f.filter(strings.Fields(rest))
		case "METADATA":
			bad = f.describe(strings.Fields(rest))
		default:
			bad = errors.New("the keyword is none of HEADER, FILTER and METADATA")
		}
		if bad != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", i+2, bad))
		}
	}
	return f, problems, nil
}

func (f *urlFile) header(s string) error {
	name, value, ok := strings.Cut(s, ":")
	name = strings.Join(strings.Fields(name), "")
	value = strings.Join(strings.Fields(value), " ")
	if !ok || !headerName(name) {
		return errors.New("HEADER: needs a name, a colon and a value")
	}
	for _, c := range []byte(value) {
		if c < ' ' || c == 0x7f {
			return errors.New("HEADER: the value has a control character")
		}
	}
	switch http.CanonicalHeaderKey(name) {
	case "Host":
		f.hostName = value
	case "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive":
		// of the connection, which is kept alive
	default:
		f.headers.Set(name, value)
	}
	return nil
}

func (f *urlFile) filter(words []string) error {
	if len(words) < 3 {
		return errors.New("FILTER: needs INCLUDE, EXCLUDE or OPTIONAL, METRIC or LABEL, and a regular expression")
	}
	what, ok := map[string]filterKind{"INCLUDE": include, "EXCLUDE": exclude, "OPTIONAL": optional}[words[0]]
	if !ok || words[1] != "METRIC" && words[1] != "LABEL" || what == optional && words[1] == "METRIC" {
		return errors.New("FILTER: needs INCLUDE or EXCLUDE, of labels also OPTIONAL, and METRIC or LABEL")
	}
	re, err := compile(strings.Join(words[2:], " "))
	if err != nil {
		return err
	}
	if words[1] == "METRIC" {
		f.metrics = append(f.metrics, filter{what, re})
	} else {
		f.labels = append(f.labels, filter{what, re})
	}
	return nil
}

func (f *urlFile) describe(words []string) error {
	if len(words) < 4 {
		return errors.New("METADATA: needs a regular expression, a type, an instance domain, semantics and units")
	}
	re, err := compile(words[0])
	if err == nil {
		f.metadata = append(f.metadata, metadata{re, words[1:]})
	}
	return err
}

// compile compiles a pattern that must match the beginning of a name.
func compile(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("^(?:" + pattern + ")")
	if err != nil {
		why := err.Error()
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			why = e.Code.String()
		}
		return nil, fmt.Errorf("regular expression %.100q: %s", pattern, why)
	}
	return re, nil
}

func decide(filters []filter, name string) filterKind {
	for _, f := range filters {
		if f.re.MatchString(name) {
			return f.what
		}
	}
	return include
}

// headerName reports whether a header may be called name.
func headerName(name string) bool {
	for _, c := range []byte(name) {
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}
