package rule

import (
	"bytes"
	"fmt"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
	"github.com/go-pcp/pcp/internal/ctext"
)

// eof follows the last character and ends a statement.
const eof = -1

// maxToken limits the length of words and numbers.
const maxToken = 254

// maxMacros limits the nesting of macros.
const maxMacros = 1000

// An input is a file, or a macro that is used.
type input struct {
	outer *input
	name  string // "" is the standard input
	macro bool
	text  []byte
	line  int
	last  int   // line of the last character that is not a space
	again []int // characters pushed back, the first to be read first
}

// A scanner makes tokens of rules.
type scanner struct {
	in    *input
	depth int
	ahead int // a token to return next, 0 if none

	ended *input // the file that was read to its end

	begins bool // an action may begin with the next token

	arrowFile string // of the last arrow
	arrowLine int
}

// open makes the scanner read a text.
func (s *scanner) open(name string, text []byte, macro bool) {
	s.in = &input{outer: s.in, name: name, macro: macro, text: text, line: 1, last: 1}
	s.depth++
}

// close ends the innermost input.
func (s *scanner) close() {
	if !s.in.macro {
		s.ended = s.in
	}
	s.in = s.in.outer
	s.depth--
}

// More reports whether there is input.
func (s *scanner) More() bool { return s.in != nil }

// next returns the next character.
func (s *scanner) next() int {
	for s.in != nil {
		in := s.in
		if len(in.again) > 0 {
			c := in.again[0]
			in.again = in.again[1:]
			return c
		}
		if len(in.text) == 0 || in.text[0] == 0 {
			s.close()
			continue
		}
		c := in.text[0]
		in.text = in.text[1:]
		switch c {
		case '\n':
			in.line++
		case ' ', '\t', '\r':
		default:
			in.last = in.line
		}
		return int(c)
	}
	return eof
}

// back pushes characters back, behind those that were pushed back before.
func (s *scanner) back(chars ...int) {
	if s.in != nil {
		s.in.again = append(s.in.again, chars...)
	}
}

func (s *scanner) backText(text []byte) {
	for _, c := range text {
		s.back(int(c))
	}
}

// arrow notes the place of an arrow, which is that of the actions after it. In a macro it is the place of its use.
func (s *scanner) arrow() {
	in := s.in
	for in != nil && in.macro {
		in = in.outer
	}
	if in != nil {
		s.arrowFile, s.arrowLine = in.name, in.line
	}
}

// sync skips the rest of a statement.
func (s *scanner) sync() {
	c := s.next()
	for c != ';' && c != eof {
		c = s.next()
	}
	s.back(c)
}

// lastPlace describes the end of the text read, for which place, as in C, only reports that it is the end.
func (s *scanner) lastPlace() string {
	if s.in != nil || s.ended == nil || s.ended.name == "" {
		return s.place()
	}
	return fmt.Sprintf("near line %d of file %s, at its end", s.ended.last, s.ended.name)
}

// place describes where the scanner is.
func (s *scanner) place() string {
	file := func(in *input) string {
		if in.name == "" {
			return "standard input"
		}
		return "file " + in.name
	}
	in := s.in
	if in == nil {
		return "at end of file"
	}
	at := fmt.Sprintf("near line %d of ", in.line)
	if !in.macro {
		return at + file(in)
	}
	at += "macro $" + in.name
	for in != nil && in.macro {
		in = in.outer
	}
	if in != nil {
		at += " called from " + file(in)
	}
	return at
}

func isAlpha(c int) bool { return c >= 0 && ctext.IsAlpha(byte(c)) }
func isDigit(c int) bool { return c >= 0 && ctext.IsDigit(byte(c)) }
func isSpace(c int) bool { return c >= 0 && ctext.IsSpace(byte(c)) }

// printable returns a character as C's %c writes it.
func printable(c int) string { return string([]byte{byte(c)}) }

// macroName scans the name behind a $. If there is none, it has been reported.
func (b *Parser) macroName() (string, bool) {
	quote := false
	c := b.next()
	if c == '\'' {
		quote = true
		c = b.next()
	}
	if !isAlpha(c) {
		b.printf("macro name must begin with an alphabetic (not '%s')\n", printable(c))
		b.sync()
		return "", false
	}
	var name []byte
	for {
		if c == '\\' {
			c = b.next()
		}
		name = append(name, byte(c))
		c = b.next()
		if len(name) >= maxToken || c == eof || !(isAlpha(c) || isDigit(c) || c == '_' || quote && c != '\'') {
			break
		}
	}
	switch {
	case len(name) == maxToken:
		b.printf("macro name too long: $%s...\n", name[:20])
	case c == eof:
		b.printf("unexpected end of file in macro name: $%s\n", name)
	default:
		if !quote {
			b.back(c)
		}
		return string(name), true
	}
	b.sync()
	return "", false
}

// macro uses a macro: the text of a text macro is read next, any other macro is returned.
func (b *Parser) macro(name string) (x *eval.Expr, ok bool) {
	x = b.vars[name]
	switch {
	case x == nil:
		b.printf("undefined macro name $%s\n", name)
	case b.depth > maxMacros:
		b.printf("macro $%s is used in too many others\n", name)
	case x.Sem == eval.SemText:
		b.open(name, []byte(x.Text), true)
		return nil, true
	case x.Sem == eval.SemNumber:
		// A copy: an expression built on it may replace it.
		c := eval.NewExpr(eval.OpNone, nil, nil, eval.None, eval.None, eval.None, 1, eval.SemNumber)
		c.Nums[0], c.Valid = x.Nums[0], 1
		return c, true
	default:
		return x, true
	}
	b.sync()
	return nil, false
}

// macroText reads a macro inside a word or string.
func (b *Parser) macroText() bool {
	name, ok := b.macroName()
	if !ok {
		return false
	}
	x, ok := b.macro(name)
	if ok && x != nil {
		b.syntaxError()
		b.printf("macro $%s not string valued as expected\n", name)
		b.sync()
		return false
	}
	return ok
}

// Lex returns the next token, 0 at the end of a statement; it is called by the parser.
func (b *Parser) Lex(v *yySymType) int {
	t := max(b.token(v), 0)
	if t == tARROW {
		b.arrow()
	}
	b.begins = t == tARROW || t == tSEQ || t == tALT || t == '(' && b.begins
	return t
}

// token returns the next token, or eof.
func (b *Parser) token(v *yySymType) int {
	if t := b.ahead; t != 0 {
		b.ahead = 0
		return t
	}
	behind := 0 // a slash, whose meaning differs before a unit
	c := b.next()
	for c != eof {
		for isSpace(c) {
			c = b.next()
		}
		if c == '/' {
			d := b.next()
			switch d {
			case '*':
				c = b.skipComment()
				continue
			case '/':
				for c != '\n' && c != eof {
					c = b.next()
				}
				continue
			}
			b.back(d)
		}
		if isAlpha(c) || c == '\'' || c == '%' {
			return b.word(c, behind, v)
		}
		if behind != 0 {
			b.back(c)
			return behind
		}
		if c == '.' {
			if c = b.next(); isDigit(c) {
				b.back('.', c) // the characters looked ahead at are read in this order
				c = '0'
			} else {
				b.back(c)
				// The character is lost to the scanner but not to its input: it is the character
				// behind the dot that was looked ahead at.
			}
		}
		switch {
		case isDigit(c):
			v.num = b.number(c)
			return tNUMBER
		case c == '"':
			return b.quoted(v)
		case c == '$':
			name, ok := b.macroName()
			if !ok {
				return eof
			}
			x, ok := b.macro(name)
			switch {
			case !ok:
				return eof
			case x != nil:
				v.x = x
				return tVAR
			}
			c = b.next()
			continue
		case c == '/':
			behind = c
			c = b.next()
			continue
		}
		return b.operator(c)
	}
	return eof
}

// skipComment reads to the end of a comment and returns the next character.
func (b *Parser) skipComment() int {
	c := b.next()
	for c != eof {
		d := b.next()
		if c == '*' && d == '/' {
			return b.next()
		}
		c = d
	}
	return c
}

// word scans a token that begins with a letter, a quote or a percent sign.
func (b *Parser) word(c, behind int, v *yySymType) int {
	quote := c == '\''
	if quote {
		c = b.next()
	}
	var token []byte
	for {
		if c == '$' {
			if !b.macroText() {
				return eof
			}
			c = b.next()
		} else {
			if c == '\\' {
				c = b.next()
			}
			token = append(token, byte(c))
			c = b.next()
		}
		part := isAlpha(c) || isDigit(c) || c == '.' || c == '_' || c == '\\' || c == '$' || quote && c != '\''
		if !part || len(token) >= maxToken || quote && c == eof {
			break
		}
	}
	if n := bytes.IndexByte(token, 0); n >= 0 {
		token = token[:n]
	}
	if quote {
		c = b.next()
	} else if u, ok := unit(token); ok {
		if behind != 0 {
			b.backText(token)
			b.back(c)
			return tUNIT_SLASH
		}
		b.back(c)
		v.units = u
		return tUNIT
	}
	if behind != 0 {
		b.backText(token)
		b.back(c)
		return behind
	}
	b.back(c)
	if !quote {
		if t, d, ok := quantifier(token); ok {
			b.ahead = d
			return t
		}
		if t := reserved(string(token)); t != 0 {
			return t
		}
		if t := delivers(string(token)); t != 0 && b.begins {
			return t
		}
	}
	v.text = string(token)
	b.unitPercent = b.unitPercent || v.text == "%" && !quote
	return tIDENT
}

// unit returns the unit of a word.
func unit(word []byte) (pcp.Units, bool) {
	if n := len(word); n > 0 && word[n-1] == 's' {
		word = word[:n-1]
	}
	space := func(s uint8) (pcp.Units, bool) { return pcp.Units{DimSpace: 1, ScaleSpace: s}, true }
	time := func(s uint8) (pcp.Units, bool) { return pcp.Units{DimTime: 1, ScaleTime: s}, true }
	count := func(n int8) (pcp.Units, bool) { return pcp.Units{DimCount: 1, ScaleCount: n}, true }
	switch string(word) {
	case "byte":
		return space(pcp.SpaceByte)
	case "Kbyte":
		return space(pcp.SpaceKByte)
	case "Mbyte":
		return space(pcp.SpaceMByte)
	case "Gbyte":
		return space(pcp.SpaceGByte)
	case "Tbyte":
		return space(pcp.SpaceTByte)
	case "nsec", "nanosec", "nanosecond":
		return time(pcp.TimeNsec)
	case "usec", "microsec", "microsecond":
		return time(pcp.TimeUsec)
	case "msec", "millisec", "millisecond":
		return time(pcp.TimeMsec)
	case "sec", "second":
		return time(pcp.TimeSec)
	case "min", "minute":
		return time(pcp.TimeMin)
	case "hour":
		return time(pcp.TimeHour)
	case "count":
		return count(0)
	case "Kcount":
		return count(3)
	case "Mcount":
		return count(6)
	}
	return pcp.Units{}, false
}

// quantifier returns the two tokens of an aggregate or a quantifier and its domain.
func quantifier(word []byte) (token, dom int, ok bool) {
	what, over, ok := bytes.Cut(word, []byte("_"))
	if !ok {
		return 0, 0, false
	}
	switch string(what) {
	case "sum":
		token = tSUM_AGGR
	case "avg":
		token = tAVG_AGGR
	case "max":
		token = tMAX_AGGR
	case "min":
		token = tMIN_AGGR
	case "count":
		token = tCOUNT_AGGR
	case "all":
		token = tALL_QUANT
	case "some":
		token = tSOME_QUANT
	case "%":
		token = tPCNT_QUANT
	default:
		return 0, 0, false
	}
	switch string(over) {
	case "host":
		dom = tHOST_DOM
	case "inst":
		dom = tINST_DOM
	case "sample":
		dom = tTIME_DOM
	default:
		return 0, 0, false
	}
	return token, dom, true
}

// reserved returns the token of a reserved word.
func reserved(word string) int {
	switch word {
	case "true":
		return tTRU
	case "false":
		return tFALS
	case "rate":
		return tRATE
	case "instant":
		return tINSTANT
	case "shell":
		return tSHELL
	case "alarm":
		return tALARM
	case "syslog":
		return tSYSLOG
	case "print":
		return tPRINT
	case "stomp":
		return tSTOMP
	case "rising":
		return tRISE
	case "falling":
		return tFALL
	case "match_inst":
		return tMATCH
	case "nomatch_inst":
		return tNOMATCH
	case "ruleset":
		return tRULESET
	case "else":
		return tELSE
	case "unknown":
		return tUNKNOWN
	case "otherwise":
		return tOTHERWISE
	}
	return 0
}

// delivers returns the token of an action that C does not have. Such a word is reserved
// only where an action begins: elsewhere rules may use it as a name.
func delivers(word string) int {
	switch word {
	case "exec":
		return tEXEC
	case "webhook":
		return tWEBHOOK
	case "alertmanager":
		return tALERTMANAGER
	case "mail":
		return tMAIL
	}
	return 0
}

// number scans a number that begins with c.
func (b *Parser) number(c int) float64 {
	const (
		whole = iota
		fraction
		exponent
		negative
	)
	state := whole
	var token []byte
	for {
		token = append(token, byte(c))
		c = b.next()
		if state == whole && c == '.' && len(token) < maxToken {
			if c = b.next(); c == '.' {
				b.back(c) // the second dot of an interval; the first is c
			} else {
				state = fraction
				token = append(token, '.')
			}
		}
		if state <= fraction && len(token) < maxToken && (c == 'e' || c == 'E') {
			state = exponent
			token = append(token, byte(c))
			c = b.next()
		}
		if state <= exponent && c == '-' && len(token) < maxToken {
			state = negative
			token = append(token, '-')
			c = b.next()
		}
		if !isDigit(c) || len(token) >= maxToken {
			break
		}
	}
	b.back(c)
	f, _, _ := ctext.Strtod(string(token))
	return f
}

// quoted scans a string, after its first quote.
func (b *Parser) quoted(v *yySymType) int {
	var text []byte
	c := b.next()
	for c != '"' && c != eof && len(text) < maxToken {
		escaped := c == '\\'
		if escaped {
			switch c = b.next(); c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			case 'v':
				c = '\v'
			case 'b':
				c = '\b'
			case 'r':
				c = '\r'
			case 'f':
				c = '\f'
			case 'a':
				c = '\a'
			}
		}
		if c == '$' && !escaped {
			if !b.macroText() {
				return eof
			}
			c = b.next()
		}
		text = append(text, byte(c))
		c = b.next()
	}
	v.text = ctext.String(string(text))
	return tSTRING
}

// operator scans an operator, or the end of a statement.
func (b *Parser) operator(c int) int {
	two := func(second, token, single int) int {
		d := b.next()
		if d == second {
			return token
		}
		b.back(d)
		return single
	}
	switch c {
	case ';', '}':
		d := b.next()
		for isSpace(d) {
			d = b.next()
		}
		if d == '.' { // the end of the rules
			for b.in != nil {
				b.close()
			}
		} else {
			b.back(d)
		}
		return eof
	case '-':
		return two('>', tARROW, c)
	case '=':
		return two('=', tEQ_REL, c)
	case '!':
		return two('=', tNEQ_REL, tNOT)
	case '<':
		return two('=', tLEQ_REL, c)
	case '>':
		return two('=', tGEQ_REL, c)
	case '&':
		return two('&', tAND, tSEQ)
	case '|':
		return two('|', tOR, tALT)
	case '.':
		return two('.', tINTERVAL, c)
	case eof:
		return eof
	}
	return c
}
