package rewrite

import (
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A token is the kind of a word of the language.
type token int

const (
	tokEnd token = iota
	tokLBrace
	tokRBrace
	tokPlus
	tokMinus
	tokColon
	tokComma
	tokLParen
	tokRParen
	tokAssign

	// Keywords.
	tokGlobal
	tokInDom
	tokDuplicate
	tokMetric
	tokHostName
	tokTimeZone
	tokZoneInfo
	tokFeatures
	tokTime
	tokBits
	tokName
	tokDupOK
	tokInst
	tokIName
	tokDelete
	tokRedact
	tokReplace
	tokPMID
	tokNull
	tokType
	tokIf
	tokSem
	tokUnits
	tokExtraUnits
	tokOutput
	tokRescale
	tokText
	tokOneLine
	tokHelp
	tokLabel
	tokContext
	tokDomain
	tokCluster
	tokItem
	tokInstances
	tokInstance
	tokNew
	tokValue
	tokTrue
	tokFalse
	tokJSONNull
	tokStar // of help texts and labels

	// With a text.
	tokGName
	tokNumber
	tokString
	tokTextString
	tokHName
	tokFloat
	tokInDomStar
	tokPMIDInt
	tokPMIDStar
	tokJSONString
	tokJSONNumber
	tokPattern

	// With a number.
	tokTypeName
	tokSemName
	tokSpaceName
	tokTimeName
	tokCountName
	tokExtraName
	tokOutputType
)

// A state is the context of the lexer; a word can be another token in each.
type state int

const (
	inNone state = iota
	inGlobal
	inHost
	inInDom
	inMetric
	inText
	inLabel
	inType
	inIfType
	inSem
	inUnits
	inSpace
	inTime
	inCount
	inExtra
	inOutput
)

// A keyword is a word that has a meaning in a state, and the state after it.
type keyword struct {
	word string
	tok  token
	n    int
	next state // inNone: the same
}

// keywords returns the keywords of a state.
func (s state) keywords() []keyword {
	switch s {
	case inNone:
		return []keyword{
			{word: "global", tok: tokGlobal},
			{word: "metric", tok: tokMetric},
			{word: "indom", tok: tokInDom},
			{word: "text", tok: tokText, next: inText},
			{word: "label", tok: tokLabel, next: inLabel},
		}
	case inGlobal:
		return []keyword{
			{word: "hostname", tok: tokHostName, next: inHost},
			{word: "time", tok: tokTime},
			{word: "tz", tok: tokTimeZone},
			{word: "timezone", tok: tokTimeZone},
			{word: "zoneinfo", tok: tokZoneInfo},
			{word: "features", tok: tokFeatures},
			{word: "bits", tok: tokBits},
		}
	case inInDom:
		return []keyword{
			{word: "delete", tok: tokDelete},
			{word: "indom", tok: tokInDom},
			{word: "duplicate", tok: tokDuplicate},
			{word: "iname", tok: tokIName},
			{word: "redact", tok: tokRedact},
			{word: "replace", tok: tokReplace},
			{word: "inst", tok: tokInst},
		}
	case inMetric:
		return []keyword{
			{word: "delete", tok: tokDelete},
			{word: "name", tok: tokName},
			{word: "dupok", tok: tokDupOK},
			{word: "pmid", tok: tokPMID},
			{word: "type", tok: tokType, next: inType},
			{word: "indom", tok: tokInDom},
			{word: "null", tok: tokNull},
			{word: "output", tok: tokOutput, next: inOutput},
			{word: "sem", tok: tokSem, next: inSem},
			{word: "units", tok: tokUnits, next: inUnits},
			{word: "extraunits", tok: tokExtraUnits, next: inUnits},
			{word: "rescale", tok: tokRescale},
			{word: "value", tok: tokValue},
			{word: "replace", tok: tokReplace},
		}
	case inText:
		return []keyword{
			{word: "delete", tok: tokDelete},
			{word: "metric", tok: tokMetric},
			{word: "indom", tok: tokInDom},
			{word: "oneline", tok: tokOneLine},
			{word: "help", tok: tokHelp},
			{word: "text", tok: tokText},
			{word: "all", tok: tokStar},
			{word: "*", tok: tokStar},
		}
	case inLabel:
		return []keyword{
			{word: "delete", tok: tokDelete},
			{word: "context", tok: tokContext},
			{word: "domain", tok: tokDomain},
			{word: "cluster", tok: tokCluster},
			{word: "item", tok: tokItem},
			{word: "indom", tok: tokInDom},
			{word: "instances", tok: tokInstances},
			{word: "instance", tok: tokInstance},
			{word: "new", tok: tokNew},
			{word: "label", tok: tokLabel},
			{word: "value", tok: tokValue},
			{word: "true", tok: tokTrue},
			{word: "false", tok: tokFalse},
			{word: "null", tok: tokJSONNull},
			{word: "*", tok: tokStar},
		}
	case inType, inIfType:
		next := inMetric
		if s == inIfType {
			next = inType
		}
		list := []keyword{
			{"32", tokTypeName, int(pcp.Type32), next},
			{"u32", tokTypeName, int(pcp.TypeU32), next},
			{"64", tokTypeName, int(pcp.Type64), next},
			{"u64", tokTypeName, int(pcp.TypeU64), next},
			{"float", tokTypeName, int(pcp.TypeFloat), next},
			{"double", tokTypeName, int(pcp.TypeDouble), next},
		}
		if s == inType {
			list = append(list, keyword{word: "if", tok: tokIf, next: inIfType})
		}
		return list
	case inOutput:
		return []keyword{
			{"first", tokOutputType, int(outputFirst), inMetric},
			{"last", tokOutputType, int(outputLast), inMetric},
			{"min", tokOutputType, int(outputMin), inMetric},
			{"max", tokOutputType, int(outputMax), inMetric},
			{"sum", tokOutputType, int(outputSum), inMetric},
			{"avg", tokOutputType, int(outputAvg), inMetric},
			{word: "inst", tok: tokInst, next: inMetric},
			{word: "iname", tok: tokIName, next: inMetric},
		}
	case inSem:
		return []keyword{
			{"counter", tokSemName, int(pcp.SemCounter), inMetric},
			{"instant", tokSemName, int(pcp.SemInstant), inMetric},
			{"discrete", tokSemName, int(pcp.SemDiscrete), inMetric},
		}
	case inSpace:
		return []keyword{
			{"byte", tokSpaceName, pcp.SpaceByte, inUnits},
			{"kbyte", tokSpaceName, pcp.SpaceKByte, inUnits},
			{"mbyte", tokSpaceName, pcp.SpaceMByte, inUnits},
			{"gbyte", tokSpaceName, pcp.SpaceGByte, inUnits},
			{"tbyte", tokSpaceName, pcp.SpaceTByte, inUnits},
			{"pbyte", tokSpaceName, pcp.SpacePByte, inUnits},
			{"ebyte", tokSpaceName, pcp.SpaceEByte, inUnits},
			{"0", tokSpaceName, 0, inUnits},
		}
	case inTime:
		return []keyword{
			{"nsec", tokTimeName, pcp.TimeNsec, inUnits},
			{"usec", tokTimeName, pcp.TimeUsec, inUnits},
			{"msec", tokTimeName, pcp.TimeMsec, inUnits},
			{"sec", tokTimeName, pcp.TimeSec, inUnits},
			{"min", tokTimeName, pcp.TimeMin, inUnits},
			{"hour", tokTimeName, pcp.TimeHour, inUnits},
			{"0", tokTimeName, 0, inUnits},
		}
	case inCount:
		return []keyword{{"one", tokCountName, pcp.CountOne, inMetric}}
	}
	return nil
}

// A lexeme is a token with its value.
type lexeme struct {
	tok  token
	text string // of strings and patterns without their delimiters
	n    int
}

// A lexer splits a file of rules into words. The longest match counts; of equal ones
// the state's own.
type lexer struct {
	src      string
	pos      int
	line     int // position; a string of several lines does not count
	state    state
	block    state // of the rule, which begins with its brace
	commas   int
	extra    bool // of extraunits, which has two more fields
	patterns bool // text in slashes is a pattern
	seven    bool // messages of PCP 7
	fail     func(format string, args ...any)
}

// next returns the next token.
func (l *lexer) next() lexeme {
	for l.pos < len(l.src) {
		s := l.src[l.pos:]
		switch c := s[0]; c {
		case ' ', '\t', '\r':
			l.pos++
			continue
		case '\n':
			l.line++
			l.pos++
			continue
		case '#':
			n := strings.IndexByte(s, '\n')
			if n < 0 {
				n = len(s)
			}
			l.pos += n
			continue
		}
		x, n := generic(s, l.patterns)
		if own, k, next := l.own(s); k > 0 && k >= n {
			x, n = own, k
			if x.tok == tokCountName && l.extra {
				next = inUnits
			}
			if next != inNone {
				l.state = next
			}
		}
		if n == 0 {
			l.unexpected(s[0])
		}
		l.pos += n
		l.enter(x.tok)
		return x
	}
	return lexeme{}
}

func (l *lexer) unexpected(c byte) {
	if c == 0 {
		l.fail("Unexpected character '")
		return
	}
	if c == '"' && l.seven {
		l.fail("Missing closing \" for string expression")
		return
	}
	l.fail("Unexpected character '%s'", string([]byte{c}))
}

// enter changes the state for a token.
func (l *lexer) enter(t token) {
	switch {
	case t == tokUnits, t == tokExtraUnits:
		l.commas, l.extra = 0, t == tokExtraUnits
	case t == tokComma && l.state == inUnits:
		l.commas++
		switch l.commas {
		case 3:
			l.state = inSpace
		case 4:
			l.state = inTime
		case 5:
			l.state = inCount
		case 6, 7:
			if l.extra {
				l.state = inExtra
			}
		}
	case t == tokLBrace && l.block != inNone:
		l.state = l.block
	case t == tokRBrace:
		l.state, l.block = inNone, inNone
	case l.state == inNone && t == tokGlobal:
		l.block = inGlobal
	case l.state == inNone && t == tokInDom:
		l.block = inInDom
	case l.state == inNone && t == tokMetric:
		l.block = inMetric
	case l.state == inText && l.block == inNone:
		l.block = inText
	case l.state == inLabel && l.block == inNone:
		l.block = inLabel
	}
}

// own returns the longest match of the state's own words, and the state after it.
func (l *lexer) own(s string) (x lexeme, n int, next state) {
	for _, k := range l.state.keywords() {
		if len(k.word) > n && len(s) >= len(k.word) && equalFold(s[:len(k.word)], k.word) {
			x, n, next = lexeme{k.tok, s[:len(k.word)], k.n}, len(k.word), k.next
		}
	}
	switch l.state {
	case inHost:
		if ctext.IsAlnum(s[0]) {
			n := 1
			for n < len(s) && (ctext.IsAlnum(s[n]) || s[n] == '.' || s[n] == '-') {
				n++
			}
			return lexeme{tok: tokHName, text: s[:n]}, n, inGlobal
		}
	case inCount:
		if k := ctext.Digits(s, 0); k > n {
			return lexeme{tok: tokCountName, n: number(s[:k])}, k, inMetric
		}
	case inExtra:
		next := inUnits
		if l.commas == 7 {
			next = inMetric
		}
		if s[0] == '0' {
			return lexeme{tok: tokExtraName, text: "0"}, 1, next
		}
		k := 0
		for k < len(s) && (ctext.IsAlpha(s[k]) || s[k] == '_') {
			k++
		}
		if k > 0 {
			return lexeme{tok: tokExtraName, text: s[:k]}, k, next
		}
	}
	return x, n, next
}

// equalFold compares letters of ASCII; word is in lower case.
func equalFold(s, word string) bool {
	for i := range len(word) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// number converts digits as atoi(3) does, overflow and all.
func number(digits string) int {
	const most = 1<<63 - 1
	n := uint64(0)
	for _, c := range []byte(digits) {
		if n > (most-9)/10 {
			return -1 // LONG_MAX as an int
		}
		n = 10*n + uint64(c-'0')
	}
	return int(int32(uint32(n)))
}

// generic returns the longest match of the tokens that are the same in all states, 0
// if there is none.
func generic(s string, patterns bool) (lexeme, int) {
	one := func(t token) (lexeme, int) { return lexeme{tok: t}, 1 }
	switch c := s[0]; {
	case c == '"':
		return quoted(s)
	case c == '/' && patterns:
		n := strings.IndexAny(s[1:], "/\n") + 1
		if n > 1 && s[n] == '/' {
			return lexeme{tok: tokPattern, text: s[1:n]}, n + 1
		}
	case ctext.IsDigit(c):
		return numeric(s)
	case ctext.IsAlpha(c):
		n := 1
		for n < len(s) {
			switch {
			case isNameByte(s[n]):
				n++
				continue
			case (s[n] == '=' || s[n] == '-') && n+1 < len(s) && isNameByte(s[n+1]):
				n += 2
				continue
			}
			break
		}
		return lexeme{tok: tokGName, text: s[:n]}, n
	case strings.HasPrefix(s, "->"):
		return lexeme{tok: tokAssign}, 2
	case c == '{':
		return one(tokLBrace)
	case c == '}':
		return one(tokRBrace)
	case c == '+':
		return one(tokPlus)
	case c == '-':
		return one(tokMinus)
	case c == ':':
		return one(tokColon)
	case c == ',':
		return one(tokComma)
	case c == '(':
		return one(tokLParen)
	case c == ')':
		return one(tokRParen)
	}
	return lexeme{}, 0
}

func isNameByte(c byte) bool { return ctext.IsAlnum(c) || c == '_' || c == '.' }

// numeric returns the longest match of a token that starts with a digit.
func numeric(s string) (lexeme, int) {
	a := ctext.Digits(s, 0)
	tok, n := tokNumber, a
	take := func(t token, k int) {
		if k > n {
			tok, n = t, k
		}
	}
	at := func(i int, c byte) bool { return i < len(s) && s[i] == c }
	if at(a, '.') {
		b := ctext.Digits(s, a+1)
		take(tokFloat, b)
		switch {
		case at(a+1, '*'):
			take(tokInDomStar, a+2)
			if at(a+2, '.') && at(a+3, '*') {
				take(tokPMIDStar, a+4)
			}
		case b > a+1 && at(b, '.'):
			if c := ctext.Digits(s, b+1); c > b+1 {
				take(tokPMIDInt, c)
			} else if at(b+1, '*') {
				take(tokPMIDStar, b+2)
			}
		}
	}
	// A number of JSON does not start with a zero and more digits.
	k := a
	if s[0] == '0' {
		k = 1
	}
	if at(k, '.') {
		if b := ctext.Digits(s, k+1); b > k+1 {
			k = b
		}
	}
	if at(k, 'e') || at(k, 'E') {
		e := k + 1
		if at(e, '+') || at(e, '-') {
			e++
		}
		if b := ctext.Digits(s, e); b > e {
			k = b
		}
	}
	take(tokJSONNumber, k)
	return lexeme{tok: tok, text: s[:n]}, n
}

// quoted returns the longest match of a token that starts with a quote: a string of
// one line, a text in which a backslash can precede any character, or a string of
// JSON.
func quoted(s string) (lexeme, int) {
	tok, n := tokEnd, 0
	if k := strings.IndexAny(s[1:], "\"\n") + 1; k > 1 && s[k] == '"' {
		tok, n = tokString, k+1
	}
	for i := 1; i < len(s); i++ {
		if s[i] != '"' {
			continue
		}
		if i > 1 && i+1 > n {
			tok, n = tokTextString, i+1
		}
		if s[i-1] != '\\' {
			break
		}
	}
	if k := jsonString(s); k > n {
		tok, n = tokJSONString, k
	}
	switch tok {
	case tokString:
		return lexeme{tok: tok, text: s[1 : n-1]}, n
	case tokTextString:
		return lexeme{tok: tok, text: unescape(s[1 : n-1])}, n
	}
	return lexeme{tok: tok, text: s[:n]}, n
}

// jsonString returns the length of a string of JSON, 0 if s does not start with one.
func jsonString(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\n':
			return 0
		case '\\':
			i++
			switch {
			case i >= len(s):
				return 0
			case strings.IndexByte(`"\/bfnrtBFNRT`, s[i]) >= 0:
			case s[i]|0x20 == 'u':
				for range 4 {
					if i++; i >= len(s) || !ctext.IsHexDigit(s[i]) {
						return 0
					}
				}
			default:
				return 0
			}
		}
	}
	return 0
}

// unescape removes backslashes.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
