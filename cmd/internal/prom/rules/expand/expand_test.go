package expand_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"

	"github.com/go-pcp/pcp/cmd/internal/prom/rules/expand"
)

var at = time.UnixMilli(1_700_000_000_123)

// query answers every expression with three samples, "none" with none and "bad" with an error.
func query(_ context.Context, expr string, _ time.Time) (promql.Vector, error) {
	switch expr {
	case "bad":
		return nil, errors.New("a bad query")
	case "none":
		return nil, nil
	}
	var v promql.Vector
	for i, host := range []string{"c.example.com:90", "a.example.com:90", "b"} {
		v = append(v, promql.Sample{Metric: labels.FromStrings("__name__", expr, "host", host, "__value__", "v"), F: float64(i) * 1.5})
	}
	return v, nil
}

func data() expand.Data {
	return expand.Data{
		Labels:         map[string]string{"host": "web.example.com:80", "n": "12.5", "html": `<a href="x">'&`, "é": "\u2028\x00\xff"},
		ExternalLabels: map[string]string{}, Value: 1234.5,
	}
}

const (
	name      = "__alert_A"
	variables = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
)

// theirs is what Prometheus expands a text to, or its error.
func theirs(text string) string {
	d := data()
	x := template.AlertTemplateData(d.Labels, d.ExternalLabels, d.ExternalURL, promql.Sample{F: d.Value.(float64)})
	out, err := template.NewTemplateExpander(context.Background(), variables+text, name, x, model.Time(at.UnixMilli()), query, &url.URL{}, nil).Expand()
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}

func ours(text string) string {
	out, err := expand.Expand(context.Background(), name, text, data(), at, query)
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}

func same(t *testing.T, text string) {
	t.Helper()
	if got, want := comparableText(ours(text)), comparableText(theirs(text)); got != want {
		t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
	}
}

// TestLikePrometheus compares results and errors with those of Prometheus' own package.
func TestLikePrometheus(t *testing.T) {
	for text := range strings.Lines(`
plain {{ $value }} {{ .Value }} {{ $labels.host }} {{ .Labels.nothing }}| {{ $labels }} {{ . }} {{ $ }} {{ $externalURL }} {{ $externalLabels }}
{{- 1 -}} {{ 1.5 }} {{ 0x1f }} {{ 'a' }} {{ 1e3 }} {{ 1i }} {{ "a\n" }} {{ true }} {{/* comment */}} {{ nil }}
{{ $value | printf "%.1f %[1]T %5s" }} {{ printf "%d" $value }} {{ printf "%s" }} {{ print 1 2 "a" nil }} {{ println "x" 1 }}
{{ if $value }}a{{ else }}b{{ end }} {{ if eq $value 1.0 }}a{{ else if gt $value 2.0 }}b{{ end }} {{ with $labels.host }}{{ . }}{{ else with 1 }}{{ . }}{{ end }}
{{ range $i, $s := query "up" }}{{ if eq $i 1 }}{{ continue }}{{ end }}{{ $i }}={{ $s.Value }},{{ .Labels.host }};{{ else }}none{{ end }}
{{ range query "none" }}a{{ else }}none{{ end }} {{ range $k, $v := $labels }}{{ $k }}={{ $v }} {{ end }} {{ range 3 }}{{ . }}{{ end }} {{ range $i := 2 }}{{ $i }}{{ end }}
{{ range $i, $x := 3 }}{{ end }}
{{ range $value }}{{ end }}
{{ range "abc" }}{{ end }}
{{ range query "up" }}{{ .Value }}{{ break }}{{ end }} {{ $x := 1 }}{{ range $y := query "up" }}{{ $x = $y.Value }}{{ end }}{{ $x }}
{{ $i := 0 }}{{ $e := 0 }}{{ range $i, $e = query "up" }}{{ end }}{{ $i }} {{ $e.Value }} {{ range $e = query "up" }}{{ end }}{{ $e }}
{{ define "t" }}<{{ . }}{{ $.host }}>{{ end }}{{ template "t" $labels }}{{ template "t" }} {{ block "u" 5 }}[{{ . }}]{{ end }}
{{ template "nothing" }}
{{ define "a" }}1{{ end }}{{ define "a" }}2{{ end }}
{{ define "a" }}{{ $labels }}{{ end }}
{{ query "up" | first | value }} {{ query "up" | first | label "host" }} {{ (query "up" | first).Labels.host }} {{ strvalue (first (query "x")) }} {{ first (query "up") }}
{{ first (query "none") }}
{{ query "bad" }}
{{ query "up" | sortByLabel "host" | first | label "host" }} {{ len (query "up") }} {{ len $labels }} {{ len "abc" }} {{ len nil }}
{{ len 3 }}
{{ len $labels.nothing }} {{ index $labels "host" }} {{ index $labels "nothing" }} {{ index (query "up") 1 }} {{ index "abc" 1 }} {{ (index (query "up") 2).Value }}
{{ index (query "up") 3 }}
{{ index (query "up") 4 }}
{{ index $labels 1 }}
{{ index $value 1 }}
{{ index nil 1 }}
{{ index (query "up") "a" }}
{{ index $labels nil }}
{{ slice "abcdef" 1 3 }} {{ slice "abc" 2 }} {{ len (slice (query "up") 1) }} {{ len (slice (query "up") 0 1 2) }}
{{ slice "abc" 2 1 }}
{{ slice "abc" 0 1 2 }}
{{ slice "abc" 0 9 }}
{{ slice 1 0 }}
{{ slice "a" 0 1 2 3 }}
{{ eq 1 1 }} {{ eq 1 2 1 }} {{ ne "a" "b" }} {{ lt 1 2 }} {{ le 1.5 1.5 }} {{ gt "b" "a" }} {{ ge 1 2 }} {{ eq $value 1234.5 }} {{ eq true false }} {{ eq 1i 1i }} {{ eq nil nil }}
{{ eq 1 1.0 }}
{{ eq $value 1 }}
{{ eq 1 }}
{{ eq }}
{{ lt 1 "a" }}
{{ lt true false }}
{{ lt $labels 1 }}
{{ lt nil 1 }}
{{ eq $labels $labels }}
{{ eq (query "up") nil }} {{ eq (index "abc" 0) 97 }} {{ lt 96 (index "abc" 0) }} {{ eq (first (query "x")) (first (query "x")) }}
{{ and 1 0 (query "bad") }} {{ or 0 1 (query "bad") }} {{ not $value }} {{ and true $labels.host }} {{ 0 | or false }} {{ 1 | and true }} {{ and }}
{{ and $labels.host 1 | printf "%v" }} {{ if and (gt $value 1.0) (lt $value 2000.0) }}in{{ end }} {{ not nil }} {{ not -0.0 }} {{ not 0.0 }}
{{ call 1 }}
{{ call nil }}
{{ call $labels.host 1 }}
{{ $labels | call }}
{{ html $labels.html }} {{ js $labels.html "a=b\n" }} {{ urlquery $labels.html 1 2 }} {{ $labels.é | js }} {{ $labels.é | html }} {{ html nil }} {{ html $value }}
{{ (args 1 "b" $labels).arg2.host }} {{ args 1 nil }} {{ (args 1).arg5 }} {{ (args 1).arg5.x }} {{ (args 1).arg0.x }}
{{ reReplaceAll "(.*):80" "$1-${1}" $labels.host }} {{ reReplaceAll "x*" "-" "abc" }} {{ reReplaceAll "a*" "-" "baac" }} {{ match "a.c" "abc" }} {{ match "^b" "abc" }}
{{ reReplaceAll "(" "" "" }}
{{ match "(" "" }}
{{ safeHtml "<b>" }} {{ printf "%s" (safeHtml "<") }} {{ title "aa bB" }} {{ toUpper "aé" }} {{ toLower "AÉ" }} {{ graphLink "a b" }} {{ tableLink "a+b" }} {{ eq (safeHtml "a") "a" }}
{{ toUpper (safeHtml "a") }}
{{ humanize (safeHtml "a") }}
{{ stripPort "a.b:80" }} {{ stripPort "a.b" }} {{ stripDomain "a.b.c:80" }} {{ stripDomain "a.b" }} {{ stripDomain "10.1.2.3:80" }} {{ stripDomain "::1" }} {{ stripPort "[::1]:5" }}
{{ humanize 0.0 }} {{ humanize 1234567.0 }} {{ humanize 0.00001 }} {{ humanize "1e30" }} {{ humanize -5 }} {{ humanize 999999 }} {{ humanize "NaN" }} {{ humanize "+Inf" }}
{{ humanize1024 0.5 }} {{ humanize1024 1048576.0 }} {{ humanize1024 "1e40" }} {{ humanizePercentage 0.1234 }} {{ humanizePercentage "1" }}
{{ humanizeDuration 0 }} {{ humanizeDuration 3661 }} {{ humanizeDuration 1e6 }} {{ humanizeDuration 0.0012 }} {{ humanizeDuration -62.5 }} {{ humanizeDuration "90" }}
{{ humanizeTimestamp 1435065584.128 }} {{ humanizeTimestamp "NaN" }}
{{ humanizeTimestamp 1e30 }}
{{ humanize "a" }}
{{ humanize $labels }}
{{ humanize (query "up") }}
{{ humanizeDuration (query "up" | first) }}
{{ toTime 1435065584 }} {{ (toTime 1435065584.5).Year }} {{ (toTime 1).Format "2006" }} {{ (toTime 1).Month }} {{ (toTime 1).Weekday.String }} {{ ((toTime 1).Add 5).UnixNano }}
{{ (toTime 1).UTC.Unix }} {{ (toTime 1).Sub (toTime 5) }} {{ (toTime 1).Before (toTime 2) }} {{ ((toTime 1).AddDate 1 2 3).String }} {{ (toTime 1).IsZero }}
{{ (toTime 1).Clock }}
{{ (toTime 1).ISOWeek }}
{{ (toTime 1).Nothing }}
{{ (toTime 1).Year 5 }}
{{ (toTime 1).Format 5 }}
{{ (toTime 1).AddDate 1.5 2 3 }}
{{ (toTime 1).wall }}
{{ toTime "NaN" }}
{{ toDuration 90.5 }} {{ (toDuration 90).Minutes }} {{ (toDuration 90).String | toUpper }} {{ (toDuration 90.7).Round 1000000000 }} {{ humanizeDuration (toDuration 5) }}
{{ now }} {{ now | toTime }} {{ pathPrefix }}| {{ externalURL }}| {{ parseDuration "1h30m" }} {{ parseDuration "-5s" }} {{ urlQueryEscape "a b&" }}
{{ parseDuration "x" }}
{{ nothing }}
{{ if }}
{{ .Nothing }}
{{ $labels.host.x }}
{{ $value.x }}
{{ .Value 1 }}
{{ $labels.host 1 }}
{{ $value 1 }}
{{ 1 | $value }}
{{ 1 2 }}
{{ (1) 2 }}
{{ nil | print }}
{{ nil.x }}
{{ print nil }} {{ printf "%v" nil }} {{ value nil }}
{{ first 1 }}
{{ first "a" }}
{{ label 1 (first (query "up")) }}
{{ label "host" }}
{{ toUpper 1 }}
{{ toUpper $value }}
{{ toUpper nil }}
{{ toUpper .Labels.nothing.x }}
{{ $value | toUpper }}
{{ $labels | first }}
{{ (query "up").x }}
{{ (first (query "up")).Nothing }}
{{ (first (query "up")).Labels.host }} {{ printf "%v" (first (query "up")) }} {{ print (first (query "up")) }} {{ printf "%q %x" "a" "b" }}
{{ $undefined }}
{{ printf 5 }}
{{ "a" | toUpper | toLower | printf "%s%s" "x" }} {{ printf "%*d|%-5s|%05.1f" 5 1 "a" $value }} {{ 9223372036854775808 }}
{{ with $x := 5 }}{{ $x }}{{ end }}{{ with 0 }}{{ else }}{{ . }}{{ end }} {{ if $y := 3 }}{{ $y }}{{ end }}
{{ break }}
{{ end }}
{{ "unterminated
`) {
		same(t, strings.TrimSuffix(text, "\n"))
	}
}

// functions is a [features.Collector] with the functions of Prometheus.
type functions []string

func (f *functions) Set(_, name string, _ bool)      { *f = append(*f, name) }
func (f *functions) Enable(_, name string)           { *f = append(*f, name) }
func (f *functions) Disable(_, _ string)             {}
func (f *functions) Get() map[string]map[string]bool { return nil }

// TestFunctionsLikePrometheus calls all functions with all values that may matter.
func TestFunctionsLikePrometheus(t *testing.T) {
	var all functions
	template.RegisterFeatures(&all)
	if len(all) < 29 {
		t.Fatalf("Prometheus has only the functions %v", all)
	}
	all = append(all, "and", "or", "not", "len", "index", "slice", "print", "printf", "println", "html", "js", "urlquery", "call", "eq", "ne", "lt", "le", "gt", "ge")
	some := strings.Split("0 1 -1 3.7 1e3 -62.5 0.0012 1e-9 1e21 1e40 $value 123456789.123 true nil `` `a` `éß` `NaN` `-Inf` `0x1p3` `12.5` `1h30m` `-5s` `[::1]:5` `::1` `a.b:80` `10.1.2.3:80` "+
		"`<&>\"'+%/` `%5d|%-8s|` (now) (toTime`1.5`) (toDuration`90`) $labels (query`none`) (query`up`|first) (args) (safeHtml`<x`)", " ")
	some = append(some, "`é ß A`", "`<&>\"'=\\ \u2028`")
	for _, f := range all {
		same(t, "{{ "+f+" }}")
		for i, a := range some {
			same(t, "{{ "+f+" "+a+" }}")
			for j, b := range some {
				if (i+j)%4 != 0 {
					continue // a quarter of the pairs is enough, and quick
				}
				same(t, "{{ "+f+" "+a+" "+b+" }}")
			}
		}
	}
}

// random returns a template of random parts.
func random(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var value func(int) string
	value = func(depth int) string {
		if depth == 0 || r.IntN(4) == 0 {
			return pick("$value", "$labels", "$labels.host", "$labels.n", ".", "$", "1", "0", "2.5", `"a"`, `"x.y:80"`, "true", "nil", "$labels.nothing", ".Value", ".Labels.n",
				`(query "up")`, `(query "none")`, `(first (query "up"))`, "(now)", "(toTime 5)", "(toDuration 2e-9)", "(args 1 $value)", "-3", "(args 1).arg1")
		}
		v := func() string { return value(depth - 1) }
		switch r.IntN(6) {
		case 0:
			return "(" + v() + " | " + pick("printf \"%v\"", "humanize", "humanize1024", "humanizeDuration", "humanizePercentage", "humanizeTimestamp", "toUpper", "title", "len",
				"not", "html", "js", "urlquery", "first", "value", "label \"host\"", "stripPort", "stripDomain", "print", "sortByLabel \"host\"", "match \"o\"", "toTime", "parseDuration") + ")"
		case 1:
			return "(" + pick("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "index", "slice", "print") + " " + v() + " " + v() + ")"
		case 2:
			return "(" + pick("and", "or", "eq", "slice", "index", "args", "printf \"%v %v\"") + " " + v() + " " + v() + " " + v() + ")"
		case 3:
			return "(" + v() + ")." + pick("host", "Labels", "Value", "Year", "Seconds", "arg0", "String")
		case 4:
			return "(reReplaceAll " + pick(`"[how]+"`, `"w"`, `"("`) + " " + pick(`"$0$0"`, `"-"`) + " " + v() + ")"
		}
		return "(" + v() + ")"
	}
	var b strings.Builder
	for range 1 + r.IntN(3) {
		body := ""
		if depth > 0 {
			body = random(r, depth-1)
		}
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "{{ if %s }}%s{{ else }}-{{ end }}", value(1), body)
		case 1:
			fmt.Fprintf(&b, "{{ range $k, $v := %s }}{{ $k }}%s%s{{ else }}none{{ end }}", value(1), body, pick("", "{{ break }}", "{{ if $k }}{{ continue }}{{ end }}+"))
		case 2:
			fmt.Fprintf(&b, "{{ with $x := %s }}{{ len (print $x) }}%s{{ else }}{{ . }}{{ end }}", value(1), body)
		case 3:
			fmt.Fprintf(&b, "{{ range %s }}%s.{{ end }}", value(1), body)
		default:
			fmt.Fprintf(&b, "%s{{ %s }}", pick("", "text "), value(2))
		}
	}
	return b.String()
}

// address is how an element of a list is printed.
var address = regexp.MustCompile(`(?i)0x[0-9a-f]{6,}`)

// limited is the error of a text that exceeds a limit.
var limited = regexp.MustCompile(`more than \d+ (steps|bytes)`)

// comparableText removes from a result what differs between two packages: addresses, and the names of types as %T prints them.
func comparableText(result string) string {
	return strings.ReplaceAll(address.ReplaceAllString(result, ""), "expand.", "template.")
}

// TestRandomLikePrometheus compares random templates. The functions in them leave addresses as they are, so that these can be removed.
func TestRandomLikePrometheus(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good, over := 0, 0
	for i := range 6000 {
		text := random(r, i%3)
		got := comparableText(ours(text))
		if limited.MatchString(got) {
			over++ // Prometheus has no limits
			continue
		}
		want := comparableText(theirs(text))
		if got != want {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
		if !strings.HasPrefix(want, "error: ") {
			good++
		}
	}
	if good < 800 || over > 100 {
		t.Errorf("%d templates have a result, %d exceed a limit", good, over)
	}
	t.Logf("%d templates have a result, %d exceed a limit", good, over)
}

// hostile texts end with an error that has the reason.
var hostile = map[string]string{
	`{{ range 1000000000 }}{{ end }}`:                               "more than 1000000 steps",
	`{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`: "exceeded maximum template depth",
	`{{ define "a" }}` + strings.Repeat("{{ if 1 }}", 500) + `{{ template "a" }}` + strings.Repeat("{{ end }}", 501) + `{{ template "a" }}`: "exceeded maximum template depth",
	`{{ define "a" }}{{ template "a" }}{{ template "a" }}{{ end }}{{ define "b" }}{{ template "a" }}{{ end }}{{ template "b" }}`:            "exceeded maximum template depth",
	`{{ $x := "aaaaaaaaaaaaaaaa" }}{{ range 40 }}{{ $x = print $x $x }}{{ end }}`:                                                           "a value has more than 262144 bytes",
	`{{ range 100000 }}{{ "a long text a long text a long text" }}{{ end }}`:                                                                "more than 1048576 bytes of output",
	`{{ $x := args }}{{ range 100 }}{{ $x = args $x $x }}{{ end }}{{ $x }}`:                                                                 "a value has more than 262144 bytes",
	`{{ $x := args }}{{ range 500000 }}{{ $x = args $x }}{{ end }}`:                                                                         "bytes",
	`{{ printf "` + strings.Repeat("%999999d", 1000) + `" 1 }}`:                                                                             "functions read more than 16777216 bytes",
	`{{ printf "%999999v" (args 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20) }}`:                                                     "functions read more than 16777216 bytes",
	`{{ printf "` + strings.Repeat("%[1]*d", 1000) + `" 900000 }}`:                                                                          "functions read more than 16777216 bytes",
	`{{ $x := printf "%100000d" 1 }}{{ reReplaceAll "" $x $x }}`:                                                                            "a value has more than 262144 bytes",
	`{{ $x := printf "%100000d" 1 }}{{ printf "` + strings.Repeat("%[1]s", 2000) + `" $x }}`:                                                "functions read more than 16777216 bytes",
	`{{ $x := printf "%100000d" 1 }}{{ match $x $x }}`:                                                                                      "a regular expression has more than 4096 bytes",
	`{{ match "(a{1,100}){1,10}(b{1,100}){1,10}(c{1,100}){1,10}(a{1,100}){1,10}(b{1,100}){1,10}(c{1,100}){1,10}" "" }}`:                     "or 10000 instructions",
	`{{ $x := printf "%100000d" 1 }}{{ match "(.{1,30}){1,30}x" $x }}`:                                                                      "functions read more than 16777216 bytes",
	`{{ range 100000 }}{{ match "` + strings.Repeat(`\\pL`, 200) + `" "" }}{{ end }}`:                                                       "functions read more than 16777216 bytes",
	`{{ range 1000000 }}{{ $x := query "up" }}{{ end }}`:                                                                                    "functions read more than 16777216 bytes",
}

// TestLimits expands hostile texts.
func TestLimits(t *testing.T) {
	for text, want := range hostile {
		if got := ours(text); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%.100s: %.200q, want %q", text, got, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := expand.Expand(ctx, name, "{{ 1 }}", data(), at, query); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}

// FuzzExpand expands any text: it ends with a result within the limit or with an error.
func FuzzExpand(f *testing.F) {
	for text := range hostile {
		f.Add(text)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		f.Add(random(r, 2))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 16<<10 {
			t.Skip("longer than a label may be")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		out, err := expand.Expand(ctx, name, text, data(), at, query)
		if err != nil && out != "" || len(out) > expand.MaxOutput {
			t.Errorf("%q: %d bytes, error %v", text, len(out), err)
		}
		if parse := expand.Check(name, text); parse != nil && err == nil {
			t.Errorf("%q: Check reports %v, Expand no error", text, parse)
		}
	})
}
