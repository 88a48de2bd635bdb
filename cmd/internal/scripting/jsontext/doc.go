// Package jsontext is pmjson: it checks JSON, and prints it laid out for people, as
// short as possible, or like YAML.
//
//	pmjson -i answer.json
//	curl -s http://localhost:44322/metrics | pmjson -q
package jsontext
