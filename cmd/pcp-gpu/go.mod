module github.com/go-pcp/pcp/cmd/pcp-gpu

go 1.26.7

require (
	github.com/ebitengine/purego v0.11.3
	github.com/go-pcp/pcp v0.1.0
	github.com/google/go-cmp v0.7.0
)

require (
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/ulikunitz/xz v0.5.17 // indirect
	github.com/xdg-go/scram v1.4.0 // indirect
	github.com/xdg-go/stringprep v1.0.4 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/text v0.28.0 // indirect
)

replace github.com/go-pcp/pcp => ../..
