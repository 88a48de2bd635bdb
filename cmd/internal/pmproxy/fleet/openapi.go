package fleet

import (
	"encoding/json"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/version"
)

// openAPI describes the requests.
func openAPI() []byte {
	type object = map[string]any
	param := func(name, kind, text string) object {
		return object{"name": name, "in": "query", "description": text, "schema": object{"type": kind}}
	}
	get := func(id, summary string, params ...object) object {
		return object{"get": object{
			"operationId": "fleet-" + id, "summary": summary, "parameters": params,
			"responses": object{
				"200": object{"description": "the answer", "content": object{rest.TypeJSON: object{}}},
				"304": object{"description": "the answer is that with the ETag in If-None-Match"},
				"400": object{"description": "a mistake in the request", "content": object{rest.TypeJSON: object{}, rest.TypeHTML: object{}}},
				"503": object{"description": "the answer is not ready; Retry-After has the seconds to wait", "content": object{rest.TypeJSON: object{}}},
			},
		}}
	}
	window := param("window", "number", "seconds of the history; 3600 by default")
	end := param("end", "number", "time of the newest values, in seconds since 1970; now by default")
	b, err := json.Marshal(object{
		"openapi": "3.0.3",
		"info":    object{"title": "PMWEBAPI: fleet", "version": version.Number, "description": "Many hosts at once."},
		"paths": object{
			"/fleet/hosts": get("hosts", "The newest values of all hosts, those in trouble first, or the history of some hosts",
				param("count", "string", "if present, only the number of hosts is returned"),
				param("host", "string", "name of a host whose history is returned; may be repeated"),
				param("limit", "integer", "number of hosts"), param("offset", "integer", "number of hosts before the first one returned"), window, end),
			"/fleet/heat": get("heat", "One value for each host and time",
				param("column", "string", "a column of the table"),
				param("metric", "string", "the name of a metric, in place of a column"),
				param("instance", "string", "the instance of the metric; all by default"),
				param("of", "string", "how instances are combined: max, min, sum or avg"),
				param("rate", "boolean", "true for the rate of a counter"),
				param("points", "integer", "number of times; 60 by default"), window, end),
		},
	})
	if err != nil {
		panic(err) // a mistake in this function
	}
	return append(b, "\r\n"...)
}
