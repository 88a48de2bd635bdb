// The grammar of pmie's language. Which of its many conflicts is resolved how decides what is said of a mistake: the order of
// productions matters. What is wrong with a part is said where that part was reduced, by fault.

%{
package pmie

import "github.com/go-pcp/pcp"
%}

%union {
	x     *expr
	text  string
	num   float64
	units pcp.Units
	names []string
	from, to int
	dom   domain
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
|	error tARROW		{ $$ = b(yylex).fault(aLogical, precede, opRule) }
|	bexp tARROW error	{ $$ = b(yylex).fault(anAction, follow, opRule) }

ruleset:
	tRULESET rulelist rulesetopt	{ $$ = b(yylex).binary(opRuleset, $2, $3) }

rulelist:
	rule
|	rule tELSE rulelist	{ $$ = b(yylex).binary(opOr, $1, $3) }

rulesetopt:
	tUNKNOWN tARROW act	{ $$ = b(yylex).other($3, nil) }
|	tOTHERWISE tARROW act	{ $$ = b(yylex).other(nil, $3) }
|	tUNKNOWN tARROW act tOTHERWISE tARROW act	{ $$ = b(yylex).other($3, $6) }
|	/* empty */		{ $$ = nil }

act:
	'(' act ')'		{ $$ = $2 }
|	act tSEQ act		{ $$ = b(yylex).action(actSeq, $1, $3) }
|	act tALT act		{ $$ = b(yylex).action(actAlt, $1, $3) }
|	tSHELL actarg		{ $$ = b(yylex).action(actShell, $2, nil) }
|	tSHELL num actarg	{ $$ = b(yylex).action(actShell, $3, $2) }
|	tALARM actarg		{ $$ = b(yylex).action(actAlarm, $2, nil) }
|	tALARM num actarg	{ $$ = b(yylex).action(actAlarm, $3, $2) }
|	tSYSLOG actarg		{ $$ = b(yylex).action(actSyslog, $2, nil) }
|	tSYSLOG num actarg	{ $$ = b(yylex).action(actSyslog, $3, $2) }
|	tPRINT actarg		{ $$ = b(yylex).action(actPrint, $2, nil) }
|	tPRINT num actarg	{ $$ = b(yylex).action(actPrint, $3, $2) }
|	tSTOMP actarg		{ $$ = b(yylex).action(actStomp, $2, nil) }
|	tSTOMP num actarg	{ $$ = b(yylex).action(actStomp, $3, $2) }
|	error tSEQ		{ $$ = b(yylex).fault(anAction, precede, actSeq) }
|	act tSEQ error		{ $$ = b(yylex).fault(anAction, follow, actSeq) }
|	error tALT		{ $$ = b(yylex).fault(anAction, precede, actAlt) }
|	act tALT error		{ $$ = b(yylex).fault(anAction, follow, actAlt) }
|	tSHELL error		{ $$ = b(yylex).fault(aText, follow, actShell) }
|	tALARM error		{ $$ = b(yylex).fault(aText, follow, actAlarm) }
|	tSYSLOG error		{ $$ = b(yylex).fault(aText, follow, actSyslog) }
|	tPRINT error		{ $$ = b(yylex).fault(aText, follow, actPrint) }
|	tSTOMP error		{ $$ = b(yylex).fault(aText, follow, actStomp) }
|	tEXEC actarg		{ $$ = b(yylex).action(actExec, $2, nil) }
|	tEXEC num actarg	{ $$ = b(yylex).action(actExec, $3, $2) }
|	tWEBHOOK receiver actarg	{ $$ = b(yylex).send(actWebhook, $2, $3, nil) }
|	tWEBHOOK num receiver actarg	{ $$ = b(yylex).send(actWebhook, $3, $4, $2) }
|	tALERTMANAGER receiver actarg	{ $$ = b(yylex).send(actAlertmanager, $2, $3, nil) }
|	tALERTMANAGER num receiver actarg	{ $$ = b(yylex).send(actAlertmanager, $3, $4, $2) }
|	tMAIL receiver actarg	{ $$ = b(yylex).send(actMail, $2, $3, nil) }
|	tMAIL num receiver actarg	{ $$ = b(yylex).send(actMail, $3, $4, $2) }
|	tEXEC error		{ $$ = b(yylex).fault(aText, follow, actExec) }
|	tWEBHOOK error		{ $$ = b(yylex).fault(aReceiver, follow, actWebhook) }
|	tALERTMANAGER error	{ $$ = b(yylex).fault(aReceiver, follow, actAlertmanager) }
|	tMAIL error		{ $$ = b(yylex).fault(aReceiver, follow, actMail) }

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
|	tNOT bexp		{ $$ = b(yylex).unary(opNot, $2) }
|	tRISE bexp		{ $$ = b(yylex).edge(opRise, $2) }
|	tFALL bexp		{ $$ = b(yylex).edge(opFall, $2) }
|	bexp tAND bexp		{ $$ = b(yylex).binary(opAnd, $1, $3) }
|	bexp tOR bexp		{ $$ = b(yylex).binary(opOr, $1, $3) }
|	tMATCH str bexp		{ $$ = b(yylex).match(opMatch, $2, $3) }
|	tNOMATCH str bexp	{ $$ = b(yylex).match(opNoMatch, $2, $3) }
|	tNOT error		{ $$ = b(yylex).fault(aLogical, follow, opNot) }
|	tRISE error		{ $$ = b(yylex).fault(aLogical, follow, opRise) }
|	tFALL error		{ $$ = b(yylex).fault(aLogical, follow, opFall) }
|	tMATCH error		{ $$ = b(yylex).fault(aPattern, follow, opMatch) }
|	tMATCH str error		{ $$ = b(yylex).faultAt(aLogical, follow, aPattern) }
|	tNOMATCH error		{ $$ = b(yylex).fault(aPattern, follow, opNoMatch) }
|	tNOMATCH str error	{ $$ = b(yylex).faultAt(aLogical, follow, aPattern) }
|	error tAND		{ $$ = b(yylex).fault(aLogical, precede, opAnd) }
|	bexp tAND error		{ $$ = b(yylex).fault(aLogical, follow, opAnd) }
|	error tOR		{ $$ = b(yylex).fault(aLogical, precede, opOr) }
|	bexp tOR error		{ $$ = b(yylex).fault(aLogical, follow, opOr) }

quant:
	tALL_QUANT dom bexp	{ $$ = b(yylex).over(opAll, $2, $3) }
|	tSOME_QUANT dom bexp	{ $$ = b(yylex).over(opSome, $2, $3) }
|	tNUMBER tPCNT_QUANT dom bexp	{ $$ = b(yylex).percent($1, $3, $4) }
|	tALL_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	tSOME_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	tNUMBER tPCNT_QUANT dom error	{ $$ = b(yylex).faultAt(aLogical, follow, aQuantifier) }
|	error tPCNT_QUANT	{ $$ = b(yylex).faultAt(aNumber, precede, aPercentage) }

rexp:
	pexp tEQ_REL pexp	{ $$ = b(yylex).compare(opEq, $1, $3) }
|	pexp tNEQ_REL pexp	{ $$ = b(yylex).compare(opNeq, $1, $3) }
|	aexp '<' aexp		{ $$ = b(yylex).compare(opLt, $1, $3) }
|	aexp '>' aexp		{ $$ = b(yylex).compare(opGt, $1, $3) }
|	aexp tLEQ_REL aexp	{ $$ = b(yylex).compare(opLte, $1, $3) }
|	aexp tGEQ_REL aexp	{ $$ = b(yylex).compare(opGte, $1, $3) }
|	error tEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, opEq) }
|	pexp tEQ_REL error	{ $$ = b(yylex).fault(aPlain, follow, opEq) }
|	error tNEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, opNeq) }
|	pexp tNEQ_REL error	{ $$ = b(yylex).fault(aPlain, follow, opNeq) }
|	error '<'		{ $$ = b(yylex).fault(anArithmetic, precede, opLt) }
|	aexp '<' error		{ $$ = b(yylex).fault(anArithmetic, follow, opLt) }
|	error '>'		{ $$ = b(yylex).fault(anArithmetic, precede, opGt) }
|	aexp '>' error		{ $$ = b(yylex).fault(anArithmetic, follow, opGt) }
|	error tLEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, opLte) }
|	aexp tLEQ_REL error	{ $$ = b(yylex).fault(anArithmetic, follow, opLte) }
|	error tGEQ_REL		{ $$ = b(yylex).fault(anArithmetic, precede, opGte) }
|	aexp tGEQ_REL error	{ $$ = b(yylex).fault(anArithmetic, follow, opGte) }

aexp:
	'(' aexp ')'		{ $$ = $2 }
|	fetch
|	num
|	tVAR
|	aggr
|	tRATE aexp		{ $$ = b(yylex).rate($2) }
|	tINSTANT aexp		{ $$ = b(yylex).instant($2) }
|	'-' aexp %prec tUMINUS	{ $$ = b(yylex).unary(opNeg, $2) }
|	aexp '+' aexp		{ $$ = b(yylex).arithmetic(opAdd, $1, $3) }
|	aexp '-' aexp		{ $$ = b(yylex).arithmetic(opSub, $1, $3) }
|	aexp '*' aexp		{ $$ = b(yylex).arithmetic(opMul, $1, $3) }
|	aexp '/' aexp		{ $$ = b(yylex).arithmetic(opDiv, $1, $3) }
|	tRATE error		{ $$ = b(yylex).fault(anArithmetic, follow, opRate) }
|	tINSTANT error		{ $$ = b(yylex).fault(anArithmetic, follow, opInstant) }
|	'-' error %prec tUMINUS	{ $$ = b(yylex).fault(anArithmetic, follow, opNeg) }
|	error '+'		{ $$ = b(yylex).fault(anArithmetic, precede, opAdd) }
|	aexp '+' error		{ $$ = b(yylex).fault(anArithmetic, follow, opAdd) }
|	error '-'		{ $$ = b(yylex).fault(anArithmetic, precede, opSub) }
|	aexp '-' error		{ $$ = b(yylex).fault(anArithmetic, follow, opSub) }
|	error '*'		{ $$ = b(yylex).fault(anArithmetic, precede, opMul) }
|	aexp '*' error		{ $$ = b(yylex).fault(anArithmetic, follow, opMul) }
|	error '/'		{ $$ = b(yylex).fault(anArithmetic, precede, opDiv) }
|	aexp '/' error		{ $$ = b(yylex).fault(anArithmetic, follow, opDiv) }

pexp:	aexp | str

aggr:
	tSUM_AGGR dom aexp	{ $$ = b(yylex).over(opSum, $2, $3) }
|	tAVG_AGGR dom aexp	{ $$ = b(yylex).over(opAvg, $2, $3) }
|	tMAX_AGGR dom aexp	{ $$ = b(yylex).over(opMax, $2, $3) }
|	tMIN_AGGR dom aexp	{ $$ = b(yylex).over(opMin, $2, $3) }
|	tCOUNT_AGGR dom bexp	{ $$ = b(yylex).over(opCount, $2, $3) }
|	tSUM_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tAVG_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tMAX_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tMIN_AGGR dom error	{ $$ = b(yylex).faultAt(anArithmetic, follow, anAggregate) }
|	tCOUNT_AGGR dom error	{ $$ = b(yylex).faultAt(aLogical, follow, anAggregate) }

dom:
	tHOST_DOM	{ $$ = overHosts }
|	tINST_DOM	{ $$ = overInstances }
|	tTIME_DOM	{ $$ = overSamples }

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
