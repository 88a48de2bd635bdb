package expand

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prometheus/common/helpers/templates"
	"github.com/prometheus/common/model"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// builtins are the functions of the language; and, or and call are special cases of [frame.call].
var builtins = sync.OnceValue(func() map[string]reflect.Value {
	return values(map[string]any{
		"and":      func(_ reflect.Value, _ ...reflect.Value) (v reflect.Value) { return v },
		"or":       func(_ reflect.Value, _ ...reflect.Value) (v reflect.Value) { return v },
		"call":     func(_ reflect.Value, _ ...reflect.Value) (v reflect.Value) { return v },
		"not":      func(v reflect.Value) bool { return !truth(v) },
		"index":    index,
		"slice":    slice,
		"len":      length,
		"html":     func(args ...any) string { return htmlEscapes().Replace(joined(args)) },
		"js":       func(args ...any) string { return escapeJS(joined(args)) },
		"urlquery": func(args ...any) string { return url.QueryEscape(joined(args)) },
		"print":    fmt.Sprint,
		"printf":   fmt.Sprintf,
		"println":  fmt.Sprintln,
		"eq": func(a reflect.Value, others ...reflect.Value) (bool, error) {
			if len(others) == 0 {
				return false, errNoComparison
			}
			for _, b := range others {
				if yes, err := equal(a, b); yes || err != nil {
					return yes, err
				}
			}
			return false, nil
		},
		"ne": func(a, b reflect.Value) (bool, error) {
			yes, err := equal(a, b)
			return !yes, err
		},
		"lt": less,
		"le": lessOrEqual,
		"gt": func(a, b reflect.Value) (bool, error) {
			yes, err := lessOrEqual(a, b)
			return !yes && err == nil, err
		},
		"ge": func(a, b reflect.Value) (bool, error) {
			yes, err := less(a, b)
			return !yes && err == nil, err
		},
	})
})

func lessOrEqual(a, b reflect.Value) (bool, error) {
	if yes, err := less(a, b); yes || err != nil {
		return yes, err
	}
	return equal(a, b)
}

func values(functions map[string]any) map[string]reflect.Value {
	all := make(map[string]reflect.Value, len(functions))
	for name, f := range functions {
		all[name] = reflect.ValueOf(f)
	}
	return all
}

// functionNames are the names that the parser accepts.
var functionNames = sync.OnceValue(func() map[string]any {
	all := map[string]any{}
	for name := range builtins() {
		all[name] = true
	}
	for name := range (&run{}).functions() {
		all[name] = true
	}
	return all
})

// functions returns the functions of Prometheus.
func (r *run) functions() map[string]reflect.Value {
	return values(map[string]any{
		"query": r.queried,
		"first": func(list queryResult) (*sample, error) {
			if len(list) == 0 {
				return nil, errors.New("first() called on vector with no elements")
			}
			return list[0], nil
		},
		"label":    func(name string, s *sample) string { return s.Labels[name] },
		"value":    func(s *sample) any { return s.Value },
		"strvalue": func(s *sample) string { return s.Labels["__value__"] },
		"args": func(args ...any) map[string]any {
			all := make(map[string]any, len(args))
			for i, a := range args {
				all["arg"+strconv.Itoa(i)] = a
			}
			return all
		},
		"sortByLabel": func(name string, list queryResult) queryResult {
			slices.SortStableFunc(list, func(a, b *sample) int { return strings.Compare(a.Labels[name], b.Labels[name]) })
			return list
		},
		"reReplaceAll": r.replaceAll,
		"match": func(pattern, text string) (bool, error) {
			re, err := r.compile(pattern, text)
			return err == nil && re.MatchString(text), err
		},
		"safeHtml":  func(text string) HTML { return HTML(text) },
		"title":     func(text string) string { return cases.Title(language.AmericanEnglish, cases.NoLower).String(text) },
		"toUpper":   strings.ToUpper,
		"toLower":   strings.ToLower,
		"graphLink": func(expr string) string { return "/graph?g0.expr=" + url.QueryEscape(expr) + "&g0.tab=0" },
		"tableLink": func(expr string) string { return "/graph?g0.expr=" + url.QueryEscape(expr) + "&g0.tab=1" },
		"stripPort": func(address string) string {
			if host, _, err := net.SplitHostPort(address); err == nil {
				return host
			}
			return address
		},
		"stripDomain": stripDomain,
		"humanize": func(x any) (string, error) {
			return scaled(x, 1000, []string{"k", "M", "G", "T", "P", "E", "Z", "Y"}, []string{"m", "u", "n", "p", "f", "a", "z", "y"})
		},
		"humanize1024": func(x any) (string, error) {
			return scaled(x, 1024, []string{"ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"}, nil)
		},
		"humanizeDuration": func(x any) (string, error) {
			v, err := number(x)
			if err != nil {
				return "", err
			}
			return templates.HumanizeDuration(v)
		},
		"humanizePercentage": func(x any) (string, error) {
			v, err := number(x)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%.4g%%", v*100), nil
		},
		"humanizeTimestamp": func(x any) (string, error) {
			v, err := number(x)
			if err != nil {
				return "", err
			}
			return templates.HumanizeTimestamp(v)
		},
		"toTime": func(x any) (*time.Time, error) {
			v, err := number(x)
			if err != nil {
				return nil, err
			}
			return templates.FloatToTime(v)
		},
		"toDuration": func(x any) (*time.Duration, error) {
			v, err := number(x)
			if err != nil {
				return nil, err
			}
			d := time.Duration(v * float64(time.Second))
			return &d, nil
		},
		"now": func() float64 { return float64(r.at) / 1000 },
		"parseDuration": func(text string) (float64, error) {
			d, err := model.ParseDurationAllowNegative(text)
			return float64(time.Duration(d)) / float64(time.Second), err
		},
		"pathPrefix":     func() string { return "" },
		"externalURL":    func() string { return "" },
		"urlQueryEscape": url.QueryEscape,
	})
}

func (r *run) queried(expr string) (queryResult, error) {
	vector, err := r.query(r.ctx, expr, r.at.Time())
	if err != nil {
		return nil, err
	}
	if err := r.charge(1024 + 64*len(vector)); err != nil {
		return nil, err
	}
	list := make(queryResult, 0, len(vector))
	for _, x := range vector {
		s := &sample{Labels: x.Metric.Map(), Value: x.F}
		if x.H != nil {
			s.Value = x.H
		}
		list = append(list, s)
	}
	return list, nil
}

// number returns a value, or the number that a text has, as a number.
func number(x any) (float64, error) {
	switch x.(type) {
	case queryResult, sample, *sample, HTML:
		return 0, fmt.Errorf("can't convert %s to float", typeName(reflect.TypeOf(x)))
	}
	return templates.ConvertToFloat(x)
}

// scaled returns a number with four digits and a prefix of its unit.
func scaled(x any, by float64, large, small []string) (string, error) {
	v, err := number(x)
	if err != nil {
		return "", err
	}
	prefix := ""
	switch {
	case v == 0 || math.IsNaN(v) || math.IsInf(v, 0):
	case math.Abs(v) >= 1:
		for _, p := range large {
			if math.Abs(v) < by {
				break
			}
			prefix, v = p, v/by
		}
	default:
		for _, p := range small {
			if math.Abs(v) >= 1 {
				break
			}
			prefix, v = p, v*by
		}
	}
	return fmt.Sprintf("%.4g%s", v, prefix), nil
}

func stripDomain(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return address
	}
	host, _, _ = strings.Cut(host, ".")
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	return host
}

// compile compiles a regular expression for a text, after it has counted what both cost.
func (r *run) compile(pattern, text string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, errPattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	instructions, runes := cost(tree)
	if instructions > maxProgram {
		return nil, errPattern
	}
	if err := r.charge(runes + instructions*(8+len(text)/8)); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// cost returns about how many instructions an expression has when it is compiled, and the runes of its classes.
func cost(re *syntax.Regexp) (instructions, runes int) {
	instructions = 1
	switch re.Op {
	case syntax.OpLiteral:
		instructions += len(re.Rune)
	default:
		runes += len(re.Rune)
	}
	for _, sub := range re.Sub {
		i, n := cost(sub)
		instructions, runes = instructions+i, runes+n
	}
	if re.Op == syntax.OpRepeat {
		instructions *= max(re.Min, re.Max, 1) // the parser limits the product of nested ones
	}
	return instructions, runes
}

// replaceAll replaces the matches of a regular expression, while the result is not too long. A bad expression panics, as in Prometheus.
func (r *run) replaceAll(pattern, by, text string) (string, error) {
	re, err := r.compile(pattern, text)
	if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
		regexp.MustCompile(pattern)
	}
	if err != nil {
		return "", err
	}
	var out []byte
	end := 0
	for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, text[end:at[0]]...)
		out = re.ExpandString(out, by, text, at)
		if end = at[1]; len(out) > maxValue {
			return "", errValue
		}
	}
	return string(append(out, text[end:]...)), nil
}

// account counts the arguments of a call, before the call.
func (f *frame) account(name string, args []reflect.Value) {
	switch name {
	case "index", "slice", "len", "not", "first", "label", "value", "strvalue", "query":
		return
	}
	n := 0
	for _, a := range args {
		n += size(a, maxWork-f.work)
	}
	if name == "printf" && len(args) > 0 {
		n *= 1 + strings.Count(args[0].String(), "%")
		n += widths(args) * (1 + n/8) // each may apply to all elements of an argument
	}
	f.pay(n)
}

// widths returns the sum of the numbers in a format, widths and precisions, each * as the largest of its arguments.
func widths(args []reflect.Value) int {
	const most = 1_000_000 // what package fmt accepts
	star := 0
	for _, a := range args[1:] {
		if a = concrete(a); a.CanInt() && a.Int() != 0 {
			star = max(star, int(min(max(a.Int(), -a.Int()), most)))
		}
	}
	sum, number := 0, 0
	for _, c := range []byte(args[0].String()) {
		switch {
		case c >= '0' && c <= '9':
			number = min(10*number+int(c-'0'), most)
			continue
		case c == '*':
			sum += star
		}
		sum, number = sum+number, 0
	}
	return sum + number
}

// joined returns arguments as one text.
func joined(args []any) string {
	if len(args) == 1 {
		if text, ok := args[0].(string); ok {
			return text
		}
	}
	for i, a := range args {
		args[i] = printable(reflect.ValueOf(a))
	}
	return fmt.Sprint(args...)
}

var htmlEscapes = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("\x00", "\ufffd", `"`, "&#34;", "'", "&#39;", "&", "&amp;", "<", "&lt;", ">", "&gt;")
})

// escapeJS returns a text as it may appear in a string of JavaScript.
func escapeJS(text string) string {
	var b strings.Builder
	for text != "" {
		c, n := utf8.DecodeRuneInString(text)
		switch {
		case c == '\\' || c == '\'' || c == '"':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || strings.ContainsRune("<>&=", c) || c >= utf8.RuneSelf && !unicode.IsPrint(c):
			fmt.Fprintf(&b, "\\u%04X", c)
		default:
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String()
}
