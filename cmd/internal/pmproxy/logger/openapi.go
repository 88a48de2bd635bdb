package logger

import (
	"encoding/json"

	"github.com/go-pcp/pcp/cmd/internal/pmproxy/internal/rest"
	"github.com/go-pcp/pcp/internal/version"
)

// openAPI describes the requests, in the format of OpenAPI 3.
func openAPI() []byte {
	type object = map[string]any
	query := func(name, text string) object {
		return object{"name": name, "in": "query", "description": text, "schema": object{"type": "string"}}
	}
	inPath := func(name, text string) object {
		return object{"name": name, "in": "path", "required": true, "description": text, "schema": object{"type": "integer"}}
	}
	client := query("client", "any text, which comes back in the answer")
	answers := object{"200": object{"description": "it is done", "content": object{rest.TypeJSON: object{"schema": object{"type": "object"}}}}}
	for status, text := range map[string]string{
		"400": "a mistake in the request, or a damaged record", "403": "the client may not push archives, or not this host's",
		"409": "the offset is behind the end of the file, or all names are taken", "410": "no such archive is being pushed by this client",
		"413": "the body is too long, or the volume's number too high", "422": "a bad label", "503": "too much is being pushed",
		"507": "there is no room on disk",
	} {
		answers[status] = object{"description": text, "content": object{rest.TypeJSON: object{}}}
	}
	post := func(id, summary string, params ...object) object {
		return object{"post": object{
			"operationId": "logger-" + id, "summary": summary, "parameters": append(params, client), "responses": answers,
			"requestBody": object{"required": true, "content": object{rest.TypeNone: object{"schema": object{"type": "string", "format": "binary"}}}},
		}}
	}
	archive := inPath("archive", "number of the archive, from the answer to its label")
	offset := query("offset", "where in the file the body belongs; what is there already is not written twice; by default it is the end")
	paths := object{
		"/logger/ping": object{"get": object{
			"operationId": "logger-ping", "summary": "Report that archives can be pushed", "parameters": []object{client},
			"responses": object{"200": object{"description": "they can", "content": object{rest.TypeJSON: object{}}}},
		}},
		"/logger/label": post("label", "Begin an archive with this label, and return its number",
			query("polltimeout", "seconds without requests after which the archive ends; 600 by default"),
			query("resume", "true: continue an archive with the same label if there is one, and return the sizes of its files")),
		"/logger/meta/{archive}":  post("meta", "Append records of metadata", archive, offset),
		"/logger/index/{archive}": post("index", "Append entries of the index", archive, offset),
		"/logger/end/{archive}":   post("end", "End an archive: write it to the disk, and return the sizes of its files", archive),
		"/logger/volume/{volume}/{archive}": post("volume", "Append records of a volume",
			inPath("volume", "number of the volume"), archive, offset),
	}
	b, err := json.Marshal(object{
		"openapi": "3.0.3",
		"info":    object{"title": "PMWEBAPI: logger", "version": version.Number, "description": "Archives pushed over HTTP. Clients must be trusted."},
		"paths":   paths,
	})
	if err != nil {
		panic(err) // a mistake in this function
	}
	return append(b, "\r\n"...)
}
