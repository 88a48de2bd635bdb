module github.com/go-pcp/pcp

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/ulikunitz/xz v0.5.17
	github.com/xdg-go/scram v1.4.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
)

// For tests.
require github.com/google/go-cmp v0.7.0

require (
	github.com/xdg-go/stringprep v1.0.4 // indirect
	golang.org/x/text v0.28.0 // indirect
)
