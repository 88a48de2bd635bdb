// Package elasticsearch is the agent for Elasticsearch: the cluster, its nodes and indices, of the answers to its HTTP requests.
//
// Names, PMIDs, types and units are those of pmdaelasticsearch(1).
package elasticsearch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (ELASTICSEARCH).
const Domain = 108

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain         int
	URL            string // of the server; "" means http://localhost:9200
	User, Password string
	Log            *slog.Logger
}

func (cfg Config) page() *service.Page {
	return &service.Page{URL: strings.TrimSuffix(cmp.Or(cfg.URL, "http://localhost:9200"), "/"), User: cfg.User, Password: cfg.Password}
}

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	p := cfg.page()
	d := newDomains()
	return service.New(service.Config{
		Name: "elasticsearch", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log,
		Metrics: d.metrics(), InDoms: d.list(), Origin: "It is %s.",
		Servers: []service.Server{{Name: p.URL, Close: p.Close, Read: func(ctx context.Context, a *service.Answer) error { return d.read(ctx, p, a) }}},
	})
}

// read asks a server. A request that one version does not have leaves its metrics without values; the first must succeed.
func (d domains) read(ctx context.Context, p *service.Page, a *service.Answer) error {
	for i, r := range d.requests() {
		b, err := p.GetAt(ctx, r.path)
		if err == nil {
			err = r.decode(b, a)
		}
		if err != nil && (i == 0 || ctx.Err() != nil) {
			return err
		}
	}
	return nil
}

// health is the page with the state of the cluster.
const health = "/_cluster/health"

// A request is a page with the function that reads its answer.
type request struct {
	path   string
	decode func(b []byte, a *service.Answer) error
}

func (d domains) requests() []request {
	return []request{
		{health, decodeHealth},
		{"/", decodeVersion},
		{"/_nodes/stats", func(b []byte, a *service.Answer) error { return decodeNodes(b, d.nodes, a) }},
		{"/_nodes", func(b []byte, a *service.Answer) error { return decodeNodes(b, d.info, a) }},
		{"/_cat/master?format=json", decodeMaster},
		{"/_stats/search", d.decodeSearch},
		{"/_cluster/state/metadata", d.decodeSettings},
	}
}

// maxDepth is the depth of objects in objects.
const maxDepth = 8

type object map[string]json.RawMessage

func parse(b []byte) (object, error) {
	var o object
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("not an object of JSON: %w", err)
	}
	return o, nil
}

// object returns a member that is an object, nil if there is none.
func (o object) object(name string) object {
	var inner object
	if json.Unmarshal(o[name], &inner) != nil {
		return nil
	}
	return inner
}

// text returns a member that is a text, "" if there is none.
func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

// put calls set for the members of an object that are values, with their paths.
func (o object) put(prefix string, depth int, set func(key, text string)) {
	for key, raw := range o {
		key, raw = prefix+key, bytes.TrimSpace(raw)
		if len(raw) == 0 {
			continue
		}
		switch raw[0] {
		case '"':
			var s string
			if json.Unmarshal(raw, &s) == nil {
				set(key, s)
			}
		case 't':
			set(key, "1")
		case 'f':
			set(key, "0")
		case '{':
			var inner object
			if depth > 0 && json.Unmarshal(raw, &inner) == nil {
				inner.put(key+".", depth-1, set)
			}
		case '[', 'n':
		default:
			set(key, string(raw))
		}
	}
}

func decodeHealth(b []byte, a *service.Answer) error {
	o, err := parse(b)
	if err != nil {
		return err
	}
	o.put("", maxDepth, a.Set)
	switch o.text("status") {
	case "green":
		a.Set("status.code", "0")
	case "yellow":
		a.Set("status.code", "1")
	case "red":
		a.Set("status.code", "2")
	}
	return nil
}

func decodeVersion(b []byte, a *service.Answer) error {
	o, err := parse(b)
	if err == nil {
		a.Set("version.number", o.object("version").text("number"))
	}
	return err
}

// decodeNodes reads an answer with an object for each node.
func decodeNodes(b []byte, nodes *service.InDom, a *service.Answer) error {
	o, err := parse(b)
	if err != nil {
		return err
	}
	list := o.object("nodes")
	for id := range list {
		node := list.object(id)
		if name := node.text("name"); name != "" {
			node.put("", maxDepth, a.Row(nodes, name).Set)
		}
	}
	return nil
}

func decodeMaster(b []byte, a *service.Answer) error {
	var list []struct {
		Node string `json:"node"`
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	if len(list) > 0 {
		a.Set("master", list[0].Node)
	}
	return nil
}

func (d domains) decodeSearch(b []byte, a *service.Answer) error {
	o, err := parse(b)
	if err != nil {
		return err
	}
	for _, name := range [...]string{"_shards", "_all"} {
		o.object(name).put(name+".", maxDepth, a.Set)
	}
	indices := o.object("indices")
	for name := range indices {
		indices.object(name).put("", maxDepth, a.Row(d.indices, name).Set)
	}
	return nil
}

func (d domains) decodeSettings(b []byte, a *service.Answer) error {
	o, err := parse(b)
	if err != nil {
		return err
	}
	indices := o.object("metadata").object("indices")
	for name := range indices {
		indices.object(name).object("settings").object("index").put("", maxDepth, a.Row(d.settings, name).Set)
	}
	return nil
}

// Builtin describes the agent. The process of Elasticsearch is a Java machine, as that of other programs.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "elasticsearch", Domain: Domain, Programs: []string{"java"}, Try: try,
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

// try asks the server for its state only. Without a configuration and a server the Java machine has another program.
func try(ctx context.Context, e builtin.Env) error {
	cfg, found, err := settings(e)
	if err != nil {
		return err
	}
	p := cfg.page()
	defer p.Close()
	b, err := p.GetAt(ctx, health)
	switch {
	case err == nil:
		_, err = parse(b)
	case !found && errors.Is(err, syscall.ECONNREFUSED):
		err = service.ErrAbsent
	}
	return err
}

func open(e builtin.Env) (*service.Agent, error) {
	cfg, _, err := settings(e)
	if err != nil {
		return nil, err
	}
	return New(cfg)
}

// settings reads elasticsearch.conf, as the C agent documents it, and reports whether it has any. Its user is that of a process, which this agent does not
// change.
func settings(e builtin.Env) (cfg Config, found bool, err error) {
	list, err := service.Settings(e.Config, "elasticsearch", "user", "baseurl", "auth", "password")
	cfg = Config{Domain: e.Domain, Log: e.Log}
	for _, s := range list {
		switch s.Name {
		case "baseurl":
			cfg.URL = s.Value
		case "auth":
			cfg.User = s.Value
		case "password":
			cfg.Password = s.Value
		}
	}
	return cfg, len(list) > 0, err
}
