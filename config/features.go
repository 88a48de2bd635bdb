package config

import "github.com/go-pcp/pcp/internal/version"

// features are the settings of pmGetAPIConfig(3), in its order. Settings of a
// missing C library have no value.
var features = [...]struct{ name, value string }{
	{"pcp_version", ""}, // that of the program
	{"pmapi_version", "3"},
	{"openssl_version", ""},
	{"sasl_version", ""},
	{"multi_threaded", "true"},
	{"fault_injection", "false"},
	{"secure_sockets", "true"},
	{"ipv6", "true"},
	{"authentication", "true"},
	{"unix_domain_sockets", "true"},
	{"static_probes", "false"},
	{"service_discovery", "false"},
	{"multi_archive_contexts", "true"},
	{"lock_asserts", "false"},
	{"lock_debug", "false"},
	{"lzma_decompress", "true"},
	{"transparent_decompress", "true"},
	{"compress_suffixes", ".xz .lzma .bz2 .bz .gz .Z .z .zst"},
	{"v3_archives", "true"},
	{"archive_features", ""},
}

// Features returns the names of the features that [Feature] knows (pmGetAPIConfig(3)).
func Features() []string {
	names := make([]string, len(features))
	for i := range features {
		names[i] = features[i].name
	}
	return names
}

// Feature returns the value of a feature in this module: "true" or "false", a version or a list. It
// is "" if the feature belongs to a C library that is not here, and ok is false if there is no such
// feature.
func Feature(name string) (value string, ok bool) {
	if name == "pcp_version" {
		return version.String(), true
	}
	for _, f := range features {
		if f.name == name {
			return f.value, true
		}
	}
	return "", false
}
