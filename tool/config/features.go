package config

// features are what pmGetAPIConfig(3) tells, in its order. What depends on a C
// library that is not here has no value.
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

// feature returns the value of a feature, "" if it has none.
func feature(name, version string) string {
	if name == "pcp_version" {
		return version
	}
	for _, f := range features {
		if f.name == name {
			return f.value
		}
	}
	return ""
}
