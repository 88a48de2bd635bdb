package export

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/go-pcp/pcp"
)

// elasticsearch sends a document for each sample to an Elasticsearch server.
type elasticsearch struct {
	*run
	server, index, hostID, kind, user, password string

	out    outbox
	post   *poster
	failed bool // the last request was not taken, and the user knows that
}

// elasticDumper writes as json.dumps does without options.
var elasticDumper = dumper{ascii: true, itemSep: ", ", keySep: ": "}

// mapping describes the fields of each document.
const mapping = `{"ignore": 400, "mappings": {"pcp-metric": {"properties": {"@timestamp": {"type": "epoch_milli"}, "@host-id": {"type": "string"}}}}}`

func (x *elasticsearch) begin() {
	x.post = newPoster(httpTimeout)
	x.post.user, x.post.password = x.user, x.password
	if x.hostID == "" {
		x.hostID = x.head.host
	}
	x.out = outbox{env: x.env, send: x.send, complain: x.complain}
}

// start makes a first request, so that the user knows at once if the server is missing.
func (x *elasticsearch) start(ctx context.Context) error {
	if err := x.post.do(ctx, http.MethodGet, x.server, "", nil, success); err != nil {
		fmt.Fprintf(x.env.Stderr, "Cannot connect to Elasticsearch server %s, continuing.\n", x.server)
		x.failed = true
	}
	return nil
}

// A stepError names the request, of the two for a sample, that failed.
type stepError struct {
	doing string
	error
}

func (e stepError) Unwrap() error { return e.error }

func (x *elasticsearch) send(ctx context.Context, m message) error {
	url := x.server + "/" + x.index
	err := x.post.do(ctx, http.MethodPut, url, "application/json", []byte(mapping), success)
	if err != nil {
		return stepError{"connect to", err}
	}
	if err = x.post.do(ctx, http.MethodPost, url+"/"+x.kind, "application/json", m.body, success); err != nil {
		return stepError{"send to", err}
	}
	if x.failed {
		fmt.Fprintf(x.env.Stderr, "Reconnected to Elasticsearch server %s.\n", x.server)
	}
	x.failed = false
	return nil
}

func (x *elasticsearch) complain(_ message, err error) {
	var step stepError
	if !x.failed && errors.As(err, &step) {
		why := step.error.Error()
		if code := (statusError{}); errors.As(step.error, &code) {
			why = fmt.Sprintf("HTTP Error %d: %s", code.code, http.StatusText(code.code))
		}
		fmt.Fprintf(x.env.Stderr, "Cannot %s Elasticsearch server %s: %s, continuing.\n", step.doing, x.server, why)
	}
	x.failed = true
}

func (x *elasticsearch) write(ctx context.Context, s *sample) error {
	doc := nested{root: new(object), labels: x.what.labels}
	doc.root.set("@host-id", x.hostID)
	doc.root.set("@timestamp", number(strconv.FormatInt(micros(s.time)/1000, 10)))
	for i := range s.metrics {
		m := &s.metrics[i]
		for j := range m.values {
			v := &m.values[j]
			doc.add(m, v, fitting(v.Value, m.Precision))
		}
	}
	x.out.put(ctx, message{s.stamp, elasticDumper.dump(nil, doc.root, 0), 0})
	return nil
}

// fitting is a value as the server can store it: integers beyond a long are floats, NaN is null.
func fitting(v pcp.Value, precision int) node {
	if v.Type() == pcp.TypeU64 && v.Uint64() > math.MaxInt64-1 || v.Type() == pcp.Type64 && v.Int64() > math.MaxInt64-1 {
		f, _ := v.Float64()
		v = pcp.DoubleValue(f)
	}
	if f, _ := v.Float64(); isFloat(v) && math.IsNaN(f) {
		return nil
	}
	return numeral(rounded(v, precision))
}

func (x *elasticsearch) end(ctx context.Context) bool { return x.out.close(ctx) }
