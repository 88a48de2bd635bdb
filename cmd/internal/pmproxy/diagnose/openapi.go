package diagnose

import (
	"encoding/json"
	"fmt"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/version"
)

// A param is a parameter of requests.
type param struct{ name, kind, text string }

func params() []param {
	return []param{
		{"host", "string", "the collector, or with start and end the name that the archives of a host have; the server's own collector by default"},
		{"start", "number", "start of the window in seconds since 1970; without it the collector is sampled now"},
		{"end", "number", fmt.Sprintf("end of the window, at most %d days after its start", int(MaxWindow.Hours()/24))},
		{"whole", "boolean", "true compares all of the window with the time before it, in place of the time of the first finding"},
		{"changes", "boolean", "false omits what changed"},
	}
}

// openAPI describes the request.
func openAPI() []byte {
	type object = map[string]any
	var list []object
	for _, p := range params() {
		list = append(list, object{"name": p.name, "in": "query", "description": p.text, "schema": object{"type": p.kind}})
	}
	text := object{"type": "string"}
	array := func(of object) object { return object{"type": "array", "items": of} }
	answer := object{"type": "object", "required": []string{"findings", "changes", "unchecked", "verdict", "success"}, "properties": object{
		"findings":  array(object{"type": "object", "description": "a resource that is short: its severity, text, value, limit, times, evidence and what takes it, the cause first"}),
		"changes":   array(object{"type": "object", "description": "a metric that changed, with its values before and after"}),
		"compared":  object{"type": "object", "description": "the times that were compared"},
		"unchecked": array(object{"type": "object", "description": "a rule that was not evaluated", "properties": object{"id": text, "reason": text}}),
		"verdict":   object{"type": "object", "description": "the host, the window, and the numbers of samples, rules, errors and warnings"},
		"success":   object{"type": "boolean"},
	}}
	failure := func(text string) object {
		return object{"description": text, "content": object{rest.TypeJSON: object{"schema": object{
			"type": "object", "required": []string{"message", "success"}, "properties": object{"message": object{"type": "string"}, "success": object{"type": "boolean"}},
		}}}}
	}
	b, err := json.Marshal(object{
		"openapi": "3.0.3",
		"info":    object{"title": "PMWEBAPI: diagnose", "version": version.Number, "description": "What is short, what takes it, and what changed."},
		"paths": object{"/diagnose": object{"get": object{
			"operationId": "diagnose", "summary": "Diagnose a collector now, or the archives of a host", "parameters": list,
			"responses": object{
				"200": object{"description": "the diagnosis", "content": object{rest.TypeJSON: object{"schema": answer}}},
				"400": failure("a mistake in the request"), "404": failure("nothing is recorded at that time"),
				"500": failure("the rules or the values cannot be read"), "503": failure("the collector cannot be reached, or too many requests wait; Retry-After has the seconds to wait"),
			},
		}}},
	})
	if err != nil {
		panic(err) // a mistake in this function
	}
	return append(b, "\r\n"...)
}
