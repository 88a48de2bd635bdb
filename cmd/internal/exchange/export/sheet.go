package export

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// A sheet is a file of Office Open XML (ECMA-376) with one sheet, written row by row: a ZIP archive of XML
// documents of which the last has the rows.
type sheet struct {
	zip    *zip.Writer
	w      io.Writer // the entry with the rows
	b      []byte
	styles []style
	row    int
}

// A style is the look of cells. The styles of a sheet are numbered in the order of
// addition, from 1.
type style struct {
	bold   bool
	align  string // "left", "right" or ""
	number string // format of numbers, "" for the general one
	line   bool   // above the cell
}

// Limits of the format.
const (
	maxColumn = 16384
	maxRow    = 1048576
	maxWidth  = 255 // of a column, in characters
)

// Identifiers of number formats below this one are those of the program that reads the file.
const firstNumFmt = 164

const (
	mainNS    = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	relNS     = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packageNS = "http://schemas.openxmlformats.org/package/2006/"
	kind      = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

// newSheet begins a file. styles has all styles of the sheet; widths are those of the columns.
func newSheet(w io.Writer, title string, made time.Time, styles []style, widths []int) (*sheet, error) {
	s := &sheet{zip: zip.NewWriter(w), styles: styles}
	for _, part := range []struct{ name, text string }{
		{"[Content_Types].xml", `<Types xmlns="` + packageNS + `content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="` + kind + `sheet.main+xml"/>` +
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + kind + `worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="` + kind + `styles+xml"/>` +
			`<Override PartName="/xl/theme/theme1.xml" ContentType="application/vnd.openxmlformats-officedocument.theme+xml"/>` +
			`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>` +
			`<Override PartName="/docProps/app.xml" ContentType="application/vnd.openxmlformats-officedocument.extended-properties+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="` + packageNS + `relationships"><Relationship Id="rId1" Type="` + relNS + `/officeDocument" Target="xl/workbook.xml"/>` +
			`<Relationship Id="rId2" Type="` + packageNS + `relationships/metadata/core-properties" Target="docProps/core.xml"/>` +
			`<Relationship Id="rId3" Type="` + relNS + `/extended-properties" Target="docProps/app.xml"/></Relationships>`},
		{"docProps/app.xml", `<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"><Application>Performance Co-Pilot</Application></Properties>`},
		{"docProps/core.xml", `<cp:coreProperties xmlns:cp="` + packageNS + `metadata/core-properties" xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
			`<dcterms:created xsi:type="dcterms:W3CDTF">` + made.UTC().Format(time.RFC3339) + `</dcterms:created></cp:coreProperties>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packageNS + `relationships"><Relationship Id="rId1" Type="` + relNS + `/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="rId2" Type="` + relNS + `/styles" Target="styles.xml"/>` +
			`<Relationship Id="rId3" Type="` + relNS + `/theme" Target="theme/theme1.xml"/></Relationships>`},
		{"xl/theme/theme1.xml", theme()},
		{"xl/workbook.xml", `<workbook xmlns="` + mainNS + `" xmlns:r="` + relNS + `"><sheets><sheet name="` + escaped(title) + `" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/styles.xml", s.styleSheet()},
		{"xl/worksheets/sheet1.xml", `<worksheet xmlns="` + mainNS + `">` + columns(widths) + `<sheetData>`},
	} {
		var err error
		if s.w, err = s.zip.Create(part.name); err != nil {
			return nil, err
		}
		if _, err = io.WriteString(s.w, xml.Header+part.text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// theme returns the colours and fonts that programs offer in addition to those of the cells. The
// format requires them.
func theme() string {
	colours := []string{
		"dk1", "000000", "lt1", "FFFFFF", "dk2", "44546A", "lt2", "E7E6E6", "accent1", "4472C4", "accent2", "ED7D31", "accent3", "A5A5A5",
		"accent4", "FFC000", "accent5", "5B9BD5", "accent6", "70AD47", "hlink", "0563C1", "folHlink", "954F72",
	}
	var b strings.Builder
	b.WriteString(`<a:theme xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" name="PCP"><a:themeElements><a:clrScheme name="PCP">`)
	for i := 0; i < len(colours); i += 2 {
		fmt.Fprintf(&b, `<a:%s><a:srgbClr val="%s"/></a:%s>`, colours[i], colours[i+1], colours[i])
	}
	b.WriteString(`</a:clrScheme><a:fontScheme name="PCP">`)
	for _, which := range []string{"majorFont", "minorFont"} {
		fmt.Fprintf(&b, `<a:%s><a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/></a:%s>`, which, which)
	}
	const fill = `<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>`
	b.WriteString(`</a:fontScheme><a:fmtScheme name="PCP">`)
	for _, list := range []struct{ name, each string }{
		{"fillStyleLst", fill}, {"lnStyleLst", "<a:ln>" + fill + "</a:ln>"}, {"effectStyleLst", "<a:effectStyle><a:effectLst/></a:effectStyle>"}, {"bgFillStyleLst", fill},
	} {
		fmt.Fprintf(&b, `<a:%s>%s</a:%s>`, list.name, strings.Repeat(list.each, 3), list.name)
	}
	b.WriteString(`</a:fmtScheme></a:themeElements></a:theme>`)
	return b.String()
}

func escaped(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a Buffer takes all
	return b.String()
}

func columns(widths []int) string {
	b := []byte("<cols>")
	for i, w := range widths {
		b = fmt.Appendf(b, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, i+1, i+1, min(w, maxWidth))
	}
	return string(append(b, "</cols>"...))
}

// styleSheet describes the styles.
func (s *sheet) styleSheet() string {
	var formats, cells []byte
	n := 0
	for _, st := range s.styles {
		format, font, border := 0, 0, 0
		if st.number != "" {
			format = firstNumFmt + n
			n++
			formats = fmt.Appendf(formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, format, escaped(st.number))
		}
		if st.bold {
			font = 1
		}
		if st.line {
			border = 1
		}
		cells = fmt.Appendf(cells, `<xf numFmtId="%d" fontId="%d" fillId="0" borderId="%d" xfId="0" applyNumberFormat="1" applyFont="1" applyBorder="1" applyAlignment="1">`, format, font, border)
		if st.align != "" {
			cells = fmt.Appendf(cells, `<alignment horizontal="%s"/>`, st.align)
		}
		cells = append(cells, "</xf>"...)
	}
	b := []byte(`<styleSheet xmlns="` + mainNS + `">`)
	if n > 0 {
		b = fmt.Appendf(b, `<numFmts count="%d">%s</numFmts>`, n, formats)
	}
	const font = `<sz val="11"/><name val="Calibri"/><family val="2"/>`
	b = append(b, `<fonts count="2"><font>`+font+`</font><font><b/>`+font+`</font></fonts>`...)
	b = append(b, `<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>`...)
	b = append(b, `<borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border><border><left/><right/><top style="medium"/><bottom/><diagonal/></border></borders>`...)
	b = append(b, `<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>`...)
	return string(fmt.Appendf(b, `<cellXfs count="%d"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>%s</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`, len(s.styles)+1, cells))
}

// A cell has a text, or a number if it has no text; style 0 is the default. The zero cell is empty.
type cell struct {
	style  int
	text   string
	number string // as XML Schema writes a double or an integer
}

// add adds a row.
func (s *sheet) add(cells []cell) error {
	if s.row++; s.row > maxRow {
		return fmt.Errorf("a sheet has at most %d rows", maxRow)
	}
	b := fmt.Appendf(s.b[:0], `<row r="%d">`, s.row)
	for i := range cells {
		c := &cells[i]
		if *c == (cell{}) {
			continue
		}
		b = append(appendColumn(append(b, `<c r="`...), i), strconv.Itoa(s.row)...)
		if b = append(b, '"'); c.style != 0 {
			b = fmt.Appendf(b, ` s="%d"`, c.style)
		}
		switch {
		case c.text != "":
			b = append(append(append(b, ` t="inlineStr"><is><t xml:space="preserve">`...), escaped(c.text)...), `</t></is></c>`...)
		case c.number != "":
			b = append(append(append(b, `><v>`...), c.number...), `</v></c>`...)
		default:
			b = append(b, "/>"...)
		}
	}
	s.b = append(b, "</row>"...)
	_, err := s.w.Write(s.b)
	return err
}

// appendColumn appends the name of a column: A, B, … Z, AA, AB, …
func appendColumn(b []byte, i int) []byte {
	if i >= 26 {
		b = appendColumn(b, i/26-1)
	}
	return append(b, byte('A'+i%26))
}

// decimal is a number in a cell; there are none for NaN and infinite ones.
func decimal(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// close completes the file.
func (s *sheet) close() error {
	if _, err := io.WriteString(s.w, "</sheetData></worksheet>"); err != nil {
		return err
	}
	return s.zip.Close()
}
