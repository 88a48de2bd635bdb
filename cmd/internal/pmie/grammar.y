// The grammar of pmie's language. Which of its many conflicts is resolved how decides what is said of a mistake: the order of
// productions matters. What is wrong with a part is said where that part was reduced, by fault.

%{
package pmie

import "github.com/go-pcp/pcp"
%}

%union {
	x     *Expr
	text  string
	num   float64
	units pcp.Units
	names []string
	from, to int
	dom   Domain
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
|	error tARROW		{ $$ = b(yylex).fault(aLogical, precede, OpRule) }
|	bexp tARROW error	{ $$ = b(yylex).fault(anAction, follow, OpRule) }

ruleset:
	tRULESET rulelist rulesetopt	{ $$ = b(yylex).binary(OpRuleset, $2, $3) }

rulelist:
	rule
|	rule tELSE rulelist	{ $$ = b(yylex).binary(OpOr, $1, $3) }

rulesetopt:
	tUNKNOWN tARROW act	{ $$ = b(yylex).other($3, nil) }
|	tOTHERWISE tARROW act	{ $$ = b(yylex).other(nil, $3) }
|	tUNKNOWN tARROW act tOTHERWISE tARROW act	{ $$ = b(yylex).other($3, $6) }
|	/* empty */		{ $$ = nil }

act:
	'(' act ')'		{ $$ = $2 }
|	act tSEQ act		{ $$ = b(yylex).action(ActSeq, $1, $3) }
|	act tALT act		{ $$ = b(yylex).action(ActAlt, $1, $3) }
|	tSHELL actarg		{ $$ = b(yylex).action(ActShell, $2, nil) }
|	tSHELL num actarg	{ $$ = b(yylex).action(ActShell, $3, $2) }
|	tALARM actarg		{ $$ = b(yylex).action(ActAlarm, $2, nil) }
|	tALARM num actarg	{ $$ = b(yylex).action(ActAlarm, $3, $2) }
|	tSYSLOG actarg		{ $$ = b(yylex).action(ActSyslog, $2, nil) }
|	tSYSLOG num actarg	{ $$ = b(yylex).action(ActSyslog, $3, $2) }
|	tPRINT actarg		{ $$ = b(yylex).action(ActPrint, $2, nil) }
|	tPRINT num actarg	{ $$ = b(yylex).action(ActPrint, $3, $2) }
|	tSTOMP actarg		{ $$ = b(yylex).action(ActStomp, $2, nil) }
|	tSTOMP num actarg	{ $$ = b(yylex).action(ActStomp, $3, $2) }
|	error tSEQ		{ $$ = b(yylex).fault(anAction, precede, ActSeq) }
|	act tSEQ error		{ $$ = b(yylex).fault(anAction, follow, ActSeq) }
|	error tALT		{ $$ = b(yylex).fault(anAction, precede, ActAlt) }
|	act tALT error		{ $$ = b(yylex).fault(anAction, follow, ActAlt) }
|	tSHELL error		{ $$ = b(yylex).fault(aText, follow, ActShell) }
|	tALARM error		{ $$ = b(yylex).fault(aText, follow, ActAlarm) }
|	tSYSLOG error		{ $$ = b(yylex).fault(aText, follow, ActSyslog) }
|	tPRINT error		{ $$ = b(yylex).fault(aText, follow, ActPrint) }
|	tSTOMP error		{ $$ = b(yylex).fault(aText, follow, ActStomp) }
|	tEXEC actarg		{ $$ = b(yylex).action(ActExec, $2, nil) }
|	tEXEC num actarg	{ $$ = b(yylex).action(ActExec, $3, $2) }
|	tWEBHOOK receiver actarg	{ $$ = b(yylex).send(ActWebhook, $2, $3, nil) }
|	tWEBHOOK num receiver actarg	{ $$ = b(yylex).send(ActWebhook, $3, $4, $2) }
|	tALERTMANAGER receiver actarg	{ $$ = b(yylex).send(ActAlertmanager, $2, $3, nil) }
|	tALERTMANAGER num receiver actarg	{ $$ = b(yylex).send(ActAlertmanager, $3, $4, $2) }
|	tMAIL receiver actarg	{ $$ = b(yylex).send(ActMail, $2, $3, nil) }
|	tMAIL num receiver actarg	{ $$ = b(yylex).send(ActMail, $3, $4, $2) }
|	tEXEC error		{ $$ = b(yylex).fault(aText, follow, ActExec) }
|	tWEBHOOK error		{ $$ = b(yylex).fault(aReceiver, follow, ActWebhook) }
|	tALERTMANAGER error	{ $$ = b(yylex).fault(aReceiver, follow, ActAlertmanager) }
|	tMAIL error		{ $$ = b(yylex).fault(aReceiver, follow, ActMail) }

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
|	tTRU			{ $$ = truth(isTrue) }
|	tFALS			{ $$ = truth(isFalse) }
|	tNOT bexp		{ $$ = b(yylex).unary(OpNot, $2) }
|	tRISE bexp		{ $$ = b(yylex).edge(OpRise, $2) }
|	tFALL bexp		{ $$ = b(yylex).edge(OpFall, $2) }
|	bexp tAND bexp		{ $$ = b(yylex).binary(OpAnd, $1, $3) }
|	bexp tOR bexp		{ $$ = b(yylex).binary(OpOr, $1, $3) }
|	tMATCH str bexp		{ $$ = b(yylex).match(OpMatch, $2, $3) }
|	tNOMATCH str bexp	{ $$ = b(yylex).match(OpNoMatch, $2, $3) }
|	tNOT error		{ $$ = b(yylex).fault(aLogical, follow, OpNot) }
|	tRISE error		{ $$ = b(yylex).fault(aLogical, follow, OpRise) }
|	tFALL error		{ $$ = b(yylex).fault(aLogical, follow, OpFall) }
|	tMATCH error		{ $$ = b(yylex).fault(aPattern, follow, OpMatch) }
|	tMATCH str error		{ $$ = b(yylex).faultAt(aLogical, follow, aPattern) }
|	tNOMATCH error		{ $$ = b(yylex).fault(aPattern, follow, OpNoMatch) }
|	tNOMATCH str error	{ $$ = b(yylex).faultAt(aLogical, follow, aPattern) }
|	error tAND		{ $$ = b(yylex).fault(aLogical, precede, OpAnd) }
|	bexp tAND error		{ $$ = b(yylex).fault(aLogical, follow, OpAnd) }
|	error tOR		{ $$ = b(yylex).fault(aLogical, precede, OpOr) }
|	bexp tOR error		{ $$ = b(yylex).fault(aLogical, follow, OpOr) }

quant:
	tALL_QUANT dom bexp	{ $$ = b(yylex).over(OpAll, $2, $3) }
|	tSOME_QUANT dom bexp	{ $$ = b(yylex).over(OpSome, $2, $3) }
|	tNUMBER tPCNT_QUANT dom bexp	{ $$ = b(yylex).percent($1, $3, $4) }
|	tALL_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	tSOME_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	tNUMBER tPCNT_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	error tPCNT_QUANT	{ $$ = b(yylex).faultAt(aNumber, precede, aPercentage) }

rexp:
	pexp tEQ_REL pexp	{ $$ = b(yylex).compare(OpEq, $1, $3) }
|	pexp tNEQ_REL pexp	{ $$ = b(yylex).compare(OpNeq, $1, $3) }
|	aexp '<' aexp		{ $$ = b(yylex).compare(OpLt, $1, $3) }
|	aexp '>' aexp		{ $$ = b(yylex).compare(OpGt, $1, $3) }
|	aexp tLEQ_REL aexp	{ $$ = b(yylex).compare(OpLte, $1, $3) }
|	aexp tGEQ_REL aexp	{ $$ = b(yylex).compare(OpGte, $1, $3) }
|	error tEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, OpEq) }
|	pexp tEQ_REL error	{ $$ = b(yylex).fault(aPlain, follow, OpEq) }
|	error tNEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, OpNeq) }
|	pexp tNEQ_REL error	{ $$ = b(yylex).fault(aPlain, follow, OpNeq) }
|	error '<'		{ $$ = b(yylex).fault(anArithmetic, precede, OpLt) }
|	aexp '<' error		{ $$ = b(yylex).fault(anArithmetic, follow, OpLt) }
|	error '>'		{ $$ = b(yylex).fault(anArithmetic, precede, OpGt) }
|	aexp '>' error		{ $$ = b(yylex).fault(anArithmetic, follow, OpGt) }
|	error tLEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, OpLte) }
|	aexp tLEQ_REL error	{ $$ = b(yylex).fault(anArithmetic, follow, OpLte) }
|	error tGEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, OpGte) }
|	aexp tGEQ_REL error	{ $$ = b(yylex).fault(anArithmetic, follow, OpGte) }

aexp:
	'(' aexp ')'		{ $$ = $2 }
|	fetch
|	num
|	tVAR
|	aggr
|	tRATE aexp		{ $$ = b(yylex).rate($2) }
|	tINSTANT aexp		{ $$ = b(yylex).instant($2) }
|	'-' aexp %prec tUMINUS	{ $$ = b(yylex).unary(OpNeg, $2) }
|	aexp '+' aexp		{ $$ = b(yylex).arithmetic(OpAdd, $1, $3) }
|	aexp '-' aexp		{ $$ = b(yylex).arithmetic(OpSub, $1, $3) }
|	aexp '*' aexp		{ $$ = b(yylex).arithmetic(OpMul, $1, $3) }
|	aexp '/' aexp		{ $$ = b(yylex).arithmetic(OpDiv, $1, $3) }
|	tRATE error		{ $$ = b(yylex).fault(anArithmetic, follow, OpRate) }
|	tINSTANT error		{ $$ = b(yylex).fault(anArithmetic, follow, OpInstant) }
|	'-' error %prec tUMINUS	{ $$ = b(yylex).fault(anArithmetic, follow, OpNeg) }
|	error '+'		{ $$ = b(yylex).fault(anArithmetic, precede, OpAdd) }
|	aexp '+' error		{ $$ = b(yylex).fault(anArithmetic, follow, OpAdd) }
|	error '-'		{ $$ = b(yylex).fault(anArithmetic, precede, OpSub) }
|	aexp '-' error		{ $$ = b(yylex).fault(anArithmetic, follow, OpSub) }
|	error '*'		{ $$ = b(yylex).fault(anArithmetic, precede, OpMul) }
|	aexp '*' error		{ $$ = b(yylex).fault(anArithmetic, follow, OpMul) }
|	error '/'		{ $$ = b(yylex).fault(anArithmetic, precede, OpDiv) }
|	aexp '/' error		{ $$ = b(yylex).fault(anArithmetic, follow, OpDiv) }

pexp:	aexp | str

aggr:
	tSUM_AGGR dom aexp	{ $$ = b(yylex).over(OpSum, $2, $3) }
|	tAVG_AGGR dom aexp	{ $$ = b(yylex).over(OpAvg, $2, $3) }
|	tMAX_AGGR dom aexp	{ $$ = b(yylex).over(OpMax, $2, $3) }
|	tMIN_AGGR dom aexp	{ $$ = b(yylex).over(OpMin, $2, $3) }
|	tCOUNT_AGGR dom bexp	{ $$ = b(yylex).over(OpCount, $2, $3) }
|	tSUM_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tAVG_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tMAX_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tMIN_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tCOUNT_AGGR dom error	{ $$ = b(yylex).faultAt(aLogical, follow, anAggregate) }

dom:
	tHOST_DOM	{ $$ = OverHosts }
|	tINST_DOM	{ $$ = OverInstances }
|	tTIME_DOM	{ $$ = OverSamples }

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
