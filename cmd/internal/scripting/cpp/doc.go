// Package cpp is pmcpp: it preprocesses a file, as the name space loader does.
//
//	pmcpp -P -DDOMAIN=29 root_sample
//
// The language is that of package internal/cpp.
package cpp
