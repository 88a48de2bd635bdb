package promtest_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	config "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/go-pcp/pcp/cmd/internal/prom/api"
)

// TestRead reads archives with the client for remote read of Prometheus 3, in both types of responses.
func TestRead(t *testing.T) {
	d := newDisk(t)
	defer d.Close()
	const samples, series = 1000, 3
	value := func(s, i int) float64 { return float64(s*i) / 7 }
	for s := range series {
		for i := range samples {
			d.add(labels.FromStrings(labels.MetricName, "load", "cpu", fmt.Sprint(s)), int64(i)*15_000, value(s, i))
		}
	}
	srv := httptest.NewServer(api.New(api.Config{Store: d}))
	defer srv.Close()
	u, err := url.Parse(srv.URL + "/api/v1/read")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES, prompb.ReadRequest_STREAMED_XOR_CHUNKS} {
		c, err := remote.NewReadClient(kind.String(), &remote.ClientConfig{
			URL: &config.URL{URL: u}, Timeout: model.Duration(time.Minute), ChunkedReadLimit: 5e7,
			AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{kind},
		})
		if err != nil {
			t.Fatal(err)
		}
		q, err := remote.ToQuery(0, (samples-1)*15_000, []*labels.Matcher{
			labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, "load"), labels.MustNewMatcher(labels.MatchNotRegexp, "cpu", "[1x]"),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		set, err := c.Read(t.Context(), q, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []int{0, 2} {
			if want := fmt.Sprintf(`{__name__="load", cpu="%d"}`, s); !set.Next() || set.At().Labels().String() != want {
				t.Fatalf("%v: no series %s: %v", kind, want, set.Err())
			}
			it := set.At().Iterator(nil)
			for i := range samples {
				if it.Next() != chunkenc.ValFloat {
					t.Fatalf("%v: the series has %d samples: %v", kind, i, it.Err())
				}
				if at, v := it.At(); at != int64(i)*15_000 || v != value(s, i) {
					t.Fatalf("%v: sample %d of series %d is %v at %d", kind, i, s, v, at)
				}
			}
			if it.Next() != chunkenc.ValNone {
				t.Errorf("%v: more samples", kind)
			}
		}
		if set.Next() || set.Err() != nil {
			t.Errorf("%v: another series, or %v", kind, set.Err())
		}
	}
}
