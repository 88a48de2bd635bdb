//go:build !unix

package loggermerge

import "github.com/go-pcp/pcp/cmd/internal/tool/parts"

func giveTo(string, []parts.Part) {}
