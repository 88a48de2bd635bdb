package search

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	index "github.com/go-pcp/pcp/cmd/internal/pmproxy/search"
)

const (
	defaultPort = 44322
	// maxAnswer is the maximum size of an answer.
	maxAnswer = 64 << 20
	// answerTime is the time limit for an answer.
	answerTime = 15 * time.Second
)

// A proxy is an engine: a pmproxy that is asked over HTTP.
type proxy struct {
	base   string
	client *http.Client
}

func newProxy(host string, port int) *proxy {
	if host == "" {
		host = "localhost"
	}
	if port == 0 {
		port = defaultPort
	}
	return &proxy{
		base: "http://" + net.JoinHostPort(host, strconv.Itoa(port)) + "/search/",
		client: &http.Client{
			Timeout:       answerTime,
			Transport:     &http.Transport{DisableKeepAlives: true}, // and no proxy of the environment
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// get asks for a command and reads the answer into v.
func (p *proxy) get(ctx context.Context, command string, query url.Values, v any) error {
	u := p.base + command
	if len(query) > 0 {
		// pmproxy does not take a plus sign for a blank.
		u += "?" + escape(query)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return err
	}
	w, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	b, err := io.ReadAll(io.LimitReader(w.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p.base+command, err)
	case len(b) > maxAnswer:
		return fmt.Errorf("%s: answer of more than %d bytes", p.base+command, maxAnswer)
	case w.StatusCode != http.StatusOK:
		var no struct{ Success *bool }
		if json.Unmarshal(b, &no) == nil && no.Success != nil {
			return fmt.Errorf("%s: %w", p.base+command, errUnavailable)
		}
		return fmt.Errorf("%s: status %s", p.base+command, w.Status)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", p.base+command, err)
	}
	return nil
}

// escape returns parameters as text of a URL.
func escape(query url.Values) string {
	s := ""
	for name, values := range query {
		if s != "" {
			s += "&"
		}
		s += name + "=" + url.PathEscape(values[0])
	}
	return s
}

// params returns the parameters that a request is.
func params(r index.Request) url.Values {
	q := url.Values{"query": {r.Query}}
	if r.Limit > 0 {
		q.Set("limit", strconv.Itoa(r.Limit))
	}
	if r.Offset > 0 {
		q.Set("offset", strconv.Itoa(r.Offset))
	}
	if r.Highlight != 0 {
		q.Set("highlight", "name,oneline,helptext")
	}
	return q
}

// results are an answer with results.
type results struct {
	Total   int
	Elapsed float64
	Results []struct {
		Name, Type, InDom, OneLine, HelpText string
		Score                                float64
	}
}

func (p *proxy) results(ctx context.Context, command string, q url.Values) (index.Result, error) {
	var a results
	if err := p.get(ctx, command, q, &a); err != nil {
		return index.Result{}, err
	}
	res := index.Result{Total: a.Total, Elapsed: time.Duration(a.Elapsed * float64(time.Second))}
	for _, h := range a.Results {
		d := index.Document{Name: h.Name, InDom: h.InDom, OneLine: h.OneLine, Help: h.HelpText}
		for t := index.Metric; t <= index.Instance; t++ {
			if t.String() == h.Type {
				d.Type = t
			}
		}
		res.Hits = append(res.Hits, index.Hit{Document: d, Score: h.Score})
	}
	return res, nil
}

// Text asks for a search. The score is an extension of our pmproxy; without it, it is 0.
func (p *proxy) Text(ctx context.Context, r index.Request) (index.Result, error) {
	q := params(r)
	q.Set("return", "name,type,indom,oneline,helptext,score")
	return p.results(ctx, "text", q)
}

// InDomains asks for the members of a domain.
func (p *proxy) InDomains(ctx context.Context, r index.Request) (index.Result, error) {
	return p.results(ctx, "indom", params(r))
}

// Suggest asks for names. Their types are not included.
func (p *proxy) Suggest(ctx context.Context, r index.Request) (index.Result, error) {
	var names []string
	start := time.Now()
	if err := p.get(ctx, "suggest", params(r), &names); err != nil {
		return index.Result{}, err
	}
	res := index.Result{Total: len(names), Elapsed: time.Since(start)}
	for _, name := range names {
		res.Hits = append(res.Hits, index.Hit{Document: index.Document{Type: index.Metric, Name: name}})
	}
	return res, nil
}

// Info asks for figures of the index.
func (p *proxy) Info(ctx context.Context) (index.Info, error) {
	var a struct {
		Docs, Terms, Records int
		RecordsPerDoc        float64 `json:"records_per_doc_avg"`
		BytesPerRecord       float64 `json:"bytes_per_record_avg"`
		InvertedMB           float64 `json:"inverted_sz_mb"`
		InvertedCapMB        float64 `json:"inverted_cap_mb"`
		InvertedOverhead     float64 `json:"inverted_cap_ovh"`
		SkipIndexMB          float64 `json:"skip_index_size_mb"`
		ScoreIndexMB         float64 `json:"score_index_size_mb"`
		OffsetsPerTerm       float64 `json:"offsets_per_term_avg"`
		OffsetBits           float64 `json:"offset_bits_per_record_avg"`
	}
	err := p.get(ctx, "info", nil, &a)
	return index.Info{
		Documents: a.Docs, Terms: a.Terms, Records: a.Records, RecordsPerDoc: a.RecordsPerDoc, BytesPerRecord: a.BytesPerRecord,
		InvertedMB: a.InvertedMB, InvertedCapMB: a.InvertedCapMB, InvertedOverhead: a.InvertedOverhead, SkipIndexMB: a.SkipIndexMB,
		ScoreIndexMB: a.ScoreIndexMB, OffsetsPerTerm: a.OffsetsPerTerm, OffsetBits: a.OffsetBits,
	}, err
}
