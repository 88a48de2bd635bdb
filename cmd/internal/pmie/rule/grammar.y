// The grammar of pmie's language. Which of its many conflicts is resolved how decides what is said of a mistake: the order of
// productions matters. What is wrong with a part is said where that part was reduced, by fault.

%{
package rule

import (
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie/eval"
)
%}

%union {
	x     *eval.Expr
	text  string
	num   float64
	units pcp.Units
	names []string
	from, to int
	dom   eval.Domain
}

%token tARROW tSHELL tALARM tSYSLOG tPRINT tSTOMP tEXEC tWEBHOOK tALERTMANAGER tMAIL
%token tSOME_QUANT tALL_QUANT tPCNT_QUANT
%token tLEQ_REL tGEQ_REL tNEQ_REL tEQ_REL
%token tAND tSEQ tOR tALT tNOT tRISE tFALL tMATCH tNOMATCH
%token tRULESET tELSE tUNKNOWN tOTHERWISE
%token tMIN_AGGR tMAX_AGGR tAVG_AGGR tSUM_AGGR tCOUNT_AGGR
%token tTIME_DOM tINST_DOM tHOST_DOM
%token tUNIT_SLASH tINTERVAL
%token <units> tUNIT
%token <num>   tNUMBER
%token <text>  tIDENT tSTRING
%token tTRU tFALS
%token <x> tVAR

%type <x> exp rule ruleset rulelist rulesetopt act bexp rexp actarg arglist aexp pexp quant aggr num str fetch
%type <dom> dom
%type <text> metric receiver
%type <names> hosts insts
%type <from> times
%type <units> units unit

%left tARROW
%left tAND tOR tSEQ tALT
%left tNOT tRISE tFALL
%left tALL_QUANT tSOME_QUANT tPCNT_QUANT
%left tMATCH tNOMATCH
%left '>' '<' tEQ_REL tNEQ_REL tGEQ_REL tLEQ_REL
%left '+' '-'
%left '*' '/'
%left tUMINUS tRATE tINSTANT
%left tSUM_AGGR tAVG_AGGR tMAX_AGGR tMIN_AGGR tCOUNT_AGGR
%left tSHELL tALARM tSYSLOG tPRINT tSTOMP tEXEC tWEBHOOK tALERTMANAGER tMAIL
%left ':' '#' '@'
%left tUNIT_SLASH tINTERVAL

%start stmnt

%%

stmnt:
	/* empty */	{ b(yylex).result = nil }
|	tIDENT '=' exp	{ b(yylex).defined($1, $3) }
|	exp		{ b(yylex).defined("", $1) }

exp:	rule | ruleset | bexp | aexp | act | str

rule:
	'(' rule ')'		{ $$ = $2 }
|	bexp tARROW act		{ $$ = b(yylex).rule($1, $3) }
|	error tARROW		{ $$ = b(yylex).fault(aLogical, precede, eval.OpRule) }
|	bexp tARROW error	{ $$ = b(yylex).fault(anAction, follow, eval.OpRule) }

ruleset:
	tRULESET rulelist rulesetopt	{ $$ = b(yylex).binary(eval.OpRuleset, $2, $3) }

rulelist:
	rule
|	rule tELSE rulelist	{ $$ = b(yylex).binary(eval.OpOr, $1, $3) }

rulesetopt:
	tUNKNOWN tARROW act	{ $$ = b(yylex).other($3, nil) }
|	tOTHERWISE tARROW act	{ $$ = b(yylex).other(nil, $3) }
|	tUNKNOWN tARROW act tOTHERWISE tARROW act	{ $$ = b(yylex).other($3, $6) }
|	/* empty */		{ $$ = nil }

act:
	'(' act ')'		{ $$ = $2 }
|	act tSEQ act		{ $$ = b(yylex).action(eval.ActSeq, $1, $3) }
|	act tALT act		{ $$ = b(yylex).action(eval.ActAlt, $1, $3) }
|	tSHELL actarg		{ $$ = b(yylex).action(eval.ActShell, $2, nil) }
|	tSHELL num actarg	{ $$ = b(yylex).action(eval.ActShell, $3, $2) }
|	tALARM actarg		{ $$ = b(yylex).action(eval.ActAlarm, $2, nil) }
|	tALARM num actarg	{ $$ = b(yylex).action(eval.ActAlarm, $3, $2) }
|	tSYSLOG actarg		{ $$ = b(yylex).action(eval.ActSyslog, $2, nil) }
|	tSYSLOG num actarg	{ $$ = b(yylex).action(eval.ActSyslog, $3, $2) }
|	tPRINT actarg		{ $$ = b(yylex).action(eval.ActPrint, $2, nil) }
|	tPRINT num actarg	{ $$ = b(yylex).action(eval.ActPrint, $3, $2) }
|	tSTOMP actarg		{ $$ = b(yylex).action(eval.ActStomp, $2, nil) }
|	tSTOMP num actarg	{ $$ = b(yylex).action(eval.ActStomp, $3, $2) }
|	error tSEQ		{ $$ = b(yylex).fault(anAction, precede, eval.ActSeq) }
|	act tSEQ error		{ $$ = b(yylex).fault(anAction, follow, eval.ActSeq) }
|	error tALT		{ $$ = b(yylex).fault(anAction, precede, eval.ActAlt) }
|	act tALT error		{ $$ = b(yylex).fault(anAction, follow, eval.ActAlt) }
|	tSHELL error		{ $$ = b(yylex).fault(aText, follow, eval.ActShell) }
|	tALARM error		{ $$ = b(yylex).fault(aText, follow, eval.ActAlarm) }
|	tSYSLOG error		{ $$ = b(yylex).fault(aText, follow, eval.ActSyslog) }
|	tPRINT error		{ $$ = b(yylex).fault(aText, follow, eval.ActPrint) }
|	tSTOMP error		{ $$ = b(yylex).fault(aText, follow, eval.ActStomp) }
|	tEXEC actarg		{ $$ = b(yylex).action(eval.ActExec, $2, nil) }
|	tEXEC num actarg	{ $$ = b(yylex).action(eval.ActExec, $3, $2) }
|	tWEBHOOK receiver actarg	{ $$ = b(yylex).send(eval.ActWebhook, $2, $3, nil) }
|	tWEBHOOK num receiver actarg	{ $$ = b(yylex).send(eval.ActWebhook, $3, $4, $2) }
|	tALERTMANAGER receiver actarg	{ $$ = b(yylex).send(eval.ActAlertmanager, $2, $3, nil) }
|	tALERTMANAGER num receiver actarg	{ $$ = b(yylex).send(eval.ActAlertmanager, $3, $4, $2) }
|	tMAIL receiver actarg	{ $$ = b(yylex).send(eval.ActMail, $2, $3, nil) }
|	tMAIL num receiver actarg	{ $$ = b(yylex).send(eval.ActMail, $3, $4, $2) }
|	tEXEC error		{ $$ = b(yylex).fault(aText, follow, eval.ActExec) }
|	tWEBHOOK error		{ $$ = b(yylex).fault(aReceiver, follow, eval.ActWebhook) }
|	tALERTMANAGER error	{ $$ = b(yylex).fault(aReceiver, follow, eval.ActAlertmanager) }
|	tMAIL error		{ $$ = b(yylex).fault(aReceiver, follow, eval.ActMail) }

receiver:
	tIDENT

actarg:
	arglist			{ $$ = b(yylex).arguments($1) }

arglist:
	tSTRING			{ $$ = argument($1, nil) }
|	tSTRING arglist		{ $$ = argument($1, $2) }

bexp:
	'(' bexp ')'		{ $$ = $2 }
|	rexp
|	quant
|	tTRU			{ $$ = truth(eval.True) }
|	tFALS			{ $$ = truth(eval.False) }
|	tNOT bexp		{ $$ = b(yylex).unary(eval.OpNot, $2) }
|	tRISE bexp		{ $$ = b(yylex).edge(eval.OpRise, $2) }
|	tFALL bexp		{ $$ = b(yylex).edge(eval.OpFall, $2) }
|	bexp tAND bexp		{ $$ = b(yylex).binary(eval.OpAnd, $1, $3) }
|	bexp tOR bexp		{ $$ = b(yylex).binary(eval.OpOr, $1, $3) }
|	tMATCH str bexp		{ $$ = b(yylex).match(eval.OpMatch, $2, $3) }
|	tNOMATCH str bexp	{ $$ = b(yylex).match(eval.OpNoMatch, $2, $3) }
|	tNOT error		{ $$ = b(yylex).fault(aLogical, follow, eval.OpNot) }
|	tRISE error		{ $$ = b(yylex).fault(aLogical, follow, eval.OpRise) }
|	tFALL error		{ $$ = b(yylex).fault(aLogical, follow, eval.OpFall) }
|	tMATCH error		{ $$ = b(yylex).fault(aPattern, follow, eval.OpMatch) }
|	tMATCH str error		{ $$ = b(yylex).faultAt(aLogical, follow, aPattern) }
|	tNOMATCH error		{ $$ = b(yylex).fault(aPattern, follow, eval.OpNoMatch) }
|	tNOMATCH str error	{ $$ = b(yylex).faultAt(aLogical, follow, aPattern) }
|	error tAND		{ $$ = b(yylex).fault(aLogical, precede, eval.OpAnd) }
|	bexp tAND error		{ $$ = b(yylex).fault(aLogical, follow, eval.OpAnd) }
|	error tOR		{ $$ = b(yylex).fault(aLogical, precede, eval.OpOr) }
|	bexp tOR error		{ $$ = b(yylex).fault(aLogical, follow, eval.OpOr) }

quant:
	tALL_QUANT dom bexp	{ $$ = b(yylex).over(eval.OpAll, $2, $3) }
|	tSOME_QUANT dom bexp	{ $$ = b(yylex).over(eval.OpSome, $2, $3) }
|	tNUMBER tPCNT_QUANT dom bexp	{ $$ = b(yylex).percent($1, $3, $4) }
|	tALL_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	tSOME_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	tNUMBER tPCNT_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	error tPCNT_QUANT	{ $$ = b(yylex).faultAt(aNumber, precede, aPercentage) }

rexp:
	pexp tEQ_REL pexp	{ $$ = b(yylex).compare(eval.OpEq, $1, $3) }
|	pexp tNEQ_REL pexp	{ $$ = b(yylex).compare(eval.OpNeq, $1, $3) }
|	aexp '<' aexp		{ $$ = b(yylex).compare(eval.OpLt, $1, $3) }
|	aexp '>' aexp		{ $$ = b(yylex).compare(eval.OpGt, $1, $3) }
|	aexp tLEQ_REL aexp	{ $$ = b(yylex).compare(eval.OpLte, $1, $3) }
|	aexp tGEQ_REL aexp	{ $$ = b(yylex).compare(eval.OpGte, $1, $3) }
|	error tEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpEq) }
|	pexp tEQ_REL error	{ $$ = b(yylex).fault(aPlain, follow, eval.OpEq) }
|	error tNEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpNeq) }
|	pexp tNEQ_REL error	{ $$ = b(yylex).fault(aPlain, follow, eval.OpNeq) }
|	error '<'		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpLt) }
|	aexp '<' error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpLt) }
|	error '>'		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpGt) }
|	aexp '>' error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpGt) }
|	error tLEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpLte) }
|	aexp tLEQ_REL error	{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpLte) }
|	error tGEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpGte) }
|	aexp tGEQ_REL error	{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpGte) }

aexp:
	'(' aexp ')'		{ $$ = $2 }
|	fetch
|	num
|	tVAR
|	aggr
|	tRATE aexp		{ $$ = b(yylex).rate($2) }
|	tINSTANT aexp		{ $$ = b(yylex).instant($2) }
|	'-' aexp %prec tUMINUS	{ $$ = b(yylex).unary(eval.OpNeg, $2) }
|	aexp '+' aexp		{ $$ = b(yylex).arithmetic(eval.OpAdd, $1, $3) }
|	aexp '-' aexp		{ $$ = b(yylex).arithmetic(eval.OpSub, $1, $3) }
|	aexp '*' aexp		{ $$ = b(yylex).arithmetic(eval.OpMul, $1, $3) }
|	aexp '/' aexp		{ $$ = b(yylex).arithmetic(eval.OpDiv, $1, $3) }
|	tRATE error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpRate) }
|	tINSTANT error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpInstant) }
|	'-' error %prec tUMINUS	{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpNeg) }
|	error '+'		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpAdd) }
|	aexp '+' error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpAdd) }
|	error '-'		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpSub) }
|	aexp '-' error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpSub) }
|	error '*'		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpMul) }
|	aexp '*' error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpMul) }
|	error '/'		{ $$ = b(yylex).fault(anArithmetic, precede, eval.OpDiv) }
|	aexp '/' error		{ $$ = b(yylex).fault(anArithmetic, follow, eval.OpDiv) }

pexp:	aexp | str

aggr:
	tSUM_AGGR dom aexp	{ $$ = b(yylex).over(eval.OpSum, $2, $3) }
|	tAVG_AGGR dom aexp	{ $$ = b(yylex).over(eval.OpAvg, $2, $3) }
|	tMAX_AGGR dom aexp	{ $$ = b(yylex).over(eval.OpMax, $2, $3) }
|	tMIN_AGGR dom aexp	{ $$ = b(yylex).over(eval.OpMin, $2, $3) }
|	tCOUNT_AGGR dom bexp	{ $$ = b(yylex).over(eval.OpCount, $2, $3) }
|	tSUM_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tAVG_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tMAX_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tMIN_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tCOUNT_AGGR dom error	{ $$ = b(yylex).faultAt(aLogical, follow, anAggregate) }

dom:
	tHOST_DOM	{ $$ = eval.OverHosts }
|	tINST_DOM	{ $$ = eval.OverInstances }
|	tTIME_DOM	{ $$ = eval.OverSamples }

fetch:
	metric hosts insts times	{ $$ = b(yylex).fetch($1, $2, $3, $<from>4, $<to>4) }

metric:	tIDENT

hosts:
	/* empty */	{ $$ = nil }
|	hosts ':' tIDENT	{ $$ = append($1, $3) }
|	hosts ':' error	{ b(yylex).faultAt(aHost, follow, ":"); $$ = nil }

insts:
	/* empty */	{ $$ = nil }
|	insts '#' tIDENT	{ $$ = append($1, $3) }
|	insts '#' error	{ b(yylex).faultAt(anInstance, follow, "#"); $$ = nil }

times:
	/* empty */	{ $<from>$, $<to>$ = 0, 0 }
|	'@' tNUMBER	{ $<from>$, $<to>$ = span($2, $2) }
|	'@' tNUMBER tINTERVAL tNUMBER	{ $<from>$, $<to>$ = span($2, $4) }
|	'@' error	{ b(yylex).faultAt(aSample, follow, "@"); $<from>$, $<to>$ = 0, 0 }

num:
	tNUMBER units	{ $$ = number($1, $2) }

units:
	/* empty */	{ $$ = pcp.Units{} }
|	units unit	{ $$ = withUnit($1, $2, 1) }
|	units tUNIT_SLASH unit	{ $$ = withUnit($1, $3, -1) }

unit:
	tUNIT
|	tUNIT '^' tNUMBER	{ $$ = powerOf($1, $3) }

str:
	tSTRING		{ $$ = str($1) }
