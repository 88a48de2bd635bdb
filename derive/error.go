package derive

import (
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// An Error is the error of a definition. It is [pcp.ErrBadDerive].
type Error struct {
	File string // path of its file, "" for a definition of a program
	Line int    // its line in File, from 1
	Name string // of the derived metric, "" if the name is invalid
	Expr string // the expression, or the line of File

	// Column is the index in Expr of the byte where the parser stopped, -1 if the
	// error is not about one place of the expression.
	Column int
	Msg    string // may be empty for a syntax error, as in the C library
}

// Error returns the message of pmLoadDerivedConfig(3) for a definition from a
// file, and that of pmRegisterDerivedMetric(3) for others: several lines with the
// expression and a caret below the place.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Line == 0 && e.Column < 0:
		return e.Msg // of a setting
	case e.File != "" && e.Column < 0:
		b.WriteString("[" + e.File + ":" + strconv.Itoa(e.Line) + "] " + e.Msg)
		return b.String()
	case e.File != "":
		b.WriteString("[" + e.File + ":" + strconv.Itoa(e.Line) + "] Error: pmRegisterDerived(" + e.Name + ", ...) syntax error\n")
		b.WriteString(e.Expr + "\n")
		for i := range len(e.Expr) {
			switch c := e.Expr[i]; {
			case i == e.Column:
				b.WriteByte('^')
			case ctext.IsSpace(c):
				b.WriteByte(c) // a tab keeps its width
			default:
				b.WriteByte(' ')
			}
		}
	default:
		b.WriteString("Error: pmRegisterDerivedMetric(\"" + e.Name + "\", ...)\n" + e.Expr + "\n")
		column := max(e.Column, 0)
		if e.Expr == "" && e.Msg == "" {
			column++ // as in C
		}
		b.WriteString(strings.Repeat(" ", column) + "^")
	}
	if e.Msg != "" {
		b.WriteString("\n" + e.Msg)
	}
	return b.String()
}

// Unwrap returns pcp.ErrBadDerive.
func (e *Error) Unwrap() error { return pcp.ErrBadDerive }

// Errors are the errors in the definitions of files, in the order of their lines.
// The other definitions are good.
type Errors []*Error

// Error returns the messages, of one or more lines each.
func (es Errors) Error() string {
	var b strings.Builder
	for i, e := range es {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.Error())
	}
	return b.String()
}

// Unwrap returns the errors.
func (es Errors) Unwrap() []error {
	errs := make([]error, len(es))
	for i, e := range es {
		errs[i] = e
	}
	return errs
}

// A SemanticError means that an expression makes no sense for the metrics of a
// source. It is [pcp.ErrBadDerive].
type SemanticError struct {
	Name  string // of the derived metric
	Where string // the part of the expression: "sample.bin + <expr>"
	Msg   string
}

// Error returns the message of the C library.
func (e *SemanticError) Error() string {
	return "Semantic error: derived metric " + e.Name + ": " + e.Where + ": " + e.Msg
}

// Unwrap returns pcp.ErrBadDerive.
func (e *SemanticError) Unwrap() error { return pcp.ErrBadDerive }
