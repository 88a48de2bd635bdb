package webapi

import (
	"context"
	"encoding/json"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/version"
)

// An endpoint is a command of the interface. The table drives both the routing and the OpenAPI
// description.
type endpoint struct {
	name        string
	post        bool   // POST has a body
	contentType string // of a successful response
	summary     string
	params      []param
	body        string // description of a POST's body
	makes       bool   // a request makes a context: it ignores the number of one
	scrapes     bool   // it also serves /metrics

	// lacks returns the missing parameter, for a refusal before all other checks; "" if none is missing.
	lacks func(p rest.Params, post bool) string
	// check validates the parameters before a context is found.
	check func(r *request) error
	run   func(ctx context.Context, r *request) error
}

// A param describes a parameter.
type param struct {
	name, text string
	required   bool
}

// hostParams are the parameters of all endpoints.
var hostParams = []param{
	{name: "context", text: "number of a context, from an earlier answer; it counts more than one in the path"},
	{name: "hostspec", text: "the collector to ask if there is no context, as host:port?attribute=value (PCPIntro(1))"},
	{name: "hostname", text: "the same as hostspec, which counts more"},
	{name: "polltimeout", text: "seconds after which a new context ends if it is not used; 5 by default"},
	{name: "client", text: "any text, which comes back in the answer"},
}

// scrapeParams are the parameters of both paths of the scrape.
var scrapeParams = []param{
	{name: "names", text: "metrics or nodes of the name space, separated by commas; all metrics by default"},
	{name: "name", text: "the same as names, which counts more"},
	{name: "prefix", text: "the same as names and name, which count more"},
	{name: "target", text: "the same as names, name and prefix, which count more"},
	{name: "filter", text: "names of metrics to leave out, separated by commas"},
	{name: "match", text: "how filter is meant: exact, glob (the default) or regex"},
	{name: "times", text: "true adds the time to each value"},
}

// endpoints are the commands below /pmapi/. A longer name precedes its prefixes.
var endpoints = []endpoint{
	{
		name: "context", contentType: rest.TypeJSON, run: contextCommand, makes: true,
		summary: "Make a context, or describe one",
	},
	{
		name: "profile", contentType: rest.TypeJSON, run: profileCommand, check: checkProfile,
		summary: "Choose the instances whose values fetches of a context return",
		params: []param{
			{name: "expr", text: "add or del", required: true},
			{name: "name", text: "metric whose instances are meant"},
			{name: "indom", text: "instance domain, used when name is absent; without name and indom the request concerns all domains"},
			{name: "iname", text: "names of instances, separated by commas; all by default"},
			{name: "instance", text: "numbers of instances, if there are no names"},
			{name: "match", text: "how iname is meant: exact (the default), glob or regex"},
		},
		lacks: func(p rest.Params, _ bool) string { return lacksAll(p, "expr") },
	},
	{
		name: "metrics", contentType: rest.TypeText, run: scrapeCommand, check: checkScrape, scrapes: true,
		summary: "Values of metrics with numbers as text for Prometheus, or as JSON of OpenTelemetry",
		params:  scrapeParams,
	},
	{
		name: "metric", contentType: rest.TypeJSON, run: metricCommand,
		summary: "What is known about metrics: descriptors, labels, help",
		params: []param{
			{name: "prefix", text: "metrics or nodes of the name space, separated by commas; all metrics by default"},
			{name: "names", text: "the same as prefix, which counts more"},
			{name: "name", text: "the same as prefix and names, which count more"},
		},
	},
	{
		name: "derive", post: true, contentType: rest.TypeJSON, run: deriveCommand,
		summary: "Define derived metrics in a context; for clients that are trusted",
		params: []param{
			{name: "name", text: "of the metric"},
			{name: "expr", text: "its expression; without name several definitions, each with an equals sign, on a line of its own"},
		},
		body: "definitions, if there is no parameter expr",
		lacks: func(p rest.Params, post bool) string {
			if post {
				return ""
			}
			return lacksAll(p, "name", "expr")
		},
	},
	{
		name: "fetch", contentType: rest.TypeJSON, run: fetchCommand,
		summary: "Values of metrics",
		params: []param{
			{name: "names", text: "metrics, separated by commas"},
			{name: "name", text: "the same, if there are no names; it is an error if one is unknown"},
			{name: "pmids", text: "numbers of metrics, as 60.0.32, if there are no names"},
			{name: "pmid", text: "the same, if there are no pmids; it is an error if one is unknown"},
			{name: "top", text: "of each metric only so many instances, those with the largest values, up to 1000; others is the number of the rest"},
		},
		lacks: func(p rest.Params, _ bool) string { return lacksAll(p, "names", "name", "pmids", "pmid") },
	},
	{
		name: "indom", contentType: rest.TypeJSON, run: indomCommand, check: checkMatch,
		summary: "The instances of an instance domain",
		params: []param{
			{name: "name", text: "metric whose instances are meant"},
			{name: "indom", text: "instance domain, such as 60.1, used when name is absent"},
			{name: "iname", text: "names of instances, separated by commas; all by default"},
			{name: "instance", text: "numbers of instances, if there are no names"},
			{name: "match", text: "how iname is meant: exact (the default), glob or regex"},
		},
		lacks: func(p rest.Params, _ bool) string { return lacksAll(p, "name", "indom") },
	},
	{
		name: "store", post: true, contentType: rest.TypeJSON, run: storeCommand,
		summary: "Store a value; for clients that are trusted",
		params: []param{
			{name: "name", text: "metric"},
			{name: "pmid", text: "number of the metric, used when name is absent"},
			{name: "value", text: "the value"},
			{name: "iname", text: "names of instances, separated by commas"},
			{name: "instance", text: "numbers of instances, if there are no names"},
		},
		body: "the value, if there is no parameter for it",
		lacks: func(p rest.Params, post bool) string {
			if what := lacksAll(p, "name", "pmid"); what != "" || post {
				return what
			}
			return lacksAll(p, "value")
		},
	},
	{
		name: "children", contentType: rest.TypeJSON, run: childrenCommand,
		summary: "What is below a node of the name space",
		params: []param{
			{name: "prefix", text: "the node; the root by default"},
			{name: "name", text: "the same, if there is no prefix"},
		},
	},
}

// scrapeEndpoint returns the endpoint of /metrics, nil if it is not in the table.
func scrapeEndpoint() *endpoint {
	for i := range endpoints {
		if endpoints[i].scrapes {
			return &endpoints[i]
		}
	}
	return nil
}

// lacksAll returns the missing parameters if all of names are absent.
func lacksAll(p rest.Params, names ...string) string {
	for _, name := range names {
		if _, ok := p.Get(name); ok {
			return ""
		}
	}
	what := "parameter " + names[0]
	for _, name := range names[1:] {
		what += " or " + name
	}
	return what + " is missing"
}

// openAPI returns the description of the interface, in the format of OpenAPI 3.
func openAPI() []byte {
	type object = map[string]any
	text := object{"type": "string"}
	parameter := func(p param) object {
		o := object{"name": p.name, "in": "query", "description": p.text, "schema": text}
		if p.required {
			o["required"] = true
		}
		return o
	}
	failure := object{
		"description": "what is wrong",
		"content": object{rest.TypeJSON: object{"schema": object{
			"type":     "object",
			"required": []string{"message", "success"},
			"properties": object{
				"context": object{"type": "integer"}, "message": text, "success": object{"type": "boolean"},
			},
		}}},
	}
	operation := func(e *endpoint, id string, post bool) object {
		var params []object
		for _, p := range e.params {
			params = append(params, parameter(p))
		}
		for _, p := range hostParams {
			params = append(params, parameter(p))
		}
		content := object{e.contentType: object{}}
		if e.contentType == rest.TypeText {
			content[rest.TypeJSON] = object{}
		} else {
			content[rest.TypeJSON] = object{"schema": object{"type": "object"}}
		}
		o := object{
			"operationId": id, "summary": e.summary, "parameters": params,
			"responses": object{
				"200": object{"description": "the answer", "content": content}, "400": failure, "401": failure, "403": failure, "503": failure,
			},
		}
		if post {
			o["requestBody"] = object{"description": e.body, "content": object{rest.TypeText: object{"schema": text}}}
		}
		return o
	}
	paths := object{}
	inPath := object{
		"name": "context", "in": "path", "required": true, "description": "number of a context",
		"schema": object{"type": "integer"},
	}
	add := func(path, id string, e *endpoint, withContext bool) {
		item := object{"get": operation(e, id, false)}
		if e.post {
			item["post"] = operation(e, id+"Post", true)
		}
		if withContext {
			item["parameters"] = []object{inPath}
		}
		paths[path] = item
	}
	for i := range endpoints {
		e := &endpoints[i]
		add("/pmapi/"+e.name, e.name, e, false)
		add("/pmapi/{context}/"+e.name, e.name+"InContext", e, true)
	}
	add("/metrics", "scrape", scrapeEndpoint(), false)
	add("/stream", "stream", &endpoint{
		contentType: typeEvents, params: streamParams,
		summary: "Samples of metrics as server-sent events, until the client disconnects",
	}, false)
	doc := object{
		"openapi": "3.0.3",
		"info": object{
			"title": "PMWEBAPI", "version": version.Number,
			"description": "Metrics of Performance Co-Pilot over HTTP.",
		},
		"paths": paths,
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // a mistake in this function
	}
	return append(b, "\r\n"...)
}
