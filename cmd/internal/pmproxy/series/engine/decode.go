package engine

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Limits of answers.
const (
	maxAnswer  = 64 << 20  // bytes
	maxLine    = 16 << 20  // bytes of a line of export
	maxFound   = 500_000   // series or strings of an answer
	maxSamples = 2_000_000 // of an answer
	maxLabels  = 256       // of a series
	maxTime    = 1 << 46   // milliseconds
	longReason = 200
)

// errAnswer begins the errors of answers that are not those of a server of the Prometheus family.
var errAnswer = errors.New("the answer is not that of a server of the Prometheus family")

// errPartial is the error for an answer of a cluster of which a part is away.
var errPartial = errors.New("the answer lacks the data of a part of the cluster")

// A limited reads at most so many bytes.
type limited struct {
	r    io.Reader
	left int64
}

// Read implements [io.Reader].
func (l *limited) Read(b []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

// reasonOf returns the error in the body of a reply: of JSON the message, of text the first line.
func reasonOf(status string, body []byte) string {
	var a struct{ Error string }
	text := ""
	if json.Unmarshal(body, &a) == nil && a.Error != "" {
		text = a.Error
	} else if line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n")); !bytes.HasPrefix(line, []byte("<")) && !bytes.HasPrefix(line, []byte("{")) {
		text = string(line)
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > longReason {
		text = strings.ToValidUTF8(text[:longReason], "") + "..."
	}
	if text == "" {
		return status
	}
	return status + ": " + text
}

// decodeAnswer reads an answer, and calls data for its data.
func decodeAnswer(r io.Reader, data func(*json.Decoder) error) error {
	d := json.NewDecoder(&limited{r, maxAnswer})
	wrong := func(err error) error {
		if errors.Is(err, errTooLarge) || errors.Is(err, errAnswer) {
			return err
		}
		return fmt.Errorf("%w: %w", errAnswer, err)
	}
	if err := open(d, '{'); err != nil {
		return wrong(err)
	}
	status, has, partial := "", false, false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return wrong(err)
		}
		switch key {
		case "status":
			err = d.Decode(&status)
		case "isPartial": // of a cluster of which a part is away
			err = d.Decode(&partial)
		case "data":
			has = true
			err = data(d)
		default:
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return wrong(err)
		}
	}
	if _, err := d.Token(); err != nil {
		return wrong(err)
	}
	switch {
	case status != "success" || !has:
		return fmt.Errorf("%w: status %.40q", errAnswer, status)
	case partial:
		return errPartial
	}
	return nil
}

// open reads the beginning of an object or a list.
func open(d *json.Decoder, want json.Delim) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("%w: %.40v instead of %v", errAnswer, t, want)
	}
	return nil
}

// each calls one for each element of a list.
func each(d *json.Decoder, one func() error) error {
	if err := open(d, '['); err != nil {
		return err
	}
	for n := 0; d.More(); n++ {
		if n == maxFound {
			return errTooLarge
		}
		if err := one(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// decodeStrings reads the strings of an answer.
func decodeStrings(r io.Reader) ([]string, error) {
	var list []string
	err := decodeAnswer(r, func(d *json.Decoder) error {
		list = nil
		return each(d, func() error {
			var s string
			err := d.Decode(&s)
			list = append(list, s)
			return err
		})
	})
	return list, err
}

// decodeSeries reads the labels of the series of an answer.
func decodeSeries(r io.Reader) ([]map[string]string, error) {
	var list []map[string]string
	err := decodeAnswer(r, func(d *json.Decoder) error {
		list = nil
		return each(d, func() error {
			var labels map[string]string
			if err := d.Decode(&labels); err != nil {
				return err
			}
			if len(labels) > maxLabels {
				return fmt.Errorf("%w: a series with %d labels", errAnswer, len(labels))
			}
			list = append(list, labels)
			return nil
		})
	})
	return list, err
}

// result calls one for each element of the result of a query.
func result(r io.Reader, kind string, one func(*json.Decoder) error) error {
	return decodeAnswer(r, func(d *json.Decoder) error {
		if err := open(d, '{'); err != nil {
			return err
		}
		got := ""
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return err
			}
			switch key {
			case "resultType":
				if err = d.Decode(&got); err == nil && got != kind {
					return fmt.Errorf("%w: a result of type %.40q instead of %s", errAnswer, got, kind)
				}
			case "result":
				err = each(d, func() error { return one(d) })
			default:
				var skipped json.RawMessage
				err = d.Decode(&skipped)
			}
			if err != nil {
				return err
			}
		}
		if got == "" {
			return fmt.Errorf("%w: no type of the result", errAnswer)
		}
		_, err := d.Token()
		return err
	})
}

// A point is a series of an instant vector with its value.
type point struct {
	Metric map[string]string
	Value  []json.RawMessage
}

// number returns the value.
func (p *point) number() (float64, error) {
	if len(p.Value) != 2 {
		return 0, fmt.Errorf("%w: a value without a time", errAnswer)
	}
	text, err := strconv.Unquote(string(p.Value[1]))
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is not a number", errAnswer, p.Value[1])
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is not a number", errAnswer, text)
	}
	return v, nil
}

// decodePoints reads the values of an instant vector.
func decodePoints(r io.Reader) (list []float64, err error) {
	err = result(r, "vector", func(d *json.Decoder) error {
		var p point
		if err := d.Decode(&p); err != nil {
			return err
		}
		v, err := p.number()
		list = append(list, v)
		return err
	})
	return list, err
}

// decodeLabels reads the labels of an instant vector.
func decodeLabels(r io.Reader) (list []map[string]string, err error) {
	err = result(r, "vector", func(d *json.Decoder) error {
		var p point
		if err := d.Decode(&p); err != nil {
			return err
		}
		list = append(list, p.Metric)
		return nil
	})
	return list, err
}

// A track is a series with its samples, in the order of time, one for each.
type track struct {
	labels map[string]string
	times  []int64 // milliseconds
	values []float64
}

// sort orders the samples, and leaves one for each time.
func (t *track) sort() {
	ordered := true
	for i := 1; i < len(t.times); i++ {
		ordered = ordered && t.times[i] > t.times[i-1]
	}
	if ordered {
		return
	}
	index := make([]int, len(t.times))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return int(min(max(t.times[a]-t.times[b], -1), 1)) })
	times, values := make([]int64, 0, len(index)), make([]float64, 0, len(index))
	for _, i := range index {
		if n := len(times); n > 0 && times[n-1] == t.times[i] {
			values[n-1] = t.values[i]
			continue
		}
		times, values = append(times, t.times[i]), append(values, t.values[i])
	}
	t.times, t.values = times, values
}

// decodeMatrix reads the series of a range vector.
func decodeMatrix(r io.Reader) (list []track, err error) {
	n := 0
	err = result(r, "matrix", func(d *json.Decoder) error {
		var one struct {
			Metric map[string]string
			Values json.RawMessage
		}
		if err := d.Decode(&one); err != nil {
			return err
		}
		t := track{labels: one.Metric}
		if err := t.pairs(one.Values, maxSamples-n); err != nil {
			return err
		}
		n += len(t.times)
		t.sort()
		list = append(list, t)
		return nil
	})
	return list, err
}

// pairs parses samples, as in [[1700000000.123,"1.5"],...], which are valid JSON.
func (t *track) pairs(b []byte, most int) error {
	at := 0
	next := func(c byte) bool {
		for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
			at++
		}
		if at < len(b) && b[at] == c {
			at++
			return true
		}
		return false
	}
	word := func() string {
		from := at
		for at < len(b) && b[at] != ',' && b[at] != ']' && b[at] != '"' && b[at] != ' ' {
			at++
		}
		return string(b[from:at])
	}
	bad := func() error {
		return fmt.Errorf("%w: not a list of samples at byte %d", errAnswer, at)
	}
	if !next('[') {
		return bad()
	}
	for !next(']') {
		if len(t.times) > 0 && !next(',') || !next('[') {
			return bad()
		}
		if len(t.times) == most {
			return errTooLarge
		}
		next(0) // white space
		sec, err := strconv.ParseFloat(word(), 64)
		if err != nil || !(math.Abs(sec) < maxTime/1000) || !next(',') || !next('"') {
			return bad()
		}
		v, err := strconv.ParseFloat(word(), 64)
		if err != nil || !next('"') || !next(']') {
			return bad()
		}
		t.times = append(t.times, int64(math.Round(sec*1000)))
		t.values = append(t.values, v)
	}
	if at != len(b) {
		return bad()
	}
	return nil
}

// decodeExport reads the series of /api/v1/export, a line of JSON for each. Samples without a value are markers of an end, which are left out.
func decodeExport(r io.Reader) (list []track, err error) {
	in := bufio.NewScanner(&limited{r, maxAnswer})
	in.Buffer(nil, maxLine)
	byKey := map[string]int{}
	n := 0
	for in.Scan() {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var one struct {
			Metric     map[string]string
			Values     []json.RawMessage
			Timestamps []int64
		}
		if err := json.Unmarshal(in.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%w: %w", errAnswer, err)
		}
		if one.Metric == nil || len(one.Values) != len(one.Timestamps) || len(one.Metric) > maxLabels {
			return nil, fmt.Errorf("%w: a line with %d values at %d times", errAnswer, len(one.Values), len(one.Timestamps))
		}
		if n += len(one.Values); n > maxSamples {
			return nil, errTooLarge
		}
		k := keyOf(one.Metric)
		i, ok := byKey[k]
		if !ok { // a series may have several lines
			if len(list) == maxFound {
				return nil, errTooLarge
			}
			i = len(list)
			byKey[k] = i
			list = append(list, track{labels: one.Metric})
		}
		t := &list[i]
		for j, v := range one.Values {
			if string(v) == "null" {
				continue
			}
			f, err := strconv.ParseFloat(strings.Trim(string(v), `"`), 64) // "Infinity" is a string
			if at := one.Timestamps[j]; err != nil || at <= -maxTime || at >= maxTime {
				return nil, fmt.Errorf("%w: value %.40q at %d", errAnswer, v, at)
			}
			t.times, t.values = append(t.times, one.Timestamps[j]), append(t.values, f)
		}
	}
	if err := in.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, errTooLarge
		}
		return nil, err
	}
	for i := range list {
		list[i].sort()
	}
	return list, nil
}

// keyOf returns a text that differs for different labels.
func keyOf(labels map[string]string) string {
	words := make([]string, 0, len(labels))
	for name, value := range labels {
		words = append(words, name+"\xff"+value+"\xff")
	}
	slices.Sort(words)
	return strings.Join(words, "")
}
