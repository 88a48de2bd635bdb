package export

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// influxDB sends samples to an InfluxDB server as lines of its protocol, a metric each:
//
//	disk_dev_read,tags _sda=1.0,_sdb=4.0 1147483647000000000
type influxDB struct {
	*run
	server, database, user, password, tags string

	out  outbox
	post *poster
	url  string
}

const httpTimeout = 30 * time.Second

func (x *influxDB) begin() {
	x.post = newPoster(httpTimeout)
	x.post.user, x.post.password = x.user, x.password
	x.url = x.server + "/write?" + url.Values{"db": {x.database}}.Encode()
	x.out = outbox{env: x.env, send: x.send, complain: x.complain}
}

func (x *influxDB) send(ctx context.Context, m message) error {
	err := x.post.do(ctx, http.MethodPost, x.url, "", m.body, func(code int) bool { return code == http.StatusNoContent })
	if code := (statusError{}); errors.As(err, &code) && code.code == http.StatusOK {
		return errors.Join(errRejected, err) // this status means that the server stored a part
	}
	return err
}

func (x *influxDB) complain(m message, err error) {
	var code statusError
	if !errors.As(err, &code) {
		fmt.Fprintf(x.env.Stderr, "Can't connect to InfluxDB server %s: %s, continuing.\n", x.server, err)
		return
	}
	switch code.code {
	case http.StatusOK:
		fmt.Fprint(x.env.Stderr, "Could not send metrics: InfluxDB could not complete the request.\n")
	case http.StatusNotFound:
		fmt.Fprintf(x.env.Stderr, "Could not send metrics: Got HTTP code 404. This most likely means that the requested database '%s' does not exist.\n", x.database)
	default:
		fmt.Fprintf(x.env.Stderr, "Could not send metrics: request to %s failed with code %d.\nBody of the request is:\n%s\n", x.url, code.code, m.body)
	}
}

// measurement is the name of a metric as InfluxDB has it.
func measurement(name string) string {
	name = strings.NewReplacer(".", "_", "-", "_").Replace(name)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return name
}

func (x *influxDB) write(ctx context.Context, s *sample) error {
	var b []byte
	for i := range s.metrics {
		m := &s.metrics[i]
		var fields object
		for j := range m.values {
			v := &m.values[j]
			key := "value"
			if v.Name != "" {
				key = sanitize(v.Name)
			}
			fields.set(key, oneLine(str(rounded(v.Value, m.Precision))))
		}
		if len(b) > 0 {
			b = append(b, '\n')
		}
		b = append(b, measurement(m.Name)...)
		if x.tags != "" {
			b = append(append(b, ','), x.tags...)
		}
		for j, key := range fields.keys {
			sep := byte(',')
			if j == 0 {
				sep = ' '
			}
			b = fmt.Appendf(append(b, sep), "%s=%s", key, fields.values[j])
		}
		b = fmt.Appendf(b, " %d", int64(float64(micros(s.time))*1e3)) // of as many bits as Python has
	}
	if len(b) == 0 {
		fmt.Fprint(x.env.Stderr, "Can't send request that has no metrics.\n")
		return nil
	}
	x.out.put(ctx, message{s.stamp, b, len(s.metrics)})
	return nil
}

func (x *influxDB) end(ctx context.Context) bool { return x.out.close(ctx) }
