package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// library and program are the modules of this repository.
const (
	library = "github.com/go-pcp/pcp"
	program = library + "/cmd"
)

// makeSBOM makes a list of the modules in each program, from the program itself, in CycloneDX's format.
func makeSBOM(_ context.Context, r *release, in input) error {
	if err := r.makeSBOM(in, "pcp", in.program, program); err != nil || in.gpu == "" {
		return err
	}
	return r.makeSBOM(in, "pcp-gpu", in.gpu, program+"/pcp-gpu")
}

// makeSBOM makes the list of one program, which is the main package of a module.
func (r *release) makeSBOM(in input, name, path, module string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	bom := r.bom(info, module, sha256.Sum256(b))
	return r.write(name+"-"+r.version+"-linux-"+in.arch+".cdx.json", "CycloneDX SBOM", func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

// bom lists the modules of a program, of a module, that has this sum.
func (r *release) bom(info *buildinfo.BuildInfo, module string, sum [sha256.Size]byte) *cdx.BOM {
	setting := make(map[string]string)
	for _, s := range info.Settings {
		setting[s.Key] = s.Value
	}
	main := component(cdx.ComponentTypeApplication, module, "v"+r.version)
	main.Licenses = &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}
	main.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}
	main.Properties = &[]cdx.Property{
		{Name: "go:os", Value: setting["GOOS"]},
		{Name: "go:arch", Value: setting["GOARCH"]},
		{Name: "go:commit", Value: r.source.commit},
	}
	goversion, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	list := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", goversion)}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		version := d.Version
		if d.Path == library || d.Path == "../" || d.Path == "../.." || strings.HasPrefix(d.Path, library+"/") {
			version = "v" + r.version // of this repository
		}
		c := component(cdx.ComponentTypeLibrary, d.Path, version)
		if d.Sum != "" {
			c.Properties = &[]cdx.Property{{Name: "go:sum", Value: d.Sum}}
		}
		list = append(list, c)
	}
	var refs []string
	for _, c := range list {
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	// The number is made of the program's sum, in the form of a UUID of version 8 (RFC 9562).
	id := sum
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	bom.Metadata = &cdx.Metadata{Timestamp: r.source.time.Format(time.RFC3339), Component: &main}
	bom.Components = &list
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return bom
}

func component(kind cdx.ComponentType, path, version string) cdx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cdx.Component{BOMRef: url, Type: kind, Name: path, Version: version, PackageURL: url}
}
