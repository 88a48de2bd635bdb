# goyacc makes a parser that, when a token does not fit that comes next behind a mistake, drops it and goes on in the
# same state. That of pmie was made by bison: it drops the token, too, but goes on where the next production
# expects a mistake. What is said of it depends on that.
s|case 1, 2: /\*.*|case 1, 2, 3: /* incompletely recovered error ... try again */\
if Errflag == 3 { /* no shift yet; clobber input char */\
if yytoken == yyEofCode {\
goto ret1\
}\
yyrcvr.char = -1\
yytoken = -1\
}|
/case 3: \/\* no shift yet/,/goto yynewstate/d
/^yynewstate:/d
